"""Lists of scores, ratings and ids → the correlations of `metaeval.correlate` as one flat mapping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, MetaevalError
from metaeval.base.records import COEFFICIENTS
from metaeval.engine.alignment.policy import allowed
from metaeval.engine.frames import correlate

NEEDS: Mapping[str, tuple[str, ...]] = {
    "dataset": (),
    "user": ("users",),
    "pair": ("users", "items"),
    "item": ("items",),
}
"""Level → the ids that it needs."""


def level_correlations(
    predictions: Sequence[float | None],
    references: Sequence[float | None],
    *,
    users: Sequence[object] | None = None,
    items: Sequence[object] | None = None,
    levels: Sequence[str] | None = None,
    coefficients: Sequence[str] = COEFFICIENTS,
    undefined_groups: Literal["skip", "zero"] = "skip",
) -> dict[str, float | int]:
    """Correlate one evaluator's scores with ratings at every level that the ids allow.

    Score and rating of each unit are None or NaN where there is none, and the unit is left out; ``users`` and
    ``items`` are those of each unit, None if not known. Levels are of `NEEDS`; if left out, those of
    ``dataset``, ``user`` and ``pair`` that users and items allow, with items alone ``dataset`` and ``item``.
    The other options are those of `metaeval.correlate`.

    Returned are ``{coefficient}_{level}``; for each level ``n_groups_{level}`` and ``n_undefined_{level}``,
    groups without a defined coefficient; ``n_units`` that entered; ``n_missing``, rated units without a
    score. `MetaevalError` is raised for an unknown option, a level whose ids are not given, and if no unit is
    left.
    """
    given = {name: ids for name, ids in (("users", users), ("items", items)) if ids is not None}
    wanted = _default_levels(given) if levels is None else levels
    allowed("levels", wanted, list(NEEDS))
    for level in wanted:
        absent = [name for name in NEEDS.get(level, ()) if name not in given]
        if absent:
            raise MetaevalError(
                f"level {level!r} needs {absent[0]}, one per unit: give them as {absent[0]}=[…]"
            )
    # The place keeps several texts for one user and item apart.
    ids = {f"{name.removesuffix('s')}_id": list(values) for name, values in given.items()}
    keys = pd.DataFrame({**ids, "place": np.arange(len(predictions))})
    result = correlate(
        keys.assign(evaluator="predictions", score=np.array(predictions, dtype=np.float64)),
        keys.assign(aspect="references", rating=np.array(references, dtype=np.float64)),
        levels=wanted,
        coefficients=coefficients,
        undefined_groups=undefined_groups,
    )
    rows = list(result)
    found: dict[str, float | int] = {f"{row.coefficient}_{row.level}": float(row.estimate) for row in rows}
    for row in rows:  # the counts do not depend on the coefficient
        found[f"n_groups_{row.level}"] = int(row.n_groups)
        found[f"n_undefined_{row.level}"] = int(row.n_undefined)
    return {**found, "n_units": int(rows[0].n_units), "n_missing": int(rows[0].n_missing)}


def id_texts(name: str, ids: Iterable[object]) -> list[str]:
    """Return ids as text, so that 7 and "7" name one user; `DataError` names those with an empty one."""
    values = pd.Series(list(ids), dtype=object)
    texts = values.map(str)
    empty = (values.isna() | (texts == "")).to_numpy()
    if empty.any():
        raise DataError(f"{name} are empty at position {int(empty.argmax())}; every unit needs one")
    return texts.tolist()


def _default_levels(given: Mapping[str, object]) -> list[str]:
    usual = ("dataset", "user", "pair") if "users" in given else ("dataset", "item")
    return [level for level in usual if all(name in given for name in NEEDS[level])]
