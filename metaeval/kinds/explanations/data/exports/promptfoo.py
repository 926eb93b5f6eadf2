"""promptfoo: `promptfoo eval -o results.json` or ``.jsonl``, with the ratings that people gave in its viewer.

An assertion of the type ``human`` is a person's; named scores, or else the score of the test, are scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, own_fields, text_in


def _fits(record: Mapping[str, Any]) -> bool:
    results = _results([record])
    return bool(results) and {"vars", "namedScores"} <= results[0].keys()


def _results(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for record in records:
        inner = record.get("results")
        inner = inner.get("results") if isinstance(inner, Mapping) else inner
        found += inner if isinstance(inner, list) else [record]
    return found


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, result in enumerate(_results(records)):
        variables = result.get("vars") or {}
        provider = result.get("provider") or {}
        named = provider.get("label") or provider.get("id") if isinstance(provider, Mapping) else provider
        fields = {
            "item_title": text_in(variables),
            "output": text_in((result.get("response") or {}).get("output")),
            "generator": named,
            **own_fields(variables, (result.get("testCase") or {}).get("metadata")),
        }
        yield Judged(str(result.get("id") or n), fields, [*_marks(result)], "output")


def _marks(result: Mapping[str, Any]) -> Iterator[Mark]:
    for part in (result.get("gradingResult") or {}).get("componentResults") or ():
        if ((part or {}).get("assertion") or {}).get("type") == "human":
            yield Mark("rating", part.get("score", part.get("pass")), "human", person=True)
    named = result.get("namedScores") or {"score": result.get("score")}
    for name, value in named.items():
        yield Mark(name, value, name, person=False)


PROMPTFOO = Export("promptfoo", "`promptfoo eval -o results.json` or `.jsonl`", _fits, _read)
