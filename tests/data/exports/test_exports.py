"""Exports of tools → ``init --yes`` → ``run``: right people, right aspects, right numbers.

The files of Argilla, Label Studio, MLflow and DeepEval were made by these tools; the others follow the
documentation of their formats.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metaeval as me
from metaeval.cli import main
from metaeval.data.exports.known import EXPORTS, recognised

FILES = Path(__file__).parent / "files"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
ITEMS = EXPECTED["items"]
BOTH = [EXPECTED["ratings"][str(i)] for i in range(len(ITEMS))]
MODEL = [EXPECTED["model"][str(i)] for i in range(len(ITEMS))]
UUIDS = ("0b2c1a52-6f0e-4a0b-9a58-3a3a7f2f1c01", "9d7f2c44-1111-4f6c-8a7b-0123456789ab")


def _of(i: int) -> dict[str, str]:
    return {"item_id": ITEMS[i]["item_id"], "generator": ITEMS[i]["generator"]}


def _argilla_1() -> list[dict[str, Any]]:
    return [
        {
            "external_id": f"r{i}",
            "fields": {"explanation": item["text"]},
            "metadata": _of(i),
            "responses": [
                {"user_id": user, "status": "submitted", "values": {"clarity": {"value": rating}}}
                for user, rating in zip(UUIDS, BOTH[i], strict=True)
            ],
            "suggestions": [{"question_name": "clarity", "value": MODEL[i], "agent": "gpt-4"}],
        }
        for i, item in enumerate(ITEMS)
    ]


def _argilla_1_columns() -> list[dict[str, Any]]:
    return [
        {
            "explanation": item["text"],
            "clarity": [
                {"user_id": user, "value": rating, "status": "submitted"}
                for user, rating in zip(UUIDS, BOTH[i], strict=True)
            ],
            "clarity-suggestion": MODEL[i],
            "clarity-suggestion-metadata": {"type": "model", "score": None, "agent": "gpt-4"},
            "external_id": f"r{i}",
            "metadata": json.dumps(_of(i)),
        }
        for i, item in enumerate(ITEMS)
    ]


def _langsmith() -> list[dict[str, Any]]:
    def feedback(i: int) -> list[dict[str, Any]]:
        people = [
            {"key": "clarity", "score": r, "feedback_source": {"type": "app", "user_name": who}}
            for who, r in zip(("ann", "ben"), BOTH[i], strict=True)
        ]
        model = {"type": "model", "metadata": {"model": "gpt-4"}}
        return [*people, {"key": "clarity", "score": MODEL[i], "feedback_source": model}]

    return [
        {
            "id": f"run-{i}",
            "name": "explain",
            "run_type": "chain",
            "inputs": {"question": ITEMS[i]["item_id"]},
            "outputs": {"output": ITEMS[i]["text"]},
            "extra": {"metadata": _of(i)},
            "feedback": feedback(i),
        }
        for i in range(len(ITEMS))
    ]


def _langfuse() -> list[dict[str, Any]]:
    def score(value: float, source: str, who: str | None) -> dict[str, Any]:
        return {
            "name": "clarity",
            "value": value,
            "source": source,
            "authorUserId": who,
            "dataType": "NUMERIC",
        }

    return [
        {
            "id": f"trace-{i}",
            "name": "explain",
            "userId": f"u{i // 4}",
            "input": {"messages": [{"role": "user", "content": ITEMS[i]["item_id"]}]},
            "output": {"role": "assistant", "content": ITEMS[i]["text"]},
            "metadata": _of(i),
            "scores": [
                *(score(r, "ANNOTATION", who) for who, r in zip(("ann", "ben"), BOTH[i], strict=True)),
                score(MODEL[i], "EVAL", "gpt-4"),
            ],
        }
        for i in range(len(ITEMS))
    ]


def _phoenix() -> list[dict[str, Any]]:
    spans = [
        {
            "id": f"s{i}",
            "name": "explain",
            "span_kind": "CHAIN",
            "context": {"trace_id": f"t{i}", "span_id": f"span{i}"},
            "attributes": {
                "input": {"value": ITEMS[i]["item_id"]},
                "output.value": ITEMS[i]["text"],
                "metadata": json.dumps(_of(i)),
            },
        }
        for i in range(len(ITEMS))
    ]
    given = [
        (i, kind, who, value)
        for i in range(len(ITEMS))
        for kind, who, value in (
            ("HUMAN", "ann", BOTH[i][0]),
            ("HUMAN", "ben", BOTH[i][1]),
            ("LLM", "gpt-4", MODEL[i]),
        )
    ]
    return [
        *spans,
        *(
            {
                "name": "clarity",
                "annotator_kind": kind,
                "span_id": f"span{i}",
                "user_id": who,
                "result": {"score": value, "label": None},
            }
            for i, kind, who, value in given
        ),
    ]


def _promptfoo() -> dict[str, Any]:
    results = [
        {
            "id": f"r{i}",
            "vars": {"item_id": ITEMS[i]["item_id"]},
            "provider": {"id": ITEMS[i]["generator"]},
            "response": {"output": ITEMS[i]["text"]},
            "score": 1,
            "namedScores": {"gpt-4": MODEL[i]},
            "gradingResult": {
                "componentResults": [{"assertion": {"type": "human"}, "pass": True, "score": BOTH[i][0]}]
            },
        }
        for i in range(len(ITEMS))
    ]
    return {"evalId": "e", "results": {"version": 3, "results": results}}


def _opentelemetry() -> list[dict[str, Any]]:
    def values(attributes: dict[str, Any]) -> list[dict[str, Any]]:
        kinds = {str: "stringValue", int: "intValue", float: "doubleValue"}
        return [{"key": k, "value": {kinds[type(v)]: v}} for k, v in attributes.items()]

    def log(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
        return {"eventName": name, "traceId": "t", "attributes": values(attributes)}

    lines = []
    for i in range(len(ITEMS)):
        of = {"gen_ai.response.id": f"resp-{i}"}
        told = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": ITEMS[i]["text"]}])}
        logs = [log("gen_ai.client.inference.operation.details", {**of, **told, **_of(i)})]
        people = zip(("human", "human", "model"), ("ann", "ben", "gpt-4"), [*BOTH[i], MODEL[i]], strict=True)
        for source, who, value in people:
            said = {"name": "clarity", "score.value": float(value), "source": source}
            scored = {f"gen_ai.evaluation.{k}": v for k, v in said.items()} | {"evaluator.id": who}
            logs.append(log("gen_ai.evaluation.result", {**of, **scored}))
        lines.append({"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]})
    return lines


def _trulens() -> str:
    frame = pd.DataFrame(
        {
            "app_name": [item["generator"] for item in ITEMS],
            "app_id": "app_hash_1",
            "record_id": [f"record_{i}" for i in range(len(ITEMS))],
            "input": [item["item_id"] for item in ITEMS],
            "output": [json.dumps(item["text"]) for item in ITEMS],
            "meta": [json.dumps(_of(i)) for i in range(len(ITEMS))],
            "clarity": [r[0] for r in BOTH],
            "clarity_calls": "[]",
            "gpt-4": MODEL,
            "gpt-4_calls": "[]",
        }
    )
    return frame.to_csv(index=False)


def _mturk() -> str:
    rows = [
        {
            "HITId": f"HIT{i}",
            "WorkerId": who,
            "AssignmentStatus": "Approved",
            "Reward": "$0.10",
            "WorkTimeInSeconds": 40 + i,
            "Input.text": item["text"],
            "Answer.clarity": rating,
            **{f"Input.{key}": value for key, value in _of(i).items()},
        }
        for i, item in enumerate(ITEMS)
        for who, rating in zip(("ann", "ben"), BOTH[i], strict=True)
    ]
    return pd.DataFrame(rows).to_csv(index=False)


def _prodigy() -> list[dict[str, Any]]:
    options = [{"id": str(n), "text": str(n)} for n in range(1, 6)]
    return [
        {
            "text": item["text"],
            "_input_hash": i,
            "_task_hash": i,
            "meta": _of(i),
            "options": options,
            "answer": "accept",
            "accept": [str(rating)],
            "_annotator_id": who,
        }
        for i, item in enumerate(ITEMS)
        for who, rating in zip(("ann", "ben"), BOTH[i], strict=True)
    ]


def _ragas() -> str:
    frame = pd.DataFrame(
        {
            "user_input": [item["item_id"] for item in ITEMS],
            "retrieved_contexts": ["['a', 'b']" for _ in ITEMS],
            "response": [item["text"] for item in ITEMS],
            **{key: [_of(i)[key] for i in range(len(ITEMS))] for key in _of(0)},
            "clarity": MODEL,
            "human_clarity": [r[0] for r in BOTH],
        }
    )
    return frame.to_csv()


def _harness() -> list[dict[str, Any]]:
    return [
        {
            "doc_id": i,
            "doc": {**_of(i), "human_clarity": BOTH[i][0]},
            "target": "x",
            "filter": "none",
            "resps": [[item["text"]]],
            "filtered_resps": [item["text"]],
            "metrics": ["clarity"],
            "clarity": MODEL[i],
        }
        for i, item in enumerate(ITEMS)
    ]


def _weave() -> list[dict[str, Any]]:
    def said(kind: str, payload: dict[str, Any], creator: str | None) -> dict[str, Any]:
        return {"feedback_type": kind, "payload": payload, "creator": creator, "wb_user_id": "VXNlcg"}

    return [
        {
            "id": f"c{i}",
            "op_name": "weave:///team/films/op/Explainer.explain:v1",
            "inputs": {"self": "weave:///team/films/object/Explainer:v1", **_of(i)},
            "output": item["text"],
            "exception": None,
            "summary": {
                "weave": {
                    "latency_ms": 900 + i,
                    "feedback": [
                        said("wandb.annotation.clarity", {"value": BOTH[i][0]}, "ann"),
                        said("wandb.annotation.clarity", {"value": BOTH[i][1]}, "ben"),
                        said("wandb.runnable.gpt-4", {"output": {"clarity": MODEL[i]}}, None),
                        said("wandb.note.1", {"note": "5"}, "ann"),
                    ],
                }
            },
        }
        for i, item in enumerate(ITEMS)
    ]


def _doccano() -> list[dict[str, Any]]:
    return [
        {"id": i, "text": item["text"], "label": [str(BOTH[i][0])], "Comments": [], **_of(i)}
        for i, item in enumerate(ITEMS)
    ]


def _prometheus() -> list[dict[str, Any]]:
    return [
        {
            "orig_instruction": "Explain the film.",
            "orig_response": item["text"],
            "orig_score": str(MODEL[i]),
            "orig_criteria": "Is it clear?",
            "human_score": BOTH[i][0],
            **_of(i),
        }
        for i, item in enumerate(ITEMS)
    ]


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


CASES: dict[str, tuple[str, Callable[[], str] | None, tuple[str, ...], list[str]]] = {
    "argilla2.json": ("Argilla", None, ("rater 1", "rater 2"), []),
    "argilla2_columns.jsonl": ("Argilla", None, ("rater 1", "rater 2"), []),
    "argilla1.json": ("Argilla", lambda: json.dumps(_argilla_1()), ("rater 1", "rater 2"), []),
    "argilla1.jsonl": ("Argilla", lambda: _lines(_argilla_1_columns()), ("rater 1", "rater 2"), []),
    "label_studio.json": ("Label Studio", None, ("ann@example.org", "ben@example.org"), []),
    "label_studio_min.json": ("Label Studio", None, ("ann@example.org", "ben@example.org"), []),
    "label_studio.csv": ("Label Studio", None, ("ann@example.org", "ben@example.org"), []),
    "langsmith.jsonl": ("LangSmith", lambda: _lines(_langsmith()), ("ann", "ben"), []),
    "langfuse.json": (
        "Langfuse",
        lambda: json.dumps({"data": _langfuse()}),
        ("ann", "ben"),
        [],
    ),
    "mlflow.jsonl": ("MLflow", None, ("ann", "ben"), []),
    "phoenix.jsonl": ("Phoenix", lambda: _lines(_phoenix()), ("ann", "ben"), []),
    "otel.jsonl": ("OpenTelemetry", lambda: _lines(_opentelemetry()), ("ann", "ben"), []),
    "promptfoo.json": ("promptfoo", lambda: json.dumps(_promptfoo()), ("human",), []),
    "inspect.eval": ("inspect", None, ("human",), []),
    "deepeval.json": ("DeepEval", None, ("human",), ["--column", "clarity=rating"]),
    "mturk.csv": ("MTurk", _mturk, ("ann", "ben"), []),
    "prodigy.jsonl": ("Prodigy", lambda: _lines(_prodigy()), ("ann", "ben"), []),
    "ragas.csv": ("ragas", _ragas, ("human",), []),
    "harness.jsonl": ("lm-evaluation-harness", lambda: _lines(_harness()), ("human",), []),
    "weave.jsonl": ("Weave", lambda: _lines(_weave()), ("ann", "ben"), []),
    "doccano.jsonl": ("doccano", lambda: _lines(_doccano()), ("annotator",), []),
    "prometheus.json": ("Prometheus", lambda: json.dumps(_prometheus()), ("human",), []),
    "trulens.csv": (
        "TruLens",
        _trulens,
        ("clarity",),
        ["--column", "clarity=rating"],
    ),
}


def file_of(name: str, folder: Path) -> Path:
    make = CASES[name][1]
    if make is None:
        return FILES / name
    (folder / name).write_text(make(), encoding="utf-8")
    return folder / name


def test_every_tool_is_tried() -> None:
    alone = {"AlpacaEval", "HELM", "OpenAI evals"}  # which hold nothing of people
    alone |= {"LeWiDi"}  # whose truth is another: tests/kinds/explanations/people
    assert {export.name for export in EXPORTS} == {tool for tool, *_ in CASES.values()} | alone


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("inspect.eval", "otel.jsonl")])
def test_an_empty_output_that_people_rated_is_the_text_and_no_other_field(name: str, tmp_path: Path) -> None:
    text = file_of(name, tmp_path).read_text(encoding="utf-8")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / name).write_text(text.replace(ITEMS[0]["text"], ""), encoding="utf-8")
    arguments = ["init", str(tmp_path / "new" / name), "--yes", "--out", str(tmp_path / "out")]
    assert main([*arguments, *CASES[name][3]]) == 0
    texts = me.load(tmp_path / "out" / "data").explanations.set_index("item_id")["explanation"]
    assert {item: text.strip('"') for item, text in texts.items()} == {
        item["item_id"]: item["text"] if n else "" for n, item in enumerate(ITEMS)
    }


@pytest.mark.parametrize("name", CASES)
def test_an_export_becomes_a_study_without_a_question(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool, _, people, options = CASES[name]
    place = file_of(name, tmp_path)
    out = tmp_path / "out"
    assert main(["init", str(place), "--yes", "--out", str(out), *options]) == 0
    said = capsys.readouterr()
    assert f"{tool} export" in said.out + said.err
    assert not (out / "map.yaml").exists()
    data = me.load(out / "data")
    assert tuple(data.raters) == people
    texts = data.explanations.set_index("item_id")["explanation"]
    assert {text.strip('"') for text in texts} == {item["text"] for item in ITEMS}
    ratings = data.ratings[data.ratings["rating"].notna()]
    aspect = {"promptfoo": "rating", "Prodigy": "rating", "doccano": "label", "Prometheus": "score"}.get(
        tool, "clarity"
    )
    assert set(ratings["aspect"]) == {aspect}
    table = ratings.pivot_table("rating", "item_id", "rater")[list(people)]
    expected = pd.DataFrame(BOTH, index=[item["item_id"] for item in ITEMS]).loc[table.index]
    assert (table.to_numpy() == expected.to_numpy()[:, : len(people)]).all()
    users = "user_id" in data.explanations
    assert users == (tool == "Langfuse")
    assert users or "No users are named" in said.out + said.err
    if "label_studio_min" in name or name in {
        "label_studio.csv",
        "mturk.csv",
        "prodigy.jsonl",
        "doccano.jsonl",
    }:
        return  # these hold no predictions
    text = (out / "study.yaml").read_text(encoding="utf-8")
    (out / "study.yaml").write_text(f"{text}bootstrap: null\ntests: null\ndetails: false\n", encoding="utf-8")
    assert main(["--quiet", "run", str(out / "study.yaml"), "--out", str(tmp_path / "run")]) == 0
    found = pd.read_csv(tmp_path / "run" / "correlations.csv")
    scorers = {"DeepEval": "Clear", "inspect": "judge", "ragas": "clarity"}
    scored = (scorers | {"lm-evaluation-harness": "lm-evaluation-harness"}).get(tool, "gpt-4")
    row = found[
        (found["evaluator"] == f"Recorded('{scored}')")
        & (found["level"] == "dataset")
        & (found["coefficient"] == "pearson")
        & (found["aspect"] == aspect)
    ]
    truth = pd.Series([sum(r[: len(people)]) / len(people) for r in BOTH])
    assert row["estimate"].item() == pytest.approx(truth.corr(pd.Series(MODEL)))
    assert row["n_units"].item() == len(ITEMS)


def test_whose_ratings_they_are_is_asked_for_where_no_field_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["init", str(FILES / "deepeval.json"), "--yes", "--out", str(out)]) == 2
    assert "say so: --column clarity=rating" in capsys.readouterr().err
    assert not out.exists()
    wrong = ["--column", "text=profile"]
    assert main(["init", str(FILES / "mlflow.jsonl"), "--yes", "--out", str(out), *wrong]) == 2
    assert "MLflow exports are known" in capsys.readouterr().err


def test_a_run_of_helm_is_scores_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    run.mkdir()
    states = [
        {
            "instance": {"id": f"id{i}", "input": {"text": item["item_id"]}, "split": "test"},
            "request": {"model": "team/writer", "prompt": "…"},
            "result": {"success": True, "completions": [{"text": item["text"], "logprob": 0}]},
        }
        for i, item in enumerate(ITEMS)
    ]
    stats = [
        {"instance_id": f"id{i}", "train_trial_index": 0, "stats": [{"name": {"name": "f1"}, "mean": v / 5}]}
        for i, v in enumerate(MODEL)
    ]
    (run / "scenario_state.json").write_text(json.dumps({"request_states": states}), encoding="utf-8")
    (run / "per_instance_stats.json").write_text(json.dumps(stats), encoding="utf-8")
    assert main(["init", str(run), "--yes", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "HELM" in said
    assert "no ratings of people (scores of tools: f1)" in said
    assert not (tmp_path / "out").exists()


def test_a_log_of_inspect_is_calibrated_in_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    place = str(FILES / "inspect.eval")
    assert main(["calibrate", place, "--resamples", "50", "--format", "json"]) == 0
    first = json.loads(capsys.readouterr().out)
    text = json.dumps(first)
    assert '"judge"' in text
    assert '"m"' not in text  # a number in the metadata
    assert main(["calibrate", place, "--people", "judge", "--resamples", "50"]) == 2  # no judge is left


def test_other_tables_are_no_exports(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item_id,text,rating\n1,a,2\n", encoding="utf-8")
    (tmp_path / "b.json").write_text("{not json", encoding="utf-8")
    assert recognised(str(tmp_path / "a.csv")) is None
    assert recognised(str(tmp_path / "b.json")) is None
    assert recognised(str(tmp_path / "none.json")) is None
