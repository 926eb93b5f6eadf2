"""Regret in tables: against that of a coin, by difficulty, and of majorities against their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.kinds.slates.regret import ACCURACY, REGRET, WEIGHTED, chance_by_user, regret_by_user
from metaeval.stats.resampling.bootstrap import each
from metaeval.stats.resampling.cluster_sums import ClusterSums, Stack, ratio
from metaeval.stats.resampling.multiplicity import benjamini_hochberg, holm
from metaeval.stats.resampling.paired import sign_test
from metaeval.stats.resampling.threads import one_thread
from metaeval.stats.resampling.weights import EQUAL, Swaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.engine.board import Board
    from metaeval.engine.measures import MeasuredUnits
    from metaeval.engine.paired_tests import Tests
    from metaeval.kinds.slates.regret import DuelCells
    from metaeval.stats.coefficients.tables import Floats


def regret_table(cells: DuelCells, board: Board, tests: Tests | None) -> pd.DataFrame:
    """Return a row per evaluator and task: the measures of a board, and the regret against that of a coin.

    ``chance`` is the regret that a coin has on these duels, ``skill`` one less the ratio of the regret to it,
    ``difference`` the regret less it; its p-value is that of a test which swaps the two by user, corrected
    over all rows.
    """
    rows: list[dict[str, Any]] = []
    for task in cells.parts:
        units = cells.units(task)
        if not cells.use(task).any():
            continue
        regret, accuracy, weighted = (
            board.of({"task": task, "measure": m.name}).reset_index() for m in (REGRET, ACCURACY, WEIGHTED)
        )
        own, chance = regret_by_user(units), chance_by_user(units)
        skill = ClusterSums(np.stack([own, chance + 0 * own]), lambda sums: 1 - ratio(sums[0], sums[1]))
        found = _tested(cells, units, own - chance, tests, skill=skill)
        for e, compared in enumerate(found):
            rows.append(
                {
                    "evaluator": regret["evaluator"][e],
                    "task": task,
                    "regret": regret["estimate"][e],
                    "ci_low": regret["ci_low"][e],
                    "ci_high": regret["ci_high"][e],
                    "accuracy": accuracy["estimate"][e],
                    "weighted_accuracy": weighted["estimate"][e],
                    "n_duels": _n_duels(cells, task),
                    "n_users": units.clusters.n,
                    "chance": float(chance.mean()),
                    **compared,
                    "n_missing": regret["n_missing"][e],
                }
            )
    return _corrected(rows, tests)


def difficulty_table(cells: DuelCells, bins: int) -> pd.DataFrame:
    """Return the regret of each evaluator by task and quantile of the similarity of the two slates.

    The bins are those of all duels of a task, whoever has verdicts on them; quantiles that are equal make one
    bin. Empty if no similarity is known.
    """
    similarity = cells.table["similarity"].to_numpy(dtype=float)
    rows: list[dict[str, Any]] = []
    for task, (_, measured) in cells.parts.items():
        of_task = similarity[measured]
        units, own = cells.units(task), similarity[cells.use(task)]
        if np.isnan(of_task).all() or np.isnan(own).all():
            continue
        edges = np.unique(np.nanquantile(of_task, np.linspace(0, 1, bins + 1)))
        place = np.clip(np.searchsorted(edges, own, side="right") - 1, 0, max(0, len(edges) - 2))
        binned = {at: ~np.isnan(own) & (place == at) for at in np.unique(place[~np.isnan(own)]).tolist()}
        sums = {at: units.among(chosen).sums(REGRET) for at, chosen in binned.items()}
        statistics = Stack([ClusterSums(of_bin, REGRET.of_sums) for of_bin in sums.values()])
        found = iter(each(cells.estimate(statistics, units, REGRET.bounds)))
        for at, chosen in binned.items():
            users = sums[at][1, 0] > 0
            shared = {
                "task": task,
                "difficulty": at + 1,
                "similarity": float(own[chosen].mean()),
                "similarity_low": float(own[chosen].min()),
                "similarity_high": float(own[chosen].max()),
            }
            more = {
                "chance": float(chance_by_user(units.among(chosen))[users].mean()),
                "n_units": int(chosen.sum()),
                "n_users": int(users.sum()),
            }
            for name in cells.evaluators:
                one = next(found)
                regret = {"regret": one.value, "ci_low": one.low, "ci_high": one.high}
                rows.append({"evaluator": name, **shared, **regret, **more})
    return pd.DataFrame(rows)


def majority_table(
    cells: DuelCells, members: Mapping[str, Sequence[str]], tests: Tests | None
) -> pd.DataFrame:
    """Return by how much the regret of majorities differs from that of each member.

    Parameters
    ----------
    members
        Evaluator that is a majority → the evaluators that it is made of.
    """
    pairs = [(ensemble, member) for ensemble, parts in members.items() for member in parts]
    at = np.array([[cells.evaluators.index(name) for name in pair] for pair in pairs]).reshape(-1, 2)
    rows: list[dict[str, Any]] = []
    for task in cells.parts if pairs else ():
        units = cells.units(task)
        if not cells.use(task).any():
            continue
        own = regret_by_user(units)
        found = _tested(cells, units, own[at[:, 0]] - own[at[:, 1]], tests)
        for (ensemble, member), (e, m), difference in zip(pairs, at, found, strict=True):
            both = {"regret": own[e].mean(), "member_regret": own[m].mean()}
            rows.append({"ensemble": ensemble, "member": member, "task": task, **both, **difference})
    return _corrected(rows, tests)


def _tested(
    cells: DuelCells, units: MeasuredUnits, of_users: Floats, tests: Tests | None, **more: ClusterSums
) -> Iterator[dict[str, float]]:
    """Yield the cells of each row of differences by user: its mean, and the p-value of that being 0.

    ``more`` has further statistics of each row, which come first.
    """
    exact, n = np.where(np.abs(of_users) < EQUAL, 0.0, of_users), units.clusters.n
    names = [*more, "difference"]
    mean = ClusterSums(np.stack([exact, np.ones_like(exact)]), lambda sums: ratio(sums[0], sums[1]))
    found = each(cells.estimate(Stack([*more.values(), mean]), units))
    p = np.full(len(exact), np.nan)
    if tests:
        with one_thread():
            p = sign_test(exact, Swaps(n, tests.permutations, tests.seed))
    for i, value in enumerate(p.tolist()):
        row: dict[str, float] = {}
        for name, one in zip(names, found[i :: len(p)], strict=True):
            row |= one.row(name)
        yield {**row, "p": value}


def _corrected(rows: Sequence[dict[str, Any]], tests: Tests | None) -> pd.DataFrame:
    """Return a table with p-values corrected over all rows behind those of single tests."""
    frame = pd.DataFrame(rows)
    if len(frame):
        correct = {"holm": holm, "bh": benjamini_hochberg}.get(tests.correction if tests else "none")
        p = frame["p"].to_numpy()
        frame.insert(list(frame).index("p") + 1, "p_corrected", correct(p) if correct else p)
    return frame


def _n_duels(cells: DuelCells, task: str) -> int:
    """Return how many duels enter, in whichever order."""
    entering = cells.table.loc[cells.use(task), ["user_id", "duel"]]
    return int((~entering.duplicated()).sum())
