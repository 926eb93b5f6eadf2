"""Agreement, ties and disagreement of pairs as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import BLUE, FILLING, GREY, VERMILION, layer, nominal, number
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.relevance.agreement import RELEVANT, SHARES

if TYPE_CHECKING:
    from collections.abc import Mapping


def agreement_figure(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    """Draw agreement, ties and disagreement as one bar per evaluator, for one gap at a time."""
    long = sheet.frame.melt(
        ["evaluator", "gap", "n_pairs"], list(SHARES), var_name="outcome", value_name="share"
    )
    long["place"] = long["outcome"].map({name: i for i, name in enumerate(SHARES)})
    relevant = sheet.frame[sheet.frame["gap"] == RELEVANT].sort_values("agreement", ascending=False)
    order = [*relevant["evaluator"], *sheet.frame["evaluator"].unique()]
    chart = {
        "description": "Shares of pairs that each evaluator orders as the labels do, ties, or the other way.",
        **FILLING,
        "height": {"step": 18},
        **layer(
            "bar",
            {
                "y": nominal("evaluator", title=None, sort=list(dict.fromkeys(order))),
                "x": number(
                    "share", title="share of pairs", axis={"format": ".0%"}, scale={"domain": [0, 1]}
                ),
                "color": nominal(
                    "outcome",
                    title=None,
                    sort=list(SHARES),
                    scale={"domain": list(SHARES), "range": [BLUE, GREY, VERMILION]},
                ),
                "order": number("place"),
                "tooltip": [
                    nominal("evaluator", title="evaluator"),
                    nominal("outcome", title="pairs"),
                    number("share", title="share", format=".1%"),
                    number("n_pairs", title="pairs", format=","),
                ],
            },
        ),
    }
    columns = (
        Column("evaluator", "Evaluator"),
        Column("gap", "Gap"),
        Column("outcome", "Pairs"),
        Column("share", "Share", "share"),
    )
    drawn = Sheet("agreement", sheet.title, long, columns, sheet.notes, sheet.simulated)
    return Figure(drawn, chart, first_choices(long, {"gap": RELEVANT, **first}, ["gap"]))
