"""Replies that any tool recorded → scores, each with a status."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, MetaevalError, nearest, one_of, shown
from metaeval.base.frames import flat
from metaeval.base.parallel import spread
from metaeval.base.records import Scale, Status
from metaeval.base.validation import model_of
from metaeval.data.hub import any_table, in_workbook
from metaeval.data.tables.columns import text_column
from metaeval.data.tables.table import Table, from_frame
from metaeval.llm.replies import reader
from metaeval.llm.replies.fields import Given, Number
from metaeval.llm.replies.patterns import ReplyPattern

Texts: TypeAlias = NDArray[np.object_]  # one per row
Asked: TypeAlias = tuple[str, Number, str | None]  # a reply, what it was to give, its prompt

ADDED = ("aspect", "score", "status")
"""The columns that a table of replies gets."""

ASPECT_ALIASES: Mapping[str, tuple[str, ...]] = {
    "persuasiveness": ("persuasive", "persuasion", "convincingness", "说服力", "说服性", "説服力"),
    "transparency": ("transparent", "透明度", "透明性", "透明"),
    "accuracy": ("accurate", "准确性", "准确度", "准确率", "精确性", "準確性"),
    "satisfaction": ("satisfied", "满意度", "满意程度", "满意", "滿意度"),
}
"""Aspect → its other names; the aspects are those of the RecSys 2024 study."""

_LARGEST = 2**63  # of whole numbers in Parquet


def read_reply(
    text: str | None,
    aspects: str | Sequence[str],
    scale: tuple[float, float] = (1, 5),
    *,
    integer: bool = False,
    form: str = "auto",
    prompt: str | None = None,
) -> reader.Parsed:
    """Read the scores that a model's reply gives, as a judge's replies are read: all of them, or none.

    Parameters
    ----------
    text
        The reply; None if there was none.
    aspects
        What was to be rated, in the order asked. A score without a name counts if there is one aspect.
    scale
        The lowest and the highest score.
    integer
        Whether only whole numbers were asked for; decimals are then off the scale.
    form
        Where the scores must stand: ``json``, ``text`` (lines), or ``auto``, either.
    prompt
        What was asked, if it is known: what a reply repeats of it is no answer.

    Returns
    -------
    Parsed
        ``values``: aspect → score, or None; ``status``: ``ok``, ``refused``, ``unparsed``, ``out_of_range``
        or ``truncated``; ``reason``: why there are no values.

    Raises
    ------
    MetaevalError
        For a scale, an aspect or a form that is none.
    """
    for what, given in (("reply", text), ("prompt", prompt)):
        if given is not None and not isinstance(given, str):
            raise MetaevalError(f"a {what} is text, or None if there is none, not {shown(given)}")
    asked = [aspects] if isinstance(aspects, str) else list(aspects)
    return reader.read_reply(text, _fields(asked, _scale(scale, integer)), form=_known(form), prompt=prompt)


def read_replies(
    frame: pd.DataFrame | Table,
    *,
    column: str,
    scale: tuple[float, float],
    aspect: str | None = None,
    aspect_column: str | None = None,
    integer: bool = False,
    form: str = "auto",
    pattern: str | None = None,
    prompt_column: str | None = None,
) -> pd.DataFrame:
    """Read the score that each reply of a table gives, as `read_reply` does.

    Parameters
    ----------
    frame
        One row per reply; errors of a ``Table`` name the rows of its file.
    column
        The column that holds the replies.
    scale, integer, form
        As for `read_reply`.
    aspect, aspect_column
        What all replies rate, or the column that says what each of them rates.
    pattern
        The name of a pattern (`metaeval replies patterns`), or a regular expression whose group ``value`` is
        the score; it reads all replies.
    prompt_column
        The column that holds what was asked, if there is one.

    Returns
    -------
    DataFrame
        The frame, then ``aspect``, ``score`` (NaN where there is none) and ``status``: as of `read_reply`, or
        ``missing`` where the cell is empty.

    Raises
    ------
    MetaevalError
        For a column that is not there, not text, or would be replaced, and as for `read_reply`.
    """
    if (aspect is None) == (aspect_column is None):
        raise MetaevalError("give either aspect (for all replies) or aspect_column")
    on, form = _scale(scale, integer), _known(form)
    if isinstance(frame, Table):
        table = frame
    else:
        frame = flat(frame, [name for name in (column, aspect_column, prompt_column) if name])
        table = from_frame(frame, "the frame")
    replies, aspects = _texts(table, column), _aspects(table, aspect, aspect_column)
    prompts = _texts(table, prompt_column) if prompt_column else np.full(len(replies), "", dtype=object)
    _check_free(table, aspects)
    there = np.flatnonzero(replies != "")
    fields = {name: _fields([name], on)[0] for name in dict.fromkeys(aspects)}
    asked = [(replies[i], fields[aspects[i]], prompts[i] or None) for i in there]
    scores, statuses = np.full(len(replies), np.nan), np.full(len(replies), str(Status.MISSING), dtype=object)
    reads = None if pattern is None else model_of({"pattern": pattern}, ReplyPattern)
    read = spread(functools.partial(_read, form=form, pattern=reads), asked, "reading replies")
    if read:
        scores[there], statuses[there] = zip(*read, strict=True)
    given = table.frame if isinstance(frame, Table) else frame
    kept = given.drop(columns=[name for name in ADDED if name in given.columns])
    return kept.assign(**dict(zip(ADDED, (aspects, scores, statuses), strict=True)))


def read_reply_table(path: str | os.PathLike[str]) -> Table:
    """Read a file of replies (CSV, TSV, JSONL, Parquet), all of whose columns can be written again.

    What is not text, a number or a truth value, such as a date, becomes text.
    """
    source = Path(path)
    if not Path(in_workbook(source)[0]).is_file():
        raise DataError(f"there is no file {source}")
    table = any_table(source)
    for column in table.frame.columns:
        texts, cells = _texts(table, column), table.frame[column].astype(object)
        if not all(map(_is_plain, cells[cells.notna()])):
            table.frame[column] = texts
    return table


def _is_plain(cell: object) -> bool:
    """Say whether every format has such a value."""
    return isinstance(cell, str | float | bool) or (isinstance(cell, int) and abs(cell) < _LARGEST)


def _read(asked: Sequence[Asked], form: str, pattern: ReplyPattern | None) -> list[tuple[Given, str]]:
    """Return score (NaN if there is none) and status of each reply; runs in the worker processes."""
    results: list[tuple[Given, str]] = []
    for text, field, prompt in asked:
        found = reader.read_reply(text, [field], form=form, pattern=pattern, prompt=prompt)
        values = found.values or {}  # noqa: PD011 - of a reply
        results.append((values.get(field.name, math.nan), str(found.status)))
    return results


def _scale(scale: tuple[float, float], integer: bool) -> Scale:
    try:
        low, high = map(float, scale)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not -math.inf < low < high < math.inf:
        raise MetaevalError(f"scale is {shown(scale)}; give two rising numbers, such as (1, 5)")
    return Scale(low, high, integer)


def _known(form: str) -> str:
    return one_of(form, reader.FORMS, "there is no form", "forms")


def _fields(aspects: Sequence[str], scale: Scale) -> list[Number]:
    if not aspects or not all(aspects) or len(set(aspects)) < len(aspects):
        raise MetaevalError(f"aspects are {shown(aspects)}; give at least one name, and none twice")
    return [Number(name, scale, ASPECT_ALIASES.get(name.casefold(), ())) for name in aspects]


def _aspects(table: Table, aspect: str | None, column: str | None) -> Texts:
    """Return the aspect of each row."""
    if column is None:
        return np.full(len(table.frame), aspect, dtype=object)
    aspects = _texts(table, column)
    empty = np.flatnonzero(aspects == "")
    if empty.size:
        raise DataError(
            [table.problem(int(empty[0]), column, "is empty; it must name the aspect that the reply rates")]
        )
    return aspects


def _texts(table: Table, column: str) -> Texts:
    """Return a column as text; of many wrong cells the first is told."""
    given = [str(c) for c in table.frame.columns]
    if column not in given:
        hint = nearest(column, given) or f" (it has {', '.join(given)})"
        raise DataError(f"{table.name} has no column {column!r}{hint}")
    if given.count(column) > 1:
        raise DataError(f"{table.name} has two columns of the name {column!r}; rename one")
    texts, problems = text_column(table, column)
    if problems:
        more = f" (and {counted(len(problems) - 1, 'more row')})" if len(problems) > 1 else ""
        raise DataError(f"{problems[0]}{more}")
    return texts


def _check_free(table: Table, aspects: Texts) -> None:
    """Raise `DataError` for a column whose values the result would replace by others."""
    for name in ADDED:
        if name not in table.frame.columns or (name == "aspect" and (_texts(table, name) == aspects).all()):
            continue
        hint = ", or give it as the aspect column" if name == "aspect" else ""
        raise DataError(
            f"{table.name} has a column {name!r} already, which the result would replace; rename it{hint}"
        )
