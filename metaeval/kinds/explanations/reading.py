"""What a reader of a report sees of explanations: how a unit is shown, and what the words mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.counts import counted
from metaeval.base.keys import author_key
from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.evaluators.grid import rows_of
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.text.texts import reference_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

_TITLES = dict(zip(KEYS, ("user", "item", "generator"), strict=True)) | {"item_title": "title"}


def unit_view(data: ExplanationSet, aspects: Sequence[str]) -> UnitView:
    """Return how the units of a data set are shown."""
    frame = data.explanations
    named = [c for c in ("item_title", *data.keys) if c in frame.columns]
    return UnitView(
        tuple(UnitColumn(c, _TITLES.get(c, c), _texts(frame, c), c in data.keys) for c in named),
        (
            UnitText("explanation", _texts(frame, "explanation")),
            *(
                UnitText("reference" if c == "reference" else f"reference: {c}", _texts(frame, c))
                for c in reference_columns(data)
            ),
        ),
        tuple(Rated(a, data.aspects.get(a, "")) for a in aspects),
        "aspect",
        "item_title" if "item_title" in named else "",
        author_key(data.nouns),
    )


def _texts(frame: pd.DataFrame, column: str) -> list[str | None]:
    if column not in frame.columns:
        return [None] * len(frame)
    return [value if isinstance(value, str) else None for (value,) in rows_of(frame, [column])]


def clusters(data: ExplanationSet) -> tuple[list[str], str]:
    """Return what stays together in a sample of units: the user of each, or its item; and the plural."""
    column = "user_id" if "user_id" in data.keys else "item_id"
    return data.explanations[column].astype(str).tolist(), f"{_TITLES[column]}s"


def size_text(data: ExplanationSet) -> str:
    """Return how many units there are, and how many of each key."""
    counts = [(len(data), "unit"), *((data.units[k].nunique(), _TITLES[k]) for k in data.keys)]
    *most, last = [counted(n, noun) for n, noun in counts if n]
    return f"{', '.join(most)} and {last}" if most else last
