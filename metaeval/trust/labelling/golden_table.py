"""A golden set to label in a spreadsheet program: one row per unit, one column per aspect to fill in."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem, exact, nearest, one_of, unknown
from metaeval.base.formulas import protected, unprotected
from metaeval.base.records import DataOfKind, Scale
from metaeval.data.folder import set_in
from metaeval.data.labels import LABELLING_LOCK, alone, update_labels
from metaeval.kinds.index import kind_named
from metaeval.kinds.reading import load
from metaeval.trust.labelling.golden import Separator, check_rater, keys_of, read_sheet, write_sheet
from metaeval.trust.labelling.raters import failed_text, right_labels

UNIT = "unit"
"""The column with a short name of each unit: spreadsheet programs change ids such as 007 or 1-2."""
TEXT = "explanation"
_LONG = ("rater", "aspect", "rating")
"""The columns of a table with a row per label, as the page writes it for a run."""
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
_DIGITS = 12


def export_labels(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    rater: str,
    aspects: Sequence[str] = (),
    show: Sequence[str] = (),
    blind: bool = False,
    separator: Separator = "comma",
    force: bool = False,
) -> DataOfKind:
    """Write a table to label: one row per unit, one column per aspect with the rater's labels so far.

    Returns the data set. Without ``aspects`` all are labelled; ``show`` are further columns of the
    explanations. ``blind`` leaves the keys out and mixes the rows, so that raters do not see the generators.
    The ``separator`` is ``comma``, ``semicolon`` (with decimal commas) or ``tab``; ``force`` replaces a
    file.

    Raises
    ------
    DataError
        If the data set cannot be read or has no texts, an aspect or column is unknown, or the file is there.
    """
    data = _read(folder)
    check_rater(rater)
    for what, names, known in (("aspect", aspects, data.aspects), ("column", show, data.explanations)):
        for name in names:
            one_of(name, map(str, known), f"data set {data.name!r} has no {what}", error=DataError)
    if UNIT in show:
        raise DataError(f"the column {UNIT!r} already names the rows; rename yours to show it")
    if Path(path).exists() and not force:
        raise DataError(f"{path} exists already, maybe with labels; replace it with --force")
    context = [c for c in ("item_title", *show) if c in data.explanations]
    table = shown_units(data, list(dict.fromkeys([*([] if blind else data.keys), *context, TEXT])))
    labels, decimal = _labels_of(data, rater, set_in(folder)), "," if separator == "semicolon" else "."
    for aspect in aspects or data.aspects:
        given = (labels.get((unit, aspect)) for unit in table[UNIT])
        table[column_of(data, aspect)] = [
            "" if label is None else f"{label:.15g}".replace(".", decimal) for label in given
        ]
    write_sheet(path, table.sort_values(UNIT) if blind else table, separator)
    return data


def shown_units(data: DataOfKind, columns: Sequence[str]) -> pd.DataFrame:
    """Return the short name of every unit, then columns of the explanations."""
    shown = data.explanations[list(columns)].astype(object)
    texts: pd.DataFrame = shown.where(shown.notna(), "").map(lambda cell: protected(str(cell)))
    texts.insert(0, UNIT, [unit_name(key) for key in keys_of(data)])
    return texts


def unit_name(key: tuple[str, ...]) -> str:
    """Return a short name for a unit from its key, which no program takes for a number or a date."""
    return f"u-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:_DIGITS]}"


def column_of(data: DataOfKind, aspect: str) -> str:
    """Return the column of an aspect: its name, unless a text or key has it."""
    taken = {UNIT, *map(str, data.explanations.columns)}
    name = aspect
    while name in taken or (name != aspect and name in data.aspects):
        name = f"label: {name}"
    return name


def _read(folder: str | os.PathLike[str]) -> DataOfKind:
    """Return the data set in a folder; `DataError` with every problem, or if it has no texts."""
    data = load(set_in(folder).absolute())
    if TEXT not in getattr(data, "explanations", ()):
        raise DataError(f"data set {data.name!r} has no explanation texts, so there is nothing to label")
    return data


def _labels_of(data: DataOfKind, rater: str, folder: Path) -> dict[tuple[str, str], float]:
    """Return (short name of a unit, aspect) → label of a rater, those of attention items too."""
    own = data.ratings[data.ratings["rater"] == rater].dropna(subset="rating")
    rows = own[[*data.keys, "aspect", "rating"]].itertuples(index=False, name=None)
    read = kind_named(data.kind).labels.attention.labels(folder, data.keys, next(iter(data.aspects)))
    told = {(*key, aspect): rating for *key, aspect, rating in rows} | read.get(rater, {})
    return {(unit_name(name[:-1]), name[-1]): label for name, label in told.items()}


@dataclass(frozen=True, slots=True)
class Labelled:
    """The result of `import_labels`."""

    data: DataOfKind
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
    attention: str
    """Which attention items of the file are wrong; empty without one."""

    def lines(self) -> list[str]:
        """Return a summary in lines."""
        done = ", ".join(f"{aspect} {n:,}" for aspect, n in self.units.items() if n) or "none"
        lines = [
            f"labels of {self.rater!r}, of {counted(len(self.data), 'unit')}: {done}",
            f"{self.new:,} new, {self.replaced:,} replaced, {self.same:,} there already",
        ]
        hints = [f"{c!r}{nearest(c, self.data.aspects)}" for c in self.unused]
        lines += [f"attention items: {self.attention}"] if self.attention else []
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
            "attention": self.attention,
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

    The table is that of `export_labels`, as a spreadsheet program saved it, or has a row per label:
    ``rater``, ``aspect``, ``rating``. An empty cell neither adds nor removes a label; a decimal comma is
    read as a point. ``replace`` replaces labels of this rater that differ. With ``out`` the labels go into a
    new data set there, without those of attention items.

    Raises
    ------
    DataError
        With every problem found, and nothing is written: no label at all, a unit that is unknown or
        duplicate, a changed text, a label that is no number, off the scale, or different from one that is
        there.
    """
    data = _read(folder) if out is None else load(folder)
    check_rater(rater)
    update_labels(Path(path).parent)  # the table may be of a run that was labelled on the page
    file, columns = Path(path).name, {column_of(data, a): a for a in data.aspects}
    own = [UNIT, *map(str, data.explanations.columns)]
    sheet = read_sheet(path, {*own, *columns, *_LONG})
    header = [*map(str, sheet)]
    long = {*header}.issuperset(_LONG) and columns.keys().isdisjoint(header)
    if long:
        sheet = sheet[sheet["rater"] == rater]
    aspects = columns if long else {c: columns[c] for c in header if c in columns}
    if not aspects:
        hint = next((h for c in header if c not in own and (h := nearest(c, columns))), "")
        message = f"has no column of an aspect{hint} (aspects: {', '.join(columns)})"
        raise DataError([Problem(file, 1, None, message)])
    data.scale.check_numbers(aspects.values(), "number to label them with")
    units, problems = _units(file, sheet, data, once=not long)
    there = _labels_of(data, rater, set_in(folder))
    right = right_labels(set_in(folder), data, kind_named(data.kind).labels)
    labels: dict[tuple[str, str], float] = {}
    for row, column, cell in _cells(file, sheet, aspects, long=long):
        label = _label(cell, data.scale.of(aspects[column]))
        name = units.get(row, ""), aspects[column]
        old = there.get(name)
        if isinstance(label, str):
            problems.append(Problem(file, row, column, label))
        elif name in labels:
            problems.append(Problem(file, row, "aspect", "is labelled twice; keep one"))
        elif label is not None and old not in {None, label} and not replace:
            message = (
                f"is {exact(label)}, and {rater!r} gave it {exact(old)} already; correct it, or use the "
                "labels of the file with --replace"
            )
            problems.append(Problem(file, row, column, message))
        elif label is not None and row in units:
            labels[name] = label
    if problems:
        raise DataError(sorted(problems, key=lambda p: (p.row or 0, p.column or "")))
    if not labels:
        again = ["golden", "import", str(folder), str(path), "--rater", rater]
        again += ["--out", str(out)] if out is not None else []
        fill = f"the column 'rating' of rows whose rater is {rater!r}" if long else ", ".join(aspects)
        message = f"holds no label of {rater!r}; fill in {fill}, and run again: metaeval {shlex.join(again)}"
        raise DataError([Problem(file, None, None, message)])
    keys = {unit_name(key): key for key in keys_of(data)}
    new = [name for name in labels if name not in there]
    differ = [name for name, label in labels.items() if there.get(name, label) != label]
    changes = {(*keys[unit], aspect): labels[unit, aspect] for unit, aspect in [*new, *differ]}
    checks = {name[:-1] for name in right}
    made = _written(data, rater, changes, set_in(folder), out, checks=checks)
    told = {(*keys[unit], aspect): label for (unit, aspect), label in labels.items()}
    return Labelled(
        made,
        rater,
        {aspect: sum(of == aspect for _, of in labels) for aspect in aspects.values()},
        new=len(new),
        replaced=len(differ),
        same=len(labels) - len(changes),
        unused=tuple(c for c in header if c not in {*own, *columns, *(_LONG if long else ())}),
        attention=failed_text(right, told),
    )


