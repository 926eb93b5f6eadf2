"""``data import``: collections from the command line, and the study of the bundled one."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import click
import pandas as pd
import pytest

import metaeval as me
from metaeval.cli import main
from metaeval.cli.options import _SAMPLING
from metaeval.kinds.reading import read_study
from metaeval.kinds.slates.data.loading import load
from metaeval.kinds.slates.data.sampling import Sampling
from tests.conftest import ROOT


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "human.qrels").write_text("u1 0 a 2\nu1 0 b 0\n")
    for name in "xyz":
        (tmp_path / f"{name}.qrels").write_text("u1 0 a 1\nu1 0 b 0\n")
        (tmp_path / f"{name}.run").write_text(f"u1 Q0 a 1 1 {name}\n")
    return tmp_path


def test_an_option_takes_several_values_or_is_given_again(files: Path, capsys) -> None:
    spread = [
        "--qrels",
        "human=human.qrels",
        "x.qrels",
        "y.qrels",
        "--runs",
        "x.run",
        "y.run",
        "--relevant",
        "2",
    ]
    again = ["--qrels=human=human.qrels", "--qrels", "x.qrels", "--qrels", "y.qrels", "--runs", "x.run"]
    again += ["--runs", "y.run", "--relevant", "2", "--label", "0=no", "2=very much = yes"]
    assert main(["data", "import", "collection", *spread, "--out", "one"]) == 0
    assert "3 raters" in capsys.readouterr().out
    assert main(["data", "import", "collection", *again, "--out", "two", "--name", "one"]) == 0
    one, two = me.load("one"), me.load("two")
    assert one.ratings.equals(two.ratings)
    assert one.runs.equals(two.runs)
    assert (one.relevant, two.labels) == (2, {0: "no", 2: "very much = yes"})


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--qrels", "nowhere"], "no file fits 'nowhere'"),
        (["--qrels", "human=human.qrels", "--scale", "3:0"], "'3:0' is not two rising numbers"),
        (["--qrels", "human=human.qrels", "--label", "no=0"], "'no=0' is not a label and its name"),
        (["--qrels", "human=human.qrels", "--label", "9=no"], "labels: 9 is not on the scale"),
        (["--qrels", "human=human.qrels", "--relevant", "9"], "relevant: 9 is not on the scale"),
        (["--qrels", "human=human.qrels", "--runs", "no.run"], "there is no run file 'no.run'"),
        (["--qrels", "human=human.qrels", "--items", "x.run"], "'x.run' has an unknown suffix"),
    ],
)
def test_what_is_wrong_is_one_sentence(files: Path, words: list[str], says: str, capsys) -> None:
    assert main(["data", "import", "collection", *words, "--out", "new"]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (files / "new").exists()


def test_check_finds_the_kind_of_a_data_set(files: Path, capsys) -> None:
    assert main(["data", "import", "collection", "--qrels", "human.qrels", "--out", "new", "--json"]) == 0
    assert main(["data", "check", "new", "--json"]) == 0
    made, found = map(json.loads, capsys.readouterr().out.splitlines())
    assert made == {**found, "notes": made["notes"]}
    assert found["counts"]["units"] == 2
    assert found["counts"]["ranked_items"] == 0
    text = (files / "new" / "dataset.yaml").read_text()
    (files / "new" / "dataset.yaml").write_text(text.replace("kind: relevance", "kind: relevanse"))
    assert main(["data", "check", "new"]) == 2
    assert "kind: 'relevanse' is not allowed; did you mean 'relevance'?" in capsys.readouterr().err
    (files / "new" / "dataset.yaml").write_text(text.replace("max: 2", "max: 1"))
    assert main(["data", "check", "new"]) == 1
    assert "row 2, column 'label': the label 2 is not on the scale" in capsys.readouterr().out


def test_coat_and_movielens(real_data: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "coat"
    assert main(["data", "import", "coat", str(real_data / "coat"), "--out", str(out)]) == 0
    assert "290 users" in capsys.readouterr().out
    words = ["movielens", str(real_data / "movielens"), "--split", "time", "--newest", "0.01"]
    words += ["--users", "20"]
    assert main(["data", "import", *words, "--out", str(tmp_path / "ml")]) == 0
    assert "labels: all since 2016-" in capsys.readouterr().out


@pytest.mark.slow
def test_the_study_of_the_bundled_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = read_study(ROOT / "studies" / "relevance.yaml").model_dump(exclude_unset=True)
    folder = me.run({**study, "bootstrap": {"resamples": 50}, "details": False}, tmp_path / "out").folder
    found = pd.read_csv(folder / "system_agreement.csv").set_index(["evaluator", "measure"])["tau"]
    ndcg = found.xs("nDCG@10", level="measure")
    assert ndcg["oracle"] > 0.95
    assert ndcg["oracle"] > ndcg["judge"] > 0.6 > ndcg["popular"]
    assert me.load("data/relevance").simulated


def test_movielens_as_duels(real_data: Path, tmp_path: Path, capsys) -> None:
    begun = ["data", "import", "movielens", str(real_data / "movielens"), "--out", str(tmp_path / "ml")]
    duels = [*begun, "--kind", "slates", "--tasks", "T1", "T3", "--users", "5", "--history", "0", "--equal"]
    assert main(duels) == 0
    assert "5 users drawn of 671 with 5 candidates" in capsys.readouterr().out
    sampling = load(tmp_path / "ml").extra["sampling"]
    assert (sampling["tasks"], sampling["history"], sampling["equal"]) == (["T1", "T3"], 0, True)
    for words, said in (
        (["--kind", "slates", "--newest", "0.1"], "--newest does not apply to --kind slates"),
        (["--history", "0"], "--history does not apply to --kind relevance"),
        (["--kind", "slates", "--size", "1"], "sampling size is 1; give a whole number from 2"),
        (["--kind", "slates"], "replace it with --force"),
    ):
        assert main([*begun, *words]) == 2
        assert said in capsys.readouterr().err


def test_the_help_says_the_defaults_of_sampling() -> None:
    command = click.Command("x")
    for option in _SAMPLING:
        option(command)
    told = {p.name: p.help for p in command.params}
    assert set(told) == set(Sampling.model_fields)
    for name, field in Sampling.model_fields.items():
        said = re.search(r"\[default: (.*)\]", told[name])
        if said and said[1] not in {"all", "TF-IDF"}:
            assert said[1] == str(field.default)
        elif not said:
            assert not field.default


def test_public_sets_as_duels(tmp_path: Path, capsys) -> None:
    (tmp_path / "r.jsonl").write_text('{"rating": 5.0}\n')
    for words, said in (
        (["amazon", "r.jsonl"], "r.jsonl, row 1, column 'user_id': is missing"),
        (["amazon", "."], "'.' cannot be read: Is a directory"),
        (["mind", "."], "news.tsv: cannot be read: No such file or directory"),
        (["playlists", "."], "there is no file mpd.slice.*.json in '.'"),
    ):
        with contextlib.chdir(tmp_path):
            assert main(["data", "import", *words, "--size", "3", "--out", "out"]) == 2
        assert said in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


def test_a_map_of_another_kind(tmp_path: Path, capsys) -> None:
    (tmp_path / "map.yaml").write_text("kind: slate\nname: x\n")
    assert (
        main(["data", "import", "table", "x.csv", "--map", str(tmp_path / "map.yaml"), "--out", "out"]) == 2
    )
    assert "no map is of kind 'slate'; did you mean 'slates'" in capsys.readouterr().err


def test_the_import_of_a_table_says_as_json_what_is_not_in_its_map(files: Path, capsys) -> None:
    Path("t.csv").write_text("id,text,fun,note\n1,one,2,x\n")
    Path("m.yaml").write_text(
        "name: m\naspects: [fun]\nscale: {min: 1, max: 5}\nratings: [{columns: fun, rater: a, aspect: fun}]\n"
        "units: {item_id: id, generator: {constant: g}, explanation: text}\n"
    )
    words = ["data", "import", "table", "t.csv", "--map", "m.yaml", "--out", "new"]
    assert main([*words, "--json"]) == 0
    assert main([*words, "--force", "--quiet"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["name"], made["counts"]["units"], made["unmapped"]) == ("m", 1, ["note"])
