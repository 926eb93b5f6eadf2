"""Golden sets: a small sample of a data set, stratified covering every kind of case.

Judges are calibrated on it. A simple random sample is mostly the common easy case; so the sample is drawn by
stratum, and the set keeps what it was drawn from and how.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pandas as pd

from metaeval.base.errors import DataError, Problem, nearest
from metaeval.base.files import replacing
from metaeval.base.formulas import protected, unprotected
from metaeval.base.records import FIRST, DataOfKind
from metaeval.kinds.index import kind_named

PROVENANCE = "golden"
"""The key under `extra` of a data set that says how a golden set was drawn."""
DOMINANT = 0.8
"""From this share of the set on, one value of a column is warned of."""
_EMPTY = "(empty)"


def proportional_shares(sizes: Sequence[int], n: int) -> list[int]:
    """Allocate ``n`` units to strata in proportion to their sizes, at least one to each.

    A stratum with a share below one gets one; the others share the rest by the largest-remainder method, in
    exact arithmetic (ties: the first stratum).

    Parameters
    ----------
    sizes
        Units of each stratum, 1 or more.
    n
        From the number of strata to the sum of ``sizes``.
    """
    shares = [0] * len(sizes)
    open_ = list(range(len(sizes)))
    left, total = n, sum(sizes)
    # Rounding a small stratum up makes the shares of the others smaller, so the test is repeated.
    while small := [i for i in open_ if left * sizes[i] < total]:
        for i in small:
            shares[i] = 1
        left -= len(small)
        total -= sum(sizes[i] for i in small)
        open_ = [i for i in open_ if not shares[i]]
    for i in open_:
        shares[i] = left * sizes[i] // total
    spare = left - sum(shares[i] for i in open_)
    by_remainder = sorted(open_, key=lambda i: -(left * sizes[i] % total))
    for i in by_remainder[:spare]:
        shares[i] += 1
    return shares


def equal_shares(sizes: Sequence[int], n: int) -> list[int]:
    """Allocate ``n`` units to strata as equally as their sizes allow, a remainder to the first.

    ``sizes`` and ``n`` are as for `proportional_shares`.
    """
    shares = [0] * len(sizes)
    for _ in range(n):
        least = min((i for i, size in enumerate(sizes) if shares[i] < size), key=shares.__getitem__)
        shares[least] += 1
    return shares


@dataclass(frozen=True, slots=True)
class Stratum:
    """Units with the same values in the columns of the strata."""

    cell: Mapping[str, str]
    """Column → value."""
    units: int
    """In the data set."""
    chosen: int
    """In the golden set."""


@dataclass(frozen=True, slots=True, eq=False)
class Golden:
    """A golden set and its strata."""

    data: DataOfKind
    """With ``extra['golden']``: what it was drawn from, and how."""
    strata: tuple[Stratum, ...]
    warnings: tuple[str, ...]
    """Sentences on values that dominate the set."""

    def lines(self) -> list[str]:
        """Return one line per stratum."""
        named = [", ".join(f"{c} {v or _EMPTY}" for c, v in s.cell.items()) for s in self.strata]
        return [f"{name}: {s.chosen:,} of {s.units:,}" for name, s in zip(named, self.strata, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain JSON values."""
        return {
            "name": self.data.name,
            "units": len(self.data),
            "fingerprint": self.data.fingerprint,
            "strata": [{**s.cell, "units": s.units, "chosen": s.chosen} for s in self.strata],
            "warnings": list(self.warnings),
        }


