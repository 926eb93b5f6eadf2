"""What tools scored: DeepEval, ragas, lm-evaluation-harness, HELM, Prometheus, AlpacaEval, OpenAI's evals.

Their numbers are scores: of DeepEval by the evaluation model (` [GEval]` in a name is the kind of the
metric). Those of people are columns, metrics without a model, or fields of metadata or a document, that are
named for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaeval.data.exports.export import (
    OWN,
    Judged,
    Mark,
    Record,
    flat,
    has,
    judged,
    named_numbers,
    number_of,
    own_fields,
    text_in,
    tool,
)
from metaeval.data.exports.shape import is_given, opened, shape

_MORE = {key: shape() for key in ("additional_metadata", "additionalMetadata", "metadata")}


@tool(
    "DeepEval",
    "`EvaluationResult.model_dump_json()`, or the JSON of a test run",
    has("metricsData", "metrics_data"),
    shape(metricsData=[shape("name")], metrics_data=[shape("name")], **_MORE),
    ("testCases", "test_results", "testResults", "testRunData.testCases"),
)
def deepeval(records: Sequence[Record]) -> Iterator[Judged]:
    """Read test cases, or results."""
    for n, case in enumerate(records):
        more = case["additional_metadata"] or case["additionalMetadata"] or case["metadata"]
        made = case.get("actual_output") or case.get("actualOutput")
        expected = text_in(case.get("expected_output") or case.get("expectedOutput"))
        marks = [_metric(metric) for metric in case["metricsData"] or case["metrics_data"]]
        yield judged(n, case.get("input"), made, [*marks, *named_numbers(more)], more, reference=expected)


def _metric(metric: Record) -> Mark:
    name = metric["name"].removesuffix(" [GEval]")
    model = metric.get("evaluation_model") or metric.get("evaluationModel")
    return Mark(name, metric.get("score"), str(model or name), failed=metric.get("error"))


_SAMPLE = {
    *("user_input", "response", "reference", "retrieved_contexts", "reference_contexts", "rubrics"),
    *("retrieved_context_ids", "reference_context_ids", "multi_responses", "persona_name"),
    *("query_style", "query_length", *OWN),
}
"""Fields of a `SingleTurnSample` of ragas; what else its frames have are metrics."""


def _is_of_ragas(record: Record) -> bool:
    more = [v for k, v in record.items() if k not in _SAMPLE and is_given(v)]
    numbers = [v for v in more if number_of(v) is not None]
    return has("user_input response")(record) and len(numbers) == len(more) > 0


@tool("ragas", "`result.to_pandas()`, with columns of people, as CSV, JSON or Parquet", _is_of_ragas, shape())
def ragas(records: Sequence[Record]) -> Iterator[Judged]:
    """Read rows, in which what is no field of a sample is a metric."""
    columns = dict.fromkeys(c for record in records for c in record if c not in _SAMPLE)
    metrics = [c for c in columns if any(number_of(r.get(c)) != n for n, r in enumerate(records))]  # no index
    for n, record in enumerate(records):
        given, made = opened(record.get("user_input")), record.get("response")
        marks = [Mark(c, record.get(c), c) for c in metrics]
        yield judged(n, given, made, marks, record, text="response", response=made)


@tool(
    "lm-evaluation-harness",
    "the samples of `--log_samples`, JSON lines",
    has("doc_id doc filtered_resps"),
    shape("doc_id", doc=shape(), metrics=[str]),
)
def harness(records: Sequence[Record]) -> Iterator[Judged]:
    """Read samples; a version that lists no metrics has them as numbers beside the document."""
    for record in records:
        document = record["doc"]
        numbers = [k for k, v in record.items() if isinstance(v, int | float)]
        names = record["metrics"] or [k for k in numbers if k not in ("doc_id", "target")]
        made = opened(record.get("filtered_resps")) or opened(record.get("resps"))
        by = f" ({record['filter']})" if record.get("filter", "none") != "none" else ""
        marks = [Mark(f"{name}{by}", record.get(name), "lm-evaluation-harness") for name in names]
        fields = {"item_title": text_in(document), "output": text_in(made), **own_fields(document)}
        yield Judged(record["doc_id"], fields, [*marks, *named_numbers(document)], "output")


_STAT = shape(name=shape("name"))


@tool(
    "HELM",
    "the folder of a run: `scenario_state.json` and `per_instance_stats.json`",
    has("instance request", "instance_id stats"),
    shape(instance=shape(input=shape()), request=shape(), result=shape(), stats=[_STAT]),
    ("request_states",),
)
def helm(records: Sequence[Record]) -> Iterator[Judged]:
    """Read what a model was asked, and statistics of it."""
    scored: dict[str, Sequence[Record]] = {}
    for record in records:
        if not record.get("perturbation"):
            scored.setdefault(str(record.get("instance_id")), record["stats"])
    states = {str(r["instance"]["id"]): r for r in records if "id" in r["instance"]}
    for name, state in states.items():
        made, given = (state["result"].get("completions") or [""])[0], state["instance"].get("input")
        marks = [Mark(str(s["name"].get("name")), s.get("mean"), "HELM") for s in scored.get(name, ())]
        told = {
            "generator": state["request"].get("model"),
            "failed": not state["result"].get("success", True),
        }
        yield judged(name, given, made, marks, **told)


@tool(
    "Prometheus",
    "data of the form of its Feedback Collection, whose scores are GPT-4's",
    has("orig_instruction orig_response orig_score"),
    shape("orig_score"),
)
def prometheus(records: Sequence[Record]) -> Iterator[Judged]:
    """Read responses with their scores."""
    for n, record in enumerate(records):
        given, made = record.get("orig_instruction"), record.get("orig_response")
        people = [mark for mark in named_numbers(record) if mark.aspect != "orig_score"]
        marks, texts = (
            [Mark("score", record["orig_score"], "gpt-4"), *people],
            {"item_title": given, "response": made},
        )
        yield judged(n, given, made, marks, record, text="response", **texts)


@tool("AlpacaEval", "`annotations.json`", has("instruction output_1 output_2 annotator preference"), shape())
def alpaca(records: Sequence[Record]) -> Iterator[Judged]:
    """Read verdicts on pairs, which are no scores of a text."""
    for n, record in enumerate(records):
        who = record.get("annotator")
        why = f"preferences of {who} between two outputs, which are a model's verdicts on pairs"
        yield Judged(str(n), {"output": record.get("output_2")}, (), "output", unread=[why])


@tool(
    "OpenAI evals",
    "the log of `oaieval`, JSON lines",
    has("run_id event_id sample_id type data"),
    shape(data=shape()),
)
def openai(records: Sequence[Record]) -> Iterator[Judged]:
    """Read events, several of each sample."""
    samples: dict[str, dict[str, Record]] = {}
    for record in records:
        if is_given(record.get("sample_id")):
            samples.setdefault(str(record["sample_id"]), {})[str(record.get("type"))] = record["data"]
    for sample, parts in samples.items():
        sampling = parts.get("sampling", {})
        said = {**flat(parts.get("match", {})), **flat(parts.get("metrics", {}))}
        marks = [Mark(name, value, "evals") for name, value in said.items() if number_of(value) is not None]
        yield judged(sample, sampling.get("prompt"), sampling.get("sampled"), marks)
