"""The page as a reader uses it, in a real browser from disk with the network off."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from metaeval.base.simulation import Simulation
from metaeval.engine.sheet import Form, value_text
from tests.reports.report.pages import overflow
from tests.reports.report.payloads import ASPECTS, payload

if TYPE_CHECKING:
    from playwright.sync_api import Page

    Show = Callable[..., Page]


def until(page: Page, holds: str) -> None:
    """Wait until an expression holds; the page's own policy forbids Playwright to wait in it."""
    for _ in range(200):
        if page.evaluate(holds):
            return
        page.wait_for_timeout(50)
    raise AssertionError(holds)


def column(page: Page, place: int) -> list[str]:
    """Return the texts of a column of the first table."""
    return [t.strip() for t in page.locator(f"table tbody tr > :nth-child({place})").all_inner_texts()]


def names_of(page: Page) -> list[str]:
    return page.locator("tbody .evaluator .words").all_inner_texts()


def estimates(page: Page) -> list[float]:
    return [float(t.split()[0]) for t in column(page, 4)]


def field(page: Page, label: str) -> Any:
    return page.get_by_label(label, exact=True)


def header(page: Page, title: str) -> Any:
    return page.locator("thead").get_by_role("button", name=title)


def params(page: Page) -> str:
    return page.url.partition("#")[2]


def test_lost_calls_are_said_on_top_of_every_view(show: Show) -> None:
    lost = "5 of 24 calls of <b>judge</b> brought no reply."
    page = show({**payload(), "lost": [lost, "Ask again with: metaeval run s.yaml"]}, "#units")
    said = page.locator("header p", has_text="LOST REPLIES.")
    assert said.is_visible()
    assert lost in said.inner_text()
    assert "metaeval run s.yaml" in said.inner_text()
    assert not show(payload()).get_by_text("LOST REPLIES.").count()


def test_the_leaderboard_opens_with_the_column_that_orders_it(show: Show) -> None:
    given = payload()
    page = show(given)
    cells = given["cells"]
    wanted = sorted(
        (
            x
            for x, at in zip(cells["estimate"], zip(*cells["at"], strict=True), strict=True)
            if at == (len(ASPECTS), 1, 0)
        ),
        reverse=True,
    )
    assert column(page, 1) == [str(i + 1) for i in range(8)]
    assert estimates(page) == pytest.approx([100 * x for x in wanted], abs=0.005)
    assert page.locator("#static").is_hidden()
    assert page.locator(".interval .bar").count() == 8
    assert page.locator(".interval").first.locator(".person").count() == 2
    assert "A annotator 1 (40.00); B annotator 2 (50.00)" in re.sub(
        r"\s+", " ", page.locator(".legend").inner_text()
    )
    assert page.locator(".axis .letter").all_text_contents() == ["people A", "B"]
    assert page.locator("caption").first.inner_text().strip().endswith("units of 12 users in all")
    assert "p: two-sided paired permutation tests." in page.locator("main").inner_text()
    assert "seconds" not in page.locator("thead").inner_text()


def test_any_two_rows_are_compared(show: Show) -> None:
    given = payload()
    names = [e["name"] for e in given["evaluators"]]
    pairs = given["tests"][0]["pairs"]
    place = [*combinations(range(len(names)), 2)].index((1, 3))
    for name, value in (("difference", -0.2), ("half", 0.05), ("p", 0.0004), ("all", 0.012)):
        pairs[name][place] = value
    page = show(given)
    group = page.get_by_role("group", name="Compare two evaluators")
    group.get_by_label("Compare").select_option(names[3])
    group.get_by_label("with").select_option(names[1])
    said = group.get_by_role("status").inner_text()
    assert said == (
        f"{names[3]} is shown to be better. {names[3]} less {names[1]}: 20.00 [15.00, 25.00], "
        f"p < 0.001; p = 0.012 corrected for all {len(pairs['p'])} pairs."
    )
    group.get_by_label("Compare").select_option(names[1])
    assert group.get_by_role("status").inner_text() == "Choose two that differ."