def sample(
    data: DataOfKind,
    n: int,
    by: Sequence[str],
    *,
    seed: int = 0,
    equal: bool = False,
    pairs: bool = False,
    repeat: float = 0,
) -> Golden:
    """Draw a stratified golden set.

    The draw depends on the seed and on the keys of the units, not on their order.

    Ratings, profiles and recorded scores of the ``n`` drawn units come along. ``by`` are columns of the
    explanations or of the users; each combination of values is a stratum. ``equal`` allocates equally, as
    far as strata have units, instead of proportionally. With ``pairs`` two units of different generators are
    drawn ``n`` times, each for another user and item; the columns of a pair include ``first`` and ``second``,
    its generators. ``repeat`` is the share of units that raters are asked again; the
    set keeps it.

    Raises
    ------
    DataError
        If a column is unknown, ``n`` is below the number of strata or above the number of units, or there
        are no pairs.
    """
    drawn, what = (_a_pair_each(data, seed), "pairs") if pairs else (data, "units")
    labels = _labels(drawn, by)
    sizes = Counter(labels)
    if n > len(drawn):
        every = "; `metaeval golden label DATA --pairs` shows all, not one per user and item" if pairs else ""
        few = f"cannot be drawn from {len(drawn):,}; take {len(drawn):,} or fewer"
        raise DataError(f"a golden set of {n:,} {what} {few}{every}")
    if n < len(sizes):
        raise DataError(
            f"{n:,} {what} cannot cover the {len(sizes):,} strata by {', '.join(by)}; "
            f"take {len(sizes):,} {what} or more, or fewer columns"
        )
    names = sorted(sizes)
    shares = (equal_shares if equal else proportional_shares)([sizes[name] for name in names], n)
    left, chosen = dict(zip(names, shares, strict=True)), []
    keys = keys_of(drawn)
    for position in sorted(range(len(drawn)), key=lambda i: ticket(seed, keys[i])):
        if left[labels[position]]:
            left[labels[position]] -= 1
            chosen.append(position)
    if pairs:
        sides = {
            (*shared, side)
            for *shared, one, other, _ in map(keys.__getitem__, chosen)
            for side in (one, other)
        }
        chosen = [position for position, key in enumerate(keys_of(data)) if key in sides]
    strata = tuple(
        Stratum(dict(zip(by, name, strict=True)), sizes[name], share)
        for name, share in zip(names, shares, strict=True)
    )
    provenance = {
        "parent": {"name": data.name, "fingerprint": data.fingerprint, "units": len(data)},
        "by": list(by),
        "seed": seed,
        "allocation": "equal" if equal else "proportional",
        "strata": [{"values": dict(s.cell), "units": s.units, "chosen": s.chosen} for s in strata],
    }
    extra = {**data.extra, PROVENANCE: provenance}
    if repeat:
        extra["labelling"] = {**data.extra.get("labelling", {}), "repeat": repeat}
    made = replace(_part(data, sorted(chosen)), name=f"{data.name} (golden)", extra=extra)
    return Golden(made, strata, tuple(_dominant(strata, by, n, equal=equal)))


def _a_pair_each(data: DataOfKind, seed: int) -> DataOfKind:
    """Return a pair of units for each user and item that has two or more, drawn."""
    kind, pairs = kind_named(data.kind).of_pairs(data)
    keys = keys_of(pairs)
    order = sorted(range(len(keys)), key=lambda i: ticket(["pair", seed], keys[i]))
    table = pairs.explanations.take(order)
    table = table[table[kind.labels.showing] == FIRST].drop_duplicates([k for k in data.keys if k in table])
    return replace(pairs, explanations=table.reset_index(drop=True))


