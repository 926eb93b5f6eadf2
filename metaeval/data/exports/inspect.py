"""inspect: ``.eval`` and ``.json`` logs of inspect_ai, a folder of them, or the table of ``samples_df``.

Scorers are scores; one called ``human``, or those that the user names, are people's, and so is an edit of a
score, whose author is the rater. A score that is a mapping has a value per aspect. Epochs repeat one item.
Fields are those of ``EvalLog``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.base.errors import DataError
from metaeval.data.exports.export import (
    Export,
    Judged,
    Mark,
    flat,
    named_numbers,
    own_fields,
    text_in,
)
from metaeval.data.exports.shape import opened, shape
from metaeval.data.recorded.inspect_logs import number_of_value, status_of

_HUMAN = "human"
_SCORE = shape(history=[shape(provenance=shape())])
_OUTPUT = shape(choices=[shape(message=shape())])
_SAMPLE = shape("id", metadata=shape(), output=_OUTPUT, scores=dict[str, _SCORE])  # type: ignore[valid-type]
_SHAPE = shape(eval=shape(), samples=[_SAMPLE])


def _fits(record: Mapping[str, Any]) -> bool:
    log = {"eval", "status"} <= record.keys() and ("samples" in record or "results" in record)
    return log or {"eval_id", "sample_id", "epoch"} <= record.keys()


def _log(record: dict[str, Any]) -> object:
    """Return a row of `samples_df` as a log with one sample."""
    if "sample_id" not in record:
        return record
    parts = {
        part: {
            k.removeprefix(part): opened(v)
            for k, v in record.items()
            if k.startswith(part) and v not in (None, "")
        }
        for part in ("metadata_", "score_")
    }
    scores = {name: {"value": value} for name, value in parts["score_"].items()}
    _, _, text = str(record.get("messages") or "").rpartition("assistant:\n")
    sample = {"output": {"completion": text.strip()}, "metadata": parts["metadata_"], "scores": scores}
    kept = {k: record.get(k) for k in ("id", "epoch", "error", "limit", "input")}
    return {"eval": {"model": record.get("model")}, "samples": [kept | sample]}


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for log in records:
        if log.get("status") == "error" and not log["samples"]:
            told = opened(log.get("error"))
            why = told.get("message") if isinstance(told, Mapping) else told
            raise DataError(f"the evaluation in the log of inspect failed, and has no samples: {why}")
    by_table = "status" not in records[0]
    every = dict.fromkeys(name for log in records for sample in log["samples"] for name in sample["scores"])
    for log in records:
        scorers = (
            every
            if by_table
            else dict.fromkeys(name for sample in log["samples"] for name in sample["scores"])
        )
        for sample in log["samples"]:
            metadata, scores = sample["metadata"], sample["scores"]
            fields = {
                "item_title": text_in(sample.get("input")),
                "output": _completion(sample),
                "generator": log["eval"].get("model"),
                **own_fields(metadata),
            }
            marks = [m for name in scorers for m in _marks(name, scores.get(name), sample)]
            marks += named_numbers(metadata)
            nested = [f"`{k}`" for k, v in metadata.items() if isinstance(v, dict) and flat(v)]
            unread = [f"{', '.join(nested)} in the metadata: only single numbers are"] if nested else []
            yield Judged(sample["id"], fields, marks, "output", given=sample.get("input"), unread=unread)


def _completion(sample: Mapping[str, Any]) -> str:
    """Return what the model wrote."""
    output = sample["output"]
    messages = [choice["message"].get("content") for choice in output["choices"]]
    return text_in(output.get("completion") or next(iter(messages), None))


def _marks(scorer: str, score: Mapping[str, Any] | None, sample: Mapping[str, Any]) -> Iterator[Mark]:
    history = [] if score is None else score["history"]
    people = {n: who for n, edit in enumerate(history) if (who := edit["provenance"].get("author"))}
    for n, who in people.items():
        yield from _values(scorer, history[n].get("value"), str(who), person=True)
    if (
        people
        and (score := next((e for n, e in reversed([*enumerate(history)]) if n not in people), None)) is None
    ):
        return
    value = {} if score is None else score.get("value")
    values = value if isinstance(value, Mapping) and value else {scorer: None if value == {} else value}
    for aspect, one in values.items():
        number = number_of_value(one)
        given, status = one if number is None else number, status_of(sample, score)
        yield Mark(aspect, given, scorer, scorer == _HUMAN, failed=status)


def _values(scorer: str, value: object, who: str, *, person: bool) -> Iterator[Mark]:
    """Yield what a person made of a score, unless the value is as it was."""
    for aspect, one in value.items() if isinstance(value, Mapping) else [(scorer, value)]:
        if one not in (None, "UNCHANGED"):
            number = number_of_value(one)
            yield Mark(aspect, one if number is None else number, who, person)


INSPECT = Export(
    *(
        "inspect",
        "logs of an evaluation, `.eval` or `.json`, or a table of `samples_df`",
        _fits,
        _SHAPE,
        _read,
    ),
    first=_log,
)
