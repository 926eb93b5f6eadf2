"""inspect: ``.eval`` and ``.json`` logs of inspect_ai.

Scorers are scores; one called ``human``, or those that the user names, are people's. A score that is a
mapping has a value per aspect. Fields are those of ``EvalLog``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import (
    METADATA,
    OWN,
    Export,
    Judged,
    Mark,
    number_of,
    own_fields,
    text_in,
)
from metaeval.kinds.explanations.data.exports.shape import shape
from metaeval.kinds.explanations.data.recorded.inspect_logs import number_of_value, status_of

_HUMAN = "human"
_OUTPUT = shape(choices=[shape(message=shape())])
_SAMPLE = shape("id", metadata=shape(), output=_OUTPUT, scores=dict[str, shape()])  # type: ignore[misc]
_SHAPE = shape(eval=shape(), samples=[_SAMPLE])


def _fits(record: Mapping[str, Any]) -> bool:
    return {"eval", "samples", "status"} <= record.keys()


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for log in records:
        scorers = dict.fromkeys(name for sample in log["samples"] for name in sample["scores"])
        for sample in log["samples"]:
            metadata, scores = sample["metadata"], sample["scores"]
            fields = {
                "item_title": text_in(sample.get("input")),
                "output": _completion(sample),
                "generator": log["eval"].get("model"),
                **own_fields(metadata),
            }
            marks = [m for name in scorers for m in _marks(name, scores.get(name), sample)]
            marks += [
                Mark(name, value, METADATA, person=False)
                for name, value in metadata.items()
                if name not in OWN and number_of(value) is not None
            ]
            yield Judged(f"{sample['id']}-{sample.get('epoch', 1)}", fields, marks, "output")


def _completion(sample: Mapping[str, Any]) -> str:
    """Return what the model wrote."""
    output = sample["output"]
    messages = [choice["message"].get("content") for choice in output["choices"]]
    return text_in(output.get("completion") or next(iter(messages), None))


def _marks(scorer: str, score: Mapping[str, Any] | None, sample: Mapping[str, Any]) -> Iterator[Mark]:
    value = {} if score is None else score.get("value")
    values = value if isinstance(value, Mapping) and value else {scorer: None if value == {} else value}
    for aspect, one in values.items():
        number = number_of_value(one)
        given, status = one if number is None else number, status_of(sample, score)
        yield Mark(aspect, given, scorer, scorer == _HUMAN, failed=status)


INSPECT = Export("inspect", "the log of an evaluation, `.eval` or `.json`", _fits, _SHAPE, _read)
