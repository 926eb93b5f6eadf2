"""All raters of a set while they label it, for whoever owns it, and the attention items that show who reads.

An attention item is a unit whose right label the owner knows. Raters cannot tell it from others, and what
they say of it goes into a table of its own, so it is never a part of the truth.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from metaeval.base.errors import DataError, Problem, exact, unknown
from metaeval.base.records import DataOfKind
from metaeval.data.labels import ATTENTION, LabelTable
from metaeval.data.manifest import FORMATS
from metaeval.data.tables.table import read_table
from metaeval.engine.sheet import Column, Sheet, columns
from metaeval.trust.labelling.golden import keys_of
from metaeval.trust.labelling.label_session import Key, LabelSession, equal_text

RIGHT = "right"
"""The column of the right labels."""
_BREAK = timedelta(minutes=10)
"""Nobody works on one unit for longer: what takes longer is a break."""


def right_labels(folder: Path, data: DataOfKind, table: LabelTable) -> dict[Key, frozenset[float]]:
    """Read ``attention.csv`` in the folder of a data set: key columns, ``aspect``, ``right``.

    Several rows on the same unit and aspect are labels of which each is right. A set without the file has
    no attention items.

    Returns
    -------
    dict
        (*key, aspect) → the labels that are right.

    Raises
    ------
    DataError
        With every row that is no unit, aspect or label of the data set; or if units are shown in two ways.
    """
    path = next((p for f in FORMATS if (p := folder / f"{ATTENTION}.{f}").is_file()), None)
    if path is None:
        return {}
    if table.showing:
        raise DataError(f"{path.name} is for single units; sides by side have no right label of their own")
    read, problems = read_table(path)
    wanted = [*data.keys, *([] if len(data.aspects) == 1 else ["aspect"]), RIGHT]
    if read is not None:
        lacking = [column for column in wanted if column not in read.frame]
        problems += [Problem(path.name, None, c, "is missing; every row needs it") for c in lacking]
    if read is None or problems:
        raise DataError(problems)
    frame, units, only = read.frame, {*keys_of(data)}, next(iter(data.aspects))
    right: dict[Key, set[float]] = {}
    numbers = pd.to_numeric(frame[RIGHT], errors="coerce").tolist()
    aspects = frame["aspect"].astype(str) if "aspect" in frame else [only] * len(frame)
    keys = zip(*(frame[k].astype(str) for k in data.keys), strict=True)
    for row, (key, aspect, number) in enumerate(zip(keys, aspects, numbers, strict=True)):
        if key not in units:
            message = f"there is no unit ({', '.join(key)}) in the data set"
            problems.append(read.problem(row, None, message))
        elif aspect not in data.aspects:
            problems.append(read.problem(row, "aspect", unknown("there is no aspect", aspect, data.aspects)))
        elif number not in data.scale.of(aspect):
            off = f"{exact(number)} is not on the scale; allowed are {data.scale.of(aspect)}"
            problems.append(read.problem(row, RIGHT, off))
        else:
            right.setdefault((*key, aspect), set()).add(number)
    if problems:
        raise DataError(problems)
    return {name: frozenset(labels) for name, labels in right.items()}


def failed_text(right: Mapping[Key, frozenset[float]], labels: Mapping[Key, float]) -> str:
    """Say which attention items somebody failed; nothing without a label of one."""
    asked = [name for name in labels if name in right]
    wrong = [" · ".join(name) for name in asked if labels[name] not in right[name]]
    which = f": {'; '.join(wrong)}" if wrong else ""
    return f"{len(wrong)} of {len(asked)} failed{which}" if asked else ""


def raters_sheet(sessions: Sequence[LabelSession]) -> Sheet:
    """Return a row per rater: how many units are done and left, how fast, how alike, what was not read."""
    noun = sessions[0].noun
    rows = []
    for session in sessions:
        with session.still() as labels:
            rows.append(_row(session, labels, noun))
    frame = pd.DataFrame(rows)
    shown = (
        Column("rater", "Rater"),
        *columns("count", labelled="Labelled", skipped="Skipped", left="Left"),
        Column("seconds", f"Seconds a {noun}", "count"),
        Column("minutes_left", "Minutes left", "count"),
        *columns(
            "text",
            last="Last label",
            others="With the others",
            themselves="With themselves, asked again",
            attention="Attention items",
        ),
    )
    notes = (
        f"Seconds: the median time from one {noun} to the next, without breaks of 10 minutes or more.",
        "Raters do not see this page.",
    )
    told = {"themselves": frame["themselves"].any(), "attention": sessions[0].right}
    kept = tuple(c for c in shown if told.get(c.name, True))
    return Sheet("raters", "Raters so far", frame, kept, notes)


def _row(session: LabelSession, labels: Mapping[Key, float], noun: str) -> dict[str, Any]:
    own, marks = session.plain(session.rater), session.marks()
    size, times = len(session.data.keys), sorted(session.times.get(session.rater, {}).values())
    gaps = [b - a for a, b in pairwise(times) if b - a < _BREAK]
    seconds = statistics.median(gap.total_seconds() for gap in gaps) if gaps else math.nan
    left = len(session.units) - len(marks) + marks.count("o")  # before it begins, a second asking is left
    theirs = map(session.plain, session.people() - {session.rater})
    others = [(own[name], of[name]) for of in theirs for name in own if name in of]
    again = {(*name[:size], name[-1]): label for name, label in labels.items() if len(name) == size + 2}
    themselves = [(own[name], label) for name, label in again.items() if name in own]
    return {
        "rater": session.rater,
        "labelled": marks.count("l"),
        "skipped": marks.count("s"),
        "left": left,
        "seconds": seconds,
        "minutes_left": left * seconds / 60,
        "last": f"{times[-1]:%Y-%m-%d %H:%M} UTC" if times else "",
        "others": equal_text(others, "label") if others else "",
        "themselves": equal_text(themselves, "label") if themselves else "",
        "attention": failed_text(session.right, labels),
    }
