"""Whether a judge is nearer to people than two references are, and whose ratings it reproduces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.records import AVERAGE
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.sheet import Column
from metaeval.evaluators.people import SameForAll
from metaeval.kinds.explanations.people.cells import PeopleCells, left_out
from metaeval.kinds.kind import Scored
from metaeval.kinds.table import INTERVALS, KindTable
from metaeval.stats.agreement.distributions import likeliest, of_other_clusters
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Estimate, each, estimated
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio

if TYPE_CHECKING:
    from metaeval.engine.board import Cell

PERSON, SAME = "a person left out", "one distribution for all units"
EVERYONE = "(everyone)"
"""Stands for all people in the table of persons."""
_RESAMPLES = 2_000
_ANY, _SHARE = (-np.inf, np.inf), (0.0, 1.0)
NEARER, FARTHER, OPEN = "nearer", "farther", "not shown to be nearer or farther"


def _verdict(difference: Estimate[float], *, lower: bool) -> str:
    low, high = (difference.low, difference.high) if lower else (-difference.high, -difference.low)
    return NEARER if high < 0 else FARTHER if low > 0 else OPEN


def _three(sums: Floats) -> Floats:
    """Return the means of judge and reference, and their difference, from their sums and the units."""
    judge, other = ratio(sums[0], sums[2]), ratio(sums[1], sums[2])
    return np.concatenate([judge, other, judge - other])


def _references(scored: Scored[Any]) -> pd.DataFrame:
    """Hold each evaluator against a person left out, and against the same distribution for all."""
    cells: PeopleCells = scored.cells
    frame = pd.DataFrame(row for value in cells.parts for row in _of_value(cells, value))
    if frame.empty:
        return frame
    own = [
        name
        for name, spec in scored.study.specs.items()
        if EvaluatorSpec.parse(spec).name == SameForAll.__name__
    ]
    frame = frame[~(frame["evaluator"].isin(own) & (frame["against"] == SAME))].reset_index(drop=True)
    at = scored.study.ordered_by
    later = pd.DataFrame({name: frame[name] != at[name] for name in ("measure", "aspect")})
    order = later.sort_values(["measure", "aspect"], kind="stable").index.to_numpy(dtype=np.int64)
    return frame.take(order).reset_index(drop=True)


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the measure that orders the leaderboard, which are the first."""
    first: pd.DataFrame = frame[frame["measure"] == frame["measure"].iloc[0]]
    return first


def _of_value(cells: PeopleCells, value: str) -> Iterator[dict[str, Any]]:
    units = cells.units(value)
    if not len(units.truth):
        return
    compared = [(PERSON, found.measure, found.sums) for found in left_out(cells, value)]
    same = units.instead([of[None] for of in same_for_all(cells, value)])
    for measure in cells.measures.values():
        judge, other = units.sums(measure), same.sums(measure)
        compared.append(
            (SAME, measure, np.stack([judge[0], np.broadcast_to(other[0], judge[0].shape), judge[1]]))
        )
    for against, measure, sums in compared:
        n = sums.shape[2]
        bounds = [measure.bounds] * 2 * len(cells.evaluators) + [_ANY] * len(cells.evaluators)
        found = estimated(ClusterSums(sums, _three), n, cells.resampler, bounds=bounds)
        judges, others, differences = np.split(np.array(each(found), dtype=object), 3)
        for name, judge, other, difference in zip(cells.evaluators, judges, others, differences, strict=True):
            yield {
                "evaluator": name,
                "aspect": value,
                "measure": measure.name,
                "against": against,
                **judge.row("judge"),
                **other.row("reference"),
                **difference.row("difference"),
                "verdict": _verdict(difference, lower=measure.lower_is_better),
                "n_units": int(sums[2, 0].sum()),
            }


def same_for_all(cells: PeopleCells, value: str) -> Iterator[Floats]:
    """Yield for each aspect the distribution of all ratings of other clusters, shape (n, values)."""
    use = cells.use(value)
    for a in cells.aspects_of(value):
        yield of_other_clusters(cells.given[a].counts, cells.every_cluster)[use]


REFERENCES = KindTable(
    "references.csv",
    "Is it nearer to people than a person, and than one distribution for all units?",
    (
        Column("evaluator", "Evaluator"),
        Column("aspect", "Aspect"),
        Column("measure", ""),
        Column("against", "Against"),
        Column("verdict", "It is", keep=True),
        Column("judge", "Evaluator's", "decimal", "judge_low", "judge_high"),
        Column("reference", "Reference's", "decimal", "reference_low", "reference_high"),
        Column("difference", "Difference", "decimal", "difference_low", "difference_high", keep=True),
        Column("n_units", "Units", "count"),
    ),
    _references,
    shown=_in_order,
    notes=(
        "A person left out: each in turn; evaluator and person are held against the others' ratings.",
        "One distribution for all units: the shares of all ratings of other clusters; against all people's.",
        "By the measure that orders the leaderboard; references.csv has the others.",
        INTERVALS,
    ),
)


