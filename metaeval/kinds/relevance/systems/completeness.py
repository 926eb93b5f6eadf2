"""How complete labels are for the systems, and what their gaps do to the order of systems."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.kinds.relevance.systems.agreement import means_of
from metaeval.kinds.relevance.systems.effectiveness import effectiveness
from metaeval.kinds.relevance.systems.measures import measure_named
from metaeval.stats.ranking.effectiveness import POOLED
from metaeval.stats.ranking.taus import tau_of
from metaeval.stats.resampling.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.relevance.systems.effectiveness import RankedRuns
    from metaeval.kinds.relevance.systems.measures import SystemMeasure
    from metaeval.stats.coefficients.tables import Floats, Ints

CUTOFFS = (10, 100)


def judged_shares(
    runs: RankedRuns, labels: Mapping[str, Floats], cutoffs: Sequence[int] = CUTOFFS
) -> pd.DataFrame:
    """Return which share of the first items of each system has a label: Judged@k, the mean over users.

    Returns
    -------
    DataFrame
        ``evaluator``, ``system``, ``cutoff``, ``judged``; without cutoffs beyond the longest list, but for
        the first.
    """
    depth = runs.pairs.shape[2]
    chosen = [k for k in cutoffs if k <= depth] or [min(depth, *cutoffs)]
    measures = [measure_named(f"Judged@{k}") for k in chosen]

    def shares(evaluator: str) -> list[pd.DataFrame]:
        found = effectiveness(runs, labels[evaluator], measures)
        return [
            pd.DataFrame(
                {
                    "evaluator": evaluator,
                    "system": runs.systems,
                    "cutoff": k,
                    "judged": means_of(found, measure.name),
                }
            )
            for k, measure in zip(chosen, measures, strict=True)
        ]

    return pd.concat([part for of in in_threads(shares, list(labels)) for part in of], ignore_index=True)


def twins(
    runs: RankedRuns, labels: Mapping[str, Floats], measures: Sequence[SystemMeasure], *, relevant: int = 1
) -> pd.DataFrame:
    """Compare the order of systems by each measure with that by one with another rule for unjudged items.

    The others are the same measure of judged items alone, where there is such, Bpref, and inferred average
    precision, to which units without a label are a pool of which a sample was judged.

    Returns
    -------
    DataFrame
        ``evaluator``, ``measure``, ``other``, ``tau`` (between the two orders), ``most_moved`` (the system
        whose rank changes most) and ``places`` (by how many it rises with the other).
    """
    sampled = [measure_named(name, relevant=relevant) for name in ("infAP", "Bpref")]
    alone = {m.name: twin for m in measures if (twin := m.judged_only())}

    def rows(evaluator: str) -> list[dict[str, object]]:
        given = labels[evaluator]
        plain = effectiveness(runs, given, [*measures, *alone.values(), sampled[1]])
        pooled = effectiveness(runs, np.where(np.isnan(given), POOLED, given), sampled[:1])
        found = []
        for measure in measures:
            others = {"Bpref": means_of(plain, "Bpref"), "infAP": means_of(pooled, "infAP")}
            if measure.name in alone:
                twin = alone[measure.name].name
                others = {twin: means_of(plain, twin), **others}
            own = means_of(plain, measure.name)
            for name, values in others.items():
                risen = ranks(own) - ranks(values)
                most = int(np.abs(risen).argmax())
                found.append(
                    {
                        "evaluator": evaluator,
                        "measure": measure.name,
                        "other": name,
                        "tau": tau_of(own, values),
                        "most_moved": runs.systems[most],
                        "places": risen[most],
                    }
                )
        return found

    return pd.DataFrame([row for of in in_threads(rows, list(labels)) for row in of])


def left_out(
    runs: RankedRuns, labels: Floats, measures: Sequence[SystemMeasure], *, depth: int
) -> pd.DataFrame:
    """Take each system out of the pool: the labels that only it brought in are removed.

    Parameters
    ----------
    depth
        The depth of the pool: the first so many items of every list were labelled. What a system alone has
        there counts as its own contribution.

    Returns
    -------
    DataFrame
        ``system``, ``measure``, ``n_labels`` (that only it brought in), ``value``, ``value_without``,
        ``rank``, ``rank_without``.
    """
    own = _only_of(runs, depth)
    whole = effectiveness(runs, labels, measures)

    def rows(s: int) -> list[dict[str, object]]:
        gone = np.isin(runs.pair_of_unit, own[s]) & ~np.isnan(labels)
        without = effectiveness(runs, np.where(gone, np.nan, labels), measures)
        # The mean is over the same users, also those who lose all their labels.
        without = replace(without, users=whole.users)
        found = []
        for measure in measures:
            before, after = means_of(whole, measure.name), means_of(without, measure.name)
            found.append(
                {
                    "system": runs.systems[s],
                    "measure": measure.name,
                    "n_labels": int(gone.sum()),
                    "value": before[s],
                    "value_without": after[s],
                    "rank": ranks(before)[s],
                    "rank_without": ranks(after)[s],
                }
            )
        return found

    return pd.DataFrame([row for of in in_threads(rows, range(len(runs.systems))) for row in of])


def _only_of(runs: RankedRuns, depth: int) -> list[Ints]:
    """Return for each system the pairs that no other has among its first ``depth``."""
    first = [np.unique(of[:, :depth]) for of in runs.pairs]
    times = np.bincount(np.concatenate(first), minlength=runs.n_pairs + 1)
    times[-1] = 0  # behind the end of lists
    return [codes[times[codes] == 1] for codes in first]


def ranks(values: Floats) -> Floats:
    """Return the rank of each system, 1 for the highest value; ties share the mean of theirs."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-values.round(12)), dtype=np.float64)
