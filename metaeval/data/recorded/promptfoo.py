"""promptfoo: ``promptfoo eval -o results.jsonl`` (one result per line) or ``-o results.json``.

A result becomes a row: the variables of its test, ``provider`` (label or id), ``prompt`` (label),
``description``, ``score``, and one column per named score, which promptfoo calls the `metric` of an
assertion. A variable with one of these names is ``vars.NAME``. Named scores that are aspects of the data set
count; where there is none, the score of the whole test counts for all aspects. The fields follow
``EvaluateResult`` of promptfoo's ``src/types/index.ts``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.base.errors import DataError, Problem, sound
from metaeval.base.records import Status
from metaeval.data.recorded.recording import EVALUATOR, SCORE, Recording, Rows, ScoreMap
from metaeval.data.tables.entries import FromColumn, ScoreEntry
from metaeval.data.tables.table import check_text, read_table

_ERROR = 2  # ResultFailureReason.ERROR: the provider failed; 1 is an assertion that did not hold
_NOTHING_ASSERTED = "No assertions"  # promptfoo gives such a test the score 1
_LABEL = 60
"""Longest label of a prompt that is used as its name; the default label is the whole prompt."""


def read(source: str, score_map: ScoreMap, aspects: Mapping[str, str]) -> Recording:
    """Read a file of results; see `metaeval.kinds.explanations.data.recorded.Reader`.

    `DataError` is raised if the file is not JSON, or not promptfoo's; with every line to blame.
    """
    path = Path(source)
    results, version = _jsonl(path) if path.suffix.lower() == ".jsonl" else _json(path)
    rows = Rows(path.name, "vars")
    usable = [(row, result) for row, result in results if _is_result(rows, row, result)]
    prompts = _prompt_names([r for _, r in usable])
    for row, result in usable:
        test = _object(result.get("testCase"))
        fields = {**_object(test.get("metadata")), **_object(test.get("vars")), **_object(result.get("vars"))}
        provider, prompt = _provider(result), prompts.get(_label(result), "")
        grading = result.get("gradingResult")
        grade = grading.get("reason", "") if isinstance(grading, dict) else None
        status = status_of(result.get("failureReason"), result.get("error"), grade)
        named = {} if status else _object(result.get("namedScores"))
        cells = {
            "provider": provider,
            "prompt": prompt,
            "description": test.get("description") or result.get("description"),
            EVALUATOR: f"{provider} {prompt}" if len(prompts) > 1 else provider,
            SCORE: None if status else result.get("score"),
        }
        rows.add(row, fields, cells, named, status)
    overall = ScoreEntry(columns=[SCORE], evaluator=FromColumn(column=EVALUATOR))
    return rows.recording(rows.aspect_entries(aspects) or [overall], version)


def _jsonl(path: Path) -> tuple[list[tuple[int, dict[str, Any]]], object]:
    table = sound(read_table(path))
    records = table.frame.to_dict("records")
    # Keys that only other lines have are None; promptfoo leaves such keys out.
    present = [{str(k): v for k, v in record.items() if v is not None} for record in records]
    return list(zip(table.rows.tolist(), present, strict=True)), ""


def _json(path: Path) -> tuple[list[tuple[int, dict[str, Any]]], object]:
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
    return value if isinstance(value, dict) else {}


def status_of(failure: object, error: object, grade: str | None) -> Status | None:
    """Return why a result has no score; None if it has one. ``grade`` is the reason of its grade, if any."""
    # Files of versions before `failureReason`: a test that was graded has a grade, whatever its error.
    if failure == _ERROR or (grade is None and error):
        return Status.TRANSPORT
    return Status.MISSING if grade == _NOTHING_ASSERTED else None


def _provider(result: Mapping[str, Any]) -> str:
    provider = result["provider"]
    return str(provider.get("label") or provider.get("id") or "" if isinstance(provider, dict) else provider)


def _label(result: Mapping[str, Any]) -> str:
    prompt = _object(result.get("prompt"))
    return str(prompt.get("label") or prompt.get("raw") or "")


def _prompt_names(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return a short name for each prompt: its label, or a number if the label is the prompt itself."""
    places: dict[str, int] = {}
    for result in results:
        label, place = _label(result), result["promptIdx"] if isinstance(result.get("promptIdx"), int) else 0
        places[label] = min(place, places.get(label, place))
    ordered = sorted(places, key=lambda label: (places[label], label))
    return {
        label: label if len(label) <= _LABEL and label.isprintable() and "{{" not in label else f"prompt {n}"
        for n, label in enumerate(ordered, start=1)
    }
