"""Which systems an evaluator puts higher than the truth does: popular ones, or its own family of models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.engine.sheet import Column
from metaeval.kinds.relevance.data.collection import ITEM
from metaeval.kinds.relevance.measures import MeasurePair
from metaeval.kinds.relevance.scored import RelevanceScored
from metaeval.kinds.relevance.systems.systems import EVALUATOR, PAIR, Systems, of_systems, systems_of
from metaeval.kinds.table import INTERVALS, KindTable
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio

FAMILIES: dict[str, tuple[str, ...]] = {
    "gpt": ("gpt", "openai", "o1", "o3", "o4"),
    "claude": ("claude", "anthropic"),
    "gemini": ("gemini", "gemma", "palm"),
    "llama": ("llama", "vicuna", "alpaca"),
    "mistral": ("mistral", "mixtral", "zephyr"),
    "qwen": ("qwen", "qwq"),
    "deepseek": ("deepseek",),
    "t5": ("t5", "flan"),
}
"""Family of models → words of names, which a digit or a sign may follow."""


def rank_gain(systems: Systems, evaluator: str, pair: MeasurePair) -> ClusterSums:
    """Return by how many ranks an evaluator puts each system higher than the truth does, shape (systems,)."""
    effects = systems.by_evaluator
    sides = effects[evaluator].sums(pair.judge), effects[systems.truth].sums(pair.truth)

    def gains(sums: Floats) -> Floats:
        from scipy.stats import rankdata

        means = (side.of_sums(own).round(12) for side, own in zip(sides, sums, strict=True))
        judge, truth = (rankdata(mean, axis=0) for mean in means)
        return np.asarray(judge - truth, dtype=np.float64)

    return ClusterSums(np.stack([side.by_cluster for side in sides]), gains, smooth=False)


def gain_with(gain: ClusterSums, of_system: Floats) -> ClusterSums:
    """Return Pearson's r of the gains with a property of the systems, shape (systems,)."""
    by = of_system - of_system.mean()

    def correlation(sums: Floats) -> Floats:
        gains = gain.of_sums(sums)
        gains -= gains.mean(axis=0)
        spread = np.sqrt((gains**2).sum(axis=0) * (by**2).sum())
        return ratio(np.asarray(by @ gains), spread)[None]

    return ClusterSums(gain.by_cluster, correlation, smooth=False)


def gain_among(gain: ClusterSums, own: NDArray[np.bool_]) -> ClusterSums:
    """Return the mean gain of some systems less that of the others."""

    def difference(sums: Floats) -> Floats:
        gains = gain.of_sums(sums)
        return np.asarray(gains[own].mean(axis=0) - gains[~own].mean(axis=0))[None]

    return ClusterSums(gain.by_cluster, difference, smooth=False)


def popularity(systems: Systems) -> Floats | None:
    """Return how many histories hold an item, on average over the first items of each system's lists."""
    data = systems.data
    if data.histories is None:
        return None
    first = data.runs[data.runs["rank"] <= systems.depth]
    held = first[ITEM].map(data.histories[ITEM].value_counts()).fillna(0.0).astype(float)
    means = held.groupby(first["system"]).mean().reindex(list(systems.runs.systems))
    return np.asarray(means, dtype=np.float64)


def favours_popular(systems: Systems) -> pd.DataFrame | None:
    """Say whether evaluators put systems that recommend popular items higher than the truth does.

    None without histories or evaluators.
    """
    of_system = popularity(systems)
    if of_system is None or not systems.others:
        return None
    rows = []
    for pair in systems.pairs:
        for name in systems.others:
            favour = gain_with(rank_gain(systems, name, pair), of_system)
            r = systems.estimate(favour, bounds=(-1.0, 1.0))
            rows.append(
                {
                    "evaluator": name,
                    "measure": pair.judge,
                    "truth_measure": pair.truth,
                    "r": r.value.item(),
                    "ci_low": r.low.item(),
                    "ci_high": r.high.item(),
                    "n_systems": len(of_system),
                }
            )
    return pd.DataFrame(rows)


POPULARITY = KindTable(
    "system_popularity.csv",
    "Gain of systems that recommend popular items",
    (*PAIR, Column("r", "r", "decimal", "ci_low", "ci_high"), Column("n_systems", "Systems", "count")),
    of_systems(favours_popular),
    (
        (
            "r: Pearson's correlation over systems between the popularity of a system's recommendations and "
            "the ranks that it gains if the evaluator's labels replace the truth's. Above 0, popular systems "
            "gain."
        ),
        INTERVALS,
    ),
)


def family_of(name: str, families: Mapping[str, Sequence[str]] = FAMILIES) -> str | None:
    """Return the family of models that a name speaks of, such as ``gpt`` of ``gpt-4o``; None if of none."""
    for family, words in families.items():
        if any(re.search(rf"(?<![a-z]){re.escape(word.lower())}(?![a-z])", name.lower()) for word in words):
            return family
    return None


def shared_families(
    systems: Systems, models: Mapping[str, str], families: Mapping[str, Sequence[str]]
) -> pd.DataFrame | None:
    """Find evaluators and systems of one family of models, and estimate the gain of these systems in ranks.

    Parameters
    ----------
    models
        Evaluator → whatever names its model.
    families
        Families beside the known ones, which they override.
    """
    known = {**families, **{k: v for k, v in FAMILIES.items() if k not in families}}
    names = systems.runs.systems
    of_system = [family_of(system, known) for system in names]
    rows = []
    for evaluator in systems.others:
        family = family_of(models.get(evaluator, evaluator), known)
        own = np.array([f == family for f in of_system])
        if family is None or not own.any() or own.all():
            continue
        gain = systems.estimate(gain_among(rank_gain(systems, evaluator, systems.pairs[0]), own))
        rows.append(
            {
                "evaluator": evaluator,
                "family": family,
                "systems": ", ".join(name for name, its in zip(names, own, strict=True) if its),
                "gain": gain.value.item(),
                "ci_low": gain.low.item(),
                "ci_high": gain.high.item(),
                "n_own": int(own.sum()),
                "n_systems": len(names),
            }
        )
    return pd.DataFrame(rows) if rows else None


def _families(scored: RelevanceScored) -> pd.DataFrame | None:
    if (systems := scored.once(systems_of)) is None:
        return None
    study, signatures = scored.study, scored.scores.signatures
    models = {name: f"{spec} {signatures[name].get('model', '')}" for name, spec in study.specs.items()}
    return shared_families(systems, models, study.families)


SHARED_FAMILIES = KindTable(
    "system_families.csv",
    "Evaluators and systems of one family of models",
    (
        EVALUATOR,
        Column("family", "Family"),
        Column("systems", "Systems of it"),
        Column("gain", "Ranks gained", "hundredths", "ci_low", "ci_high"),
        Column("n_own", "Systems", "count"),
    ),
    _families,
    (
        "Warning: by their names, these evaluators judge systems of their own family of models.",
        "Ranks gained with the evaluator's labels in place of the truth's, compared with the other systems.",
        INTERVALS,
    ),
)
