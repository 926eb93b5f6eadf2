"""Human reference: correlations of annotators with the truth, each other, and the mean of the others."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import pandas as pd

from metaeval.base.counts import counted, listed, plural_of
from metaeval.base.keys import ITEM, key_columns, levels_of, noun
from metaeval.base.records import AVERAGE, USER_RATER
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.engine.correlation import COEFFICIENT_NAMES, correlated
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sentences import GENERATOR_INTERVALS
from metaeval.engine.sheet import Column, Sheet, interval_text
from metaeval.stats.coefficients.tables import GroupSums

MOST_IN_PAIRS = 8
"""Annotators up to which every pair has a row."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """The ratings of one person, or a mean of several, to be correlated with other ratings."""

    who: str
    against: str
    scores: pd.DataFrame
    """Key columns, ``aspect``, ``score``."""
    ratings: pd.DataFrame
    """Key columns, ``aspect``, ``rating``."""

    def correlated(
        self, policy: Policy, coefficients: Sequence[str], bootstrap: Bootstrap | None
    ) -> pd.DataFrame | None:
        """Correlate what the two sides say; None if they have no unit in common."""
        by = [*key_columns(self.ratings), "aspect"]
        # Aspects without a unit that both rated have no estimate, and so the average has none.
        both = self.ratings.merge(self.scores[by], on=by)
        if both.empty:
            return None
        scores = self.scores.assign(evaluator=self.who)
        wanted = replace(policy, coefficients=tuple(coefficients), score="drop", common=False)
        return correlated(prepare(scores, both[[*by, "rating"]], wanted), scores, bootstrap).frame


def people(
    truth: pd.DataFrame,
    raters: pd.DataFrame | None,
    policy: Policy,
    *,
    truth_raters: Collection[str] = (),
    truth_name: str = "the user",
    bootstrap: Bootstrap | None = None,
    repeats: pd.DataFrame | None = None,
    simulated: Simulation = REAL,
) -> Sheet | None:
    """Correlate people's ratings of the same units, as a reference for the correlations of evaluators.

    - each annotator against the truth, and, of two or more, the mean of them;
    - each pair of annotators, of up to 8;
    - of three or more, each against the mean of the others;
    - each who was asked twice against what they said again (``repeats``, as of
      `metaeval.kinds.kind.Scored`), and, of two or more, all of them.

    An annotator whose ratings are part of the truth (``truth_raters``) is not correlated with it. The rows of
    the truth (key columns, ``aspect``, ``rating``) say which units are judged; ``raters`` has the column
    ``rater`` too, in which ``user`` is no annotator. The policy gives levels, the first coefficient,
    undefined groups and the fill of the truth. Missing ratings of annotators are left out: a line has all
    units that both rated.

    Returns
    -------
    Sheet or None
        A row per line: ``who``, ``against``, and each level with ``<level>_low`` and ``<level>_high``,
        averaged over aspects; the frame has every aspect too (``pair: accuracy``). None if there are no
        annotators.
    """
    asked, again = annotator_ratings(truth, raters), list(repeated_lines(repeats))
    if asked is None and not again:
        return None
    given = bootstrap or Bootstrap()
    wanted = given.by(given.cluster or noun(key_columns(truth)[0]))
    if asked is None:
        asked = pd.DataFrame(columns=["rater", "aspect"])
    lines = [*_lines(truth, asked, frozenset(truth_raters), truth_name), *again] if len(asked) else again
    rows = [_row(line, policy, wanted) for line in lines]
    if not rows:
        return None
    columns = [
        Column(v, f"{v.capitalize()} level", "hundred", f"{v}_low", f"{v}_high") for v in policy.levels
    ]
    return Sheet(
        "people",
        "What people reach",
        pd.DataFrame(rows),
        (
            Column("who", "Annotator"),
            Column("against", "Against"),
            *columns,
            Column("n_units", "Ratings", "count"),
        ),
        tuple(
            _notes(
                truth,
                asked,
                policy,
                in_truth=frozenset(truth_raters),
                truth_name=truth_name,
                bootstrap=wanted,
            )
        )
        + ((_REPEATED,) if again else ()),
        simulated,
        finding=partial(_reached, truth_name=truth_name, coefficient=policy.coefficients[0]),
    )


def _reached(sheet: Sheet, *, truth_name: str, coefficient: str) -> str:
    """Say how well the best of people agrees with the truth and with others, at the first level."""
    level = next(column for column in sheet.columns if column.low)
    rows = sheet.frame[sheet.frame[level.name].notna()]
    of_truth, again = rows["against"] == truth_name, rows["against"].str.endswith(_AGAIN)
    with_mean = rows["against"].str.startswith("mean of ")
    among = {
        truth_name: of_truth,
        "each other": with_mean if with_mean.any() else ~of_truth & ~again,
        THEMSELVES: rows["against"] == THEMSELVES,
    }
    told, unsure = [], []
    for whom, these in among.items():
        if these.any():
            best = rows[these].nlargest(1, level.name).iloc[0]
            ends = interval_text(best[[level.name, level.low, level.high]], level.form)
            who = f"{best['who']} with {best['against']}" if whom == "each other" else best["who"]
            told.append(f"{ends} with {whom} ({who})")
            unsure += [whom] if best[level.low] <= 0 else []
    if not told:
        return ""
    said = f"{COEFFICIENT_NAMES[coefficient]} × 100 = {' and '.join(told)}"
    not_shown = f": that they agree with {listed(unsure)} is not shown" if unsure else ""
    return f"At {level.name} level, people reach, at best, {said}{not_shown}."


_REPEATED = (
    "The lines of those who were asked again are people's agreement with themselves: no evaluator can be "
    "expected to agree better with a rating than the one who gave it."
)
_AGAIN = ", asked again"
THEMSELVES = f"themselves{_AGAIN}"
"""Against what the line of all raters who were asked twice stands."""


def repeated_lines(repeats: pd.DataFrame | None) -> Iterator[Line]:
    """Yield what each rater said against what they said again, and the same of all raters, if there are more.

    In the line of all, units of different raters are different: the rater is a part of the last key.
    """
    if repeats is None:
        return
    by = [*key_columns(repeats), "aspect"]

    def line(who: str, against: str, of: pd.DataFrame) -> Line:
        return Line(who, against, of[[*by, "score"]], of[[*by, "rating"]])

    raters = sorted(repeats["rater"].unique())
    for rater in raters if len(raters) > 1 else ():
        yield line(rater, f"{rater}{_AGAIN}", repeats[repeats["rater"] == rater])
    last = by[-2]
    each = repeats[last].astype(str) + "\0" + repeats["rater"].astype(str)
    yield line("all raters" if len(raters) > 1 else raters[0], THEMSELVES, repeats.assign(**{last: each}))


def people_lines(
    truth: pd.DataFrame,
    raters: pd.DataFrame | None,
    policy: Policy,
    *,
    truth_raters: Collection[str] = (),
    truth_name: str = "the user",
) -> Iterator[tuple[Line, pd.DataFrame]]:
    """Yield each line of `people` with its correlations, by all coefficients and without intervals."""
    asked = annotator_ratings(truth, raters)
    if asked is not None:
        for line in _lines(truth, asked, frozenset(truth_raters), truth_name):
            found = line.correlated(policy, policy.coefficients, None)
            if found is not None:
                yield line, found


def annotator_ratings(truth: pd.DataFrame, raters: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return what annotators rated of the truth's units and aspects, without NaN; None if there is nothing.

    Parameters
    ----------
    truth, raters
        As in `people`.
    """
    if raters is None:
        return None
    by = [*key_columns(truth), "aspect"]
    asked = raters[(raters["rater"] != USER_RATER) & raters["rating"].notna()]
    asked = asked.merge(truth[by], on=by)
    return asked if len(asked) else None


