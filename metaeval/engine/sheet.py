"""A typed table of an analysis, before it is put into a format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from metaeval.base.simulation import REAL, Simulation

if TYPE_CHECKING:
    import pandas as pd

Form: TypeAlias = Literal["text", "count", "hundred", "share", "number", "hundredths", "decimal", "p", "usd"]
"""How a column is printed: as it is; a whole number; × 100 with two decimals (coefficients); a percentage;
four significant digits; two decimals (differences on a scale); four decimals (coefficients of agreement);
a p-value; dollars."""


class Column(NamedTuple):
    """One printed column of a sheet."""

    name: str
    """The column of the frame."""
    title: str
    form: Form = "text"
    low: str = ""
    """The column with the lower end of an interval, which is printed behind the value."""
    high: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Rows of named columns with what is to be said of them.

    ``frame`` has every digit, and may have more columns than are printed.
    """

    name: str
    """Short and unique among the sheets of an analysis; names files."""
    title: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    """Sentences on what the numbers are and what was done to get them."""
    simulated: Simulation = REAL
    """What is: the data, or which evaluators of the sheet."""

    def without(self, name: str) -> Sheet:
        """Return the sheet without one of its columns."""
        columns = tuple(c for c in self.columns if c.name != name)
        return replace(self, frame=self.frame.drop(columns=name, errors="ignore"), columns=columns)
