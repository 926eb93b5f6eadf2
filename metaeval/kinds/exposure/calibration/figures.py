"""The curve of the link: recommenders by a judge's score and by their target, and the map between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import BLUE, FILLING, GREY, VERMILION, layer, nominal, number
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.exposure.files import CALIBRATION, POINTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metaeval.base.simulation import Simulation

FIGURES = ("calibration_curve",)
_INSIDE = "within the range of the others"


def calibration_figures(
    tables: Mapping[str, pd.DataFrame], simulated: Simulation, first: Mapping[str, str]
) -> Iterator[Figure]:
    """Yield the curve, if there is a recommender that is not refused.

    Parameters
    ----------
    tables
        Name of a file → its table.
    first
        Values to show first, such as those of ``evaluator``.
    """
    if POINTS not in tables:
        return
    frame = tables[POINTS]
    outside = frame["predicted"].isna()
    part = np.where(outside, "score out of the range of the others", _INSIDE)
    frame = frame.assign(
        # Of a finished run it is text: another file has a column of this name that holds a sentence.
        fitted=pd.to_numeric(frame["fitted"]),
        measure=frame["measure"] + " by " + frame["estimator"].str.upper(),
        part=np.where(frame["reason"] == "", part, "no map: " + frame["reason"].str.replace("_", " ")),
    )
    # The judge with the highest ρ of all is shown first.
    links = tables[CALIBRATION].sort_values("spearman", ascending=False)
    wanted = {"evaluator": str(links["evaluator"].iloc[0]), **first}
    chosen = first_choices(frame, wanted, ["evaluator", "measure"])
    yield Figure(_sheet(frame, simulated), _chart(frame), chosen)


def _sheet(frame: pd.DataFrame, simulated: Simulation) -> Sheet:
    columns = (
        Column("evaluator", "Judge"),
        Column("measure", "Measure"),
        Column("system", "Recommender"),
        Column("score", "Score", "decimal", "score_low", "score_high"),
        Column("target", "Value", "decimal", "target_low", "target_high"),
        Column("fitted", "Map", "decimal"),
        Column("predicted", "Predicted by the others", "decimal"),
    )
    note = (
        "Every dot is a recommender. The line is the fitted isotonic regression. Without a line there is no "
        "map; the colour says why. Grey bars are intervals."
    )
    title = "From a judge's score of recommenders to their Recall and nDCG"
    return Sheet("calibration_curve", title, frame, columns, (note,), simulated)


def _chart(frame: pd.DataFrame) -> dict[str, object]:
    x = number("score", title="judge's score (RJS)", scale={"zero": False})
    y = number("target", title="value", scale={"zero": False})
    parts = [str(p) for p in sorted(frame["part"].unique(), key=lambda p: str(p) != _INSIDE)]
    colours = [BLUE if p == _INSIDE else GREY if p.startswith("no map") else VERMILION for p in parts]
    tooltip = [
        nominal("system", title="recommender"),
        number("score", title="score", format=".3f"),
        number("target", title="value", format=".4f"),
        number("fitted", title="map", format=".4f"),
        number("predicted", title="by a map of the others", format=".4f"),
    ]
    return {
        "description": "Recommenders by a judge's score, to the right, and by their target, upwards.",
        **FILLING,
        "height": 320,
        "layer": [
            layer(
                "rule",
                {"x": x, "y": number("target_low"), "y2": {"field": "target_high"}},
                color=GREY,
                opacity=0.5,
            ),
            layer(
                "rule",
                {"y": y, "x": number("score_low"), "x2": {"field": "score_high"}},
                color=GREY,
                opacity=0.5,
            ),
            layer("line", {"x": x, "y": number("fitted")}, color=BLUE, strokeWidth=2),
            layer(
                "point",
                {
                    "x": x,
                    "y": y,
                    "color": nominal(
                        "part",
                        title=None,
                        scale={"domain": parts, "range": colours},
                        legend={"orient": "top", "columns": 2},
                    ),
                    "tooltip": tooltip,
                },
                filled=True,
                size=70,
                opacity=1,
            ),
        ],
    }
