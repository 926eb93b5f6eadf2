"""A typed table of an analysis, before it is formatted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from metaeval.base.simulation import REAL, Simulation
from metaeval.stats.resampling.significance import FEW_CLUSTERS, FEWEST_CLUSTERS

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.stats.coefficients.tables import Floats

Form: TypeAlias = Literal[
    "text",
    "code",
    "counts",
    "count",
    "rank",
    "hundred",
    "share",
    "number",
    "hundredths",
    "decimal",
    "p",
    "usd",
    "seconds",
]
"""How a column is printed: as it is; as it is, with spaces for underscores; as it is, for whole numbers; a
whole number; a rank, of which ties have halves; × 100 with two decimals (coefficients); a percentage; four
significant digits; two decimals (differences on a scale); four decimals (coefficients of agreement); a
p-value; dollars; a time, in the unit that suits it."""

TEXT_FORMS = ("text", "code", "counts")
"""Forms of columns that hold text."""

Mark: TypeAlias = Literal["best", "second"]
"""How a value stands among those of all evaluators."""

NOTHING = "—"
"""What stands for a value that is undefined."""
_MOST_DECIMALS = 6

MARKS_SAID = "The best value is bold, the second is underlined"
"""How notes say what marks are; plain text says it otherwise."""


class Column(NamedTuple):
    """One printed column of a sheet."""

    name: str
    """The column of the frame."""
    title: str
    form: Form = "text"
    low: str = ""
    """The column with the lower end of an interval, which is printed behind the value."""
    high: str = ""
    beside: tuple[str, ...] = ()
    """Further columns that are printed in the same cell, behind a slash each."""
    parts: tuple[str, ...] = ()
    """What each value of such a cell is, if LaTeX gives each a column of its own below the title."""
    optional: bool = False
    """Whether a table leaves it out where no row has a value."""
    keep: bool = False
    """Whether a narrow terminal keeps it: the verdict, or a number that matters more than the first."""


def columns(form: Form, **titles: str) -> tuple[Column, ...]:
    """Return columns of one form, given their titles by name."""
    return tuple(Column(name, title, form) for name, title in titles.items())


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A table: rows, columns and notes.

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
    caption: str = ""
    """A sentence on what the sheet holds, said before the notes, and above a table in LaTeX."""
    heads: str = ""
    """The column with the words that head a run of rows; none, if left out."""
    marks: Mapping[tuple[int, str], Mark] = field(default_factory=dict)
    """Row and column of the frame → what is marked there."""
    principal: bool = False
    """Whether it is the one that a file of CSV holds, and other sheets lie beside it."""
    about: tuple[str, ...] | None = None
    """The columns that name evaluators, ``A / B`` of two; all of the command's, if left out."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Evaluator → the name that is printed, if that is another."""
    finding: Callable[[Sheet], str] | None = None
    """The sheet, with the names that are printed → what its rows show, as a sentence, or nothing."""

    def __post_init__(self) -> None:
        ends = {c.name: c.low for c in self.columns if c.low}
        if ends and not any(FEW_CLUSTERS in note for note in self.notes):
            said = filter(None, [lacking_sentence(self.frame, ends)])
            object.__setattr__(self, "notes", (*self.notes, *said))

    @property
    def told(self) -> Simulation:
        """What is simulated, with the names that are printed: for sentences."""
        return self.simulated.named(self.names)

    @property
    def said(self) -> str:
        """What its rows show: said first by a command, and below the title in the report."""
        return self.finding(self) if self.finding else ""

    def without(self, name: str) -> Sheet:
        """Return the sheet without one of its columns."""
        columns = tuple(c for c in self.columns if c.name != name)
        return replace(self, frame=self.frame.drop(columns=name, errors="ignore"), columns=columns)


def said_by(sheets: Iterable[Sheet]) -> list[str]:
    """Return what sheets show, each in a sentence or two."""
    return [*filter(None, (sheet.said for sheet in sheets))]


