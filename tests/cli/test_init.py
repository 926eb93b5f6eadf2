"""``metaeval init``: five tables as people have them, each to a report; and what it refuses."""

from __future__ import annotations

import csv
import datetime as dt
import json
import os
import pty
import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.records import Scale
from metaeval.cli import main
from metaeval.kinds.explanations.data.imports.table import import_table
from metaeval.study.plan import plan
from tests.conftest import ROOT

TEXT = "A text that is long enough to be one"
USERS, ITEMS, SYSTEMS = [f"u{i}" for i in range(4)], ["007", "8"], ["A", "B"]
DRAW = random.Random(0)  # noqa: S311 - no secret


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def marks(n: int) -> list[int]:
    """Return ratings of one text that all lie near each other."""
    centre = DRAW.randint(2, 4)
    return [centre + DRAW.randint(-1, 1) for _ in range(n)]


def units() -> list[tuple[str, str, str, str]]:
    return [(u, i, s, f'Für dich; "genau" {u} {i} {s}, ja') for u in USERS for i in ITEMS for s in SYSTEMS]


def wide(path: Path) -> None:
    """Semicolons, decimal commas, Latin letters, gaps; two annotators, the user, a model and a metric."""
    people = ["user", "annotator1", "annotator2"]
    head = [f"{a}_{p}" for p in people for a in ("persuasiveness", "trust")]
    with path.open("w", encoding="cp1252", newline="") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(["user", "item", "system", "explanation", "review", *head, "gpt4_trust", "bleu", "age"])
        for n, (u, i, s, text) in enumerate(units()):
            given = [*marks(6)[:5], "n/a" if n == 3 else 4]
            rows.writerow(
                [u, i, s, text, f"Sehr schön, Nr. {i}", *given, 3 + n % 2, f"0,{n}7", 20 + int(u[1])]
            )


def long(path: Path) -> None:
    """A rating in each row; a model is among the raters, and the user is called a participant."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["participant_id", "movie", "model", "text", "rater", "aspect", "rating"])
        for u, i, s, text in units():
            for who, a in [(w, a) for w in ("participant", "anna", "gpt-4") for a in ("trust", "clarity")]:
                rows.writerow([u, i, s, text, who, a, marks(1)[0]])


def nested(path: Path) -> None:
    """Texts within items, lists of ratings within texts; one list is empty."""
    tree = [
        {
            "user": {"id": u, "age": 20},
            "movie": {"id": i, "title": f"Film {i}"},
            "explanations": [
                {
                    "model": s,
                    "text": f"因为 {u} {i} {s}",
                    "ratings": []
                    if (u, i, s) == ("u0", "8", "B")
                    else [{"rater": w, "trust": marks(1)[0], "fun": marks(1)[0]} for w in ("user", "anna")],
                }
                for s in SYSTEMS
            ],
        }
        for u in USERS
        for i in ITEMS
    ]
    path.write_text(json.dumps({"version": 1, "data": tree}), encoding="utf-8")


def workbook(path: Path) -> None:
    """A header of two rows, the aspect above the rater, and a user's cell merged over its rows."""
    book = openpyxl.Workbook()
    sheet = book.active
    raters = ["user", "anna", "gpt-4"]
    sheet.append(["user", "item", "system", "explanation", "Trust", None, None, "Fun", None, None])
    sheet.append([None] * 4 + raters * 2)
    for n, (u, i, s, text) in enumerate(units()):
        sheet.append([u if n % 4 == 0 else None, i, s, text, *marks(5), None if n == 2 else 3])
    for span in [
        "A1:A2",
        "B1:B2",
        "C1:C2",
        "D1:D2",
        "E1:G1",
        "H1:J1",
        "A3:A6",
        "A7:A10",
        "A11:A14",
        "A15:A18",
    ]:
        sheet.merge_cells(span)
    book.create_sheet("Notes").append(["written by me"])
    book.save(path)


QUESTIONS = [
    "Timestamp",
    "Email Address",
    "Which film were you shown?",
    "Which version of the system did you see?",
    "Please copy the explanation that you were shown.",
    "I trust this recommendation.",
    "How much do you agree? [The explanation is easy to understand]",
    "Would you watch it, after all that you have read here?",
    "Any comments?",
]


