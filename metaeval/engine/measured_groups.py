"""What evaluators reach by measures in groups of units, for the drill-down of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metaeval.engine.drilldown import GroupColumn, Groups

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.engine.measures import MeasuredCells


def measured_groups(
    cells: MeasuredCells, units: pd.DataFrame, noun: str, keys: tuple[str, ...], *, undefined: str
) -> Groups:
    """Return the groups of units that have the same keys; a value of each measure over the units of each.

    Parameters
    ----------
    units
        The key columns, a row per unit in the order of the scores.
    noun
        What a group is called.
    undefined
        Why a number may be undefined, as a clause.
    """
    known = units[[*keys]].astype(str)
    of_unit = known.groupby([*keys], sort=True).ngroup().to_numpy()
    ids = known.drop_duplicates().sort_values([*keys])
    entering = np.zeros(len(known), dtype=bool)
    parted = {value: tuple(cells.at(value).values()) for value in cells.parts}
    sizes = [list(dict.fromkeys(names)) for names in zip(*parted.values(), strict=True)]
    shape = (len(cells.evaluators), *map(len, sizes), len(cells.measures), len(ids))
    numbers = np.full(shape, np.nan)
    for value, names in parted.items():
        at = tuple(of.index(name) for of, name in zip(sizes, names, strict=True))
        use, part = cells.use(value), cells.units(value)
        entering |= use
        for m, measure in enumerate(cells.measures.values()):
            for e, sums in enumerate(part.by_unit(measure)):
                of_group = [np.bincount(of_unit[use], v, len(ids)) for v in sums]
                numbers[e, *at, m] = measure.of_sums(np.stack(of_group).astype(float))
    n_units = np.bincount(of_unit[entering], minlength=len(ids))
    there, dimensions = n_units > 0, (*cells.at(next(iter(parted))), "measure")
    return Groups(
        noun,
        " and ".join(key.removesuffix("_id") for key in keys),
        f"{noun}s",
        keys,
        tuple(ids[there].itertuples(index=False, name=None)),
        n_units[there],
        (GroupColumn(numbers[..., there], dimensions, "{measure}", "decimal"),),
        undefined=undefined,
    )
