"""How much a panel gains over its best member, which is chosen on some users and tested on held-out ones.

The member that agrees best with all users does so partly by chance (held-out optimism). So it is chosen
without the users on whom it and the panel are compared (cross-fitting).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metaeval.base.errors import MetaevalError
from metaeval.base.progress import progress
from metaeval.base.records import AVERAGE
from metaeval.engine.alignment.prepared import Prepared
from metaeval.evaluators.ensemble import Ensemble, Majority, Mean, Median
from metaeval.evaluators.recorded import Recorded
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import Resampler, Statistic
from metaeval.stats.resampling.cluster_sums import Stack, WithAverage
from metaeval.stats.resampling.threads import one_thread
from metaeval.stats.resampling.weights import held_out, interval, left_out
from metaeval.stats.weighted.statistic import Clusters, statistic

PANELS: tuple[type[Ensemble], ...] = (Mean, Median, Majority)
"""With two members all three are equal, and `Mean` alone is used."""
COEFFICIENT = "pearson"


@dataclass(frozen=True, slots=True)
class Gain:
    """A panel against its best member, at one level for one aspect."""

    level: str
    aspect: str
    """An aspect, or ``average``, which has a best member of its own."""
    panel: str
    """``Mean``, ``Median`` or ``Majority``."""
    best: str
    """The best member on all users."""
    in_sample: float
    """Its agreement on all users, on whom it was chosen."""
    best_member: float
    """Mean agreement on held-out users of the member that is best on the others."""
    of_panel: float
    """Mean agreement of the panel on the same users."""
    gain: float
    """``of_panel`` minus ``best_member``."""
    ci_low: float
    ci_high: float
    same: float
    """Share of the splits that choose the best member on all users."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """Options of the cross-fitting."""

    resamples: int = 1_000
    """Bootstrap resamples of the held-out clusters."""
    folds: int = 5
    repeats: int = 2
    """Random splits into folds."""
    cluster: str | None = None
    """As for `Prepared.clusters`; default: the first key."""
    confidence: float = 0.95
    seed: int = 0


@one_thread()
def panel_gains(data: Prepared, how: Fitting | None = None) -> list[Gain]:
    """Compare panels of all members with the best one of them, by Pearson's r.

    The data are on the units that all members have. `MetaevalError` is raised if there are fewer than two
    members or two clusters.
    """
    how = how or Fitting()
    names = data.evaluators
    if len(names) < 2:
        raise MetaevalError(f"a panel has two members or more, not {len(names)}; give them with --judge")
    cluster = data.cluster_name(how.cluster)
    clusters = data.clusters(cluster)
    if clusters.n < 2:
        raise MetaevalError(
            f"all units are of one {cluster}: the best member is chosen on some and evaluated on others, "
            "which needs two or more"
        )
    found: list[Gain] = []
    with progress("panels", len(data.policy.levels)) as advance:
        for level in data.policy.levels:
            found += _gains(data, level, clusters, how)
            advance()
    return found


def _gains(data: Prepared, level: str, clusters: Clusters, how: Fitting) -> Iterator[Gain]:
    statistics = _statistics(data, level, clusters)
    aspects = [*data.aspects, *([AVERAGE] if len(data.aspects) > 1 else [])]

    def agreement(weights: Floats) -> Floats:
        """Return shape (members + panels, aspects, columns)."""
        return np.stack([s.at(weights) for s in statistics])

    names, k, panels = data.evaluators, len(data.evaluators), panels_of(data)
    whole = np.ones((clusters.n, 1))
    resampler = Resampler(clusters.n, how.resamples, how.seed, how.confidence)
    weights = np.concatenate([whole, *resampler.weights(), *left_out(clusters.n)], axis=1)
    on_all = agreement(whole)[..., 0]
    best = np.argmax(_known(on_all[:k]), axis=0)
    shape = (len(panels) + 1, on_all.shape[1], weights.shape[1])
    totals, judged_by = np.zeros(shape), np.zeros(shape[1:])
    splits = held_out(clusters.n, folds=how.folds, repeats=how.repeats, seed=how.seed)
    same = np.zeros(on_all.shape[1])
    for held in splits.T:
        chosen = np.argmax(_known(agreement(whole * (1 - held)[:, None])[:k]), axis=0)
        # Choices are not repeated within resamples, which would favour the panel.
        judged = agreement(weights * held[:, None])
        member = np.take_along_axis(judged[:k], chosen[None], axis=0)
        values = np.concatenate([member, judged[k:]])
        defined = ~np.isnan(values).any(axis=0)
        weight = np.where(defined, held @ weights, 0.0)
        totals += np.where(defined, values, 0.0) * weight
        judged_by += weight
        same += chosen[:, 0] == best
    means = np.divide(totals, judged_by, out=np.full(shape, np.nan), where=judged_by > 0)
    gains = means[1:] - means[0]
    drawn, without = np.split(gains[..., 1:], [how.resamples], axis=-1)
    # A bootstrap of a fold's few clusters varies too little, so intervals are widened by the jackknife.
    low, high = interval(gains[..., 0], drawn, without, n_clusters=clusters.n, confidence=how.confidence)
    if data.groupings[level].between:
        # Resampled means are noisier than means, so intervals of their correlation would be wrong.
        low, high = np.full((2, *low.shape), np.nan)
    for a, aspect in enumerate(aspects):
        for p, panel in enumerate(panels):
            yield Gain(
                level,
                aspect,
                panel.__name__,
                names[best[a]],
                float(on_all[best[a], a]),
                float(means[0, a, 0]),
                float(means[1 + p, a, 0]),
                float(gains[p, a, 0]),
                float(low[p, a]),
                float(high[p, a]),
                float(same[a] / splits.shape[1]),
            )


def panels_of(data: Prepared) -> tuple[type[Ensemble], ...]:
    """Return the kinds of panels that differ for these members."""
    return PANELS if len(data.evaluators) > 2 else PANELS[:1]


def _statistics(data: Prepared, level: str, clusters: Clusters) -> list[Statistic]:
    """Return the agreement with the truth of each member, then panel, with a value per aspect.

    Of several aspects, the last value is their average.
    """
    panels = panels_of(data)
    statistics: list[list[Statistic]] = [[] for _ in range(len(data.evaluators) + len(panels))]
    parts = [Recorded(name) for name in data.evaluators]
    for a, aspect in enumerate(data.aspects):
        there = np.ones(data.truth.shape[1], bool) if data.mask is None else data.mask[:, a].all(axis=0)
        if not there.any():
            raise MetaevalError(f"no unit has a score for {aspect!r} from all members; choose others")
        members = data.scores[:, a, there]
        g = data.groupings[level]
        grouping = Grouping(g.group[there], g.n_groups, g.between)
        of_units = Clusters(clusters.of_unit[there], clusters.n)
        made = [panel(*parts).middle(members, words=False) for panel in panels]
        for row, scores in zip(statistics, [*members, *made], strict=True):
            of = scores, data.truth[a, there], grouping, of_units, [COEFFICIENT]
            row.append(statistic(*of, undefined=data.policy.undefined))
    return [WithAverage(Stack(row)) for row in statistics]


def _known(values: Floats) -> Floats:
    return np.where(np.isnan(values), -np.inf, values)
