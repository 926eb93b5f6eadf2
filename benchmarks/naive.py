"""What one would write without metaeval: a pandas groupby and one scipy call per group."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.stats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pearson": scipy.stats.pearsonr,
    "spearman": scipy.stats.spearmanr,
    "kendall": scipy.stats.kendalltau,
}
GROUPS = {"dataset": [], "user": ["user_id"], "pair": ["user_id", "item_id"], "item": ["item_id"]}


def coefficient(x: np.ndarray, y: np.ndarray, name: str) -> float:
    """Return scipy's coefficient, NaN where it is undefined."""
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return np.nan
    return float(FUNCTIONS[name](x, y)[0])


def level(frame: pd.DataFrame, name: str, coefficients: Iterable[str]) -> dict[str, float]:
    """Average coefficients of ``score`` and ``rating`` over the groups of a level."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not GROUPS[name]:
            return {
                c: coefficient(frame["score"].to_numpy(), frame["rating"].to_numpy(), c) for c in coefficients
            }
        groups = [
            (g["score"].to_numpy(), g["rating"].to_numpy())
            for _, g in frame.groupby(GROUPS[name], sort=False)
        ]
        return {c: float(np.nanmean([coefficient(x, y, c) for x, y in groups])) for c in coefficients}


def correlate(
    scores: pd.DataFrame, truth: pd.DataFrame, levels: Iterable[str]
) -> dict[tuple[str, ...], float]:
    """Join, group and call scipy, for every evaluator and aspect."""
    joined = truth.merge(scores, on=["user_id", "item_id", "generator", "aspect"])
    found: dict[tuple[str, ...], float] = {}
    for (evaluator, aspect), frame in joined.groupby(["evaluator", "aspect"], sort=False):
        for name in levels:
            for c, value in level(frame, name, FUNCTIONS).items():
                found[str(evaluator), str(aspect), name, c] = value
    return found
