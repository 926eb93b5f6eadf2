"""What the report of each bundled demo says: short captions, its own words explained, one word per thing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from metaeval.reports.report_model import payload_of
from tests.reports.report.pages import visit

Show = Callable[..., Any]

RUNS = {"explanations": "demo", "relevance": "relevance", "slates": "slates", "exposure": "exposure"}
WORDS: Mapping[str, set[str]] = {
    "explanations": {"level"},
    "relevance": {"level", "system", "τ"},
    "slates": {"regret", "T1", "T2", "T3", "chance", "coin"},
    "exposure": {"PairAUC", "RJS", "bin", "IPS", "coin"},
}
NOTES = """[...document.querySelectorAll('main section, main figcaption')].map((part) =>
    [...part.querySelectorAll(':scope > .note:not(.legend)')].map((note) => note.innerText).join(' '))"""
"""The captions of the tables and figures of a view, as far as they are not folded."""


@pytest.fixture(params=list(RUNS))
def kind(request: pytest.FixtureRequest) -> str:
    """A kind of study with a bundled demo."""
    return str(request.param)


@pytest.fixture
def payload(kind: str, demo_of: Callable[[str], Path]) -> dict[str, Any]:
    """What the report of the demo holds."""
    report = demo_of(kind) / "results" / RUNS[kind] / "report.html"
    return payload_of(report.read_text(encoding="utf-8"))


def sentences(text: str) -> int:
    """Count the ends of sentences."""
    return len(re.findall(r"[.?!](?=\s|$)", text))


def test_captions_are_short_and_what_is_simulated_is_said_once(payload: dict[str, Any], show: Show) -> None:
    page = show(payload)
    for view in ("leaderboard", "leaderboard?mode=all", "groups", "units", "figures", "details"):
        visit(page, view)
        captions = [caption for caption in page.evaluate(NOTES) if caption]
        assert all(sentences(caption) <= 3 for caption in captions), captions
        text = page.locator("body").inner_text()
        assert text.count("SIMULATED") == 1
        assert text.count("numbers say nothing") == page.locator("header").inner_text().count("say nothing")
        tables = page.locator(".sheet caption, .figure h3, main caption")
        assert all("simulated" in told for told in tables.all_inner_texts())
    folded = page.locator("details.folded-notes")
    assert folded.count() > 0
    assert not folded.first.locator(".note").first.is_visible()
    folded.first.locator("summary").click()
    assert folded.first.locator(".note").first.is_visible()


def test_the_words_of_the_kind_are_explained_and_no_others(
    kind: str, payload: dict[str, Any], show: Show
) -> None:
    page = show(payload)
    page.get_by_text("What the words mean").click()
    told = {*page.locator(".facts dt").all_inner_texts()}
    assert "SNIPS" not in told or "SNIPS" in str(payload["sheets"])
    assert told >= WORDS[kind]
    assert not told & (set().union(*WORDS.values()) - WORDS[kind])


def test_one_word_stands_for_one_thing(payload: dict[str, Any], show: Show) -> None:
    page = show(payload)
    for view in ("leaderboard", "details"):
        visit(page, view)
        heads = " ".join(page.locator("thead, caption").all_inner_texts()).lower()
        assert not re.search(r"cluster|\btexts?$|/.text", heads)
        below = " ".join(page.locator(".note").all_inner_texts()).lower()
        assert set(re.findall(r"\w+ clusters?", below)) <= {"few clusters", "6 clusters"}
        assert "coin" not in re.sub(r"coin\s+baselines|than\s+coin", "", f"{heads} {below}")


def test_a_list_of_units_has_each_field_on_its_line_and_both_of_a_pair(
    kind: str, payload: dict[str, Any], show: Show
) -> None:
    page = show(payload, "#/units")
    heads = [head.split("\u2060")[0] for head in page.locator("thead th").all_inner_texts()]
    first = page.locator("tbody tr").first
    lines = first.locator("th .words").inner_text().split("\n")
    if kind == "relevance":
        assert [line.split(":")[0] for line in lines] == ["title", "genres", "keywords", "year"]
    if kind in ("slates", "exposure"):
        assert heads[:2] == ["shown first", "shown second"]
        texts, parts = payload["units"]["texts"], payload["units"]["parts"]
        (one, other) = (part["texts"] for part in parts[:2])
        shown = {(texts[a], texts[b]) for a, b in zip(one, other, strict=True)}
        assert ("\n".join(lines), first.locator("td").first.inner_text()) in shown
