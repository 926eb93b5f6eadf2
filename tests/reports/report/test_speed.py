"""The size of the paper's study, 2,536 units × 20 evaluators, stays fluid."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from tests.reports.report.pages import PAINTED, visit
from tests.reports.report.payloads import payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    Show = Callable[..., Page]

LIMIT = 200
"""Milliseconds from an action until its effect is painted."""


def milliseconds(page: Page, action: str) -> float:
    """Return the median of five times from an action in the page to the frame after its effect."""
    script = f"""async () => {{
      const start = performance.now()
      {action}
      await {PAINTED}
      return performance.now() - start
    }}"""
    return statistics.median(page.evaluate(script) for _ in range(5))


def test_the_first_view_sorts_and_filters_are_quick(show: Show) -> None:
    large = show(payload(2536, 20))
    large.wait_for_timeout(200)  # the browser notes it a little later
    [painted] = large.evaluate(
        "performance.getEntriesByName('first-contentful-paint').map((e) => e.startTime)"
    )
    assert painted < 1500
    click = "document.querySelectorAll('thead button')[{}].click()"
    search = """const box = document.querySelector('[type=search]')
      box.value = {}
      box.dispatchEvent(new Event('input', {{ bubbles: true }}))"""
    times = {}
    times["leaderboard sort"] = milliseconds(large, click.format(3))
    times["leaderboard search"] = milliseconds(
        large, search.format("'judge' + Math.floor(10 * Math.random())")
    )
    visit(large, "units?evaluator=Judge(n%3D3)")
    for place, name in ((0, "explanation"), (1, "truth"), (3, "difference"), (5, "user")):
        times[f"units by {name}"] = milliseconds(large, click.format(place))
    times["units search"] = milliseconds(large, search.format("'film ' + Math.random().toFixed(1)"))
    visit(large, "units?evaluator=Judge(n%3D3)")
    times["units filter"] = milliseconds(
        large, "location.hash += '&key.generator=' + ['llm', 'peer'][Date.now() % 2]"
    )
    times["units evaluator"] = milliseconds(
        large,
        "location.hash = `#/units?sort=-truth&evaluator=Judge(n%3D${3 + 4 * Math.floor(4 * Math.random())})`",
    )
    visit(large, "groups?by=pair")
    times["pairs sort"] = milliseconds(large, click.format(3))
    print(times)  # noqa: T201 - read when it fails
    assert {name: t for name, t in times.items() if t > LIMIT} == {}
