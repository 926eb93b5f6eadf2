"""A data set of any kind: units, named by key columns, and people's ratings of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError
from metaeval.base.keys import nouns_of
from metaeval.base.records import FIRST, SECOND, DataOfKind, DataSet, Scale
from metaeval.data.manifest import Format


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class KeyedUnits:
    """What follows from a table of units and its key columns; a subclass is a dataclass that has both."""

    name: str = "unnamed"
    licence: str = ""
    source: str = ""
    language: str = ""
    simulated: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    examples: DataOfKind | None = None
    """Whose ratings may be shown as examples of other users; None if its own may."""
    if TYPE_CHECKING:

        @property
        def keys(self) -> tuple[str, ...]:
            """The key columns."""

    frames: ClassVar[tuple[str, ...]] = ("table", "ratings", "scores")
    """Fields with a frame, or None, that has the key columns; the first has one row per unit."""
    saved_by: ClassVar[str] = ""
    """The module with the function ``save`` for such data sets; empty if their kind has no folder."""

    @property
    def cluster(self) -> str:
        """The first key column: that of users, or of items where there are no users."""
        return str(self.keys[0])

    @property
    def nouns(self) -> Mapping[str, str]:
        """Key column → its name, without ``_id`` at its end."""
        return nouns_of(self.keys)

    @property
    def units(self) -> pd.DataFrame:
        """The key columns, one row per unit."""
        units: pd.DataFrame = getattr(self, self.frames[0])[list(self.keys)]
        return units

    @property
    def counts(self) -> dict[str, int]:
        """What there is, in the singular → how many."""
        return counts_of(self)

    def __len__(self) -> int:
        """Return the number of units."""
        return len(getattr(self, self.frames[0]))

    def __repr__(self) -> str:
        known = self.counts
        numbers = [counted(known[n], n) for n in ("unit", *self.nouns.values(), "aspect") if n in known]
        return f"<{type(self).__name__} {self.name!r}: {', '.join(numbers)}>"

    def save(
        self,
        folder: str | os.PathLike[str],
        format: Format = "parquet",  # noqa: A002 the word a caller expects
        *,
        force: bool = False,
    ) -> Path:
        """Write the data set as a folder, which `metaeval.load` reads; it is there in full or not at all.

        Tables are ``parquet``, ``csv`` or ``jsonl``. ``force`` replaces a data set that is there, and never a
        folder that holds anything else. `DataError` is raised if the folder is in the way, the format is
        none of the three, or the kind of data has no folder.
        """
        if not self.saved_by:
            raise DataError(
                f"data of the type {type(self).__name__} cannot be saved: their kind of study has no folder"
            )
        saved: Path = import_module(self.saved_by).save(self, folder, format, force=force)
        return saved

    def without(self, column: str, values: Sequence[str]) -> Self:
        """Return the data set without the units that have one of these values of a key column."""
        kept = {}
        for name in self.frames:
            frame = getattr(self, name)
            if frame is not None:
                kept[name] = frame[~frame[column].isin(list(values))].reset_index(drop=True)
        left: Self = replace(cast("Any", self), **kept)
        return left


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RatedUnits(KeyedUnits):
    """A `metaeval.base.records.DataSet`; a kind that needs more defines its own.

    Parameters
    ----------
    table
        One row per unit: the key columns, and what is known of it. Keys are strings.
    ratings
        Long: key columns, ``rater``, ``aspect``, ``rating`` (float; NaN for a question without an answer).
    aspects
        Name of each aspect → the statement that raters saw.
    scale
        The rating scale, one for all aspects.
    keys
        The key columns, in order; values of the first are resampled whole.
    scores
        Scores recorded from other tools, long: key columns, ``evaluator``, ``aspect`` ("" = all), ``score``.
    """

    table: pd.DataFrame
    ratings: pd.DataFrame
    aspects: Mapping[str, str]
    scale: Scale
    keys: tuple[str, ...]
    scores: pd.DataFrame | None = None

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the content, as 64 hex digits."""
        return fingerprint(self.aspects, self.scale, self.table, self.ratings, self.scores)


def in_both_orders(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return both orders of each row, one after the other: ``order`` says which of its two is shown first.

    Columns whose names end in ``_first`` and ``_second`` are swapped with ``first`` and ``second``.
    """
    sides = {FIRST: SECOND} | {
        f"{name}_{FIRST}": f"{name}_{SECOND}"
        for name in (str(c).removesuffix(f"_{FIRST}") for c in pairs if str(c).endswith(f"_{FIRST}"))
        if f"{name}_{SECOND}" in pairs
    }
    swapped = pairs.rename(columns=sides | {other: one for one, other in sides.items()})
    both = pd.concat([pairs.assign(order=FIRST), swapped.assign(order=SECOND)])
    return both.iloc[np.arange(2 * len(pairs)).reshape(2, -1).T.ravel()].reset_index(drop=True)


def counts_of(data: Any) -> dict[str, int]:  # noqa: ANN401 - a `KeyedUnits`
    """Return how many units, values of each key, aspects, raters, evaluators and gaps a data set has."""
    scores, given = data.scores, data.ratings["rating"].notna()
    return {
        "unit": len(data),
        **{called: data.units[key].nunique() for key, called in data.nouns.items()},
        "aspect": len(data.aspects),
        "rater": data.ratings["rater"].nunique(),
        "recorded evaluator": 0 if scores is None else scores["evaluator"].nunique(),
        "rating": int(given.sum()),
        "missing rating": int((~given).sum()),
    }


def fingerprint(
    aspects: Mapping[str, str], scale: Scale, *tables: pd.DataFrame | None, **facts: object
) -> str:
    """Return SHA-256 over aspects, scale, tables and facts, as 64 hex digits; the order of rows is free."""
    digest = hashlib.sha256()
    head = {"aspects": dict(aspects), "scale": scale.facts(), **facts}
    digest.update(json.dumps(head, sort_keys=True, ensure_ascii=False).encode())
    for frame in tables:
        if frame is None:
            continue
        columns = sorted(frame.columns)
        digest.update("\x1f".join(columns).encode())
        # One hash per row, then sorted: the order of the rows in a file says nothing.
        hashes = pd.util.hash_pandas_object(frame[columns].astype(object), index=False, categorize=True)
        digest.update(hashes.sort_values().to_numpy().tobytes())
    return digest.hexdigest()


def summary(data: DataSet) -> str:
    """Return the counts as one line; it says so if the study is simulated."""
    told = (counted(n, what) for what, n in data.counts.items())
    return f"{data.name}{' (simulated)' if data.simulated else ''}: {', '.join(told)}"
