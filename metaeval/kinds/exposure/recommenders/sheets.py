"""Recall and nDCG of recommenders, as a sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.base.simulation import Simulation
    from metaeval.kinds.exposure.recommenders.options import RecommenderOptions

_WHAT = (
    "Recall: the share of all likes that are among the first items of their user's list. nDCG: the mean "
    "discounted gain over that of an ideal list. Naive: over the rows of the log alone, as if all items "
    "were shown."
)
_P = "p: paired test against the best of the same measure and estimator, swapping users (Holm)."


def recommenders_sheet(
    frame: pd.DataFrame, options: RecommenderOptions, simulated: Simulation, intervals: str
) -> Sheet:
    """Lay out `metaeval.kinds.exposure.recommenders.values.recommenders_frame`."""
    held = "All rows of the log are held out: no recommender was trained on them."
    if options.held_out < 1:
        held = (
            f"The latest {100 * options.held_out:g} % of each user's rows are held out. Items of the "
            "training part do not count as likes, but keep their ranks in lists."
        )
    notes = [_WHAT, held]
    refused = frame[(frame["reason"] != "") & frame["clip"].isna() & frame["trim"].isna()]
    if len(refused):
        why = refused.drop_duplicates("system")
        text = "; ".join(f"{s}: {r}" for s, r in zip(why["system"], why["reason"], strict=True))
        notes.append(f"Refused values are withheld, because the log does not support them: {text}.")
    columns = [
        Column("measure", "Measure"),
        Column("estimator", "Estimator"),
        *(Column(n, n.capitalize(), "number") for n in ("clip", "trim") if frame[n].notna().any()),
        Column("system", "System"),
        Column("value", "Value", "decimal", "ci_low", "ci_high"),
        Column("ess", "Effective sample size", "count"),
        Column("mean_weight", "Mean weight", "hundredths"),
        Column("refused", "Refused"),
    ]
    if frame["p_best"].notna().any():
        columns.insert(-3, Column("p_best", "p", "p"))
        notes.append(_P)
    said = tuple(filter(None, (*notes, intervals)))
    title = "Recommenders, weighted by propensities"
    return Sheet("recommenders", title, frame, tuple(columns), said, simulated)
