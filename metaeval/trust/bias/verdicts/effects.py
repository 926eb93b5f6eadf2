"""Verbosity and self-preference of a pairwise judge: the effects of length and family on verdicts.

The response is the first text's share of a win, the mean over both orders (which removes the effect of
position), minus one half. It is regressed through the origin on differences between the two texts: in the
binary logarithm of the length, in the truth, and in whether the generator is of the judge's family.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.keys import key_columns
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.bias.given_truth import coefficient
from metaeval.trust.bias.within import Within

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from metaeval.stats.coefficients.tables import Floats
    from metaeval.trust.bias.clustered import Measured
    from metaeval.trust.bias.verdicts.position import VerdictPairs


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseEffects:
    """Effects other than that of the truth, as shares of a win from 0 to 1."""

    judge: str
    aspect: str
    length: Measured | None
    """For a text twice as long as the other; tested. None if lengths are not known."""
    family: Measured | None
    """For a text of the judge's own family against another's; tested. None if there is no such pair."""
    n_pairs: int


def pairwise_effects(
    pairs: VerdictPairs,
    truth: pd.DataFrame,
    length: pd.DataFrame | None,
    own: Collection[str],
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> PairwiseEffects:
    """Measure the effects of length and family on a judge's verdicts, given the truth.

    Parameters
    ----------
    pairs
        Of the judge.
    truth
        Key columns, ``aspect`` and ``rating``; for verdicts of no aspect, or of one that was not rated, the
        mean over aspects.
    length
        Key columns and ``length``; None if lengths are not known.
    own
        The generators of the judge's family.
    """
    frame = pairs.frame
    keys = list(key_columns(truth))
    of_aspect = truth[truth["aspect"] == pairs.aspect]
    rated = (of_aspect if len(of_aspect) else truth).groupby(keys, observed=True)["rating"].mean()
    better = _difference(frame, rated.reset_index(), "rating", keys)
    clusters = pairs.clusters()
    resampler = Resampler(clusters.n, resamples, seed)
    won = ((frame["shown_first"] + frame["shown_second"]) / 2 - 0.5).to_numpy(dtype=np.float64)

    def fitted(column: Floats) -> Measured | None:
        use = ~np.isnan(column + better)
        if not (column[use] != 0).any():
            return None
        columns = np.stack([column, better])[:, use]
        fit = Within.of(won[use], columns, clusters.of_unit[use], clusters.n)
        return coefficient([fit], resampler)

    longer = None
    if length is not None:
        logarithm = length[keys].assign(twice=np.log2(length["length"].where(length["length"] > 0)))
        longer = fitted(_difference(frame, logarithm.drop_duplicates(keys), "twice", keys))
    is_own = [frame[side].isin(list(own)).to_numpy(dtype=np.float64) for side in ("first", "second")]
    return PairwiseEffects(
        pairs.judge,
        pairs.aspect,
        longer,
        fitted(is_own[0] - is_own[1]) if own else None,
        int((~np.isnan(better)).sum()),
    )


def _difference(frame: pd.DataFrame, of_unit: pd.DataFrame, name: str, keys: list[str]) -> Floats:
    """Return the value of each pair's first text minus that of its second; NaN where one is missing."""
    shared = [k for k in keys if k in frame.columns]
    (compared,) = (k for k in keys if k not in shared)
    values = of_unit.astype(dict.fromkeys(keys, str))
    sides = []
    for side in ("first", "second"):
        wanted = frame[[*shared, side]].rename(columns={side: compared}).astype(str)
        sides.append(wanted.merge(values, on=keys, how="left")[name].to_numpy(dtype=np.float64))
    difference: Floats = sides[0] - sides[1]
    return difference
