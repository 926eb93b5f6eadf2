"""inspect: ``.eval`` and ``.json`` logs of inspect_ai, a folder of them, or the table of ``samples_df``.

As an export, scorers are scores; one called ``human``, or those that the user names, are people's, and so is
an edit of a score, whose author is the rater. A score that is a mapping has a value per aspect. Epochs repeat
one item.

As recorded scores, a sample becomes one row per scorer: the fields of the sample's metadata, ``id``,
``epoch``, ``task``, ``model``, ``scorer`` and ``score``. A score that is a mapping has one column per key
instead. A field of the metadata with one of these names is ``metadata.NAME``. A scorer is an evaluator; but
where scorers have the names of aspects of the data set, the model is the evaluator and they are its scores
for these aspects.

Fields are those of ``EvalLog``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.base.errors import DataError, Problem
from metaeval.base.records import Status
from metaeval.data.exports.export import Judged, Mark, flat, has, judged, named_numbers, tool
from metaeval.data.exports.shape import log_of, opened, shape
from metaeval.data.recording import ASPECT, EVALUATOR, SCORE, Recording, Rows, ScoreMap
from metaeval.data.tables.entries import FromColumn, ScoreEntry

_HUMAN = "human"
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_REASONS = {
    "invalid_response_format": Status.UNPARSED,
    "grader_failed": Status.UNPARSED,
    "refusal": Status.REFUSED,
}
"""inspect's reasons for a missing score (`inspect_ai.scorer.ScoreReason`); others become `missing`."""


def status_of(sample: Mapping[str, Any], score: Mapping[str, Any] | None) -> Status | None:
    """Return why a sample has no score by a scorer; None if it has one. Both are the fields of inspect's."""
    if sample.get("invalidation") is not None:
        return Status.MISSING
    if score is not None:
        value = score.get("value")
        unscored = value is None or (isinstance(value, float) and math.isnan(value))
        return _REASONS.get(score.get("reason") or "", Status.MISSING) if unscored else None
    if sample.get("error") is not None:
        return Status.TRANSPORT
    return Status.TRUNCATED if sample.get("limit") is not None else Status.MISSING


def number_of_value(value: object) -> float | None:
    """Convert as `inspect_ai.scorer.value_to_float` does, but return None instead of a made-up 0."""
    if not isinstance(value, bool | int | float | str):
        return None
    known = _GRADES.get(value, _WORDS.get(value.lower())) if isinstance(value, str) else None
    try:
        number = float(value) if known is None else known
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


# As an export


def _log(record: dict[str, Any]) -> object:
    """Return a row of `samples_df` as a log with one sample."""
    if "sample_id" not in record:
        return record
    parts = {
        part: {
            k.removeprefix(part): opened(v)
            for k, v in record.items()
            if k.startswith(part) and v not in (None, "")
        }
        for part in ("metadata_", "score_")
    }
    scores = {name: {"value": value} for name, value in parts["score_"].items()}
    _, _, text = str(record.get("messages") or "").rpartition("assistant:\n")
    sample = {"output": {"completion": text.strip()}, "metadata": parts["metadata_"], "scores": scores}
    kept = {k: record.get(k) for k in ("id", "epoch", "error", "limit", "input")}
    return {"eval": {"model": record.get("model")}, "samples": [kept | sample]}


_SCORE = shape(history=[shape(provenance=shape())])
_OUTPUT = shape(choices=[shape(message=shape())])
_SAMPLE = shape("id", metadata=shape(), output=_OUTPUT, scores=dict[str, _SCORE])  # type: ignore[valid-type]


