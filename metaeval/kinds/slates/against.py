"""Regret against coherence over judges: whether those that keep to the axioms have less regret."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.analysis.verdicts.axioms import FIRST_POSITION, IRREFLEXIVITY
from metaeval.kinds.slates.agreement import judges_of
from metaeval.kinds.slates.regret import regret_by_user
from metaeval.kinds.slates.verdicts import RATING_TRANSITIVITY
from metaeval.stats.resampling.bootstrap import NOTHING, each
from metaeval.stats.resampling.cluster_sums import Stack, ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.analysis.verdicts.axioms import JudgeAxioms
    from metaeval.kinds.slates.regret import DuelCells
    from metaeval.kinds.slates.verdicts import RatedVerdicts
    from metaeval.stats.coefficients.tables import Floats

_LEAST, _USERS = 4, 10  # judges; users of each, for an interval
_TOO_FEW = f"fewer than {_LEAST} judges: no correlation"
_FEW_USERS = f"a judge has fewer than {_USERS} users of whom this was asked: no interval"


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
        share = ratio(self.kept[:, 0] @ weights, self.kept[:, 1] @ weights)
        share = 1 - np.abs(2 * share - 1) if self.even else share
        regret = self.regret @ weights / weights.sum(axis=0)
        one, other = map(_centred_ranks, (regret, share))
        spread = np.sqrt((one**2).sum(axis=0) * (other**2).sum(axis=0))
        found = ratio((one * other).sum(axis=0), spread)
        return np.where(np.isnan(share).any(axis=0), np.nan, found)[None]


def _centred_ranks(values: Floats) -> Floats:
    """Return twice the midranks less J + 1, shape (J, columns); equal up to rounding is equal."""
    exact = np.round(values, 12)
    found: Floats = np.sign(exact[:, None] - exact).sum(axis=1)
    return found


def against_table(
    cells: DuelCells, judges: Sequence[JudgeAxioms], rated: Sequence[RatedVerdicts]
) -> pd.DataFrame:
    """Return the rank correlation of regret and each axiom over judges, by task.

    Returns
    -------
    DataFrame
        ``rho`` with an interval from resampling users, ``n_judges`` that have both; a ``note`` where there
        are too few of them, or of users. The interval is that of percentiles: the jackknife, which would
        widen it, fails for ranks.
    """
    rows: list[dict[str, Any]] = []
    wanted = judges_of(cells)
    for task in cells.parts:
        users = np.unique(cells.table.loc[cells.use(task), "user_id"].to_numpy(dtype=str))
        if not len(users):
            continue
        units, own = cells.units(task), regret_by_user(cells.units(task))
        kept = _kept(users, [j for j in judges if j.evaluator in wanted and j.task == task])
        for one in rated:
            if one.task == task and one.judge in wanted:
                of_users = _placed(users, one.users, one.kept, one.of)
                kept.setdefault(RATING_TRANSITIVITY, {})[one.judge] = of_users
        ranks = []
        for axiom, found in kept.items():
            regret = own[[cells.evaluators.index(judge) for judge in found]]
            there = ~np.isnan(regret).any(axis=1)
            asked = np.stack([*found.values()])[there]
            ranks.append(RegretRanks(regret[there], asked, axiom == IRREFLEXIVITY))
        of_all = each(cells.estimate(Stack(ranks), units, (-1.0, 1.0), stretch=False)) if ranks else []
        for axiom, of, rho in zip(kept, ranks, of_all, strict=True):
            n, note, shown = len(of.regret), "", rho
            if n < _LEAST:
                note, shown = _TOO_FEW, NOTHING
            elif ((of.kept[:, 1] > 0).sum(axis=-1) < _USERS).any():
                note, shown = _FEW_USERS, replace(rho, low=np.nan, high=np.nan)
            rows.append({"task": task, "axiom": axiom, **shown.row("rho"), "n_judges": n, "note": note})
    return pd.DataFrame(rows)


def _kept(users: Any, judges: Sequence[JudgeAxioms]) -> dict[str, dict[str, Floats]]:  # noqa: ANN401 - str
    """Return of each axiom and judge what keeps to it, and of what, by user."""
    found: dict[str, dict[str, Floats]] = {}
    for judge in judges:
        names = np.asarray(judge.clusters, dtype=str)
        for t in judge.tallies if len(names) > 1 else ():
            if t.axiom != FIRST_POSITION:
                found.setdefault(t.axiom, {})[judge.evaluator] = _placed(users, names[t.unit], t.kept, t.of)
    return found


def _placed(users: Any, names: Any, *sums: Floats) -> Floats:  # noqa: ANN401 - str of shape (users,)
    """Put sums of some users in their places among all, shape (sums, users); others have none."""
    at = np.searchsorted(users, names).clip(max=len(users) - 1)
    there = users[at] == names
    found = np.zeros((len(sums), len(users)))
    found[:, at[there]] = np.stack(sums)[:, there]
    return found
