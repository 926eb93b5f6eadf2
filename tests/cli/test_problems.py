"""Where a message says that there are more problems, a command lists them, or their rows are named."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.cli import main
from tests.tiny import write_study

HEAD = "user_id,item_id,generator,"
MAP = """\
name: wide
aspects: {clear: {statement: It is clear}}
scale: {min: 1, max: 5}
units: {user_id: u, item_id: i, generator: g, explanation: text}
ratings: [{columns: "{aspect} by {rater}"}]
"""


def refused(capsys: pytest.CaptureFixture[str], command: Sequence[str], code: int = 2) -> list[str]:
    assert main(command) == code
    return capsys.readouterr().err.splitlines()


def spoil(folder: Path) -> Path:
    """Take every rating off the scale."""
    path = folder / "ratings.csv"
    path.write_text(re.sub(r",[1-5]\n", ",9\n", path.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("run", "s.yaml"),
        ("score", "tiny data", "Length()", "--out", "x.csv"),
        ("golden", "sample", "tiny data", "--n", "5", "--by", "generator", "--out", "gold"),
        ("golden", "export", "tiny data", "l.csv", "--rater", "a"),
        ("data", "add-scores", "tiny data", "x.csv", "--from", "table"),
        ("prompts", "show", "p.md", "--data", "tiny data", "--unit", "u1,i1,short"),
        ("prompts", "show", "p.md"),
    ],
)
def test_the_command_that_is_named_lists_them(
    tiny: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    spoil(tiny.rename("tiny data"))
    write_study(Path("s.yaml"), dataset="tiny data")
    prompt = "---\nreply: number\n---\n{{ explanation }} {{ aspect }}\n"
    Path("p.md").write_text(prompt if "--data" in command else "---\nreply: x\nzz: 1\n---\n{{ a", "utf-8")
    (line,) = refused(capsys, command)
    found = re.search(r"\(and ([\d,]+) more; `metaeval (.*)` lists them\)", line)
    assert found is not None, line
    assert main(shlex.split(found[2])) == 1
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == int(found[1].replace(",", "")) + 1


@pytest.mark.parametrize(
    "command",
    [
        ("correlate", "tiny", "bad.csv"),
        ("data", "add-scores", "tiny", "bad.csv", "--from", "table"),
        ("data", "import", "table", "wide.csv", "--map", "map.yaml", "--out", "new"),
        ("data", "import", "qrels", "bad.qrels", "--scale", "0:3", "--out", "new"),
    ],
)
def test_what_no_command_could_list_is_one_line_per_cause_with_its_rows(
    tiny: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    scores = [f"u{i},i1,short,mine,x" for i in range(300)]
    Path("bad.csv").write_text("\n".join([HEAD + "evaluator,score", *scores, ""]), encoding="utf-8")
    Path("map.yaml").write_text(MAP, encoding="utf-8")
    rows = [f"u{i},i1,short,some text,x" for i in range(300)]
    Path("wide.csv").write_text("\n".join(["u,i,g,text,clear by user", *rows, ""]), encoding="utf-8")
    Path("bad.qrels").write_text("".join(f"1 0 d{i} 9\n" for i in range(300)), encoding="utf-8")
    said = refused(capsys, command)
    assert len(said) < 5
    assert any("(and 299 more rows: 3, 4, 5, 6," in line or "rows: 2, 3, 4, 5," in line for line in said)


@pytest.mark.usefixtures("tiny")
def test_a_line_names_the_rows_that_differ_by_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    Path("map.yaml").write_text(MAP, encoding="utf-8")
    rows = [f"u{i},i1,short,some text,{given}" for i, given in enumerate(["x", 3, "y", "inf"])]
    Path("wide.csv").write_text("\n".join(["u,i,g,text,clear by user", *rows, ""]), encoding="utf-8")
    (line,) = refused(capsys, ("data", "import", "table", "wide.csv", "--map", "map.yaml", "--out", "new"))
    assert "row 2, column 'clear by user': is 'x'" in line
    assert line.endswith("(and 2 more rows: 4, 5)")


def test_of_a_frame_the_error_has_them() -> None:
    units = pd.DataFrame({"item_id": ["a", "b"], "generator": "g", "explanation": "Why not?"})
    ratings = units[["item_id", "generator"]].assign(rater="user", aspect="clear", rating=9)
    with pytest.raises(DataError, match=r"\(and 1 more; they are in the error's `problems`\)") as caught:
        me.from_frames(units, ratings, aspects={"clear": "It is clear"}, scale=(1, 5))
    assert len(caught.value.problems) == 2
