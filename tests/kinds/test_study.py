"""What a study file may say, and the sentence, with its line, for everything else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metaeval.base.errors import StudyError
from metaeval.cli import main
from metaeval.kinds.reading import make_study, read_study
from metaeval.study.plan import plan
from tests.tiny import write_study


def message(path: Path) -> str:
    with pytest.raises(StudyError) as caught:
        plan(path)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_defaults(tiny: Path) -> None:
    study = read_study(write_study(tiny.parent / "first.yaml"))
    assert study.name == "first"
    assert study.truth == "User()"
    assert study.missing.truth == study.missing.score == "drop"
    assert study.coefficients == ["pearson", "spearman", "kendall"]
    assert (study.undefined_groups, study.units) == ("skip", "common")
    assert study.bootstrap is not None
    assert (study.bootstrap.resamples, study.bootstrap.cluster) == (10_000, None)
    assert study.tests is not None
    assert study.tests.correction == "holm"


@pytest.mark.parametrize("name", ["demo", "recexp", "hanna"])
def test_the_studies_that_ship_can_be_read_in_any_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = read_study(f"studies/{name}.yaml")
    assert study.name == name
    assert study.coefficients == ["pearson", "spearman", "kendall"]
    (tmp_path / "studies").mkdir()
    write_study(tmp_path / "studies" / f"{name}.yaml", name="own")
    assert read_study(f"studies/{name}.yaml").name == "own"
    with pytest.raises(StudyError, match="there is no such file"):
        read_study(f"studies/../{name}.yaml")


@pytest.mark.parametrize(
    ("keys", "line", "says"),
    [
        ({"kind": "cake"}, 3, "kind: 'cake' is not allowed (allowed: explanations, people, relevance,"),
        (
            {"levels": "[dataset, usr]"},
            3,
            "unknown level 'usr'; did you mean 'user'? (allowed: dataset, user, pair",
        ),
        ({"levels": "\n  - dataset\n  - dataset"}, 3, "'dataset' is twice in levels"),
        ({"missing": "{truht: 3}"}, 3, "unknown key 'truht'; did you mean 'truth'?"),
        ({"missing": "3"}, 3, "missing must be a mapping from keys to values, not 3"),
        (
            {"judging": "{reply_seconds: 0}"},
            3,
            "judging.reply_seconds: 0: it must be greater than 0",
        ),
        (
            {"aspects": "[claer]"},
            3,
            "the data set has no aspect 'claer'; did you mean 'clear'? (it has: clear, fitting)",
        ),
        (
            {"exclude": "{generator: [shrt]}"},
            3,
            "the data set has no generator 'shrt'; did you mean 'short'?",
        ),
        ({"dataset": "tinny"}, 1, "there is no data set 'tinny'"),
        ({"dataset": "tiny/ratings.csv"}, 1, "dataset 'tiny/ratings.csv' is a file; give the folder"),
        ({"evaluators": "Length()"}, 2, "evaluators must be a list of specs, or names with a spec each"),
        ({"evaluators": "\n  - Length()\n  - BLUE(n=4)"}, 4, "did you mean 'BLEU'?"),
        ({"evaluators": "\n  - Length()\n  - BLEU(m=4)"}, 4, "BLEU has no argument 'm'"),
        ({"evaluators": "\n  - Length()\n  - Length( )"}, 4, "are both Length(); name it once"),
        ({"evaluators": "[Mean(Length(), User())]"}, 2, "put a spec that has a comma in quotes"),
        ({"evaluators": "\n  a: Length()\n  b: Mean(c)"}, 4, "'c' is not a name defined in this study"),
        ({"evaluators": "[\"Recorded('BERT*')\"]"}, 2, "no recorded evaluator fits Recorded('BERT*')"),
    ],
)
def test_wrong_content_is_answered_with_its_line(
    tiny: Path, keys: dict[str, str], line: int, says: str
) -> None:
    text = message(write_study(tiny.parent / "s.yaml", **keys))
    assert f"s.yaml, line {line}: " in text
    assert says in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"dataset: tiny\n", "the key 'evaluators' is missing"),
        (b"dataset: tiny\nevaluators: [a\nlevels: [user]\n", "line 3: this is not YAML"),
        (b"dataset: tiny\ndataset: tiny\nevaluators: [Length()]\n", 'line 2: duplicate key "dataset"'),
        (b"&x\ndataset: tiny\nevaluators: *x\n", "line 3: an alias stands inside what it names"),
        (b"dataset: tiny\nevaluators: [!!python/name:os.system x]\n", "line 2: the tag"),
        (b"dataset: tiny\n? [a, b]\n: 1\nevaluators: [Length()]\n", "is not text; put it in quotes"),
    ],
)
def test_a_broken_file_is_answered_with_one_sentence(tiny: Path, content: bytes, says: str) -> None:
    path = tiny.parent / "s.yaml"
    path.write_bytes(content)
    text = message(path)
    assert text.startswith(str(path))
    assert says in text


def test_every_problem_has_a_line_with_its_own_place(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_study(tiny.parent / "s.yaml", zzz="1", units="all", bootstrap="{resample: 5}")
    assert main(["run", str(path), "--dry-run"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert sorted(re.findall(r"s.yaml, line (\d)", "\n".join(told))) == ["3", "4", "5"]
    assert all(line.startswith("metaeval: ") for line in told)
    with pytest.raises(StudyError) as caught:
        read_study(path)
    assert [f"metaeval: {line}" for line in caught.value.problems] == told


def test_a_study_from_python_needs_no_file(tiny: Path) -> None:
    todo = plan({"dataset": "tiny", "evaluators": ["Length()"]})
    assert list(todo.scoring.named) == ["Length()"]
    assert str(todo.out) == "results/study"
    with pytest.raises(StudyError, match=r"^study: unknown key 'evaluator'; did you mean 'evaluators'\?"):
        make_study({"dataset": "tiny", "evaluator": ["Length()"], "evaluators": ["Length()"]})


def test_short_names_are_put_in(tiny: Path) -> None:
    evaluators = """
  panel: "Mean(first, Annotator('2'))"
  first: "Annotator('1')"
  Judge & Co_1: "Recorded('Judge & Co_1')"
