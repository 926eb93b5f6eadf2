"""The results of a study: one estimate per evaluator and cell, and the dimensions of the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from metaeval.base.counts import plural_of
from metaeval.base.errors import MetaevalError, nearest, shown
from metaeval.base.simulation import MARK, REAL, Simulation

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.base.records import Kind
    from metaeval.engine.sheet import Form

Cell: TypeAlias = "Mapping[str, str]"
"""Dimension → value, of each dimension of a board."""

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
    """That of the title, if left out."""
    first: str = ""
    """The value that is shown first; the first one, if left out."""
    total: str = ""
    """The value that is made of all others, such as their average; where there is one other, that stands for
    it."""
    spoken: Mapping[str, str] = field(default_factory=dict)
    """Values that have other words within a sentence than as a choice."""
    lower: Sequence[str] = ()
    """The values, such as an error among measures, in whose cells lower estimates are better."""
    chance: Mapping[str, float] = field(default_factory=dict)
    """What verdicts at random have in the cells of a value, where that is not 0: scales start there."""

    def __post_init__(self) -> None:
        """Fill in what was left out."""
        title = self.title or self.name
        object.__setattr__(self, "title", title)
        object.__setattr__(self, "plural", self.plural or plural_of(title))
        object.__setattr__(self, "lower", tuple(self.lower))
        object.__setattr__(self, "first", self.first or next(iter(self.choices)))


@dataclass(frozen=True, slots=True)
class SecondEstimate:
    """A second estimate in some cells, printed like the first."""

    name: str
    """The column of the frame; NaN where there is none."""
    title: str
    hint: str = ""
    """What it is, in a clause."""
    note: str = ""
    """Sentences below a table that shows it."""
    at: Mapping[str, str] = field(default_factory=dict)
    """Dimension → value, of the cells that can have it; intervals there are its own."""
    made: tuple[str, ...] = ()
    """Sentences on how it was made."""
    intervals: str = ""
    """What intervals are where they are its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """Estimates of evaluators, one per cell; a cell has a value of each dimension.

    Raises `ValueError` if the frame lacks a column, has a value that its dimension does not, or two rows of
    one cell.
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
    """Unless a dimension says otherwise (`BoardDimension.lower`)."""
    columns: tuple[str, ...] = ()
    """The dimensions that a table of all cells lays out as columns: one, or groups of columns and the columns
    of each. The others remain choices; no such table is offered if this is empty."""
    counts: Mapping[str, str] = field(default_factory=dict)
    """The counts that are shown beside an estimate → their titles."""
    sums: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The counts that a table of all cells sums up → their titles, and a sentence for none at all; those of
    ``counts``, if left out."""
    intervals: str = ""
    """How intervals were made, in a sentence."""
    notes: tuple[str, ...] = ()
    """Sentences on what was done, with missing values for one."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """Evaluator → the block of a table that it stands in."""
    apart: tuple[str, ...] = ()
    """Evaluators on few units of their own, which are compared with no other: no rank and no mark."""
    simulated: Simulation = REAL
    in_truth: tuple[str, ...] = ()
    """Evaluators that share people or scores with the truth, which raises their estimates."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Evaluator → the name that is printed, if that is another."""

    def label(self, evaluator: str) -> str:
        """Return the name of an evaluator as it is printed, with its marks."""
        mark = " (part of the truth)" if evaluator in self.in_truth else ""
        simulated = MARK if evaluator in self.simulated.evaluators else ""
        return f"{self.names.get(evaluator, evaluator)}{simulated}{mark}"

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
        if self.frame.duplicated(["evaluator", *names]).any():
            raise ValueError("the frame of a board has two rows of one evaluator and cell")

    def codes(self, at: Cell) -> list[int]:
        """Return the position of a cell's value in each dimension."""
        return [list(d.choices).index(str(at[d.name])) for d in self.dimensions]

    def cell(
        self, wanted: str | Cell | Sequence[str] | None = None, default: Cell | None = None
    ) -> dict[str, str]:
        """Return a cell of the board.

        Parameters
        ----------
        wanted
            Values of the dimensions: a mapping, or in their order, as a sequence or a text with commas.
        default
            The cell that has what is left out; each dimension's first value, if that is left out.

        Raises
        ------
        MetaevalError
            If there is no such dimension or value.
        """
        names = [d.name for d in self.dimensions]
        at = read_cell(wanted, {d.name: d.first for d in self.dimensions} | dict(default or {}))
        for name in at.keys() - set(names):
            raise MetaevalError(f"the result has no {name!r} to order by (it has: {', '.join(names)})")
        found = {}
        for d in self.dimensions:
            value = at[d.name]
            if value not in d.choices and value == d.total and len(d.choices) == 1:
                value = d.first
            if value not in d.choices:
                hint, have = nearest(value, d.choices), ", ".join(d.choices)
                raise MetaevalError(
                    f"the result has no {d.name} {shown(value)} to order by{hint} (it has: {have})"
                )
            found[d.name] = value
        return found

    @property
    def tables(self) -> BoardDimension | None:
        """The dimension with one table of all cells per value, if there is one."""
        return next((d for d in self.dimensions if self.columns and d.name not in self.columns), None)

    def higher_in(self, cell: Cell) -> bool:
        """Say whether higher estimates are better in a cell."""
        return self.higher_is_better and not any(cell[d.name] in d.lower for d in self.dimensions)

    def words(self, cell: Cell) -> str:
        """Return what a sentence says for a cell, and the unit of its estimates."""
        said = [d.spoken.get(cell[d.name], d.choices[cell[d.name]]) for d in self.dimensions]
        return ", ".join([*(said or [self.noun]), *([self.unit] if self.unit else [])])

    @property
    def unit(self) -> str:
        """What estimates are multiplied by as they are printed; empty for none."""
        return "× 100" if self.form == "hundred" else ""

    def second_of(self, cell: Cell) -> SecondEstimate | None:
        """Return what a cell can have beside the estimate."""
        second = self.second
        return second if second and all(cell[k] == v for k, v in second.at.items()) else None

    def of(self, cell: Cell) -> pd.DataFrame:
        """Return the rows of one cell."""
        frame = self.frame
        there = [(frame[name] == value).to_numpy() for name, value in cell.items()]
        return frame[np.logical_and.reduce(there)] if there else frame

    def only(self, dimension: str, values: Sequence[str]) -> Board:
        """Return the board with some values of a dimension, in the order given.

        Raises `ValueError` if it has no such value.
        """
        old = next((d for d in self.dimensions if d.name == dimension), None)
        if old is None:
            raise ValueError(f"the result has no {dimension} to choose from")
        for value in values:
            if value not in old.choices:
                have = ", ".join(old.choices)
                raise ValueError(f"the result has no {dimension} {shown(value)}; it has {have}")
        new = replace(old, choices={v: old.choices[v] for v in values}, first="")
        frame = self.frame[self.frame[dimension].isin(list(values))]
        return replace(self, frame=frame, dimensions=tuple(new if d is old else d for d in self.dimensions))

    def record(self) -> dict[str, Any]:
        """Return all that the frame does not say as plain JSON values, for `Board.of_record`."""
        known = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _NOT_RECORDED}
        second = self.second and asdict(self.second)
        return {**known, "dimensions": [asdict(d) for d in self.dimensions], "second": second}

    @classmethod
    def of_record(
        cls, frame: pd.DataFrame, record: Mapping[str, Any], kinds: Mapping[str, Kind], simulated: Simulation
    ) -> Board:
        """Return the board of a frame and what `Board.record` gave, with ``kinds`` and ``simulated``.

        Rows of no cell of the board are left out.
        """
        known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
        known["dimensions"] = tuple(BoardDimension(**d) for d in record["dimensions"])
        if record["second"]:
            known["second"] = SecondEstimate(**{**record["second"], "made": tuple(record["second"]["made"])})
        for dimension in known["dimensions"]:
            frame = frame[frame[dimension.name].isin(list(dimension.choices))]
        return cls(frame, **known, kinds=kinds, simulated=simulated)


_NOT_RECORDED = ("frame", "kinds", "simulated", "in_truth", "names")


def read_cell(wanted: str | Cell | Sequence[str] | None, default: Cell) -> dict[str, str]:
    """Read a cell: a mapping, or values in the order of ``default``, which has what is left out.

    Raises `MetaevalError` if there are more values than dimensions.
    """
    if isinstance(wanted, Mapping):
        return {**default, **wanted}
    given = [word.strip() for word in wanted.split(",")] if isinstance(wanted, str) else list(wanted or ())
    if len(given) > len(default):
        raise MetaevalError(
            f"the column is {wanted!r}; give {','.join(default)}, such as {','.join(default.values())}"
        )
    return {**default, **{name: value for name, value in zip(default, given, strict=False) if value}}
