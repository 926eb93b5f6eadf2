"""Judges among themselves: on which slate they agree, and majorities against their members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.records import Kind
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.sheet import Column, columns
from metaeval.kinds.kind import INTERVALS, KindTable
from metaeval.kinds.slates.measures import DuelCells, SlatesScored, regret_by_user
from metaeval.kinds.slates.regret import P_NOTE, TASK, P, corrected, tested
from metaeval.stats.agreement.labels import LabelAgreement
from metaeval.stats.resampling.bootstrap import Statistic, each
from metaeval.stats.resampling.cluster_sums import Stack, mean_of

_VERDICTS = 3  # the second, a tie, the first


def judges_of(cells: DuelCells) -> list[str]:
    """Return the evaluators that are judges, functions, or recorded from elsewhere."""
    kinds, wanted = cells.matched.scores.kinds, (Kind.JUDGE, Kind.RECORDED, Kind.FUNCTION)
    return [name for name in cells.evaluators if kinds.get(name) in wanted]


def agreement_table(scored: SlatesScored) -> pd.DataFrame:
    """Return of every two judges the share of same verdicts and Cohen's kappa, by task, with intervals."""
    cells = scored.cells
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
        found = each(cells.estimate(Stack(statistics), units.clusters.n, (-1.0, 1.0)))
        step = len(found) // len(pairs)
        for at, (one, other) in enumerate(pairs):
            same, kappa, *_ = found[step * at :]
            cut = {**same.row("same"), **kappa.row("kappa")}
            rows.append({"first": one, "second": other, "task": task, **cut, "n_units": len(of_unit)})
    return pd.DataFrame(rows)


def _members(specs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each majority with each of its members that is an evaluator of the study itself."""
    names = {spec: name for name, spec in specs.items()}
    for name, text in specs.items():
        spec = EvaluatorSpec.parse(text)
        if spec.name == "Majority":
            yield from ((name, names[str(part)]) for part in spec.parts if str(part) in names)


def majority_table(scored: SlatesScored) -> pd.DataFrame:
    """Return by how much the regret of majorities differs from that of each member."""
    cells, tests = scored.cells, scored.study.tests
    pairs = list(_members(scored.study.specs))
    at = np.array([[cells.evaluators.index(name) for name in pair] for pair in pairs]).reshape(-1, 2)
    rows: list[dict[str, Any]] = []
    for task in cells.parts if pairs else ():
        units = cells.units(task)
        if not cells.use(task).any():
            continue
        own = regret_by_user(units)
        found = tested(cells, units, own[at[:, 0]] - own[at[:, 1]], tests)
        for (ensemble, member), (e, m), difference in zip(pairs, at, found, strict=True):
            both = {"regret": own[e].mean(), "member_regret": own[m].mean()}
            rows.append({"ensemble": ensemble, "member": member, "task": task, **both, **difference})
    return corrected(rows, tests)


AGREEMENT = KindTable(
    "judge_agreement.csv",
    "Agreement among judges",
    (
        Column("first", "Judge"),
        Column("second", "and judge"),
        TASK,
        Column("same", "Same verdict", "share", "same_low", "same_high"),
        Column("kappa", "Kappa", "hundredths", "kappa_low", "kappa_high"),
        Column("n_units", "Verdicts", "count"),
    ),
    agreement_table,
    ("Verdicts in both orders; kappa is Cohen's, a tie being a verdict of its own.", INTERVALS),
)
MAJORITY = KindTable(
    "majority.csv",
    "Majorities against their members",
    (
        Column("ensemble", "Majority"),
        Column("member", "Member"),
        TASK,
        *columns("decimal", regret="Regret", member_regret="of the member"),
        Column("difference", "Difference", "decimal", "difference_low", "difference_high"),
        P,
    ),
    majority_table,
    ("Difference: below 0, the majority has less regret than the member.", P_NOTE, INTERVALS),
)