@pytest.mark.parametrize("width", [360, 1400])
def test_the_bars_stand_under_their_axis(show: Show, width: int) -> None:
    page = show(payload(), width=width)
    middle = "e => { const box = e.getBoundingClientRect(); return box.x + box.width / 2 }"

    def at(selector: str) -> float:
        return float(page.locator(selector).first.evaluate(middle))

    zero, twenty = at(".axis text:text-is('0')"), at(".axis text:text-is('20')")
    assert at(".interval .zero") == pytest.approx(zero, abs=0.6)
    for row in page.locator("tbody tr").all():
        estimate = float(row.locator(".down").inner_text().split()[0])
        dot = float(row.locator("circle").evaluate(middle))
        assert dot == pytest.approx(zero + (twenty - zero) * estimate / 20, abs=0.6)


def test_sorting(show: Show) -> None:
    page = show(payload())
    header(page, "pearson").click()
    down = estimates(page)
    assert down == sorted(down, reverse=True)
    header(page, "pearson").click()
    assert estimates(page) == down[::-1]
    assert page.locator("thead [aria-sort=ascending]").inner_text().startswith("pearson")
    header(page, "evaluator").click()
    names = names_of(page)
    assert names == sorted(names)
    assert "sort=evaluator" in params(page)
    # What costs nothing known stands last both ways.
    for _ in range(2):
        header(page, "USD").click()
        assert column(page, 13)[-1] == "—"


def test_a_column_without_tests_says_so_and_leads_to_the_tested_one(show: Show) -> None:
    page = show(payload(), "#/leaderboard?at.aspect=accuracy&at.level=pair&at.coefficient=kendall&kind=judge")
    assert field(page, "Aspect").input_value() == "accuracy"
    assert "rank range" not in page.locator("thead").inner_text()
    assert "were not tested" in page.locator("main").inner_text()
    page.get_by_role("link", name="average, user, pearson").click()
    page.get_by_text("against the best").wait_for()
    assert field(page, "Kind").input_value() == "judge"


def test_all_aspects(show: Show) -> None:
    page = show(payload())
    field(page, "Show").select_option("all aspects")
    assert page.locator("thead th[scope=colgroup]").all_inner_texts() == [*ASPECTS, "average"]
    for place in range(2, 14):
        values = [
            float(t)
            for t in page.locator(f"tbody td:nth-child({place}) .down > :first-child").all_inner_texts()
        ]
        best = page.locator(f"tbody td:nth-child({place}) .best").inner_text()
        second = page.locator(f"tbody td:nth-child({place}) .second").inner_text()
        assert [float(best), float(second)] == sorted(values, reverse=True)[:2]
    assert page.locator("tr.block").all_inner_texts() == [
        "Baselines",
        "Reference-based",
        "Annotators",
        "Judges",
    ]
    header(page, "pair").nth(0).click()
    assert page.locator("tr.block").count() == 0


def test_from_an_estimate_down_to_the_raw_reply_and_back(show: Show) -> None:
    given = payload()
    page = show(given)
    page.get_by_role("link", name="Judge(n=3) in detail").click()
    page.get_by_role("heading", name="Users and pairs: Judge(n=3)").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "H2"
    users = given["groups"][0]
    assert page.get_by_role("status").inner_text() == f"{users['total']} of {users['total']} users"
    page.locator("svg.marks").wait_for()
    field(page, "By").select_option("pair")
    first = column(page, 1)[0].split("\n")[0], column(page, 2)[0]
    page.locator("tbody th a").first.click()
    page.get_by_role("heading", name="Units").wait_for()
    assert page.get_by_role("status").inner_text() == "3 of 120 units"
    assert field(page, "User").input_value() == first[0]
    assert field(page, "Item").input_value() == first[1]
    page.locator("tbody th a").nth(1).click()
    page.get_by_text("unit 2 of 3").wait_for()
    call, other = page.locator("details.call").all()
    assert not other.get_by_text("My ratings of unit").is_visible()
    unit = int(re.search(r"unit=(\d+)", params(page))[1])  # type: ignore[index]
    assert call.get_by_text(f"My ratings of unit {unit}:").is_visible()
    assert call.get_by_text(f"(text of unit {unit} for judge 3)").is_visible()
    page.get_by_role("link", name="next unit").click()
    page.get_by_text("unit 3 of 3").wait_for()
    page.get_by_role("link", name="back to the list").click()
    assert page.get_by_role("status").inner_text() == "3 of 120 units"
    page.go_back()
    page.get_by_text("unit 3 of 3").wait_for()
    for _ in range(5):
        page.go_back()
    page.get_by_role("heading", name="Leaderboard").wait_for()


