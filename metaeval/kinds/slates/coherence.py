"""Coherence of verdicts, and whether judges that keep to the axioms of preference have less regret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from metaeval.analysis.verdict_axioms import FIRST_POSITION, IRREFLEXIVITY, JudgeAxioms
from metaeval.analysis.verdict_coherence import coherence_of, coherence_sheet
from metaeval.engine.figure import BLUE, Figure, first_choices, largest
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Column, Sheet, value_text
from metaeval.kinds.slates.measures import RatedVerdicts, SlatesScored, regret_by_user
from metaeval.kinds.slates.regret import BY_TASK, ESTIMATE, EVALUATOR, REGRET_AXIS, TASK, judges_of
from metaeval.kinds.table import INTERVALS, KindTable
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import NOTHING, bootstrap, each
from metaeval.stats.resampling.cluster_sums import Stack, mean_of, ratio

RATING_TRANSITIVITY = "rating_transitivity"
_RATINGS = (
    "Rating transitivity: verdicts for the slate to which the same model, asked for each slate alone, gave "
    "the higher rating, of verdicts that name one of two slates with unequal ratings."
)
_AXIOM = Column("axiom", "Axiom", "code")
_LEAST, _USERS = 4, 10  # judges; users of each, for an interval
_TOO_FEW = f"fewer than {_LEAST} judges: no correlation"
_FEW_USERS = f"a judge has fewer than {_USERS} users of whom this was asked: no interval"


def coherence_table(scored: SlatesScored) -> pd.DataFrame:
    """Return the axioms of preference of each evaluator and task, rating transitivity behind the others."""
    options = scored.study.bootstrap
    how = {"resamples": options.resamples, "seed": options.seed} if options else {"resamples": 1}
    found = coherence_of(scored.judges, **how)
    if options is None:
        found[["ci_low", "ci_high"]] = np.nan
    further = pd.DataFrame([_rating_transitivity(rated, options) for rated in scored.rated])
    return pd.concat([found, further], ignore_index=True)[list(found)] if len(further) else found


def _rating_transitivity(rated: RatedVerdicts, options: Bootstrap | None) -> dict[str, Any]:
    n, low, high = len(rated.users), np.nan, np.nan
    if options and n > 1:
        share = bootstrap(mean_of(rated.kept[None], rated.of[None]), options.resampler(n), bounds=(0.0, 1.0))
        low, high = float(share.low[0]), float(share.high[0])
    return {
        "evaluator": rated.judge,
        "task": rated.task,
        "axiom": RATING_TRANSITIVITY,
        "estimate": float(rated.kept.sum() / rated.of.sum()),
        "ci_low": low,
        "ci_high": high,
        "chance": 0.5,
        "n": int(rated.of.sum()),
        "n_clusters": n,
        "n_missing": rated.n_missing,
    }


def _coherence_sheet(scored: SlatesScored, frame: pd.DataFrame) -> Iterator[Sheet]:
    options = scored.study.bootstrap
    how = {"resamples": options.resamples, "seed": options.seed} if options else {"resamples": 0, "seed": 0}
    sheet = coherence_sheet(frame, simulated=scored.scores.simulation, **how)
    notes = sheet.notes if options else sheet.notes[:-1]  # the last one is on intervals
    yield replace(sheet, notes=(*notes, _RATINGS) if RATING_TRANSITIVITY in set(frame["axiom"]) else notes)


COHERENCE = KindTable(
    "coherence.csv",
    "Coherence of verdicts",
    (EVALUATOR, TASK, _AXIOM),
    coherence_table,
    layout=_coherence_sheet,
)


@dataclass(frozen=True, eq=False)
class RegretRanks:
    """Spearman's ρ of regret and of shares over J judges, as a function of the weights of users."""

    regret: Floats
    """Mean regret of each user, shape (J, users)."""
    kept: Floats
    """What keeps to the axiom, and of what, by user: shape (J, 2, users)."""
    even: bool
    """Whether the axiom is an even share."""

    def at(self, weights: Floats) -> Floats:
        """Return ρ under each column of weights; NaN where all judges are alike."""
        share = ratio(self.kept[:, 0] @ weights, self.kept[:, 1] @ weights)
        share = 1 - np.abs(2 * share - 1) if self.even else share
        regret = self.regret @ weights / weights.sum(axis=0)
        one, other = map(_centred_ranks, (regret, share))
        spread = np.sqrt((one**2).sum(axis=0) * (other**2).sum(axis=0))
        found = ratio((one * other).sum(axis=0), spread)
        return np.where(np.isnan(share).any(axis=0), np.nan, found)[None]


