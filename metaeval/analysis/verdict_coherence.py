"""Whether a judge's verdicts are coherent: alike with sides swapped and when asked again, without cycles.

The axioms of a strict preference, after Bonin et al. (2025, section 2), each as a share that is 1 for a judge
that keeps to it. `docs/reference/coherence.md` has the formulas, what ties and missing verdicts do, and what
chance gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from metaeval.analysis.verdict_axioms import IRREFLEXIVITY, PARTS, AxiomTally, JudgeAxioms, judge_axioms
from metaeval.base.progress import progress
from metaeval.base.records import FIRST, SECOND
from metaeval.base.simulation import REAL, Simulation
from metaeval.data.verdicts.verdict_columns import ALL, REPEAT
from metaeval.data.verdicts.verdict_table import OTHER
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.verdicts import pair_keys
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.stats.resampling.weights import one_thread

COLUMNS = (
    *("evaluator", "task", "axiom", "estimate", "ci_low", "ci_high", "chance", "n"),
    *("n_clusters", "n_missing", "expected", "in_cycles"),
)

_TRANSITIVITY = (
    "Shares that are 1 for a coherent judge. Transitivity: triples without a cycle, among pairs whose "
    "verdicts all name one winner; expected: by Bradley and Terry's model of the same wins."
)
_SAME = (
    "Asymmetry: pairs with the same verdict in both orders, within each repeat. Repeatability: equal "
    "verdicts among two on a pair in the same order. Irreflexivity: for two identical sides, 1 minus twice "
    "the distance of the share of the first from one half."
)
_CHANCE = (
    "First position: verdicts for the side shown first; 50 % is even. Chance: a judge that chooses at "
    "random, with as many ties. Missing verdicts are left out."
)


def coherence(verdicts: pd.DataFrame, *, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Measure the axioms, for each judge and task.

    Parameters
    ----------
    verdicts
        A row per verdict: ``evaluator``, ``task``, ``cluster`` (what is resampled, such as a user), ``group``
        (within a cluster: pairs of a group are compared, such as those of a user and an item), ``repeat``,
        ``first`` and ``second`` (what was shown first and second), ``winner``: ``first``, ``second``,
        ``tie``, or empty for a missing verdict. `orders_of` makes them.

    Returns
    -------
    DataFrame
        A row per evaluator, task and axiom for which something was asked; see `COLUMNS`. ``n`` counts what
        the estimate is a share of; ``n_missing`` missing verdicts; ``expected`` is the transitivity that
        Bradley and Terry's model expects of a judge with the same wins, ``in_cycles`` the share of items that
        are in a cycle.
    """
    return coherence_of(axioms_of(verdicts), resamples=resamples, seed=seed)


def axioms_of(verdicts: pd.DataFrame) -> list[JudgeAxioms]:
    """Count the axioms of each judge and task; ``verdicts`` are those of `coherence`."""
    parts = _parts(verdicts)
    found = []
    with progress("coherence", len(parts)) as advance:
        for (evaluator, task), part in parts:
            found.append(judge_axioms(str(evaluator), str(task), part))
            advance()
    return found