def _written(
    data: DataOfKind,
    rater: str,
    changes: Mapping[tuple[str, ...], float],
    folder: Path,
    out: str | os.PathLike[str] | None,
    *,
    checks: Collection[tuple[str, ...]],
) -> DataOfKind:
    """Write labels into the data set in a folder, or all of it elsewhere; return it with them.

    Those of the units in ``checks`` go into their own table.
    """
    table = kind_named(data.kind).labels
    in_truth = {name: label for name, label in changes.items() if name[:-1] not in checks}
    other = {name: label for name, label in changes.items() if name not in in_truth}
    made = replace(data, ratings=table.changed(data.ratings, rater, data.keys, in_truth))
    if out is not None:
        made.save(out)
    elif changes:
        # Where no one labels on a page, nothing is left but the ratings.
        with alone(folder) if (folder / LABELLING_LOCK).exists() else contextlib.nullcontext():
            table.put(folder, data.keys, {rater: in_truth})
            if other:
                table.attention.put(folder, data.keys, {rater: other})
    return made


def _cells(
    file: str, sheet: pd.DataFrame, aspects: Mapping[str, str], *, long: bool
) -> list[tuple[int, str, str]]:
    """Return row, column of the aspect and text of each cell that may hold a label."""
    rows = sheet.index.tolist()
    if not long:
        return [(row, c, cell) for c in aspects for row, cell in zip(rows, sheet[c], strict=True)]
    names = {aspect: column for column, aspect in aspects.items()}
    for row, aspect in zip(rows, sheet["aspect"], strict=True):
        if aspect not in names:
            raise DataError([Problem(file, row, "aspect", unknown("there is no", aspect, names))])
    return list(zip(rows, sheet["aspect"].map(names), sheet["rating"], strict=True))


