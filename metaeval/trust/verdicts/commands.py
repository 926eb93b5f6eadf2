"""Commands on verdicts on pairs, of a finished run or recorded in a file."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Literal, cast

import pandas as pd

from metaeval.analysis.verdict_axioms import ASYMMETRY
from metaeval.analysis.verdict_coherence import coherence, coherence_sheet, orders_of
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.records import ScoreTable
from metaeval.base.simulation import REAL, Simulation
from metaeval.data.verdicts.verdict_table import WinnerOf, import_verdicts, kept_columns
from metaeval.evaluators.verdicts import Orders, PairFlips
from metaeval.kinds.index import kind_named
from metaeval.runs.command import Names, Printed, Resamples, Seed, Typed, command
from metaeval.runs.finished import open_run
from metaeval.study.unread import with_unread
from metaeval.trust.verdicts.accuracies import verdict_families
from metaeval.trust.verdicts.accuracy import accuracy_sheet, against_others, preferred_by, with_gold
from metaeval.trust.verdicts.agreement import judges_sheet, systems_sheet
from metaeval.trust.verdicts.judged import read_file
from metaeval.trust.verdicts.sentences import accuracy_lines, coherence_lines, ranking_lines
from metaeval.trust.verdicts.strengths import pairwise_sheets


class Cohering(Typed):
    """Which verdicts are looked at."""

    map_path: Annotated[Path | None, "--map"] = None
    """YAML file: what each column and word of FILE means."""
    winner_of: WinnerOf | None = None
    """How FILE names winners: by the side that was shown, or by the text. Replies: by what was shown."""
    resamples: Resamples = 10_000
    seed: Seed = 0


@command("verdicts coherence")
def coherence_of(path: Annotated[Path, "FILE|RUN"], how: Cohering) -> Printed:
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
        verdicts, _ = _recorded(path, how.map_path, how.winner_of, again=True)
        known = orders_of(verdicts)
    axioms = coherence(known, resamples=how.resamples, seed=how.seed)
    # An axiom of two orders has a row, without a number, where there is one order only.
    names = [axioms["evaluator"], axioms["task"]]
    twice = (axioms["axiom"] == ASYMMETRY).groupby(names, observed=True).transform("any")
    once = axioms.loc[~twice, ["evaluator", "task", "n_missing"]].drop_duplicates()
    if len(once):
        rows = once.assign(axiom=ASYMMETRY, n=0, n_clusters=0)
        axioms = pd.concat([axioms, rows]).sort_index(kind="stable", ignore_index=True)
    sheet = coherence_sheet(axioms, resamples=how.resamples, seed=how.seed)
    if verdicts is not None:
        sheet = with_unread(sheet, verdicts, lambda v: coherence(orders_of(v), resamples=1), "estimate")
    return Printed([sheet], simulated, say=lambda by_name: coherence_lines(by_name[sheet.name]))


class PairsOptions(Typed):
    """Whose pairs are summarised, and how flips count."""

    evaluators: Annotated[Names, "--evaluator"] = ()
    """Pairwise evaluator; may be given again.  [default: all]"""
    flips: PairFlips | None = None
    """How a flip counts: half a point for each side, nothing, or each order by itself.  [default: the
    evaluator's rule]"""
    graphs: Annotated[
        tuple[Literal["bradley-terry", "counting", "eigen", "newman", "pagerank"], ...], "--graph"
    ] = ()
    """Further strengths of the graph of wins; may be given again."""
    resamples: Resamples = 1_000
    seed: Seed = 0


@command("pairwise")
def pairwise_of(path: Annotated[Path, "RUN|FILE"], how: PairsOptions) -> Printed:
    """Summarise the pairs of the finished run in the folder RUN, and rank its generators.

    In place of RUN, it takes a FILE of verdicts made by `metaeval verdicts import`. Generators are ranked by
    Bradley and Terry's model, Elo and win rate, with intervals.
    """
    verdicts, scores = _recorded(path)
    known = [str(e) for e in verdicts["evaluator"].unique()]
    for name in how.evaluators:
        one_of(name, known, "there are no verdicts of an evaluator", "there are")
    wanted = [name for name in known if name in (how.evaluators or known)]
    verdicts, simulated = _labelled(verdicts[verdicts["evaluator"].isin(wanted)], scores)
    rules = {
        simulated.label(name): how.flips
        or cast("PairFlips", scores.signatures.get(name, {}).get("flips", "tie") if scores else "tie")
        for name in wanted
    }
    draws = {"resamples": how.resamples, "seed": how.seed}
    sheets = pairwise_sheets(verdicts, flips=rules, graphs=how.graphs, **draws)
    return Printed(sheets, simulated, say=lambda by_name: ranking_lines(by_name["ranking"]))


class AccuracyOptions(Typed):
    """What verdicts are held against, and how they count."""

    gold: Path | None = None
    """Others' verdicts to hold them against; of several, what over half say, or a tie."""
    map_path: Annotated[Path | None, "--map"] = None
    """YAML file: what each column and word of FILE means."""
    winner_of: WinnerOf | None = None
    """How FILE names winners: by the side that was shown, or by the text. Replies: by what was shown."""
    orders: Orders = "each"
    """How both orders of a pair count: a net vote, a tie or nothing if they differ, or each by itself."""
    families: Annotated[Names, "--family NAME=PATTERN"] = ()
    """Judges, such as one with several prompts, whose mean is estimated; may be given again."""
    by: Annotated[Names, "COLUMN"] = ()
    """Count by this too.  [default: the columns that were kept]"""
    resamples: Resamples = 10_000
    seed: Seed = 0


@command("verdicts accuracy")
def accuracy_of(path: Annotated[Path, "FILE|RUN"], how: AccuracyOptions) -> Printed:
    """Hold verdicts against gold preferences, or against the verdicts of people.

    FILE is a table with its map, or made by `metaeval verdicts import`; RUN is the folder of a run with
    pairwise evaluators. What people said with `metaeval golden label SET --pairs` is in SET/verdicts.csv.
    """
    verdicts, scores = _recorded(path, how.map_path, how.winner_of)
    verdicts, simulated = _labelled(verdicts, scores)
    people = None
    if how.gold is not None:
        others = read_file(how.gold)
        people, verdicts = against_others(others, verdicts), preferred_by(others, verdicts)
    groups = how.by or (() if scores else kept_columns(verdicts))
    draws = {"resamples": how.resamples, "seed": how.seed}
    accuracy = accuracy_sheet(verdicts, groups, orders=how.orders, people=people, **draws)
    bounds = functools.partial(accuracy_sheet, by=groups, orders=how.orders, resamples=1)
    sheets = [with_unread(accuracy, verdicts, lambda v: bounds(v).frame, "accuracy")]
    known, _ = with_gold(verdicts)
    sheets.append(systems_sheet(known, how.orders))
    sheets += verdict_families(known, how.orders, how.families)
    several = len(known["evaluator"].unique()) > 1
    return Printed(
        [*sheets, judges_sheet(known, how.orders, **draws)] if several else sheets,
        simulated,
        say=lambda by_name: accuracy_lines(by_name["accuracy"], by_name.get("judges"), how.orders),
    )


def _labelled(verdicts: pd.DataFrame, scores: ScoreTable | None) -> tuple[pd.DataFrame, Simulation]:
    """Return verdicts with the printed names of evaluators, and what is simulated of them."""
    if scores is None:
        return verdicts, REAL
    names = verdicts["evaluator"].astype(str)
    simulated = scores.simulation
    return verdicts.assign(evaluator=names.map(simulated.label)), simulated.among(names.unique())


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
        return read_file(path), None
    run = open_run(path)
    if run.verdicts is None:
        raise MetaevalError(
            f"the run in {path} has no verdicts on pairs; give its study a pairwise evaluator, such as "
            "Pairwise('openai/gpt-4o')"
        )
    return run.verdicts, run.scores
