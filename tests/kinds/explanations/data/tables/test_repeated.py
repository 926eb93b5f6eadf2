"""Columns that stand once for each of several explanations."""

from __future__ import annotations

import pytest

from metaeval.kinds.explanations.data.tables.repeated import repeated

TEXT = "A text of more than thirty characters."


@pytest.mark.parametrize(
    ("columns", "patterns", "likely"),
    [
        (["text_1", "rating_1", "text_2", "rating_2"], ["text_{n}", "rating_{n}"], "item_id"),
        (["Q1_why", "Q1_fun", "Q2_why", "Q2_fun"], ["Q{n}_why", "Q{n}_fun"], "item_id"),
        (["text_a", "fun_a", "text_b", "fun_b"], ["text_{n}", "fun_{n}"], "item_id"),
        (["Film 1 - fun", "Film 2 - fun"], ["Film {n} - fun"], "item_id"),
        (["Fun? [System A]", "Fun? [System B]"], ["Fun? [System {n}]"], "generator"),
        (["Annotator 1 fun", "Annotator 2 fun"], [], ""),
        (["text_1", "text_2", "annotator_1_fun", "annotator_2_fun"], [], ""),
        (["fun item 1", "fun item 2"], [], ""),
        (["text_1", "text_2", "comment"], [], ""),
        (["gpt-4 fun", "gpt-5 fun"], [], ""),
        (["marks.0", "marks.1"], [], ""),
    ],
)
def test_columns_that_repeat_are_told_from_raters_and_questions(columns, patterns, likely) -> None:
    texts = {c: [TEXT] if "text" in c or "why" in c or c == "comment" else ["3", "4"] for c in columns}
    found = repeated(texts)
    assert ([] if found is None else [*found.families]) == patterns
    assert ("" if found is None else found.likely) == likely
