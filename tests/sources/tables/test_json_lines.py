"""Large files of JSON lines: read in blocks, and line by line only where a line is wrong."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from metaeval.sources.tables import json_lines
from metaeval.sources.tables.json_lines import read_json_lines

if TYPE_CHECKING:
    from pathlib import Path

KEYS = {"name": str, "size": float}


def read(path: Path) -> tuple[list, list[str]]:
    told, problems = [], []
    for block in read_json_lines(path, KEYS):
        frame = block.table.frame
        told += zip(block.table.rows.tolist(), frame["name"], frame["size"], strict=True)
        problems += map(str, block.problems)
        assert [json.loads(line)["name"] for line in block.lines] == frame["name"].tolist()
    return told, problems


@pytest.mark.parametrize("size", [7, 40, 1 << 25])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_blocks_of_any_size_give_the_same_lines(tmp_path: Path, monkeypatch, size: int, end: str) -> None:
    monkeypatch.setattr(json_lines, "_BLOCK", size)
    lines = [json.dumps({"name": f"é{n}", "size": n / 2, "more": {"x": [n]}}) for n in range(5)]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join([*lines[:2], "", *lines[2:]]) + end, encoding="utf-8")
    wanted = [(row, f"é{n}", n / 2) for row, n in zip([1, 2, 4, 5, 6], range(5), strict=True)]
    assert read(path) == (wanted, [])
    packed = tmp_path / "x.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed) == (wanted, [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"name": "a"', "row 2: is not a JSON object: Expecting"),
        ('["a", 1]', "row 2: is not a JSON object: the line holds"),
        ('{"name": "b", "size": 1} {"name": "c", "size": 1}', "row 2: is not a JSON object: Extra data"),
        ('{"name": "b"}', "row 2, column 'size': is missing; it must be a number"),
        ('{"name": "", "size": 1}', "row 2, column 'name': is missing; it must be a text"),
        ('{"name": "b", "size": "1"}', "row 2, column 'size': is '1'; it must be a number"),
        ('{"name": "b", "size": true}', "row 2, column 'size': is True; it must be a number"),
        ('{"name": 5, "size": 1}', "row 2, column 'name': is 5; it must be a text"),
        ('{"name": "b", "size": NaN}', "row 2: is not a JSON object: NaN is not a number"),
        (b'{"name": "\xff", "size": 1}', "row 2: is not a JSON object: 'utf-8' codec"),
        ("[" * 100_000, "row 2: "),
    ],
)
def test_a_wrong_line_is_named_and_the_others_are_read(tmp_path: Path, line: str | bytes, said: str) -> None:
    path = tmp_path / "x.jsonl"
    sound = b'{"name": "a", "size": 1}\n'
    path.write_bytes(sound + (line if isinstance(line, bytes) else line.encode()) + b"\n" + sound)
    told, problems = read(path)
    assert told == [(1, "a", 1), (3, "a", 1)]
    (problem,) = problems
    assert problem.startswith(f"x.jsonl, {said}")
