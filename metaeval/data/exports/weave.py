"""Weave: calls with their feedback, as JSON or JSON lines (`summary.weave.feedback` of each call).

Annotations and thumbs are people's, by creator. The feedback of scorers (`wandb.runnable.*`), and the scores
of an evaluation, are scores. Feedback of one's own type is by nobody that is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import METADATA, Export, Judged, Mark, flat, own_fields, text_in
from metaeval.data.exports.shape import shape

_REACTIONS = {"👍": 1.0, "👎": 0.0}
_FEEDBACK = shape("feedback_type", payload=shape())
_SHAPE = shape("id", summary=shape(weave=shape(feedback=[_FEEDBACK])), feedback=[_FEEDBACK])
_NO_INPUTS = ("self", "model")


def _fits(record: Mapping[str, Any]) -> bool:
    return "op_name" in record and bool({"summary", "feedback"} & record.keys())


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for record in records:
        inputs, made = record.get("inputs"), record.get("output")
        if isinstance(inputs, Mapping):
            inputs = {k: v for k, v in inputs.items() if k not in _NO_INPUTS}
        scores: Mapping[str, Any] = {}
        if "predict_and_score" in str(record.get("op_name")) and isinstance(made, Mapping):
            scores, made = made.get("scores") or {}, made.get("output", made.get("model_output"))
        example = inputs.get("example") if isinstance(inputs, Mapping) else None
        fields = {
            "item_title": text_in(inputs),
            "output": text_in(made),
            **own_fields(record.get("attributes"), inputs, example),
        }
        said = (record["summary"].get("weave") or {}).get("feedback") or record["feedback"]
        marks = [mark for given in said for mark in _marks(given)]
        marks += [
            Mark(name.rpartition(".")[2], value, name.partition(".")[0], person=False)
            for name, value in flat(scores).items()
        ]
        yield Judged(record["id"], fields, marks, "output", record.get("exception"), given=inputs)


def _marks(given: Mapping[str, Any]) -> Iterator[Mark]:
    kind, payload = given["feedback_type"], given["payload"]
    who = given.get("creator") or given.get("wb_user_id")
    if kind.startswith("wandb.annotation."):
        name = kind.removeprefix("wandb.annotation.")
        yield Mark(name, payload.get("value"), str(who or "annotator"), person=True, named=bool(who))
    elif kind.startswith("wandb.reaction"):
        thumb = _REACTIONS.get(str(payload.get("emoji"))[:1])
        yield Mark("reaction", thumb, str(who or "annotator"), person=True, named=bool(who))
    elif kind.startswith("wandb.runnable."):
        scorer = kind.removeprefix("wandb.runnable.")
        for name, value in flat(payload.get("output"), scorer).items():
            yield Mark(name.rpartition(".")[2], value, scorer, person=False)
    elif not kind.startswith("wandb."):
        for value in (v for k, v in flat(payload).items() if k in ("value", "score", "rating")):
            yield Mark(kind, value, METADATA, person=False)


WEAVE = Export(*("Weave", "calls with feedback, as JSON or JSON lines", _fits, _SHAPE, _read))
