"""The page to label on, in a real browser: by keyboard, killed in the middle, two raters at once."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import metaeval as me
from metaeval.base.records import Scale
from metaeval.data.labels import update_labels
from metaeval.data.verdicts.verdict_table import read_verdicts
from metaeval.kinds.explanations.data.loading import from_frames, save
from metaeval.trust.label_plan import LabelPlan
from metaeval.trust.labelling.pages import label_server, label_set, label_sets
from tests.cli.labelling import labelling
from tests.conftest import ROOT
from tests.reports.report.pages import overflow
from tests.reports.report.test_access import CONTRAST, NAMELESS
from tests.runs.serving import serving
from tests.tiny import TEXTS as GENERATED
from tests.tiny import say_how_to_label, write_tiny

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    Label = Callable[..., "Labeller"]

PAIR = ("user_id", "item_id", "first", "second", "order")
TEXTS = {
    "en": "It has the humour that you like.",
    "zh": "因为你喜欢慢节奏的电影，而且结局很安静。",
    "he": "כי אהבת סרטים של אותו במאי.",
    "long": "very" * 80,
}


class Labeller:
    """One rater: a server, and a page of it in the browser."""

    def __init__(
        self, browser: Browser, folder: Path, rater: str = "anna", width: int = 1440, scheme: Any = "light"
    ) -> None:
        self._browser, self.folder, self.rater = browser, folder, rater
        self._context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.wrong: list[str] = []

    def open(self, address: str) -> None:
        """Open the page in a new window."""
        self.address = address
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.on(
            "request", lambda r: None if r.url.startswith((self.address, "data:")) else self._no(r.url)
        )
        self.page.on("pageerror", lambda error: self._no(str(error)))
        self.page.goto(self.address)
        self.saved()

    def saved(self) -> None:
        """Wait until all that was done is saved."""
        self.page.locator("body[aria-busy=false]").wait_for()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.saved()

    @property
    def status(self) -> str:
        return self.page.locator("#status").inner_text()

    @property
    def title(self) -> str:
        return self.page.locator("h2").inner_text()

    def labels(self) -> dict[tuple[str, ...], float]:
        """Return what the data set holds of the rater."""
        data = me.load(self.folder)
        rows = data.ratings.query("rater == @self.rater")
        names = [*data.keys, "aspect", "rating"]
        return {tuple(row[:-1]): row[-1] for row in rows[names].itertuples(index=False)}

    def events(self) -> list[dict[str, Any]]:
        lines = (self.folder / "labelling.jsonl").read_text(encoding="utf-8").splitlines()
        return [e for e in map(json.loads, lines) if e["rater"] == self.rater]

    def closed(self) -> None:
        """Close all windows; whatever went wrong in them fails the test."""
        self._context.close()
        assert self.wrong == []


@pytest.fixture
def label(browser: Browser) -> Iterator[Label]:
    """Open the page for a rater of a data set."""
    with contextlib.ExitStack() as stack:

        def open_(
            folder: Path,
            *,
            pairs: bool = False,
            only: Path | None = None,
            **how: Any,
        ) -> Labeller:
            one = Labeller(browser, folder, **how)
            session = label_set(folder, rater=one.rater, pairs=pairs, only=only)
            server = stack.enter_context(serving(label_server(session)))
            stack.callback(one.closed)
            one.open(server.address)
            return one

        yield open_


def texts(folder: Path, units: int, scale: tuple[float, float, bool] = (1, 5, True)) -> Path:
    """Write a data set of one aspect, in four scripts, that nobody has rated."""
    import pandas as pd

    rows = [
        {"user_id": f"u{n}", "item_id": f"i{n}", "generator": "g", "explanation": text, "item_title": text}
        for n, text in zip(range(units), [*TEXTS.values()] * units, strict=False)
    ]
    frame = pd.DataFrame(rows)
    ratings = frame[["user_id", "item_id", "generator"]].head(0).assign(rater="", aspect="", rating=0.0)
    data = from_frames(frame, ratings, aspects={"清晰": "我明白为什么推荐。"}, scale=Scale(*scale))
    return save(data, folder, "csv")


@pytest.mark.slow
def test_forty_units_by_keyboard_a_kill_in_the_middle_two_raters_at_once(
    browser: Browser, label: Label, tmp_path: Path
) -> None:
    folder = texts(tmp_path / "gold", 40)
    anna = Labeller(browser, folder)
    again = ("golden", "label", str(folder), "--rater", "anna")
    said: dict[str, list[int]] = {"anna": [], "bert": []}
    with contextlib.ExitStack() as stack:
        stack.callback(anna.closed)
        command = stack.enter_context(labelling(*again))
        bert = label(folder, rater="bert")  # in another process
        anna.open(command.address)
        for number in range(40):
            for who, shift in ((anna, 0), (bert, 2))[: 2 if number < 10 else 1]:
                who.page.locator(f"body[aria-busy=false] #unit[data-at='{number}']").wait_for()
                key = 1 + (number * 3 + shift) % 5
                who.page.keyboard.press(str(key))
                said[who.rater].append(key)
            if number == 19:
                anna.saved()
                command.process.kill()
                anna.press("3")
                assert "was not saved" in anna.page.locator("#wrong").inner_text()
                assert anna.title == "Unit 21 of 40"
                anna.open(stack.enter_context(labelling(*again)).address)
        anna.saved()
        assert anna.title == "All units are labelled or skipped."
        assert anna.status == "40 of 40 labelled"
        assert re.fullmatch(r"10 of 40 labelled, about \d+ minutes? left", bert.status)
    for who in (anna, bert):
        order = [tuple(event["unit"]) for event in who.events()]  # as they were shown
        labels = who.labels()
        assert [labels[*key, "清晰"] for key in order] == said[who.rater]
        assert len(set(order)) == len(labels) == len(said[who.rater])


def test_a_plan_is_followed_and_the_page_stops_when_it_is_decided(label: Label, tmp_path: Path) -> None:
    folder = texts(tmp_path / "gold", 80)
    units = me.load(folder).explanations[["user_id", "item_id", "generator"]]
    first = np.arange(80) % 2 == 0
    plan = LabelPlan.drawn(
        units.reset_index(drop=True),
        np.where(first, 1 / 40, -1 / 40),
        np.full(80, 3.0),
        np.full(80, np.nan),
        seed=0,
        aspect="清晰",
        rule="mean",
        epsilon=0.1,
        width=0.0,
        above="A is better than B",
        below="B is",
    )
    plan.units.to_csv(tmp_path / "plan.csv", index=False)
    better = {key[0]: bool(is_first) for key, is_first in zip(units.to_numpy(), first, strict=True)}
    page = label(folder, only=tmp_path / "plan.csv")
    asked = []
    while page.title.startswith("Unit"):
        user = plan.units["user_id"][len(asked)]
        asked.append(user)
        page.press("5" if better[user] else "2")
    assert page.title == f"Decided for these units: A is better than B; stop labelling ({len(asked)} labels)"
    assert 30 <= len(asked) < 60
    assert [event["unit"][0] for event in page.events()] == asked
    page.press("u", "5" if better[asked[-1]] else "2")
    assert page.title.startswith("Decided")


def test_a_double_click_labels_one_unit(label: Label, tmp_path: Path) -> None:
    page = label(texts(tmp_path / "gold", 4))
    page.page.get_by_role("button", name="清晰: 4").dblclick()
    page.saved()
    assert (page.title, page.status) == ("Unit 2 of 4", "1 of 4 labelled")
    # Both clicks come before the answer.
    page.page.evaluate("for (const n of [1, 2]) document.querySelector('#rate button').click()")
    page.saved()
    assert (page.title, page.status) == ("Unit 3 of 4", "2 of 4 labelled")
    assert page.page.locator("#wrong").is_hidden()
    # A note that is being saved holds nothing up.
    page.page.get_by_role("textbox").fill("hm")
    page.page.get_by_role("button", name="清晰: 2").click()
    page.saved()
    assert (page.title, page.status) == ("Unit 4 of 4", "3 of 4 labelled")
    assert [event["do"] for event in page.events()] == ["label", "label", "note", "label"]


def test_undo_skip_note_and_going_back(label: Label, tmp_path: Path) -> None:
    page = label(texts(tmp_path / "gold", 4))
    page.press("4", "s", "2")
    assert page.status == "2 of 4 labelled, 1 skipped"
    page.press("u")
    assert page.title == "Unit 3 of 4"
    assert page.page.locator("#undone").inner_text().endswith(": 2, of unit 3.")
    page.page.keyboard.press("n")
    page.page.keyboard.type("5 is too much: “odd”, 奇怪")  # a digit in a note is no label
    page.press("Escape", "1", "5")
    assert page.title == "All units are labelled or skipped."
    thanks = "Thank you: 3 labels are saved. You can close this page."
    assert page.page.locator("#unit p").inner_text() == thanks
    assert page.status == "3 of 4 labelled, 1 skipped"
    page.page.get_by_role("button", name="skipped").press("Enter")
    page.saved()
    assert page.title == "Unit 2 of 4 (skipped)"
    page.press("3")
    page.press("ArrowLeft", "ArrowLeft")
    assert page.title == "Unit 3 of 4"
    assert page.page.locator("#note").input_value() == "5 is too much: “odd”, 奇怪"
    assert page.page.locator("#rate button[aria-pressed=true]").inner_text() == "1"
    page.press("2")  # changes a label, and stays
    assert page.title == "Unit 3 of 4"
    assert sorted(page.labels().values()) == [2, 3, 4, 5]
    assert [e["text"] for e in page.events() if e["do"] == "note"] == ["5 is too much: “odd”, 奇怪"]


def test_labels_that_are_all_the_same_get_a_word(label: Label, tmp_path: Path) -> None:
    page = label(texts(tmp_path / "gold", 13))
    page.press(*"3" * 11)
    assert not page.page.locator("#pace").is_visible()
    page.press("3")
    assert page.page.locator("#pace").inner_text()


def test_aspects_are_rated_one_after_the_other_or_chosen_by_tab(label: Label, tmp_path: Path) -> None:
    page = label(say_how_to_label(write_tiny(tmp_path / "tiny"), agreement=True))
    marked = page.page.locator("fieldset.current legend")
    assert marked.inner_text() == "clear"
    page.press("4")
    assert (marked.inner_text(), page.title) == ("fitting", "Unit 1 of 18")
    page.page.locator("fieldset").nth(1).get_by_role("button").nth(1).click()
    page.saved()
    assert sorted(page.labels().items(), key=lambda item: item[0][-1])[1][1] == 2
    assert page.title == "Unit 2 of 18"
    page.press("Tab")  # from the unit, of which the first aspect is marked
    assert marked.inner_text() == "fitting"
    page.press("Shift+Tab")
    assert marked.inner_text() == "clear"
    page.press("n", "Escape", "Tab", "5")  # out of the note to the marked aspect, and on
    assert list(page.labels().values()) == [4, 2, 5]
    assert marked.inner_text() == "clear"
    page.press("Tab", "Tab")  # after the last one
    assert page.page.evaluate("document.activeElement.id") == "note"
    assert page.page.locator("#agreed").is_hidden()
    page.press("Escape", "a")
    assert "Krippendorff" in page.page.locator("#agreed").inner_text()


def test_a_key_off_the_scale_is_refused_and_the_same_label_again_is_no_step(
    label: Label, tmp_path: Path
) -> None:
    page = label(say_how_to_label(texts(tmp_path / "gold", 2, (1, 5, False)), halves=True))
    refused = page.page.locator("fieldset.current .refused")
    for key, name in (("6", "6"), ("0", "0"), ("Shift+5", "⇧5")):
        page.press(key)
        assert refused.inner_text() == f"No label has the key {name}: use 1 … 5."
    page.press("Shift+4")
    assert (refused.count(), page.title) == (0, "Unit 2 of 2")
    page.press("ArrowLeft", "Shift+4", "5", "5", "5")
    assert [event["label"] for event in page.events()] == [4.5, 5]
    page.press("u")
    assert list(page.labels().values()) == [4.5]


def test_two_texts_side_by_side_and_which_is_better(label: Label, tmp_path: Path) -> None:
    how = {"guidelines": "Half a point is allowed.", "guidelines_of_pairs": "Take your time."}
    page = label(say_how_to_label(write_tiny(tmp_path / "tiny"), **how), pairs=True)
    page.press("g")
    assert page.page.locator("#guidelines p").inner_text() == "Take your time."
    shown = []
    for _ in range(3):
        heads = page.page.locator("h3").all_inner_texts()
        assert heads == ["Shown first", "Shown second", "Reference"]
        left, right = (page.page.locator("section").nth(side) for side in (0, 1))
        boxes = left.bounding_box(), right.bounding_box()
        assert boxes[0]["y"] == boxes[1]["y"]
        assert boxes[0]["x"] < boxes[1]["x"]
        assert boxes[0]["width"] > 450
        shown.append([side.locator("p").inner_text() for side in (left, right)])
        page.press("1", "3")  # of one aspect the left one, of the other the right one
    assert page.title == "Pair 4 of 18"
    generator = {text: name for name, text in GENERATED.items()}
    update_labels(page.folder)
    for row in read_verdicts(page.folder / "verdicts.csv").to_dict("records"):
        first, second = shown[[e["unit"] for e in page.events()[::2]].index([row[k] for k in PAIR])]
        assert {row["first"], row["second"]} == {generator[first], generator[second]}
        assert row[row["winner"]] == generator[first if row["aspect"] == "clear" else second]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["relevance", "slates", "exposure"])
def test_every_kind_is_shown_as_its_report_shows_it(label: Label, tmp_path: Path, kind: str) -> None:
    folder = shutil.copytree(ROOT / "data" / kind, tmp_path / kind)
    page = label(folder, width=1000 if kind == "slates" else 390)
    heads = page.page.locator("h3").all_inner_texts()
    sides = page.page.locator("section").all()
    if kind == "relevance":
        assert heads[0] == "Item"
        page.page.get_by_role("button", name="relevance: very interested").click()
        page.saved()
        data = me.load(folder)
        assert data.ratings.query("rater == 'anna'")["rating"].tolist() == [3]
        return
    assert heads[:2] == ["Shown first", "Shown second"]
    first, second = (side.bounding_box() for side in sides[:2])
    assert first
    assert second
    beside = first["y"] == second["y"] and first["x"] < second["x"]
    assert beside == (kind == "slates")  # below each other where there is no room
    left = sides[0].locator("p").inner_text().splitlines()[0].removeprefix("1. ")
    page.press("1")
    (event,) = page.events()
    data = me.load(folder)
    (given,) = data.scores.query("evaluator == 'anna'").to_dict("records")
    assert [given[key] for key in data.keys] == event["unit"]
    assert given["score"] == 1
    shown = data.table.set_index(list(data.keys)).loc[tuple(event["unit"]), "first"]
    item = shown
    if kind == "slates":
        mine = data.slates.query("user_id == @event['unit'][0] and slate == @shown")
        item = mine.sort_values("position")["item_id"].iloc[0]
    assert left == data.items.set_index("item_id").loc[item, "title"]


def test_half_points_words_guidelines_and_a_list_to_jump_in(label: Label, tmp_path: Path) -> None:
    folder = texts(tmp_path / "gold", 6, (1, 5, False))
    how = {"guidelines": "Read it\nas the user.", "lowest": "not at all", "highest": "very", "halves": True}
    page = label(say_how_to_label(folder, **how))
    assert page.page.locator("#guidelines p").inner_text() == "Read it\nas the user."  # open: there is room
    buttons = page.page.locator("fieldset button").all_inner_texts()
    assert [text.split()[0] for text in buttons] == ["1", "1.5", "2", "2.5", "3", "3.5", "4", "4.5", "5"]
    assert page.page.locator(".ends span").all_inner_texts() == ["not at all", "very"]
    page.press("Shift+3", "s", "5", "g", "?")
    assert page.page.locator("#guidelines p").is_hidden()
    assert page.page.locator("#keys").is_visible()
    page.press("Escape")
    listed = page.page.locator("#list li:visible")
    found = {}
    for name in ("all", "unlabelled", "skipped"):
        page.page.locator("#filter").select_option(label=name)
        found[name] = [text.split()[0] for text in listed.all_inner_texts()]
    assert found == {"all": [*"123456"], "unlabelled": [*"2456"], "skipped": ["2"]}
    listed.get_by_role("button").click()
    page.saved()
    assert page.title == "Unit 2 of 6 (skipped)"
    page.press("Shift+1")
    assert sorted(page.labels().values()) == [1.5, 3.5, 5]
    assert listed.count() == 0
    assert page.title == "Unit 4 of 6"


@pytest.mark.slow
def test_a_scale_without_keys_has_a_field(label: Label, tmp_path: Path) -> None:
    page = label(texts(tmp_path / "gold", 2, (0, 100, False)))
    page.page.keyboard.type("62.5")  # the field has the focus
    page.press("Enter")
    assert list(page.labels().values()) == [62.5]
    assert page.title == "Unit 2 of 2"
    page.page.keyboard.type("101")
    page.press("Enter")
    assert list(page.labels().values()) == [62.5]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_it_fits_is_read_and_turns_with_the_script(
    label: Label, tmp_path: Path, width: int, scheme: str
) -> None:
    page = label(texts(tmp_path / "gold", 4), width=width, scheme=scheme)
    turned = set()
    for _ in TEXTS:
        assert overflow(page.page) == 0
        assert page.page.evaluate(NAMELESS) == []
        answers = page.page.locator("fieldset.current .row").bounding_box()
        assert answers["y"] + answers["height"] <= 900  # near, however long the text is
        found = page.page.evaluate(CONTRAST)
        assert found["seen"] > 10
        assert found["poor"] == []
        text = page.page.locator(".text").first
        turned.add((text.inner_text()[:1], text.evaluate("e => getComputedStyle(e).direction")))
        assert page.page.evaluate("document.activeElement.matches('h2')")  # where a reader begins
        page.press("3")
    assert turned == {("I", "ltr"), ("因", "ltr"), ("כ", "rtl"), ("v", "ltr")}


@pytest.mark.slow
def test_three_raters_on_one_port_type_faster_than_the_page(browser: Browser, tmp_path: Path) -> None:
    folder = texts(tmp_path / "gold", 60)
    raters = ["anna", "bert", "cleo"]
    sessions = label_sets(folder, raters, overlap=2)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving(label_server(*sessions)))
        assert len(set(server.addresses)) == 4
        people = [Labeller(browser, folder, rater) for rater in raters]
        for one, address in zip(people, server.addresses[:-1], strict=True):
            stack.callback(one.closed)
            one.open(address)
            assert not one.page.locator("#agreement").is_visible()
        burst = "12345432" * 5
        for key in burst:  # no waiting in between
            for one in people:
                one.page.keyboard.press(key)
        for one in people:
            one.page.get_by_text("All units are labelled").wait_for()
            one.saved()
            assert one.status == "40 of 40 labelled"
        people[0].page.keyboard.press("?")
        assert people[0].page.locator("#keys").is_visible()
    update_labels(folder)
    assert set(Counter(key for session in sessions for key in session.units).values()) == {2}
    for session, one in zip(sessions, people, strict=True):
        labels = one.labels()
        assert len(labels) == 40
        assert [labels[(*key, "清晰")] for key in session.units] == [float(key) for key in burst]


def test_units_come_again_and_the_owner_sees_every_rater(browser: Browser, tmp_path: Path) -> None:
    folder = say_how_to_label(write_tiny(tmp_path / "set"), repeat=0.1, repeat_after=0)
    (folder / "attention.csv").write_text(
        "user_id,item_id,generator,aspect,right\nu1,i1,short,clear,5\nu1,i1,short,fitting,5\n"
    )
    sessions = label_sets(folder, ["anna", "bert"])
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving(label_server(*sessions)))
        anna, owner = (Labeller(browser, folder, who) for who in ("anna", "owner"))
        stack.callback(anna.closed)
        stack.callback(owner.closed)
        anna.open(server.addresses[0])
        assert anna.page.locator("#list li:not([hidden])").count() == 18
        page = owner._context.new_page()
        page.goto(server.addresses[-1])
        assert page.locator("tbody tr").count() == 2
        assert overflow(page) <= 0
        for _ in range(18):
            anna.press("4", "4")
        assert anna.status.startswith("18 of 20 labelled")
        assert anna.page.locator("#list li:not([hidden])").count() == 20
        assert "again" not in anna.page.locator("main").inner_text()  # nothing tells it from another unit
        anna.press("4", "3", "4", "4")
        anna.page.get_by_text("All units are labelled").wait_for()
        page.get_by_text("75% of 4 labels equal").wait_for()  # it is made anew by itself
        row = page.get_by_role("row", name="anna").inner_text()
        assert "2 of 2 failed: u1 · i1 · short · clear; u1 · i1 · short · fitting" in row
        assert page.evaluate(NAMELESS) == []
    update_labels(folder)
    assert len(anna.labels()) == 34
    assert len(me.load(folder)) == 18
