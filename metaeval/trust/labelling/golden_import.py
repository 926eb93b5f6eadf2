"""Spreadsheet with labels → ratings of a golden set; errors name the row and the column."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem, nearest, unknown
from metaeval.base.formulas import unprotected
from metaeval.kinds.explanations.data.folder import refuse_if_in_the_way, save
from metaeval.kinds.explanations.data.loading import load
from metaeval.kinds.explanations.kind import EXPLANATIONS
from metaeval.kinds.files.folder import LABELLING_LOCK, set_in
from metaeval.kinds.files.labels import alone
from metaeval.trust.labelling.golden_files import (
    TEXT,
    UNIT,
    check_rater,
    column_of,
    keys_of,
    labels_of,
    read,
    unit_names,
)
from metaeval.trust.labelling.spreadsheet import Spreadsheet, read_sheet

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.base.records import Scale
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

_LONG = ("rater", "aspect", "rating")
"""The columns of a table with a row per label, as the page writes it for a run."""
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}")


@dataclasses.dataclass(frozen=True, slots=True)
class Labelled:
    """The result of `import_labels`."""

    data: ExplanationSet
    """The data set with the labels among its ratings."""
    rater: str
    units: Mapping[str, int]
    """Aspect → units labelled in the file."""
    new: int
    replaced: int
    same: int
    """Labels equal to those already there."""
    unused: tuple[str, ...]
    """Columns of the file that are no aspect, key or text of the data set."""

    def lines(self) -> list[str]:
        """Return a summary in lines."""
        done = ", ".join(f"{aspect} {n:,}" for aspect, n in self.units.items() if n) or "none"
        lines = [
            f"labels of {self.rater!r}, of {counted(len(self.data), 'unit')}: {done}",
            f"{self.new:,} new, {self.replaced:,} replaced, {self.same:,} there already",
        ]
        hints = [f"{c!r}{nearest(c, self.data.aspects)}" for c in self.unused]
        return [*lines, *([f"unused columns: {', '.join(hints)}"] if hints else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain JSON values."""
        return {
            "rater": self.rater,
            "labelled": dict(self.units),
            "new": self.new,
            "replaced": self.replaced,
            "same": self.same,
            "unused": list(self.unused),
            "fingerprint": self.data.fingerprint,
        }


def import_labels(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    rater: str,
    replace: bool = False,
    out: str | os.PathLike[str] | None = None,
) -> Labelled:
    """Add the labels of a filled-in table to the ratings of a data set.

    An empty cell neither adds nor removes a label. A decimal comma is read as a point.

    Parameters
    ----------
    folder
        The data set; its file of ratings is replaced, unless ``out`` is given.
    path
        The table that `metaeval.trust.labelling.golden_files.export_labels` wrote, as a spreadsheet program
        saved it; or one with a row per label: ``rater``, ``aspect``, ``rating``.
    rater
        The name of the rater.
    replace
        Replace labels of this rater that differ.
    out
        The folder of a new data set with the labels; ``folder`` is then left as it is.

    Raises
    ------
    DataError
        With every problem found, and nothing is written: a unit that is unknown or duplicate, a changed text,
        a label that is no number, off the scale, or different from one that is there.
    """
    if out is not None:
        refuse_if_in_the_way(Path(out), force=False)
    data = read(folder) if out is None else load(folder)
    check_rater(rater)
    columns = {column_of(data, a): a for a in data.aspects}
    own = [UNIT, *map(str, data.explanations.columns)]
    sheet = _with_aspects(read_sheet(path, {*own, *columns, *_LONG}), rater, columns)
    aspects = {c: columns[c] for c in sheet.columns if c in columns}
    if not aspects:
        hint = next((h for c in sheet.columns if c not in own and (h := nearest(c, columns))), "")
        message = f"has no column of an aspect{hint} (aspects: {', '.join(columns)})"
        raise DataError([Problem(sheet.name, 1, None, message)])
    units = _units(sheet, data)
    labels, problems = _labels(sheet, units, aspects, data)
    problems += [p for p in units if isinstance(p, Problem)] + _changed_texts(sheet, units, data)
    there = labels_of(data, rater, list(aspects.values()))
    old = [there.get((*label.key, label.aspect)) for label in labels]
    differ = [(n, o) for n, o in zip(labels, old, strict=True) if o is not None and o != n.value]
    if not replace:
        problems += [
            Problem(
                sheet.name,
                new.row,
                new.column,
                f"is {new.value:g}, and {rater!r} gave it {value:g} already; correct it, or use the labels "
                "of the file with --replace",
            )
            for new, value in differ
        ]
    if problems:
        raise DataError(sorted(problems, key=lambda p: (p.row or 0, p.column or "")))
    changes = {(*n.key, n.aspect): n.value for n, o in zip(labels, old, strict=True) if o != n.value}
    table = EXPLANATIONS.labels
    ratings = table.changed(data.ratings, rater, data.keys, changes)
    made = dataclasses.replace(data, ratings=ratings)
    if out is not None:
        save(made, out)
    elif changes:
        place = set_in(folder)
        # Where no one labels on a page, nothing is left but the ratings.
        with alone(place) if (place / LABELLING_LOCK).exists() else contextlib.nullcontext():
            table.put(place, rater, data.keys, changes)
    return Labelled(
        made,
        rater,
        {aspect: sum(label.aspect == aspect for label in labels) for aspect in aspects.values()},
        new=len(changes) - len(differ),
        replaced=len(differ),
        same=len(labels) - len(changes),
        unused=tuple(c for c in sheet.columns if c and c not in own and c not in columns),
    )


