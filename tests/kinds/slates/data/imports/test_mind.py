"""Duels of MIND, on files of exactly that form."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaeval.kinds.slates.data.imports.mind import import_mind
from metaeval.kinds.slates.data.sampling import Sampling

HOW = Sampling(size=3, slates=3)
NEWS = [
    f'N{n}\tsports\tsoccer\tCup, "final" {n}\tIt\'s over\thttps://x.example/{n}.html\t'
    '[{"Label": "Cup", "Type": "O", "WikidataId": "Q1", "Confidence": 1.0, "OccurrenceOffsets": [0]}]\t[]'
    for n in range(20)
]


def impression(number: int, user: str, time: str, history: str, shown: str) -> str:
    return f"{number}\t{user}\t{time}\t{history}\t{shown}"


BEHAVIORS = [
    # The afternoon is later than the morning, though its text sorts before it.
    impression(1, "U1", "11/15/2019 1:05:58 PM", "N1 N2 N3 N2", "N4-0 N5-1 N6-0 N7-0 N1-0"),
    impression(2, "U1", "11/15/2019 9:05:58 AM", "N1 N2", "N8-1 N9-0 N10-0 N11-0"),
    impression(3, "U1", "11/16/2019 9:05:58 AM", "N1 N2 N3", "N12-0 N13-0 N14-0"),  # no click
    impression(4, "U2", "11/9/2019 10:05:58 AM", "", "N15-0 N16-0 N17-1 N18-1"),
    impression(5, "U3", "11/14/2019 10:05:58 AM", "N1", "N15-1 N16-0"),  # too short
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "news.tsv", NEWS)
    write(tmp_path, "behaviors.tsv", BEHAVIORS)
    return tmp_path


def write(folder: Path, name: str, lines: list[str]) -> None:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_last_impression_with_a_click_gives_the_candidates(folder: Path) -> None:
    found = import_mind(folder, folder / "out", HOW)
    data = found.data
    shown = data.slates.groupby("user_id")["item_id"].agg(set).to_dict()
    assert shown == {"U1": {"N4", "N5", "N6", "N7"}, "U2": {"N15", "N16", "N17", "N18"}}
    histories = data.histories.groupby("user_id")["item_id"].agg(list).to_dict()
    assert histories == {"U1": ["N1", "N3", "N2"]}  # N2 where it was read last
    assert data.items.set_index("item_id").loc["N5"].tolist() == [
        'Cup, "final" 5',
        "sports",
        "soccer",
        "It's over",
    ]
    assert "1 user without a history" in found.notes
    assert found.notes[0] == "2 users with an impression of 3 articles, some of them clicked"
    assert data.history_scale is None
