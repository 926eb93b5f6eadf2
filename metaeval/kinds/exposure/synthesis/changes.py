"""What changes from one round of a loop to the next, and its interval: the same users in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.exposure.data.log_set import USER
from metaeval.kinds.exposure.pair_auc import ALL, IPS, NONE
from metaeval.stats.resampling.bootstrap import Estimate, bootstrap
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.base.simulation import Simulation
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.exposure.pair_auc import PairCells
    from metaeval.stats.coefficients.tables import Floats

AGREEMENT = ("IPS-PairAUC", "PairAUC")


def agreement_sums(cells: PairCells, users: pd.Index[str]) -> dict[str, Floats]:
    """Return evaluator → what `AGREEMENT` are ratios of, by user: shape (2, 2, users).

    PairAUC is that of `metaeval.kinds.exposure.pair_auc`; the weighted one is NaN if a pair has no weight.
    """
    found = {name: np.full((2, 2, len(users)), np.nan) for name in cells.evaluators}
    auc = cells.measures["PairAUC"]
    for weighting in cells.weightings:
        use = cells.use(f"{ALL}, {weighting}")
        user = users.get_indexer(pd.Index(cells.table.loc[use, USER]))
        for name, sums in zip(cells.evaluators, cells.weighed(use, weighting).by_unit(auc), strict=True):
            by_user = [np.bincount(user, values, len(users)) for values in sums]
            found[name][[IPS, NONE].index(weighting)] = by_user
    return found


def change_rows(
    what: str, name: str, measures: Sequence[str], rounds: Floats, how: Bootstrap | None
) -> Iterator[dict[str, object]]:
    """Yield a row per round and measure: before any synthesis, after the round, and the change.

    Parameters
    ----------
    rounds
        Numerators and denominators by user, shape (rounds, measures, 2, users).
    """
    for number in range(1, len(rounds)):
        found = _changed(rounds[[0, number]], how)
        for at, measure in enumerate(measures):
            cells = zip(
                ("before", "after", "change"),
                found.value[:, at],
                found.low[:, at],
                found.high[:, at],
                strict=True,
            )
            ends = {
                key: cell
                for column, value, low, high in cells
                for key, cell in zip(_interval(column), (value, low, high), strict=True)
            }
            used = int((rounds[[0, number], at, 1] > 0).any(axis=0).sum())
            yield {"of": what, "name": name, "measure": measure, "round": number, **ends, "n_users": used}


def _interval(column: str) -> tuple[str, str, str]:
    return column, f"{column}_low", f"{column}_high"


def _changed(both: Floats, how: Bootstrap | None) -> Estimate[Floats]:
    """Return the two values and their difference, shape (3, measures)."""

    def of_sums(sums: Floats) -> Floats:
        before, after = ratio(sums[:, :, 0], sums[:, :, 1])
        return np.concatenate([before, after, after - before])

    statistic, users = ClusterSums(both, of_sums), both.shape[-1]
    if how is None:
        value = statistic.at(np.ones((users, 1)))[:, 0]
        found = Estimate(value, value * np.nan, value * np.nan, users)
    else:
        bounds = [(0.0, 1.0)] * (2 * both.shape[1]) + [(-1.0, 1.0)] * both.shape[1]
        found = bootstrap(statistic, how.resampler(users), bounds=bounds)
    shape = (3, both.shape[1])
    return Estimate(found.value.reshape(shape), found.low.reshape(shape), found.high.reshape(shape), found.n)


def changes_sheet(frame: pd.DataFrame, simulated: Simulation, how: Bootstrap | None) -> Sheet:
    """Lay out rows of `change_rows`."""
    columns = (
        Column("of", "Of"),
        Column("name", "Name"),
        Column("measure", "Measure"),
        Column("round", "Round", "count"),
        *(
            Column(name, name.capitalize(), "decimal", *_interval(name)[1:])
            for name in ("before", "after", "change")
        ),
        Column("n_users", "Users", "count"),
    )
    notes = [
        (
            "Evaluators: before, on the pairs of the study; after, on pairs of real items whose popularity "
            "follows the synthetic exposure, weighted by the exposure of log and synthetic rows together. "
            "The truth is the real log in both cases."
        ),
        (
            "item-knn: a recommender that learns from the earlier rows of each user, before without and "
            "after with synthetic interactions drawn from these, evaluated on the later real rows, weighted "
            "by the propensities of the log."
        ),
    ]
    if how is not None:
        of = f"{100 * how.confidence:g} % intervals from {how.resamples:,} resamples"
        notes.append(f"{of} of users, the same ones before and after.")
    return Sheet("changes", "What changed", frame, columns, tuple(notes), simulated, principal=True)
