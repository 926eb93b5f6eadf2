"""The log together with synthetic interactions: how likely it exposes an item, and pairs to judge next."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.loading import pairs_of
from metaeval.kinds.exposure.data.log_set import PAIR, USER, preferences_of, units_of
from metaeval.kinds.exposure.data.synthetic import SyntheticRows
from metaeval.kinds.exposure.pairs import BIN_NAMES, matched_pairs
from metaeval.kinds.exposure.synthesis.report import shares_by_bin
from metaeval.stats.resampling.draws import drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.propensity.propensities import Propensities
    from metaeval.kinds.exposure.synthesis.synthesizer import Synthesis
    from metaeval.stats.coefficients.tables import Floats, Ints

_ALL = 1_000_000  # pairs per user


def augmented(given: Propensities, items: Ints, bins: Ints) -> Propensities:
    """Return with what probability the log or the synthesizer exposes each row's item to its user.

    The synthesizer exposes all items of a popularity bin alike. Propensities of pairs become p + (1 - p) s,
    where s is the share of the pairs of the bin without a row in the log that have a synthetic one. Those of
    choices become (n p + m t) / (n + m), where n are the rows of the log, m the synthetic ones, and t is the
    share of the bin among these, divided by its items.

    Parameters
    ----------
    items
        Of all synthetic rows.
    bins
        Popularity bin of each item.
    """
    of, p = given.of, given.probability
    width = int(bins.max()) + 1
    size = np.bincount(bins, minlength=width)
    if given.exposure == "choice":
        chance = shares_by_bin(items, bins) / size
        mixed = (len(of) * p + len(items) * chance[bins[of.item]]) / (len(of) + len(items))
    else:
        shown = np.bincount(bins[np.unique(of.pair) % len(of.items)], minlength=width)
        chance = np.bincount(bins[items], minlength=width) / np.maximum(1, len(of.users) * size - shown)
        mixed = p + (1 - p) * chance[bins[of.item]]
    return replace(given, probability=mixed, model=None)


def with_synthetic(
    data: LogSet, rounds: Sequence[Synthesis], given: Propensities, *, floor: float, seed: int
) -> LogSet:
    """Return a log with its synthetic rows, and with pairs that follow their exposure curve.

    Pairs are of real items of the real log, matched on popularity and on what the old ones were matched on.
    There are as many as before, as far as each bin of the curve has them.

    Parameters
    ----------
    rounds
        All synthetic interactions.
    given
        The propensities of the log.

    Raises
    ------
    MetaevalError
        If no two items of a user match.
    """
    bins, items = rounds[-1].bins, np.concatenate([made.item for made in rounds])
    before = pairs_of(data)
    old = [] if before is None else [name for name in BIN_NAMES if name in before and name != "popularity"]
    mixed = augmented(given, items, bins)
    found = matched_pairs(mixed, match=("popularity", *old), per_user=_ALL, seed=seed, floor=floor).frame
    pairs = _along(found, shares_by_bin(items, bins), 0 if before is None else len(before), seed)
    if not len(pairs):
        raise MetaevalError(f"no two items of a user of {data.name} match, so there is nothing to judge")
    units = units_of(pairs)
    frame = pd.concat([made.rows().frame for made in rounds], ignore_index=True)
    return replace(
        data,
        table=units,
        ratings=preferences_of(units, data.log),
        scores=None,
        synthetic=SyntheticRows(frame),
    )


def _along(pairs: pd.DataFrame, curve: Floats, wanted: int, seed: int) -> pd.DataFrame:
    """Draw pairs so that their popularity bins follow a curve, by their names."""
    names = pairs[USER] + "\x1f" + pairs[PAIR]
    kept: set[str] = set()
    for bin_, share in enumerate(curve):
        count = round(wanted * share)
        if count:
            kept.update(drawn(names[pairs["popularity"] == str(bin_)], count, seed))
    return pairs[names.isin(kept)].reset_index(drop=True)
