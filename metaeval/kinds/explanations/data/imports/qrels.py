"""Relevance labels → a data set: people's labels as ratings, judges' as scores.

A query and a document name a unit. There are no texts.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem
from metaeval.base.records import Scale, Status
from metaeval.data.imports import Imported
from metaeval.data.trec import KEYS, judge_files, read_qrels
from metaeval.evaluators.recorded import ORIGINS
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.loading import from_frames, refuse_if_in_the_way, save

_ASSESSOR = "assessor"
"""The rater whose labels the people's file holds."""
_ASPECT = "relevance"
_STATEMENT = "The document answers the query."


def import_qrels(
    people: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    judges: Sequence[str | os.PathLike[str]] = (),
    scale: tuple[float, float],
    aspect: str = _ASPECT,
    name: str | None = None,
    force: bool = False,
) -> Imported[ExplanationSet]:
    """Make a data set of a file of people's labels and files of judges' labels.

    People's labels count as the truth, and each must be on the scale, whose ends are whole. Judges are files,
    or patterns such as ``submissions/*.txt``; a judge has the name of its file, without the suffix. A label
    of theirs that is not on the scale is kept as ``out_of_range`` and not used, what is no number as
    ``unparsed``; a unit without a line has no score. The data set has the name of the people's file, if none
    is given.

    `DataError` has every line that has not four fields, every unit that stands twice in a file, and every
    label of people that is not on the scale.
    """
    refuse_if_in_the_way(Path(out), force=force)
    truth, on = Path(people), Scale(*scale)
    given, problems = read_qrels(truth)
    problems += _off_scale(given, on, truth.name)
    files = judge_files(judges, truth)
    tables = {}
    for judge, file in files.items():
        tables[judge], found = read_qrels(file)
        problems += found
    if problems:
        raise DataError(problems)

    units = pd.MultiIndex.from_frame(given[KEYS])
    scored = [_scores(judge, table, units, on) for judge, table in tables.items()]
    data = from_frames(
        given[KEYS],
        given[KEYS].assign(rater=_ASSESSOR, aspect=aspect, rating=given["label"].astype(float)),
        aspects={aspect: _STATEMENT if aspect == _ASPECT else aspect},
        scale=on,
        scores=_stacked([frame for frame, _ in scored], aspect) if scored else None,
        name=name or truth.stem,
        source=f"qrels file {truth.name}",
        keys=KEYS,
    )
    origins = {
        judge: {"tool": "qrels", "file": f.name, "sha256": hashlib.sha256(f.read_bytes()).hexdigest()}
        for judge, f in files.items()
    }
    data = dataclasses.replace(data, extra={ORIGINS: origins} if origins else {})
    save(data, out, force=force)
    notes = [note for _, note in scored if note]
    if whole := len(scored) - len(notes):
        notes.append(f"{counted(whole, 'judge')} with a label on the scale for every unit")
    return Imported(data, tuple(notes))


def _numbers(labels: pd.Series[str], scale: Scale) -> tuple[pd.Series[float], pd.Series[bool]]:
    """Return labels as numbers, and which of them are on the scale."""
    numbers = pd.to_numeric(labels, errors="coerce").astype(float)
    return numbers, numbers.map(lambda n: n in scale).astype(bool)


def _off_scale(frame: pd.DataFrame, scale: Scale, file: str) -> list[Problem]:
    _, fits = _numbers(frame["label"], scale)
    return [
        Problem(file, line, "label", f"the label {label!r} is not on the scale; allowed are {scale}")
        for line, label in frame.loc[~fits, ["line", "label"]].itertuples(index=False)
    ]


def _scores(judge: str, table: pd.DataFrame, units: pd.MultiIndex, scale: Scale) -> tuple[pd.DataFrame, str]:
    """Return a judge's rows, with the original label where it is not used, and a note if units have none."""
    known = units.get_indexer(pd.MultiIndex.from_frame(table[KEYS])) >= 0
    frame = table.loc[known, [*KEYS, "label"]].reset_index(drop=True)
    numbers, fits = _numbers(frame["label"], scale)
    reason = np.where(np.isfinite(numbers), Status.OUT_OF_RANGE.value, Status.UNPARSED.value)
    status = pd.Series(np.where(fits, Status.OK.value, reason), index=frame.index)
    frame = frame.assign(
        evaluator=judge, score=numbers.where(fits), status=status, label=frame["label"].where(~fits, "")
    )
    lacking = [f"{n:,} {reason}" for reason, n in status[~fits].value_counts().sort_index().items()]
    if unseen := len(units) - len(frame):
        lacking.append(f"{unseen:,} {Status.MISSING}")
    if others := int((~known).sum()):
        lacking.append(f"{others:,} on units without a label of people")
    note = f"Recorded({judge!r}): {', '.join([counted(int(fits.sum()), 'label'), *lacking])}"
    return frame, note if lacking else ""


def _stacked(frames: Sequence[pd.DataFrame], aspect: str) -> pd.DataFrame:
    """Put the judges' rows together; ``status`` and ``label`` only if a label is not used."""
    rows = pd.concat(frames, ignore_index=True).assign(aspect=aspect)
    reasons = ["status", "label"] if (rows["status"] != Status.OK.value).any() else []
    return rows[[*KEYS, "evaluator", "aspect", "score", *reasons]]
