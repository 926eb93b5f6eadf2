"""Several files in one call: below each other, or side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.cli import main
from metaeval.data.hub import any_tables
from metaeval.data.tables.several import as_one
from metaeval.data.tables.table import from_frame

WORK = pd.DataFrame(
    {"id": [f"i{n}" for n in range(6)], "system": [*"abcabc"], "text": [f"text {n}" for n in range(6)]}
)


def write(folder: Path, **tables: pd.DataFrame) -> list[str]:
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.csv", index=False, sep=";")
    return [str(folder / f"{name}.csv") for name in tables]


def test_rows_of_the_same_columns_are_below_each_other_and_counted_on(tmp_path: Path) -> None:
    files = write(tmp_path, ann=WORK, ben=WORK[["text", "system", "id"]])
    table = any_tables(files)
    assert table.frame["file"].tolist() == ["ann"] * 6 + ["ben"] * 6
    assert table.frame["id"].tolist() == [*WORK["id"]] * 2
    assert table.rows.tolist() == [*range(2, 8), *range(9, 15)]
    assert table.problem(6, "id", "is wrong").file == "ann.csv + ben.csv"


def test_tables_of_other_columns_are_below_each_other_if_the_map_says_so() -> None:
    more = from_frame(pd.DataFrame({"id": ["i9"], "score": [4]}), "more")
    table = as_one([from_frame(WORK, "work"), more], ["work", "more"], below=True)
    assert table.frame["file"].tolist() == ["work"] * 6 + ["more"]
    assert table.frame.isna().sum().to_dict() == {"id": 0, "system": 1, "text": 1, "file": 0, "score": 6}


def test_rows_that_agree_are_side_by_side_whatever_their_order() -> None:
    labels = from_frame(WORK.assign(id=range(6)), "labels")
    judges = pd.DataFrame([(str(n), j, n) for j in "xy" for n in (8, 3, 2)], columns=["id", "judge", "score"])
    table = as_one([labels, from_frame(judges, "judges")], ["", ""])
    found = [*zip(table.frame["id"], table.frame["judge"], table.frame["system"], strict=True)]
    assert [row for row in found if row[0] in {"2", "3"}] == [
        *(("2", j, "c") for j in "xy"),
        *(("3", j, "a") for j in "xy"),
    ]
    assert {row[0] for row in found if row[1] != row[1]} == {"0", "1", "4", "5"}
    assert {row[0] for row in found if row[2] != row[2]} == {"8"}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"name": [1, 2]}, "share no column that says which rows belong together"),
        ({"id": ["i0", "i0"], "system": ["a", "a"], "s": [1, 2]}, None),
        ({"id": ["z", "y"], "s": [1, 2]}, "no row of one and other agrees in id"),
        (
            {"id": ["i0", "i1"], "score": [1, 5], "s": 1},
            "'score' differs between one and other where id agree",
        ),
    ],
)
def test_what_does_not_belong_together_is_said(other: dict[str, object], message: str | None) -> None:
    tables = [from_frame(WORK.assign(score=1), "one"), from_frame(pd.DataFrame(other), "other")]
    if message is None:
        assert len(as_one(tables, ["one", "other"]).frame) == 7
        return
    with pytest.raises(DataError, match=message):
        as_one(tables, ["one", "other"])


def test_one_file_per_rater_by_one_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, ann=WORK.assign(fun=[1, 2, 3, 4, 5, 1]), ben=WORK.assign(fun=3))
    Path("map.yaml").write_text(
        "name: m\naspects: [fun]\nscale: {min: 1, max: 5}\n"
        "units: {item_id: id, generator: system, explanation: text}\n"
        "ratings: [{columns: fun, aspect: fun, rater: {column: file}}]\n",
        encoding="utf-8",
    )
    assert main(["data", "import", "table", "ann.csv", "ben.csv", "--map", "map.yaml", "--out", "m"]) == 0
    data = me.load("m")
    assert [*data.raters] == ["ann", "ben"]  # type: ignore[attr-defined]
    assert len(data) == 6


def test_init_asks_what_a_file_is_and_the_printed_lines_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    call = [
        "init",
        *write(tmp_path, ann=WORK.assign(fun=[1, 2, 3, 4, 5, 1]), ben=WORK.assign(fun=3)),
        "--yes",
    ]
    assert main(call) == 2
    assert "nobody says what a file is; add --column file=rater or" in capsys.readouterr().err
    assert main([*call, "--column", "file=rater"]) == 2
    assert "--column ann=rating --column ben=rating" in capsys.readouterr().err
    lines = ["file=rater", "ann=rating", "ben=rating"]
    assert main([*call, *(part for line in lines for part in ("--column", line))]) == 0
    assert [*me.load("ann").raters] == ["ann", "ben"]  # type: ignore[attr-defined]


def test_labels_of_people_beside_a_file_of_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, labels=WORK.assign(human_rating=[1, 2, 3, 4, 5, 1]))
    said = [{"id": f"i{n}", "judge": j, "score": 1 + n % 5} for n in range(6) for j in ("gpt-4", "claude")]
    Path("judges.jsonl").write_text("".join(json.dumps(s) + "\n" for s in said), encoding="utf-8")
    assert main(["init", "labels.csv", "judges.jsonl", "--yes", "--out", "s"]) == 0
    data = me.load("s")
    assert [*data.raters] == ["human"]  # type: ignore[attr-defined]
    assert data.ratings["rating"].tolist() == [1, 2, 3, 4, 5, 1]
    assert data.scores is not None
    assert {*data.scores["evaluator"]} == {"gpt-4", "claude"}


def test_three_people_and_two_judges_of_nested_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    labels = [
        (f"t{n}", who, 1 + (n + i) % 5) for n in range(6) for i, who in enumerate(("lena", "marc", "otto"))
    ]
    write(tmp_path, labels=pd.DataFrame(labels, columns=["custom_id", "annotator", "clarity"]))
    said = [
        {
            "custom_id": f"t{n}",
            "model": model,
            "made": {"text": f"text {n}"},
            "judgement": {"clarity": 1 + n % 5},
        }
        for n in range(6)
        for model in ("gpt-4o", "claude")
    ]
    Path("judges.jsonl").write_text("".join(json.dumps(s) + "\n" for s in said), encoding="utf-8")
    options = ["--yes", "--out", "s", "--column", "made.text=explanation"]
    assert main(["init", "labels.csv", "judges.jsonl", *options]) == 0
    data = me.load("s")
    assert len(data) == 6
    assert [*data.raters] == ["lena", "marc", "otto"]  # type: ignore[attr-defined]
    assert data.scores is not None
    found = data.scores.groupby("evaluator")["score"].apply(list).to_dict()
    assert found == {judge: [1, 2, 3, 4, 5, 1] for judge in ("claude", "gpt-4o")}
    capsys.readouterr()
    two = [{**one, "run": n % 4} for n, one in enumerate(said)]
    Path("judges.jsonl").write_text("".join(json.dumps(s) + "\n" for s in two), encoding="utf-8")
    both = [from_frame(pd.read_csv("labels.csv", sep=";"), "one"), from_frame(pd.DataFrame(two), "other")]
    assert as_one(both, ["one", "other"]).frame["gpt-4o clarity"].notna().all()
    for one in two:
        one["prompt"] = one["model"]
    with pytest.raises(DataError, match="told apart by model or prompt; leave all but one column out"):
        as_one([both[0], from_frame(pd.DataFrame(two), "other")], ["one", "other"])
