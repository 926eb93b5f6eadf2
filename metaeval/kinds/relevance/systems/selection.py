"""Choosing a system: what the truth, each evaluator and the histories of users say of the candidates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from metaeval.kinds.relevance.data.collection import ITEM, USER
from metaeval.kinds.relevance.systems.agreement import means_of
from metaeval.kinds.relevance.systems.completeness import ranks
from metaeval.kinds.relevance.systems.effectiveness import RankedRuns, effectiveness
from metaeval.stats.resampling.bootstrap import bootstrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.relevance.systems.agreement import MeasurePair
    from metaeval.kinds.relevance.systems.decisions import RankGain
    from metaeval.kinds.relevance.systems.effectiveness import Effectiveness
    from metaeval.kinds.relevance.systems.measures import SystemMeasure
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.bootstrap import Resampler

HISTORY = "histories"
"""The source of a measure by what users chose themselves."""
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


def by_history(
    runs: pd.DataFrame, systems: Sequence[str], histories: pd.DataFrame, measure: SystemMeasure
) -> Floats | None:
    """Return each system's mean by what users chose themselves: an item of the history is relevant, no other.

    None if no list has an item of its user's history, as where systems recommend new items only.
    """
    units = histories[[USER, ITEM]].drop_duplicates()
    ranked = RankedRuns.of(runs, units)
    found = means_of(
        effectiveness(ranked, np.full(len(units), float(measure.relevant)), [measure]), measure.name
    )
    by_name = dict(zip(ranked.systems, found, strict=True))
    return np.array([by_name.get(s, 0.0) for s in systems]) if found.any() else None


def selection(
    systems: Sequence[str],
    found: Mapping[str, Effectiveness],
    truth: str,
    pair: MeasurePair,
    history: Floats | None = None,
) -> pd.DataFrame:
    """Put what each source says of the candidates side by side.

    Parameters
    ----------
    history
        Values of the systems by the histories (`by_history`).

    Returns
    -------
    DataFrame
        ``source`` (the truth, each evaluator, the histories), ``measure``, ``system``, ``value``, ``rank``,
        ``rank_truth``, ``best`` (the system that the source picks), ``disagreements`` (pairs of systems that
        it orders the other way than the truth), ``n_pairs``.
    """
    true = means_of(found[truth], pair.truth)
    sources = {truth: (pair.truth, true)}
    sources |= {n: (pair.judge, means_of(of, pair.judge)) for n, of in found.items() if n != truth}
    if history is not None:
        sources[HISTORY] = (pair.truth, history)
    first, second = np.triu_indices(len(true), 1)
    parts = []
    for source, (measure, values) in sources.items():
        apart = [np.sign((v[first] - v[second]).round(12)) for v in (true, values)]
        columns = {
            "source": source,
            "measure": measure,
            "system": list(systems),
            "value": values,
            "rank": ranks(values),
            "rank_truth": ranks(true),
            "best": systems[int(values.argmax())],
            "disagreements": int((apart[0] * apart[1] < 0).sum()),
            "n_pairs": len(first),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def family_of(name: str, families: Mapping[str, Sequence[str]] = FAMILIES) -> str | None:
    """Return the family of models that a name speaks of, such as ``gpt`` of ``gpt-4o``; None if of none."""
    for family, words in families.items():
        if any(re.search(rf"(?<![a-z]){re.escape(word.lower())}(?![a-z])", name.lower()) for word in words):
            return family
    return None


@dataclass(frozen=True, slots=True, eq=False)
class OwnFamily:
    """By how many ranks more an evaluator raises some systems than the others, against the truth."""

    gain: RankGain
    own: tuple[int, ...]
    """The systems of its family of models."""
    smooth: ClassVar = False

    def at(self, weights: Floats) -> Floats:
        """Return the mean of these systems less that of the others, under each column of weights."""
        gained = self.gain.at(weights)
        chosen = np.zeros(len(gained), dtype=bool)
        chosen[list(self.own)] = True
        return np.asarray(gained[chosen].mean(axis=0) - gained[~chosen].mean(axis=0))[None]


def shared_families(
    systems: Sequence[str],
    gains: Mapping[str, RankGain],
    models: Mapping[str, str],
    resampler: Resampler | None,
    families: Mapping[str, Sequence[str]] = FAMILIES,
) -> pd.DataFrame:
    """Find evaluators and systems of one family of models, and estimate the gain of these systems.

    Parameters
    ----------
    systems
        Names of the systems, such as their tags, in which a model may be named.
    gains
        Evaluator → how it raises the systems.
    models
        Evaluator → whatever names its model.

    Returns
    -------
    DataFrame
        ``evaluator``, ``family``, ``systems`` (those of the family), ``gain`` (in ranks, above 0: the
        evaluator prefers its own), ``ci_low``, ``ci_high``, ``n_own``, ``n_systems``.
    """
    of_system = [family_of(system, families) for system in systems]
    rows = []
    for evaluator, gain in gains.items():
        family = family_of(models.get(evaluator, evaluator), families)
        own = tuple(i for i, f in enumerate(of_system) if f == family)
        if family is None or not 0 < len(own) < len(systems):
            continue
        statistic = OwnFamily(gain, own)
        n = gain.truth.by_cluster.shape[-1]
        low = high = np.nan
        if resampler is not None:
            ends = bootstrap(statistic, resampler.of(n), stretch=False)
            low, high = ends.low.item(), ends.high.item()
        rows.append(
            {
                "evaluator": evaluator,
                "family": family,
                "systems": ", ".join(systems[i] for i in own),
                "gain": statistic.at(np.ones((n, 1))).item(),
                "ci_low": low,
                "ci_high": high,
                "n_own": len(own),
                "n_systems": len(systems),
            }
        )
    columns = ["evaluator", "family", "systems", "gain", "ci_low", "ci_high", "n_own", "n_systems"]
    return pd.DataFrame(rows, columns=columns)
