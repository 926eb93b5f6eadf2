"""What exports say of a value: its type, that it failed, who gave it. Nothing is invented, merged or lost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.data.exports.known import EXPORTS, files_of
from metaeval.data.imports import Imported
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.imports.table import data_set

NUMBERS = [1, 5, 2, 4]
"""What a person rates each record, and what a tool does."""


def read(
    content: object, people: tuple[str, ...] = (), roles: Mapping[str, str] = MappingProxyType({})
) -> Imported[ExplanationSet]:
    """Read the content of a file."""
    for export in EXPORTS:
        if records := export.records_in([content]):
            return data_set(files_of(export, export.shaped(records, "file"), "made", people, roles=roles))
    raise AssertionError("no export is known")


def of_rater(data: ExplanationSet, rater: str) -> dict[str, float]:
    rows = data.ratings[data.ratings["rater"] == rater]
    return dict(zip(rows["item_id"], rows["rating"], strict=True))


Notes = list[tuple[str | None, bool, Any]]
"""Of a record: who gives a value, whether it is a person, and the value."""


def _langfuse(notes: Notes, n: int, failed: object) -> dict[str, Any]:
    scores = [
        {"name": "ok", "value": v, "source": "ANNOTATION" if person else "API", "authorUserId": who}
        for who, person, v in notes
    ]
    level = {"level": "ERROR"} if failed else {}
    return {"id": f"t{n}", "input": "film", "output": f"text {n}", "scores": scores, **level}


def _langsmith(notes: Notes, n: int, failed: object) -> dict[str, Any]:
    feedback = [
        {
            "key": "ok",
            "score": v,
            "feedback_source": {"type": "app" if person else "model", "user_name": who},
        }
        for who, person, v in notes
    ]
    return {"id": f"t{n}", "inputs": {}, "outputs": f"text {n}", "feedback": feedback, "error": failed}


def _phoenix(notes: Notes, n: int, failed: object) -> dict[str, Any]:
    annotations = [
        {
            "name": "ok",
            "annotator_kind": "HUMAN" if person else "LLM",
            "identifier": who,
            "result": {"score": v},
        }
        for who, person, v in notes
    ]
    span = {"span_kind": "LLM", "context": {"span_id": f"t{n}"}, "annotations": annotations}
    return {**span, "attributes": {"output.value": f"text {n}"}, "status_code": "ERROR" if failed else "OK"}


def _mlflow(notes: Notes, n: int, failed: object) -> dict[str, Any]:
    given = [
        {
            "assessment_name": "ok",
            "source": {"source_type": "HUMAN" if person else "LLM_JUDGE", "source_id": who},
            "feedback": {"value": v},
        }
        for who, person, v in notes
    ]
    info = {"trace_id": f"t{n}", "response_preview": f"text {n}", "assessments": given}
    return {"info": {**info, "state": "ERROR" if failed else "OK"}, "data": {"spans": []}}


def _argilla(notes: Notes, n: int, failed: object) -> dict[str, Any]:
    assert not failed, "Argilla runs nothing"
    people = [{"user_id": who, "value": v} for who, person, v in notes if person]
    tools = [{"question_name": "ok", "agent": who, "value": v} for who, person, v in notes if not person]
    return {"id": f"t{n}", "fields": {"text": f"text {n}"}, "responses": {"ok": people}, "suggestions": tools}


def _label_studio(notes: Notes, n: int, failed: object) -> dict[str, Any]:
    assert not failed, "Label Studio runs nothing"

    def said(value: object) -> list[dict[str, Any]]:
        return [{"from_name": "ok", "type": "rating", "value": {"rating": value}}]

    return {
        "id": f"t{n}",
        "data": {"text": f"text {n}"},
        "annotations": [{"completed_by": who, "result": said(v)} for who, person, v in notes if person],
        "predictions": [{"model_version": who, "result": said(v)} for who, person, v in notes if not person],
    }


def _opentelemetry(notes: Notes, n: int, failed: object) -> dict[str, Any]:
    def event(name: str, attributes: Mapping[str, object]) -> dict[str, Any]:
        return {"eventName": name, "attributes": {"gen_ai.response.id": f"t{n}", **attributes}}

    messages = {"gen_ai.output.messages": f"text {n}", **({"error.type": "timeout"} if failed else {})}
    scored = [
        {
            "gen_ai.evaluation.name": "ok",
            "gen_ai.evaluation.score.value": v,
            "gen_ai.evaluation.source": "human" if person else "model",
            "evaluator.id": who,
        }
        for who, person, v in notes
    ]
    events = [event("gen_ai.evaluation.result", one) for one in scored]
    records = [event("gen_ai.client.inference.operation.details", messages), *events]
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}


Maker = Callable[[Notes, int, object], dict[str, Any]]
RUN: dict[str, Maker] = {f.__name__: f for f in (_langfuse, _langsmith, _phoenix, _mlflow, _opentelemetry)}
MAKERS = RUN | {f.__name__: f for f in (_argilla, _label_studio)}


@pytest.mark.parametrize("name", MAKERS)
@given(counts=st.lists(st.integers(1, 4), min_size=2, max_size=4), person=st.booleans())
def test_marks_without_a_name_are_never_one(name: str, counts: list[int], person: bool) -> None:
    records = []
    for n, count in enumerate(counts):
        notes: Notes = [(None, person, 1 + i) for i in range(count)]
        records.append(MAKERS[name]([*notes, ("known", not person, 3)], n, None))
    made = read(records)
    data, column = made.data, "rating" if person else "score"
    table = data.ratings if person else data.scores
    assert table is not None
    unnamed = table[table["rater" if person else "evaluator"] != "known"]
    values = unnamed.groupby("item_id")[column].apply(sorted)
    assert [*values.reindex([f"t{n}" for n in range(len(counts))])] == [
        [1.0 + i for i in range(count)] for count in counts
    ]
    assert any("without a name" in note for note in made.notes) == (max(counts) > 1)
    assert not any("given again later" in note for note in made.notes)


@pytest.mark.parametrize("name", RUN)
def test_a_failed_result_has_no_score_and_keeps_its_ratings(name: str) -> None:
    records = [
        RUN[name]([("ann", True, v), ("judge", False, v)], n, "429" if n == 1 else None)
        for n, v in enumerate(NUMBERS)
    ]
    made = read(records)
    scores = made.data.scores
    assert scores is not None
    assert scores.set_index("item_id")["status"].to_dict() == {
        "t0": "ok",
        "t1": "transport",
        "t2": "ok",
        "t3": "ok",
    }
    found = scores.set_index("item_id")["score"]
    assert math.isnan(found.pop("t1"))
    assert [*found] == [1.0, 2.0, 4.0]
    assert [*of_rater(made.data, "ann").values()] == NUMBERS
    assert "Scores of 'judge' for 'ok' that are missing: transport 1." in made.notes


def _deepeval(n: int, error: object) -> dict[str, Any]:
    metric = {"name": "judge", "score": 0 if error else 1, "error": error}
    return {"input": "film", "actual_output": f"text {n}", "metadata": {"ok": n}, "metrics_data": [metric]}


def _trulens(n: int, error: object) -> dict[str, Any]:
    feedback = {"ok": n, "ok_calls": "[]", "judge": 0 if error else 1, "judge_calls": "[]"}
    told = {"record_json": {"main_error": error}, "app_id": "a"}
    return {"record_id": f"{n}", "input": "film", "output": f"text {n}", **told, **feedback}


def _promptfoo(n: int, error: object, more: Mapping[str, object]) -> dict[str, Any]:
    human = {"assertion": {"type": "human"}, "score": n}
    graded = {"gradingResult": {"reason": "r", "componentResults": [human, None]}}
    of = {"id": f"{n}", "vars": {"q": n}, "provider": "bot", "response": {"output": f"text {n}"}}
    named = {"namedScores": {"judge": 0 if error else 1}, "error": error}
    return {**of, **named, **graded, **(more if error else {})}


def _inspect(n: int, error: object) -> dict[str, Any]:
    scores = {"human": {"value": n}, **({} if error else {"judge": {"value": "C"}})}
    return {"id": n, "output": {"completion": f"text {n}"}, "scores": scores, "error": error}


FAILED: dict[str, Callable[[object], object]] = {
    "DeepEval": lambda e: {"test_results": [_deepeval(n, e if n == 1 else None) for n in range(3)]},
    "TruLens": lambda e: [_trulens(n, e if n == 1 else None) for n in range(3)],
    "promptfoo": lambda e: {
        "results": {"results": [_promptfoo(n, e if n == 1 else None, {"failureReason": 2}) for n in range(3)]}
    },
    "inspect": lambda e: {
        "eval": {"model": "m"},
        "status": "success",
        "samples": [_inspect(n, {"message": e} if n == 1 else None) for n in range(3)],
    },
}


@pytest.mark.parametrize("tool", FAILED)
def test_what_a_tool_calls_an_error_is_no_score(tool: str) -> None:
    made = read(FAILED[tool]("429"), ("ok",))
    scores = made.data.scores
    assert scores is not None
    failed = scores[scores["status"] == "transport"]
    assert [*failed["evaluator"]] == ["judge"]
    assert failed["score"].isna().all()
    assert [*scores.loc[scores["status"] == "ok", "score"]] == [1.0, 1.0]
    assert sorted(made.data.ratings["rating"]) == [0.0, 1.0, 2.0]


def test_a_failed_call_without_a_text_is_no_unit() -> None:
    records = [
        _promptfoo(n, "429" if n == 1 else None, {"failureReason": 2, "response": None}) for n in range(3)
    ]
    made = read(records)
    assert [*made.data.explanations["explanation"]] == ["text 0", "text 2"]
    assert any(note.startswith("1 record without a text left out: failed") for note in made.notes)
    blank = {**_promptfoo(1, None, {}), "response": {"output": ""}}
    with pytest.raises(DataError, match="no record of the export has a text"):
        read([{**blank, "failureReason": 2}])


def test_what_nothing_was_asserted_of_has_no_score() -> None:
    bare = {"gradingResult": {"reason": "No assertions", "score": 1}}
    made = read([_promptfoo(0, None, {}), _promptfoo(1, None, {}), _promptfoo(2, None, {}) | bare])
    scores = made.data.scores
    assert scores is not None
    assert [*scores["score"].isna()] == [False, False, True]


KINDS = st.sampled_from(["NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION", None])
WORDS = st.sampled_from(["poor", "good", "True", "it is fine", None])


@given(st.lists(st.tuples(KINDS, st.integers(0, 5), WORDS), min_size=1, max_size=8))
def test_a_value_is_read_by_its_stated_type(scores: list[tuple[str | None, int, str | None]]) -> None:
    def number(kind: str | None, value: int, word: str | None) -> float | None:
        return value if kind in {"NUMERIC", "BOOLEAN"} or (kind is None and word is None) else None

    records = [
        {
            "id": f"t{n}",
            "input": "film",
            "output": f"text {n}",
            "scores": [
                {"name": "clarity", "value": 3, "source": "ANNOTATION", "authorUserId": "ann"},
                {"name": "tone", "value": value, "stringValue": word, "dataType": kind}
                | {"source": "ANNOTATION", "authorUserId": "ann"},
            ],
        }
        for n, (kind, value, word) in enumerate(scores)
    ]
    made = read({"data": records})
    ratings = made.data.ratings
    tone = ratings[ratings["aspect"] == "tone"].set_index("item_id")["rating"].dropna()
    expected = {f"t{n}": v for n, one in enumerate(scores) if (v := number(*one)) is not None}
    assert tone.to_dict() == expected
    words = Counter(one[2] for one in scores if one[2] is not None and number(*one) is None)
    said = [note for note in made.notes if "'tone'" in note and "words" in note]
    assert len(said) == bool(words)
    assert all(f"{word} {count}" in said[0] for word, count in words.items())


def test_yes_and_no_of_mlflow_are_its_own_ratings() -> None:
    said = ["yes", "no", "unknown", "yes"]
    made = read(
        [_mlflow([("ann", True, v == "yes"), ("gpt", False, v)], n, None) for n, v in enumerate(said)]
    )
    scores = made.data.scores
    assert scores is not None
    assert [*scores["score"].fillna(-1)] == [1.0, 0.0, -1.0, 1.0]
    assert "Scores of 'gpt' for 'ok' that are missing: unknown 1." in made.notes


def _labelled(words: list[str], known: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return spans that a person rated, with the words that are ``known``, and that a judge has words for."""
    records = [_phoenix([("ann", True, n % 2)], n, None) for n in range(len(words))]
    for n, word in enumerate(words):
        given = records[n]["annotations"]
        given[0]["result"]["label"] = next((w for w, number in known.items() if number == n % 2), None)
        label = {"name": "ok", "annotator_kind": "LLM", "identifier": "gpt", "result": {"label": word}}
        given.append(label)
    return records


