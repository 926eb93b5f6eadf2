"""LangSmith: runs with feedback, as JSON lines of the SDK or a CSV table.

Feedback whose source is the app is people's; of a model or an API it is a score. ``feedback_stats`` do not
say whose they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, opened, own_fields, text_in

_STATS = "feedback_stats"


def _fits(record: Mapping[str, Any]) -> bool:
    told = any(k in {"feedback", _STATS} or k.startswith("feedback.") for k in record)
    return told and "outputs" in record and "inputs" in record


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, record in enumerate(records):
        extra = opened(record.get("extra")) or {}
        metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
        inputs = opened(record["inputs"])
        fields = {
            "item_title": text_in(inputs),
            "outputs": text_in(record["outputs"]),
            **own_fields(inputs, metadata, record),
        }
        reference = opened(record.get("reference_outputs"))
        if reference:
            fields["reference"] = text_in(reference)
        yield Judged(str(record.get("id") or n), fields, [*_marks(record)], "outputs")


def _marks(record: Mapping[str, Any]) -> Iterator[Mark]:
    for given in opened(record.get("feedback")) or ():
        source = given.get("feedback_source") or {}
        kind = source.get("type", "api")
        value = given.get("score") if given.get("score") is not None else given.get("value")
        named = (
            source.get("user_name") or source.get("user_id") or (source.get("metadata") or {}).get("model")
        )
        yield Mark(str(given["key"]), value, str(named or kind), person=kind == "app")
    for key, stats in (opened(record.get(_STATS)) or {}).items():
        yield Mark(key, stats.get("avg") if isinstance(stats, Mapping) else stats, key, person=False)
    for column, value in record.items():
        if column.startswith("feedback."):
            key = column.removeprefix("feedback.")
            yield Mark(key, value, key, person=False)


LANGSMITH = Export(
    "LangSmith", "runs with their feedback: `client.list_runs(…)`, or Export → CSV", _fits, _read
)
