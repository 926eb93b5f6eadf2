"""Duels of MIND, on files of exactly that form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.slates.data.imports.mind import import_mind
from metaeval.kinds.slates.data.sampling import Sampling

if TYPE_CHECKING:
    from pathlib import Path

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


def test_a_click_is_a_gain(folder: Path) -> None:
    data = import_mind(folder, folder / "out", HOW).data
    lists = data.slates.groupby(["user_id", "slate"])["item_id"].agg(list)
    units = data.table[(data.table["user_id"] == "U1") & (data.table["task"] == "T3")]
    assert len(units)
    for unit in units.itertuples():
        items = lists["U1", unit.first]
        wanted = [1, 0.6309297536, 0.5][items.index("N5")] if "N5" in items else 0
        assert unit.utility_first == pytest.approx(wanted)


WHEN = "11/15/2019 1:05:58 PM"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"6\tU4\t{WHEN}\tN1 N2", r"row 6: has 4 fields; it needs 5: impression_id, user_id, time, history"),
        (
            impression(6, "U4", "2019-11-15", "", "N1-0"),
            r"row 6, column 'time': is '2019-11-15'; write it",
        ),
        (impression(6, "U4", WHEN, "", "N1 N2"), r"row 6, column 'impressions': is 'N1 N2'"),
        (impression(6, "U4", WHEN, "", ""), r"row 6, column 'impressions': is ''"),
        (impression(6, "", WHEN, "", "N1-1"), r"row 6, column 'user_id': is ''"),
    ],
)
def test_a_wrong_line_is_named(folder: Path, line: str, said: str) -> None:
    write(folder, "behaviors.tsv", [*BEHAVIORS, line])
    with pytest.raises(DataError, match=rf"^behaviors\.tsv, {said}"):
        import_mind(folder, folder / "out", HOW)
    write(folder, "behaviors.tsv", [*BEHAVIORS, line, "what"])
    with pytest.raises(DataError, match=r"\(the first of 2 that are wrong\)$"):
        import_mind(folder, folder / "out", HOW)
    assert not (folder / "out").exists()


def test_what_is_wrong_with_the_files_is_said(folder: Path) -> None:
    write(folder, "news.tsv", [*NEWS[:3], NEWS[3].rpartition("\t")[0]])
    with pytest.raises(DataError, match=r"^news\.tsv, row 4: has 7 fields; it needs 8: item_id, category"):
        import_mind(folder, folder / "out", HOW)
    (folder / "news.tsv").unlink()
    with pytest.raises(DataError, match=r"^news\.tsv: cannot be read: No such file"):
        import_mind(folder, folder / "out", HOW)
