"""LangSmith: runs with feedback, as JSON lines of the SDK or a CSV table.

Feedback whose source is the app is people's; of a model or an API it is a score. ``feedback_stats`` do not
say whose they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.kinds.explanations.data.exports.shape import opened, shape

_STATS = "feedback_stats"
_FEEDBACK = shape("key", feedback_source=shape(metadata=shape()))
_SHAPE = shape(feedback=[_FEEDBACK], feedback_stats=shape())


def _fits(record: Mapping[str, Any]) -> bool:
    told = any(k in {"feedback", _STATS} or k.startswith("feedback.") for k in record)
    return told and "outputs" in record and "inputs" in record


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, record in enumerate(records):
        extra = opened(record.get("extra")) or {}
        metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
        inputs = opened(record.get("inputs"))
        fields = {
            "item_title": text_in(inputs),
            "outputs": text_in(record.get("outputs")),
            **own_fields(inputs, metadata, record),
        }
        reference = opened(record.get("reference_outputs"))
        if reference:
            fields["reference"] = text_in(reference)
        name, failed = str(record.get("id") or n), record.get("error")
        yield Judged(name, fields, [*_marks(record)], "outputs", failed)


def _marks(record: Mapping[str, Any]) -> Iterator[Mark]:
    for given in record["feedback"]:
        source = given["feedback_source"]
        kind = str(source.get("type", "api"))
        value = given.get("score") if given.get("score") is not None else given.get("value")
        name = source.get("user_name") or source.get("user_id") or source["metadata"].get("model")
        yield Mark(given["key"], value, str(name or kind), kind == "app", named=bool(name))
    for key, stats in record[_STATS].items():
        yield Mark(key, stats.get("avg") if isinstance(stats, Mapping) else stats, key, person=False)
    for column, value in record.items():
        if column.startswith("feedback."):
            key = column.removeprefix("feedback.")
            yield Mark(key, value, key, person=False)


LANGSMITH = Export(
    "LangSmith", "runs with their feedback: `client.list_runs(…)`, or Export → CSV", _fits, _SHAPE, _read
)
