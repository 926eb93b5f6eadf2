"""The texts of a data set: explanations and their references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import DataError, nearest, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

_REFERENCE_COLUMN = re.compile(r"reference(_(?P<number>\d+))?")


def explanations_of(data: ExplanationSet, evaluator: object) -> list[str | None]:
    """Return the explanation of each unit; None where there is no text.

    Raises
    ------
    DataError
        If the data set holds no texts.
    """
    if "explanation" not in data.explanations:
        raise DataError(
            f"{evaluator} needs the texts, and data set {data.name!r} has no column 'explanation'; "
            "without texts only ratings and recorded scores can be compared"
        )
    return _texts(data.explanations["explanation"], evaluator)


def reference_columns(data: ExplanationSet) -> list[str]:
    """Return the columns that hold references, ``reference`` first, then by number."""
    found = [
        (int(match["number"] or 1), column)
        for column in map(str, data.explanations.columns)
        if (match := _REFERENCE_COLUMN.fullmatch(column))
    ]
    return [column for _, column in sorted(found)]


def references_of(data: ExplanationSet, evaluator: object) -> list[tuple[str, ...]]:
    """Return the references of each unit, those without text left out.

    Raises
    ------
    DataError
        If the data set has no reference at all.
    """
    columns = reference_columns(data)
    if not columns:
        others = [c for c in map(str, data.explanations.columns) if c not in {*data.keys, "explanation"}]
        raise DataError(
            f"{evaluator} needs references, and data set {data.name!r} has no column 'reference' "
            f"or 'reference_2', …{nearest('reference', others)}"
        )
    by_column = [_texts(data.explanations[c], evaluator) for c in columns]
    return [_without_none(texts) for texts in zip(*by_column, strict=True)]


def _without_none(texts: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(t for t in texts if t is not None)


def _texts(column: pd.Series[Any], evaluator: object) -> list[str | None]:
    texts: list[str | None] = []
    for value, absent in zip(column.to_numpy(dtype=object).tolist(), column.isna().tolist(), strict=True):
        if absent:
            texts.append(None)
        elif isinstance(value, str):
            texts.append(value if value.strip() else None)
        else:
            raise DataError(f"{evaluator} reads texts, and column {column.name!r} holds {shown(value)}")
    return texts
