"""Golden sets: a small part of a data set, drawn so that every kind of case is in it, for people to label.

The set is the ground that a judge is calibrated on. One drawn at random is mostly the common easy case; so it
is drawn stratum by stratum, and the set says what it was drawn from and how.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import DataError, nearest
from metaeval.trust.labelling.allocation import equal_shares, proportional_shares

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.explanations.data.folder import Format

PROVENANCE = "golden"
"""The key under `extra` of a data set that says what a golden set was drawn from, and how."""

DOMINANT = 0.8
"""The share of the set at which one kind of case is too much of it."""

_EMPTY = "(empty)"


@dataclasses.dataclass(frozen=True, slots=True)
class Stratum:
    """Units that agree in the columns by which a golden set is drawn."""

    cell: Mapping[str, str]
    """Column → value."""
    units: int
    """How many there are in the data set."""
    chosen: int
    """How many of them are in the golden set."""

    def __str__(self) -> str:
        return ", ".join(f"{name} {value or _EMPTY}" for name, value in self.cell.items())


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Golden:
    """A golden set and how it came about."""

    data: ExplanationSet
    """The set; under ``extra['golden']`` it says what it was drawn from."""
    strata: tuple[Stratum, ...]
    warnings: tuple[str, ...]
    """Sentences for whoever is to rely on the set."""

    def lines(self) -> list[str]:
        """Return a line a stratum."""
        return [f"{s}: {s.chosen:,} of {s.units:,}" for s in self.strata]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain JSON values."""
        return {
            "name": self.data.name,
            "units": len(self.data),
            "fingerprint": self.data.fingerprint,
            "strata": [{**s.cell, "units": s.units, "chosen": s.chosen} for s in self.strata],
            "warnings": list(self.warnings),
        }


def sample(data: ExplanationSet, n: int, by: Sequence[str], *, seed: int = 0, equal: bool = False) -> Golden:
    """Draw a stratified golden set.

    The seed puts the units of a stratum in an order that depends on their keys alone, not on their rows; the
    first of them are drawn.

    Parameters
    ----------
    data
        The data set. Ratings, profiles and recorded scores of the units that are drawn come along.
    n
        Units to draw.
    by
        Columns of the explanations or of the users; units that agree in all of them are a stratum.
    seed
        Of the draw.
    equal
        Give every stratum the same number of units, as far as it has them, rather than its share.

    Raises
    ------
    DataError
        If a column is unknown, or ``n`` is below the number of strata or above the number of units.
    """
    labels = _labels(data, by)
    sizes: dict[tuple[str, ...], int] = {}
    for label in labels:
        sizes[label] = sizes.get(label, 0) + 1
    _check_size(n, len(data), len(sizes), by)
    names = sorted(sizes)
    counts = [sizes[name] for name in names]
    shares = dict(zip(names, (equal_shares if equal else proportional_shares)(counts, n), strict=True))

    members: dict[tuple[str, ...], list[int]] = {name: [] for name in names}
    keys = list(zip(*(data.explanations[k] for k in data.keys), strict=True))
    for position in sorted(range(len(data)), key=lambda i: _ticket(seed, keys[i])):
        members[labels[position]].append(position)
    chosen = sorted(p for name in names for p in members[name][: shares[name]])
    strata = tuple(Stratum(dict(zip(by, name, strict=True)), sizes[name], shares[name]) for name in names)
    drawn = _part(data, chosen)
    provenance = {
        "parent": {"name": data.name, "fingerprint": data.fingerprint, "units": len(data)},
        "by": list(by),
        "seed": seed,
        "allocation": "equal" if equal else "proportional",
        "strata": [{"values": dict(s.cell), "units": s.units, "chosen": s.chosen} for s in strata],
    }
    made = dataclasses.replace(
        drawn, name=f"{data.name} (golden)", extra={**data.extra, PROVENANCE: provenance}
    )
    return Golden(made, strata, tuple(_dominant(strata, by, n, equal=equal)))


