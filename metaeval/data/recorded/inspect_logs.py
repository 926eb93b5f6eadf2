"""inspect: the ``.eval`` and ``.json`` logs of inspect_ai, read by inspect_ai itself.

A sample becomes one row per scorer: the fields of the sample's metadata, ``id``, ``epoch``, ``task``,
``model``, ``scorer`` and ``score``. A score that is a mapping has one column per key instead. A field of the
metadata with one of these names is ``metadata.NAME``. A scorer is an evaluator; but where scorers have the
names of aspects of the data set, the model is the evaluator and they are its scores for these aspects.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import DataError, MissingExtraError, Problem
from metaeval.base.records import Status
from metaeval.data.recorded.recording import (
    ASPECT,
    EVALUATOR,
    SCORE,
    Recording,
    Rows,
    ScoreMap,
)
from metaeval.data.tables.entries import FromColumn, ScoreEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspect_ai.log import EvalLog


_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_REASONS = {
    "invalid_response_format": Status.UNPARSED,
    "grader_failed": Status.UNPARSED,
    "refusal": Status.REFUSED,
}
"""inspect's reasons for a missing score (`inspect_ai.scorer.ScoreReason`); others become `missing`."""
_UNREAD = {"messages", "events", "store", "attachments", "output"}
"""Large parts of a sample that are not needed for its scores."""


def read(source: str, score_map: ScoreMap, aspects: Mapping[str, str]) -> Recording:
    """Read a log; see `metaeval.kinds.explanations.data.recorded.Reader`.

    `MissingExtraError` is raised if inspect_ai is not installed. `DataError` is raised if the file is no log
    of inspect, or a score is neither a number nor a grade.
    """
    path = Path(source)
    log = log_of(path)
    rows = Rows(path.name, "metadata")
    samples = log.samples or []
    if not samples:
        raise DataError([Problem(path.name, None, None, f"holds no samples; its status is {log.status!r}")])
    scorers = list(dict.fromkeys(name for s in samples for name in s.scores or {}))
    scorers = scorers or [s.name for s in log.eval.scorers or []] or [""]
    for row, sample in enumerate(samples, start=1):
        for scorer in scorers:
            score = (sample.scores or {}).get(scorer)
            status = status_of(vars(sample), None if score is None else vars(score))
            values = {} if score is None or status else _values(rows, row, scorer, score.value)
            cells = {
                "id": sample.id,
                "epoch": sample.epoch,
                "task": log.eval.task,
                "model": log.eval.model,
                "scorer": scorer,
                EVALUATOR: log.eval.model if scorer in aspects or not scorer else scorer,
                ASPECT: aspects.get(scorer, ""),
                SCORE: values.pop("", None),
            }
            rows.add(row, sample.metadata or {}, cells, values, status)
    whole = ScoreEntry(
        columns=[SCORE], evaluator=FromColumn(column=EVALUATOR), aspect=FromColumn(column=ASPECT)
    )
    return rows.recording([whole, *rows.aspect_entries(aspects)], log.eval.packages.get("inspect_ai"))


def log_of(path: Path, *, output: bool = False) -> EvalLog:
    """Read a log, with the ``output`` of its samples if wanted; errors are those of `read`."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise MissingExtraError("reading a log of inspect", "inspect") from error
    if path.suffix.lower() not in {".eval", ".json"}:
        raise DataError(f"{path.name!r} is not a log of inspect; its suffix may be .eval or .json")
    try:
        return read_eval_log(path, exclude_fields=_UNREAD - ({"output"} if output else set()))
    except Exception as error:  # a damaged archive comes as errors of several libraries
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        message = f"cannot be read as a log of inspect: {reason}"
        raise DataError([Problem(path.name, None, None, message)]) from error


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


def _values(rows: Rows, row: int, scorer: str, value: Any) -> dict[str, float | None]:  # noqa: ANN401 - inspect's Value
    """Return a score as numbers by name, a single value under ""; add a problem for other values."""
    values = value if isinstance(value, dict) else {"": value}
    numbers: dict[str, float | None] = {}
    for name, single in values.items():
        # None under a key is a part that was not scored.
        number = None if single is None else number_of_value(single)
        if number is None and single is not None:
            message = f"is {str(single)[:40]!r}; it may be a number, a grade (C, P, I, N), yes or no"
            rows.wrong(row, f"{scorer}.{name}" if name else scorer, message)
        numbers[name] = None if number is None or math.isnan(number) else number
    return numbers


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