def _persons(scored: Scored[Any]) -> pd.DataFrame:
    """Return how often each evaluator's likeliest value is not what each person said."""
    cells: PeopleCells = scored.cells
    rows = [row for value in cells.parts for row in _of_persons(cells, value, scored.study.groups or ())]
    return pd.DataFrame(rows)


def _of_persons(cells: PeopleCells, value: str, groups: Sequence[str]) -> Iterator[dict[str, Any]]:
    errors, of_rating = _errors(cells, value)
    ratings, cluster = cells.ratings.iloc[of_rating], cells.every_cluster[cells.unit_of_row[of_rating]]
    if not len(ratings):
        return
    people = ratings["rater"].astype(str).to_numpy(dtype=object)
    whole = np.full(len(people), EVERYONE, dtype=object)
    named = [("", whole), ("", people)]
    named += [(f"{g} = ", ratings[g].fillna("").astype(str).to_numpy(dtype=object)) for g in groups]
    for prefix, who in named:
        for name in sorted(set(who) - {""}):
            own = np.flatnonzero(who == name)
            codes, there = pd.factorize(cluster[own])
            n = len(there)
            sums = np.array([[np.bincount(codes, v, n) for v in kind] for kind in errors[..., own]])
            resampler = cells.resampler.at_most(_RESAMPLES) if cells.resampler else None
            found = each(estimated(ClusterSums(sums, _means), n, resampler, bounds=_SHARE))
            error, distance, others = (found[i * len(cells.evaluators) :] for i in range(3))
            for e, evaluator in enumerate(cells.evaluators):
                yield {
                    "evaluator": evaluator,
                    "aspect": value,
                    "rater": f"{prefix}{name}",
                    **error[e].row("error"),
                    "distance": distance[e].value,
                    "others": others[e].value,
                    "n_ratings": len(own) // (len(cells.aspects_of(value)) if value == AVERAGE else 1),
                }


def _means(sums: Floats) -> Floats:
    """Return the mean error, the mean distance, and the others' mean error."""
    return np.concatenate([ratio(sums[0], sums[3]), ratio(sums[1], sums[3]), ratio(sums[2], sums[4])])


def _errors(cells: PeopleCells, value: str) -> tuple[Floats, Ints]:
    """Return what is summed of each evaluator and rating, shape (5, E, ratings), and the rows of the ratings.

    That is: the likeliest value is another; how far it is, as a share of the scale's length; the likeliest
    value of the other people is another; one for each rating; one for each that has others.
    """
    use, found, rows = cells.use(value), [], []
    for a in cells.aspects_of(value):
        given = cells.given[a]
        enters = use[given.unit]
        unit, said, row = given.unit[enters], given.value[enters], given.row[enters]
        scale = cells.scale.of(cells.matched.prepared.aspects[a])
        longest = 1 if scale.labels else max(len(scale.steps) - 1, 1)
        judged = likeliest(cells.judged[a][:, unit])
        known = judged >= 0
        error = (judged != said).astype(np.float64)
        distance = error if scale.labels else np.abs(judged - said) / longest
        rest = likeliest(given.others[enters])
        others = np.broadcast_to((rest != said) & (rest >= 0), error.shape).astype(np.float64)
        beside = np.broadcast_to(rest >= 0, error.shape).astype(np.float64)
        found.append(np.stack([error * known, distance * known, others, known.astype(np.float64), beside]))
        rows.append(row)
    return np.concatenate(found, axis=2), np.concatenate(rows)


def _shown_persons(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of all together, and of groups and people with more than a few ratings."""
    return frame[frame["n_ratings"] >= _FEW] if (frame["n_ratings"] >= _FEW).any() else frame


_FEW = 20
"""Ratings from which on somebody is printed."""


PERSONS = KindTable(
    "persons.csv",
    "Whose ratings does it reproduce?",
    (
        Column("evaluator", "Evaluator"),
        Column("aspect", "Aspect"),
        Column("rater", "Person"),
        Column("error", "Errors", "share", "error_low", "error_high"),
        Column("distance", "Distance", "decimal"),
        Column("others", "Errors of the others", "share"),
        Column("n_ratings", "Ratings", "count"),
    ),
    _persons,
    notes=(
        "Errors: the share of a person's ratings that are not the evaluator's likeliest value.",
        "Distance: the mean distance of the two, as a share of the scale's length; of words, the errors.",
        "Errors of the others: the same of the likeliest value of all other people.",
        f"People with fewer than {_FEW} ratings are in persons.csv alone.",
        INTERVALS,
    ),
    shown=_shown_persons,
)


def reference_of(table: pd.DataFrame, evaluator: str, at: Cell, against: str) -> dict[str, Any] | None:
    """Return the row of an evaluator and a reference in a cell of the board; None if there is none."""
    wanted = {"evaluator": evaluator, "against": against, **at}
    if table.empty:
        return None
    rows = table[np.logical_and.reduce([table[column] == value for column, value in wanted.items()])]
    return {str(name): value for name, value in rows.iloc[0].items()} if len(rows) else None