def test_the_thought_of_a_reply_is_folded(show: Show) -> None:
    given = payload()
    judge = next(e for e, of in enumerate(given["calls"]["of"]) if of is not None)
    shown, hidden, lost = (given["calls"]["replies"][given["calls"]["of"][judge][0][u]] for u in (0, 1, 2))
    shown |= {
        "thought": "Let me see: <b>2</b> would be harsh.",
        "thoughtTokens": 1234,
        "sent": "without temperature",
    }
    hidden |= {"thoughtTokens": 7}
    lost |= {"text": "", "usedUp": True}
    name = given["evaluators"][judge]["name"]
    page = show(given, f"#/unit?unit=0&evaluator={quote(name)}")
    call = page.locator("details.call[open]")
    assert "without temperature" in call.locator("dl").inner_text()
    thought = call.get_by_text("Let me see: <b>2</b> would be harsh.")
    assert not thought.is_visible()
    call.get_by_text("Reasoning before the answer (1,234 tokens)").click()
    assert thought.is_visible()
    assert call.get_by_text("My ratings of unit 0:").is_visible()
    page = show(given, f"#/unit?unit=1&evaluator={quote(name)}")
    assert page.get_by_text("not shown by the server (7 tokens)").first.is_visible()
    page = show(given, f"#/unit?unit=2&evaluator={quote(name)}")
    assert page.get_by_text("raise max_tokens").first.is_visible()


def test_the_unit_shows_truth_scores_and_why_there_is_none(show: Show) -> None:
    given = payload()
    page = show(given, "#/unit?unit=53")
    rows = [row.split("\t") for row in page.locator("table.scores tbody").inner_text().split("\n")]
    assert rows[0][0] == "truth: User()"
    assert [r[1:] for r in rows if r[0].startswith("Judge(n=3)")] == [["unparsed"] * 3]
    truth = given["units"]["truth"]
    assert rows[0][1:] == [f"{t['values'][t['codes'][53]]:g}" for t in truth]


def test_a_unit_has_the_interval_of_a_rating_beside_a_score(show: Show) -> None:
    given = payload() | {"within": {"Judge(n=3)": {ASPECTS[0]: 1.5}}}
    page = show(given, "#/unit?unit=1")
    rows = [row.split("\t") for row in page.locator("table.scores tbody").inner_text().split("\n")]
    assert [cell.endswith("± 1.5") for row in rows for cell in row[1:]].count(True) == 1
    assert page.get_by_text("90 % of the ratings by new people lie within ±").is_visible()


@pytest.mark.parametrize("width", [1400, 390])
def test_two_generators_for_one_user_and_item_stand_side_by_side(show: Show, width: int) -> None:
    given = payload()
    page = show(given, "#/unit?unit=1&sort=text", width=width)
    assert page.locator(".unit-scores").count() == 1
    field(page, "Beside template").select_option("llm")
    page.locator(".versus").wait_for()
    sections = page.locator(".versus > section")
    assert sections.locator("> h3").all_inner_texts() == ["template", "llm"]
    for u, section in zip((1, 2), sections.all(), strict=True):
        said = section.inner_text()
        assert f"Text {u}:" in said
        truth = section.locator("tr.truth td").all_inner_texts()
        assert truth == [
            f"{given['units']['truth'][a]['values'][given['units']['truth'][a]['codes'][u]]:g}"
            for a in range(len(ASPECTS))
        ]
        assert section.locator("tbody tr").count() == 1 + len(given["evaluators"])
    first, second = (section.bounding_box() for section in sections.all())
    assert first
    assert second
    if width == 390:
        assert second["y"] >= first["y"] + first["height"] - 1
        assert second["x"] == first["x"]
    else:
        assert second["x"] >= first["x"] + first["width"]
        tables = [s.locator("table").bounding_box() for s in sections.all()]
        assert len({round(t["y"]) for t in tables if t}) == 1, "the same evaluators stand in the same rows"
    for text in sections.locator(".prose").all():
        box = text.bounding_box()
        assert box
        assert box["width"] > 250
    heads = sections.first.locator("h3, table").all()
    tops = [box["y"] for box in (head.bounding_box() for head in heads) if box]
    assert tops == sorted(tops), "texts, then scores, one below the other"
    assert overflow(page) <= 0
    page.get_by_role("link", name="next unit").click()
    assert page.locator("main h2").inner_text()
    assert "beside=llm" in params(page)
    field(page, "Beside llm").wait_for()
    assert not page.locator(".versus").count(), "llm is not beside itself"


