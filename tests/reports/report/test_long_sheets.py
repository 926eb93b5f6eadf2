"""Tables of hundreds of rows in the page: folded, chosen from, saved as they stand there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.reports.report.pages import settle
from tests.reports.report.payloads import ASPECTS, payload
from tests.reports.report.test_download import saved

if TYPE_CHECKING:
    from playwright.sync_api import Page

    Show = Callable[..., Page]


def long_sheet() -> dict[str, Any]:
    given = payload(units=3, evaluators=40)
    names = [evaluator["name"] for evaluator in given["evaluators"]]
    columns = [
        {"title": title, "form": form}
        for title, form in (("Aspect", "text"), ("Evaluator", "text"), ("τ-b", "hundred"), ("r", "hundred"))
    ]
    rows = [
        [aspect, name, *[f"{i}.00 [-1.00, {i}.50]"] * 2] for aspect in ASPECTS for i, name in enumerate(names)
    ]
    return {
        **given,
        "sheets": [{**given["sheets"][0], "title": "Agreement", "columns": columns, "rows": rows}],
    }


def test_a_long_table_is_folded_and_unfolds_by_keyboard(show: Show) -> None:
    given = long_sheet()
    rows = len(given["sheets"][0]["rows"])
    page = show(given, "#/details")
    shown = page.locator("tbody tr:visible")
    assert shown.count() < rows
    page.get_by_role("button", name=f"Show all {rows} rows").press("Enter")
    assert shown.count() == rows
    page.get_by_role("button", name="Show fewer").press("Enter")
    assert shown.count() < rows
    page.emulate_media(media="print")
    assert shown.count() == 10
    assert page.get_by_text(f"The first 10 of {rows} rows are printed").is_visible()


def test_rows_are_chosen_and_the_file_has_those_of_the_table(show: Show) -> None:
    given = long_sheet()
    page = show(given, "#/details")
    page.get_by_label("Aspect").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    settle(page)
    wanted = [row for row in given["sheets"][0]["rows"] if row[0] == ASPECTS[1]]
    assert page.locator("tbody td:first-child").all_inner_texts() == [ASPECTS[1]] * len(wanted)
    _, rows = saved(page)
    assert [list(row.values()) for row in rows] == wanted


@pytest.mark.slow
def test_choices_that_leave_nothing_say_so(show: Show) -> None:
    given = long_sheet()
    rows = given["sheets"][0]["rows"]
    rows[:] = [row for row in rows if row[:2] != rows[0][:2]]
    page = show(given, "#/details")
    page.get_by_label("Aspect").select_option(ASPECTS[0])
    page.get_by_label("Evaluator").select_option(given["evaluators"][0]["name"])
    assert page.locator("tbody").inner_text() == "Nothing is left: change a choice."
