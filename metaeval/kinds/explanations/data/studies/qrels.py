"""Relevance labels in TREC's qrels format → a data set: people's labels as ratings, judges' as scores.

A line is ``query iteration document label``. A query and a document name a unit. There are no texts.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem
from metaeval.base.records import Scale, Status
from metaeval.evaluators.recorded import ORIGINS
from metaeval.kinds.explanations.data.folder import refuse_if_in_the_way, save
from metaeval.kinds.explanations.data.frames import from_frames

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

ASSESSOR = "assessor"
"""The rater whose labels the people's file holds."""
ASPECT = "relevance"
_STATEMENT = "The document answers the query."
_KEYS = ["query", "document"]
_FIELDS = 4


class JudgeFile(NamedTuple):
    """What came of a judge's file."""

    name: str
    labelled: int
    """Units with a label that is used."""
    statuses: Mapping[str, int]
    """Units without one, by the reason."""
    strangers: int
    """Lines about units that people did not label, which are left out."""

    def __str__(self) -> str:
        lacking = "".join(f", {n:,} {status}" for status, n in self.statuses.items())
        strange = f", {self.strangers:,} on units without a label of people" if self.strangers else ""
        return f"Recorded({self.name!r}): {counted(self.labelled, 'label')}{lacking}{strange}"


class QrelsImport(NamedTuple):
    """The data set, and what came of each judge's file."""

    data: ExplanationSet
    judges: tuple[JudgeFile, ...]

    def lines(self) -> list[str]:
        """Return a line for each judge that lacks a label or has one that is not used; one for the others."""
        told = [str(j) for j in self.judges if j.statuses or j.strangers]
        whole = len(self.judges) - len(told)
        if whole:
            told.append(f"{counted(whole, 'judge')} with a label on the scale for every unit")
        return told


def import_qrels(
    people: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    judges: Sequence[str | os.PathLike[str]] = (),
    scale: tuple[float, float],
    aspect: str = ASPECT,
    name: str | None = None,
    force: bool = False,
) -> QrelsImport:
    """Make a data set of a file of people's labels and files of judges' labels.

    Parameters
    ----------
    people
        The labels that count as the truth; each must be on the scale.
    out
        The data-set folder to write.
    judges
        Files, or patterns such as ``submissions/*.txt``; a judge is called as its file, without the suffix. A
        label that is not on the scale is kept as ``out_of_range`` and not used, what is no number as
        ``unparsed``; a unit without a line has no score.
    scale
        The least and the greatest label, both whole.
    aspect
        What was judged.
    name
        Of the data set; the name of the people's file, if None.
    force
        Replace a data set that is there.

    Raises
    ------
    DataError
        With every line that has not four fields, every unit that stands twice in a file, and every label of
        people that is no number or not on the scale.
    """
    refuse_if_in_the_way(Path(out), force=force)
    whole = Scale(*scale)
    given, problems = _read(Path(people))
    problems += _off_scale(given, whole, Path(people).name)
    files = _files(judges, Path(people))
    tables = {}
    for file in files:
        tables[file.stem], found = _read(file)
        problems += found
    if problems:
        raise DataError(problems)

    units = pd.MultiIndex.from_frame(given[_KEYS])
    frames, told = [], []
    for judge, table in tables.items():
        frame, one = _scores(judge, table, units, whole)
        frames.append(frame)
        told.append(one)
    data = from_frames(
        given[_KEYS],
        given[_KEYS].assign(rater=ASSESSOR, aspect=aspect, rating=given["label"].astype(float)),
        aspects={aspect: _STATEMENT if aspect == ASPECT else aspect},
        scale=whole,
        scores=_stacked(frames, aspect) if frames else None,
        name=name or Path(people).stem,
        source=f"qrels file {Path(people).name}",
        keys=_KEYS,
    )
    origins = {f.stem: {"tool": "qrels", "file": f.name, "sha256": _digest(f)} for f in files}
    data = dataclasses.replace(data, extra={ORIGINS: origins} if origins else {})
    save(data, out, force=force)
    return QrelsImport(data, tuple(told))


