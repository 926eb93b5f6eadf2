"""Commands on verdicts on pairs, of a finished run or recorded in a file."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import pandas as pd

from metaeval.analysis.verdict_axioms import ASYMMETRY
from metaeval.analysis.verdict_coherence import coherence, coherence_sheet, orders_of
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.records import ScoreTable
from metaeval.base.simulation import REAL, Simulation
from metaeval.evaluators.verdicts import Flips, Orders
from metaeval.kinds.files.labels import update_labels
from metaeval.kinds.kind import kind_named
from metaeval.runs.command import Made, Option, Resamples, Seed, command
from metaeval.runs.finished import open_run
from metaeval.sources.verdicts import WinnerOf, import_verdicts, kept_columns, read_verdicts
from metaeval.study.unread import with_unread
from metaeval.trust.verdicts.accuracy import accuracy_sheet, against_others, preferred_by, with_gold
from metaeval.trust.verdicts.agreement import judges_sheet, systems_sheet
from metaeval.trust.verdicts.strengths import pairwise_sheets

_FileOrRun = Annotated[Path, Option(metavar="FILE|RUN")]
_Map = Annotated[Path | None, Option("YAML file: what each column and word of FILE means.", "--map")]
_Winner = Annotated[
    WinnerOf | None,
    Option("How FILE names winners: by the side that was shown, or by the text. Replies: by what was shown."),
]


@command("verdicts coherence")
def coherence_of(
    path: _FileOrRun,
    map_path: _Map = None,
    *,
    winner_of: _Winner = None,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
) -> Made:
    """Report whether verdicts agree in both orders and when repeated, and have no cycles.

    FILE is a table with its map, or made by `metaeval verdicts import`; RUN is the folder of a run with
    pairwise evaluators, or of kind slates.
    """
    simulated, verdicts = REAL, None
    if path.is_dir():
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
    sheet = coherence_sheet(axioms, resamples=resamples, seed=seed)
    if verdicts is not None:
        sheet = with_unread(sheet, verdicts, lambda v: coherence(orders_of(v), resamples=1), "estimate")
    return Made([sheet], simulated)


@command("pairwise")
def pairwise_of(
    path: Annotated[Path, Option(metavar="RUN|FILE")],
    evaluators: Annotated[
        Sequence[str], Option("Pairwise evaluator; may be given again.  [default: all]", "--evaluator")
    ] = (),
    *,
    flips: Annotated[
        Flips | None,
        Option("How a flip counts: half a point for each side, or nothing.  [default: the evaluator's rule]"),
    ] = None,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
) -> Made:
    """Summarise the pairs of the finished run in the folder RUN, and rank its generators.

    In place of RUN, it takes a FILE of verdicts made by `metaeval verdicts import`. Generators are ranked by
    Bradley and Terry's model, Elo and win rate, with intervals.
    """
    verdicts, scores = _recorded(path)
    known = [str(e) for e in verdicts["evaluator"].unique()]
    for name in evaluators:
        one_of(name, known, "there are no verdicts of an evaluator", "there are")
    wanted = [name for name in known if name in evaluators] if evaluators else known
    signatures = scores.signatures if scores else {}
    labelled, simulated = _labelled(verdicts[verdicts["evaluator"].isin(wanted)], scores)
    rules = {
        simulated.label(name): flips or cast("Flips", signatures.get(name, {}).get("flips", "tie"))
        for name in wanted
    }
    return Made(pairwise_sheets(labelled, flips=rules, resamples=resamples, seed=seed), simulated)


@command("verdicts accuracy")
def accuracy_of(
    path: _FileOrRun,
    *,
    gold: Annotated[
        Path | None,
        Option("Others' verdicts to hold them against; of several, what over half say, or a tie."),
    ] = None,
    map_path: _Map = None,
    winner_of: _Winner = None,
    orders: Annotated[
        Orders,
        Option(
            "How both orders of a pair count: a net vote, a tie or nothing if they differ, or each by itself."
        ),
    ] = "each",
    by: Annotated[
        Sequence[str], Option("Count by this too.  [default: the columns that were kept]", metavar="COLUMN")
    ] = (),
    resamples: Resamples = 10_000,
    seed: Seed = 0,
) -> Made:
    """Hold verdicts against gold preferences, or against the verdicts of people.

    FILE is a table with its map, or made by `metaeval verdicts import`; RUN is the folder of a run with
    pairwise evaluators. What people said with `metaeval golden label SET --pairs` is in SET/verdicts.csv.
    """
    verdicts, scores = _recorded(path, map_path, winner_of)
    verdicts, simulated = _labelled(verdicts, scores)
    people = None
    if gold is not None:
        others = _read(gold)
        people, verdicts = against_others(others, verdicts), preferred_by(others, verdicts)
    groups = by or (() if scores else kept_columns(verdicts))
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    accuracy = accuracy_sheet(verdicts, groups, orders=orders, people=people, **how)
    bounds = functools.partial(accuracy_sheet, by=groups, orders=orders, resamples=1)
    sheets = [with_unread(accuracy, verdicts, lambda v: bounds(v).frame, "accuracy")]
    known, _ = with_gold(verdicts)
    sheets.append(systems_sheet(known, orders))
    several = len(known["evaluator"].unique()) > 1
    return Made([*sheets, judges_sheet(known, orders, **how)] if several else sheets, simulated)


def _labelled(verdicts: pd.DataFrame, scores: ScoreTable | None) -> tuple[pd.DataFrame, Simulation]:
    """Return verdicts with the printed names of evaluators, and what is simulated of them."""
    if scores is None:
        return verdicts, REAL
    names = verdicts["evaluator"].astype(str)
    simulated = scores.simulation
    return verdicts.assign(evaluator=names.map(simulated.label)), simulated.among(names.unique())


def _read(path: Path) -> pd.DataFrame:
    update_labels(path.parent)  # people's verdicts may be there
    return read_verdicts(path)


def _recorded(
    path: Path,
    map_path: Path | None = None,
    winner_of: WinnerOf | None = None,
    *,
    again: bool = False,
) -> tuple[pd.DataFrame, ScoreTable | None]:
    """Return the verdicts in a file, or those of a finished run and its scores."""
    if map_path is not None:
        return import_verdicts(path, map_path, winner_of=winner_of, again=again), None
    if not path.is_dir():
        return _read(path), None
    run = open_run(path)
    if run.verdicts is None:
        raise MetaevalError(
            f"the run in {path} has no verdicts on pairs; give its study a pairwise evaluator, such as "
            "Pairwise('openai/gpt-4o')"
        )
    return run.verdicts, run.scores