"""
    todo = plan(write_study(tiny.parent / "s.yaml", evaluators=evaluators))
    assert todo.study.specs == {
        "panel": "Mean(Annotator('1'), Annotator('2'))",
        "first": "Annotator('1')",
        "Judge & Co_1": "Recorded('Judge & Co_1')",
    }


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("[\"Recorded('*')\"]", ["Judge & Co_1", "S* star"]),
        ("[Length(), \"Recorded('Judge*')\"]", ["Length()", "Judge & Co_1"]),
        # What is named by itself is not repeated by the pattern.
        ("[\"Recorded('*')\", \"Recorded('S* star')\"]", ["Judge & Co_1", "Recorded('S* star')"]),
        ("{S* star: Length(), all: \"Recorded('*')\"}", ["S* star", "Judge & Co_1", "Recorded('S* star')"]),
    ],
)
def test_a_star_stands_for_recorded_evaluators(tiny: Path, given: str, names: list[str]) -> None:
    todo = plan(write_study(tiny.parent / "s.yaml", evaluators=given))
    assert list(todo.scoring.named) == names


def test_what_is_excluded_is_nowhere(tiny: Path) -> None:
    todo = plan(write_study(tiny.parent / "s.yaml", exclude="{generator: ['none|such'], user_id: [u1]}"))
    assert len(todo.data) == 2 * 2 * 2
    assert set(todo.data.ratings["generator"]) == {"short", "long"}
    assert todo.data.scores is not None
    assert set(todo.data.scores["user_id"]) == {"u2", "u3"}


def test_the_data_set_is_found_from_here_and_from_the_study_file(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    studies = tiny.parent / "studies"
    studies.mkdir()
    path = write_study(studies / "s.yaml")
    assert plan(path).data.name == "tiny"
    monkeypatch.chdir("/")
    assert plan(path).data.name == "tiny"