@one_thread()
def coherence_of(judges: Sequence[JudgeAxioms], *, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Return the table of `coherence`, of what was counted."""
    rows = [
        {"evaluator": judge.evaluator, "task": judge.task, "n_missing": judge.n_missing, **tally.cells}
        for judge in judges
        for tally in judge.tallies
    ]
    found = [tally for judge in judges for tally in judge.tallies]
    ends = dict(zip(("estimate", "ci_low", "ci_high"), _intervals(found, resamples, seed), strict=True))
    return pd.DataFrame(rows, columns=list(COLUMNS)).assign(**ends)


def _parts(verdicts: pd.DataFrame) -> Any:  # noqa: ANN401 - names and rows, one after the other, with a length
    """Return the verdicts of each evaluator and task; those of a single one are not copied."""
    of = ["evaluator", "task"]
    if len(verdicts) and all(len(verdicts[name].unique()) == 1 for name in of):
        return [(verdicts[of].iloc[0], verdicts)]
    return verdicts.groupby(of, sort=False, observed=True)


def _intervals(found: list[AxiomTally], resamples: int, seed: int) -> Floats:
    """Return shares and the ends of their intervals, shape (3, tallies); no ends for a single unit."""
    ends = np.full((3, len(found)), np.nan)
    drawn = [(tally.units, 1 if tally.certain else resamples) for tally in found]
    # What has as many units has the same resamples: they are drawn once.
    for units, times in sorted({*drawn}):
        these = [i for i, of in enumerate(drawn) if of == (units, times)]
        kept, asked = np.zeros((2, len(these), units))
        for at, i in enumerate(these):
            kept[at, : len(found[i].of)], asked[at, : len(found[i].of)] = found[i].kept, found[i].of
        given = bootstrap(mean_of(kept, asked), Resampler(units, times, seed), bounds=(0.0, 1.0))
        ends[:, these] = given.value, given.low, given.high
    ends[1:, [len(tally.of) < 2 for tally in found]] = np.nan
    even = [tally.axiom == IRREFLEXIVITY for tally in found]
    ends[:, even] = _even(ends[:, even])
    return ends


def _even(share: Floats) -> Floats:
    """Return how even a share is, 1 - |2p - 1|, of its value and its interval, shape (3, …)."""
    value, low, high = 1 - np.abs(2 * share - 1)
    most = np.where((share[1] < 0.5) & (share[2] > 0.5), 1.0, np.maximum(low, high))
    return np.stack([value, np.minimum(low, high), most])


def coherence_sheet(frame: pd.DataFrame, *, resamples: int, seed: int, simulated: Simulation = REAL) -> Sheet:
    """Lay out what `coherence` found."""
    several = len(frame["task"].unique()) > 1
    intervals = (
        f"Brackets hold 95 % bootstrap intervals ({resamples:,} resamples of groups, or of pairs where all "
        f"are of one group, in at most {PARTS:,} parts; seed {seed})."
    )
    columns = (
        Column("evaluator", "Judge"),
        *([Column("task", "Task")] if several else []),
        Column("axiom", "Axiom", "code"),
        Column("estimate", "Share", "share", "ci_low", "ci_high"),
        Column("chance", "Chance", "share"),
        Column("expected", "Expected", "share"),
        Column("in_cycles", "In cycles", "share"),
        Column("n", "Of", "count"),
        Column("n_clusters", "Groups", "count"),
        Column("n_missing", "Missing", "count"),
    )
    return Sheet(
        "coherence",
        "Coherence of verdicts",
        frame,
        columns,
        (_TRANSITIVITY, _SAME, _CHANCE, intervals),
        simulated,
    )


def orders_of(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts on pairs (`metaeval.evaluators.verdicts`) as `coherence` takes them."""
    keys = [key for key in pair_keys(verdicts) if key != REPEAT]
    swapped = (verdicts["order"] == SECOND).to_numpy()
    sides = verdicts[[FIRST, SECOND]].astype(object).to_numpy()
    winner = verdicts["winner"].astype(object)
    turned = winner.map(OTHER).fillna(winner)
    return pd.DataFrame(
        {
            "evaluator": verdicts["evaluator"].astype(object),
            "task": verdicts["aspect"].astype(object).replace("", ALL),
            "cluster": verdicts[keys[0]].astype(object),
            "group": verdicts[keys].astype(str).agg(" ".join, axis=1),
            "repeat": verdicts.get(REPEAT, ""),
            FIRST: np.where(swapped, sides[:, 1], sides[:, 0]),
            SECOND: np.where(swapped, sides[:, 0], sides[:, 1]),
            "winner": np.where(swapped, turned, winner),
        }
    )
