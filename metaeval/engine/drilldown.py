"""The details behind a board, for any kind of study: groups of units, and single units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from metaeval.engine.sheet import Form
from metaeval.stats.coefficients.tables import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class GroupColumn:
    """A number per evaluator, cell and group."""

    numbers: Floats
    """Shape (evaluators, a size per name in ``dimensions``, groups); NaN where it is undefined. An evaluator
    of which nothing is known has NaN throughout."""
    dimensions: tuple[str, ...]
    """The dimensions of the board that the cells vary in."""
    title: str
    """As `metaeval.engine.board.Board.estimate`: braces stand for the chosen value of a dimension."""
    form: Form
    hint: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """G groups of units, and the results of evaluators in each."""

    name: str
    """Short and unique."""
    title: str
    """What units are grouped by: "user and item"."""
    noun: str
    """What the groups are called, in the plural: "pairs"."""
    keys: tuple[str, ...]
    """The columns of the units that name a group."""
    ids: tuple[tuple[str, ...], ...]
    """Of each group, a value per key."""
    n_units: Ints
    """Shape (G,)."""
    columns: tuple[GroupColumn, ...]
    """The first is what groups are ordered by; the others stand beside it."""
    at: Mapping[str, str] = field(default_factory=dict)
    """The cells of the board whose estimate is the mean of the first column, by dimension; empty if none."""
    undefined: str = ""
    """Why the first number of a group may be undefined, as a clause."""


@dataclass(frozen=True, slots=True, eq=False)
class UnitColumn:
    """A short text per unit."""

    name: str
    title: str
    texts: Sequence[str | None]
    key: bool = True
    """Whether it names the unit, so that units are found by it."""


@dataclass(frozen=True, slots=True, eq=False)
class UnitText:
    """A part of what was judged, or of what it was compared with."""

    title: str
    texts: Sequence[str | None]
    """One per unit; None where there is none."""
    beside: bool = False
    """Whether it stands beside the one before, where there is room."""
    blind: bool = True
    """Whether people who label may see it: it says nothing of what is right."""


@dataclass(frozen=True, slots=True)
class Rated:
    """An aspect for which each unit has a truth and scores."""

    name: str
    statement: str = ""
    """What raters saw."""


@dataclass(frozen=True, slots=True, eq=False)
class UnitView:
    """How units are shown to a reader."""

    columns: tuple[UnitColumn, ...]
    texts: tuple[UnitText, ...]
    """The first is the one that a list of units begins with."""
    rated: tuple[Rated, ...]
    dimension: str = ""
    """The dimension of the board whose values `rated` are; empty if units are rated for one thing alone."""
    heading: str = ""
    """The column that a unit is headed with, if it has one."""
    compared: str = ""
    """The key whose values can be read side by side where the other keys are the same; empty if none is."""
