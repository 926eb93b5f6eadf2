"""Correlations and paired tests of scores and truth, in frames or Parquet files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import pandas as pd

from metaeval.base.keys import matched, preferred_levels
from metaeval.base.records import AVERAGE, COEFFICIENTS, ScoreTable
from metaeval.engine.alignment.aligned import align
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import plain, prepare, under
from metaeval.engine.correlation import Correlations, correlated
from metaeval.engine.files import Engine, FilePath, Parquet, chosen, in_memory, refuse_duckdb
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.order.paired_tests import Comparisons, Tests, compare_prepared, correlation_cell
from metaeval.engine.passes import FileCells, correlate_files, load


def correlate(
    scores: ScoreTable | pd.DataFrame | FilePath,
    truth: pd.DataFrame | FilePath,
    *,
    levels: Sequence[str] | None = None,
    coefficients: Sequence[str] = COEFFICIENTS,
    missing: Mapping[str, float | str] | None = None,
    undefined_groups: Literal["skip", "zero"] = "skip",
    units: Literal["common", "own"] = "common",
    bootstrap: Mapping[str, Any] | None = None,
    seed: int = 0,
    engine: Engine = "auto",
) -> Correlations:
    """Correlate every evaluator's scores with the truth, per aspect and averaged over aspects.

    Parameters
    ----------
    scores
        A `ScoreTable`, or a frame with the columns ``user_id, item_id, generator, evaluator, aspect, score``
        (and ``status``). Without an aspect a score holds for all of them. A unit without a row is missing.
        A row without a key is refused with its number.
        Or the path of a Parquet file, a glob such as ``"scores/*.parquet"``, or a folder of such files, which
        may lie in folders such as ``evaluator=bleu``.
    truth
        A frame with the same key columns, ``aspect`` and ``rating``. Its rows say which units are judged; a
        rating of NaN was asked for and not given. Key columns that no level needs may be absent from both.
        Without an aspect there is one: that of the scores, or else ``rating``. A unit has one rating per
        aspect: those of several raters are averaged before.
        Or Parquet files, as for ``scores``.
    levels
        ``dataset``: over all units. ``user``, ``pair``, ``item``: the mean of the correlations within the
        groups. ``generator``: of the generators' means. Left out: the first three of these that the key
        columns allow and whose groups may have several units.
    coefficients
        ``pearson``, ``spearman`` (midranks), ``kendall`` (tau-b).
    missing
        ``{"truth": …, "score": …}``: a value to fill in, or ``"drop"`` (default) to leave the unit out. Units
        that were shown to an evaluator as examples are never filled.
    undefined_groups
        Groups without a defined coefficient (constant truth or scores, fewer than two units): leave them out
        of the mean (``skip``) or count them as 0 (``zero``).
    units
        ``common``: evaluators are compared on the units, by aspect, that all of them scored; an evaluator
        without any score for an aspect does not narrow it down. ``own``: each on the units that it scored.
    bootstrap
        Of intervals: ``{}``, or a mapping with any of ``resamples`` (10000), ``cluster`` (``user``, ``item``,
        ``generator`` or ``unit``: what is drawn with replacement and stays whole; users, if left out, or
        items), ``confidence`` (0.95), ``method`` (``percentile``, ``bca`` or ``jackknife``),
        ``expand`` (true: wider for few clusters) and ``seed``. Without it there are no intervals: ``ci_low``
        and ``ci_high`` are NaN.
        Every evaluator, aspect and level meets the same resamples. Above 100,000 clusters, values that are
        smooth take the jackknife (`metaeval.stats.resampling.cluster_sums`).
    seed
        Of the resamples, unless ``bootstrap`` names one.
    engine
        ``memory`` reads files whole; ``duckdb`` reads scores in files piece by piece. Both
        give the same numbers. ``auto`` takes ``duckdb`` for scores that would take more than half of the
        available memory, at 200 bytes per row. The result's ``policy`` says which engine read files.

    Returns
    -------
    Correlations
        Its ``frame`` has a row per evaluator, aspect (and ``average``, if there are several), level and
        coefficient. The average is NaN where the estimate of any aspect is; its counts are sums over aspects.

    Raises
    ------
    MetaevalError
        For an unknown level, coefficient or policy, and for frames that cannot be matched (`DataError`).

    Examples
    --------
    >>> import pandas as pd
    >>> truth = pd.DataFrame({"item_id": [1, 2, 3], "aspect": "fit", "rating": [1, 3, 5]})
    >>> scores = pd.DataFrame({"item_id": [1, 2, 3], "evaluator": "judge", "score": [2, 3, 4]})
    >>> result = correlate(scores, truth, levels=["dataset"], coefficients=["pearson"])
    >>> result.frame[["evaluator", "aspect", "estimate"]].to_dict("records")
    [{'evaluator': 'judge', 'aspect': 'fit', 'estimate': 1.0}]
    """
    wanted = Bootstrap.read(bootstrap, seed)
    rest = (coefficients, missing, undefined_groups, units)
    if isinstance(scores, str | os.PathLike):
        files = Parquet.of(scores, "the scores")
        ratings = in_memory(truth, "the truth")
        policy = Policy.of(_levels(files.head(), ratings) if levels is None else levels, *rest)
        result = correlate_files(files, ratings, policy, wanted, engine=engine)
    else:
        refuse_duckdb(engine)
        frames = plain(scores, in_memory(truth, "the truth"))
        policy = Policy.of(_levels(*frames) if levels is None else levels, *rest)
        result = correlated(under(policy, align(*frames, policy.levels)), scores, wanted)
    if result.frame["aspect"].nunique() > 2:
        return result
    # The average of one aspect adds nothing; only the files of a run have it.
    own = result.frame["aspect"] != AVERAGE
    return replace(result, frame=result.frame[own].reset_index(drop=True))


def _levels(scores: pd.DataFrame, truth: pd.DataFrame) -> Sequence[str]:
    return preferred_levels(matched(scores, truth))


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
            loaded = load(files, in_memory(truth, "the truth"), policy.levels)
            return FileCells(loaded, policy, ScoreTable(pd.DataFrame())).compare(cell, tests)
        scores = files.frame()
    else:
        refuse_duckdb(engine)
    data = prepare(scores, in_memory(truth, "the truth"), policy)
    return compare_prepared(data, cell, tests, about=scores if isinstance(scores, ScoreTable) else None)