def table(
    name: str,
    title: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    *notes: str,
    about: tuple[str, ...] | None = None,
) -> Sheet | None:
    """Return the sheet of rows; None without any. Optional columns without a value are left out."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    shown = tuple(c for c in columns if not c.optional or (c.name in frame and not is_blank(frame[c.name])))
    return Sheet(name, title, frame, shown, notes, about=about) if rows else None


def is_blank(column: pd.Series[Any]) -> bool:
    """Say whether no row of a column has a value."""
    return not (column.notna() & (column != "")).any()


def lacking_sentence(frame: pd.DataFrame, ends: Mapping[str, str]) -> str:
    """Say why values have no interval; nothing if all have one. ``ends``: column → that of the lower end."""
    there = [(frame[value], frame[low]) for value, low in ends.items() if low in frame]
    if not any((value.notna() & low.isna()).any() for value, low in there):
        return ""
    return (
        f"A value without an interval rests on fewer than {FEWEST_CLUSTERS} clusters, such as users "
        f"({FEW_CLUSTERS}), if no other note says why."
    )


def by_aspect(columns: Mapping[str, Floats], aspects: Sequence[str]) -> dict[str, Any]:
    """Return the mean of each column over aspects, then a column per aspect, such as ``kappa: accuracy``.

    Parameters
    ----------
    columns
        Name → values, shape (aspects,) or (rows, aspects).
    """
    found: dict[str, Any] = {name: values.mean(axis=-1) for name, values in columns.items()}
    for name, values in columns.items():
        found |= {f"{name}: {aspect}": v for aspect, v in zip(aspects, values.T, strict=True)}
    return found


_DECIMALS = {"hundredths": ".2f", "decimal": ".4f", "rank": "g"}


def value_text(value: Any, form: Form, decimals: int | None = None) -> str:  # noqa: ANN401 - whatever the cell of a frame holds
    """Return a value as it is printed; `NOTHING` for one that is missing.

    A number has so many ``decimals``, if they are given.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    match form:
        case "text" | "counts":
            text = {"True": "yes", "False": "no"}.get(str(value), str(value))
        case "code":
            text = str(value).replace("_", " ")
        case "count":
            text = f"{round(value):,}"
        case "hundred":
            text = f"{100 * value:.{2 if decimals is None else decimals}f}"
        case "share":
            text = f"{100 * value:.1f} %"
        case "number":
            text = _four_digits(value) if decimals is None else f"{value:,.{decimals}f}"
        case "hundredths" | "decimal" | "rank":
            text = format(value, _DECIMALS[form] if decimals is None else f".{decimals}f")
        case "p":
            text = "< 0.001" if value < 0.001 else f"{value:.3f}"
        case "usd":
            text = _dollars(value)
        case "seconds":
            text = _duration(value)
    # A minus before zero alone says nothing.
    return text.lstrip("-") if form not in TEXT_FORMS and not any(c in "123456789∞" for c in text) else text


def interval_text(value_and_ends: Iterable[Any], form: Form) -> str:
    """Return a value as a table prints it, with both ends of its interval, if it has one."""
    numbers = [*map(float, value_and_ends)]
    decimals = decimals_of(form, *numbers)
    text, *ends = (value_text(number, form, decimals) for number in numbers)
    return text if math.isnan(numbers[1]) else f"{text} [{', '.join(ends)}]"


def decimals_of(form: Form, *values: Any) -> int | None:  # noqa: ANN401 - as `value_text`
    """Return how many decimals a number, the lower and the upper end of its interval have in print.

    Of the form ``number`` they show three digits of half of the interval's width, and no more than four of
    the number; of others a digit of the end that is near zero, if the interval leaves zero out and would not
    look so. None for what is printed in its own form: no interval, and one that is very narrow.
    """
    if not all(isinstance(v, float) and math.isfinite(v) for v in values):
        return None
    value, low, high = values
    if form in ("hundred", "hundredths", "decimal"):
        end = low if low > 0 else high if high < 0 else 0.0
        zero = end and not any(c in "123456789" for c in value_text(end, form))
        size = 100 * abs(end) if form == "hundred" else abs(end)
        return min(-math.floor(math.log10(size)), _MOST_DECIMALS) if zero else None
    if form != "number":
        return None
    sizes = (5 * (high - low), abs(value))
    decimals = min((3 - math.floor(math.log10(size)) for size in sizes if size > 0), default=0)
    return max(0, decimals) if low < high and decimals <= _MOST_DECIMALS else None


def _four_digits(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 999.95 else f"{value:#.4g}".rstrip(".")


_TIMES = (("µs", 1e-6, 999.5), ("ms", 1e-3, 999.5), ("s", 1.0, 59.5), ("min", 60.0, 59.5))
"""Units of time, their seconds, and up to how many of them a time is said in them; then in hours."""


def _duration(seconds: float) -> str:
    if math.isinf(seconds) or seconds == 0:
        return f"{_four_digits(seconds)} s"
    unit, size = next(((u, s) for u, s, most in _TIMES if abs(seconds) / s < most), ("h", 3600.0))
    value = seconds / size
    return f"{value:.1f} {unit}" if abs(value) < 9.95 else f"{value:,.0f} {unit}"


def _dollars(value: float) -> str:
    """Return four digits of a price, and cents at least; never an exponent."""
    sign, size = "-" if value < 0 else "", abs(value)
    if size >= 1000 or math.isinf(size):
        return f"{sign}${_four_digits(size)}"
    decimals = 2 if size == 0 else max(2, 3 - math.floor(math.log10(size)))
    whole, _, cents = f"{size:.{decimals}f}".partition(".")
    return f"{sign}${whole}.{cents.rstrip('0').ljust(2, '0')}"
