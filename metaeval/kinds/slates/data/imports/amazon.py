"""Amazon Reviews 2023 → duels: a user's newest ratings are the candidates, the older ones the history."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem
from metaeval.data.tables.columns import timed
from metaeval.data.tables.table import Table, json_lines
from metaeval.kinds.slates.data.imports.collecting import Candidates, importer_of_duels, newest, refuse_lines
from metaeval.kinds.slates.data.sampling import GAIN, Sampling, rescaled
from metaeval.kinds.slates.data.slate_set import ITEM, Domain

PRODUCTS = Domain(
    platform="a large e-commerce catalogue",
    noun="product",
    plural="products",
    liked="rating in stars",
    popularity="well-known, well-reviewed products",
    diversity="different categories, brands and prices",
)
_KEYS = {"user_id": str, "parent_asin": str, "rating": float, "timestamp": float}
_FIELDS = ("title", "main_category", "categories", "store", "price")
_LOW, _HIGH = 1, 5
_BATCH = 100_000  # reviews in a frame, which takes less memory than Python's objects


@importer_of_duels
def import_amazon(file: Path, how: Sampling, *, meta: str | os.PathLike[str] | None = None) -> Candidates:
    """Read reviews as released: a JSON object per line, perhaps gzip'ed.

    Each has ``user_id``, ``parent_asin``, which names the product, ``rating`` and ``timestamp``; in the file
    ``meta`` products have ``title``, ``main_category``, ``categories``, ``store`` and ``price``. Without it
    judges see ids alone.

    `DataError` is raised with the first wrong line, and how many there are; or if no duel can be made.
    """
    problems: list[Problem] = []
    lines = _sound_lines(file, _KEYS, problems)
    frames = []
    while part := [*itertools.islice(lines, _BATCH)]:
        frames.append(pd.DataFrame(part, columns=[*_KEYS]).astype(_KEYS))
    refuse_lines(problems)
    if not frames:
        raise DataError([Problem(file.name, None, None, "holds no reviews")])
    reviews = pd.concat(frames, ignore_index=True).rename(columns={"parent_asin": ITEM})
    table, _ = timed(Table(file.name, reviews, np.arange(1, len(reviews) + 1)), "timestamp", None)
    reviews = table.frame
    reviews[GAIN] = rescaled(reviews["rating"].to_numpy(), _LOW, _HIGH)
    candidates, histories = newest(reviews, "timestamp", how)
    named = set(candidates[ITEM]) | set(histories[ITEM])
    about = {
        "source": f"Amazon Reviews 2023 (Hou et al. 2024), {file.name}",
        "language": "en",
        "domain": PRODUCTS._asdict(),
        "history_scale": {"min": _LOW, "max": _HIGH},
    }
    items = None if meta is None else _products(Path(meta), named)
    notes = [f"{counted(len(reviews), 'review')} read"]
    if items is not None and (bare := len(named) - len(items)):
        notes.append(f"{counted(bare, 'product')} of {len(named):,} without a line in the file of products")
    return Candidates(about, candidates, histories.drop(columns=GAIN), items, notes=notes, ordered=False)


def _sound_lines(path: Path, keys: Mapping[str, type], problems: list[Problem]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file; what is wrong with the other lines is added to ``problems``."""
    for row, record in json_lines(path, keys):
        if isinstance(record, Problem):
            problems.append(record)
        elif "rating" in keys and not _LOW <= record["rating"] <= _HIGH:
            problems.append(Problem(path.name, row, "rating", f"is not from {_LOW} to {_HIGH}"))
        else:
            yield record


def _products(path: Path, named: set[str]) -> pd.DataFrame:
    """Return what is told of some products."""
    problems: list[Problem] = []
    rows: dict[str, dict[str, str]] = {}
    for product in _sound_lines(path, {"parent_asin": str}, problems):
        if (name := product["parent_asin"]) in named:
            rows.setdefault(name, {ITEM: name, **{field: _text(product.get(field)) for field in _FIELDS}})
    refuse_lines(problems)
    return pd.DataFrame([*rows.values()], columns=[ITEM, *_FIELDS], dtype="str")


def _text(value: Any) -> str:  # noqa: ANN401 - any value of JSON
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return "" if value is None else str(value)