@tool(
    "inspect",
    "logs of an evaluation, `.eval` or `.json`, or a table of `samples_df`",
    has("eval status samples", "eval status results", "eval_id sample_id epoch"),
    shape(eval=shape(), samples=[_SAMPLE]),
    first=_log,
)
def inspect(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    """Read samples, each with its scores by scorer."""
    for log in records:
        if log.get("status") == "error" and not log["samples"]:
            told = opened(log.get("error"))
            why = told.get("message") if isinstance(told, Mapping) else told
            raise DataError(f"the evaluation in the log of inspect failed, and has no samples: {why}")
    by_table = "status" not in records[0]
    every = _scorers(sample for log in records for sample in log["samples"])
    for log in records:
        scorers = every if by_table else _scorers(log["samples"])
        for sample in log["samples"]:
            metadata, scores, output = sample["metadata"], sample["scores"], sample["output"]
            messages = [choice["message"].get("content") for choice in output["choices"]]
            made = output.get("completion") or next(iter(messages), None)
            marks = [m for name in scorers for m in _marks(name, scores.get(name), sample)]
            nested = [f"`{k}`" for k, v in metadata.items() if isinstance(v, dict) and flat(v)]
            unread = [f"{', '.join(nested)} in the metadata: only single numbers are"] if nested else []
            marks += named_numbers(metadata)
            by = {"generator": log["eval"].get("model"), "unread": unread}
            yield judged(sample["id"], sample.get("input"), made, marks, metadata, **by)


def _scorers(samples: Iterable[Mapping[str, Any]]) -> list[str]:
    return [*dict.fromkeys(name for sample in samples for name in sample["scores"])]


def _marks(scorer: str, score: Mapping[str, Any] | None, sample: Mapping[str, Any]) -> Iterator[Mark]:
    history = [] if score is None else score["history"]
    people = {n: who for n, edit in enumerate(history) if (who := edit["provenance"].get("author"))}
    for n, who in people.items():  # what a person made of a score, unless the value is as it was
        for aspect, one in _values(scorer, history[n].get("value")):
            if one not in (None, "UNCHANGED"):
                yield Mark(aspect, one, str(who), person=True)
    if people:
        left = [edit for n, edit in enumerate(history) if n not in people]
        if not left:
            return
        score = left[-1]
    status = status_of(sample, score)
    for aspect, one in _values(scorer, None if score is None else score.get("value")):
        yield Mark(aspect, one, scorer, scorer == _HUMAN, failed=status)


def _values(scorer: str, value: object) -> list[tuple[str, object]]:
    """Return a score by aspect, grades as numbers; what is no number stays as it is."""
    parts = value if isinstance(value, Mapping) and value else {scorer: None if value == {} else value}
    numbers = {name: number_of_value(one) for name, one in parts.items()}
    return [(name, one if numbers[name] is None else numbers[name]) for name, one in parts.items()]


# As recorded scores


def read(sources: Sequence[str], score_map: ScoreMap, aspects: Mapping[str, str]) -> Recording:
    """Read a log; see `metaeval.kinds.explanations.data.recorded.Reader`.

    `MissingExtraError` is raised if inspect_ai is not installed. `DataError` is raised if the file is no log
    of inspect, or a score is neither a number nor a grade.
    """
    (path,) = map(Path, sources)
    rows = Rows(path.name, "metadata")
    (log,) = inspect.shaped([log_of(path)], path.name)
    about, samples = log["eval"], log["samples"]
    if not samples:
        message = f"holds no samples; its status is {log.get('status')!r}"
        raise DataError([Problem(path.name, None, None, message)])
    scorers = _scorers(samples) or [s["name"] for s in about.get("scorers") or []] or [""]
    for row, sample in enumerate(samples, start=1):
        for scorer in scorers:
            score = sample["scores"].get(scorer)
            status = status_of(sample, score)
            given = {} if score is None or status else score["value"]
            values = dict(_values("", given)) if given != {} else {}
            for name, value in values.items():
                # None under a key is a part that was not scored.
                if not isinstance(value, float | None):
                    message = f"is {str(value)[:40]!r}; it may be a number, a grade (C, P, I, N), yes or no"
                    rows.wrong(row, f"{scorer}.{name}" if name else scorer, message)
            cells = {
                "id": sample["id"],
                "epoch": sample.get("epoch"),
                "task": about.get("task"),
                "model": about.get("model"),
                "scorer": scorer,
                EVALUATOR: about.get("model") if scorer in aspects or not scorer else scorer,
                ASPECT: aspects.get(scorer, ""),
                SCORE: values.pop("", None),
            }
            rows.add(row, sample["metadata"], cells, values, status)
    whole = ScoreEntry(
        columns=[SCORE], evaluator=FromColumn(column=EVALUATOR), aspect=FromColumn(column=ASPECT)
    )
    version = (about.get("packages") or {}).get("inspect_ai")
    return rows.recording([whole, *rows.aspect_entries(aspects)], version)