def _lines(
    truth: pd.DataFrame, asked: pd.DataFrame, in_truth: frozenset[str], truth_name: str
) -> Iterator[Line]:
    names = sorted(asked["rater"].unique())
    by = [*key_columns(truth), "aspect"]
    own = {n: asked.loc[asked["rater"] == n, [*by, "rating"]] for n in names}

    def mean(of: Sequence[str]) -> pd.DataFrame:
        # Only units that all of them rated: means of fewer ratings are noisier.
        some = asked[asked["rater"].isin(of)]
        units = some.groupby(by, sort=False, observed=True)["rating"]
        size = units.size()
        means = GroupSums.of(some["rating"].to_numpy(float), units.ngroup().to_numpy(), len(size)).means()
        return size.to_frame("rating").assign(rating=means)[size == len(of)].reset_index()

    def line(who: str, against: str, scores: pd.DataFrame, ratings: pd.DataFrame) -> Line:
        return Line(who, against, scores.rename(columns={"rating": "score"}), ratings)

    free = [n for n in names if n not in in_truth]
    for n in free:
        yield line(n, truth_name, own[n], truth[[*by, "rating"]])
    if len(free) > 1:
        yield line(f"mean of {_listed(free)}", truth_name, mean(free), truth[[*by, "rating"]])
    if len(names) <= MOST_IN_PAIRS:
        for a, b in combinations(names, 2):
            if truth_name not in (a, b):  # of the one who is the truth, these are the lines above
                yield line(a, b, own[a], own[b])
    if len(names) > 2:
        for n in names:
            others = [m for m in names if m != n]
            yield line(n, f"mean of {_listed(others)}", own[n], mean(others))


