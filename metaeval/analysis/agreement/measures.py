"""Further measures of agreement: pairwise accuracy, kappa, alpha, concordance, absolute error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from functools import partial

import numpy as np
import pandas as pd

from metaeval.analysis.generator_estimates import GeneratorDesign, p_better
from metaeval.base.counts import plural_of
from metaeval.base.keys import PAIR, noun
from metaeval.base.progress import progress
from metaeval.base.records import Kind, Scale
from metaeval.base.simulation import REAL, Simulation
from metaeval.base.spec import printed_name
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.correlation import estimates
from metaeval.engine.drilldown import GroupColumn, Groups
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sentences import if_known
from metaeval.engine.sheet import Column, Sheet, by_aspect, value_text
from metaeval.stats.agreement.raters import (
    centre,
    cohen_kappa,
    concordance,
    krippendorff_alpha,
    mean_absolute_error,
)
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.ranking.orders import soft_pairwise_accuracy, tie_calibrated_accuracy, tied_share
from metaeval.stats.resampling.cluster_sums import with_average
from metaeval.stats.weighted.sums import Clusters

N_FOLDS = 10
"""Folds of users; the tie threshold of each is chosen on the others."""
N_RESAMPLES = 1000
"""Bootstrap resamples behind the p-values of soft pairwise accuracy."""

_MOST_LABELS = 1_000  # of a scale; a contingency table has the square of it
_MOST_RATINGS = 12  # means of up to so many whole ratings count as being on the scale
_ON_SCALE = ("kappa", "alpha", "concordance", "mae")


def measures(
    data: Prepared,
    *,
    scale: Scale,
    seed: int = 0,
    people: Collection[str] = (),
    simulated: Simulation = REAL,
) -> Sheet:
    """Measure agreement in the order of pairs, in the order of generators, and in the ratings themselves.

    There is a row per evaluator, with averages over aspects, which are NaN where the measure of any
    aspect is. The frame has every aspect too, in columns such as ``kappa: accuracy``.

    - ``pairs_user``, ``pairs_pair``: pairwise accuracy (`tie_calibrated_accuracy`) within users, and within
      units of a user and item. Without users, ``pairs_item``. ``same_pairs_user`` and the like have the
      threshold that is best for the same pairs, as published tables do; they are not printed.
    - ``soft``: soft pairwise accuracy of generators (`soft_pairwise_accuracy`, means as in
      `metaeval.analysis.generator_ranking.rank_generators`).
    - ``kappa`` (quadratic weights) and ``alpha`` (Krippendorff's, ordinal) of evaluator and truth.
    - ``concordance`` (Lin's) and ``mae`` (mean absolute error, in points of the scale) after truth and scores
      were centred within users, or items without users.

    The last four compare values, not orders: they are NaN unless all scores and the truth are on the scale,
    or means of a few ratings on it; kappa takes the ratings themselves only. ``seed`` is that of the folds
    and the resamples, ``people`` are the evaluators that are persons.
    """
    who = data.cluster_name()
    clusters = data.clusters(who)
    groupings = {who: Grouping(clusters.of_unit, clusters.n)}
    if PAIR in data.levels:
        second = data.levels[PAIR].columns[1]
        codes = clusters.of_unit * len(data.labels[second]) + data.keys[second]
        pair = np.unique(codes, return_inverse=True)[1]
        if pair.max() + 1 < len(pair):  # else no unit has another of its pair beside it
            groupings[PAIR] = Grouping(pair, int(pair.max()) + 1)
    n_folds = min(N_FOLDS, clusters.n)
    fold = np.random.default_rng(seed).permutation(clusters.n) % max(1, n_folds)

    shape = (len(data.evaluators), len(data.aspects))
    of_pairs = [f"{kind}_{level}" for kind in ("pairs", "same_pairs") for level in groupings]
    names = [*of_pairs, "soft", *_ON_SCALE]
    found = {name: np.full(shape, np.nan) for name in names}
    with progress("measures", shape[0] * shape[1]) as advance:
        for e in range(shape[0]):
            for a in range(shape[1]):
                units = np.flatnonzero(data.entering[e, a])
                x, y = data.scores[e, a, units], data.truth[a, units]
                for level, g in groupings.items():
                    if n_folds > 1:
                        pairs = tie_calibrated_accuracy(
                            x, y, g.group[units], fold[clusters.of_unit[units]], n_folds=n_folds
                        )
                        found[f"pairs_{level}"][e, a] = pairs.accuracy
                        found[f"same_pairs_{level}"][e, a] = pairs.same
                on = scale.of(data.aspects[a])
                kept = _scored(data, e, a, units, on)
                group = clusters.of_unit[kept]
                for name, value in _values(
                    data.scores[e, a, kept], data.truth[a, kept], group, clusters.n, on
                ).items():
                    found[name][e, a] = value
                advance()
    of_none = _of_none(data, groupings, clusters)
    if len(data.systems) > 1:
        found["soft"], of_none["soft"] = _soft(data, seed)
    else:
        del found["soft"]
    return Sheet(
        "measures",
        "Further measures of agreement with the truth",
        pd.DataFrame({"evaluator": data.evaluators, **by_aspect(found, data.aspects)}),
        _columns(found, data),
        tuple(_notes(data, found, of_none, who, scale=scale, n_folds=n_folds, seed=seed)),
        simulated,
        finding=partial(_most_in_order, people=people),
    )


def _most_in_order(sheet: Sheet, people: Collection[str]) -> str:
    """Say which evaluator that is no person puts the most pairs of units in the order of the truth."""
    first = next((column for column in sheet.columns if column.name.startswith("pairs_")), None)
    rows = sheet.frame[~sheet.frame["evaluator"].isin(people)] if first else sheet.frame[:0]
    if first is None or rows[first.name].isna().all():
        return ""
    best = rows.nlargest(1, first.name).iloc[0]
    name = printed_name(str(best["evaluator"]), sheet.names)
    where, share = first.title.removeprefix("Pairs "), value_text(best[first.name], first.form)
    if len(rows) == 1:
        return f"{name} puts {share} of the pairs of units {where} in the order of the truth."
    return (
        f"Of {len(rows)} tools, {name} puts the most pairs of units in the order of the truth ({share}, "
        f"{where}); no lead by these further measures is tested."
    )


def are_ratings(values: Floats, scale: Scale) -> bool:
    """Say whether all values are ratings on a scale, or means of up to 12 ratings.

    Other scores may lie between the ends of the scale, but are no such fractions.
    """
    if values.size == 0 or values.min() < scale.min or values.max() > scale.max:
        return False
    if not scale.integer:
        return True
    distinct = np.unique(values)
    return any(np.allclose(distinct * k, np.rint(distinct * k), 0, 1e-9) for k in range(1, _MOST_RATINGS + 1))


def _scored(data: Prepared, e: int, a: int, units: Ints, scale: Scale) -> Ints:
    """Return the units without those whose score was filled with a number that is not on the scale."""
    fill = data.policy.score
    if isinstance(fill, str) or fill in scale or not data.n_missing[e, a]:
        return units
    filled = data.scores[e, a, units] == fill
    return units[~filled] if filled.sum() <= data.n_missing[e, a] else units


def _values(x: Floats, y: Floats, group: Ints, n_groups: int, scale: Scale) -> dict[str, float]:
    """Return the measures that compare ratings with ratings; none if either are not ratings."""
    if not (are_ratings(x, scale) and are_ratings(y, scale)):
        return {}
    found = {"alpha": krippendorff_alpha(np.stack([x, y]), "ordinal")}
    if scale.integer and scale.max - scale.min < _MOST_LABELS and not ((x % 1).any() or (y % 1).any()):
        labels = np.arange(scale.min, scale.max + 1)
        found["kappa"] = cohen_kappa(x, y, "quadratic", labels=labels)
    u, v = (centre(values, group, n_groups) for values in (x, y))
    return {**found, "concordance": concordance(u, v), "mae": mean_absolute_error(u, v)}


def _soft(data: Prepared, seed: int) -> tuple[Floats, float]:
    """Return the soft pairwise accuracy of generators, shape (E, A), and that of p-values of one half."""
    masks = data.entering
    design = GeneratorDesign.of(
        data, np.logical_or.reduce(masks, axis=(0, 1)), Bootstrap(resamples=N_RESAMPLES, seed=seed)
    )
    found = np.full(masks.shape[:2], np.nan)
    of_truth: dict[bytes, list[Floats]] = {}
    with progress("generators", len(found)) as advance:
        for e, mask in enumerate(masks):
            entering = list(mask)
            key = mask.tobytes()
            if key not in of_truth:
                drawn = design.draws(data.truth, entering).replicates[-len(mask) :]
                of_truth[key] = [p_better(means) for means in drawn]
            of_scores = design.draws(data.scores[e], entering).replicates[-len(mask) :]
            for a, (p, means) in enumerate(zip(of_truth[key], of_scores, strict=True)):
                written = np.bincount(design.generator[mask[a]], minlength=design.n_generators) > 0
                among = np.ix_(written, written)
                found[e, a] = soft_pairwise_accuracy(p[among], p_better(means)[among])
            advance()
    of_halves = [soft_pairwise_accuracy(p, np.full_like(p, 0.5)) for p in next(iter(of_truth.values()))]
    return found, float(np.mean(of_halves))


def _columns(found: Mapping[str, Floats], data: Prepared) -> tuple[Column, ...]:
    who, both = data.cluster_name(), " × ".join(noun(k) for k in list(data.keys)[:2])
    known = (
        Column(f"pairs_{who}", f"Pairs within {plural_of(who)}", "share"),
        Column("pairs_pair", f"Pairs within {both}", "share"),
        Column("soft", f"Pairs of {noun(data.system or '')}s, soft", "share"),
        Column("kappa", "Weighted κ", "hundred"),
        Column("alpha", "α, ordinal", "hundred"),
        Column("concordance", "Concordance", "hundred"),
        Column("mae", "Mean absolute error", "number"),
    )
    return (Column("evaluator", "Evaluator"), *(c for c in known if c.name in found))


def _of_none(data: Prepared, groupings: Mapping[str, Grouping], clusters: Clusters) -> dict[str, float]:
    """Return the measures of an evaluator that scores all units alike; means over aspects."""
    tied = np.full((len(groupings), len(data.aspects)), np.nan)
    errors = np.full(len(data.aspects), np.nan)
    for a in range(len(data.aspects)):
        units = np.flatnonzero(data.entering[:, a].any(axis=0))
        y = data.truth[a, units]
        for i, g in enumerate(groupings.values()):
            tied[i, a] = tied_share(y, g.group[units])
        errors[a] = mean_absolute_error(centre(y, clusters.of_unit[units], clusters.n), np.zeros_like(y))
    shares = zip(groupings, tied.mean(axis=1), strict=True)
    return {**{f"pairs_{level}": float(share) for level, share in shares}, "mae": float(errors.mean())}


def _notes(
    data: Prepared,
    found: Mapping[str, Floats],
    of_none: Mapping[str, float],
    who: str,
    *,
    scale: Scale,
    n_folds: int,
    seed: int,
) -> Iterator[str]:
    n, many = len(data.aspects), plural_of(who)
    yield f"{f'Means over {n} aspects; ' if n > 1 else ''}κ, α and concordance × 100."
    if not data.has_users:
        yield "The data have no users: items replace them."
    if n_folds > 1:
        reached = [of_none[name] for name in found if name.startswith("pairs_")]
        known = [share for share in reached if not math.isnan(share)]
        ties = " and ".join(f"{100 * share:.1f} %" for share in known)
        of_ties = f" Calling every pair a tie would reach {ties}." if known else ""
        yield (
            "Pairs: the share of pairs of units that evaluator and truth order alike or both tie. The "
            f"largest difference that counts as a tie was chosen on other {many} than it is applied to "
            f"({n_folds} folds of {many}, seed {seed}).{of_ties}"
        )
    else:
        yield f"With one {who} there are no others to choose the threshold of ties on, so there are no pairs."
    if "soft" in found:
        removed = ", whose effects are removed" if data.has_users else ""
        system = noun(data.system or "")
        yield (
            f"Pairs of {plural_of(system)}: 1 minus the mean difference between the truth's and the "
            "evaluator's "
            f"one-sided p-values that one {system} is better than another ({N_RESAMPLES:,} bootstrap "
            f"resamples of {many}{removed}; seed {seed})."
        ) + if_known(f" P-values of 0.5 would reach {100 * of_none['soft']:.1f} %.", of_none["soft"])
    if all(np.isnan(found[name]).all() for name in _ON_SCALE):
        yield f"κ, α, concordance and error have no values: no evaluator's scores are ratings, {scale}."
        return
    apart = if_known(f"; predicting no deviation has an error of {of_none['mae']:.3f}", of_none["mae"])
    yield (
        "κ (quadratic weights), α (ordinal), concordance (Lin's) and mean absolute error (in points) "
        f"compare ratings with ratings: they need a truth and scores that are all {scale}, or means of a "
        f"few such; κ does not take means. Concordance and error use deviations from the {who}'s mean{apart}."
    )
    fill = data.policy.score
    if not isinstance(fill, str) and fill not in scale and data.n_missing.any():
        yield f"Missing scores, which count as {fill:g} elsewhere, are left out of these four."


_MOST_STEPS = 13  # whole or half points of a scale up to which each has its own bin
_FEWEST_HALVES = 4  # steps of half a point; a scale with no more, such as 0 to 1, is one of finer numbers
N_BINS = 10
"""Of a scale of many ratings."""


def on_scale(scores: pd.DataFrame, scale: Scale, kinds: Mapping[str, Kind]) -> list[str]:
    """Return the evaluators whose scores are all ratings on a scale, or means of a few ratings.

    Reference-based evaluators are never among them, even if their scores lie on the scale.
    """
    found = []
    for name, own in scores.dropna(subset="score").groupby("evaluator", sort=False, observed=True):
        of_aspects = own.groupby("aspect", observed=True)["score"] if scale.own else [("", own["score"])]
        parts = ((values.to_numpy(dtype=np.float64), scale.of(str(aspect))) for aspect, values in of_aspects)
        if kinds.get(str(name)) != Kind.REFERENCE and all(itertools.starmap(are_ratings, parts)):
            found.append(str(name))
    return found


def edges_of(scale: Scale) -> Floats:
    """Return the edges of the bins: half-way between whole or half points, or of 10 bins for many points."""
    step = 1.0 if scale.integer else 0.5
    steps = (scale.max - scale.min) / step
    if steps < _MOST_STEPS and (scale.integer or steps > _FEWEST_HALVES):
        return np.arange(scale.min - step / 2, scale.max + step, step)
    return np.linspace(scale.min, scale.max, N_BINS + 1)


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