def _centred_ranks(values: Floats) -> Floats:
    """Return twice the midranks less J + 1, shape (J, columns); equal up to rounding is equal."""
    exact = np.round(values, 12)
    found: Floats = np.sign(exact[:, None] - exact).sum(axis=1)
    return found


def against_table(scored: SlatesScored) -> pd.DataFrame:
    """Return the rank correlation of regret and each axiom over judges, by task.

    Returns
    -------
    DataFrame
        ``rho`` with an interval from resampling users, ``n_judges`` that have both; a ``note`` where there
        are too few of them, or of users. The interval is that of percentiles: the jackknife, which would
        widen it, fails for ranks.
    """
    cells, rows = scored.cells, list[dict[str, Any]]()
    wanted = judges_of(cells)
    for task in cells.parts:
        users = np.unique(cells.table.loc[cells.use(task), "user_id"].to_numpy(dtype=str))
        if not len(users):
            continue
        units, own = cells.units(task), regret_by_user(cells.units(task))
        kept = _kept(users, [j for j in scored.judges if j.evaluator in wanted and j.task == task])
        for one in scored.rated:
            if one.task == task and one.judge in wanted:
                of_users = _placed(users, one.users, one.kept, one.of)
                kept.setdefault(RATING_TRANSITIVITY, {})[one.judge] = of_users
        ranks = []
        for axiom, found in kept.items():
            regret = own[[cells.evaluators.index(judge) for judge in found]]
            there = ~np.isnan(regret).any(axis=1)
            asked = np.stack([*found.values()])[there]
            ranks.append(RegretRanks(regret[there], asked, axiom == IRREFLEXIVITY))
        of_all = (
            each(cells.estimate(Stack(ranks), units.clusters.n, (-1.0, 1.0), stretch=False)) if ranks else []
        )
        for axiom, of, rho in zip(kept, ranks, of_all, strict=True):
            n, note, shown = len(of.regret), "", rho
            if n < _LEAST:
                note, shown = _TOO_FEW, NOTHING
            elif ((of.kept[:, 1] > 0).sum(axis=-1) < _USERS).any():
                note, shown = _FEW_USERS, replace(rho, low=np.nan, high=np.nan)
            rows.append({"task": task, "axiom": axiom, **shown.row("rho"), "n_judges": n, "note": note})
    return pd.DataFrame(rows)


def _kept(users: Any, judges: Sequence[JudgeAxioms]) -> dict[str, dict[str, Floats]]:  # noqa: ANN401 - str
    """Return of each axiom and judge what keeps to it, and of what, by user."""
    found: dict[str, dict[str, Floats]] = {}
    for judge in judges:
        names = np.asarray(judge.clusters, dtype=str)
        for t in judge.tallies if len(names) > 1 else ():
            if t.axiom != FIRST_POSITION:
                found.setdefault(t.axiom, {})[judge.evaluator] = _placed(users, names[t.unit], t.kept, t.of)
    return found


def _placed(users: Any, names: Any, *sums: Floats) -> Floats:  # noqa: ANN401 - str of shape (users,)
    """Put sums of some users in their places among all, shape (sums, users); others have none."""
    at = np.searchsorted(users, names).clip(max=len(users) - 1)
    there = users[at] == names
    found = np.zeros((len(sums), len(users)))
    found[:, at[there]] = np.stack(sums)[:, there]
    return found


AGAINST = KindTable(
    "regret_coherence.csv",
    "Regret against coherence",
    (
        TASK,
        _AXIOM,
        Column("rho", "Spearman's ρ", "hundredths", "rho_low", "rho_high"),
        Column("n_judges", "Judges", "count"),
        Column("note", "Note", optional=True),
    ),
    against_table,
    (
        "Over judges: below 0, more coherent judges have less regret. Users are resampled, not judges.",
        INTERVALS,
    ),
)


def _both(scored: SlatesScored) -> pd.DataFrame:
    regret = scored.table(BY_TASK)
    return scored.table(COHERENCE).merge(regret, on=["evaluator", "task"], suffixes=("_axiom", ""))


