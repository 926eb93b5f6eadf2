"""``metaeval init``: five tables as people have them, each to a report; and what it refuses."""

from __future__ import annotations

import csv
import json
import os
import pty
import random
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import openpyxl
import pytest

import metaeval as me
from metaeval.base.records import Scale
from metaeval.cli import main
from metaeval.kinds.explanations.data.tables.importer import import_table
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

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
            rows.writerow([u, i, s, text, f"Sehr schön, Nr. {i}", *given, 3, f"0,{n}7", 20 + int(u[1])])


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


@pytest.mark.parametrize("name", FIVE)
def test_from_a_table_to_a_report(here: Path, name: str, capsys) -> None:
    make, aspects, raters, tools = FIVE[name]
    make(here / name)
    assert main(["init", name, "--yes"]) == 0
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
        assert f"Annotator('{rater}')" in board
    for tool in tools:
        assert f"Recorded('{tool}')" in board


def test_words_become_numbers_on_scales_of_their_own(here: Path, capsys) -> None:
    form(here / "form.csv")
    main(["init", "form.csv", "--yes"])
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


def test_each_user_may_rate_under_a_name_of_their_own(here: Path) -> None:
    rows = [f"P{u},i{i},A,Trust,{who},{i}/7" for u in (1, 2) for i in (1, 4) for who in (f"P{u}", "anna")]
    table = ["Participant , Movie ,System,Question,Rater,Answer", *rows, ",,,,,", ",,,,,"]
    (here / "t.csv").write_text("\n".join(table), encoding="utf-8")
    assert main(["init", "t.csv", "--yes"]) == 0
    data = me.load(here / "t" / "data")
    assert (set(data.raters), data.scale, len(data)) == ({"user", "anna"}, Scale(1, 7), 4)


def test_own_ratings_beside_a_list_of_annotations(here: Path, capsys) -> None:
    trees = [
        {
            "user": f"u{i}",
            "item": {"asin": f"i{i}"},
            "model": "A",
            "text": f"<b>long</b> &amp; good {i}",
            "own": {"fun": i},
            "notes": [{"annotator": a, "fun": 3} for a in ("a1", "a2")],
        }
        for i in (1, 2, 5)
    ]
    (here / "t.json").write_text(json.dumps(trees), encoding="utf-8")
    assert main(["init", "t.json", "--yes"]) == 0
    told = capsys.readouterr().out
    assert "Which rater is the person" not in told
    assert "'text' holds HTML" in told
    data = me.load(here / "t" / "data")
    assert (len(data), set(data.raters)) == (3, {"user", "a1", "a2"})


def test_it_says_that_columns_may_be_about_several_texts_and_quotes_the_command(here: Path, capsys) -> None:
    table = "Response ID,Film 1 - The text is convincing.,Film 2 - The text is convincing.\nR1,4,3\nR2,2,1\n"
    (here / "my form.csv").write_text(table, encoding="utf-8")
    assert main(["init", "my form.csv", "--yes"]) == 0
    told = capsys.readouterr().out
    assert "Note: Several columns ask of persuasiveness" in told
    assert "Next: metaeval run 'my form/study.yaml'" in told


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


def test_ratings_that_name_no_aspect_and_lists_of_ratings(here: Path) -> None:
    rows = "item,model,Annotator 1,Annotator 2,GPT-4\ni1,A,4,5,3\ni2,A,2,1,1\n"
    (here / "plain.csv").write_text(rows, encoding="utf-8")
    assert main(["init", "plain.csv", "--yes"]) == 0
    data = me.load(here / "plain" / "data")
    assert (data.raters, set(data.aspects)) == (("Annotator 1", "Annotator 2"), {"overall"})
    assert "truth: \"Mean(Annotator('Annotator 1'), Annotator('Annotator 2'))\"" in (
        (here / "plain" / "study.yaml").read_text(encoding="utf-8")
    )
    lists = [{"item": i, "model": "A", "marks": {"fun": [1, 2 + i], "trust": [3, 4]}} for i in range(3)]
    (here / "lists.json").write_text(json.dumps(lists), encoding="utf-8")
    assert main(["init", "lists.json", "--yes"]) == 0
    data = me.load(here / "lists" / "data")
    assert (data.raters, set(data.aspects)) == (("rater 0", "rater 1"), {"fun", "trust"})


def test_it_asks_on_a_terminal_and_takes_other_answers(here: Path) -> None:
    long(here / "long.csv")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "metaeval", "init", "long.csv"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, env=environment)
    os.write(ours, b"none\nhanna\nanna\n7\n1-7\n")
    told = process.communicate(timeout=120)[0].decode()
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0, told
    assert "Which raters are models or tools? (anna, gpt-4, participant) [gpt-4]" in told
    assert "Error: there is no rater 'hanna'; there are anna, gpt-4, participant" in told
    assert "Error: '7' is no scale; give its ends, such as 1 to 5" in told
    data = me.load(here / "long" / "data")
    assert set(data.raters) == {"user", "gpt-4", "participant"}
    assert data.scale == Scale(1, 7)


@pytest.mark.parametrize(
    ("rows", "arguments", "said"),
    [
        ("a,b\n1,2\n", [], "there is no terminal to ask questions on; accept the proposals with --yes"),
        ("a,b\nx,y\n", ["--yes"], "no column of t.csv looks like people's ratings (a, b); name them"),
        ("query,doc,relevance\nq,d,x\n", ["--yes"], "looks like data of `kind: relevance`"),
        ("first,second,winner\na,b,a\n", ["--yes"], "looks like data of `kind: slates`"),
        ("trust\n4\n", ["--yes", "--column", "trst=rating"], "the table has no column 'trst'; it has trust"),
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
    assert error.count("\n") == 1
    assert sorted(p.name for p in here.rglob("*")) == before


def test_a_saved_folder_is_left_alone_and_a_data_set_is_known(here: Path, capsys) -> None:
    import datasets

    datasets.disable_progress_bars()
    rows = [{"item": i, "model": "A", "text": f"text {i}", "fun": i % 5 + 1} for i in range(6)]
    datasets.Dataset.from_list(rows).save_to_disk(str(here / "saved"))
    before = {p.name for p in (here / "saved").iterdir()}
    assert main(["init", "saved", "--yes"]) == 0
    assert {p.name for p in (here / "saved").iterdir()} == before
    assert me.load(here / "saved-study" / "data").aspects == {"fun": "fun"}
    capsys.readouterr()
    assert main(["init", "saved-study/data", "--yes"]) == 2
    assert "saved-study/data is a data set already" in capsys.readouterr().err
    assert main(["init", "saved-study", "--yes"]) == 2
    assert "saved-study/data is a data set already" in capsys.readouterr().err


def test_force_replaces_what_it_wrote_and_keeps_the_rest(here: Path) -> None:
    wide(here / "wide.csv")
    assert main(["init", "wide.csv", "--yes"]) == 0
    (here / "wide" / "notes.txt").write_text("mine")
    (here / "wide" / "map.yaml").write_text("broken: [")
    assert main(["init", "wide.csv", "--yes"]) == 2
    assert main(["init", "wide.csv", "--yes", "--force"]) == 0
    assert (here / "wide" / "notes.txt").read_text() == "mine"
    assert (here / "wide" / "map.yaml").read_text(encoding="utf-8").startswith("# Which column")
