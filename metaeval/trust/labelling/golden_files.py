"""Golden set → spreadsheet: one row per unit, one column per aspect to fill in."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, nearest
from metaeval.base.formulas import protected
from metaeval.kinds.explanations.data.folder import checked_by, read_folder
from metaeval.kinds.files.folder import set_in
from metaeval.trust.labelling.spreadsheet import write_sheet

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.base.records import DataSet
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

UNIT = "unit"
"""The column with a short name of each unit: spreadsheet programs change ids such as 007 or 1-2."""

TEXT = "explanation"

_DIGITS = 12


def unit_names(data: ExplanationSet) -> list[str]:
    """Return a short name for every unit from its key, which no program takes for a number or a date."""
    digests = [hashlib.sha256(json.dumps(key).encode()).hexdigest() for key in keys_of(data)]
    digits = _DIGITS
    while len({d[:digits] for d in digests}) < len(digests):
        digits += 4
    return [f"u-{d[:digits]}" for d in digests]


def export_labels(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    rater: str,
    aspects: Sequence[str] = (),
    show: Sequence[str] = (),
    blind: bool = False,
    separator: str = "comma",
    force: bool = False,
) -> ExplanationSet:
    """Write a table to label: one row per unit, one column per aspect with the rater's labels so far.

    Parameters
    ----------
    folder
        The data set, which is returned.
    path
        The CSV file to write; see `metaeval.trust.labelling.spreadsheet`.
    rater
        The name of the rater.
    aspects
        Aspects to label; all, if empty.
    show
        Further columns of the explanations to show, such as ``reference``.
    blind
        Leave the keys out and mix the rows, so that raters do not see the generators.
    separator
        ``comma``, ``semicolon`` (with decimal commas) or ``tab``.
    force
        Replace an existing file, with the labels in it.

    Raises
    ------
    DataError
        If the data set cannot be read or has no texts, an aspect or column is unknown, or the file is there.
    """
    data = read(folder)
    check_rater(rater)
    if TEXT not in data.explanations:
        raise DataError(f"data set {data.name!r} has no explanation texts, so there is nothing to label")
    for what, names, known in (
        ("aspect", aspects, list(data.aspects)),
        ("column", show, [str(c) for c in data.explanations.columns]),
    ):
        for name in names:
            if name not in known:
                raise DataError(
                    f"data set {data.name!r} has no {what} {name!r}{nearest(name, known)} "
                    f"(it has: {', '.join(known)})"
                )
    if UNIT in show:
        raise DataError(f"the column {UNIT!r} already names the rows; rename yours to show it")
    if Path(path).exists() and not force:
        raise DataError(f"{path} exists already, maybe with labels; replace it with --force")
    asked = list(aspects or data.aspects)
    labels = labels_of(data, rater, asked)
    context = [c for c in ("item_title", *show) if c in data.explanations]
    texts = list(dict.fromkeys([*([] if blind else data.keys), *context, TEXT]))
    columns = [UNIT, *texts, *(column_of(data, a) for a in asked)]
    decimal = "," if separator == "semicolon" else "."
    rows = []
    for key, cells in shown_units(data, texts).items():
        given = (labels.get((*key, aspect)) for aspect in asked)
        rows.append([*cells, *("" if g is None else f"{g:.15g}".replace(".", decimal) for g in given)])
    write_sheet(path, columns, sorted(rows) if blind else rows, separator)
    return data


def shown_units(data: ExplanationSet, columns: Sequence[str]) -> dict[tuple[str, ...], list[str]]:
    """Return key → cells of each unit: its short name, then columns of the explanations."""
    shown = data.explanations[list(columns)].astype(object)
    texts = shown.where(shown.notna(), "").itertuples(index=False, name=None)
    units = zip(keys_of(data), unit_names(data), texts, strict=True)
    return {key: [name, *(protected(str(cell)) for cell in row)] for key, name, row in units}


def read(folder: str | os.PathLike[str]) -> ExplanationSet:
    """Return the data set in a folder, or raise `DataError` with every problem."""
    data, problems = read_folder(set_in(folder))
    if data is None:
        raise DataError(problems, listed_by=checked_by(folder))
    return data


def check_rater(rater: str) -> None:
    """Raise `DataError` if the rater has no name."""
    if not rater.strip():
        raise DataError("the rater has no name; give one with --rater NAME")


def keys_of(data: DataSet) -> list[tuple[str, ...]]:
    """Return the key of every unit."""
    return list(zip(*(data.units[k].astype(str) for k in data.keys), strict=True))


def column_of(data: ExplanationSet, aspect: str) -> str:
    """Return the column of an aspect: its name, unless a text or key has it."""
    taken = {UNIT, *map(str, data.explanations.columns)}
    name = aspect
    while name in taken or (name != aspect and name in data.aspects):
        name = f"label: {name}"
    return name


def labels_of(data: ExplanationSet, rater: str, aspects: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Return (*key, aspect) → rating of a rater."""
    rows = data.ratings[(data.ratings["rater"] == rater) & data.ratings["aspect"].isin(list(aspects))]
    names = zip(*(rows[c] for c in (*data.keys, "aspect")), strict=True)
    return {name: r for name, r in zip(names, rows["rating"].tolist(), strict=True) if not math.isnan(r)}