def _against_chart(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    import altair as alt

    from metaeval.engine.charts import DASHED, ROWS, curves, tooltip, whiskers

    title, scale = "share that keeps to the axiom", {"zero": False, "nice": False, "padding": 8}
    x = alt.X("estimate:Q", title=title, axis={"format": ".0%"}, scale=scale)
    y = alt.Y("regret:Q", **{**REGRET_AXIS, "scale": {"zero": True, "nice": False, "padding": 8}})
    lines = tooltip(evaluator="evaluator", estimate=("share", ".1%"), regret=("regret", ".4f"))
    said = "Evaluators by how far they keep to an axiom, and by their regret, with intervals."
    ends, chance = ("ci_low", "ci_high"), ROWS.mark_rule(**DASHED).encode(y="mean(chance):Q")
    over = [chance, whiskers(x, y, ("ci_low_axiom", "ci_high_axiom"), ends)[1]]
    chart = curves(said, sheet.frame, x, y, ends, lines, over=over, joined=False, lower_is_better=True)
    chosen = first_choices(sheet.frame, first, ["task", "axiom"])
    return Figure(sheet, chart, chosen, finding=_most_coherent)


def _most_coherent(rows: pd.DataFrame) -> str:
    """Say who keeps to the axiom most, and whether its regret is the least, too."""
    known = rows[rows["estimate"].notna() & rows["regret"].notna()].assign(worth=-rows["regret"])
    if known.empty or (known["axiom"] == FIRST_POSITION).any():
        return ""  # of which neither a high nor a low share is the best
    first, least = largest(known, "estimate"), largest(known, "worth")
    share, regret = value_text(first["estimate"], "share"), value_text(least["regret"], "decimal")
    if first["evaluator"] == least["evaluator"]:
        return f"{first['evaluator']} keeps to the axiom most ({share}) and has the least regret ({regret})"
    return (
        f"{first['evaluator']} keeps to the axiom most ({share}), "
        f"{least['evaluator']} has the least regret ({regret})"
    )


AGAINST_FIGURE = KindTable(
    "regret_against_coherence",
    "Regret against coherence",
    (
        EVALUATOR,
        TASK,
        _AXIOM,
        Column("estimate", "Share", "share", "ci_low_axiom", "ci_high_axiom"),
        ESTIMATE,
    ),
    _both,
    ("A mark is an evaluator. The dashed line is chance, verdicts at random.",),
    _against_chart,
)


def _shades(scored: SlatesScored) -> pd.DataFrame:
    """Return the axioms with ``kept``: the share, or how near that of the first position is to a half."""
    frame = scored.table(COHERENCE)
    even = 1 - (2 * frame["estimate"] - 1).abs()
    return frame.assign(kept=frame["estimate"].mask(frame["axiom"] == FIRST_POSITION, even))


def _coherence_chart(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    import altair as alt

    from metaeval.engine.charts import ROWS, on_shade, shaded, tooltip

    axis = {"title": None, "ticks": False, "domain": False}
    spaced = "replace(datum.label, regexp('_', 'g'), ' ')"
    slanted = {**axis, "labelAngle": -30, "labelLimit": 160, "labelExpr": spaced}
    lines = tooltip(evaluator="evaluator", axiom="axiom", estimate=("share", ".1%"), chance=("chance", ".1%"))
    cells = ROWS.encode(
        x=alt.X("axiom:N", sort=None, axis=slanted), y=alt.Y("evaluator:N", sort=None, axis=axis)
    )
    chart = alt.layer(
        cells.mark_rect(color=BLUE).encode(opacity=shaded("kept"), tooltip=lines),
        cells.mark_text(fontSize=11).encode(
            text=alt.Text("estimate:Q", format=".0%"), color=on_shade("datum.kept")
        ),
        description="A heat map of the axioms of preference, by evaluator.",
        width=alt.Step(84),
        height=alt.Step(26),
    )
    width = 84 * sheet.frame["axiom"].nunique() + 200
    chosen = first_choices(sheet.frame, first, ["task"])
    return Figure(sheet, chart, chosen, caption_width=max(520, width), finding=_least_kept)


def _least_kept(rows: pd.DataFrame) -> str:
    """Say which evaluator is furthest from which axiom."""
    known = rows[rows["kept"].notna()].assign(off=1 - rows["kept"])
    if known.empty:
        return ""
    worst = largest(known, "off")
    axiom, share = str(worst["axiom"]).replace("_", " "), value_text(worst["estimate"], "share")
    return f"{worst['evaluator']} is furthest from an axiom: {axiom}, {share}"


COHERENCE_FIGURE = KindTable(
    "coherence_by_judge",
    "Coherence by evaluator",
    (
        EVALUATOR,
        TASK,
        _AXIOM,
        Column("estimate", "Share", "share", "ci_low", "ci_high"),
        Column("chance", "Chance", "share"),
    ),
    _shades,
    (
        (
            "The more colour, the closer to the axiom; the first position is best at 50 %. A cell is empty "
            "where an evaluator was not asked what the axiom needs: rating transitivity needs ratings by the "
            "same model."
        ),
    ),
    _coherence_chart,
)
