"""promptfoo: the results of `promptfoo eval` as JSON, JSON lines or CSV, with ratings given in its viewer.

An assertion of the type ``human`` is a person's, and so is the score of a test whose reason is that of a
manual result; named scores, or else the score of the test, are promptfoo's. A CSV has one group of columns a
provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.data.exports.shape import opened, shape
from metaeval.data.recorded.promptfoo import status_of

_METRIC, _ERROR = "Metric: ", 2
_MANUAL = "Manual result (overrides all other grading results)"
_UNGRADED: dict[str, object] = {"componentResults": []}
_PARTS = [shape(assertion=shape()) | None]
_SHAPE = shape(
    vars=shape(), namedScores=shape(), testCase=shape(), gradingResult=shape(componentResults=_PARTS)
)


def _fits(record: Mapping[str, Any]) -> bool:
    of_result = "namedScores" in record and bool({"vars", "testCase"} & record.keys())
    return of_result or {"Status", "Score", "Grader Reason"} <= record.keys()


def _results(record: dict[str, Any]) -> object:
    """Return the results in a row of a CSV: the variables, and for each provider a group of columns."""
    columns = [*record]
    starts = [at - 1 for at, column in enumerate(columns) if at and _plain(column) == "Status"]
    if not starts:
        return record
    variables = {c: record[c] for c in columns[: starts[0]]}
    return [
        _result(variables, {_plain(c): record[c] for c in columns[at:end]}, columns[at])
        for at, end in zip(starts, [*starts[1:], len(columns)], strict=True)
    ]


def _plain(column: str) -> str:
    return re.sub(r" \(\d+\)$", "", column)


def _result(variables: Mapping[str, Any], cells: Mapping[str, Any], head: str) -> dict[str, Any]:
    metrics = {c.removeprefix(_METRIC): v for c, v in cells.items() if c.startswith(_METRIC)}
    named, reason = opened(cells.get("Named Scores")), cells.get("Grader Reason")
    manual = [{"assertion": {"type": "human"}, "score": cells.get("Score")}] * (reason == _MANUAL)
    return {
        "vars": variables,
        "provider": head[1:].partition("] ")[0] if head[:1] == "[" else head,
        "response": {"output": cells.get(_plain(head))},
        "score": cells.get("Score"),
        "namedScores": named if isinstance(named, Mapping) else metrics,
        "failureReason": _ERROR if cells["Status"] == "ERROR" else 0,
        "gradingResult": {"reason": reason, "componentResults": manual},
    }


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, result in enumerate(records):
        variables = result["vars"] or opened(result["testCase"].get("vars")) or {}
        grade, response = result["gradingResult"], result.get("response")
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
        yield Judged(str(result.get("id") or n), fields, [*_marks(result)], "output", status, variables)


def _marks(result: Mapping[str, Any]) -> Iterator[Mark]:
    parts = [part for part in result["gradingResult"]["componentResults"] if part is not None]
    people = [part for part in parts if part["assertion"].get("type") == "human"]
    for part in people:
        yield Mark("rating", part.get("score", part.get("pass")), "human", person=True, named=False)
    # Where somebody gave a manual result, the score of the test is that.
    named = result["namedScores"] or ({} if people else {"score": result.get("score")})
    for name, value in named.items():
        yield Mark(name, value, "promptfoo", person=False)


PROMPTFOO = Export(
    *("promptfoo", "`promptfoo eval -o results.json`, `.jsonl` or `.csv`", _fits, _SHAPE, _read),
    ("results.results", "results", "body.outputs"),
    first=_results,
)
