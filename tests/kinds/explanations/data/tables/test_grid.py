"""Columns that cross aspects with raters, in any language."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.kinds.explanations.data.tables.grid import grid, is_tool

WORDS = st.lists(st.from_regex(r"[A-ZÀ-Ý][a-zà-ý]{3,8}", fullmatch=True), min_size=5, max_size=5, unique=True)


@given(WORDS, st.sampled_from(["{} ({})", "{} - {}", "{} ({}) - {{n}}", "{} | {}"]), st.integers(0, 5))
def test_words_of_any_language_that_cross_are_aspects_and_raters(words, style, lacking) -> None:
    pairs = [*itertools.product(words[:3], words[3:])]
    named = {style.format(aspect, who).replace("{{", "{"): (aspect, who) for aspect, who in pairs}
    lost = [*named][lacking]
    found = grid([c for c in named if c != lost])
    assert {c: (cell.aspect, cell.who) for c, cell in found.items()} == {
        c: pair for c, pair in named.items() if c != lost
    }
    for column, cell in found.items():
        assert cell.pattern.replace("{aspect}", cell.aspect).replace("{who}", cell.who) == column


@pytest.mark.parametrize(
    ("columns", "sure", "raters"),
    [
        (["Utilità utente", "Utilità Prof. Rossi", "Fiducia utente", "Fiducia Prof. Rossi"], False, 2),
        (["Vivacità Giulia", "Vivacità Ugo", "Calore Giulia", "Calore Ugo"], True, 2),
        (["Vivacità Giulia", "Vivacità Ugo", "Calore Giulia", "Calore Ugo"], False, 0),
        (["Anna (Clarity)", "Ben (Clarity)", "Anna (Trust)", "Ben (Trust)"], False, 2),
        (["Vivacité (client)", "Vivacité (Éloïse)"], False, 0),
        (["Vivacité (client)", "Humour (Éloïse)"], False, 0),
    ],
)
def test_both_sides_repeat_and_one_is_who_rated(columns, sure, raters) -> None:
    found = grid(columns, sure=sure)
    assert len({c.who for c in found.values()}) == raters
    assert not {c.who for c in found.values()} & {"Clarity", "Trust", "Utilità", "Fiducia", "Calore"}


def test_a_model_is_a_tool_in_other_languages_and_a_person_is_none() -> None:
    assert all(map(is_tool, ["score_x", "modèle", "Modello A", "IA", "gpt-4o", "score_modèle"]))
    assert not any(map(is_tool, ["client", "Éloïse", "Maria", "rater 1"]))
