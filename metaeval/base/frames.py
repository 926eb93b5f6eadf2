"""DataFrames as people have them: names in the index, categories, Arrow types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, nearest, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd


def flat(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return a frame with the index levels named in ``columns`` as columns.

    A column wins over a level of its name. Where there is nothing to do the frame itself is returned.
    """
    wanted = [n for n in frame.index.names if n in columns and n not in frame.columns]
    if not wanted:
        return frame
    others = [at for at, name in enumerate(frame.index.names) if name not in wanted]
    return (frame.reset_index(level=others, drop=True) if others else frame).reset_index()


def typed(frame: pd.DataFrame, texts: Sequence[str], numbers: Sequence[str], what: str) -> pd.DataFrame:
    """Return the columns ``texts``, which name a row, as text and ``numbers`` as float64, without others.

    Columns may be in any order or in the index. Raises `DataError`, in which ``what`` names the frame, if a
    column is missing, a name is empty, a value is no number, or a row stands twice.
    """
    import pandas as pd

    names = [*texts, *numbers]
    frame = flat(frame, names)
    given = [str(c) for c in frame.columns]
    for name in names:
        if name not in given:
            hint = nearest(name, given)
            raise DataError(f"{what} has no column {name!r}{hint}; it needs {', '.join(names)}")
    columns: dict[str, pd.Series[str] | pd.Series[float]] = {}
    for name in names:
        try:
            columns[name] = (
                frame[name].astype("str") if name in texts else pd.to_numeric(frame[name]).astype("float64")
            )
        except (TypeError, ValueError) as error:
            raise DataError(f"column {name!r} of {what} must hold numbers: {error}") from error
    found = pd.DataFrame(columns).reset_index(drop=True)
    for name in texts:
        empty = found[name].isna().to_numpy()
        if empty.any():
            raise DataError(f"column {name!r} of {what} is empty in row {int(empty.argmax())}")
    again = found.duplicated(list(texts)).to_numpy()
    if again.any():
        first = ", ".join(map(repr, found[list(texts)].iloc[int(again.argmax())]))
        raise DataError(f"{what} has more than one row for {first}; keep one")
    return found


def row_text(frame: pd.DataFrame, row: int, columns: Iterable[str]) -> str:
    """Return what stands in some columns of a row, such as ``item_id 'i1', generator 0``."""
    return ", ".join(f"{c} {shown(frame[c].iloc[row])}" for c in columns)
