"""Every table of the page as a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from metaeval.base.formulas import unprotected
from metaeval.base.simulation import Simulation
from tests.reports.report.pages import visit
from tests.reports.report.payloads import payload

if TYPE_CHECKING:
    from playwright.sync_api import Page

    Show = Callable[..., Page]


def saved(page: Page, place: int = 0) -> tuple[str, list[dict[str, Any]]]:
    """Press a button of the page, and return the name of the file and its rows."""
    with page.expect_download() as found:
        page.locator("button.download").nth(place).click()
    with found.value.path().open(encoding="utf-8-sig", newline="") as file:
        return found.value.suggested_filename, list(csv.DictReader(file))


@pytest.mark.slow
def test_the_leaderboard_is_saved_with_every_digit(show: Show) -> None:
    given = payload(names={0: '=cmd|"/c calc"!A1, or so'})
    name, rows = saved(show(given))
    assert name == "leaderboard.csv"
    cells = given["cells"]
    dimensions = given["board"]["dimensions"]
    shown = tuple([v["name"] for v in d["values"]].index(d["first"]) for d in dimensions)
    first = [row for row, at in enumerate(zip(*cells["at"], strict=True)) if at == shown]
    wanted = {given["evaluators"][cells["evaluator"][i]]["name"]: cells["estimate"][i] for i in first}
    assert {unprotected(row["evaluator"]) for row in rows} == set(wanted)
    estimate = next(title for title in rows[0] if "pearson" in title.lower())
    assert estimate.endswith(" × 100"), "as on the page"
    assert "interval, low × 100" in rows[0]
    for row in rows:
        assert float(row[estimate]) == pytest.approx(100 * wanted[unprotected(row["evaluator"])], rel=1e-10)
    assert any(row["evaluator"].startswith("'=cmd") for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("at", ["leaderboard?mode=all", "groups", "units", "details"])
def test_the_tables_of_every_view_are_saved(show: Show, at: str) -> None:
    page = show(payload(units=120, simulated=Simulation(data=True)))
    visit(page, at)
    name, rows = saved(page)
    assert name.startswith("SIMULATED-")
    assert rows
    if at == "units":
        assert len(rows) == 120, "all pages"