def _listed(names: Sequence[str]) -> str:
    return counted(len(names), "annotator") if len(names) > MOST_IN_PAIRS else listed(names)


def _row(line: Line, policy: Policy, bootstrap: Bootstrap) -> dict[str, Any]:
    row: dict[str, Any] = {"who": line.who, "against": line.against, "n_units": 0}
    row |= {name: math.nan for v in policy.levels for name in (v, f"{v}_low", f"{v}_high")}
    found = line.correlated(policy, policy.coefficients[:1], bootstrap)
    if found is None:
        return row
    for cell in found.to_dict("records"):
        level = str(cell["level"])
        if cell["aspect"] == AVERAGE:
            row |= {level: cell["estimate"], f"{level}_low": cell["ci_low"], f"{level}_high": cell["ci_high"]}
            row["n_units"] = cell["n_units"]
    of_aspects = found[found["aspect"] != AVERAGE]
    return row | {f"{c['level']}: {c['aspect']}": c["estimate"] for c in of_aspects.to_dict("records")}


def _notes(
    truth: pd.DataFrame,
    asked: pd.DataFrame,
    policy: Policy,
    *,
    in_truth: frozenset[str],
    truth_name: str,
    bootstrap: Bootstrap,
) -> Iterator[str]:
    names, n_aspects = sorted(asked["rater"].unique()), truth["aspect"].nunique()
    over = f", averaged over {n_aspects} aspects" if n_aspects > 1 else ""
    method = "" if bootstrap.method == "percentile" else " BCa"
    yield (
        f"{policy.coefficients[0].capitalize()} × 100{over}; {100 * bootstrap.confidence:g} %{method} "
        f"intervals from {bootstrap.resamples:,} bootstrap resamples of "
        f"{plural_of(bootstrap.cluster or '')} (seed {bootstrap.seed})."
    )
    known, who = levels_of(key_columns(truth)), noun(key_columns(truth)[0])
    if any(known[level].between for level in policy.levels):
        yield GENERATOR_INTERVALS
    if bootstrap.cluster == who == ITEM:
        yield "The data have no users: items replace them."
    part = [n for n in names if n in in_truth]
    if part:
        who = f"{_listed(part)}, who are" if len(part) > 1 else f"{part[0]}, who is"
        yield (
            f"The truth {truth_name} is made of ratings of {who} not compared with it: a part agrees with "
            "its whole."
        )
    if len(part) > 2 and len(part) == len(names):
        yield (
            "The line against the mean of the others is what a person reaches. That mean has "
            f"{len(names) - 1} ratings and the truth {len(names)}, so this line is slightly too low compared "
            "with an evaluator's."
        )
    if len(names) > MOST_IN_PAIRS:
        yield f"Pairs are not listed for more than {MOST_IN_PAIRS} annotators."
    if names and len(asked) < len(names) * len(truth):
        yield (
            "Annotators did not rate everything: each line uses the units and aspects that both sides rated."
        )
    yield (
        f"Ratings are counted over all {n_aspects} aspects."
        if n_aspects > 1
        else "Ratings: units that both sides rated."
    )