def _scores(made: Imported[ExplanationSet]) -> list[float]:
    assert made.data.scores is not None
    return [*made.data.scores["score"]]


def test_a_judges_words_are_asked_for_by_a_line_that_works() -> None:
    records = _labelled(["good", "bad", "good"], {})
    made = read(records)
    assert made.data.scores is None
    said = "missing: good 2, bad 1; if 'bad' is below 'good', add --column 'ok=words:bad<good'."
    assert any(note.endswith(said) for note in made.notes)
    assert _scores(read(records, roles={"ok": "words:bad<good"})) == [1, 0, 1]
    assert _scores(read(records, roles={"ok": "words:good<bad"})) == [0, 1, 0]


def test_a_judges_words_are_read_where_a_person_has_numbers_beside_them() -> None:
    records = _labelled(["pass", "fail", "pass", "odd"], {"pass": 0, "fail": 1})
    assert [None if math.isnan(n) else n for n in _scores(read(records))] == [0, 1, 0, None]
    assert read(_labelled(["pass", "fail"], {"pass": 0})).data.scores is None  # one word has no order


def test_words_of_people_are_never_ordered_but_by_the_user() -> None:
    records = [_langfuse([("ann", True, n)], n, None) for n in range(2)]
    for record, word in zip(records, ["yes", "no"], strict=True):
        record["scores"].append({"name": "fit", "value": word, "source": "ANNOTATION", "authorUserId": "ann"})
    made = read(records)
    assert [*made.data.aspects] == ["ok"]
    assert any("'fit' is left out" in n and "--column 'fit=words:no<yes'" in n for n in made.notes)
    data = read(records, roles={"fit": "words:no<yes"}).data
    assert [*data.ratings.loc[data.ratings["aspect"] == "fit", "rating"]] == [1, 0]


