"""How much a panel gains over its best member, which is chosen on some users and tested on held-out ones.

The member that agrees best with all users does so partly by chance (held-out optimism). So it is chosen
without the users on whom it and the panel are compared (cross-fitting).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.base.keys import key_columns, nouns_of
from metaeval.base.progress import progress
from metaeval.base.records import AVERAGE, Scale
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.sentences import NO_BOOTSTRAP
from metaeval.engine.sheet import Column, Sheet, columns
from metaeval.evaluators.ensemble import Ensemble, Majority, Mean, Median
from metaeval.evaluators.recorded import Recorded
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import Stack, Statistic, WithAverage
from metaeval.stats.resampling.weights import held_out, interval, left_out, one_thread
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters

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
    resampler = Resampler(clusters.n, how.resamples, how.seed)
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
    low, high = interval(gains[..., 0], drawn, without, n_clusters=clusters.n)
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


def splits(scores: Floats, least: float | Floats, most: float | Floats) -> pd.DataFrame:
    """Measure the disagreement of K members on N units; NaN where fewer than two gave a score.

    Parameters
    ----------
    scores
        Shape (K, N); NaN for a missing score.
    least, most
        The ends of the scale, or of that of each unit, shape (N,).

    Returns
    -------
    DataFrame
        A row per unit: ``n_members`` that scored it, ``range`` (highest minus lowest score), ``sd``
        (population standard deviation), ``off_majority`` (share of the members who did not give the modal
        score), and ``split``: 0 if all gave the same score, 1 if half gave each end of the scale.

    Notes
    -----
    Ordinal disagreement is D of Leik (1966, Pacific Sociological Review 9, 85), 2 Σ min(F, 1 - F) / (m - 1)
    over the m ratings of a scale, F being the share of the members at or below one. The sum is the mean
    absolute deviation from the median, so D = 2 · deviation / (most - least), for any scores on the scale.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or not np.all(np.greater(most, least)):
        raise ValueError("scores must have two dimensions, and the scale a length")
    there = ~np.isnan(values)
    n = there.sum(axis=0)
    columns = np.arange(values.shape[1])
    ordered = np.sort(values, axis=0)  # NaN last
    last = np.maximum(n - 1, 0)

    def mean(of_members: Floats) -> Floats:
        total: Floats = np.where(there, of_members, 0.0).sum(axis=0) / np.maximum(n, 1)
        return total

    median = ordered[last // 2, columns]  # any median has the same mean deviation
    votes = (values[:, None] == values[None]).sum(axis=0)
    most_votes = np.where(there, votes, 0).max(axis=0, initial=0)
    measures = {
        "split": 2 * mean(np.abs(values - median)) / (most - least),
        "range": ordered[last, columns] - ordered[0],
        "sd": np.sqrt(mean((values - mean(values)) ** 2)),
        "off_majority": 1 - most_votes / np.maximum(n, 1),
    }
    known = {name: np.where(n >= 2, measure, np.nan) for name, measure in measures.items()}
    return pd.DataFrame({**known, "n_members": n})


SCORE = "score @ "
"""Begins the name of the column with a member's scores."""
_ASPECT = Column("aspect", "Aspect")
_SPLIT = (
    *columns("number", split="Ordinal disagreement", range="Range", sd="Standard deviation"),
    Column("off_majority", "Off the majority", "share"),
)


def split_units(scores: pd.DataFrame, members: Sequence[str], scale: Scale) -> pd.DataFrame:
    """Measure the disagreement of the members of a panel on every unit and aspect.

    Returns
    -------
    DataFrame
        One row per unit and aspect that two or more members scored, the largest disagreement first: key
        columns, ``aspect``, the measures of `splits`, and each member's
        ``score @ NAME``.
    """
    keys = list(key_columns(scores))
    own = scores[scores["evaluator"].isin(list(members))]
    names = [*keys, "aspect"]
    wide = own.set_index([*names, "evaluator"])["score"].unstack()  # noqa: PD010 - nothing to sum up
    wide = wide.reindex(columns=list(members))
    scales = [scale.of(aspect) for aspect in wide.index.get_level_values("aspect")]
    least, most = np.array([s.min for s in scales]), np.array([s.max for s in scales])
    measures = splits(wide.to_numpy(float).T, least, most)
    of_members = wide.rename(columns=lambda name: f"{SCORE}{name}").reset_index(drop=True)
    whole = pd.concat([wide.index.to_frame(index=False), measures, of_members], axis=1)
    # Ties are ordered by name, whatever the order of the run.
    order = ["split", "range", "sd"]
    rising = [False] * len(order) + [True] * len(names)
    return whole[measures["n_members"] >= 2].sort_values(
        [*order, *names], ascending=rising, kind="stable", ignore_index=True
    )


def agreement_sheet(units: pd.DataFrame, members: Sequence[str]) -> Sheet:
    """Return ``panel``: the means of `split_units` by aspect, and the share of ``unanimous`` units."""
    groups = units.groupby("aspect", sort=True, observed=True)
    frame = groups.agg(
        n_units=("split", "size"),
        unanimous=("range", lambda of_units: float((of_units == 0).mean())),
        **{c.name: (c.name, "mean") for c in _SPLIT},
    ).reset_index()
    return Sheet(
        "panel",
        "Agreement of the panel",
        frame,
        (
            _ASPECT,
            Column("n_units", "Units", "count"),
            Column("unanimous", "All give the same", "share"),
            *_SPLIT,
        ),
        (
            f"The panel: {', '.join(members)}.",
            "Means over all units that two members or more scored; nothing is filled in.",
            "Ordinal disagreement (Leik 1966): 0 if all give the same score, 1 if half give each end.",
        ),
    )


def disagreements_sheet(
    units: pd.DataFrame,
    members: Sequence[str],
    n: int,
    *,
    called: Mapping[str, str] | None = None,
) -> Sheet:
    """Return ``disagreements``: the ``n`` units of `split_units` that split the panel most.

    Each unit is listed with the aspect that splits it most. ``called`` maps key
    columns to nouns, and members to the names that are printed.
    """
    keys = list(units.columns[: units.columns.get_loc("aspect")])
    titles = nouns_of(keys) | dict(called or {})
    frame = units.drop_duplicates(keys).head(n).reset_index(drop=True)
    return Sheet(
        "disagreements",
        "Where the panel splits most",
        frame,
        (
            *(Column(k, titles[k].capitalize()) for k in keys),
            _ASPECT,
            *_SPLIT,
            *(Column(f"{SCORE}{name}", titles.get(name, name), "number") for name in members),
        ),
        ("For each unit, the aspect on which the members differ most, with their scores.",),
    )


def gain_sheet(
    gains: Sequence[Gain],
    how: Fitting,
    people: str,
    *,
    between: Collection[str] = (),
) -> Sheet:
    """Return ``gain``: the fields of `metaeval.trust.panel_gain.Gain`; ``between`` are levels of means."""
    frame = pd.DataFrame([asdict(gain) for gain in gains]).replace([np.inf, -np.inf], np.nan)
    return Sheet(
        "gain",
        "Gain of the panel over its best member",
        frame,
        (
            Column("level", "Level"),
            _ASPECT,
            Column("panel", "Panel"),
            Column("best", "Best member on all"),
            *columns("hundred", in_sample="Where it was chosen", best_member="Best member", of_panel="Panel"),
            Column("gain", "Gain", "hundred", "ci_low", "ci_high"),
            Column("same", "Same choice", "share"),
        ),
        (
            "Pearson's r × 100 with the truth, as the study's policy fills missing scores.",
            f"The best member is chosen without the {people}s on whom it and the panel are evaluated.",
            f"There are {how.folds} folds, split {how.repeats} times.",
            f"95 % intervals: {how.resamples:,} resamples of the held-out {people}s.",
            "Intervals treat the choices as fixed: if choices vary, a gain is less certain than it seems.",
            "Same choice: how often the chosen member is the best on all.",
            *([NO_BOOTSTRAP] if any(gain.level in between for gain in gains) else []),
        ),
    )
