"""Arrays → JSON that is short: values once and codes for them, few digits, null for NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from metaeval.stats.coefficients.tables import Floats

_DIGITS = 9  # many more than are printed, so that nothing is rounded twice to another last digit


def number(value: Any) -> float | int | None:  # noqa: ANN401 - a number of any library, or None
    """Return a number with few digits, whole if it is; None for what is no finite number."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if short.is_integer() else short


def numbers(values: Iterable[Any]) -> list[float | int | None]:
    """Return `number` of each."""
    return [number(v) for v in values]


def decimals(values: Floats, digits: int = 4) -> Any:  # noqa: ANN401 - lists nested as the array is
    """Return an array as nested lists, rounded to decimals; None for NaN."""
    rounded = (np.round(values, digits) + 0.0).astype(object)  # no -0.0
    rounded[np.isnan(values)] = None
    return rounded.tolist()


def coded(values: Floats) -> dict[str, list[Any]]:
    """Return numbers of shape (n,) as distinct values and the position of each among them; -1 for NaN."""
    known = ~np.isnan(values)
    distinct, codes = np.unique(values[known], return_inverse=True)
    places = np.full(values.shape, -1)
    places[known] = codes
    return {"values": numbers(distinct.tolist()), "codes": places.tolist()}


class Texts:
    """Texts that stand once each, wherever they are used."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._places)

    def place(self, text: str) -> int:
        """Return the position of a text, which is taken in if it is new."""
        return self._places.setdefault(text, len(self._places))

    def places(self, texts: Iterable[Any]) -> list[int]:
        """Return the position of each text; -1 for what is none."""
        return [self.place(t) if isinstance(t, str) else -1 for t in texts]

    @property
    def all(self) -> list[str]:
        """All texts, each at its position."""
        return list(self._places)
