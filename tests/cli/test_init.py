"""``metaeval init``: five tables as people have them, each to a report; and what it refuses."""

from __future__ import annotations

import csv
import json
import os
import pty
import random
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import openpyxl
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.records import Scale
from metaeval.cli import main
from metaeval.kinds.explanations.data.tables.importer import import_table
from metaeval.study.plan import plan
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

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


def test_each_of_several_texts_in_a_row_becomes_a_row_and_the_command_is_quoted(here: Path, capsys) -> None:
    table = "Response ID,Film 1 - The text is convincing.,Film 2 - The text is convincing.\nR1,4,3\nR2,2,\n"
    (here / "my form.csv").write_text(table, encoding="utf-8")
    assert main(["init", "my form.csv", "--yes"]) == 0
    told = capsys.readouterr().out
    assert "Columns repeat for 1, 2: Film {n} - The text is convincing.. What does {n} stand for?" in told
    assert "Note: No column holds the texts" in told
    assert "Next: metaeval run 'my form/study.yaml'" in told
    ratings = me.load("my form/data").ratings
    assert ratings[["user_id", "item_id", "aspect", "rating"]].to_numpy().tolist() == [
        ["R1", "1", "persuasiveness", 4],
        ["R1", "2", "persuasiveness", 3],
        ["R2", "1", "persuasiveness", 2],
    ]


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
    assert main(["init", "t.csv", "--yes"]) == 0
    assert roles in " ".join(capsys.readouterr().out.split())
    data = me.load("t/data")
    assert len(data) == 12
    assert sorted(data.ratings["rating"]) == sorted(int(row[at]) for row in rows for at in rated)
    again = import_table(here / "t.csv", here / "t" / "map.yaml", here / "again")
    assert again.data.fingerprint == data.fingerprint
    assert main(["init", "t.csv", "--yes", "--out", "kept", "--column", f"{columns[rated[0]]}=rating"]) == 0
    assert len(me.load("kept/data")) == 6  # whoever says what one of the columns is wants them as they are


def test_raters_and_aspects_of_any_language_cross_in_columns_that_repeat(here: Path) -> None:
    raters = ["client", "Zoé", "modèle"]
    rated = [f"{a} ({r}) - {s}" for a in ("Vivacité", "Humour") for s in "AB" for r in raters]
    table = [["N°", "Client", "Vin proposé", "Explication système A", "Explication système B", *rated]]
    for i in range(12):
        texts = [f"{s} {i} est un texte assez long pour l'être" for s in "AB"]
        table.append(
            [i, f"P{i // 3}", f"vin {i % 3}", *texts, *((i + at) % 5 + 1 for at in range(len(rated)))]
        )
    with (here / "vins.csv").open("w", encoding="cp1252", newline="") as file:
        csv.writer(file, delimiter=";").writerows(table)
    assert main(["init", "vins.csv", "--yes"]) == 0
    data = me.load("vins/data")
    assert (set(data.raters), set(data.aspects)) == ({"user", "Zoé"}, {"Vivacité", "Humour"})
    assert set(data.scores["evaluator"]) == {"modèle"}
    units = data.explanations[["user_id", "item_id", "generator"]].drop_duplicates()
    assert (len(units), set(units["generator"])) == (24, {"A", "B"})