def form(path: Path) -> None:
    """Questions as headers, labels as answers; numbers in some, words in others, and no answer."""
    numbered = ["1 - Strongly disagree", "2 - Disagree", "3 - Neutral", "4 - Agree", "5 - Strongly agree"]
    words = ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "I don't know"]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(QUESTIONS)
        for n in range(24):
            seen = [f"Film {n % 3}", "AB"[n // 3 % 2], f"You liked film {n}, so this one is for you"]
            given = [DRAW.choice(numbered), words[n % 5], DRAW.choice(["Yes", "No"]), "nice,\nreally"]
            rows.writerow([f"2026/05/01 10:{n}:00", f"p{n // 6}@example.org", *seen, *given])


FIVE = {
    "wide.csv": (wide, {"persuasiveness", "trust"}, {"user", "annotator1", "annotator2"}, {"gpt4", "bleu"}),
    "long.csv": (long, {"trust", "clarity"}, {"user", "anna"}, {"gpt-4"}),
    "nested.json": (nested, {"trust", "fun"}, {"user", "anna"}, set()),
    "merged.xlsx": (workbook, {"Trust", "Fun"}, {"user", "anna"}, {"gpt-4"}),
    "form.csv": (form, {"trust", "clarity", "Would you watch it"}, {"user"}, set()),
}
WATCH = "--column=Would you watch it*=rating"
SAID = {
    "form.csv": [WATCH],
    "long.csv": ["--column=anna=rating"],
    "merged.xlsx": ["--column=* anna=rating"],
}
"""What the tables do not say."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FIVE)
def test_from_a_table_to_a_report(here: Path, name: str, capsys) -> None:
    make, aspects, raters, tools = FIVE[name]
    make(here / name)
    assert main(["init", name, "--yes", *SAID.get(name, ())]) == 0
    told = capsys.readouterr().out
    stem = name.partition(".")[0]
    assert f"Next: metaeval run {stem}/study.yaml" in told
    data = me.load(here / stem / "data")
    assert set(data.aspects) == aspects
    assert set(data.raters) == raters
    assert (set() if data.scores is None else set(data.scores["evaluator"])) == tools
    assert len(data) == (24 if make is form else 16)
    again = import_table(here / name, here / stem / "map.yaml", here / "again")
    assert again.data.fingerprint == data.fingerprint  # the map alone makes the same data
    assert main(["run", f"{stem}/study.yaml"]) == 0
    assert (here / "results" / stem / "report.html").stat().st_size > 10_000
    board = (here / "results" / stem / "leaderboard.md").read_text(encoding="utf-8")
    for rater in raters - {"user"}:
        assert f"| Annotator {rater} " in board
    for tool in tools:
        assert f"| {tool} " in board


def test_words_become_numbers_on_scales_of_their_own(here: Path, capsys) -> None:
    form(here / "form.csv")
    main(["init", "form.csv", "--yes", WATCH])
    data = me.load(here / "form" / "data")
    assert data.scale.of("trust") == Scale(1, 5)
    assert data.scale.of("Would you watch it") == Scale(0, 1)
    clarity = data.ratings[data.ratings["aspect"] == "clarity"]["rating"]
    assert clarity.tolist()[:4] == [1, 2, 3, 4]
    assert clarity.isna().sum() == 4  # those who do not know
    assert data.aspects["trust"] == "I trust this recommendation."
    assert "holds e-mail addresses" in capsys.readouterr().out


def test_a_table_without_ids_has_an_item_per_row(here: Path, capsys) -> None:
    rows = (
        "text,clarity,clarity_gpt4\nA long enough text to be one,4,3\nAnother text that is long enough,2,1\n"
    )
    (here / "t.csv").write_text(rows, encoding="utf-8")
    assert main(["init", "t.csv", "--yes", "--column", "clarity=rating", "--out", "mine"]) == 0
    assert "each row is an item of its own" in capsys.readouterr().out
    data = me.load(here / "mine" / "data")
    assert data.keys == ("item_id", "generator")
    assert set(data.scores["evaluator"]) == {"gpt4"}


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        ("pid,text_1,trust_1,text_2,trust_2", "item_id n explanation"),
        ("pid,Q1_film,Q1_text,Q1_trust,Q2_film,Q2_text,Q2_trust", "item_id Q{n}_film explanation"),
        ("pid,film,How good is it? [Text A],How good is it? [Text B]", "generator n ratings"),
    ],
)
def test_texts_side_by_side(here: Path, header: str, roles: str, capsys) -> None:
    columns = header.split(",")
    rows = [[f"{c} of {i}, which is long enough" for c in columns] for i in range(6)]
    for i, row in enumerate(rows):
        row[0] = f"u{i}"
        rated = [at for at, c in enumerate(columns) if "trust" in c or "good" in c]
        for at in rated:
            row[at] = str((i + at) % 5 + 1)
    with (here / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    assert main(["init", "t.csv", "--yes"]) == 2
    lines = shlex.split(capsys.readouterr().err.rpartition("all of it: ")[2])
    assert main(["init", "t.csv", "--yes", *lines]) == 0
    assert roles in " ".join(capsys.readouterr().out.split())
    data = me.load("t/data")
    assert len(data) == 12
    assert sorted(data.ratings["rating"]) == sorted(int(row[at]) for row in rows for at in rated)
    again = import_table(here / "t.csv", here / "t" / "map.yaml", here / "again")
    assert again.data.fingerprint == data.fingerprint
    roles = [
        f"--column={columns[rated[0]]}=rating",
        *(f"--column={c}=ignore" for c in columns if "2" in c or "Text B" in c),
    ]
    roles += [f"--column={c}=explanation" for c in columns if c in {"Q1_text", "text_1"}]
    roles += [f"--column={c}=item_id" for c in columns if c == "Q1_film"]
    assert main(["init", "t.csv", "--yes", "--out", "kept", *roles]) == 0
    assert len(me.load("kept/data")) == 6  # whoever says what one of the columns is wants them as they are


def test_a_column_that_only_begins_like_those_that_repeat_makes_no_row(here: Path) -> None:
    rows = [f"u{i},text {i} a,the web,{i % 5 + 1},text {i} b,{i % 3 + 1}" for i in range(6)]
    head = "pid,text_1,text_1_source,trust_1,text_2,trust_2"
    (here / "t.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    assert (
        main(["init", "t.csv", "--yes", "--column", "text_1_source=ignore", "--column=trust_{n}=rating"]) == 0
    )
    assert sorted(me.load("t/data").explanations["explanation"]) == [
        f"text {i} {place}" for i in range(6) for place in "ab"
    ]


def test_the_scale_is_that_of_people_not_of_tools(here: Path) -> None:
    rows = [f"u{i},i1,A,text {i},{who},fun,{n}" for i in range(3) for who, n in (("user", 5), ("gpt-4", 97))]
    head = "user,item,system,text,rater,aspect,rating"
    (here / "my table.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    assert main(["init", "my table.csv", "--yes"]) == 0
    data = me.load(here / "my table" / "data")
    assert data.scale == Scale(1, 5)
    assert set(data.scores["score"]) == {97}
    first = (here / "my table" / "map.yaml").read_text(encoding="utf-8").splitlines()[1]
    assert main(shlex.split(first.removeprefix("#   metaeval"))) == 0  # as the comment says


def test_a_system_that_wrote_nothing_keeps_its_ratings_in_a_run(here: Path, capsys) -> None:
    rows = [
        [
            f"u{u}",
            f"f{f}",
            s,
            "" if s == "A" and u < 2 else f"a film {u} {f}",
            f"a film {u}",
            str((u + f) % 5 + 1),
        ]
        for u in range(6)
        for f in range(2)
        for s in "AB"
    ]
    head = ["user", "item", "system", "text", "reference", "trust"]
    (here / "t.csv").write_text("\n".join(map(",".join, [head, *rows])), encoding="utf-8")
    assert main(["init", "t.csv", "--yes", "--column=trust=rating"]) == 0
    assert "24 units, 4 empty texts, 6 users" in capsys.readouterr().out
    empty = me.load("t/data").explanations["explanation"] == ""
    assert empty.sum() == 4
    judges = ["Judge('simulated/one')", "Judge('simulated/one', examples='shuffled')"]
    pairs = ["Pairwise('simulated/one')", "Pairwise('simulated/one', per='generator')"]
    zero = ["BLEU()", "ROUGE('1')", "ROUGE('2')", "ROUGE('L')", "ChrF()", "Length()"]
    lines = "".join(f"  - {json.dumps(spec)}\n" for spec in (*zero, *judges, *pairs))
    study = f'dataset: t/data\ntruth: "User()"\nlevels: [dataset, user]\nevaluators:\n{lines}'
    (here / "s.yaml").write_text(study, encoding="utf-8")
    assert main(["run", "s.yaml", "--out", "run"]) == 0
    assert (here / "run" / "report.html").is_file()
    found = pd.read_parquet("run/scores.parquet")
    of_empty = found.merge(me.load("t/data").units[empty])
    scores = of_empty[of_empty["evaluator"].isin(zero)]
    assert (len(scores), set(scores["score"]), set(scores["status"])) == (4 * len(zero), {0.0}, {"ok"})
    left_out = of_empty[of_empty["evaluator"].isin([*judges, *pairs])]
    assert left_out["score"].isna().all()
    assert set(left_out["status"]) <= {"missing", "example"}
    assert main(["details", "run"]) == main(["biases", "run"]) == main(["data", "show", "t/data"]) == 0


@pytest.mark.parametrize(
    "cell", ["5-Apr", "Apr-05", "4/5/2024", "05.04.2024", "2024-05-04 00:00:00", "04-mai", "45387", "45387.5"]
)
@pytest.mark.parametrize("name", ["rating", "trust"])
def test_a_rating_that_a_spreadsheet_made_a_date_is_named_with_its_row(
    here: Path, name: str, cell: str, capsys
) -> None:
    rows = [["user", "item", name], ["u1", "f", "4"], ["u2", "f", "2"], ["u3", "f", cell]]
    (here / "t.csv").write_text("\n".join(map(",".join, rows)), encoding="utf-8")
    assert main(["init", "t.csv", "--yes", f"--column={name}=rating"]) == 2
    said = f"t.csv, row 4, column '{name}': is '{cell}', a date, which spreadsheets make of such as 4/5"
    assert said in capsys.readouterr().err
    assert not (here / "t").exists()


def test_a_date_in_a_workbook_is_named_with_its_row(here: Path, capsys) -> None:
    book = openpyxl.Workbook()
    for row in (["user", "item", "rating"], ["u1", "f", 4], ["u2", "f", dt.datetime(2024, 4, 5)]):
        book.active.append(row)
    book.save(here / "t.xlsx")
    assert main(["init", "t.xlsx", "--yes"]) == 2
    assert "t.xlsx, row 3, column 'rating': is '2024-04-05 00:00:00', a date" in capsys.readouterr().err


def typed(here: Path, arguments: list[str], answers: str, code: int = 0) -> str:
    """Return what a command says to whoever types these answers on a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "metaeval", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=here, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as process:
        os.write(ours, answers.encode())
        told = process.communicate(timeout=240)[0].decode()
    os.close(ours)
    os.close(theirs)
    assert process.returncode == code, told
    return told


def test_whoever_stops_in_the_middle_leaves_nothing(here: Path) -> None:
    long(here / "long.csv")
    assert "interrupted; nothing half-written is left" in typed(here, ["init", "long.csv"], "\nnone\n\x04", 3)
    assert [p.name for p in here.iterdir()] == ["long.csv"]


@pytest.mark.slow
def test_it_asks_on_a_terminal_and_takes_other_answers(here: Path) -> None:
    long(here / "long.csv")
    answers = "textt=reference\ntext=reference\n\nanna, gpt-4, participant\nnone\nhanna\nANNA\n7\n1-7\n"
    told = typed(here, ["init", "long.csv"], answers)
    assert "Error: the table has no column 'textt'; did you mean 'text'?; it has participant_id" in told
    assert "Error: the ratings of people are the truth" in told
    assert "Which raters are models or tools? (anna, gpt-4, participant, or none) [gpt-4]" in told
    assert "Error: there is no rater 'hanna'; there are anna, gpt-4, participant" in told
    assert "Error: '7' is no scale; give its ends, such as 1 to 5" in told
    data = me.load(here / "long" / "data")
    assert set(data.raters) == {"user", "gpt-4", "participant"}
    assert "reference" in data.explanations
    assert "explanation" not in data.explanations
    assert data.scale == Scale(1, 7)


@pytest.mark.parametrize(
    ("rows", "arguments", "said"),
    [
        ("a,b\n1,2\n", [], "there is no terminal to ask questions on; accept the proposals with --yes"),
        ("user,item\nx,y\n", ["--yes"], "t.csv: no column looks like people's ratings (user, item); name"),
        (
            "query,doc\nq,d\n",
            ["--yes"],
            "all of it: --column query=ignore --column doc=ignore",
        ),
        (
            "trust\n4\n",
            ["--yes", "--column", "trst=rating"],
            "the table has no column 'trst'; did you mean 'trust'?; it has trust",
        ),
        ("trust\n4\n", ["--yes", "--column", "trust=stars"], "'trust=stars' is not a column and what it is"),
        ("trust\n4\n", ["--yes", "--out", "there"], "there holds 'mine' already; replace it with --force"),
        ("trust\n4\n", ["--yes", "--split", "x.y", "--out", "t.csv"], "t.csv is a file"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_nothing_is_written(
    here: Path, rows: str, arguments: list[str], said: str, capsys
) -> None:
    (here / "t.csv").write_text(rows, encoding="utf-8")
    (here / "there").mkdir()
    (here / "there" / "mine").touch()
    before = sorted(p.name for p in here.rglob("*"))
    assert main(["init", "t.csv", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == (3 if "all of it" in said else 1)
    assert sorted(p.name for p in here.rglob("*")) == before


@pytest.mark.parametrize(("last", "role"), [("y", "generator"), ("z", "ignore")])
def test_what_stands_once_for_every_unit_looks_like_who_wrote_it(
    here: Path, last: str, role: str, capsys
) -> None:
    (here / "t.csv").write_text(f"user,via,rating\nu,x,4\nu,y,3\nv,x,2\nv,{last},5\n", encoding="utf-8")
    assert main(["init", "t.csv", "--yes"]) == 2
    assert f", add --column via={role}\n" in capsys.readouterr().err


def test_a_map_that_cannot_be_used_is_left_to_be_changed(here: Path, capsys) -> None:
    (here / "u.csv").write_text("user,item,fun\na,x,4\nb,y,4 or 5\n", encoding="utf-8")
    assert main(["init", "u.csv", "--yes", "--column", "fun=rating"]) == 2
    told = capsys.readouterr().err
    assert "row 3, column 'fun': is '4 or 5'" in told
    assert "or change u/map.yaml, which says how to import it" in told
    (here / "u.csv").write_text("user,item,fun\na,x,4\nb,y,4\n", encoding="utf-8")
    first = (here / "u" / "map.yaml").read_text(encoding="utf-8").splitlines()[1]
    assert main(shlex.split(first.removeprefix("#   metaeval"))) == 0


def test_a_map_that_a_failed_call_left_is_no_obstacle(here: Path) -> None:
    (here / "u.csv").write_text("user,item,fun,note\na,x,4,1\nb,y,4 or 5,1\n", encoding="utf-8")
    assert main(["init", "u.csv", "--yes", "--column", "nte=ignore"]) == 2
    assert not (here / "u").exists()  # no map can be made
    assert main(["init", "u.csv", "--yes", "--column", "note=ignore", "--column", "fun=rating"]) == 2
    assert [p.name for p in (here / "u").iterdir()] == ["map.yaml"]
    (here / "u.csv").write_text("user,item,fun\na,x,4\nb,y,4\n", encoding="utf-8")
    assert main(["init", "u.csv", "--yes", "--column", "fun=rating"]) == 0
    assert "note" not in (here / "u" / "map.yaml").read_text(encoding="utf-8")


def test_a_study_is_not_called_data(here: Path) -> None:
    (here / "films").mkdir()
    rows = "".join(f"{i},text {i},{i % 5 + 1}\n" for i in range(6))
    (here / "films" / "data.csv").write_text(f"item,text,fun\n{rows}", encoding="utf-8")
    assert main(["init", "films/data.csv", "--yes", "--out", "study", "--column=fun=rating"]) == 0
    assert main(["init", "films/data.csv", "--yes", "--force", "--column=fun=rating"]) == 0
    assert "name: films " in (here / "films" / "study.yaml").read_text(encoding="utf-8")


def test_a_saved_folder_is_left_alone_and_a_study_is_known(here: Path, capsys) -> None:
    import datasets

    datasets.disable_progress_bars()
    rows = [{"item": i, "model": "A", "text": f"text {i}", "fun": i % 5 + 1} for i in range(6)]
    datasets.Dataset.from_list(rows).save_to_disk(str(here / "saved"))
    before = {p.name for p in (here / "saved").iterdir()}
    assert main(["init", "saved", "--yes", "--column=fun=rating"]) == 0
    assert {p.name for p in (here / "saved").iterdir()} == before
    assert me.load(here / "saved-study" / "data").aspects == {"fun": "fun"}
    capsys.readouterr()
    assert main(["init", "saved-study", "--yes"]) == 2
    said = "saved-study holds a study already: metaeval run saved-study/study.yaml"
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("saved", [False, True])
def test_a_data_set_gets_a_study_and_stays_where_it_is(
    here: Path, monkeypatch: pytest.MonkeyPatch, saved: bool
) -> None:
    import datasets

    datasets.disable_progress_bars()
    mine = here / "own"
    if saved:
        me.to_datasets(me.load("data/sample")).save_to_disk(str(mine))
    else:
        shutil.copytree(ROOT / "data" / "sample", mine)
    before = {p: p.stat().st_mtime_ns for p in mine.rglob("*") if p.is_file()}
    assert main(["init", "own", "--yes"]) == 0
    assert main(["init", "own", "--yes", "--out", "a/b"]) == 0
    assert {p: p.stat().st_mtime_ns for p in mine.rglob("*") if p.is_file()} == before
    monkeypatch.chdir(mine)
    assert main(["init", ".", "--yes"]) == 0
    assert main(["init", ".", "--yes"]) == 2  # it is there already
    for study in ("../own-study", "../a/b", "own-study"):
        assert plan(f"{study}/study.yaml").data.fingerprint == me.load(".").fingerprint


def test_the_study_takes_its_own_data_not_what_lies_in_a_folder_of_that_name(here: Path) -> None:
    shutil.copytree(ROOT / "data" / "sample", here / "data")
    wide(here / "wide.csv")
    assert main(["init", "wide.csv", "--yes"]) == 0
    assert plan("wide/study.yaml").data.name == "wide"


def test_a_data_set_of_another_kind_is_named(here: Path, capsys) -> None:
    shutil.copytree(ROOT / "data" / "relevance", here / "own")
    assert main(["init", "own", "--yes"]) == 2
    assert "own is a data set of `kind: relevance` already" in capsys.readouterr().err
    assert not (here / "own-study").exists()


def test_force_replaces_what_it_wrote_and_keeps_the_rest(here: Path) -> None:
    wide(here / "wide.csv")
    assert main(["init", "wide.csv", "--yes"]) == 0
    (here / "wide" / "notes.txt").write_text("mine")
    (here / "wide" / "map.yaml").write_text("broken: [")
    assert main(["init", "wide.csv", "--yes"]) == 2
    assert main(["init", "wide.csv", "--yes", "--force"]) == 0
    assert (here / "wide" / "notes.txt").read_text() == "mine"
    assert (here / "wide" / "map.yaml").read_text(encoding="utf-8").startswith("# Which column")


def test_force_does_not_replace_labels(here: Path, capsys) -> None:
    wide(here / "wide.csv")
    assert main(["init", "wide.csv", "--yes"]) == 0
    (here / "wide" / "data" / "verdicts.csv").write_text("by hand")
    before = {path: path.read_bytes() for path in here.rglob("*.*") if path.is_file()}
    capsys.readouterr()
    assert main(["init", "wide.csv", "--yes", "--force"]) == 2
    assert capsys.readouterr().err.endswith(
        "'verdicts.csv', with labels that people gave; give another folder\n"
    )
    assert {path: path.read_bytes() for path in here.rglob("*.*") if path.is_file()} == before


def test_a_folder_called_data_gives_the_study_the_name_of_the_one_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "data" / "sample", tmp_path / "films" / "data")
    monkeypatch.chdir(tmp_path)
    assert main(["init", "films/data", "--yes"]) == 0
    assert "name: films-study " in Path("films-study/study.yaml").read_text(encoding="utf-8")
