"""Figures of systems: their values by an evaluator's labels and by the truth's, and τ by labels per user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import BLUE, FILLING, GREY, by_name, layer, nominal, number
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.relevance import files
from metaeval.kinds.relevance.systems.sheets import system_sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation

FIGURES = ("system_values", "label_curve")


def system_figures(
    tables: Mapping[str, pd.DataFrame], truth: str, simulated: Simulation, first: Mapping[str, str]
) -> Iterator[Figure]:
    """Yield the figures of the tables that there are.

    Parameters
    ----------
    tables
        Name of a file → its table.
    first
        Values to show first, such as those of ``evaluator``.
    """
    if files.SYSTEM_AGREEMENT in tables and files.SYSTEMS in tables:
        frame = by_both(tables[files.SYSTEMS], tables[files.SYSTEM_AGREEMENT], truth)
        if len(frame):
            yield _scatter(frame, truth, simulated, first)
    if files.CURVE in tables and len(tables[files.CURVE]):
        yield _curve(tables[files.CURVE], simulated)


def by_both(systems: pd.DataFrame, agreement: pd.DataFrame, truth: str) -> pd.DataFrame:
    """Return a row per evaluator, pair of measures and system, with its mean by both."""
    keys = ["evaluator", "measure", "system"]
    own = systems[[*keys, "value", "ci_low", "ci_high"]]
    true = own[own["evaluator"] == truth].drop(columns="evaluator").add_prefix("truth_")
    pairs = agreement.loc[agreement["evaluator"] != truth, ["evaluator", "measure", "truth_measure", "tau"]]
    found = pairs.merge(own, on=["evaluator", "measure"])
    found = found.merge(true, left_on=["truth_measure", "system"], right_on=["truth_measure", "truth_system"])
    found["pair"] = found["measure"].where(
        found["measure"] == found["truth_measure"], found["measure"] + " against " + found["truth_measure"]
    )
    return found.drop(columns="truth_system")


def _scatter(frame: pd.DataFrame, truth: str, simulated: Simulation, first: Mapping[str, str]) -> Figure:
    x = number("truth_value", title=f"mean by {truth}", scale={"zero": False})
    y = number("value", title="mean by the evaluator", scale={"zero": False})
    chart = {
        "description": (
            f"{frame['system'].nunique()} systems: the mean by the truth's labels on the horizontal axis, "
            "by an evaluator's on the vertical one, with intervals."
        ),
        **FILLING,
        "height": 320,
        "layer": [
            layer(
                "rule", {"x": x, "y": number("ci_low"), "y2": {"field": "ci_high"}}, color=GREY, opacity=0.5
            ),
            layer(
                "rule",
                {"y": y, "x": number("truth_ci_low"), "x2": {"field": "truth_ci_high"}},
                color=GREY,
                opacity=0.5,
            ),
            layer(
                "point",
                {
                    "x": x,
                    "y": y,
                    "tooltip": [
                        nominal("system", title="system"),
                        number("truth_value", title=f"by {truth}", format=".4f"),
                        number("value", title="by the evaluator", format=".4f"),
                        number("tau", title="τ of all systems", format=".3f"),
                    ],
                },
                filled=True,
                size=60,
                color=BLUE,
                opacity=1,
            ),
        ],
    }
    columns = (
        Column("evaluator", "Labels of"),
        Column("pair", "Measure"),
        Column("system", "System"),
        Column("truth_value", "By the truth", "decimal", "truth_ci_low", "truth_ci_high"),
        Column("value", "By the evaluator", "decimal", "ci_low", "ci_high"),
    )
    notes = ("Every dot is a system. If the dots rise from left to right, the evaluator keeps the order.",)
    sheet = Sheet(
        "system_values", "Systems by the evaluator and by the truth", frame, columns, notes, simulated
    )
    best = str(frame.sort_values("tau", ascending=False)["evaluator"].iloc[0])
    return Figure(sheet, chart, first_choices(frame, {"evaluator": best, **first}, ["evaluator", "pair"]))


def _curve(frame: pd.DataFrame, simulated: Simulation) -> Figure:
    sheet = system_sheet(files.CURVE, frame, simulated)
    names = [str(n) for n in frame["evaluator"].unique()]
    x = number("labels_per_user", title="labels per user")
    y = number("tau", title="Kendall's τ", scale={"zero": False})
    apart = by_name("evaluator", names)
    colour = apart["color"]
    chart = {
        "description": "Kendall's τ with the order by all labels of the truth, by labels per user.",
        **FILLING,
        "height": 320,
        "layer": [
            layer(
                "rule",
                {"x": x, "y": number("tau_low"), "y2": {"field": "tau_high"}, "color": colour},
                opacity=0.5,
            ),
            layer("line", {"x": x, "y": y, "color": colour}, strokeWidth=2),
            layer(
                "point",
                {
                    "x": x,
                    "y": y,
                    **apart,
                    "tooltip": [
                        nominal("evaluator", title="labels of"),
                        number("labels_per_user", title="labels per user", format=".1f"),
                        number("tau", title="τ", format=".3f"),
                        number("weighted_tau", title="weighted τ", format=".3f"),
                    ],
                },
                filled=True,
                size=70,
                opacity=1,
            ),
        ],
    }
    return Figure(sheet, chart)