def test_a_film_that_a_person_saw_twice_is_two_items(here: Path, capsys) -> None:
    rows = [f"u{i},same,{TEXT} {i},4,same,{TEXT} too,2" for i in range(3)]
    head = "pid,Q1_film,Q1_text,Q1_trust,Q2_film,Q2_text,Q2_trust"
    (here / "t.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    assert main(["init", "t.csv", "--yes"]) == 0
    assert "such as row 2: each {n} is an item of its own" in capsys.readouterr().out
    assert len(me.load("t/data")) == 6


def test_raters_of_some_units_each_are_averaged_where_they_are_there(here: Path, capsys) -> None:
    by = [(i, rater) for i in range(30) for rater in (i % 3, (i + 1) % 3)]
    rows = [f"i{i},A,long enough for a text {i},r{rater},{(i + rater) % 5 + 1}" for i, rater in by]
    (here / "crowd.csv").write_text("\n".join(["item,system,text,rater,trust", *rows]), encoding="utf-8")
    assert main(["init", "crowd.csv", "--yes"]) == 0
    assert "skip_missing=True" in (here / "crowd" / "study.yaml").read_text(encoding="utf-8")
    assert "truth: \"Mean(Annotator('r0'), Annotator('r1')" in capsys.readouterr().out
    (here / "odd.csv").write_text("\n".join(["item,system,text,Xyz,trust", *rows]), encoding="utf-8")
    main(["init", "odd.csv", "--yes"])
    told = "Note: 1 column not used; is 'Xyz', with 3 names, the rater? --column 'Xyz=rater'"
    assert told in capsys.readouterr().out
    assert main(["run", "crowd/study.yaml"]) == 0
    assert set(pd.read_csv(here / "results" / "crowd" / "correlations.csv")["n_units"]) == {30}


def test_answers_that_fall_are_turned_around(here: Path) -> None:
    useful = ["Very useful", "Not at all useful"]
    rows = [f"{i},2026-05-01,4,en,9,f{i},A,A{i % 5 + 1},{useful[i % 2]}" for i in range(10)]
    head = "id,submitdate,lastpage,startlanguage,seed,film,system,trust[SQ001],How useful is it?"
    (here / "t.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    told = typed(here, ["init", "t.csv"], "\n\nsideways\nreversed\n\n")
    assert "The answers: A1 = 1, A2 = 2, A3 = 3, A4 = 4, A5 = 5. Right? (yes, or reversed) [yes]" in told
    assert "Error: it cannot be 'sideways'" in told
    data = me.load("t/data")
    assert data.ratings[data.ratings["aspect"] == "trust"]["rating"].tolist() == [5, 4, 3, 2, 1] * 2
    assert set(data.ratings[data.ratings["aspect"] == "usefulness"]["rating"]) == {1, 4}


def test_sliders_are_ratings_and_a_word_count_is_not(here: Path) -> None:
    rows = [f"u{i % 3},i{i},A,{i * 3},{90 - i},{i * 2},{i * 7 % 60}" for i in range(30)]
    head = "user,item,system,trust,clear,gpt_trust,word count"
    (here / "t.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    assert main(["init", "t.csv", "--yes"]) == 0
    data = me.load("t/data")
    assert (set(data.aspects), data.scale) == ({"trust", "clear"}, Scale(0, 100))
    assert set(data.scores["evaluator"]) == {"gpt"}


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


def typed(here: Path, arguments: list[str], answers: str, code: int = 0) -> str:
    """Return what a command says to whoever types these answers on a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "metaeval", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=here, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as process:
        os.write(ours, answers.encode())
        told = process.communicate(timeout=120)[0].decode()
    os.close(ours)
    os.close(theirs)
    assert process.returncode == code, told
    return told


def test_whoever_stops_in_the_middle_leaves_nothing(here: Path) -> None:
    long(here / "long.csv")
    assert "interrupted; nothing half-written is left" in typed(here, ["init", "long.csv"], "\nnone\n\x04", 3)
    assert [p.name for p in here.iterdir()] == ["long.csv"]


def test_a_question_names_some_of_many_raters(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"u{k % 6},i{k % 6},text {k % 6},w{k // 6},{1 + k % 5}" for k in range(72)]
    (here / "t.csv").write_text("\n".join(["user_id,item_id,text,rater,rating", *rows]), encoding="utf-8")
    assert main(["init", "t.csv", "--yes"]) == 0
    assert "(w0, w1, w10, w11, w2, w3, w4, w5, w6, … (12 in all; ? lists them), or" in capsys.readouterr().out


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
        ("a,b\nx,y\n", ["--yes"], "no column of t.csv looks like people's ratings (a, b); name them"),
        ("query,doc,relevance\nq,d,x\n", ["--yes"], "looks like data of `kind: relevance`"),
        ("first,second,winner\na,b,a\n", ["--yes"], "looks like data of `kind: slates`"),
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
    assert error.count("\n") == 1
    assert sorted(p.name for p in here.rglob("*")) == before


def test_a_word_among_numbers_is_no_answer(here: Path, capsys) -> None:
    odd = {3: "n/d", 5: "vu", 9: "n/d", 11: "vu"}
    rows = [f"u{i},i{i},A,{odd.get(i, i % 5 + 1)},{i % 4 + 1}" for i in range(60)]
    (here / "t.csv").write_text("\n".join(["user,item,system,trust,fun", *rows]), encoding="utf-8")
    assert main(["init", "t.csv", "--yes"]) == 0
    assert "Note: 'vu' among numbers is taken for no answer" in capsys.readouterr().out
    assert me.load("t/data").ratings["rating"].isna().sum() == 4


def test_a_map_that_cannot_be_used_is_left_to_be_changed(here: Path, capsys) -> None:
    (here / "u.csv").write_text("user,item,fun\na,x,4\nb,y,4 or 5\n", encoding="utf-8")
    assert main(["init", "u.csv", "--yes", "--column", "fun=rating"]) == 2
    told = capsys.readouterr().err
    assert "row 3, column 'fun': is '4 or 5'" in told
    assert "or change u/map.yaml, which says how to import it" in told
    (here / "u.csv").write_text("user,item,fun\na,x,4\nb,y,4\n", encoding="utf-8")
    first = (here / "u" / "map.yaml").read_text(encoding="utf-8").splitlines()[1]
    assert main(shlex.split(first.removeprefix("#   metaeval"))) == 0


def test_a_saved_folder_is_left_alone_and_a_study_is_known(here: Path, capsys) -> None:
    import datasets

    datasets.disable_progress_bars()
    rows = [{"item": i, "model": "A", "text": f"text {i}", "fun": i % 5 + 1} for i in range(6)]
    datasets.Dataset.from_list(rows).save_to_disk(str(here / "saved"))
    before = {p.name for p in (here / "saved").iterdir()}
    assert main(["init", "saved", "--yes"]) == 0
    assert {p.name for p in (here / "saved").iterdir()} == before
    assert me.load(here / "saved-study" / "data").aspects == {"fun": "fun"}
    capsys.readouterr()
    assert main(["init", "saved-study", "--yes"]) == 2
    said = "saved-study holds a study already: metaeval run saved-study/study.yaml"
    assert said in capsys.readouterr().err


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


def test_of_a_folder_that_is_no_data_set_a_table_is_named(here: Path, capsys) -> None:
    for name in ("b.csv", "a.csv"):
        (here / name).write_text(f"item,{name}\n1,2\n", encoding="utf-8")
    assert main(["init", ".", "--yes"]) == 2
    assert "the folder '.' could not be loaded: " in (told := capsys.readouterr().err)
    assert told.endswith("; name a table in it, such as 'a.csv'\n")


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
