"""A finished run, or a file of recorded verdicts → the sheets of its verdicts on pairs."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pandas as pd

from metaeval.analysis.verdict_axioms import ASYMMETRY
from metaeval.analysis.verdict_coherence import coherence, coherence_sheet, orders_of
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.records import ScoreTable
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Sheet
from metaeval.evaluators.verdicts import Flips, Orders
from metaeval.kinds.files.labels import update_labels
from metaeval.kinds.kind import kind_named
from metaeval.runs.finished import open_run
from metaeval.sources.verdicts import WinnerOf, import_verdicts, kept_columns, read_verdicts
from metaeval.study.unread import with_unread
from metaeval.trust.verdicts.accuracy import accuracy_sheet, against_others, preferred_by, with_gold
from metaeval.trust.verdicts.agreement import judges_sheet, systems_sheet
from metaeval.trust.verdicts.strengths import pairwise_sheets


def coherence_of(
    path: str | os.PathLike[str],
    map_path: str | os.PathLike[str] | None = None,
    *,
    winner_of: WinnerOf | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Sheet:
    """Say whether verdicts are coherent: recorded ones, or those of a run on pairs."""
    simulated, verdicts = REAL, None
    if Path(path).is_dir():
        run = open_run(path)
        known = kind_named(run.scored.study.kind).orders(run.scored)
        if known is None:
            raise MetaevalError(f"the run in {path} has no verdicts on pairs")
        verdicts, simulated = run.verdicts, run.scores.simulation
    else:
        verdicts, _ = _recorded(path, map_path, winner_of, again=True)
        known = orders_of(verdicts)
    axioms = coherence(known, resamples=resamples, seed=seed)
    # An axiom of two orders has a row, without a number, where there is one order only.
    names = [axioms["evaluator"], axioms["task"]]
    twice = (axioms["axiom"] == ASYMMETRY).groupby(names, observed=True).transform("any")
    once = axioms.loc[~twice, ["evaluator", "task", "n_missing"]].drop_duplicates()
    if len(once):
        rows = once.assign(axiom=ASYMMETRY, n=0, n_clusters=0)
        axioms = pd.concat([axioms, rows]).sort_index(kind="stable", ignore_index=True)
    sheet = coherence_sheet(axioms, resamples=resamples, seed=seed, simulated=simulated)
    if verdicts is None:
        return sheet
    return with_unread(sheet, verdicts, lambda v: coherence(orders_of(v), resamples=1), "estimate")


def pairwise_of(
    path: str | os.PathLike[str],
    evaluators: Sequence[str] = (),
    *,
    flips: Flips | None = None,
    resamples: int = 1_000,
    seed: int = 0,
) -> list[Sheet]:
    """Say what became of pairs, and how each pairwise evaluator ranks the generators.

    ``path`` is that of a finished run, or of a file of recorded verdicts, whose flips are ties by default.
    """
    verdicts, scores = _recorded(path)
    known = [str(e) for e in verdicts["evaluator"].unique()]
    for name in evaluators:
        one_of(name, known, "there are no verdicts of an evaluator", "there are")
    wanted = [name for name in known if name in evaluators] if evaluators else known
    signatures = scores.signatures if scores else {}
    return pairwise_sheets(
        verdicts[verdicts["evaluator"].isin(wanted)],
        flips={name: flips or cast("Flips", signatures.get(name, {}).get("flips", "tie")) for name in wanted},
        resamples=resamples,
        seed=seed,
        simulated=scores.simulation if scores else REAL,
    )


def accuracy_of(
    path: str | os.PathLike[str],
    by: Sequence[str] = (),
    *,
    gold: str | os.PathLike[str] | None = None,
    map_path: str | os.PathLike[str] | None = None,
    winner_of: WinnerOf | None = None,
    orders: Orders = "each",
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Sheet]:
    """Hold the verdicts of a finished run, or of a file, against gold preferences.

    ``gold`` is a file of others' verdicts; without it the gold preferences are those in the file at ``path``.
    """
    verdicts, scores = _recorded(path, map_path, winner_of)
    people = None
    if gold is not None:
        others = _read(gold)
        people, verdicts = against_others(others, verdicts), preferred_by(others, verdicts)
    groups = by or (() if scores else kept_columns(verdicts))
    simulated = scores.simulation if scores else REAL
    how: dict[str, Any] = {"resamples": resamples, "seed": seed, "simulated": simulated}
    accuracy = accuracy_sheet(verdicts, groups, orders=orders, people=people, **how)
    labelled = verdicts.assign(evaluator=verdicts["evaluator"].astype(str).map(simulated.label))
    bounds = functools.partial(accuracy_sheet, by=groups, orders=orders, resamples=1)
    sheets = [with_unread(accuracy, labelled, lambda v: bounds(v).frame, "accuracy")]
    known, _ = with_gold(verdicts)
    sheets.append(systems_sheet(known, orders, simulated))
    several = len(known["evaluator"].unique()) > 1
    return [*sheets, judges_sheet(known, orders, **how)] if several else sheets


def _read(path: str | os.PathLike[str]) -> pd.DataFrame:
    update_labels(Path(path).parent)  # people's verdicts may be there
    return read_verdicts(path)


def _recorded(
    path: str | os.PathLike[str],
    map_path: str | os.PathLike[str] | None = None,
    winner_of: WinnerOf | None = None,
    *,
    again: bool = False,
) -> tuple[pd.DataFrame, ScoreTable | None]:
    """Return the verdicts in a file, or those of a finished run and its scores."""
    if map_path is not None:
        return import_verdicts(path, map_path, winner_of=winner_of, again=again), None
    if not Path(path).is_dir():
        return _read(path), None
    run = open_run(path)
    if run.verdicts is None:
        raise MetaevalError(
            f"the run in {path} has no verdicts on pairs; give its study a pairwise evaluator, such as "
            "Pairwise('openai/gpt-4o')"
        )
    return run.verdicts, run.scores