def _units(
    file: str, sheet: pd.DataFrame, data: DataOfKind, *, once: bool
) -> tuple[dict[int, str], list[Problem]]:
    """Return row → short name of its unit, and the problems of rows without one, or with a changed text."""
    keys = keys_of(data)
    by = [UNIT] if UNIT in sheet else list(data.keys)
    if absent := [k for k in by if k not in sheet]:
        message = f"has neither the column {UNIT!r} nor {', '.join(map(repr, absent))}, to name the unit"
        raise DataError([Problem(file, 1, None, message)])
    positions = {((unit_name(key),) if UNIT in sheet else key): at for at, key in enumerate(keys)}
    texts = data.explanations[TEXT].tolist()
    shown = sheet.get(TEXT)
    units: dict[int, str] = {}
    first: dict[int, int] = {}
    problems: list[Problem] = []
    for row, cells in zip(sheet.index, sheet[by].itertuples(index=False, name=None), strict=True):
        key = tuple(map(unprotected, cells))
        at = positions.get(key, positions.get(tuple(map(str.strip, key))))
        if at is None:
            problems.append(_stranger(file, row, by, key, positions))
        elif once and at in first:
            message = f"the unit is already in row {first[at]}; keep one"
            problems.append(Problem(file, row, by[0] if len(by) == 1 else None, message))
        else:
            first[at], units[row] = row, unit_name(keys[at])
            if shown is not None and _plain(texts[at]) not in {
                _plain(shown[row]),
                _plain(unprotected(shown[row])),
            }:
                message = (
                    "is not the text of this unit in the data set; was the column sorted by itself, or the "
                    "text edited or cut off?"
                )
                problems.append(Problem(file, row, TEXT, message))
    return units, problems


def _stranger(
    file: str, row: int, by: Sequence[str], key: tuple[str, ...], known: Collection[tuple[str, ...]]
) -> Problem:
    for name, value, there in zip(by, key, zip(*known, strict=True), strict=True):
        if value not in there:
            message = f"is {value!r}, which the data set does not have{nearest(value, sorted({*there}))}"
            return Problem(file, row, name, message)
    return Problem(file, row, None, f"the data set has no unit ({', '.join(key)})")


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
    label = float(text.replace(",", ".")) + 0.0
    return label if label in scale else f"the label {text} is not on the scale; allowed are {scale}"