def test_tables_stand_in_the_views_that_they_belong_to(show: Show) -> None:
    given = payload()
    (people,) = given["sheets"]
    page = show({**given, "sheets": [people, {**people, "view": "generators", "title": "Who writes best"}]})
    views = page.get_by_role("navigation", name="Views").locator("a").all_inner_texts()
    assert views[:2] == ["Leaderboard", "Generators"]
    assert "Biases" not in views
    page.get_by_role("link", name="Generators").click()
    page.get_by_role("heading", name="Generators").wait_for()
    assert page.locator("table caption").all_inner_texts()[0].startswith("Who writes best")


def test_units_filter_sort_and_pages(show: Show) -> None:
    page = show(payload(), "#/units?evaluator=Judge(n%3D3)&at.aspect=accuracy")
    assert page.locator("tbody tr").count() == 50
    assert "page 1 of 3" in page.locator("main").inner_text()
    page.get_by_label("Next page").first.click()
    page.get_by_text("page 2 of 3").first.wait_for()
    page.get_by_label("First page").first.click()
    differences = [int(t) for t in column(page, 4)]
    assert differences == sorted(differences, reverse=True)
    assert differences[0] > differences[-1]
    field(page, "Evaluator").select_option("Reference-based(n=1)")
    assert "distance of their ranks" in page.locator("main").inner_text()
    ranks = [int(t) for t in column(page, 4)]
    assert ranks == sorted(ranks, reverse=True)
    assert 50 < ranks[0] <= 100
    field(page, "Evaluator").select_option("Judge(n=3)")
    assert "page 1 of 3" in page.locator("main").inner_text()
    field(page, "Status").select_option("unparsed")
    assert column(page, 3) == ["unparsed"] * 3
    field(page, "Status").select_option("")
    field(page, "Generator").select_option("llm")
    assert page.get_by_role("status").inner_text() == "40 of 120 units"
    field(page, "Search texts, titles, ids").fill("TEXT film 53:")
    assert page.get_by_role("status").inner_text() == "1 of 120 units"
    field(page, "Search texts, titles, ids").fill("Text 53:")
    page.reload()
    page.locator("main h2").wait_for()
    assert page.get_by_role("status").inner_text() == "1 of 120 units"


@pytest.mark.parametrize(
    ("form", "values"),
    [
        ("seconds", [0.00008167, 0.125, 0.99951, 2.25, 59.6, 7200.0, 0, 4e7]),
        ("usd", [0.00246, 0.00001234567, 1.5, 45678.9, 0, 0.1, 12.345, 3.0]),
        ("rank", [1.0, 2.0, 3.5, 9.5, 13.0, 0, -1.0, -0.5]),
        ("count", [812.5, 813.5, 1234567.2, 0.4, 0, 999.5, 1.0, 1000.0]),
    ],
)
def test_numbers_of_cost_are_printed_as_in_the_tables(show: Show, form: Form, values: list[float]) -> None:
    cost = {"name": "cost", "title": "cost", "form": form, "values": values}
    page = show({**payload(evaluators=len(values)), "costs": [cost]})
    place = [text.startswith("cost") for text in page.locator("thead th").all_inner_texts()].index(True) + 1
    assert sorted(column(page, place)) == sorted(value_text(value, form) for value in values)


