"""The correlation of scores with ratings at several levels, as a module of the `evaluate` library.

``evaluate.load`` runs a copy of this file, which therefore holds the library's interface and nothing else.
"""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from metaeval.base.errors import DataError
from metaeval.integrations.levels import id_texts, level_correlations

_IDS = ("users", "items")
_ABSENT = ""
"""Fills a column of ids that was not given; the library wants every column filled."""
Column = Any  # one value per unit: a list, an array, a Series with any index


class LevelCorrelation(evaluate.Metric):  # type: ignore[misc]  # the library publishes no types
    """Correlation over all units, within users, within pairs of a user and an item, and within items."""

    def _info(self) -> evaluate.MetricInfo:
        numbers, ids = datasets.Value("float64"), datasets.Value("string")
        return evaluate.MetricInfo(
            description=str(self.__doc__),
            citation="",
            inputs_description=str(level_correlations.__doc__),
            features=datasets.Features(
                {"predictions": numbers, "references": numbers, "users": ids, "items": ids}
            ),
        )

    def add_batch(self, *, predictions: Column, references: Column, **ids: Column) -> None:
        """Add scores and ratings, and ids as text; a column of ids may be left out of all batches."""
        texts = {name: _texts(name, ids.pop(name, None), len(predictions)) for name in _IDS}
        super().add_batch(predictions=list(predictions), references=list(references), **texts, **ids)

    def add(self, *, prediction: Column, reference: Column, **ids: Column) -> None:
        """Add one score and rating, and an id each as ``users`` and ``items``."""
        texts = {n: _texts(n, None if (i := ids.pop(n, None)) is None else [i], 1)[0] for n in _IDS}
        super().add(prediction=prediction, reference=reference, **texts, **ids)

    def compute(self, *, predictions: Column = None, references: Column = None, **others: Column) -> Column:
        """Correlate the scores and ratings given here, or added before."""
        ids = {name: others.pop(name, None) for name in _IDS}
        return super().compute(predictions=predictions, references=references, **ids, **others)

    def _compute(
        self, predictions: Column, references: Column, users: Column, items: Column, **options: Column
    ) -> dict[str, float | int]:
        return level_correlations(
            predictions, references, users=_given("users", users), items=_given("items", items), **options
        )


def _texts(name: str, ids: Column, count: int) -> list[str]:
    return [_ABSENT] * count if ids is None else id_texts(name, ids)


def _given(name: str, texts: Column) -> list[str] | None:
    absent = [text == _ABSENT for text in texts]
    if all(absent):
        return None
    if any(absent):
        raise DataError(f"{name} are given in some batches only; give them in all or in none")
    return list(texts)
