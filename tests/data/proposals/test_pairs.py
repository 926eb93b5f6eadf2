"""Tables of pairs end in the map that reads them."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.data.proposals.pairs import refuse_pairs
from metaeval.data.proposals.proposal import Proposal, by_names, texts_of
from metaeval.data.tables.table import from_frame
from metaeval.data.verdicts.verdict_table import import_verdicts

ARENA = {
    "question_id": [1, 2, 3, 4],
    "model_a": ["gpt", "gpt", "claude", "gpt"],
    "model_b": ["llama", "claude", "llama", "llama"],
    "winner": ["model_a", "model_b", "tie", "tie (bothbad)"],
}
ANSWERS = {
    "question": ["one?", "two?", "three?"],
    "answer_a": ["a b", "c d", "e f"],
    "answer_b": ["b a", "d c", "f e"],
    "human": ["A", "B", "tie"],
    "gpt4": ["B", "b", "A"],
}


NOBODY_NAMED = {**{k: v for k, v in ANSWERS.items() if k != "human"}, "human_choice": ["A", "B", "A"]}


def _proposed(rows: dict[str, list[object]]) -> Proposal:
    table = from_frame(pd.DataFrame(rows).astype(object), "table.csv")
    return by_names(Proposal(table, [], texts_of(table)), {})


@pytest.mark.parametrize(
    ("rows", "winners", "gold", "judge"),
    [
        (ARENA, ["first", "first", "tie", "tie"], None, "judge"),  # sides in the order of their names
        (ANSWERS, ["second", "second", "first"], ["first", "second", "tie"], "gpt4"),
        (
            NOBODY_NAMED,
            ["second", "second", "first"],
            None,
            "gpt4",
        ),  # not `judge`
    ],
)
def test_the_map_that_is_printed_reads_the_table(rows, winners, gold, judge, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        refuse_pairs(_proposed(rows))
    message = str(error.value)
    assert "metaeval verdicts import table.csv --map pairs.yaml --out verdicts.csv" in message
    found = re.search(r"write (\{.*\}) as pairs\.yaml", message)
    assert found
    pd.DataFrame(rows).to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "pairs.yaml").write_text(found[1], encoding="utf-8")
    verdicts = import_verdicts(tmp_path / "table.csv", tmp_path / "pairs.yaml")
    assert sorted(verdicts["winner"]) == sorted(winners)
    assert set(verdicts["evaluator"]) == {judge}
    assert gold is None or sorted(verdicts["gold"]) == sorted(gold)


def test_whose_verdicts_are_those_of_people_is_not_guessed() -> None:
    with pytest.raises(DataError, match=r"'human_choice' likewise.*; what people said is gold in each map"):
        refuse_pairs(_proposed(NOBODY_NAMED))


def test_columns_whose_words_name_no_column_are_no_pair() -> None:
    words = {**ANSWERS, "human": ["good", "bad", "bad"], "gpt4": ["good", "bad", "good"]}
    made = _proposed(words)
    refuse_pairs(made)
    assert {"answer_a", "answer_b"} <= {*made.unknown}  # left to be asked about
