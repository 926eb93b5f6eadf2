"""promptfoo's results, from a file that promptfoo itself wrote."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data import loading
from metaeval.kinds.explanations.data.recorded import add_scores
from tests.data.recorded.conftest import KEYS, PROMPTFOO, cells, statuses
from tests.examples import examples

LINES = [json.loads(line) for line in PROMPTFOO.read_text().splitlines()]


def write(path, results):
    path.write_text("".join(json.dumps(r) + "\n" for r in results), encoding="utf-8")
    return path


def problems(data, path, **options):
    with pytest.raises(DataError) as caught:
        add_scores(data, path, tool="promptfoo", **options)
    return caught.value.problems or [str(caught.value)]


@pytest.fixture
def data(tiny):
    return loading.load(tiny.folder)


def test_named_scores_that_are_aspects_are_read(data):
    made = add_scores(data, PROMPTFOO, tool="promptfoo")
    assert cells(made, "echo judge") == {
        ("007", "a", "clarity"): 0.5,
        ("007", "b", "clarity"): 0.75,
        ("8", "a", "clarity"): 1.0,
        ("007", "a", "trust"): 1.0,
        ("007", "b", "trust"): 1.0,
        ("8", "a", "trust"): 1.0,
    }
    assert data.scores is None


def test_without_named_scores_the_score_of_the_test_is_of_all_aspects(data, tmp_path):
    results = [{**r, "namedScores": {"Brevity": 1}} for r in LINES if r["provider"]["id"] == "echo"]
    made = add_scores(data, write(tmp_path / "r.jsonl", results), tool="promptfoo")
    expected = {(str(r["vars"]["item_id"]), r["vars"]["generator"], ""): r["score"] for r in results}
    assert cells(made, "echo judge") == expected
    assert "status" not in made.scores


def test_a_test_without_assertions_has_no_score(data, tmp_path):
    bare = {"pass": True, "score": 1, "reason": "No assertions"}
    results = [
        {**r, "score": 1, "namedScores": {}, "gradingResult": bare} if r["testIdx"] == 0 else r for r in LINES
    ]
    made = add_scores(data, write(tmp_path / "r.jsonl", results), tool="promptfoo")
    assert statuses(made, "echo judge")["007", "a", "clarity"] == "missing"
    none = [{**r, "gradingResult": bare} for r in results]
    said = problems(data, write(tmp_path / "n.jsonl", none))
    assert "holds no score for the data set" in said[0].message


@pytest.mark.parametrize(
    "said",
    [
        {"reason": "API call error: 500", "metadata": {"graderError": True}},
        {"reason": "Could not extract JSON from llm-rubric response"},  # before promptfoo had the flag
    ],
)
def test_a_grader_that_failed_gives_no_score(data, tmp_path, said):
    part = {"pass": False, "score": 0, "assertion": {"type": "llm-rubric", "metric": "clarity"}, **said}
    grade = {"pass": False, "score": 0, "reason": said["reason"], "componentResults": [part]}
    first = {**LINES[1], "score": 0, "gradingResult": grade, "namedScores": {"clarity": 0, "trust": 1}}
    made = add_scores(data, write(tmp_path / "r.jsonl", [first, *LINES[2:]]), tool="promptfoo")
    assert ("007", "a", "clarity") not in cells(made, "echo judge")
    assert cells(made, "echo judge")["007", "a", "trust"] == 1
    overall = [{**r, "namedScores": {}} for r in (first, *LINES[2:])]
    made = add_scores(data, write(tmp_path / "o.jsonl", overall), tool="promptfoo")
    assert statuses(made, "echo judge")["007", "a", ""] == "transport"


def test_several_prompts_are_several_evaluators(data, tmp_path):
    other = [{**r, "promptIdx": 5, "prompt": {"raw": "Say: {{x}}", "label": "Say: {{x}}"}} for r in LINES]
    made = add_scores(data, write(tmp_path / "r.jsonl", [*other, *LINES]), tool="promptfoo")
    names = set(made.scores["evaluator"])
    # A label that is the whole prompt is no name; its number is.
    assert names == {"echo judge plain", "shaky plain", "echo judge prompt 2", "shaky prompt 2"}
    one = add_scores(data, PROMPTFOO, tool="promptfoo", evaluator="{provider}/{prompt}")
    assert set(one.scores["evaluator"]) == {"echo judge/plain", "shaky/plain"}


def test_the_json_file_says_the_same(data, tmp_path):
    wrapped = {"evalId": "e", "results": {"version": 3, "results": LINES}}
    path = tmp_path / "results.json"
    path.write_text(json.dumps({**wrapped, "metadata": {"promptfooVersion": "0.121.20"}}))
    made = add_scores(data, path, tool="promptfoo")
    assert made.fingerprint == add_scores(data, PROMPTFOO, tool="promptfoo").fingerprint
    assert made.extra["recorded_from"]["shaky"]["version"] == "0.121.20"


def test_several_runs_of_a_test_differ_or_are_averaged(data, tmp_path):
    again = {**LINES[1], "testIdx": 9, "namedScores": {"trust": 1, "clarity": 0.9}}
    path = write(tmp_path / "r.jsonl", [*LINES, again])
    said = problems(data, path)
    assert [(p.row, p.column) for p in said] == [(7, "clarity")]
    assert "is 0.9 here and 0.5 in row 2" in said[0].message
    (tmp_path / "map.yaml").write_text("repeated: mean\n")
    made = add_scores(data, path, tool="promptfoo", map_file=tmp_path / "map.yaml")
    assert cells(made, "echo judge")["007", "a", "clarity"] == 0.7
    same = write(tmp_path / "same.jsonl", [*LINES, LINES[1]])
    assert cells(add_scores(data, same, tool="promptfoo"), "echo judge")["007", "a", "clarity"] == 0.5


def test_a_csv_with_providers_side_by_side(data, tmp_path):
    group = "Status,Score,Named Scores,Grader Reason"
    rows = [
        f"user_id,item_id,generator,[echo] p,{group},[shaky] p,{group}",
        """u1,007,a,text,PASS,1,"{""clarity"":0.5}",,text,FAIL,0,"{""clarity"":0.2}",""",
        """u1,007,b,text,FAIL,0,"{""clarity"":0.1}",,,ERROR,0,,no answer""",
    ]
    (tmp_path / "r.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    made = add_scores(data, tmp_path / "r.csv", tool="promptfoo")
    assert cells(made, "echo") == {("007", "a", "clarity"): 0.5, ("007", "b", "clarity"): 0.1}
    assert cells(made, "shaky")["007", "a", "clarity"] == 0.2
    assert statuses(made, "shaky")["007", "b", "clarity"] == "transport"


BAD = {
    "not JSON": (b"user_id,score\nu1,4\n", 1, "is not a JSON object"),
    "cut off": (PROMPTFOO.read_bytes()[:-40], 6, "is not a JSON object"),
    "empty": (b"", None, "is empty"),
    "another tool": (b'{"sample": 1, "scores": {}}\n', 1, "which has sample, scores"),
    "no objects": (b"[1]\n", 1, "each line is one object"),
    "a wrong part": (b'{"provider": "x", "score": 1, "success": true, "vars": [1]}\n', 1, "an object"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), 1, "UTF-16"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_is_none_of_promptfoo(data, tmp_path, case):
    content, row, part = BAD[case]
    (tmp_path / "r.jsonl").write_bytes(content)
    said = problems(data, tmp_path / "r.jsonl")
    assert (said[0].file, said[0].row) == ("r.jsonl", row)
    assert part in said[0].message


JSON = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3),
    st.just([1]),
    st.just({"a": {"b": 1}}),
)


def places(value, at=()):
    """Return the way to every value inside ``value``."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [w for k, v in inner for w in [(*at, k), *places(v, (*at, k))]]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(places(LINES)), JSON)
def test_whatever_stands_where_is_read_or_refused(data, tmp_path, place, value):
    results = json.loads(json.dumps(LINES))
    inner = results
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path = write(tmp_path / "r.jsonl", results)
    # Any other error would be a traceback for the user.
    with contextlib.suppress(DataError):
        scores = add_scores(data, path, tool="promptfoo").scores
        assert scores["evaluator"].str.strip().all()
        assert scores["aspect"].isin(["", *data.aspects]).all()
        assert not scores.duplicated([*KEYS, "evaluator", "aspect"]).any()
