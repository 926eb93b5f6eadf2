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

_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_HUMAN = "human"


def _fits(record: Mapping[str, Any]) -> bool:
    return {"eval", "samples", "status"} <= record.keys()


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for log in records:
        for sample in log.get("samples") or ():
            metadata = sample.get("metadata") or {}
            fields = {
                "item_title": text_in(sample.get("input")),
                "output": _completion(sample),
                "generator": (log.get("eval") or {}).get("model"),
                **own_fields(metadata),
            }
            marks = [m for name, score in (sample.get("scores") or {}).items() for m in _marks(name, score)]
            marks += [
                Mark(name, value, METADATA, person=False)
                for name, value in metadata.items()
                if name not in OWN and number_of(value) is not None
            ]
            yield Judged(f"{sample['id']}-{sample.get('epoch', 1)}", fields, marks, "output")


def _completion(sample: Mapping[str, Any]) -> str:
    """Return what the model wrote."""
    output = sample.get("output") or {}
    choices = output.get("choices") or [{}]
    return text_in(output.get("completion") or (choices[0].get("message") or {}).get("content"))


def _marks(scorer: str, score: Mapping[str, Any]) -> Iterator[Mark]:
    value = score.get("value")
    for aspect, one in value.items() if isinstance(value, Mapping) else [(scorer, value)]:
        yield Mark(aspect, _GRADES.get(one, one) if isinstance(one, str) else one, scorer, scorer == _HUMAN)


INSPECT = Export("inspect", "the log of an evaluation, `.eval` or `.json`", _fits, _read)
