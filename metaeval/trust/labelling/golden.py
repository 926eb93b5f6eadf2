"""Golden sets: a small sample of a data set, stratified covering every kind of case.

Judges are calibrated on it. A simple random sample is mostly the common easy case; so the sample is drawn by
stratum, and the set keeps what it was drawn from and how.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
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
"""The key under `extra` of a data set that says how a golden set was drawn."""

DOMINANT = 0.8
"""From this share of the set on, one value of a column is warned of."""

_EMPTY = "(empty)"


@dataclasses.dataclass(frozen=True, slots=True)
class Stratum:
    """Units with the same values in the columns of the strata."""

    cell: Mapping[str, str]
    """Column → value."""
    units: int
    """In the data set."""
    chosen: int
    """In the golden set."""

    def __str__(self) -> str:
        return ", ".join(f"{name} {value or _EMPTY}" for name, value in self.cell.items())


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Golden:
    """A golden set and its strata."""

    data: ExplanationSet
    """With ``extra['golden']``: what it was drawn from, and how."""
    strata: tuple[Stratum, ...]
    warnings: tuple[str, ...]
    """Sentences on values that dominate the set."""

    def lines(self) -> list[str]:
        """Return one line per stratum."""
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

    The draw depends on the seed and on the keys of the units, not on their order.

    Parameters
    ----------
    data
        The data set; ratings, profiles and recorded scores of the drawn units come along.
    n
        Units to draw.
    by
        Columns of the explanations or of the users; each combination of values is a stratum.
    seed
        Of the draw.
    equal
        Equal allocation, as far as strata have units, instead of proportional.

    Raises
    ------
    DataError
        If a column is unknown, or ``n`` is below the number of strata or above the number of units.
    """
    labels = _labels(data, by)
    sizes = Counter(labels)
    _check_size(n, len(data), len(sizes), by)
    names = sorted(sizes)
    shares = (equal_shares if equal else proportional_shares)([sizes[name] for name in names], n)
    left = dict(zip(names, shares, strict=True))
    keys = list(zip(*(data.explanations[k] for k in data.keys), strict=True))
    chosen = []
    for position in sorted(range(len(data)), key=lambda i: ticket(seed, keys[i])):
        if left[labels[position]]:
            left[labels[position]] -= 1
            chosen.append(position)
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
    made = dataclasses.replace(_part(data, sorted(chosen)), name=f"{data.name} (golden)", extra=extra)
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
    path, n, by, seed, equal
        As of `metaeval.load` and `sample`.
    out, suffix, force
        As of `metaeval.kinds.explanations.data.loading.save`; all three raise `DataError`.
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


def ticket(seed: object, key: tuple[str, ...]) -> bytes:
    """Return a sort key for the draw: pseudo-random, and the same on every machine."""
    return hashlib.sha256(json.dumps([seed, *key]).encode()).digest()


def _part(data: ExplanationSet, positions: list[int]) -> ExplanationSet:
    """Return the units at some positions, with their ratings, profiles and scores."""
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
    """Return a warning for each column whose most frequent value dominates the set."""
    found = []
    for name in by:
        counts: Counter[str] = Counter()
        for stratum in strata:
            counts[stratum.cell[name]] += stratum.chosen
        value = max(counts, key=counts.__getitem__)
        if counts[value] >= DOMINANT * n:
            advice = (
                "the set says nothing about other cases"
                if len(counts) == 1
                else "the set says little about other cases" + ("" if equal else "; draw with --equal")
            )
            found.append(
                f"{counts[value]:,} of the {n:,} units ({counts[value] / n:.0%}) have the {name} "
                f"{value or _EMPTY!r}: {advice}"
            )
    return found
