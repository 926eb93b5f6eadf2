"""The formats of a data set's tables, and how one is written."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from pathlib import Path

Format = Literal["parquet", "csv", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table of a data set, in the format of its suffix."""
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
        return
    columns = [_cells(frame[c]) for c in frame.columns]
    if path.suffix == ".jsonl":
        # Column by column, for the encoder is quick with a text and slow with a dict.
        encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
        named = [
            [f"{encode(n)}: {encode(v)}" for v in c] for n, c in zip(frame.columns, columns, strict=True)
        ]
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{{{', '.join(cells)}}}\n" for cells in zip(*named, strict=True))
        return
    # The writer leaves a lone carriage return unquoted, and readers take it for the end of the row.
    awkward = any("\r" in c for v in columns for c in v if isinstance(c, str))
    quoting: Literal[0, 1] = csv.QUOTE_ALL if awkward else csv.QUOTE_MINIMAL
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=quoting)
        writer.writerow(frame.columns)
        writer.writerows(zip(*columns, strict=True))


def _cells(values: pd.Series[str]) -> list[str | int | float | None]:
    """Return plain values; whole numbers without ``.0``, None where there is none."""
    if not pd.api.types.is_float_dtype(values):
        return ["" if v is None or v != v else str(v) for v in values.to_numpy(dtype=object)]  # noqa: PLR0124 NaN
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return [None if n != n else int(n) if n.is_integer() and abs(n) < 1e15 else n for n in numbers.tolist()]  # noqa: PLR0124 NaN
