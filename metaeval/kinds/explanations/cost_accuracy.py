"""Accuracy and cost: judges by their price and by how well they agree with the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.analysis.agreement.forest import CELL, ESTIMATE, without_lone_average
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.explanations.prompting import judge_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation
    from metaeval.engine.sheet import Form

_UNITS: dict[str, tuple[str, Form]] = {
    "usd": ("USD per text", "usd"),
    "tokens": ("Tokens per text", "number"),
}


def cost_accuracy(
    correlations: pd.DataFrame,
    costs: pd.DataFrame,
    signatures: Mapping[str, Mapping[str, Any]],
    *,
    intervals: str = "",
    simulated: Simulation = REAL,
) -> Sheet | None:
    """Put each judge's cost beside its correlations, and mark the Pareto frontier.

    Parameters
    ----------
    correlations
        The columns of `metaeval.base.records.Correlation`.
    costs
        ``evaluator``, ``usd_per_text`` and ``tokens_per_text``; NaN where unknown.
    signatures
        Of the evaluators.
    intervals
        A sentence on how the intervals were made.
    simulated
        What is: the data, or which evaluators.

    Returns
    -------
    Sheet or None
        One row per judge, aspect, level and coefficient, with ``cost`` of a text on all aspects, its ``unit``
        (``usd``, or ``tokens`` where the price of fewer than two judges is known and not nothing), ``model``,
        ``way`` and ``frontier``: no judge that is as cheap or cheaper has a higher estimate. None unless
        there are two costs.
    """
    names = judge_names(signatures)
    of_unit = {
        unit: costs.set_index("evaluator")[f"{unit}_per_text"].astype(float).dropna() for unit in _UNITS
    }
    # Models that cost nothing on your own server are told apart by their tokens.
    unit = "usd" if (of_unit["usd"] > 0).sum() > 1 else "tokens"
    cost = of_unit[unit]
    cost = cost[cost.index.isin(list(names))]
    if len(cost) < 2 or not (cost > 0).any():
        return None
    frame = without_lone_average(correlations)
    frame = frame[frame["evaluator"].isin(cost.index)]
    frame = frame[["evaluator", *CELL, "estimate", "ci_low", "ci_high"]].reset_index(drop=True)
    frame.insert(1, "model", [names[name][0] for name in frame["evaluator"]])
    frame.insert(2, "way", [names[name][1] for name in frame["evaluator"]])
    frame["cost"] = cost.reindex(frame["evaluator"]).to_numpy()
    frame["unit"] = unit
    frame["frontier"] = _on_frontier(frame)
    unknown = [n for n in names if n not in cost.index]
    title, form = _UNITS[unit]
    return Sheet(
        "cost",
        "Accuracy and cost",
        frame,
        (
            Column("evaluator", "Judge"),
            Column("cost", title, form),
            *ESTIMATE,
            Column("frontier", "On the frontier"),
        ),
        (
            "The cost of a text covers all aspects, in one call or several, and repeated attempts.",
            *([intervals] if intervals else []),
            (
                "The stepped line is the Pareto frontier: no judge that costs the same or less has a higher "
                "estimate."
            ),
            *([f"Left out, of unknown cost: {', '.join(unknown)}."] if unknown else []),
        ),
        simulated.among(cost.index),
    )


def _on_frontier(frame: pd.DataFrame) -> list[bool]:
    """Mark in each column of the leaderboard the judges better than all that are as cheap or cheaper."""
    marked: dict[int, bool] = {}
    for _, cell in frame.groupby(CELL, sort=False, observed=True):
        best = float("-inf")
        ordered = cell.sort_values(["cost", "estimate"], ascending=[True, False], kind="stable")
        for row, estimate in zip(ordered.index, ordered["estimate"], strict=True):
            marked[row] = bool(estimate > best)  # NaN is not
            best = max(best, estimate) if marked[row] else best
    return [marked[row] for row in frame.index]
