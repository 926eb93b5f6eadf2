"""What people would have said of all units: the answer by aspect, the generators, and every way beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.counts import counted, plural_of
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.ranking.orders import rank_clusters
from metaeval.stats.regression.prediction_powered import Combined
from metaeval.stats.resampling.significance import holm
from metaeval.trust.correcting.samples import PER_JUDGE, Correcting

if TYPE_CHECKING:
    from metaeval.base.simulation import Simulation

_ENDS = ("ci_low", "ci_high")
_ANSWERS = (
    Column("aspect", "Aspect"),
    Column("verdict", "What would people have said?", keep=True),
    Column("estimate", "Estimate", "number", *_ENDS),
    Column("judge", "By the judge", "number"),
    Column("labels", "Labels alone", "number", "labels_ci_low", "labels_ci_high"),
    Column("n_labelled", "With labels", "count"),
    Column("n_units", "Units", "count"),
    Column("refused", "Refused", optional=True),
)
_GROUPS = (
    Column("aspect", "Aspect"),
    Column("group", "Name"),
    Column("rank", "Rank", "count"),
    Column("estimate", "Estimate", "number", *_ENDS),
    Column("judge", "By the judge", "number"),
    Column("labels", "Labels alone", "number", "labels_ci_low", "labels_ci_high"),
    Column("n_labelled", "With labels", "count"),
    Column("n_units", "Units", "count"),
    Column("withheld", "All labels", "number", optional=True),
)
_DIFFERENCES = (
    Column("aspect", "Aspect"),
    Column("first", "First"),
    Column("second", "Second"),
    Column("difference", "Difference", "number", *_ENDS),
    Column("p", "p", "p"),
    Column("p_holm", "p (Holm)", "p"),
)
_WAYS = (
    Column("aspect", "Aspect"),
    Column("way", "Way"),
    Column("estimate", "Estimate", "number", *_ENDS),
    Column("width", "Width, to labels alone", "share"),
    Column("chosen", "Chosen"),
)
POWERED = "PPI++"
_ALL_PAIRS = 10  # groups up to which every difference is shown; of more, those to the best


def correcting_sheets(
    held: Iterable[Correcting], *, alpha: float, seed: int, simulated: Simulation
) -> list[Sheet]:
    """Return the sheets ``correct``, ``correct-groups``, ``correct-differences`` and ``correct-ways``."""
    answers, groups, differences, ways = [], [], [], []
    name = cluster = ""
    for each in held:
        kept = each.judged(seed)
        name, cluster = each.noun, each.cluster
        answers.append(_answer(kept, alpha))
        if len(kept.groups) > 1:
            by_group, pairs = _by_group(kept, alpha)
            groups += by_group
            differences += pairs
            answers[-1]["verdict"] += _order(by_group, name)
        ways += [{"aspect": each.aspect, **row} for row in _ways(kept, alpha, seed)]
    several = f"{PER_JUDGE} {plural_of(cluster)} with labels per judge"
    rule = (
        f"The rule, stated beforehand: {POWERED} (Angelopoulos, Duchi & Zrnic 2023), with a weight for each "
        f"judge that tells something where there are {several}, else with the first of them. It is refused, "
        "and the labels alone count, if no judge is shown to tell anything, or if units with labels are not "
        "like the others and their probabilities are not known."
    )
    ways_note = (
        "Strata: three parts of alike scores of the first judge. Isotonic: ratings that a cross-fitted map "
        "predicts from its scores, in place of the scores. Rogan–Gladen: of shares alone, with the interval "
        "of Lee et al. (2025)."
    )
    level = f"{1 - alpha:.0%} intervals; what one {cluster} has depends on each other."
    tables = [
        ("correct", "What would people have said?", answers, _ANSWERS, (rule, level)),
        (
            "correct-groups",
            f"{plural_of(name).capitalize()}, as people would have rated them",
            groups,
            _GROUPS,
            (f"Of one rank are those not worse than its best (tests of differences, Holm, α = {alpha:g}).",),
        ),
        ("correct-differences", "Differences", differences, _DIFFERENCES, (level,)),
        (
            "correct-ways",
            "Every way to correct",
            ways,
            _WAYS,
            (ways_note,),
        ),
    ]
    return [
        Sheet(key, title, frame, _there(columns, frame), notes, simulated)
        for key, title, rows, columns, notes in tables
        if rows
        for frame in [pd.DataFrame(rows)]
    ]


def _there(columns: tuple[Column, ...], frame: pd.DataFrame) -> tuple[Column, ...]:
    return tuple(c for c in columns if not c.optional or (c.name in frame and frame[c.name].any()))


def _ends(found: Combined, alpha: float, prefix: str = "") -> list[dict[str, float]]:
    low, high = found.interval(1 - alpha)
    names = (prefix or "estimate", *(f"{prefix}_{end}" if prefix else end for end in _ENDS))
    return [
        dict(zip(names, map(float, row), strict=True)) for row in zip(found.estimate, low, high, strict=True)
    ]


def _chosen(kept: Correcting, contrasts: Floats, *, whole: bool = False) -> Combined:
    sample = kept.everything if whole else kept.sample
    return sample.labels_alone(contrasts) if kept.refused else sample.powered(contrasts)


def _answer(kept: Correcting, alpha: float) -> dict[str, Any]:
    one, whole = np.ones((1, 1)), kept.everything
    [estimate] = _ends(_chosen(kept, one, whole=True), alpha)
    [labels] = _ends(whole.labels_alone(one), alpha, "labels")
    judge = float(whole.scores[0].mean())
    value = f"{estimate['estimate']:.2f} ({estimate['ci_low']:.2f} to {estimate['ci_high']:.2f})"
    if np.isnan(estimate["ci_low"]):
        verdict = f"cannot be said: {kept.why}"
    elif kept.refused:
        verdict = f"refused: {kept.why}; labels alone say {value}"
    else:
        verdict = f"people would have given {value}; {kept.judges[0]} gives {judge:.2f}"
    return {
        "aspect": kept.aspect,
        "verdict": verdict,
        **estimate,
        "judge": judge,
        **labels,
        "n_labelled": int(whole.rated.sum()),
        "n_units": len(whole.ratings),
        "refused": kept.refused,
    }


def _by_group(kept: Correcting, alpha: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    n = len(kept.groups)
    sample, every = kept.sample, np.eye(n)
    means = _chosen(kept, every)
    first, second = np.triu_indices(n, 1)
    apart = _chosen(kept, every[first] - every[second])
    p = apart.p()
    corrected = holm(p)
    worse = np.ones((n, n))  # small where the column is worse than the row
    worse[first, second] = np.where(apart.estimate > 0, corrected, 1)
    worse[second, first] = np.where(apart.estimate < 0, corrected, 1)
    ranks = rank_clusters(means.estimate, worse, alpha)
    judge = [float(sample.scores[0][sample.group == g].mean()) for g in range(n)]
    rows: list[dict[str, Any]] = []
    ends = zip(_ends(means, alpha), _ends(sample.labels_alone(every), alpha, "labels"), strict=True)
    for g, (estimate, labels) in enumerate(ends):
        here = sample.group == g
        rows.append(
            {
                "aspect": kept.aspect,
                "group": kept.groups[g],
                "rank": int(ranks[g]),
                **estimate,
                "judge": judge[g],
                **labels,
                "n_labelled": int(sample.rated[here].sum()),
                "n_units": int(here.sum()),
            }
        )
        if kept.withheld is not None:
            rows[-1]["withheld"] = float(np.nanmean(kept.withheld[here]))
    order = np.argsort(-means.estimate, kind="stable")  # without an estimate: last
    rows = [rows[g] for g in order]
    low, high = apart.interval(1 - alpha)
    pairs = [
        {
            "aspect": kept.aspect,
            "first": kept.groups[a],
            "second": kept.groups[b],
            "difference": float(apart.estimate[k]),
            "ci_low": float(low[k]),
            "ci_high": float(high[k]),
            "p": float(p[k]),
            "p_holm": float(corrected[k]),
        }
        for k, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True))
        if n <= _ALL_PAIRS or order[0] in (a, b)
    ]
    return rows, pairs


def _order(rows: list[dict[str, Any]], noun: str) -> str:
    top = [row["group"] for row in rows if row["rank"] == 1]
    if not top:
        return ""
    others = counted(len(top) - 1, f"other {noun}")
    return (
        f"; {top[0]} is the best" if len(top) == 1 else f"; {others} cannot be told from {top[0]}, the best"
    )


def _ways(kept: Correcting, alpha: float, seed: int) -> list[dict[str, Any]]:
    if kept.refused in {"few", "complete"}:
        return []
    one, whole = np.ones((1, 1)), kept.everything
    found = {
        "labels alone": whole.labels_alone(one),
        POWERED: whole.powered(one),
        f"{POWERED}, by strata": whole.by_strata(one),
        f"{POWERED}, isotonic": whole.powered(one, whole.mapped(seed)),
        f"{kept.judges[0]} alone, as if it were people": whole.judge_alone(one),
    }
    rows: list[dict[str, Any]] = [{"way": way, **_ends(value, alpha)[0]} for way, value in found.items()]
    values = {*np.unique(whole.ratings[whole.rated]), *np.unique(whole.scores[0])}
    if values <= {0.0, 1.0}:
        share = whole.rogan_gladen(1 - alpha)
        rows.append(
            {"way": "Rogan–Gladen", "estimate": share.estimate, "ci_low": share.low, "ci_high": share.high}
        )
    alone = rows[0]["ci_high"] - rows[0]["ci_low"]
    picked = "labels alone" if kept.refused else POWERED
    for row in rows:
        row["width"] = (row["ci_high"] - row["ci_low"]) / alone if alone > 0 else np.nan
        row["chosen"] = "yes" if row["way"] == picked else ""
    return rows
