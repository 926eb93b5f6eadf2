"""What a kind of study found: an estimate per evaluator and cell, and the dimensions that the cells have."""

from __future__ import annotations

import string
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.engine.sheet import Form

ESTIMATES = ("estimate", "ci_low", "ci_high")


@dataclass(frozen=True, slots=True)
class BoardDimension:
    """One of the choices that name a cell."""

    name: str
    """The column of the frame."""
    choices: Mapping[str, str]
    """Each value in the order in which it is offered → what a sentence says for it."""
    title: str = ""
    """What a reader calls it; the name, if left out."""
    plural: str = ""
    """The title with an s, if left out."""
    first: str = ""
    """The value that is shown first; the first one, if left out."""

    def __post_init__(self) -> None:
        """Fill in what was left out.

        Raises
        ------
        ValueError
            If there is no value, or the one to show first is none of them.
        """
        if not self.choices:
            raise ValueError(f"the dimension {self.name!r} has no value; give one at least")
        title = self.title or self.name
        object.__setattr__(self, "title", title)
        object.__setattr__(self, "plural", self.plural or f"{title}s")
        object.__setattr__(self, "first", self.first or next(iter(self.choices)))
        if self.first not in self.choices:
            raise ValueError(
                f"the dimension {self.name!r} has no value {self.first!r} to show first "
                f"(it has: {', '.join(self.choices)})"
            )


@dataclass(frozen=True, slots=True)
class SecondEstimate:
    """What some cells hold beside the estimate, printed as that is."""

    name: str
    """The column of the frame; NaN where there is none."""
    title: str
    hint: str = ""
    """What it is, in a clause."""
    note: str = ""
    """Sentences below a table that shows it."""


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """Estimates of evaluators, one per cell; a cell has a value of each dimension.

    Raises
    ------
    ValueError
        If the frame lacks a column, has a value that its dimension does not, or two rows of one cell.
    """

    frame: pd.DataFrame
    """A row per evaluator and cell: ``evaluator``, the dimensions, ``estimate``, ``ci_low``, ``ci_high`` (NaN
    where there is none) and counts, whose names begin with ``n_``."""
    dimensions: tuple[BoardDimension, ...]
    """In the order in which a reader chooses."""
    estimate: str = "estimate"
    """What is estimated, in a word or two; the name of a dimension in braces stands for the chosen value:
    ``{coefficient}``."""
    relation: str = "against the truth"
    """What stands between the estimate and the name of the truth: Pearson's r *with the truth* User()."""
    noun: str = "estimate"
    """What a single number of the board is called in a sentence."""
    second: SecondEstimate | None = None
    form: Form = "number"
    """How estimates are printed."""
    higher_is_better: bool = True
    columns: tuple[str, ...] = ()
    """The dimensions that a table of all cells lays out as columns: one, or groups of columns and the columns
    of each. The others remain choices; no such table is offered if this is empty."""
    counts: Mapping[str, str] = field(default_factory=dict)
    """The counts that are shown beside an estimate → their titles."""

    def __post_init__(self) -> None:
        """See that the frame and the dimensions fit."""
        names = [d.name for d in self.dimensions]
        needed = ["evaluator", *names, *ESTIMATES, *self.counts, *([self.second.name] if self.second else [])]
        absent = [c for c in needed if c not in self.frame]
        if absent:
            raise ValueError(f"the frame of a board has no column {', '.join(absent)}")
        for dimension in self.dimensions:
            strange = set(self.frame[dimension.name]) - set(dimension.choices)
            if strange:
                raise ValueError(f"the dimension {dimension.name!r} has no value {sorted(strange)[0]!r}")
        spoken = [name for _, name, _, _ in string.Formatter().parse(self.estimate) if name is not None]
        unknown = [name for name in (*self.columns, *spoken) if name not in names]
        if unknown or len(self.columns) > 2:
            what = f"no dimension {unknown[0]!r}" if unknown else "at most two dimensions as columns"
            raise ValueError(f"a board has {what} (dimensions: {', '.join(names)})")
        if self.frame.duplicated(["evaluator", *names]).any():
            raise ValueError("the frame of a board has two rows of one evaluator and cell")

    def codes(self, at: Mapping[str, Any]) -> list[int]:
        """Return the position of a cell's value in each dimension."""
        return [list(d.choices).index(str(at[d.name])) for d in self.dimensions]
