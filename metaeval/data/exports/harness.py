"""What tools scored alone: ragas, lm-evaluation-harness, HELM, AlpacaEval, OpenAI's evals, Prometheus.

Their numbers are scores of the tool. People's are columns, or fields of a document, named for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import (
    OWN,
    Export,
    Judged,
    Mark,
    flat,
    named_numbers,
    number_of,
    own_fields,
    text_in,
)
from metaeval.data.exports.shape import is_given, opened, shape

_SAMPLE = {
    *("user_input", "response", "reference", "retrieved_contexts", "reference_contexts", "rubrics"),
    *("retrieved_context_ids", "reference_context_ids", "multi_responses", "persona_name"),
    *("query_style", "query_length", *OWN),
}
"""Fields of a `SingleTurnSample` of ragas; what else its frames have are metrics."""


def _is_of_ragas(record: Mapping[str, Any]) -> bool:
    more = [v for k, v in record.items() if k not in _SAMPLE and is_given(v)]
    numbers = [v for v in more if number_of(v) is not None]
    return {"user_input", "response"} <= record.keys() and len(numbers) == len(more) > 0


def _of_ragas(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    columns = dict.fromkeys(c for record in records for c in record if c not in _SAMPLE)
    index = [c for c in columns if all(number_of(r.get(c)) == n for n, r in enumerate(records))]
    for n, record in enumerate(records):
        given, made = opened(record.get("user_input")), record.get("response")
        fields = {"item_title": text_in(given), "response": made, **own_fields(record)}
        marks = [Mark(c, record.get(c), c, person=False) for c in columns if c not in index]
        yield Judged(str(n), fields, marks, "response", given=given)


def _of_harness(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for record in records:
        document, names = record["doc"], record["metrics"] or _metrics(record)
        made = opened(record.get("filtered_resps")) or opened(record.get("resps"))
        fields = {"item_title": text_in(document), "output": text_in(made), **own_fields(document)}
        by = f" ({record['filter']})" if record.get("filter", "none") != "none" else ""
        marks = [
            Mark(f"{name}{by}", record.get(name), "lm-evaluation-harness", person=False) for name in names
        ]
        yield Judged(record["doc_id"], fields, [*marks, *named_numbers(document)], "output")


def _metrics(record: Mapping[str, Any]) -> list[str]:
    """Return the metrics of a version that does not list them: the numbers beside those of the document."""
    return [k for k, v in record.items() if isinstance(v, int | float) and k not in ("doc_id", "target")]


def _of_alpaca(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, record in enumerate(records):
        who = record.get("annotator")
        why = f"preferences of {who} between two outputs, which are a model's verdicts on pairs"
        yield Judged(str(n), {"output": record.get("output_2")}, (), "output", unread=[why])


def _of_openai(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    samples: dict[str, dict[str, Mapping[str, Any]]] = {}
    for record in records:
        if is_given(record.get("sample_id")):
            samples.setdefault(str(record["sample_id"]), {})[str(record.get("type"))] = record["data"]
    for sample, parts in samples.items():
        sampling = parts.get("sampling", {})
        fields = {"item_title": text_in(sampling.get("prompt")), "output": text_in(sampling.get("sampled"))}
        marks = [
            Mark(name, value, "evals", person=False)
            for kind in ("match", "metrics")
            for name, value in flat(parts.get(kind, {})).items()
            if number_of(value) is not None
        ]
        yield Judged(sample, fields, marks, "output", given=sampling.get("prompt"))


def _of_helm(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    states = {str(r["instance"]["id"]): r for r in records if "id" in r["instance"]}
    scored: dict[str, Sequence[Mapping[str, Any]]] = {}
    for record in records:
        if not record.get("perturbation"):
            scored.setdefault(str(record.get("instance_id")), record["stats"])
    for name, state in states.items():
        made = [text_in(one) for one in state["result"].get("completions") or [""]]
        given = state["instance"].get("input")
        fields = {"item_title": text_in(given), "output": made[0], "generator": state["request"].get("model")}
        marks = [Mark(str(s["name"].get("name")), s.get("mean"), "HELM", False) for s in scored.get(name, ())]
        yield Judged(name, fields, marks, "output", not state["result"].get("success", True), given)


def _of_prometheus(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, record in enumerate(records):
        given = record.get("orig_instruction")
        fields = {"item_title": given, "response": record.get("orig_response"), **own_fields(record)}
        marks = [Mark("score", record["orig_score"], "gpt-4", person=False), *named_numbers(record)]
        yield Judged(str(n), fields, [m for m in marks if m.aspect != "orig_score"], "response", given=given)


RAGAS = Export(
    *("ragas", "`result.to_pandas()`, with columns of people, as CSV, JSON or Parquet", _is_of_ragas),
    *(shape(), _of_ragas),
)
HARNESS = Export(
    *("lm-evaluation-harness", "the samples of `--log_samples`, JSON lines"),
    lambda record: {"doc_id", "doc", "filtered_resps"} <= record.keys(),
    *(shape("doc_id", doc=shape(), metrics=[str]), _of_harness),
)
_STAT = shape(name=shape("name"))
HELM = Export(
    *("HELM", "the folder of a run: `scenario_state.json` and `per_instance_stats.json`"),
    lambda record: {"instance", "request"} <= record.keys() or {"instance_id", "stats"} <= record.keys(),
    *(shape(instance=shape(input=shape()), request=shape(), result=shape(), stats=[_STAT]), _of_helm),
    within=("request_states",),
)
PROMETHEUS = Export(
    *("Prometheus", "data of the form of its Feedback Collection, whose scores are GPT-4's"),
    lambda record: {"orig_instruction", "orig_response", "orig_score"} <= record.keys(),
    *(shape("orig_score"), _of_prometheus),
)
ALPACA = Export(
    *("AlpacaEval", "`annotations.json`"),
    lambda record: {"instruction", "output_1", "output_2", "annotator", "preference"} <= record.keys(),
    *(shape(), _of_alpaca),
)
OPENAI = Export(
    *("OpenAI evals", "the log of `oaieval`, JSON lines"),
    lambda record: {"run_id", "event_id", "sample_id", "type", "data"} <= record.keys(),
    *(shape(data=shape()), _of_openai),
)
