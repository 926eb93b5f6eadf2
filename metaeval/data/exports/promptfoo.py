"""promptfoo: the results of `promptfoo eval` as JSON, JSON lines or CSV, with ratings given in its viewer.

An assertion of the type ``human`` is a person's, and so is the score of a test whose reason is that of a
manual result; named scores, or else the score of the test, are promptfoo's. A CSV has one group of columns a
provider.

As recorded scores, a result is a row: the variables of its test, ``provider`` (label or id), ``prompt``
(label), ``description``, ``score``, and one column per named score, which promptfoo calls the `metric` of an
assertion. A variable with one of these names is ``vars.NAME``. Named scores that are aspects of the data set
count; where there is none, the score of the whole test counts for all aspects. The fields follow
``EvaluateResult`` of promptfoo's ``src/types/index.ts``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.base.errors import DataError, Problem, sound
from metaeval.base.records import Status
from metaeval.data.exports.export import Judged, Mark, judged, tool
from metaeval.data.exports.shape import content_of, opened, shape
from metaeval.data.recording import EVALUATOR, SCORE, Recording, Rows, ScoreMap
from metaeval.data.tables.entries import FromColumn, ScoreEntry
from metaeval.data.tables.table import check_text, read_table

_METRIC = "Metric: "
_ERROR = 2  # ResultFailureReason.ERROR: the provider failed; 1 is an assertion that did not hold
_NOTHING_ASSERTED = "No assertions"  # promptfoo gives such a test the score 1


_UNREAD = re.compile(r"Could not extract JSON from [\w:-]+ response")  # of a grader, before `graderError`
_LABEL = 60
"""Longest label of a prompt that is used as its name; the default label is the whole prompt."""
_MANUAL = "Manual result (overrides all other grading results)"
_PARTS = [shape(assertion=shape()) | None]
_SHAPE = shape(
    vars=shape(), namedScores=shape(), testCase=shape(), gradingResult=shape(componentResults=_PARTS)
)


def _fits(record: Mapping[str, Any]) -> bool:
    of_result = "namedScores" in record and bool({"vars", "testCase"} & record.keys())
    return of_result or {"Status", "Score", "Grader Reason"} <= record.keys()


def _results(record: dict[str, Any]) -> list[dict[str, Any]] | dict[str, Any]:
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
        "success": cells["Status"] == "PASS",
        "namedScores": named if isinstance(named, Mapping) else metrics,
        "failureReason": _ERROR if cells["Status"] == "ERROR" else 0,
        "gradingResult": {"reason": reason, "componentResults": manual},
    }


class Result(NamedTuple):
    """A result, whatever the form of its file."""

    provider: str
    """Its label, or its id."""
    prompt: str
    """Its label, or the prompt itself."""
    place: int
    """Of the prompt among all."""
    variables: Mapping[str, Any]
    fields: Mapping[str, Any]
    """The metadata and the variables of the test."""
    description: object
    output: object
    named: Mapping[str, Any]
    score: object
    status: Status | None
    """Why there is no score; None if there is one."""
    parts: Sequence[object]
    """What the assertions gave, one by one."""
    failed: frozenset[str]
    """The metrics of which a grader failed; promptfoo counts 0 for it, in them and in ``score``."""


def result_of(result: Mapping[str, Any]) -> Result:
    """Return what a result says; parts of it that are no objects are left out."""
    test, prompt = _object(result.get("testCase")), _object(result.get("prompt"))
    variables, given = _object(result.get("vars")), _object(test.get("vars"))
    provider, response, grade = (result.get(key) for key in ("provider", "response", "gradingResult"))
    of = _object(provider)
    graded = None if grade in (None, {"componentResults": []}) else _object(grade)
    reason = None if graded is None else graded.get("reason", "")
    parts, place = _object(grade).get("componentResults"), result.get("promptIdx")
    status = Status.MISSING if reason == _NOTHING_ASSERTED else None
    # Files of versions before `failureReason`: a test that was graded has a grade, whatever its error.
    if result.get("failureReason") == _ERROR or (reason is None and result.get("error")):
        status = Status.TRANSPORT
    return Result(
        provider=str((of.get("label") or of.get("id") or "") if isinstance(provider, Mapping) else provider),
        prompt=str(prompt.get("label") or prompt.get("raw") or ""),
        place=place if isinstance(place, int) else 0,
        variables=variables or given,
        fields={**_object(test.get("metadata")), **given, **variables},
        description=test.get("description") or result.get("description"),
        output=response.get("output") if isinstance(response, Mapping) else response,
        named=_object(result.get("namedScores")),
        score=result.get("score"),
        status=status,
        parts=parts if isinstance(parts, list) else [],
        failed=frozenset(_failed(parts if isinstance(parts, list) else [])),
    )


def _failed(parts: Sequence[object]) -> Iterator[str]:
    """Yield the metric of each assertion whose grader failed; an empty text where it has none."""
    for part in map(_object, parts):
        if _object(part.get("metadata")).get("graderError") or _UNREAD.fullmatch(str(part.get("reason"))):
            yield str(_object(part.get("assertion")).get("metric") or "")


@tool(
    "promptfoo",
    "`promptfoo eval -o results.json`, `.jsonl` or `.csv`",
    _fits,
    _SHAPE,
    ("results.results", "results", "body.outputs"),
    first=_results,
)
def promptfoo(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    """Read results of tests."""
    for n, record in enumerate(records):
        result = result_of(record)
        places = (result.variables, _object(record["testCase"].get("metadata")))
        by = {"generator": result.provider, "failed": result.status}
        name, given = record.get("id") or n, result.variables
        yield judged(name, given, result.output, _marks(result), *places, **by)


def _marks(result: Result) -> Iterator[Mark]:
    people = [
        part for part in map(_object, result.parts) if _object(part.get("assertion")).get("type") == "human"
    ]
    for part in people:
        yield Mark.by(None, "human", "rating", part.get("score", part.get("pass")), person=True)
    # Where somebody gave a manual result, the score of the test is that.
    for name, value in (result.named or ({} if people else {"score": result.score})).items():
        failed = name in result.failed if result.named else result.failed
        yield Mark(name, value, "promptfoo", failed=Status.TRANSPORT if failed else None)


def read(sources: Sequence[str], score_map: ScoreMap, aspects: Mapping[str, str]) -> Recording:
    """Read a file of results; see `metaeval.kinds.explanations.data.recorded.Reader`.

    `DataError` is raised if the file is not JSON, or not promptfoo's; with every line to blame.
    """
    (path,) = map(Path, sources)
    results, version = _results_in(path)
    rows = Rows(path.name, "vars")
    usable = [(row, result_of(result)) for row, result in results if _is_result(rows, row, result)]
    prompts = _prompt_names([r for _, r in usable])
    for row, result in usable:
        prompt = prompts.get(result.prompt, "")
        cells = {
            "provider": result.provider,
            "prompt": prompt,
            "description": result.description,
            EVALUATOR: f"{result.provider} {prompt}" if len(prompts) > 1 else result.provider,
            SCORE: None if result.status or result.failed else result.score,
        }
        named = {name: value for name, value in result.named.items() if name not in result.failed}
        status = result.status or (Status.TRANSPORT if result.failed and not named else None)
        rows.add(row, result.fields, cells, {} if status else named, status)
    overall = ScoreEntry(columns=[SCORE], evaluator=FromColumn(column=EVALUATOR))
    return rows.recording(rows.aspect_entries(aspects) or [overall], version)


def _results_in(path: Path) -> tuple[list[tuple[int, Any]], object]:
    """Return the rows and results of a file, and the version of promptfoo, if it says so."""
    if path.suffix.lower() == ".jsonl":
        table = sound(read_table(path))
        records = table.frame.to_dict("records")
        # Keys that only other lines have are None; promptfoo leaves such keys out.
        present = [{str(k): v for k, v in record.items() if v is not None} for record in records]
        return list(zip(table.rows.tolist(), present, strict=True)), ""
    if path.suffix.lower() == ".csv":
        found = [(n, _results(record)) for n, record in enumerate(content_of(path), start=2)]
        return [(n, one) for n, many in found for one in (many if isinstance(many, list) else [many])], ""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        content = json.loads(text)
        check_text(content, text)
    except (OSError, ValueError) as error:
        message = f"is not a JSON file: {error}; promptfoo writes one with -o results.json"
        raise DataError([Problem(path.name, None, None, message)]) from error
    results = _object(content).get("results")
    if isinstance(results, dict):
        results = results.get("results")
    if not isinstance(results, list) or not results:
        message = "holds no results of promptfoo; they stand under `results`, and in it `results`"
        raise DataError([Problem(path.name, None, None, message)])
    return list(enumerate(results, start=1)), _object(content.get("metadata")).get("promptfooVersion")


def _is_result(rows: Rows, row: int, result: object) -> bool:
    if not isinstance(result, dict):
        rows.wrong(row, None, "is not a result of promptfoo but " + repr(result)[:40])
        return False
    lacking = [k for k in ("provider", "score", "success") if k not in result]
    if lacking:
        there = ", ".join(list(result)[:8]) or "nothing"
        rows.wrong(row, lacking[0], f"is missing in a result of promptfoo, which has {there}")
        return False
    wrong = [
        k for k in ("vars", "testCase", "namedScores", "prompt") if not isinstance(result.get(k) or {}, dict)
    ]
    if wrong:
        rows.wrong(row, wrong[0], f"is {str(result[wrong[0]])[:40]!r}; promptfoo writes an object")
    return not wrong


def _object(value: object) -> dict[str, Any]:
    value = opened(value)
    return value if isinstance(value, dict) else {}


def _prompt_names(results: Sequence[Result]) -> dict[str, str]:
    """Return a short name for each prompt: its label, or a number if the label is the prompt itself."""
    places: dict[str, int] = {}
    for result in results:
        places[result.prompt] = min(result.place, places.get(result.prompt, result.place))
    ordered = sorted(places, key=lambda label: (places[label], label))
    return {
        label: label if len(label) <= _LABEL and label.isprintable() and "{{" not in label else f"prompt {n}"
        for n, label in enumerate(ordered, start=1)
    }