def test_back_leads_to_where_the_reader_was(show: Show) -> None:
    page = show(payload(), "#/units")
    row = page.locator("tbody a").nth(40)
    row.scroll_into_view_if_needed()
    until(page, "history.state?.top > 300")
    top = page.evaluate("history.state.top")
    row.click()
    page.get_by_role("heading", name="The film").wait_for()
    assert page.evaluate("scrollY") == 0
    page.go_back()
    page.get_by_role("heading", name="Units").wait_for()
    assert page.evaluate("scrollY") == pytest.approx(top, abs=2)


def test_a_user_without_units_on_the_page_is_named(show: Show) -> None:
    page = show(payload(), "#/units?key.user_id=somebody")
    assert "No unit of the user somebody is on this page." in page.locator("main").inner_text()
    assert field(page, "User").input_value() == "somebody"


def test_figures(show: Show) -> None:
    page = show(payload(), "#/figures")
    page.locator("svg.marks").wait_for()
    before = page.locator("figure svg").inner_html()
    assert "Judge(n=7)" in before
    width = page.locator("figure svg").bounding_box()["width"]  # type: ignore[index]
    assert width == pytest.approx(page.locator("figure").bounding_box()["width"], abs=20)  # type: ignore[index]
    page.get_by_role("button", name="Data").click()
    assert column(page, 2)[:2] == ["0.00", "10.00"]
    field(page, "Aspect").select_option("accuracy")
    assert column(page, 2)[:2] == ["10.00", "20.00"]
    until(page, f"document.querySelector('figure svg').innerHTML !== {json.dumps(before)}")
    assert page.get_by_text("Aspect: accuracy").is_hidden()
    page.emulate_media(media="print")
    assert page.get_by_text("Aspect: accuracy").is_visible()  # on paper nothing can be chosen


def test_titles_of_a_figure_say_what_is_chosen(show: Show) -> None:
    given = payload()
    figure = given["figures"][0]
    figure["spec"]["encoding"]["x"]["title"] = "correlation × 100"
    figure["choices"][0] |= {"says": "correlation", "words": ["Ann's r", "Bob's r", "Cyd's r"]}
    page = show(given, "#/figures?ranking.aspect=transparency")
    assert "Bob’s r × 100" in page.locator("svg.marks").text_content()


def test_on_a_phone_legends_are_whole(show: Show) -> None:
    given = payload()
    given["figures"][0]["spec"]["encoding"]["color"]["legend"] = {"orient": "top", "columns": 3}
    page = show(given, "#/figures", width=360)
    page.locator("svg.marks").wait_for()
    right = "e => e.getBoundingClientRect().right"
    inside = page.locator(".chart").evaluate(right) + 1
    labels = page.locator(".role-legend-label text").all()
    assert len(labels) == 8
    assert all(label.evaluate(right) <= inside for label in labels)


def test_units_have_three_decimals_where_they_have_any(show: Show) -> None:
    given = payload()
    given["units"]["truth"][0] = {"values": [-0.0054591, 0.0712345, 3.66667], "codes": [0, 1, 2]}
    shown = column(show(given, "#/units?sort=truth"), 2)[:3]
    assert shown == ["-0.005", "0.071", "3.667"]


def test_details_and_about(show: Show) -> None:
    page = show(payload(), "#/details")
    assert "16.80 [12.30,\xa021.16]" in page.get_by_role("table", name="What people reach").inner_text()
    assert page.locator("tbody .badge").count() == 1
    page.get_by_role("link", name="About").click()
    page.locator("details").nth(1).locator("summary").click()
    assert '"library": "made up 1.0"' in page.locator("details").nth(1).inner_text()
    page.get_by_text("Licences of the libraries").click()
    assert "vega-lite" in page.locator("details").last.inner_text()
    text = page.locator("main").inner_text()
    for told in ("0123abcd0123", "CC0", "Undefined groups are skipped.", "The explanation has accuracy"):
        assert told in text