def _with_aspects(sheet: Spreadsheet, rater: str, columns: Mapping[str, str]) -> Spreadsheet:
    """Return a table with a row per label as one with a column per aspect; any other, raw."""
    if not set(sheet.columns).issuperset(_LONG) or not set(sheet.columns).isdisjoint(columns):
        return sheet
    who, what, label = (sheet.columns.index(c) for c in _LONG)
    rest = [at for at in range(len(sheet.columns)) if at not in (who, what, label)]
    names = {aspect: column for column, aspect in columns.items()}
    units: dict[tuple[str, ...], tuple[int, dict[str, str]]] = {}
    for number, row in zip(sheet.numbers, sheet.rows, strict=True):
        if row[who] != rater:
            continue
        cells = units.setdefault(tuple(row[at] for at in rest), (number, {}))[1]
        column = names.get(row[what], "")
        if column in cells or not column:
            wrong = "is labelled twice; keep one" if column else unknown("there is no", row[what], names)
            raise DataError([Problem(sheet.name, number, "aspect", wrong)])
        cells[column] = row[label]
    return Spreadsheet(
        sheet.name,
        (*(sheet.columns[at] for at in rest), *columns),
        tuple((*key, *(given.get(c, "") for c in columns)) for key, (_, given) in units.items()),
        tuple(number for number, _ in units.values()),
    )


class _Label(NamedTuple):
    row: int
    """As the program shows it."""
    column: str
    key: tuple[str, ...]
    aspect: str
    value: float


def _labels(
    sheet: Spreadsheet, units: Sequence[int | Problem], aspects: Mapping[str, str], data: ExplanationSet
) -> tuple[list[_Label], list[Problem]]:
    """Return the labels in the columns of aspects, and the problems of cells that hold none."""
    labels: list[_Label] = []
    problems: list[Problem] = []
    keys = keys_of(data)
    for number, row, unit in zip(sheet.numbers, sheet.rows, units, strict=True):
        for column, cell in zip(sheet.columns, row, strict=True):
            value = _label(cell, data.scale.of(aspects[column])) if column in aspects else None
            if isinstance(value, str):
                problems.append(Problem(sheet.name, number, column, value))
            elif value is not None and isinstance(unit, int):
                labels.append(_Label(number, column, keys[unit], aspects[column], value))
    return labels, problems


def _units(sheet: Spreadsheet, data: ExplanationSet) -> list[int | Problem]:
    """Return the position of each row's unit, or the problem."""
    known: list[tuple[str, ...]]
    if UNIT in sheet.columns:
        named, known = [UNIT], [(name,) for name in unit_names(data)]
    else:
        named, known = list(data.keys), keys_of(data)
        absent = [k for k in named if k not in sheet.columns]
        if absent:
            message = f"has neither the column {UNIT!r} nor {', '.join(map(repr, absent))}, to name the unit"
            raise DataError([Problem(sheet.name, 1, None, message)])
    positions = {key: i for i, key in enumerate(known)}
    at = [sheet.columns.index(c) for c in named]
    found: list[int | Problem] = []
    first: dict[int, int] = {}
    for number, row in zip(sheet.numbers, sheet.rows, strict=True):
        key = tuple(unprotected(row[i]) for i in at)
        position = positions.get(key, positions.get(tuple(k.strip() for k in key)))
        if position is None:
            found.append(_stranger(sheet.name, number, named, key, positions))
        elif position in first:
            message = f"the unit is already in row {first[position]}; keep one"
            found.append(Problem(sheet.name, number, named[0] if len(named) == 1 else None, message))
        else:
            first[position] = number
            found.append(position)
    return found


def _stranger(
    file: str, number: int, named: list[str], key: tuple[str, ...], positions: Mapping[tuple[str, ...], int]
) -> Problem:
    for i, (name, value) in enumerate(zip(named, key, strict=True)):
        known = {k[i] for k in positions}
        if value not in known:
            message = f"is {value!r}, which the data set does not have{nearest(value, sorted(known))}"
            return Problem(file, number, name, message)
    return Problem(file, number, None, f"the data set has no unit ({', '.join(key)})")


def _changed_texts(sheet: Spreadsheet, units: Sequence[int | Problem], data: ExplanationSet) -> list[Problem]:
    """Return a problem for each row whose text is not that of its unit."""
    if TEXT not in sheet.columns or TEXT not in data.explanations:
        return []
    at = sheet.columns.index(TEXT)
    texts = data.explanations[TEXT].tolist()
    problems = []
    for number, row, unit in zip(sheet.numbers, sheet.rows, units, strict=True):
        if isinstance(unit, int) and _plain(texts[unit]) not in (
            _plain(row[at]),
            _plain(unprotected(row[at])),
        ):
            message = (
                "is not the text of this unit in the data set; was the column sorted by itself, or the text "
                "edited or cut off?"
            )
            problems.append(Problem(sheet.name, number, TEXT, message))
    return problems


def _plain(text: str) -> str:
    """Return a text without what spreadsheet programs change: line ends, outer blanks, composition."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _label(cell: str, scale: Scale) -> float | str | None:
    """Return the label in a cell, None if it is empty, or a sentence on what is wrong with it."""
    text = unicodedata.normalize("NFKC", unprotected(cell)).strip().replace("−", "-")
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        return f"is {text[:40]!r}; it may be a number, or empty where there is no label"
    if _THOUSANDS.fullmatch(text) and scale.max >= 1000:
        return f"is {text!r}, which is ambiguous; write thousands without a comma"
    label = float(text.replace(",", ".")) + 0.0
    return label if label in scale else f"the label {text} is not on the scale; allowed are {scale}"
