"""Logs of inspect, from evaluations that inspect_ai itself ran."""

from __future__ import annotations

import math

import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data import loading
from metaeval.kinds.explanations.data.recorded import add_scores
from tests.data.recorded.conftest import cells, statuses

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tiny):
    return loading.load(tiny.folder)


def log(logs, name, suffix=".eval"):
    (path,) = (logs / name).glob(f"*{suffix}")
    return path


def refusal(data, path, **options):
    with pytest.raises(DataError) as caught:
        add_scores(data, path, tool="inspect", **options)
    return caught.value


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_scorers_are_evaluators(data, logs, suffix):
    made = add_scores(data, log(logs, "graded", suffix), tool="inspect")
    graded = cells(made, "includes")
    assert (graded["007", "a", ""], graded["007", "b", ""]) == (1.0, 0.0)
    assert statuses(made, "includes")["8", "a", ""] == "transport"
    assert cells(made, "rubric")["007", "a", "clarity"] == 0.1 + 0.2
    assert statuses(made, "rubric")["007", "b", "clarity"] == "refused"
    assert math.isnan(cells(made, "rubric")["007", "b", "clarity"])
    # The scorer gave None for trust, and the data set knows no Brevity.
    assert set(made.scores["aspect"]) == {"", "clarity"}


def test_scorers_called_like_aspects_are_scores_of_the_model(data, logs, tmp_path):
    said = refusal(data, log(logs, "aspects")).problems
    assert [(p.row, p.column) for p in said] == [(4, "score"), (5, "score")]
    (tmp_path / "map.yaml").write_text("repeated: mean\n")
    made = add_scores(data, log(logs, "aspects"), tool="inspect", map_file=tmp_path / "map.yaml")
    assert cells(made, "mockllm/model")["007", "a", "trust"] == pytest.approx(5 / 12)
    named = add_scores(
        data,
        log(logs, "aspects"),
        tool="inspect",
        map_file=tmp_path / "map.yaml",
        evaluator="{task} by {model}",
    )
    assert set(named.scores["evaluator"]) == {"aspects by mockllm/model"}


def test_keys_that_stand_in_the_id_of_the_sample(data, logs, tmp_path):
    table_map = tmp_path / "map.yaml"
    table_map.write_text('id: "{user_id}|{item_id}|{generator}"\n')
    made = add_scores(data, log(logs, "graded"), tool="inspect", map_file=table_map)
    assert made.fingerprint == add_scores(data, log(logs, "graded"), tool="inspect").fingerprint
    table_map.write_text('id: "{item_id}/{generator}"\n')
    said = refusal(data, log(logs, "graded"), map_file=table_map).problems
    assert (said[0].row, said[0].column) == (1, "id")
    assert "'u1|007|a', which does not fit '{item_id}/{generator}'" in said[0].message
    assert len(said) == 3


def test_files_that_are_no_logs(data, logs, tmp_path):
    whole = log(logs, "graded").read_bytes()
    for name, content in (
        ("cut.eval", whole[: len(whole) // 2]),
        ("empty.eval", b""),
        ("text.eval", b"user_id,score\n"),
        ("other.json", b'{"results": []}'),
        ("list.json", b"[]"),
        ("broken.json", b'{"version": 2, "eval"'),
    ):
        (tmp_path / name).write_bytes(content)
        (problem,) = refusal(data, tmp_path / name).problems
        assert problem.file == name
        assert "cannot be read as a log of inspect" in problem.message
        assert "\n" not in str(problem)
    (tmp_path / "log.txt").write_bytes(whole)
    assert "may be .eval or .json" in str(refusal(data, tmp_path / "log.txt"))
