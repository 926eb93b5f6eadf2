"""Agreement among judges on which slate is preferred, task by task."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.records import Kind
from metaeval.stats.agreement.labels import LabelAgreement
from metaeval.stats.resampling.bootstrap import Statistic, each
from metaeval.stats.resampling.cluster_sums import Stack, mean_of

if TYPE_CHECKING:
    from metaeval.kinds.slates.regret import DuelCells

_VERDICTS = 3  # the second, a tie, the first


def judges_of(cells: DuelCells) -> list[str]:
    """Return the evaluators that are judges, functions, or recorded from elsewhere."""
    kinds, wanted = cells.matched.scores.kinds, (Kind.JUDGE, Kind.RECORDED, Kind.FUNCTION)
    return [name for name in cells.evaluators if kinds.get(name) in wanted]


def agreement_table(cells: DuelCells) -> pd.DataFrame:
    """Return of every two judges the share of same verdicts and Cohen's kappa, by task, with intervals."""
    rows: list[dict[str, Any]] = []
    for task in cells.parts:
        units = cells.units(task)
        codes = {
            name: (np.sign(scores) + 1).astype(np.int64)
            for name, scores in zip(cells.evaluators, units.scores, strict=True)
            if name in judges_of(cells) and len(scores) and not np.isnan(scores).any()
        }
        of_unit, n = units.clusters.of_unit, units.clusters.n
        pairs, statistics = [*combinations(codes, 2)], list[Statistic]()
        for one, other in pairs:
            both = codes[one], codes[other]
            said = np.stack([np.equal(*both), np.ones(len(of_unit))]).astype(float)
            share = mean_of(*(np.bincount(of_unit, v, n).astype(float)[None] for v in said))
            statistics += [share, LabelAgreement.of(*both, _VERDICTS, units.clusters)]
        if not pairs:
            continue
        found = each(cells.estimate(Stack(statistics), units, (-1.0, 1.0)))
        step = len(found) // len(pairs)
        for at, (one, other) in enumerate(pairs):
            same, kappa, *_ = found[step * at :]
            cut = {**same.row("same"), **kappa.row("kappa")}
            rows.append({"first": one, "second": other, "task": task, **cut, "n_units": len(of_unit)})
    return pd.DataFrame(rows)
