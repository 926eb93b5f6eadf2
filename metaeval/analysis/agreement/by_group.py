"""The coefficient and the bias of an evaluator within each user, pair or item."""

from __future__ import annotations

import numpy as np

from metaeval.base.counts import plural_of
from metaeval.base.keys import noun
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.correlation import estimates
from metaeval.engine.drilldown import GroupColumn, Groups
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import with_average

_UNDEFINED = "truth or scores are constant in each, or there are no scores"


def by_group(data: Prepared) -> list[Groups]:
    """Return the coefficients of the single groups, for each level that averages over groups.

    The groups that hold units are sorted by name. Their values are coefficients of shape (evaluators,
    aspects, coefficients, groups), after the aspects their mean, which is NaN where any aspect is. The mean
    over the groups is the estimate of `metaeval.correlate`, unless its policy counts undefined groups as
    zero.
    """
    found = estimates(data)
    shape = (len(data.evaluators), len(data.aspects))
    return [
        _grouping(
            data,
            level,
            np.stack([found[level, c].terms.reshape(*shape, -1) for c in data.policy.coefficients], axis=2),
        )
        for level in data.policy.levels
        if data.levels[level].columns and level not in data.between
    ]


def _grouping(data: Prepared, level: str, terms: Floats) -> Groups:
    group, keys = data.groupings[level].group, data.levels[level].columns
    entering = np.flatnonzero(data.entering.any(axis=(0, 1)))
    there, first, counts = np.unique(group[entering], return_index=True, return_counts=True)
    columns = (data.labels[k].astype(str).to_numpy(dtype=object)[data.keys[k][entering[first]]] for k in keys)
    names = list(zip(*columns, strict=True))
    order = sorted(range(len(names)), key=names.__getitem__)
    values = with_average(terms[..., there[order]], axis=1)
    return Groups(
        level,
        " and ".join(noun(k) for k in keys),
        plural_of(level),
        keys,
        tuple(names[i] for i in order),
        counts[order],
        (GroupColumn(values, ("aspect", "coefficient"), "{coefficient}", "hundred"),),
        at={"level": level},
        undefined=_UNDEFINED,
    )


def bias_by_group(difference: Floats, group: Ints, n_groups: int) -> Floats:
    """Return the mean of score − truth, shape (A, U), within each group; NaN where a group has nothing.

    The result has shape (A + 1, G), the mean over the aspects last, or (1, G) for a single aspect.
    """
    found = np.full((len(difference), n_groups), np.nan)
    for row, values in zip(found, difference, strict=True):
        known = ~np.isnan(values)
        n = np.bincount(group[known], minlength=n_groups)
        np.divide(np.bincount(group[known], values[known], n_groups), n, out=row, where=n > 0)
    return with_average(found, axis=0)
