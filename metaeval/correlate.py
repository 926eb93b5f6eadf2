"""Scores × truth → correlations at every level, with the counts that a reader needs to trust them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from metaeval.align import Aligned, Bools, align
from metaeval.errors import DataError, MetaevalError, nearest
from metaeval.stats.levels import Estimates, estimate
from metaeval.types import AVERAGE, COEFFICIENTS, LEVELS, Correlation, Correlations, ScoreTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from metaeval.stats.tables import Floats, Ints

_BLOCK = 2**22  # scores worked through at a time: bounds the memory of a wide table


def correlate(
    scores: ScoreTable | pd.DataFrame,
    truth: pd.DataFrame,
    *,
    levels: Sequence[str] = ("dataset", "user", "pair"),
    coefficients: Sequence[str] = COEFFICIENTS,
    missing: Mapping[str, float | str] | None = None,
    undefined_groups: Literal["skip", "zero"] = "skip",
    units: Literal["common", "own"] = "common",
    bootstrap: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Correlations:
    """Correlate every evaluator's scores with the truth, per aspect and averaged over aspects.

    Parameters
    ----------
    scores
        A `ScoreTable`, or a frame with the columns ``user_id, item_id, generator, evaluator, aspect, score``
        (and ``status``). Without an aspect a score holds for all of them. A unit without a row is missing.
    truth
        A frame with the same key columns, ``aspect`` and ``rating``. Its rows say which units are judged; a
        rating of NaN was asked for and not given. Key columns that no level needs may be absent from both.
    levels
        ``dataset``: over all units. ``user``, ``pair``, ``item``: the mean of the correlations within the
        groups. ``generator``: of the generators' means.
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
    bootstrap, seed
        Of intervals. They are not computed by this version: ``ci_low`` and ``ci_high`` are NaN.

    Returns
    -------
    Correlations
        Its ``frame`` has a row an evaluator, aspect (and ``average``), level and coefficient. The average is
        NaN where the estimate of any aspect is; its counts are sums over aspects.

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
    >>> result.frame[["evaluator", "aspect", "estimate"]].to_dict("records")[0]
    {'evaluator': 'judge', 'aspect': 'fit', 'estimate': 1.0}
    """
    policy = _Policy.of(levels, coefficients, missing, undefined_groups, units)
    if bootstrap is not None and not isinstance(bootstrap, Mapping):
        raise MetaevalError(f"bootstrap must be a mapping, such as {{'resamples': 10000}}, not {bootstrap!r}")
    if not isinstance(scores, ScoreTable | pd.DataFrame) or not isinstance(truth, pd.DataFrame):
        raise DataError("scores must be a ScoreTable or a DataFrame, and truth a DataFrame")
    frame = scores.frame if isinstance(scores, ScoreTable) else scores
    for name, given in (("scores", frame), ("truth ratings", truth)):
        if not len(given):
            raise DataError(f"the {name} are empty: there is nothing to correlate")
    data = align(frame, truth, policy.levels)
    prepared = _apply(policy, data)
    found = _estimate(policy, data, prepared)
    recorded = {
        "levels": list(policy.levels),
        "coefficients": list(policy.coefficients),
        "missing": {"truth": policy.truth, "score": policy.score},
        "undefined_groups": undefined_groups,
        "units": units,
        "n_truth_missing": dict(zip(data.aspects, map(int, prepared.truth_missing), strict=True)),
    }
    result = _frame(policy, data, prepared, found)
    if isinstance(scores, ScoreTable):
        return Correlations(result, recorded, scores.kinds, scores.simulated, scores.simulated_evaluators)
    return Correlations(result, recorded)


@dataclass(frozen=True, slots=True)
class _Policy:
    levels: tuple[str, ...]
    coefficients: tuple[str, ...]
    truth: float | str
    score: float | str
    undefined: Literal["skip", "zero"]
    common: bool

    @classmethod
    def of(
        cls,
        levels: Sequence[str],
        coefficients: Sequence[str],
        missing: Mapping[str, float | str] | None,
        undefined: Literal["skip", "zero"],
        units: Literal["common", "own"],
    ) -> _Policy:
        _allowed("levels", levels, LEVELS)
        _allowed("coefficients", coefficients, COEFFICIENTS)
        _allowed("undefined_groups", [undefined], ("skip", "zero"))
        _allowed("units", [units], ("common", "own"))
        if missing is not None and not isinstance(missing, Mapping):
            raise MetaevalError(
                f"missing must be a mapping, such as {{'truth': 3, 'score': 0}}, not {missing!r}"
            )
        fills: dict[str, float | str] = {"truth": "drop", "score": "drop", **(missing or {})}
        _allowed("missing", list(fills), ("truth", "score"))
        for what, fill in fills.items():
            if isinstance(fill, str) and fill != "drop":
                raise MetaevalError(f"missing {what} is {fill!r}; give a number to fill in, or 'drop'")
            if not isinstance(fill, str) and not np.isfinite(fill):
                raise MetaevalError(f"missing {what} is {fill}; give a finite number to fill in, or 'drop'")
        names = tuple(levels), tuple(coefficients)
        return cls(*names, fills["truth"], fills["score"], undefined, units == "common")


def _allowed(name: str, given: Sequence[str], allowed: Sequence[str]) -> None:
    if isinstance(given, str) or not given:
        raise MetaevalError(f"{name} must be a list of one or more of {', '.join(allowed)}, not {given!r}")
    for value in given:
        if value not in allowed:
            hint = nearest(str(value), allowed)
            raise MetaevalError(f"{name}: {value!r} is not allowed (allowed: {', '.join(allowed)}){hint}")
    if len(set(given)) != len(given):
        raise MetaevalError(f"{name}: {', '.join(given)} names one of them twice")


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Arrays as the policy leaves them: finite everywhere, with a mask of the units that enter."""

    scores: Floats
    truth: Floats
    mask: Bools | None
    """Shape (E, A, U); None if every unit enters."""
    n_missing: Ints
    """Shape (E, A)."""
    truth_missing: Ints
    """Shape (A,)."""


