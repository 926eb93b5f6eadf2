"""What a correction rests on, for each aspect or ranking measure: who scored what, and what people rated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from metaeval.analysis.generator_estimates import check_labelled
from metaeval.base.counts import plural_of
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import compared_key, noun
from metaeval.base.records import FIRST, SECOND, Status
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.regression.correction import LIKE, LabelledSample
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.escalation import by_unit

if TYPE_CHECKING:
    from metaeval.kinds.kind import Scored
    from metaeval.trust.verdicts.judged import JudgedPairs


PER_JUDGE = 10
"""Clusters with labels that each judge takes; with fewer, the first judge alone corrects."""


@dataclass(frozen=True, slots=True, eq=False)
class Correcting:
    """What is to be corrected, and by which judges."""

    aspect: str
    """Or the ranking measure."""
    judges: tuple[str, ...]
    sample: LabelledSample
    """The judges' scores are in the order of their names."""
    groups: tuple[str, ...]
    """Names of generators, or of systems; one without a name, where units name none."""
    noun: str
    """What a group is called."""
    cluster: str
    """What a cluster is called."""
    refused: str = ""
    """Its type: ``complete``, ``few``, ``uninformative`` or ``unlike``; empty if it is corrected."""
    why: str = ""
    withheld: Floats | None = None
    """Ratings of all units, shape (n,), some of which the sample leaves out; None if it leaves out none."""
    about: str = ""
    """The group whose win rate is asked for, of verdicts on pairs; else the mean of all units is."""

    @property
    def everything(self) -> LabelledSample:
        """The units that are asked about, as one group."""
        one = replace(self.sample, group=np.zeros_like(self.sample.group), n_groups=1)
        if not self.about:
            return one
        here, probability = self.sample.group == self.groups.index(self.about), one.probability
        return LabelledSample(
            one.ratings[here],
            one.scores[:, here],
            one.group[here],
            1,
            one.clusters.among(here).take(here),
            None if probability is None else probability[here],
        )

    def judged(self, seed: int) -> Correcting:
        """Return it without the judges that tell nothing, and refused if it cannot be corrected."""
        sample, rated = self.sample, self.sample.rated
        n = len(np.unique(sample.clusters.of_unit[rated]))
        if n < FEWEST_CLUSTERS or rated.all():
            few = f"only {n} {plural_of(self.cluster)} have labels; {FEWEST_CLUSTERS} are needed"
            why = (
                "every unit has a label: run the study on all units, or keep a part with --labelled"
                if rated.all()
                else few
            )
            return replace(self, refused="complete" if rated.all() else "few", why=why)
        p = 1.0 if sample.probability is not None else sample.unlike(seed)
        if p < LIKE:
            why = (
                f"units with labels are not like the others (p = {p:.1g}, by {self.noun} and score); say in "
                "a column 'probability' of the labels with which probability each was drawn"
            )
            return replace(self, refused="unlike", why=why)
        r, low = sample.informative()
        tells = low > 0
        if not tells.any():
            two = set(np.unique(sample.ratings[rated])) <= {0.0, 1.0}
            what = "Youden's J" if two else "correlation with labels"
            value = sample.rogan_gladen().youden if two else float(r[0])
            why = (
                f"{self.judges[0]} tells nothing: its {what} is {value:.2f}, which is not shown to be above 0"
            )
            return replace(self, refused="uninformative", why=why)
        if tells.sum() > 1 and n < PER_JUDGE * tells.sum():
            tells &= np.cumsum(tells) == 1
        names = tuple(np.array(self.judges, dtype=object)[tells])
        return replace(self, judges=names, sample=replace(sample, scores=sample.scores[tells]))


def samples(
    scored: Scored[Any],
    judges: Sequence[str],
    aspects: Sequence[str],
    labels: pd.DataFrame,
    *,
    least: float | None = None,
) -> Iterator[Correcting]:
    """Yield what is to be corrected for each aspect.

    Parameters
    ----------
    labels
        Key columns, ``aspect`` and ``rating``, and maybe ``probability``: what people said, of some units.
    least
        Correct the share of ratings of this value or more, instead of the mean.
    """
    keys = list(scored.scores.keys)
    frame = scored.scores.frame
    frame = frame[frame["status"].eq(Status.OK.value) & frame["score"].notna()]
    group = compared_key(keys)
    for aspect in aspects:
        own = frame[(frame["aspect"] == aspect) & frame["evaluator"].isin(judges)]
        counts = own.groupby(keys, sort=False)["evaluator"].nunique()
        index = counts.index[counts == len(judges)]
        index = index if isinstance(index, pd.MultiIndex) else pd.MultiIndex.from_arrays([index], names=keys)
        if not len(index):
            raise MetaevalError(f"no unit has a score for {aspect!r} by {' and '.join(judges)}")
        scores = np.stack([by_unit(own[own["evaluator"] == name], keys, "score", index) for name in judges])
        given = labels[labels["aspect"].astype(str).isin([aspect, ""])].drop_duplicates(keys)
        ratings = by_unit(given, keys, "rating", index)
        probability = by_unit(given, keys, "probability", index) if "probability" in given else None
        if least is not None:
            ratings = np.where(np.isnan(ratings), np.nan, ratings >= least)
            scores = (scores >= least).astype(np.float64)
        units = index.to_frame(index=False)
        codes, names = _coded(units[group]) if group else (np.zeros(len(units), np.int64), [""])
        of_unit, clusters = _coded(units[scored.cluster]) if scored.cluster in keys else _coded(units.index)
        yield Correcting(
            aspect,
            tuple(judges),
            LabelledSample(
                ratings,
                scores,
                codes,
                len(names),
                Clusters(of_unit, len(clusters)),
                None if probability is None else np.where(np.isnan(ratings), 1.0, probability),
            ),
            tuple(names),
            noun(group) if group else "unit",
            noun(scored.cluster) if scored.cluster in keys else "unit",
        )


