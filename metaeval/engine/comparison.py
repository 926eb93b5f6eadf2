"""Which evaluators differ in their correlation with the truth: paired tests on the same units."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from metaeval.base.errors import one_of
from metaeval.base.records import AVERAGE
from metaeval.base.validation import Line, Options
from metaeval.engine.alignment.policy import Coefficient, Policy, Prepared, prepare
from metaeval.engine.out_of_core.files import Parquet, chosen, in_memory, refuse_duckdb
from metaeval.engine.paired_tests import Tests, comparisons
from metaeval.stats.coefficients.dependent import williams
from metaeval.stats.coefficients.exact import GroupSums, squarable
from metaeval.stats.coefficients.grouped import pearson
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.resampling.paired import AspectScores, paired_permutation
from metaeval.stats.resampling.t_tests import Paired
from metaeval.stats.weighted.statistic import Clusters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.base.records import ScoreTable
    from metaeval.engine.board import Cell
    from metaeval.engine.out_of_core.files import Engine, FilePath
    from metaeval.engine.paired_tests import Comparisons
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.weights import Swaps


class OrderBy(Options):
    """The column that orders the leaderboard and is tested; the average at the first level, if left out."""

    called = "order_by"
    aspect: Line | None = None
    level: Line | None = None
    coefficient: Coefficient | None = None


def compare(
    scores: ScoreTable | pd.DataFrame | FilePath,
    truth: pd.DataFrame | FilePath,
    *,
    aspect: str = AVERAGE,
    level: str = "dataset",
    coefficient: str = "pearson",
    missing: Mapping[str, float | str] | None = None,
    undefined_groups: Literal["skip", "zero"] = "skip",
    units: Literal["common", "own"] = "common",
    swap: str | None = None,
    permutations: int = 10_000,
    correction: Literal["holm", "bh", "none"] = "holm",
    alpha: float = 0.05,
    seed: int = 0,
    engine: Engine = "auto",
) -> Comparisons:
    """Test every two evaluators for a difference between their correlations with the truth.

    In each permutation the standardised scores of the two change places within randomly chosen users (or
    items, or units), alike for all aspects; p = (k + 1) / (n + 1).

    Parameters
    ----------
    scores, truth, missing, undefined_groups, units, engine
        As for `metaeval.correlate`. From files that are read piece by piece there is no Williams' test, and
        no test of rank coefficients over all units of continuous scores, which takes all of them.
    aspect
        One of the truth's, or ``average``.
    level, coefficient
        As for `metaeval.correlate`, one of each.
    swap
        ``user``, ``item``, ``generator`` or ``unit``: what is swapped as a whole; users, if left out, or
        items where there are no users.
    permutations
        How many; more are made where there are so many pairs that none could be significant.
    correction
        Over all pairs: ``holm`` (family-wise error), ``bh`` (Benjamini and Hochberg: share of false
        discoveries) or ``none``.
    alpha
        Level of significance that the corrected p-values are compared with.
    seed
        Of the permutations.

    Raises
    ------
    MetaevalError
        For an unknown option, and for frames that cannot be matched (`DataError`).
    """
    policy = Policy.of([level], [coefficient], missing, undefined_groups, units)
    given = {"swap": swap, "permutations": permutations, "correction": correction, "alpha": alpha}
    tests = Tests.model_validate({**given, "seed": seed})
    cell = correlation_cell(aspect, level, coefficient)
    if isinstance(scores, str | os.PathLike):
        files = Parquet.of(scores, "the scores")
        if chosen(engine, files) == "duckdb":
            from metaeval.engine.out_of_core.comparing import compare_files  # it imports this module

            return compare_files(files, in_memory(truth, "the truth"), policy, cell, tests)
        scores = files.frame()
    else:
        refuse_duckdb(engine)
    return compare_prepared(prepare(scores, in_memory(truth, "the truth"), policy), cell, tests)


def correlation_cell(aspect: str = AVERAGE, level: str = "dataset", coefficient: str = "pearson") -> Cell:
    """Return a cell of correlations."""
    return {"aspect": aspect, "level": level, "coefficient": coefficient}


def compare_prepared(data: Prepared, by: Cell, tests: Tests, *, corrected_with: int = 0) -> Comparisons:
    """Test the evaluators of aligned data by one column of a leaderboard.

    ``corrected_with`` says of how many tests these are a part, if the p-values are to be corrected with those
    of others: so many permutations are made that the correction leaves something.

    Raises `MetaevalError` if the data have no such aspect or level, or nothing to swap by.
    """
    places = aspects_of(by, data.aspects)
    swap = data.cluster_name(tests.swap)
    clusters = data.clusters(swap)
    return comparisons(
        by,
        data.evaluators,
        lambda swaps: _tested(data, by, places, clusters, swaps),
        tests,
        swap=swap,
        n_clusters=clusters.n,
        corrected_with=corrected_with,
    )


def aspects_of(by: Cell, aspects: Sequence[str]) -> list[int]:
    """Return the places of the aspects that a cell is made of; `MetaevalError` if there is no such aspect."""
    one_of(by["aspect"], [*aspects, AVERAGE], "there is no aspect", "aspects")
    return [*range(len(aspects))] if by["aspect"] == AVERAGE else [aspects.index(by["aspect"])]


def _tested(
    data: Prepared, by: Cell, aspects: list[int], clusters: Clusters, swaps: Swaps
) -> tuple[Paired, Floats]:
    """Test all pairs at once if all scored the same units, else each pair on the units that both have."""
    n = len(data.evaluators)
    if data.mask is None or (data.mask[:, aspects] == data.mask[:1, aspects]).all():
        groups = [list(range(n))]
    else:
        groups = [[i, j] for i in range(n) for j in range(i)]
    found = Paired.empty(n)
    p_williams = np.full((n, n), np.nan)
    for group in groups:
        scored = [scored_alike(data, group, a, by["level"], clusters) for a in aspects]
        tested = paired_permutation(scored, by["coefficient"], swaps, undefined=data.policy.undefined)
        at = np.ix_(group, group)
        for whole, part in (
            (found.difference, tested.difference),
            (found.p, tested.p),
            (found.p_greater, tested.p_greater),
        ):
            whole[at] = part
        found = replace(found, made_by=tested.made_by, least_p=tested.least_p)
        if len(scored) == 1:
            p_williams[at] = _williams(scored[0], by, len(group))
    return found, p_williams


def scored_alike(
    data: Prepared, evaluators: Sequence[int], aspect: int, level: str, clusters: Clusters
) -> list[AspectScores]:
    """Return the scores of evaluators on the units that all of them have, for one aspect and level."""
    units = slice(None) if data.mask is None else data.mask[evaluators, aspect].all(axis=0)
    g = data.groupings[level]
    grouping = Grouping(g.group[units].astype(np.int64), g.n_groups, g.between)
    of_units = Clusters(clusters.of_unit[units], clusters.n)
    truth = squarable(data.truth[aspect])
    y = ((truth - truth.mean()) / (truth.std() or 1.0))[units]
    return [AspectScores(squarable(data.scores[e, aspect, units]), y, grouping, of_units) for e in evaluators]


def _williams(scored: Sequence[AspectScores], by: Cell, n: int) -> Floats:
    """Return Williams' p-values of Pearson's r over all units, or of the means of generators."""
    found = np.full((n, n), np.nan)
    if by["coefficient"] != "pearson" or by["level"] not in ("dataset", "generator") or not scored:
        return found
    columns = [_points(s) for s in scored]
    own = [pearson(x, y) for x, y in columns]
    for i, (x, y) in enumerate(columns):
        for j, (z, other) in enumerate(columns[:i]):
            if len(x) == len(z) and np.array_equal(y, other):
                test = williams(own[i], own[j], pearson(x, z), len(x))
                found[i, j] = found[j, i] = float(test.p)
    return found


def _points(s: AspectScores) -> tuple[Floats, Floats]:
    """Return what is correlated: the units, or the means of groups."""
    if not s.grouping.between:
        return s.x, s.y
    x, y = (GroupSums.of(v, s.grouping.group, s.grouping.n_groups).means() for v in (s.x, s.y))
    there = ~np.isnan(x)
    return x[there], y[there]
