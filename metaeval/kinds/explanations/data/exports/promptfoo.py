"""promptfoo: `promptfoo eval -o results.json` or ``.jsonl``, with the ratings that people gave in its viewer.

An assertion of the type ``human`` is a person's; named scores, or else the score of the test, are scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.kinds.explanations.data.exports.shape import shape
from metaeval.kinds.explanations.data.recorded.promptfoo import status_of

_UNGRADED: dict[str, object] = {"componentResults": []}
_PARTS = [shape(assertion=shape()) | None]
_SHAPE = shape(
    vars=shape(), namedScores=shape(), testCase=shape(), gradingResult=shape(componentResults=_PARTS)
)


def _fits(record: Mapping[str, Any]) -> bool:
    return {"vars", "namedScores"} <= record.keys()


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, result in enumerate(records):
        variables, grade, response = result["vars"], result["gradingResult"], result.get("response")
        provider = result.get("provider")
        named = provider.get("label") or provider.get("id") if isinstance(provider, Mapping) else provider
        fields = {
            "item_title": text_in(variables),
            "output": text_in(response.get("output") if isinstance(response, Mapping) else response),
            "generator": named,
            **own_fields(variables, result["testCase"].get("metadata")),
        }
        graded = grade.get("reason", "") if grade != _UNGRADED else None
        status = status_of(result.get("failureReason"), result.get("error"), graded)
        yield Judged(str(result.get("id") or n), fields, [*_marks(result)], "output", status)


def _marks(result: Mapping[str, Any]) -> Iterator[Mark]:
    for part in result["gradingResult"]["componentResults"]:
        if part is not None and part["assertion"].get("type") == "human":
            yield Mark("rating", part.get("score", part.get("pass")), "human", person=True, named=False)
    named = result["namedScores"] or {"score": result.get("score")}
    for name, value in named.items():
        yield Mark(name, value, name, person=False)


PROMPTFOO = Export(
    *("promptfoo", "`promptfoo eval -o results.json` or `.jsonl`", _fits, _SHAPE, _read),
    ("results.results", "results"),
)