@pytest.mark.parametrize("name", ["_langsmith", "_phoenix"])
@given(numbers=st.lists(st.none() | st.integers(0, 5), min_size=1, max_size=8))
def test_a_label_without_a_score_is_one_missing_rating(name: str, numbers: list[int | None]) -> None:
    records = [MAKERS[name]([("ann", True, v)], n, None) for n, v in enumerate(numbers)]
    for record in records:
        for given_value in record.get("feedback", ()):
            given_value["value"] = "good"
        for annotation in record.get("annotations", ()):
            annotation["result"]["label"] = "good"
    if not any(v is not None for v in numbers):
        with pytest.raises(DataError, match="export are words"):
            read(records)
        return
    made = read(records)
    expected = {f"t{n}": v for n, v in enumerate(numbers)}
    found = of_rater(made.data, "ann")
    assert {k: None if math.isnan(v) else v for k, v in found.items()} == expected
    missing = sum(v is None for v in numbers)
    said = f"Ratings of 'ok' that are words without a number are missing: good {missing}."
    assert (said in made.notes) == bool(missing)


def test_two_tools_that_score_what_nobody_rated_are_two_evaluators() -> None:
    def scored(n: int) -> dict[str, Any]:
        record = _langfuse([("ann", True, n)], n, None)
        for who in ("gpt", "claude"):
            record["scores"].append({"name": "length", "value": n, "source": "API", "authorUserId": who})
        return record

    scores = read([scored(n) for n in range(3)]).data.scores
    assert scores is not None
    assert Counter(scores["evaluator"]) == {"length (gpt)": 3, "length (claude)": 3}


def test_annotations_of_a_span_that_is_not_there_are_counted() -> None:
    alone = {"name": "ok", "annotator_kind": "HUMAN", "span_id": "other", "result": {"score": 1}}
    made = read([_phoenix([("ann", True, n)], n, None) for n in range(2)] + [alone])
    assert len(made.data) == 2
    assert any("not in the file" in note for note in made.notes)


def test_ratings_of_other_records_than_those_with_texts_are_refused() -> None:
    events = _opentelemetry([("ann", True, 1)], 1, None)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    text = {"gen_ai.response.id": "other", "gen_ai.output.messages": "a text"}
    with pytest.raises(DataError, match="no text of the OpenTelemetry export has a rating"):
        read([events[1], {**events[0], "attributes": text}])


def test_a_text_that_is_not_there_is_not_taken_from_elsewhere() -> None:
    records = [_langfuse([("ann", True, n)], n, None) for n in range(3)]
    records.append({"id": "t3", "input": "a long question", "output": None, "scores": []})
    assert "a long question" not in {*read(records).data.explanations["explanation"]}
