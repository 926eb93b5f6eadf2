"""How much a map from scores to people's scale reduces an evaluator's error, on held-out users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from metaeval.analysis.agreement.labels import heads
from metaeval.base.counts import plural_of
from metaeval.base.progress import progress
from metaeval.base.records import Scale
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.agreement.confidence import LEVEL, RatingInterval, conformal
from metaeval.stats.agreement.raters import mean_absolute_error
from metaeval.stats.coefficients.grouped import pearson
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.regression.isotonic import Isotonic, cross_fitted, isotonic
from metaeval.stats.resampling.bootstrap import NOTHING, Estimate, Resampler, bootstrap, each
from metaeval.stats.resampling.cluster_sums import ClusterSums
from metaeval.stats.resampling.weights import one_thread
from metaeval.stats.weighted.sums import Clusters

RAW, MEAN, MAP, OWN_MEAN, OWN_MAP = "raw", "mean", "map", "own_mean", "own_map"
CONFORMAL = "conformal"
"""The sheet of intervals of single ratings."""


@dataclass(frozen=True, slots=True, eq=False)
class MapFit:
    """Maps of one evaluator and aspect, with held-out errors in points of people's scale.

    Predictions are ``raw``, the score itself (if scores are on the scale); ``mean``, the mean rating of other
    users; ``map``, the isotonic map of other users; and, with the user's labels of other items, ``own_mean``
    (mean and the user's shift) and ``own_map`` (map and the user's shift and slope).
    """

    evaluator: str
    aspect: str
    n_units: int
    n_clusters: int
    map: Isotonic
    """Fitted on all units, for use."""
    mae: Mapping[str, float]
    rmse: Mapping[str, float]
    pearson: Mapping[str, float]
    """Of predictions and ratings; NaN for a constant."""
    mended: Estimate[float]
    """RMSE of ``raw`` minus RMSE of ``map``."""
    added: Estimate[float]
    """RMSE of ``mean`` minus RMSE of ``map``: what the evaluator adds for users without labels."""
    added_to_own: Estimate[float]
    """RMSE of ``own_mean`` minus RMSE of ``own_map``."""
    within: Mapping[str, RatingInterval]
    """Conformal intervals about ``raw``, ``map`` and ``mean``, for a single rating of a new cluster."""


@one_thread()
def map_fits(
    data: Prepared, *, scale: Scale, bootstrap: Bootstrap, cluster: str | None = None
) -> list[MapFit]:
    """Fit and cross-fit maps by evaluator and aspect, without those in words or of fewer than two clusters.

    Missing values of ``data`` are dropped by evaluator. The seed of the bootstrap makes the folds, whose
    ``cluster`` is as for `Prepared.clusters`; the first key, if left out.
    """
    who = data.clusters(data.cluster_name(cluster)).of_unit
    # A user's units of one item are left out together.
    block = list(data.keys.values())[1].astype(np.int64) if data.has_users and len(data.keys) > 1 else None
    resampler = bootstrap.resampler()
    found = []
    with progress("maps", len(data.evaluators)) as advance:
        for e, evaluator in enumerate(data.evaluators):
            for a, aspect in enumerate(data.aspects):
                units = np.arange(data.truth.shape[1])[data.units(e, a)]
                _, of_unit = np.unique(who[units], return_inverse=True)
                clusters = Clusters(of_unit, int(of_unit.max(initial=-1)) + 1)
                on = scale.of(aspect)
                if clusters.n < 2 or on.labels:
                    continue
                x, y = data.scores[e, a, units], data.truth[a, units]
                own = None if block is None else block[units]
                bounds = (on.min, on.max)
                fitted = cross_fitted(x, y, clusters, block=own, bounds=bounds, seed=bootstrap.seed)
                predicted = {MEAN: fitted.mean, MAP: fitted.common}
                if x.min() >= on.min and x.max() <= on.max:
                    predicted[RAW] = x
                if own is not None:
                    predicted |= {OWN_MEAN: fitted.own_mean, OWN_MAP: fitted.own}
                found.append(
                    _fit((evaluator, aspect), x, y, predicted, clusters=clusters, resampler=resampler)
                )
            advance()
    return found


def _fit(
    of: tuple[str, str],
    x: Floats,
    y: Floats,
    predicted: Mapping[str, Floats],
    *,
    clusters: Clusters,
    resampler: Resampler,
) -> MapFit:
    errors = {name: np.abs(values - y) for name, values in predicted.items()}
    pairs = [(RAW, MAP), (MEAN, MAP), (OWN_MEAN, OWN_MAP)]
    there = [p for p in pairs if p[0] in errors and p[1] in errors]
    gains = bootstrap(_gains(errors, there, clusters), resampler.of(clusters.n), stretch=False)
    by_pair = dict(zip(there, each(gains), strict=True))
    mended, added, added_to_own = (by_pair.get(p, NOTHING) for p in pairs)
    return MapFit(
        *of,
        len(x),
        clusters.n,
        isotonic(x, y),
        {name: mean_absolute_error(values, y) for name, values in predicted.items()},
        {name: float(np.sqrt(np.square(e).mean())) for name, e in errors.items()},
        # Means of the other folds are low where their own fold is high, so r would be negative by design.
        {name: np.nan if name == MEAN else float(pearson(values, y)) for name, values in predicted.items()},
        mended,
        added,
        added_to_own,
        {n: conformal(errors[n], clusters, resampler) for n in (RAW, MAP, MEAN) if n in errors},
    )


def _gains(errors: Mapping[str, Floats], pairs: Sequence[tuple[str, str]], clusters: Clusters) -> ClusterSums:
    """Return the RMSE of the first of each pair minus that of the second."""
    names = [one for one, _ in pairs] + [other for _, other in pairs]
    squares = [np.bincount(clusters.of_unit, np.square(errors[n]), clusters.n) for n in names]
    units = np.bincount(clusters.of_unit, minlength=clusters.n)

    def less(sums: Floats) -> Floats:
        first, second = np.split(np.sqrt(sums[:-1] / sums[-1]), 2)
        return np.asarray(first - second)

    return ClusterSums(np.stack([*squares, units]), less)


def map_sheet(fits: Sequence[MapFit], *, who: str = "user", seed: int = 0) -> Sheet | None:
    """Return the errors of maps on held-out clusters, whose noun is ``who``; None without a map."""
    if not fits:
        return None
    rows = []
    for fit in fits:
        row: dict[str, Any] = {"evaluator": fit.evaluator, "aspect": fit.aspect, "n_units": fit.n_units}
        for name, values in (("mae", fit.mae), ("rmse", fit.rmse), ("pearson", fit.pearson)):
            row |= {f"{name}_{way}": value for way, value in values.items()}
        for name in ("mended", "added", "added_to_own"):
            row |= getattr(fit, name).row(name)
        rows.append(row)
    frame = pd.DataFrame(rows)
    with_own, with_raw = "mae_own_map" in frame, "mae_raw" in frame
    every = [
        Column("n_units", "Units", "count"),
        Column("mae_raw", "Mean error", "number"),
        Column("mae_map", "Mean error, mapped", "number"),
        Column("rmse_raw", "RMSE", "number"),
        Column("rmse_map", "RMSE, mapped", "number"),
        Column("mended", "Mapping gains", "number", "mended_low", "mended_high"),
        Column("rmse_mean", "RMSE of guessing people's mean", "number"),
        Column("added", "Better than this guess by", "number", "added_low", "added_high"),
        Column("pearson_raw", "r", "number"),
        Column("pearson_map", "r, mapped", "number"),
        Column("rmse_own_map", f"RMSE, mapped for each {who}", "number"),
        Column("rmse_own_mean", f"RMSE of guessing each {who}'s mean", "number"),
        Column(
            "added_to_own", "Better than that guess by", "number", "added_to_own_low", "added_to_own_high"
        ),
        Column("pearson_own_map", f"r, mapped for each {who}", "number"),
    ]
    columns = [c for c in every if c.name in frame and (with_own or "own" not in c.name)]
    return Sheet(
        "maps",
        f"Maps to people's scale, on {plural_of(who)} they did not see",
        frame,
        (*heads(fits), *columns),
        tuple(_map_notes(who, seed=seed, with_own=with_own, with_raw=with_raw)),
    )


def _map_notes(who: str, *, seed: int, with_own: bool, with_raw: bool) -> Iterator[str]:
    yield (
        "Errors in points: mean absolute, and root mean square (RMSE), which maps minimise. Mapped: by "
        f"isotonic regression, fitted to other {plural_of(who)} (ten folds of {plural_of(who)}, seed "
        f"{seed}). "
        f"A guess needs no judge: it is the mean rating of other {plural_of(who)}. Gains are reductions of "
        "the RMSE, by mapped scores."
    )
    if with_raw:
        yield "Not mapped: the score used as a rating, if it is on the scale."
    if with_own:
        yield (
            f"Mapped for each {who}: the common map, and the {who}'s shift and slope from the {who}'s labels "
            "of other items, shrunk towards zero (best linear unbiased prediction; variances from other "
            f"{plural_of(who)}). Each {who}'s mean: the shift alone, and no judge."
        )


def conformal_sheet(fits: Sequence[MapFit], *, who: str = "user") -> Sheet | None:
    """Return the intervals for a single rating of a new ``who``; None without a map."""
    if not fits:
        return None
    rows: list[dict[str, Any]] = []
    for fit in fits:
        row: dict[str, Any] = {"evaluator": fit.evaluator, "aspect": fit.aspect, "n_clusters": fit.n_clusters}
        for way, within in fit.within.items():
            row[f"within_{way}"] = within.half_width if np.isfinite(within.half_width) else np.nan
            row |= within.coverage.row(f"coverage_{way}")
        rows.append(row)
    frame = pd.DataFrame(rows)
    of = {RAW: "the score", MAP: "the mapped score", MEAN: "people's mean, without a judge"}
    columns = [
        column
        for way, of_what in of.items()
        for column in (
            Column(f"within_{way}", f"± around {of_what}", "hundredths"),
            Column(f"coverage_{way}", "Holds", "share", f"coverage_{way}_low", f"coverage_{way}_high"),
        )
        if column.name in frame
    ]
    people = plural_of(who)
    least = round(LEVEL / (1 - LEVEL))
    what = (
        f"{LEVEL:.0%} of the ratings by a new {who} lie within ± so many points: a conformal interval, which "
        f"holds at least so many whatever the scores, if the new {who} is like these {people}. It takes "
        f"{least} {people} or more."
    )
    notes = (
        what,
        f"Holds: the share of ratings by {people} that were held out.",
        "Where the interval about the mean rating is as narrow, a score says nothing of a single rating.",
    )
    title = f"How far a new {who}'s rating may be from a score"
    columns = [*heads(fits), *columns, Column("n_clusters", people.capitalize(), "count")]
    return Sheet(CONFORMAL, title, frame, tuple(columns), notes)


def half_widths(sheets: Sequence[Sheet]) -> dict[str, dict[str, float]]:
    """Return evaluator → aspect → the half-width about its score, where the sheet ``conformal`` has one."""
    found: dict[str, dict[str, float]] = {}
    for frame in (s.frame for s in sheets if s.name == CONFORMAL and f"within_{RAW}" in s.frame):
        for row in frame[frame[f"within_{RAW}"].notna()].to_dict("records"):
            found.setdefault(row["evaluator"], {})[row["aspect"]] = float(row[f"within_{RAW}"])
    return found