def write_sample(
    path: str | os.PathLike[str],
    n: int,
    by: Sequence[str],
    out: str | os.PathLike[str],
    *,
    seed: int = 0,
    equal: bool = False,
    suffix: Format = "csv",
    force: bool = False,
) -> Golden:
    """Draw a golden set of a data set on disk, and write it as a data-set folder.

    Parameters
    ----------
    path
        What `metaeval.load` takes.
    n, by, seed, equal
        As of `sample`.
    out
        The folder; it is there in full or not at all.
    suffix
        Format of the tables: ``csv``, ``parquet`` or ``jsonl``.
    force
        Replace a data set that is there.

    Raises
    ------
    DataError
        As `metaeval.load`, `sample` and `metaeval.kinds.explanations.data.loading.save` do.
    """
    from metaeval.kinds.explanations.data.loading import load, save

    made = sample(load(path), n, by, seed=seed, equal=equal)
    save(made.data, out, suffix, force=force)
    return made


def _labels(data: ExplanationSet, by: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the stratum of every unit."""
    if isinstance(by, str) or not by:
        raise DataError(f"the columns of the strata are given as a list of one or more, not as {by!r}")
    known = [c for c in map(str, data.explanations.columns) if c != "explanation"]
    profiles = [] if data.users is None else [str(c) for c in data.users.columns if c not in known]
    columns: list[list[str]] = []
    for number, name in enumerate(by):
        if name in by[:number]:
            raise DataError(f"the column {name!r} is given twice; give each column once")
        if name in known:
            column = data.explanations[name]
        elif data.users is not None and name in profiles:
            # A user without a profile has an empty one, and so a stratum of its own.
            column = data.explanations[data.cluster].map(data.users.set_index(data.cluster)[name])
        else:
            there = [*known, *profiles]
            raise DataError(
                f"data set {data.name!r} has no column {name!r} of explanations or users"
                f"{nearest(name, there)} (it has: {', '.join(there)})"
            )
        columns.append([str(v) for v in column.astype(object).where(column.notna(), "")])
    return list(zip(*columns, strict=True))


def _check_size(n: int, units: int, strata: int, by: Sequence[str]) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise DataError(f"a golden set has a whole number of units, 1 or more, not {n!r}")
    if n > units:
        raise DataError(
            f"a golden set of {n:,} units cannot be drawn from {units:,}; take {units:,} or fewer"
        )
    if n < strata:
        raise DataError(
            f"{n:,} units cannot cover the {strata:,} strata by {', '.join(by)}; "
            f"take {strata:,} units or more, or fewer columns"
        )


def _ticket(seed: int, key: tuple[str, ...]) -> bytes:
    """Return a unit's place in the draw: random to look at, and the same on every machine."""
    return hashlib.sha256(json.dumps([seed, *key]).encode()).digest()


def _part(data: ExplanationSet, positions: list[int]) -> ExplanationSet:
    """Return the units at some positions, with all that is said of them."""
    keys = list(data.keys)
    explanations = data.explanations.iloc[positions].reset_index(drop=True)
    units = explanations[keys]

    def of_units(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.merge(units, on=keys, how="inner")[list(frame.columns)]

    users = data.users
    if users is not None:
        users = users[users[data.cluster].isin(explanations[data.cluster])].reset_index(drop=True)
    return dataclasses.replace(
        data,
        explanations=explanations,
        ratings=of_units(data.ratings),
        users=users,
        scores=None if data.scores is None else of_units(data.scores),
    )


def _dominant(strata: Sequence[Stratum], by: Sequence[str], n: int, *, equal: bool) -> list[str]:
    """Return a warning for each value that most of the set has; a stratum is no larger than its values."""
    found = []
    for name in by:
        counts: dict[str, int] = {}
        for stratum in strata:
            counts[stratum.cell[name]] = counts.get(stratum.cell[name], 0) + stratum.chosen
        value = max(counts, key=counts.__getitem__)
        if counts[value] >= DOMINANT * n:
            advice = (
                "nothing can be said of other cases"
                if len(counts) == 1
                else "little can be said of other cases" + ("" if equal else "; draw with --equal")
            )
            found.append(
                f"{counts[value]:,} of the {n:,} units ({counts[value] / n:.0%}) have the {name} "
                f"{value or _EMPTY!r}: {advice}"
            )
    return found