def _labels(data: DataOfKind, by: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the stratum of every unit."""
    if not by or len(set(by)) < len(by):
        raise DataError(
            f"the strata have one or more columns, each given once, not {', '.join(by) or 'none'}"
        )
    about = data.explanations.drop(columns=["explanation", "other"], errors="ignore")
    if data.users is not None:
        # A user without a profile has an empty one, and so a stratum of its own.
        profiles = data.users.set_index(data.cluster)
        about = about.join(profiles[profiles.columns.difference(about.columns, sort=False)], on=data.cluster)
    for name in by:
        if name not in about:
            there = [*map(str, about.columns)]
            raise DataError(
                f"data set {data.name!r} has no column {name!r} of explanations or users"
                f"{nearest(name, there)} (it has: {', '.join(there)})"
            )
    texts = about[list(by)].astype(object)
    return list(texts.where(texts.notna(), "").astype(str).itertuples(index=False, name=None))


def ticket(seed: object, key: tuple[str, ...]) -> bytes:
    """Return a sort key for the draw: pseudo-random, and the same on every machine."""
    return hashlib.sha256(json.dumps([seed, *key]).encode()).digest()


def keys_of(data: DataOfKind) -> list[tuple[str, ...]]:
    """Return the key of every unit."""
    return list(zip(*(data.units[k].astype(str) for k in data.keys), strict=True))


def check_rater(rater: str) -> None:
    """Raise `DataError` if the rater has no name."""
    if not rater.strip():
        raise DataError("the rater has no name; give one with --rater NAME")


def _part(data: DataOfKind, positions: list[int]) -> DataOfKind:
    """Return the units at some positions, with their ratings, profiles and scores."""
    explanations = data.explanations.iloc[positions].reset_index(drop=True)

    def of_units(frame: pd.DataFrame | None, keys: list[str]) -> pd.DataFrame | None:
        if frame is None:
            return None
        units = explanations[keys].drop_duplicates()
        return frame.merge(units, on=keys, how="inner")[list(frame.columns)]

    return replace(
        data,
        explanations=explanations,
        ratings=of_units(data.ratings, list(data.keys)),
        users=of_units(data.users, [data.cluster]),
        scores=of_units(data.scores, list(data.keys)),
        repeats=of_units(data.repeats, list(data.keys)),
    )


def _dominant(strata: Sequence[Stratum], by: Sequence[str], n: int, *, equal: bool) -> list[str]:
    """Return a warning for each column whose most frequent value dominates the set."""
    warnings = []
    for name in by:
        counts: Counter[str] = Counter()
        for stratum in strata:
            counts[stratum.cell[name]] += stratum.chosen
        ((value, most),) = counts.most_common(1)
        if most >= DOMINANT * n:
            advice = "little about other cases" + ("" if equal else "; draw with --equal")
            warnings.append(
                f"{most:,} of the {n:,} units ({most / n:.0%}) have the {name} {value or _EMPTY!r}: the set "
                f"says {advice if len(counts) > 1 else 'nothing about other cases'}"
            )
    return warnings


Separator: TypeAlias = Literal["comma", "semicolon", "tab"]
SEPARATORS: dict[Separator, str] = {"comma": ",", "semicolon": ";", "tab": "\t"}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)


def write_sheet(path: str | os.PathLike[str], frame: pd.DataFrame, separator: Separator = "comma") -> None:
    """Write a table that opens in a spreadsheet program: UTF-8 with a byte-order mark, every cell in quotes.

    Names of columns are `protected`; cells are written as they are, since -2 may be a number.
    """
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(
            file, delimiter=SEPARATORS[separator], quoting=csv.QUOTE_ALL, lineterminator="\r\n"
        )
        writer.writerow(map(protected, frame.columns))
        writer.writerows(frame.itertuples(index=False, name=None))


def read_sheet(path: str | os.PathLike[str], known: Collection[str]) -> pd.DataFrame:
    """Read a table that a spreadsheet program saved: every cell as text, without columns that have no name.

    Parameters
    ----------
    path
        The file: UTF-8, or UTF-16 with its mark.
    known
        Names of columns; of all separators, the one that finds most of them in the first row is taken.

    Returns
    -------
    DataFrame
        Without blank rows; its index has the row numbers that the program shows: 1-based, header counted.

    Raises
    ------
    DataError
        If the file cannot be read, or its cells do not fit its header.
    """
    name = Path(path).name
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        coding = encoding.removesuffix("-sig").upper()
        message = f"is not {coding}; save it as 'CSV UTF-8' or 'Unicode text'"
        raise DataError([Problem(name, None, None, message)]) from error
    if line := _SEPARATOR_LINE.match(text):
        text = text[line.end() :]  # Excel does not show this line, so rows are counted without it.

    def header_by(separator: str) -> list[str]:
        first: list[str] = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
        return [unprotected(cell).strip() for cell in first]

    def fit(separator: str) -> tuple[int, int]:
        header = header_by(separator)
        return sum(cell in known for cell in header), len(header)

    separator = line[1] if line else max(SEPARATORS.values(), key=fit)
    rows: list[list[str]] = []
    try:
        # Extended row by row, so that the rows before a wrong one are counted.
        rows.extend(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        message = f"is not valid CSV: {error}; look for a stray quotation mark"
        raise DataError([Problem(name, len(rows) + 1, None, message)]) from error
    header = header_by(separator)
    if not any(header):
        raise DataError([Problem(name, 1, None, "the first row names no columns")])
    problems = [
        Problem(name, 1, column, "two columns have this name; rename one")
        for at, column in enumerate(header)
        if column and column in header[:at]
    ]
    # Programs leave out the empty cells at the end of a row, or add some.
    width = max(map(len, rows))
    cells = [[*row, *[""] * (width - len(row))] for row in rows[1:]]
    frame = pd.DataFrame(cells, columns=range(width), index=range(2, len(rows) + 1), dtype=object)
    named = {at: column for at, column in enumerate(header) if column}
    for at in frame.columns.difference([*named]):
        for row in frame.index[frame[at].map(str.strip) != ""]:
            message = (
                f"{frame[at][row][:40]!r} stands in a column without a name; name the column, or empty it"
            )
            problems.append(Problem(name, row, None, message))
    if problems:
        raise DataError(problems)
    frame = frame[[*named]].rename(columns=named)
    return frame.loc[[any(map(str.strip, row)) for row in frame.itertuples(index=False, name=None)]]