def test_simulated_is_said_loudly_only_where_it_is(show: Show) -> None:
    for made_up in (Simulation(True), Simulation(False, ("a <b>",)), Simulation(True, ("a", "b"))):
        head = " ".join(show(payload(simulated=made_up)).locator("header").inner_text().split())
        assert made_up.warning in head
    page = show(payload())
    assert "SIMULATED" not in page.locator("header").inner_text()
    assert page.locator("tbody .badge").count() == 2  # the judges


def test_themes(show: Show) -> None:
    page = show(payload())
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert light != dark
    button = page.get_by_role("button", name="Colours")
    button.click()
    assert (button.get_attribute("aria-label"), page.evaluate(ground)) == ("Colours: light", light)
    page.emulate_media(color_scheme="light")
    button.click()
    assert (button.get_attribute("aria-label"), page.evaluate(ground)) == ("Colours: dark", dark)


def test_without_users_the_page_speaks_of_items(show: Show) -> None:
    page = show(payload(users=False))
    assert "Items" in page.locator("header nav").inner_text()
    page.get_by_role("link", name="Judge(n=3) in detail").click()
    page.locator("tbody th a").first.click()
    page.get_by_role("heading", name="Units").wait_for()
    assert field(page, "User").count() == 0


def test_an_unknown_address_shows_the_leaderboard(show: Show) -> None:
    page = show(payload(), "#/nothing?at.aspect=__proto__&sort=constructor&page=-3&evaluator=toString")
    assert page.get_by_role("heading", name="Leaderboard").is_visible()
    page = show(payload(), "#/unit?unit=constructor")
    assert page.get_by_role("heading", name="No such unit").is_visible()


def test_the_calls_of_many_judges_are_searched_and_all_opened_by_keyboard(show: Show) -> None:
    page = show(payload(units=9, evaluators=20), "#/unit?unit=0")
    calls = page.locator("details.call")
    judges = calls.count()
    assert judges > 3
    name = calls.last.locator("summary .words").first.inner_text()
    opened = page.locator("details.call[open]")
    assert opened.count() == 0
    calls.first.locator("summary").press("Enter")
    assert opened.count() == 1
    page.get_by_role("button", name="Expand all").press("Enter")
    until(page, f"document.querySelectorAll('details.call[open]').length === {judges}")
    field(page, "Search judges").fill(name.upper())
    assert page.get_by_role("status").inner_text() == f"1 of {judges} judges"
    assert calls.count() == opened.count() == 1
    field(page, "Search judges").fill("")
    page.get_by_role("button", name="Fold all").press("Space")
    until(page, "!document.querySelector('details.call[open]')")
    page.get_by_role("link", name="next unit").click()
    assert calls.count() == judges


@pytest.mark.slow
def test_the_replies_of_a_judge_that_is_asked_again_are_told_apart(show: Show) -> None:
    given = payload(units=3)
    calls = given["calls"]
    judge = next(e for e, of in enumerate(calls["of"]) if of)
    first = calls["of"][judge][0][0]
    calls["replies"] += [
        {**calls["replies"][first], "text": "again"},
        {"samples": [first, len(calls["replies"])]},
    ]
    for of in calls["of"][judge]:
        of[0] = len(calls["replies"]) - 1
    page = show(given, "#/unit?unit=0")
    said = page.locator("details.call summary").filter(has_text=given["evaluators"][judge]["name"])
    assert ["reply 1 of 2" in said.nth(0).inner_text(), "reply 2 of 2" in said.nth(1).inner_text()] == [
        True
    ] * 2


@pytest.mark.slow
def test_what_a_phone_cuts_can_be_scrolled_and_says_so(show: Show) -> None:
    page = show(payload(), width=390)
    said = page.get_by_text("There is more to the right")
    assert said.is_visible()
    region = page.get_by_role("region", name="the leaderboard")
    region.focus()
    page.keyboard.press("ArrowRight")
    until(page, "document.activeElement.scrollLeft > 0")
    page.set_viewport_size({"width": 2400, "height": 900})
    said.wait_for(state="detached")
