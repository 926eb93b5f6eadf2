"""Whom an evaluator understands: its coefficient, and its bias, within every user, pair or item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.engine.correlation import estimates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.engine.policy import Prepared
    from metaeval.stats.coefficients.tables import Floats, Ints

KEYS_OF = {"user": ("user_id",), "pair": ("user_id", "item_id"), "item": ("item_id",)}
"""The levels that average over groups → the columns that name a group."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of one level that hold units, G of them, and how E evaluators do in each."""

    level: str
    keys: tuple[str, ...]
    """The columns that name a group."""
    names: tuple[tuple[str, ...], ...]
    """Of each group, a value a key; sorted."""
    n_units: Ints
    """Shape (G,): units that enter for any evaluator."""
    terms: Mapping[str, Floats]
    """Coefficient → shape (E, A + 1, G): within the group for each aspect, then their mean; NaN where it is
    undefined, and the mean where any aspect is."""


def by_group(data: Prepared) -> list[Groups]:
    """Take the levels of a study that average over groups apart into their groups.

    The mean of the terms of an aspect is the estimate of `metaeval.correlate`, unless its policy counts
    undefined groups as zero.
    """
    found = estimates(data)
    shape = (len(data.evaluators), len(data.aspects))
    return [
        _groups(data, level, {c: found[level, c].terms.reshape(*shape, -1) for c in data.policy.coefficients})
        for level in data.policy.levels
        if level in KEYS_OF
    ]


def _groups(data: Prepared, level: str, terms: Mapping[str, Floats]) -> Groups:
    grouping = data.groupings[level]
    keys = KEYS_OF[level]
    entering = (
        np.arange(len(grouping.group)) if data.mask is None else np.flatnonzero(data.mask.any(axis=(0, 1)))
    )
    there, first, counts = np.unique(grouping.group[entering], return_index=True, return_counts=True)
    names = _names(data, keys, entering[first])
    order = sorted(range(len(names)), key=names.__getitem__)
    several = len(data.aspects) > 1
    of_groups = {}
    for coefficient, values in terms.items():
        in_order = values[:, :, there][:, :, order]
        of_groups[coefficient] = (
            np.concatenate([in_order, in_order.mean(axis=1, keepdims=True)], axis=1) if several else in_order
        )
    return Groups(level, keys, tuple(names[i] for i in order), counts[order], of_groups)


def _names(data: Prepared, keys: Sequence[str], first: Ints) -> list[tuple[str, ...]]:
    columns = [data.labels[k].astype(str).to_numpy(dtype=object)[data.keys[k][first]] for k in keys]
    return list(zip(*columns, strict=True))


def bias_by_group(difference: Floats, group: Ints, n_groups: int) -> Floats:
    """Return the mean of score − truth within each group.

    Parameters
    ----------
    difference
        Shape (A, U): of each aspect and unit, NaN where either is missing.
    group
        Shape (U,): the group of each unit, in ``range(n_groups)``.
    n_groups
        How many there are.

    Returns
    -------
    ndarray
        Shape (A + 1, G), or (1, G) for a single aspect: of each aspect, then the mean over the aspects; NaN
        where a group has nothing.
    """
    found = np.full((len(difference), n_groups), np.nan)
    for row, values in zip(found, difference, strict=True):
        known = ~np.isnan(values)
        n = np.bincount(group[known], minlength=n_groups)
        np.divide(np.bincount(group[known], values[known], n_groups), n, out=row, where=n > 0)
    return np.concatenate([found, found.mean(axis=0, keepdims=True)]) if len(found) > 1 else found
