"""Amazon Reviews 2023 → duels: a user's newest ratings are the candidates, the older ones the history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem
from metaeval.kinds.slates.data.imports.collecting import Candidates, collected, newest, refuse_lines
from metaeval.kinds.slates.data.loading import refuse_if_in_the_way
from metaeval.kinds.slates.data.sampling import GAIN, Sampling
from metaeval.kinds.slates.data.slate_set import ITEM, Domain
from metaeval.kinds.slates.data.utilities import rescaled
from metaeval.sources.tables.json_lines import read_json_lines
from metaeval.sources.tables.table import json_object

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from metaeval.kinds.files.loading import Imported
    from metaeval.kinds.slates.data.slate_set import SlateSet
    from metaeval.sources.tables.json_lines import JsonBlock

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


def import_amazon(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    how: Sampling | None = None,
    *,
    meta: str | os.PathLike[str] | None = None,
    name: str | None = None,
    force: bool = False,
) -> Imported[SlateSet]:
    """Make duels of reviews as released: a JSON object per line, perhaps gzip'ed.

    Parameters
    ----------
    file
        With ``user_id``, ``parent_asin``, which names the product, ``rating`` and ``timestamp``.
    out
        The folder to write.
    how
        How to draw.
    meta
        The file of the products, with ``title``, ``main_category``, ``categories``, ``store`` and ``price``.
        Without it judges see ids alone.
    name
        Of the data set; the name of the folder, if None.

    Raises
    ------
    DataError
        With the first wrong line, and how many there are; or if no duel can be made.
    """
    refuse_if_in_the_way(Path(out), force=force)
    how = how or Sampling()
    frames, problems = [], list[Problem]()
    for block in _blocks(Path(file), _KEYS):
        problems += block.problems
        off = ~block.table.frame["rating"].between(_LOW, _HIGH).to_numpy()
        message = f"is not from {_LOW} to {_HIGH}"
        problems += [block.table.problem(i, "rating", message) for i in off.nonzero()[0].tolist()]
        frames.append(block.table.frame)
    refuse_lines(problems)
    if not any(map(len, frames)):
        raise DataError([Problem(Path(file).name, None, None, "holds no reviews")])
    reviews = pd.concat(frames, ignore_index=True).rename(columns={"parent_asin": ITEM})
    reviews[GAIN] = rescaled(reviews["rating"].to_numpy(), _LOW, _HIGH)
    candidates, histories = newest(reviews, "timestamp", how)
    named = set(candidates[ITEM]) | set(histories[ITEM])
    about = {
        "name": name,
        "source": f"Amazon Reviews 2023 (Hou et al. 2024), {Path(file).name}",
        "language": "en",
        "domain": PRODUCTS._asdict(),
        "history_scale": {"min": _LOW, "max": _HIGH},
    }
    items = None if meta is None else _products(Path(meta), named)
    found = Candidates(candidates, histories.drop(columns=GAIN), items)
    notes = [f"{counted(len(reviews), 'review')} read"]
    if items is not None and (bare := len(named) - len(items)):
        notes.append(f"{counted(bare, 'product')} of {len(named):,} without a line in the file of products")
    return collected(about, found, out, how, notes=notes, force=force)


def _blocks(path: Path, keys: Mapping[str, type]) -> Iterator[JsonBlock]:
    try:
        yield from read_json_lines(path, keys)
    except (OSError, EOFError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{str(path)!r} cannot be read: {said}") from error


def _products(path: Path, named: set[str]) -> pd.DataFrame:
    """Return what is told of some products; the others are not parsed further than to their id."""
    problems: list[Problem] = []
    rows: dict[str, dict[str, str]] = {}
    for block in _blocks(path, {"parent_asin": str}):
        problems += block.problems
        wanted = block.table.frame["parent_asin"].isin(named).to_numpy()
        for i in wanted.nonzero()[0].tolist():
            try:
                product = json_object(block.lines[i])
            except (ValueError, RecursionError) as error:
                problems.append(block.table.problem(i, None, f"is not a JSON object: {error}"))
                continue
            told = {field: _text(product.get(field)) for field in _FIELDS}
            rows.setdefault(product["parent_asin"], {ITEM: product["parent_asin"], **told})
    refuse_lines(problems)
    return pd.DataFrame([*rows.values()], columns=[ITEM, *_FIELDS], dtype="str")


def _text(value: Any) -> str:  # noqa: ANN401 - any value of JSON
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return "" if value is None else str(value)
