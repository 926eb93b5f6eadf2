"""Regret against coherence over judges: whether those that keep to the axioms have less regret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.analysis.verdicts.axioms import FIRST_POSITION, IRREFLEXIVITY, tallies
from metaeval.kinds.slates.agreement import judges_of
from metaeval.kinds.slates.regret import regret_by_user
from metaeval.kinds.slates.verdicts import RATING_TRANSITIVITY
from metaeval.stats.resampling.bootstrap import NOTHING, each
from metaeval.stats.resampling.cluster_sums import ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.kinds.slates.regret import DuelCells
    from metaeval.kinds.slates.verdicts import Rated
    from metaeval.stats.coefficients.tables import Floats

_LEAST = 4  # judges
_TOO_FEW = f"fewer than {_LEAST} judges: no correlation"


@dataclass(frozen=True, eq=False)
class RegretRanks:
    """Spearman's ρ of regret and of shares over J judges, as a function of the weights of users."""

    regret: Floats
    """Mean regret of each user, shape (J, users)."""
    kept: Floats
    """What keeps to the axiom, and of what, by user: shape (J, 2, users)."""
    even: bool
    """Whether the axiom is an even share."""

    def at(self, weights: Floats) -> Floats:
        """Return ρ under each column of weights; NaN where all judges are alike."""
        from scipy.stats import rankdata

        share = ratio(self.kept[:, 0] @ weights, self.kept[:, 1] @ weights)
        share = 1 - np.abs(2 * share - 1) if self.even else share
        # Equal up to rounding is equal.
        regret = self.regret @ weights / weights.sum(axis=0)
        ranks = [rankdata(np.round(values, 12), axis=0) for values in (regret, share)]
        one, other = (r - r.mean(axis=0) for r in ranks)
        spread = np.sqrt((one**2).sum(axis=0) * (other**2).sum(axis=0))
        found = ratio((one * other).sum(axis=0), spread)
        return np.where(np.isnan(share).any(axis=0), np.nan, found)[None]


def against_table(cells: DuelCells, verdicts: pd.DataFrame, rated: Sequence[Rated]) -> pd.DataFrame:
    """Return the rank correlation of regret and each axiom over judges, by task.

    Parameters
    ----------
    verdicts
        As `metaeval.analysis.verdicts.coherence.coherence` takes them.

    Returns
    -------
    DataFrame
        ``rho`` with an interval from resampling users, ``n_judges`` that have both; a ``note`` where they are
        too few.
    """
    rows: list[dict[str, Any]] = []
    judges = judges_of(cells)
    of_judges = verdicts[verdicts["evaluator"].isin(judges)]
    for task in cells.parts:
        units, own = cells.units(task), regret_by_user(cells.units(task))
        users = np.unique(cells.table.loc[cells.use(task), "user_id"].to_numpy(dtype=str))
        of_axiom: dict[str, dict[str, Floats]] = {}
        parts = of_judges[of_judges["task"] == task].groupby("evaluator", sort=False, observed=True)
        for judge, part in parts:
            names = np.unique(part["cluster"].to_numpy(dtype=str))
            for t in tallies(part)[0] if len(names) > 1 else ():
                if t.axiom != FIRST_POSITION:
                    kept = _placed(users, names[t.unit], t.kept, t.of)
                    of_axiom.setdefault(t.axiom, {})[str(judge)] = kept
        for one in rated:
            if one.task == task and one.judge in judges:
                kept = _placed(users, one.users, one.kept, one.of)
                of_axiom.setdefault(RATING_TRANSITIVITY, {})[one.judge] = kept
        for axiom, found in of_axiom.items():
            regret = own[[cells.evaluators.index(judge) for judge in found]]
            there = ~np.isnan(regret).any(axis=1)
            ranks = RegretRanks(regret[there], np.stack([*found.values()])[there], axiom == IRREFLEXIVITY)
            many = there.sum() >= _LEAST
            rho = each(cells.estimate(ranks, units, (-1.0, 1.0)))[0] if many else NOTHING
            facts = {"n_judges": int(there.sum()), "note": "" if many else _TOO_FEW}
            rows.append({"task": task, "axiom": axiom, **rho.row("rho"), **facts})
    return pd.DataFrame(rows)


def _placed(users: Any, names: Any, *sums: Floats) -> Floats:  # noqa: ANN401 - str of shape (users,)
    """Put sums of some users in their places among all, shape (sums, users); others have none."""
    at = np.searchsorted(users, names).clip(max=len(users) - 1)
    there = users[at] == names
    found = np.zeros((len(sums), len(users)))
    found[:, at[there]] = np.stack(sums)[:, there]
    return found
