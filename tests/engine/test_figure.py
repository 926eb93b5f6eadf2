"""Choosing, the rows that a chart is given, and the payload of a page."""

from __future__ import annotations

import json
import math

import altair as alt
import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.charts import ROWS
from metaeval.engine.figure import HUNDRED, Figure, figure_payload
from metaeval.engine.sheet import Column, Sheet

FRAME = pd.DataFrame(
    {
        "evaluator": ["a", "a", "b", "b"],
        "coefficient": ["pearson", "kendall"] * 2,
        "estimate": [0.123456789, 0.1, math.nan, -math.inf],
        "n": [1, 2, 3, 4],
        "on": [True, False, True, False],
    }
)
CHART = ROWS.mark_point().encode(x=alt.X("estimate:Q", title=HUNDRED))
CHART = CHART.properties(width="container", description="All of it.")


def figure(simulated: Simulation = REAL) -> Figure:
    columns = (Column("evaluator", "Evaluator"), Column("estimate", "Estimate", "hundred"))
    sheet = Sheet("some", "Some figure", FRAME, columns, ("One note.", "Another."), simulated)
    return Figure(sheet, CHART, {"coefficient": "kendall"})


def test_only_the_chosen_rows_are_drawn() -> None:
    spec = figure().spec({"coefficient": "pearson"}, width=123)
    assert [(row["evaluator"], row["estimate"]) for row in spec["data"]["values"]] == [
        ("a", 0.12346),
        ("b", None),
    ]
    (chart,) = spec["vconcat"]
    assert chart["width"] == 123
    assert chart["encoding"]["x"]["title"] == "Pearson's r × 100"
    assert spec["title"]["subtitle"] == ["coefficient: Pearson's r"]
    assert chart["title"]["text"] == ["One note. Another."]
    assert spec["description"] == "All of it."
    assert [row["evaluator"] for row in figure().spec()["data"]["values"]] == ["a", "b"]


def test_simulated_data_are_said_beside_the_title() -> None:
    assert "SIMULATED DATA" in figure(simulated=Simulation(True)).spec()["title"]["subtitle"][-1]
    assert "SIMULATED" not in json.dumps(figure().spec())


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"coefficient": "pearsn"}, "figure 'some' has no coefficient 'pearsn'; did you mean 'pearson'"),
        ({"coeficient": "pearson"}, "no choice of 'coeficient'; did you mean 'coefficient'"),
    ],
)
def test_what_cannot_be_chosen(chosen: dict[str, str], message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        figure().spec(chosen)


def test_a_page_gets_all_rows_as_columns() -> None:
    payload = json.loads(json.dumps(figure_payload(figure()), allow_nan=False))
    assert (payload["name"], payload["notes"], payload["simulated"]) == (
        "some",
        ["One note.", "Another."],
        "",
    )
    assert payload["spec"] == {
        "description": "All of it.",
        "width": "container",
        "mark": {"type": "point"},
        "encoding": {"x": {"field": "estimate", "title": HUNDRED, "type": "quantitative"}},
        "data": {"name": "table"},
    }
    (choice,) = payload["choices"]
    assert choice == {
        "column": "coefficient",
        "title": "Coefficient",
        "values": ["pearson", "kendall"],
        "chosen": "kendall",
        "says": "correlation",
        "words": ["Pearson's r", "Kendall's τ-b"],
    }
    assert payload["columns"][1] == {"name": "estimate", "title": "Estimate", "form": "hundred"}
    assert payload["rows"]["estimate"] == [0.12346, 0.1, None, None]
    assert payload["rows"]["on"] == [True, False, True, False]
