"""Lines of fields; the order of a run is that of its scores; contradictions are refused or counted."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.data.trec import read_fields, read_runs, run_files


def runs_of(folder: Path, **files: str):
    for name, text in files.items():
        (folder / f"{name}.run").write_text(text.replace("|", "\n"))
    return read_runs([folder / f"{name}.run" for name in files])


def order(found, user: str = "u") -> str:
    return "".join(found.frame.loc[found.frame["user_id"] == user, "item_id"])


@pytest.mark.parametrize(
    ("text", "wanted", "ties", "contradicts"),
    [
        ("u Q0 a 1 3 s|u Q0 b 2 2 s|u Q0 c 3 1 s", "abc", 0, 0),
        ("u Q0 c 3 1 s|u Q0 a 1 3 s|u Q0 b 2 2 s", "abc", 0, 0),  # lines in any order
        ("u Q0 a 3 9 s|u Q0 b 2 8 s|u Q0 c 1 7 s", "abc", 0, 1),  # the scores win
        ("u Q0 a 1 -3 s|u Q0 b 2 -4 s", "ab", 0, 0),
        ("u Q0 z 7 0 s|u Q0 a 0 0 s|u Q0 m 3 0 s", "amz", 2, 0),  # one score alone says nothing
        ("u Q0 b 2 1 s|u Q0 a 3 1 s|u Q0 z 1 9 s", "zba", 1, 0),  # lines in no order: ties by rank
        ("u Q0 z 1 9 s|u Q0 b 3 1 s|u Q0 a 2 1 s", "zba", 1, 0),  # lines in the order of the scores
    ],
)
def test_the_order_within_a_list(tmp_path, text, wanted, ties, contradicts) -> None:
    found, problems = runs_of(tmp_path, f=text)
    assert problems == []
    assert order(found) == wanted
    assert found.frame["rank"].tolist() == [*range(1, len(wanted) + 1)]
    assert int(found.ties.sum()) == ties
    assert int(found.contradicting.sum()) == contradicts


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("u Q0 a 1 3 s|u Q0 b 1 2 s", "f.run, row 2: the rank 1 is twice in the list of user 'u'"),
        (
            "u Q0 a 1 3 s|v Q0 a 1 3 s|u Q0 a 2 2 s",
            "f.run, row 3: the item 'a' is twice in the list of user 'u'",
        ),
        (
            "u Q0 a 1 3 s|u Q0 b 2",
            "f.run, row 2: has 4 fields; a line is: user_id q0 item_id rank score s",
        ),
        ("u Q0 a one 3 s", "f.run, row 1, column 'rank': is 'one'; it is a whole number"),
        ("u Q0 a 1.5 3 s", "f.run, row 1, column 'rank': is '1.5'; it is a whole number"),
        ("u Q0 a 1 nan s", "f.run, row 1, column 'score': is 'nan'; it is a finite number"),
        ("u Q0 a 1 1e999 s", "f.run, row 1, column 'score': is '1e999'; it is a finite number"),
        ("", "f.run: has no lines"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path, text, says) -> None:
    found, problems = runs_of(tmp_path, f=text)
    assert found is None
    assert [str(p)[: len(says)] for p in problems] == [says]


def test_a_system_is_in_one_file_and_a_file_may_have_several(tmp_path) -> None:
    found, problems = runs_of(tmp_path, one="u Q0 a 1 3 s|u Q0 a 1 3 t", two="u Q0 a 1 3 x")
    assert problems == []
    assert found.frame["system"].tolist() == ["s", "t", "x"]
    _, problems = runs_of(tmp_path, one="u Q0 a 1 3 s", two="u Q0 a 1 3 t|v Q0 a 1 3 s")
    assert [str(p) for p in problems] == ["two.run, row 2: the system 's' is in one.run too; rename one"]


def test_a_folder_means_its_files_but_hidden_ones(tmp_path) -> None:
    for name in ("b", "a", ".DS_Store"):
        (tmp_path / name).write_text("")
    (tmp_path / "sub").mkdir()
    assert [p.name for p in run_files([tmp_path / "b", tmp_path])] == ["b", "a"]
    with pytest.raises(DataError, match="holds no file"):
        run_files([tmp_path / "sub"])


rows = st.lists(
    st.tuples(st.sampled_from("uv"), st.sampled_from("abcdef"), st.integers(-3, 3)),
    min_size=1,
    max_size=12,
    unique_by=lambda row: row[:2],
)


@given(rows, st.data())
def test_the_order_is_that_of_a_sort_of_each_list(tmp_path_factory, rows, data) -> None:
    ranks = data.draw(st.permutations(range(len(rows))))
    text = "|".join(f"{u} Q0 {i} {r} {s} x" for (u, i, s), r in zip(rows, ranks, strict=True))
    found, _ = runs_of(tmp_path_factory.mktemp("run"), f=text)
    for user in {u for u, _, _ in rows}:
        own = [(i, s, r) for (u, i, s), r in zip(rows, ranks, strict=True) if u == user]
        scores = [s for _, s, _ in own]
        sorted_file = scores == sorted(scores, reverse=True) and len(set(scores)) > 1
        by_rank = own if sorted_file else sorted(own, key=lambda row: row[2])
        assert order(found, user) == "".join(i for i, _, _ in sorted(by_rank, key=lambda row: -row[1]))


def test_fields_are_read_between_blanks_and_a_wrong_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    content = ' a\t"b  \u3000\r\n\nNA \u2028 007 \nx y\n1 2 3 4\r\n'.encode()
    for packed in (content, gzip.compress(content), b"\xef\xbb\xbf" + content):
        path.write_bytes(packed)
        frame, problems = read_fields(path, ["a", "b", "c"], "file")
        assert frame.to_numpy().tolist() == [[1, "a", '"b', "\u3000"], [3, "NA", "\u2028", "007"]]
        assert [str(p) for p in problems] == [
            f"f.txt, row {n}: has {fields} fields; a line is: a b c" for n, fields in ((4, 2), (5, 4))
        ]


def test_fields_that_cannot_be_read_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    for content, said in (
        (gzip.compress(b"a b c\n" * 1000)[:-20], "is a broken gzip file"),
        (b"a b \xff\n", r"is not UTF-8 text; a line of a file is: a b c"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=said):
            read_fields(path, ["a", "b", "c"], "file")
    with pytest.raises(DataError, match="there is no file '/none'"):
        read_fields(tmp_path.__class__("/none"), ["a", "b", "c"], "file")