def _apply(policy: _Policy, data: Aligned) -> _Prepared:
    no_truth = np.isnan(data.truth)
    asked = data.asked
    unanswered = no_truth if asked is None else no_truth & asked
    in_truth: Bools | None = asked
    if policy.truth == "drop" and unanswered.any():
        in_truth = ~no_truth
    truth = np.where(no_truth, 0.0 if policy.truth == "drop" else policy.truth, data.truth)

    none = np.isnan(data.scores)
    judged = np.ones(data.truth.shape, dtype=bool) if in_truth is None else in_truth
    candidates = none & judged
    if data.example is not None:
        candidates &= ~data.example
    n_missing = candidates.sum(axis=2)
    mask: Bools | None = None
    if in_truth is not None or data.example is not None or (policy.score == "drop" and none.any()):
        mask = np.broadcast_to(judged, none.shape).copy()
        if policy.score == "drop":
            mask &= ~none
        elif data.example is not None:
            mask &= ~data.example
    if none.any():
        scores = np.where(none, 0.0 if policy.score == "drop" else policy.score, data.scores)
    else:
        scores = data.scores
    if policy.common and mask is not None and len(data.evaluators) > 1:
        mask = _common(mask, data)
    return _Prepared(scores, truth, mask, n_missing, unanswered.sum(axis=1))


def _common(mask: Bools, data: Aligned) -> Bools:
    """Narrow every evaluator down to the units that all evaluators with any score have, aspect by aspect."""
    scored = np.logical_or.reduce(mask, axis=2)  # evaluators × aspects
    shared = np.logical_and.reduce(mask | ~scored[:, :, None], axis=0)
    for a, aspect in enumerate(data.aspects):
        if scored[:, a].any() and not shared[a].any():
            fewest = min(np.flatnonzero(scored[:, a]), key=lambda e: int(mask[e, a].sum()))
            raise DataError(
                f"no unit has a score for {aspect!r} from every evaluator ({data.evaluators[fewest]!r} has "
                f"only {int(mask[fewest, a].sum())}); leave it out, fill missing scores, or say units: own"
            )
    narrowed: Bools = mask & shared
    return narrowed


def _estimate(policy: _Policy, data: Aligned, p: _Prepared) -> dict[tuple[str, str], Estimates]:
    """Work through evaluators × aspects in blocks; every array of the result has shape (E * A,)."""
    n_rows = len(data.evaluators) * len(data.aspects)
    x = p.scores.reshape(n_rows, -1)
    mask = None if p.mask is None else p.mask.reshape(n_rows, -1)
    y_row = np.tile(np.arange(len(data.aspects)), len(data.evaluators))
    step = max(1, _BLOCK // max(1, x.shape[1]))
    blocks = []
    for start in range(0, n_rows, step):
        at = slice(start, start + step)
        blocks.append(
            estimate(
                x[at],
                p.truth,
                data.groupings,
                policy.coefficients,
                y_row=y_row[at],
                mask=None if mask is None else mask[at],
                undefined=policy.undefined,
            )
        )
    fields = ("estimate", "n_units", "n_groups", "n_undefined")
    return {
        key: Estimates(*(np.concatenate([getattr(b[key], f) for b in blocks]) for f in fields))
        for key in blocks[0]
    }


def _frame(
    policy: _Policy, data: Aligned, p: _Prepared, found: Mapping[tuple[str, str], Estimates]
) -> pd.DataFrame:
    """Put the estimates and their mean over aspects into the columns of `Correlation`."""
    shape = (len(data.evaluators), len(data.aspects))
    cells = [(level, coefficient) for level in policy.levels for coefficient in policy.coefficients]
    aspects = [*data.aspects, AVERAGE]

    def column(field: str) -> Floats:
        values = np.stack([getattr(found[c], field).reshape(shape) for c in cells], axis=2)
        average = values.mean(axis=1) if field == "estimate" else values.sum(axis=1)
        return np.concatenate([values, average[:, None]], axis=1).ravel()

    n = shape[0] * len(aspects) * len(cells)

    def repeated(names: Sequence[str], each: int) -> NDArray[Any]:
        return np.array(names, dtype=object)[np.arange(n) // each % len(names)]

    missing = np.concatenate([p.n_missing, p.n_missing.sum(axis=1, keepdims=True)], axis=1)
    columns: dict[str, Any] = {
        "evaluator": repeated(data.evaluators, len(aspects) * len(cells)),
        "aspect": repeated(aspects, len(cells)),
        "level": repeated(policy.levels, len(policy.coefficients)),
        "coefficient": repeated(policy.coefficients, 1),
        "estimate": column("estimate"),
        "ci_low": np.nan,
        "ci_high": np.nan,
    }
    for count in ("n_units", "n_groups", "n_undefined"):
        columns[count] = column(count).astype(np.int64)
    columns["n_missing"] = np.repeat(missing.ravel(), len(cells))
    return pd.DataFrame(columns)[list(Correlation._fields)]
