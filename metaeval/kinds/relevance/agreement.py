"""How often scores order two items of a user as the labels do: agreement, ties and disagreement of pairs.

Penha et al. (2025, section 5.1) count pairs of a relevant and a non-relevant item (Tables 3 and 4), and pairs
by the gap between their labels (Figure 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.stats.ranking.label_pairs import label_pairs
from metaeval.stats.resampling.bootstrap import Estimate, bootstrap, each
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.resampling.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.engine.alignment.policy import Prepared
    from metaeval.engine.intervals import Bootstrap
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.bootstrap import Resampler

RELEVANT, ALL = "relevant", "all"
"""Pairs of a relevant and a non-relevant item, and all pairs of different labels; other gaps are numbers."""
SHARES = ("agreement", "tie", "disagreement")
_MOST_LABELS = 30  # a truth of more has no gaps that could be listed


class Shares(ClusterSums):
    """Shares of pairs that agree, tie and disagree.

    ``by_cluster`` has shape (3, …, users): agreeing pairs, ties and all pairs, of one gap or several; the
    values are agreement at every gap, then ties, then disagreement.
    """

    @classmethod
    def of(cls, counts: Floats) -> Shares:
        """Return the shares of counts, shape (3, …, users)."""
        return cls(counts, _shares)

    def less(self, other: Shares) -> Shares:
        """Return the difference of the shares."""
        both = np.stack([self.by_cluster, other.by_cluster])
        return Shares(both, lambda sums: _shares(sums[0]) - _shares(sums[1]))

    def cells(self, names: Sequence[str], resampler: Resampler | None) -> dict[str, float]:
        """Return the values by name, with intervals if there is a resampler."""
        if resampler is None:
            values = self.at(np.ones((self.by_cluster.shape[-1], 1)))[:, 0]
            return dict(zip(names, values.tolist(), strict=True))
        found = each(bootstrap(self, resampler))
        rows = (one.row(name) for name, one in zip(names, found, strict=True))
        return {name: value for row in rows for name, value in row.items()}


@dataclass(frozen=True, eq=False)
class PairAgreement:
    """Pairs of items of a user, by evaluator and gap between the two labels."""

    evaluators: tuple[str, ...]
    gaps: tuple[str, ...]
    counts: Floats
    """Shape (evaluators, gaps, 3, users): agreeing pairs, ties, all pairs."""

    @classmethod
    def of(cls, data: Prepared, relevant: float) -> PairAgreement | None:
        """Count pairs; None if the truth has one label alone, or very many.

        Parameters
        ----------
        data
            Scores and truth of one aspect.
        relevant
            The lowest label that counts as relevant.
        """
        clusters = data.clusters(data.cluster_name())
        labels = np.unique(data.truth[0, data.entering[:, 0].any(axis=0)])
        if not 1 < len(labels) <= _MOST_LABELS:
            return None
        steps = sorted({float(high - low) for i, high in enumerate(labels) for low in labels[:i]})

        def counted(e: int) -> Floats:
            units = np.flatnonzero(data.entering[e, 0])
            at = np.searchsorted(labels, data.truth[0, units])
            counts = np.zeros((2 + len(steps), 3, clusters.n))
            for found in label_pairs(
                data.scores[e, 0, units], at, len(labels), clusters.of_unit[units], clusters.n
            ):
                high, low = labels[found.high], labels[found.low]
                pairs = np.stack([found.agree, found.tie, found.pairs])
                counts[0] += pairs * (low < relevant <= high)
                counts[1] += pairs
                counts[2 + steps.index(float(high - low))] += pairs
            return counts

        every = in_threads(counted, range(len(data.evaluators)))
        gaps = (RELEVANT, ALL, *(f"{step:g}" for step in steps))
        return cls(tuple(data.evaluators), gaps, np.stack(list(every)))

    @property
    def n_users(self) -> int:
        """Users that are resampled."""
        return int(self.counts.shape[-1])

    def shares(self, names: Sequence[str], gap: str = RELEVANT) -> Shares:
        """Return the shares of the pairs of all evaluators that are named, taken together."""
        at = [self.evaluators.index(name) for name in names]
        return Shares.of(self.counts[at, self.gaps.index(gap)].sum(axis=0))

    def frame(self, options: Bootstrap | None) -> pd.DataFrame:
        """Return a row per evaluator and gap that has pairs: shares with intervals over users, and counts."""
        resampler = options.resampler(self.n_users) if options else None

        def estimated(counts: Floats) -> Estimate[Floats]:
            shares = Shares.of(counts.swapaxes(0, 1))
            if resampler is None:
                value = shares.at(np.ones((self.n_users, 1)))[:, 0]
                return Estimate(value, value, value, self.n_users)
            return bootstrap(shares, resampler, bounds=(0.0, 1.0))

        if resampler:
            resampler.weights()  # once for all threads
        rows: list[dict[str, Any]] = []
        for evaluator, counts, found in zip(
            self.evaluators, self.counts, in_threads(estimated, list(self.counts)), strict=True
        ):
            ends = [found.value, *([found.low, found.high] if options else [])]
            by_share = np.stack(ends, axis=1).reshape(len(SHARES), len(self.gaps), -1)
            for g in np.flatnonzero(counts[:, 2].any(axis=-1)).tolist():
                row: dict[str, Any] = {"evaluator": evaluator, "gap": self.gaps[g]}
                for suffix, values in zip(("", "_low", "_high"), by_share[:, g].T.tolist(), strict=False):
                    row |= {f"{name}{suffix}": value for name, value in zip(SHARES, values, strict=True)}
                pairs = counts[g, 2]
                rows.append(row | {"n_pairs": int(pairs.sum()), "n_users": int((pairs > 0).sum())})
        return pd.DataFrame(rows)


def _shares(sums: Floats) -> Floats:
    agree, tie, pairs = sums
    found = np.stack([ratio(agree, pairs), ratio(tie, pairs), ratio(pairs - agree - tie, pairs)])
    return found.reshape(-1, found.shape[-1])