def samples_by_cluster(values: pd.DataFrame, truth: str, judges: Sequence[str]) -> Iterator[Correcting]:
    """Yield what is to be corrected of values of systems by topic, for each measure.

    ``values`` has ``evaluator``, ``measure``, ``system``, ``topic`` and ``value``, some of them by ``truth``.
    """
    known = list(dict.fromkeys(values["evaluator"]))
    wanted = [one_of(j, known, "no system was measured by the labels of") for j in judges]
    wanted = wanted or [name for name in known if name != truth]
    if not wanted:
        raise MetaevalError("systems were measured by people's labels alone; name a judge in the study")
    for measure, own in values.groupby("measure", sort=False):
        by = own.pivot_table("value", ["system", "topic"], "evaluator").reindex(columns=[truth, *wanted])
        by = by[by[wanted].notna().all(axis=1)]
        units = by.index.to_frame(index=False)
        (codes, names), (of_unit, topics) = (_coded(units[c]) for c in ("system", "topic"))
        sample = LabelledSample(
            by[truth].to_numpy(np.float64),
            by[wanted].to_numpy(np.float64).T,
            codes,
            len(names),
            Clusters(of_unit, len(topics)),
        )
        yield Correcting(str(measure), tuple(wanted), sample, tuple(names), "system", "topic")


def withholding(correcting: Correcting, n: int, seed: int) -> Correcting:
    """Keep the labels of n clusters, drawn at random, and withhold the others."""
    sample = correcting.sample
    known = np.unique(sample.clusters.of_unit[sample.rated])
    check_labelled(n, FEWEST_CLUSTERS, len(known), correcting.cluster)
    kept = np.random.default_rng(seed).choice(known, n, replace=False)
    ratings = np.where(np.isin(sample.clusters.of_unit, kept), sample.ratings, np.nan)
    return replace(correcting, sample=replace(sample, ratings=ratings), withheld=sample.ratings)


def _coded(values: Any) -> tuple[Ints, list[str]]:  # noqa: ANN401 - a column or an index
    codes, names = pd.factorize(values, sort=True)
    return codes.astype(np.int64), [str(name) for name in names]


def by_side(sample: LabelledSample, sides: ArrayLike) -> tuple[LabelledSample, tuple[str, ...]]:
    """Return the two sides of each pair as units of their systems, and the names of these.

    ``sample`` has the points of the first of ``sides``, which are names of shape (pairs, 2).
    """
    group, names = _coded(np.asarray(sides).T.ravel())
    both = LabelledSample(
        np.concatenate([sample.ratings, 1 - sample.ratings]),
        np.concatenate([sample.scores, 1 - sample.scores], axis=1),
        group,
        len(names),
        Clusters(np.tile(sample.clusters.of_unit, 2), sample.clusters.n),
    )
    return both, tuple(names)


def sample_of_pairs(pairs: JudgedPairs) -> Correcting:
    """Return the systems whose pairs all judges compared, with their points.

    The answer is about the system that the first judge prefers most.
    """
    at = np.asarray(~np.isnan(pairs.share).any(axis=0))
    if not at.any():
        raise MetaevalError(f"no pair has a verdict of {' and '.join(pairs.judges)}")
    clusters, group = pairs.clusters.among(at).take(at), np.zeros(at.sum(), np.int64)
    one = LabelledSample(pairs.gold[at], pairs.share[:, at], group, 1, clusters)
    sample, names = by_side(one, pairs.units.loc[at, [FIRST, SECOND]].astype(str))
    best = names[int(np.argmax(np.bincount(sample.group, sample.scores[0]) / np.bincount(sample.group)))]
    return Correcting(pairs.aspect, pairs.judges, sample, names, "system", pairs.cluster, about=best)
