"""Lines of fields are read fast where all are sound, and else with the line of what is wrong."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.sources.trec.fields import read_fields

FIELDS = ["a", "b", "c"]
words = st.sampled_from(["x", "7", "007", "NA", '"', "'q", "#", "1e5", "é", "\u3000", "\u2028", "nan", "a,b"])
blanks = st.sampled_from([" ", "\t", "  ", " \t "])
lines = st.builds(
    lambda found, blank, before, end: before + blank.join(found) + end,
    st.lists(words, min_size=3, max_size=3) | st.lists(words, max_size=5),
    blanks,
    st.sampled_from(["", " "]),
    st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\r", "\x0b\n"]),
)


def read(content: bytes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.txt"
        path.write_bytes(content)
        return read_fields(path, FIELDS, "file")


@given(st.lists(lines, max_size=6))
def test_the_fast_reader_finds_what_a_split_of_each_line_finds(text: list[str]) -> None:
    content = "".join(text).encode()
    numbered = [(n, s) for n, line in enumerate(content.split(b"\n"), 1) if (s := line.split())]
    frame, problems = read(content)
    assert [(line, *map(str.encode, rest)) for line, *rest in frame.itertuples(index=False)] == [
        (n, *found) for n, found in numbered if len(found) == 3
    ]
    assert [p.row for p in problems] == [n for n, found in numbered if len(found) != 3]
    again, _ = read(gzip.compress(content))
    assert again.equals(frame)


def test_what_cannot_be_read_is_said_in_one_sentence() -> None:
    with pytest.raises(DataError, match="is a broken gzip file"):
        read(gzip.compress(b"a b c\n" * 1000)[:-20])
    with pytest.raises(DataError, match=r"is not UTF-8 text; a line of a file is: a b c"):
        read(b"a b \xff\n")
    with pytest.raises(DataError, match="there is no file '/none'"):
        read_fields(Path("/none"), FIELDS, "file")


def test_a_small_file_that_unpacks_to_more_than_there_is_memory_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("metaeval.sources.trec.fields.memory", lambda: 1_000_000)
    with pytest.raises(DataError, match="does not fit in memory"):
        read(gzip.compress(b"a b c\n" * 1_000_000))
