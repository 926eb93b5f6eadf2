"""Who gave a value: a person, a tool, or nobody that is named. And what is repeated is no new item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.cli import main
from metaeval.data.exports.known import files_of, recognised
from metaeval.data.imports import Imported
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.imports.table import data_set
from tests.data.exports.test_export import _langfuse as langfuse
from tests.data.exports.test_export import _langsmith as langsmith
from tests.data.exports.test_export import of_rater, read


def _deepeval(
    more: Mapping[str, object], metric: Mapping[str, object], inputs: object = "film"
) -> dict[str, Any]:
    return {"test_results": [_case(n, more, metric, inputs) for n in range(4)]}


def _case(n: int, more: Mapping[str, object], metric: Mapping[str, object], inputs: object) -> dict[str, Any]:
    told = dict.fromkeys(more, n)
    judged = {"name": "Clarity [GEval]", "score": n / 4, "evaluation_model": "gpt", **metric}
    of = {"input": inputs, "actual_output": f"text {n}", "metadata": told}
    return {**of, "metrics_data": [judged]}


@pytest.mark.parametrize(
    ("name", "who", "aspect"),
    [
        ("human_clarity", "human", "Clarity"),
        ("Human Clarity", "human", "Clarity"),
        ("annotator_2_clarity", "annotator 2", "Clarity"),
        ("worker3", "worker3", "rating"),
        ("expert_rating", "expert", "rating"),
        ("humans", "humans", "rating"),
    ],
)
def test_a_name_of_people_and_nothing_else_is_a_persons(name: str, who: str, aspect: str) -> None:
    made = read(_deepeval({name: 0}, {}))
    assert [*made.data.raters] == [who]
    assert [*made.data.aspects] == [aspect]
    assert [*of_rater(made.data, who).values()] == [0, 1, 2, 3]


@given(
    st.sampled_from(["humanness", "human_likeness", "humanlike", "expertise", "expert_model", "worker_time"])
    | st.sampled_from(["rating", "score", "Nr", "latency", "user_id2", "clarity", "completion_tokens"])
)
def test_a_number_that_nobody_is_named_for_is_no_persons_and_no_judges(name: str) -> None:
    with pytest.raises(DataError, match=f"nobody is named for {name} .*--column {name}=rating") as error:
        read(_deepeval({name: 0}, {}))
    assert "(0, 1, 2, …; 0 to 3; 4 different in 4 rows)" in str(error.value)
    made = read(_deepeval({name: 0, "human": 0}, {}))
    assert [*made.data.raters] == ["human"]
    assert made.data.scores is not None
    assert {*made.data.scores["evaluator"]} == {"Clarity"}
    assert any(f"nobody is named for it: {name} (" in note for note in made.notes)


def test_the_line_that_is_printed_is_right_when_it_is_pasted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, out = tmp_path / "run.json", tmp_path / "out"
    place.write_text(json.dumps(_deepeval({"our score": 0}, {})), encoding="utf-8")
    assert main(["init", str(place), "--yes", "--out", str(out)]) == 2
    line = capsys.readouterr().err.rpartition("--column ")[2].strip().strip("'")
    assert main(["init", str(place), "--yes", "--out", str(out), "--column", line]) == 0
    assert "our score" in (out / "data" / "dataset.yaml").read_text(encoding="utf-8")


def test_a_metric_with_a_model_is_that_models_whatever_its_name() -> None:
    with pytest.raises(DataError, match="scores of tools: Human rating"):
        read(_deepeval({}, {"name": "Human rating"}))
    made = read(_deepeval({}, {"name": "Human rating", "evaluation_model": None}))
    assert [*made.data.raters] == ["human"]
    assert made.data.scores is None


def test_what_the_user_says_of_names() -> None:
    content = _deepeval({"a": 0, "b": 0, "c": 0}, {})
    export, records = _known(content)
    roles = {"a": "rating:anna", "b": "tool:gpt-4", "c": "ignore"}
    made = data_set(files_of(export, records, "made", roles=roles))
    assert [*made.data.raters] == ["anna"]
    assert made.data.scores is not None
    assert {*made.data.scores["evaluator"]} == {"Clarity", "gpt-4"}
    assert not any("Not read" in note for note in made.notes)


def _known(content: object) -> tuple[Any, Any]:
    from metaeval.data.exports.known import EXPORTS

    export = next(e for e in EXPORTS if e.records_in([content]))
    return export, export.shaped(export.records_in([content]), "file")


def test_an_average_over_all_sources_is_nobodys() -> None:
    stats = {"ok": {"n": 2, "avg": 3.5}}
    records = [langsmith([("ann", True, n)], n, None) | {"feedback_stats": stats} for n in range(3)]
    assert read(records).data.scores is None
    for record in records:
        del record["feedback"]
    with pytest.raises(DataError, match="feedback_stats, which are over all sources") as error:
        read(records)
    assert "--column" not in str(error.value)


def test_scores_join_their_traces_in_one_folder(tmp_path: Path) -> None:
    traces = [langfuse([("ann", True, n), ("gpt", False, n)], n, None) for n in range(3)]
    scores = [
        score | {"id": f"s{n}{m}", "traceId": trace["id"]}
        for n, trace in enumerate(traces)
        for m, score in enumerate(trace["scores"])
    ]
    whole = read({"data": traces})
    for trace in traces:
        trace["scores"] = ["s"]
    for name, content in (("traces", traces), ("scores", scores)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"data": content}), encoding="utf-8")
    known = recognised(str(tmp_path))
    assert known is not None
    data = data_set(files_of(*known, "made")).data
    assert of_rater(data, "ann") == of_rater(whole.data, "ann")
    assert data.scores is not None
    assert whole.data.scores is not None
    assert data.scores.equals(whole.data.scores)


def _log(epochs: int, texts: int, **more: object) -> dict[str, Any]:
    samples = [
        {
            "id": f"s{n}",
            "epoch": epoch + 1,
            "input": f"film {n}",
            "metadata": {"generator": "bot"},
            "output": {"completion": f"text {n} {epoch % texts}"},
            "scores": {"human": {"value": n}, "judge": {"value": n + epoch}},
        }
        for epoch in range(epochs)
        for n in range(4)
    ]
    return {"eval": {"model": "m"}, "status": "success", "samples": samples, **more}


@given(st.integers(1, 4), st.integers(1, 4))
def test_epochs_repeat_items_and_are_no_new_ones(epochs: int, texts: int) -> None:
    data = read(_log(epochs, texts)).data
    distinct = min(epochs, texts)
    first_item = data.explanations["item_id"].iloc[0]
    assert data.explanations["item_id"].nunique() == 4
    assert len(data) == 4 * distinct
    names = {"bot", *(f"bot ({n})" for n in range(2, distinct + 1))}
    assert {*data.explanations["generator"]} == names
    assert data.scores is not None
    first = data.scores[(data.scores["generator"] == "bot") & (data.scores["item_id"] == first_item)]
    repeats = [epoch for epoch in range(epochs) if epoch % texts == 0]
    assert first["score"].item() == pytest.approx(sum(repeats) / len(repeats))


def _inputs(inputs: list[Any]) -> Imported[ExplanationSet]:
    cases = [_case(n, {"human": 0}, {}, one) for n, one in enumerate(inputs)]
    return read({"test_results": cases})


def test_one_input_is_one_item_but_not_if_all_have_it() -> None:
    made = _inputs(["a", "b", "a", "b"])
    assert made.data.explanations["item_id"].nunique() == 2
    assert "No field names the item: it is the input, of which there are 2." in made.notes
    assert _inputs(["a", "a", "a", "a"]).data.explanations["item_id"].nunique() == 4
    long = ["x" * 90 + "1", "x" * 90 + "2"] * 2
    assert {*_inputs(long).data.explanations["item_id"]} == {"input 1", "input 2"}


def test_an_edit_of_a_score_is_its_authors_rating() -> None:
    log = _log(1, 1)
    for n, sample in enumerate(log["samples"]):
        sample["scores"] = {
            "judge": {
                "value": 5 - n,
                "history": [
                    {"value": n},
                    {"value": 5 - n, "provenance": {"author": "ann", "timestamp": "x"}},
                ],
            }
        }
    made = read(log)
    assert of_rater(made.data, "ann") == {f"s{n}": 5.0 - n for n in range(4)}
    assert made.data.scores is not None
    assert [*made.data.scores["score"]] == [0, 1, 2, 3]


def test_a_log_that_failed_says_so() -> None:
    with pytest.raises(DataError, match="failed, and has no samples: out of money"):
        read({**_log(1, 1), "status": "error", "samples": [], "error": {"message": "out of money"}})


_GROUP = "Status,Score,Named Scores,Grader Reason"
PROMPTFOO = f"""film,[a] p,{_GROUP},[b] p,{_GROUP}
x,text 1,PASS,1,"{{""ok"":0.5}}",REASON,text 2,FAIL,0,"{{""ok"":0.2}}",REASON
y,text 3,FAIL,0,"{{""ok"":0.1}}",REASON,text 4,ERROR,0,"{{""ok"":0.9}}",because
"""


def test_providers_side_by_side_are_generators_and_a_manual_result_is_a_persons(tmp_path: Path) -> None:
    place = tmp_path / "results.csv"
    manual = "Manual result (overrides all other grading results)"
    place.write_text(PROMPTFOO.replace("REASON", manual), encoding="utf-8")
    known = recognised(str(place))
    assert known is not None
    data = data_set(files_of(*known, "made")).data
    assert [*data.explanations["generator"]] == ["a", "b", "a", "b"]
    assert [*data.explanations["explanation"]] == [f"text {n}" for n in range(1, 5)]
    assert [*data.ratings["rating"].dropna()] == [1, 0, 0]
    assert data.scores is not None
    assert {*data.scores["evaluator"]} == {"ok"}
    assert [*data.scores["score"].dropna()] == [0.5, 0.2, 0.1]
    place.write_text(PROMPTFOO.replace("REASON", "All assertions passed"), encoding="utf-8")
    known = recognised(str(place))
    assert known is not None
    with pytest.raises(DataError, match=r"no ratings of people \(scores of tools: ok\)"):
        data_set(files_of(*known, "made"))


ALONE: dict[str, tuple[Any, str]] = {
    "AlpacaEval": (
        [{"instruction": "i", "output_1": "a", "output_2": "b", "annotator": "gpt", "preference": 1.4}],
        "preferences of gpt between two outputs, which are a model's verdicts on pairs",
    ),
    "OpenAI evals": (
        [
            {"run_id": "r", "event_id": n, "sample_id": "s.0", "type": kind, "data": data}
            for n, (kind, data) in enumerate(
                [("sampling", {"prompt": "q", "sampled": ["a"]}), ("match", {"correct": True})]
            )
        ],
        "scores of tools: correct",
    ),
    "lm-evaluation-harness": (
        [{"doc_id": 0, "doc": {"q": "x"}, "resps": [["a"]], "filtered_resps": ["a"], "acc": 1.0}],
        "scores of tools: acc",
    ),
}


@pytest.mark.parametrize("tool", ALONE)
def test_a_file_of_tools_alone_is_named_and_has_no_people(tool: str) -> None:
    content, said = ALONE[tool]
    with pytest.raises(DataError, match=f"the {tool} export has no ratings of people") as error:
        read(content)
    assert said in str(error.value)


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def test_rejected_assignments_are_left_out_and_task_answers_opened(tmp_path: Path) -> None:
    answers = [json.dumps([{"clarity": {"1": n == 1, "2": n != 1}, "note": "fine"}]) for n in range(3)]
    rows = "".join(
        f"H{n % 2},W{n},{'Rejected' if n == 2 else 'Approved'},text {n % 2},{quoted(a)}\n"
        for n, a in enumerate(answers)
    )
    head = "HITId,WorkerId,AssignmentStatus,Input.text,Answer.taskAnswers"
    (tmp_path / "batch.csv").write_text(f"{head}\n{rows}", encoding="utf-8")
    known = recognised(str(tmp_path / "batch.csv"))
    assert known is not None
    made = data_set(files_of(*known, "made"))
    assert made.data.ratings[["rater", "aspect", "rating"]].dropna().to_numpy().tolist() == [
        ["W0", "clarity", 2.0],
        ["W1", "clarity", 1.0],
    ]
    assert "Not read: assignments that were rejected (1 record)." in made.notes


@pytest.mark.parametrize("raters", [1, 2])
def test_a_number_of_a_task_of_label_studio_is_no_rating(raters: int) -> None:
    rows = [
        {
            "id": n,
            "text": f"text {n}",
            "year": 2000 + n,
            "clarity": [{"rating": 1 + (n + who) % 5}],
            "annotation_id": 2 * n + who,
            "annotator": f"rater {who}",
        }
        for n in range(4)
        for who in range(raters)
    ]
    made = read(rows)
    assert [*made.data.aspects] == ["clarity"]
    assert any("nobody is named for it: year (2000, 2001, 2002, …;" in note for note in made.notes)
