"""LangSmith: runs with feedback, as JSON lines of the SDK or a CSV table.

Feedback whose source is the app is people's; of a model or an API it is a score, as are the columns of an
experiment's table. ``feedback_stats`` are averages over all sources, people too: nobody's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import (
    OWN,
    Export,
    Judged,
    Mark,
    named_numbers,
    number_of,
    own_fields,
    text_in,
)
from metaeval.data.exports.shape import keys_of, opened, shape

_STATS = "feedback_stats"
_FEEDBACK = shape("key", feedback_source=shape(metadata=shape()))
_PARTS = {part: shape() for part in ("inputs", "reference_outputs", "reference", _STATS)}
_SHAPE = shape(feedback=[_FEEDBACK], **_PARTS)
_NO_SOURCE = (
    "the averages in feedback_stats, which are over all sources, people and tools, and so nobody's; add the "
    "list `feedback` to each run: client.list_feedback(run_ids=[run.id])"
)


def _fits(record: Mapping[str, Any]) -> bool:
    keys = keys_of(record)
    return {"inputs", "outputs"} <= keys and bool({"feedback", _STATS} & keys)


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, record in enumerate(records):
        extra = opened(record.get("extra")) or {}
        metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
        inputs, reference = record["inputs"], record["reference_outputs"] or record["reference"]
        made = record.get("outputs") or {k: v for k, v in record.items() if k.startswith("outputs.")}
        fields = {
            "item_title": text_in({k: v for k, v in inputs.items() if k not in OWN}),
            "outputs": text_in(made),
            "reference": text_in({k: v for k, v in reference.items() if number_of(v) is None}),
            **own_fields(inputs, metadata, {k: v for k, v in record.items() if k != "reference"}),
        }
        name, failed = str(record.get("id") or n), record.get("error")
        unread = [_NO_SOURCE] if record[_STATS] and not record["feedback"] else []
        marks = [*_marks(record), *named_numbers(reference)]
        yield Judged(name, fields, marks, "outputs", failed, inputs, unread)


def _marks(record: Mapping[str, Any]) -> Iterator[Mark]:
    for given in record["feedback"]:
        source = given["feedback_source"]
        kind = str(source.get("type", "api"))
        value = given.get("score") if given.get("score") is not None else given.get("value")
        name = source.get("user_name") or source.get("user_id") or source["metadata"].get("model")
        yield Mark(given["key"], value, str(name or kind), kind == "app", named=bool(name))
    for column, value in record.items():
        if column.startswith("feedback."):
            key = column.removeprefix("feedback.")
            yield Mark(key, value, key, person=False)


LANGSMITH = Export(
    "LangSmith",
    "runs with their feedback: `client.list_runs(…)`, or `to_pandas()` of an experiment",
    _fits,
    _SHAPE,
    _read,
)
