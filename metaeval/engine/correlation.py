"""Scores × truth → correlations at every level, with the counts that a reader needs to trust them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from metaeval.base.keys import matched, preferred_levels
from metaeval.base.records import AVERAGE, COEFFICIENTS, Correlation, Correlations, ScoreTable
from metaeval.base.simulation import Simulation
from metaeval.engine.alignment.aligned import align
from metaeval.engine.alignment.policy import Policy, Prepared, plain, under
from metaeval.engine.intervals import Bootstrap, IntervalEnds, intervals
from metaeval.engine.out_of_core.files import Engine, FilePath, Parquet, head_of, in_memory, refuse_duckdb
from metaeval.stats.coefficients.levels import Estimates, estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from metaeval.stats.coefficients.tables import Floats

_BLOCK = 2**22  # scores worked through at a time: bounds the memory of a wide table


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
        items), ``confidence`` (0.95), ``method`` (``percentile``, ``bca``, ``jackknife`` or ``bags``),
        ``expand`` (true: wider for few clusters) and ``seed``. Without it there are no intervals: ``ci_low``
        and ``ci_high`` are NaN.
        Every evaluator, aspect and level meets the same resamples. Above 100,000 clusters there are none; see
        `metaeval.stats.resampling.many_clusters`.
    seed
        Of the resamples, unless ``bootstrap`` names one.
    engine
        ``memory`` reads files whole; ``duckdb`` (extra ``duckdb``) reads scores in files piece by piece. Both
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
        from metaeval.engine.out_of_core.correlating import correlate_files  # it imports this module

        files = Parquet.of(scores, "the scores")
        heads = files.head(), head_of(truth, "the truth")
        policy = Policy.of(_levels(*heads) if levels is None else levels, *rest)
        found = correlate_files(files, truth, policy, wanted, engine=engine)
    else:
        refuse_duckdb(engine)
        frames = plain(scores, in_memory(truth, "the truth"))
        policy = Policy.of(_levels(*frames) if levels is None else levels, *rest)
        found = correlated(under(policy, align(*frames, policy.levels)), scores, wanted)
    if found.frame["aspect"].nunique() > 2:
        return found
    # The average of one aspect says nothing more; the files of a run have it all the same.
    own = found.frame["aspect"] != AVERAGE
    return replace(found, frame=found.frame[own].reset_index(drop=True))


def _levels(scores: pd.DataFrame, truth: pd.DataFrame) -> Sequence[str]:
    return preferred_levels(matched(scores, truth))


def correlated(data: Prepared, scores: ScoreTable | pd.DataFrame, wanted: Bootstrap | None) -> Correlations:
    """Correlate aligned scores with the truth; ``scores`` are what was aligned."""
    policy = data.policy
    found = estimates(data)
    recorded = {
        "levels": list(policy.levels),
        "coefficients": list(policy.coefficients),
        "missing": {"truth": policy.truth, "score": policy.score},
        "undefined_groups": policy.undefined,
        "units": "common" if policy.common else "own",
        "n_truth_missing": dict(zip(data.aspects, map(int, data.truth_missing), strict=True)),
        **_left_out(data),
        **({"bootstrap": wanted.record(data)} if wanted else {}),
    }
    ends = intervals(data, found, wanted) if wanted else None
    if ends is not None and ends.no_interval:
        recorded["no_interval"] = ends.no_interval
    result = _frame(data, found, ends)
    given = scores if isinstance(scores, ScoreTable) else ScoreTable(result)
    # Scores that were read from a table have no signatures, and often a spec for a name.
    known = {name: given.signatures.get(name, name) for name in data.evaluators}
    simulated = Simulation.of(given.simulated, known)
    return Correlations(result, recorded, given.kinds, simulated.data, frozenset(simulated.evaluators))


def _left_out(data: Prepared) -> dict[str, dict[str, Any]]:
    """Return how many ratings are left out of all evaluators because some have no score, and who has none."""
    rated, left_out = data.n_rated, data.n_left_out
    if left_out is None or not left_out.any():
        return {}
    # An evaluator without any score for an aspect takes nothing from the others.
    missing = np.where(data.n_missing < rated, data.n_missing, 0).sum(axis=1)
    lacking = {data.evaluators[e]: int(missing[e]) for e in np.flatnonzero(missing)}
    return {"left_out": {"ratings": int(left_out.sum()), "of": int(rated.sum()), "missing": lacking}}


def estimates(p: Prepared) -> dict[tuple[str, str], Estimates]:
    """Correlate aligned scores with the truth, at each level and by each coefficient of the policy.

    Returns
    -------
    dict
        (level, coefficient) → estimates of which every array has shape (E * A,), aspect after aspect of each
        evaluator; ``terms`` has a column per group besides.
    """
    if p.found:
        return p.found
    n_rows = len(p.evaluators) * len(p.aspects)
    x = p.scores.reshape(n_rows, -1)
    mask = None if p.mask is None else p.mask.reshape(n_rows, -1)
    y_row = np.tile(np.arange(len(p.aspects)), len(p.evaluators))
    step = max(1, _BLOCK // max(1, x.shape[1]))
    blocks = []
    for start in range(0, n_rows, step):
        at = slice(start, start + step)
        blocks.append(
            estimate(
                x[at],
                p.truth,
                p.groupings,
                p.policy.coefficients,
                y_row=y_row[at],
                mask=None if mask is None else mask[at],
                undefined=p.policy.undefined,
            )
        )
    fields = ("estimate", "n_units", "n_groups", "n_undefined", "terms")
    whole = blocks[0]
    if len(blocks) > 1:
        whole = {
            key: Estimates(*(np.concatenate([getattr(b[key], f) for b in blocks]) for f in fields))
            for key in whole
        }
    p.found.update(whole)
    return p.found


def _frame(
    p: Prepared, found: Mapping[tuple[str, str], Estimates], ends: IntervalEnds | None
) -> pd.DataFrame:
    """Put the estimates and their mean over aspects into the columns of `Correlation`."""
    policy = p.policy
    shape = (len(p.evaluators), len(p.aspects))
    cells = [(level, coefficient) for level in policy.levels for coefficient in policy.coefficients]
    aspects = [*p.aspects, AVERAGE]

    def column(field: str) -> Floats:
        values = np.stack([getattr(found[c], field).reshape(shape) for c in cells], axis=2)
        average = values.mean(axis=1) if field == "estimate" else values.sum(axis=1)
        return np.concatenate([values, average[:, None]], axis=1).ravel()

    n = shape[0] * len(aspects) * len(cells)

    def repeated(names: Sequence[str], each: int) -> NDArray[Any]:
        return np.array(names, dtype=object)[np.arange(n) // each % len(names)]

    missing = np.concatenate([p.n_missing, p.n_missing.sum(axis=1, keepdims=True)], axis=1)
    columns: dict[str, Any] = {
        "evaluator": repeated(p.evaluators, len(aspects) * len(cells)),
        "aspect": repeated(aspects, len(cells)),
        "level": repeated(policy.levels, len(policy.coefficients)),
        "coefficient": repeated(policy.coefficients, 1),
        "estimate": column("estimate"),
        "ci_low": np.nan if ends is None else ends.low.ravel(),
        "ci_high": np.nan if ends is None else ends.high.ravel(),
    }
    for count in ("n_units", "n_groups", "n_undefined"):
        columns[count] = column(count).astype(np.int64)
    columns["n_missing"] = np.repeat(missing.ravel(), len(cells))
    columns["corrected"] = np.nan if ends is None else ends.corrected.ravel()
    return pd.DataFrame(columns)[list(Correlation._fields)]
