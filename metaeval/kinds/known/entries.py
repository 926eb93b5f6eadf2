"""What is known of items and users, as names and values for a prompt or a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd


def entries_of(frame: pd.DataFrame, key: str, fields: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the names and values of the fields of each item, or user, without empty ones.

    Names and values stand on one line each: in a list, a second line could pass for another entry.
    """
    names = [" ".join(field.split()) for field in fields]
    columns = []
    for field in fields:
        known = frame[field].notna()
        columns.append([" ".join(str(v).split()) for v in frame[field].astype(object).where(known, "")])
    return {
        str(of): [(name, value) for name, value in zip(names, values, strict=True) if value]
        for of, *values in zip(frame[key], *columns, strict=True)
    }


def lines_of(entries: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, str]:
    """Return a line for each item of which something is known."""
    return {item: "; ".join(f"{name}: {value}" for name, value in of) for item, of in entries.items() if of}
