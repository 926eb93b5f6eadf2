"""Position: whether a pairwise judge prefers what it is shown first.

Every pair is asked in both orders. A flip is a pair on which the two orders differ, as everywhere
(`metaeval.evaluators.verdicts.outcomes`): one of them has said what the texts alone do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.evaluators.verdicts import FIRST, NO_VERDICT, SECOND, TIE, WINNERS, comparisons_of
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.trust.bias.clustered import measured

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.trust.bias.clustered import Measured

_VALUES = np.array([{TIE: 0.5, FIRST: 1.0, SECOND: 0.0, "": np.nan}[winner] for winner in WINNERS])
"""What the first text of a pair has won, by the code of the winner."""
PAIR = ("user_id", "item_id", "first", "second")


@dataclass(frozen=True, slots=True, eq=False)
class VerdictPairs:
    """The verdicts of one judge on one aspect, a row a pair with an answer in both orders."""

    judge: str
    aspect: str
    frame: pd.DataFrame
    """The key columns of the pair, and what its first text won when ``shown_first`` and ``shown_second``."""
    n_left_out: int
    """Pairs with an answer in one order or in none."""

    @property
    def clustered_by(self) -> str:
        """What is resampled: users, or items where there are no users."""
        return "user" if "user_id" in self.frame else "item"

    def clusters(self) -> tuple[Ints, int]:
        """Return the cluster of each pair, numbered by name, and their number."""
        names, codes = np.unique(
            self.frame[f"{self.clustered_by}_id"].astype(str).to_numpy(dtype=object), return_inverse=True
        )
        return codes, len(names)


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """What the place of a text does to the verdict."""

    judge: str
    aspect: str
    flips: Measured
    """The share of pairs on which the two orders differ."""
    first: Measured
    """The share of decided verdicts that the text shown first won; tested against one half."""
    ties: Measured
    """The share of verdicts that are ties."""
    n_pairs: int
    n_left_out: int
    n_clusters: int
    clustered_by: str


def pairs_of(verdicts: pd.DataFrame) -> list[VerdictPairs]:
    """Take verdicts apart by evaluator and aspect, and match the two orders of each pair.

    Parameters
    ----------
    verdicts
        Long, as described in `metaeval.evaluators.verdicts`.

    Raises
    ------
    DataError
        If a column is missing, a word is not known, or an order of a pair stands twice.
    """
    both = comparisons_of(verdicts)
    keys = [k for k in PAIR if k in both.columns]
    shown = ["shown_first", "shown_second"]
    answered = (both[shown] != NO_VERDICT).all(axis=1)
    for column in shown:
        both[column] = _VALUES[both[column].to_numpy()]
    found = []
    for (judge, aspect), own in both.groupby(["evaluator", "aspect"], sort=False, observed=True):
        usable = own[answered[own.index]]
        frame = usable.sort_values(keys, kind="stable", ignore_index=True)[[*keys, *shown]]
        found.append(VerdictPairs(str(judge), str(aspect), frame, len(own) - len(usable)))
    return found


def position(pairs: VerdictPairs, *, resamples: int = 10_000, seed: int = 0) -> Position | None:
    """Measure flips and the preference for the first place; None if no pair was answered in both orders.

    Only pairs with both answers count, so that a better text is shown first as often as second.
    """
    if pairs.frame.empty:
        return None
    cluster, n_clusters = pairs.clusters()
    resampler = Resampler(n_clusters, resamples, seed)
    one = pairs.frame["shown_first"].to_numpy(dtype=np.float64)
    other = pairs.frame["shown_second"].to_numpy(dtype=np.float64)

    def total(values: Floats) -> Floats:
        return np.asarray(np.bincount(cluster, values, n_clusters)[None], dtype=np.float64)

    # In the second order the pair's second text is shown first.
    first = total((one == 1.0) + (other == 0.0) * 1.0)
    second = total((one == 0.0) + (other == 1.0) * 1.0)
    decided, n = first + second, total(np.ones(len(one)))
    flipped = total((one != other) * 1.0)
    return Position(
        pairs.judge,
        pairs.aspect,
        measured(mean_of(flipped, n), resampler, bounds=(0.0, 1.0)),
        measured(mean_of(first, decided), resampler, first - second, bounds=(0.0, 1.0)),
        measured(mean_of(2 * n - decided, 2 * n), resampler, bounds=(0.0, 1.0)),
        len(one),
        pairs.n_left_out,
        n_clusters,
        pairs.clustered_by,
    )