def _files(patterns: Sequence[str | os.PathLike[str]], people: Path) -> list[Path]:
    """Return the files that names and patterns mean, each once, by name, without the people's."""
    import glob

    found: dict[str, Path] = {}
    for pattern in map(str, patterns):
        # Asked for by name, a file may have a bracket or a star in it.
        paths = [pattern] if Path(pattern).is_file() else glob.glob(pattern)  # noqa: PTH207 - patterns may be absolute
        matching = sorted(Path(p) for p in paths if Path(p).is_file())
        if not matching:
            raise DataError(
                f"no file fits {pattern!r}; give a judge's file, or a pattern such as 'runs/*.txt'"
            )
        for path in matching:
            if path.resolve() == people.resolve():
                continue
            other = found.setdefault(path.stem, path)
            if other.resolve() != path.resolve():
                raise DataError(
                    f"{str(other)!r} and {str(path)!r} would both be the judge {path.stem!r}; rename one"
                )
    return [found[stem] for stem in sorted(found)]


def _read(path: Path) -> tuple[pd.DataFrame, list[Problem]]:
    """Return ``line``, ``query``, ``document`` and ``label``, and what is wrong with the lines."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise DataError(f"there is no qrels file {str(path)!r}") from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path.name} is not UTF-8 text; a qrels file has lines such as 'q1 0 d7 2'"
        ) from error
    split = [line.split() for line in lines]
    problems = [
        Problem(path.name, i, None, f"has {len(f)} fields; a line is: query iteration document label")
        for i, f in enumerate(split, start=1)
        if len(f) not in (0, _FIELDS)
    ]
    whole = [(i, *f) for i, f in enumerate(split, start=1) if len(f) == _FIELDS]
    frame = pd.DataFrame(whole, columns=["line", "query", "iteration", "document", "label"])
    if not problems and frame.empty:
        problems.append(Problem(path.name, None, None, "has no labels"))
    again = frame.duplicated(_KEYS)
    problems += [
        Problem(
            path.name, line, None, f"query {q!r} and document {d!r} stand in an earlier line too; keep one"
        )
        for line, q, d in frame.loc[again, ["line", *_KEYS]].itertuples(index=False)
    ]
    return frame[["line", *_KEYS, "label"]], problems


def _off_scale(frame: pd.DataFrame, scale: Scale, file: str) -> list[Problem]:
    numbers = pd.to_numeric(frame["label"], errors="coerce")
    wrong = ~np.array([n in scale for n in numbers], dtype=bool)
    return [
        Problem(file, line, "label", f"the label {label!r} is not on the scale; allowed are {scale}")
        for line, label in frame.loc[wrong, ["line", "label"]].itertuples(index=False)
    ]


def _scores(
    judge: str, table: pd.DataFrame, units: pd.MultiIndex, scale: Scale
) -> tuple[pd.DataFrame, JudgeFile]:
    """Return a judge's rows, with what it said where that is not used, and how many are."""
    known = units.get_indexer(pd.MultiIndex.from_frame(table[_KEYS])) >= 0
    frame = table.loc[known, [*_KEYS, "label"]].reset_index(drop=True)
    numbers = pd.to_numeric(frame["label"], errors="coerce").to_numpy(dtype=float)
    fits = np.array([n in scale for n in numbers], dtype=bool)
    status = np.where(np.isfinite(numbers), Status.OUT_OF_RANGE.value, Status.UNPARSED.value).astype(object)
    status[fits] = Status.OK.value
    frame = frame.assign(
        evaluator=judge,
        score=np.where(fits, numbers, np.nan),
        status=status,
        label=frame["label"].where(~fits, ""),
    )
    counts = frame["status"].value_counts()
    lacking = {str(s): int(counts[s]) for s in sorted(counts.index) if s != Status.OK}
    unseen = len(units) - len(frame)
    if unseen:
        lacking[Status.MISSING.value] = unseen
    return frame, JudgeFile(judge, int(fits.sum()), lacking, int((~known).sum()))


def _stacked(frames: Sequence[pd.DataFrame], aspect: str) -> pd.DataFrame:
    """Put the judges' rows together; ``status`` and ``label`` only if a label is not used."""
    rows = pd.concat(frames, ignore_index=True).assign(aspect=aspect)
    columns = [*_KEYS, "evaluator", "aspect", "score"]
    if (rows["status"] != Status.OK.value).any():
        columns += ["status", "label"]
    return rows[columns]


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
