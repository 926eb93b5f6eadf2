"""Prediction-powered means of generators, from few ratings and many scores, as a sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from metaeval.base.counts import counted, plural_of
from metaeval.base.errors import DataError, MetaevalError
from metaeval.base.keys import ITEM, compared_key, matched, noun
from metaeval.base.records import AVERAGE, Status
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.alignment.aligned import Aligned, Bools, align
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.regression.prediction_powered import estimate, half_width
from metaeval.stats.regression.variance import UserAdjusted
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import with_average
from metaeval.stats.resampling.weights import permutation_p
from metaeval.stats.weighted.sums import Clusters

_COLUMNS = (
    Column("generator", "Generator"),
    Column("classical", "Ratings alone", "number", "classical_ci_low", "classical_ci_high"),
    Column("estimate", "Prediction-powered", "number", "ci_low", "ci_high"),
    Column("lambda", "λ", "number"),
    Column("n_labelled", "Rated units", "count"),
    Column("n_units", "All units", "count"),
)


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """Ratings and scores of the units of one evaluator, by aspect."""

    aspects: tuple[str, ...]
    ratings: Floats
    """Shape (aspects, U); NaN where no person rated."""
    scores: Floats
    """Shape (aspects, U); NaN where the evaluator gave none."""
    generator: Ints
    cluster: Ints
    n_clusters: int
    generators: tuple[str, ...]
    name: str
    """What a cluster is: ``user`` or ``item``."""
    n_unasked: int
    """Scored units and aspects that are not in the truth."""

    @classmethod
    def of(cls, scores: pd.DataFrame, truth: pd.DataFrame, aspects: Sequence[str]) -> _Units:
        """Match long scores of one evaluator with the truth."""
        data, n_unasked = _aligned(scores, truth[truth["aspect"].isin(aspects)])
        ratings, values, names = data.truth, data.scores[0], data.aspects
        if len(names) > 1:
            ratings = np.concatenate([ratings.mean(axis=0, keepdims=True), ratings])
            values = np.concatenate([values.mean(axis=0, keepdims=True), values])
            names = [AVERAGE, *names]
        keys = tuple(data.keys)
        system = compared_key(keys) or keys[-1]
        cluster = data.keys[keys[0]].astype(np.int64)
        return cls(
            tuple(names),
            ratings,
            values,
            data.keys[system].astype(np.int64),
            cluster,
            len(data.labels[keys[0]]),
            tuple(map(str, data.labels[system])),
            noun(keys[0]),
            n_unasked,
        )

    def drawn(self, n: int, seed: int) -> Bools:
        """Draw clusters among those with a rated and scored unit; shape (n_clusters,)."""
        usable = np.unique(self.cluster[~np.isnan(self.ratings + self.scores).all(axis=0)])
        check_labelled(n, 2, usable.size, self.name)
        chosen = np.zeros(self.n_clusters, dtype=bool)
        chosen[np.random.default_rng(seed).choice(usable, n, replace=False)] = True
        return chosen


def check_labelled(n: int, least: int, known: int, noun: str) -> None:
    """Raise `MetaevalError` unless ``n``, at least ``least``, is below the number of clusters with labels."""
    if not least <= n < known:
        some = f"give a number of {plural_of(noun)} from {least} to {known - 1}"
        need = some if known > least else f"that takes more than {counted(least, noun)}; leave it out"
        raise MetaevalError(f"labelled is {n}; {need}, as there are labels of {counted(known, noun)}")


def _aligned(scores: pd.DataFrame, truth: pd.DataFrame) -> tuple[Aligned, int]:
    """Add scored units to the truth, without ratings; align, and count what was added."""
    keys = matched(truth, scores)
    scored = scores["score"].notna()
    if "status" in scores.columns:
        scored &= scores["status"].eq(Status.OK.value)
    units = scores.loc[scored, keys].drop_duplicates()
    asked = truth[[*keys, "aspect"]]
    every = units.merge(asked[["aspect"]].drop_duplicates(), how="cross")
    merged = every.merge(asked, how="left", indicator=True)
    added = merged.loc[merged["_merge"] == "left_only", [*keys, "aspect"]].assign(rating=np.nan)
    if len(added):
        truth = pd.concat([truth[[*keys, "aspect", "rating"]], added], ignore_index=True)
    return align(scores[scored], truth, ()), len(added)


def estimates_sheet(
    scores: pd.DataFrame,
    truth: pd.DataFrame,
    evaluator: str,
    *,
    aspects: Sequence[str],
    labelled: int | None = None,
    seed: int = 0,
    weight: float | None = None,
    confidence: float = 0.95,
    simulated: Simulation = REAL,
) -> Sheet | None:
    """Estimate each generator's mean rating over all units that an evaluator scored.

    Parameters
    ----------
    scores, truth
        Long, as in `metaeval.base.records.ScoreTable`; and key columns, ``aspect`` and ``rating``, NaN
        unrated, whatever the run fills in. Units that the truth does not know count as unrated.
    evaluator, aspects
        Whose scores are used; the aspects to estimate, to which the mean is added if they are several.
    labelled
        Use the ratings of so many users (items, without users) alone, drawn with ``seed``.
    weight
        λ, if it is not tuned: 1 is plain prediction-powered inference.

    Returns
    -------
    Sheet or None
        None if ``labelled`` is None and every unit with a score was asked about.

    Raises
    ------
    MetaevalError
        If there are not so many users with ratings to draw from.
    """
    units = _Units.of(scores[scores["evaluator"] == evaluator], truth, aspects)
    if labelled is None and not units.n_unasked:
        return None
    ratings, drawn = units.ratings, ""
    if labelled is not None:
        ratings = np.where(units.drawn(labelled, seed)[units.cluster], ratings, np.nan)
        drawn = (
            f"Only the ratings of {labelled} {plural_of(units.name)}, drawn with seed {seed}, are used; the "
            "last column has the mean of all, which the estimates did not see."
        )
    blocks = [
        _block(units, a, aspect, ratings[a], confidence, weight=weight, withheld=labelled is not None)
        for a, aspect in enumerate(units.aspects)
    ]
    frame = pd.concat(blocks, ignore_index=True)
    columns = _COLUMNS if len(units.aspects) == 1 else (Column("aspect", "Aspect"), *_COLUMNS)
    if labelled is not None:
        columns = (*columns, Column("all_ratings", "Mean of all ratings", "number"))
    named = f": {units.aspects[0]}" if len(units.aspects) == 1 else ""
    title = f"Prediction-powered means of generators, with {evaluator}{named}"
    notes = tuple(_notes(frame, units, evaluator, drawn, confidence, plain=weight is not None))
    return Sheet("prediction-powered", title, frame, columns, notes, simulated)


def _block(
    units: _Units,
    a: int,
    aspect: str,
    ratings: Floats,
    confidence: float,
    *,
    weight: float | None,
    withheld: bool,
) -> pd.DataFrame:
    there = ~np.isnan(units.scores[a])
    n = len(units.generators)
    generator = units.generator[there]
    found = estimate(
        ratings[there],
        units.scores[a, there],
        generator,
        n,
        units.cluster[there],
        units.n_clusters,
        weight=weight,
        confidence=confidence,
    )
    half = half_width(found.classical_standard_error, found.n_labelled_clusters, confidence)
    frame = pd.DataFrame(
        {
            "aspect": aspect,
            "generator": units.generators,
            "classical": found.classical_estimate,
            "classical_ci_low": found.classical_estimate - half,
            "classical_ci_high": found.classical_estimate + half,
            "estimate": found.estimate,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "lambda": found.lambda_,
            "n_labelled": found.n_labelled,
            f"n_labelled_{units.name}s": found.n_labelled_clusters,
            "n_units": found.n_units,
        }
    )
    if withheld:
        known = pd.Series(units.ratings[a, there]).groupby(generator).mean()
        frame["all_ratings"] = known.reindex(range(n)).to_numpy()
    return frame.sort_values("estimate", ascending=False, kind="stable")


def _notes(
    frame: pd.DataFrame, units: _Units, evaluator: str, drawn: str, confidence: float, *, plain: bool
) -> list[str]:
    width = (frame["ci_high"] - frame["ci_low"]) / (frame["classical_ci_high"] - frame["classical_ci_low"])
    width = width[np.isfinite(width)]
    made = "PPI" if plain else "PPI++"
    told = [
        f"Mean rating of all units that {evaluator} scored, from some ratings and all scores ({made}).",
        f"λ is the weight of the scores{', as given' if plain else ''}; 0 means the ratings alone.",
        f"{100 * confidence:g} % intervals; the units of one {units.name} depend on each other.",
    ]
    if len(width):
        told.append(
            f"Prediction-powered intervals are {100 * width.median():.0f} % as wide as those of the ratings "
            "alone (median)."
        )
    if units.name != ITEM:
        told.append(f"Effects of {plural_of(units.name)} are not removed here.")
    else:
        told.append("The data set has no users: items replace them.")
    told.append("A missing rating counts as unrated; it is never filled.")
    told.append(drawn or "Valid if units were chosen for rating independently of their quality.")
    return told


_DIGITS = 12  # significant digits of the largest mean; later ones are rounding errors, and break ties
_FARTHEST = 300  # powers of ten, positive and negative, that a float can hold


@dataclass(frozen=True, slots=True, eq=False)
class MeanDraws:
    """Means of generators and their bootstrap replicates, rounded so that equal means tie."""

    mean: Floats
    """Shape (aspects, G)."""
    replicates: Floats
    """Shape (aspects, G, resamples)."""
    n_units: Ints
    n_clusters: Ints


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorDesign:
    """The generator of each unit, the users whose effects are removed, and the resampled clusters."""

    generator: Ints
    n_generators: int
    users: bool
    """Whether the clusters are users, whose effects are removed."""
    clusters: Clusters
    """Those that have a unit that enters."""
    resampler: Resampler

    @classmethod
    def of(cls, data: Prepared, entering: Bools, options: Bootstrap) -> GeneratorDesign:
        """Prepare resamples of the users (without users, items) that have a unit that enters."""
        system = data.system
        if system is None:
            raise DataError("no key names what wrote a unit, such as its generator")
        generator = data.keys[system].astype(np.int64)
        clusters = data.clusters(data.cluster_name()).among(entering)
        n = len(data.labels[system])
        return cls(generator, n, data.has_users, clusters, options.resampler(clusters.n))

    def draws(self, values: Floats, entering: Sequence[Bools]) -> MeanDraws:
        """Compute means and replicates from the units that enter; the mean over aspects is put first.

        Values are finite, shape (aspects, U); ``entering`` has a mask of shape (U,) per aspect.
        """
        shape = (len(values), self.n_generators)
        mean, replicates = np.empty(shape), np.empty((*shape, self.resampler.resamples))
        masks, mask_of = np.unique(np.stack(entering), axis=0, return_inverse=True)
        for m, units in enumerate(masks):  # most often the same for all aspects
            rows = np.flatnonzero(mask_of == m)
            clusters = self.clusters.take(units)
            sums = UserAdjusted.of(
                values[np.ix_(rows, units)],
                self.generator[units],
                self.n_generators,
                clusters,
                users=self.users,
            )
            mean[rows] = sums.at(np.ones((clusters.n, 1))).reshape(len(rows), -1)
            replicates[rows] = self.resampler.replicates(sums).reshape(len(rows), self.n_generators, -1)
        used = list(entering)
        if len(values) > 1:
            mean, replicates = (np.roll(with_average(v), 1, axis=0) for v in (mean, replicates))
            used = [np.logical_or.reduce(entering), *entering]
        scale = np.nanmax(np.abs(mean), initial=0.0, axis=1)
        mean = _rounded(mean, scale[:, None])
        replicates = _rounded(replicates, scale[:, None, None])
        shape = (self.clusters.n, self.n_generators)
        cells = self.clusters.of_unit * self.n_generators + self.generator
        counts = np.stack([np.bincount(cells[u], minlength=math.prod(shape)).reshape(shape) for u in used])
        return MeanDraws(mean, replicates, counts.sum(axis=1), (counts > 0).sum(axis=1))


def p_better(replicates: Floats) -> Floats:
    """Return one-sided p-values that the row's generator has the higher mean, shape (G, G).

    Resamples in which the row is not above the column, or either is undefined, count against it.
    """
    none = np.zeros(len(replicates))
    return np.stack([permutation_p(none, replicates - own, greater=True) for own in replicates])


def _rounded(x: Floats, scale: Floats) -> Floats:
    """Round to `_DIGITS` decimal digits of ``scale``, so that 17/8 prints as 2.125."""
    places = _DIGITS - 1 - np.floor(np.log10(np.where(scale > 0, scale, 1.0)))
    places = np.clip(places, -_FARTHEST, _FARTHEST)
    # Multiplying by a power of ten is precise enough, multiplying by its inverse is not.
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    found: Floats = np.rint(x / down * up) / up * down
    return found
