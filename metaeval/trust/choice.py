"""The best of the candidates of finished runs: which one to use, what it is worth, how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from metaeval.base.counts import counted, plural_of
from metaeval.base.errors import MetaevalError, unknown
from metaeval.base.records import Kind
from metaeval.base.simulation import REAL
from metaeval.data.verdicts.verdict_table import read_verdicts
from metaeval.engine.order.ranks import Rank
from metaeval.engine.sheet import Column, Form, table, value_text
from metaeval.judging.cost import costs_of
from metaeval.kinds.registry import fitting
from metaeval.runs.command import Names, Places, Printed, Seed, Typed, command
from metaeval.runs.joint import JoinedRuns, join_runs
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.choice import FEW_TO_CHOOSE, BestChoice, best_of, cross_validated
from metaeval.stats.resampling.cluster_sums import is_smooth
from metaeval.stats.resampling.rank_ranges import contributions
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, few_note
from metaeval.trust.sealed_test import open_for, opened_before
from metaeval.trust.verdicts.accuracies import accuracies, refuse_several_aspects
from metaeval.trust.verdicts.accuracy import with_gold

if TYPE_CHECKING:
    from pathlib import Path

    from metaeval.base.records import ScoreTable
    from metaeval.engine.board import Cell
    from metaeval.engine.cells import Estimated
    from metaeval.runs.record import OpenedFacts
    from metaeval.stats.resampling.cluster_sums import Statistic

_ALPHA = 0.05
_SEALED = ("sealed", "sealed_low", "sealed_high")


class ChoiceOptions(Typed):
    """Among which candidates one is chosen, and by what."""

    among: Annotated[Names, "--among PATTERN"] = ()
    """Candidate, or a pattern with stars; may be given again.  [default: all but baselines]"""
    statistic: Annotated[str | None, "CELL"] = None
    """Column to choose by, such as ASPECT,LEVEL,COEFFICIENT.  [default: that of the leaderboard]"""
    loss: Annotated[float, Field(gt=0)] = 0.005
    """Loss that does not matter."""
    average: Annotated[tuple[int, ...] | None, "M,..."] = None
    """Also offer the mean of the best M candidates."""
    cheapest: bool = False
    """Choose the cheapest within a standard error of the best."""
    cost: bool = False
    """Show what each candidate costs per unit."""
    searched: Annotated[int | None, Field(ge=1)] = None
    """How many candidates were tried in all, where not all are in the runs."""
    open: bool = False
    """Evaluate the chosen candidate on the sealed clusters: once, for it alone."""
    seed: Seed = 0


class Contest:
    """Candidates in one cell: their estimates, higher is better, and the contributions of clusters."""

    def __init__(
        self, names: Sequence[str], estimated: Estimated, words: str, printed: Mapping[str, str]
    ) -> None:
        self.estimated, self.words, self.printed = estimated, words, printed
        self.cluster = estimated.cluster.removesuffix("_id")
        self.clusters = plural_of(self.cluster)
        self.n, self.sign = estimated.n_clusters, 1 if estimated.higher_is_better else -1
        if self.n < FEWEST_CLUSTERS:
            raise MetaevalError(f"nothing can be chosen: {few_note(self.n, self.cluster)}")
        known = [self._known(estimated.statistics[name]) for name in names]
        there = [i for i, (value, psi) in enumerate(known) if np.isfinite(value) and np.isfinite(psi).all()]
        self.names = [names[i] for i in there]
        self.left_out = [name for i, name in enumerate(names) if i not in there]
        if len(there) < 2:
            raise MetaevalError(
                f"{counted(len(there), 'candidate')} with a value of {words}; choosing takes two"
            )
        self.estimates = np.array([known[i][0] for i in there])
        self.psi = np.stack([known[i][1] for i in there])

    def _known(self, statistic: Statistic) -> tuple[float, Floats]:
        if not is_smooth(statistic):
            raise MetaevalError(
                f"nothing can be chosen by {self.words}: the order of few means does not change smoothly "
                "with the data; choose by another column with --statistic"
            )
        value = float(statistic.at(np.ones((self.n, 1)))[-1, 0])
        return self.sign * value, self.sign * contributions(statistic, self.n)[-1]

    def label(self, candidate: int) -> str:
        """Return the name of a candidate that is printed."""
        name = self.names[candidate]
        return self.printed.get(name, name)

    def said(self, value: float) -> str:
        """Return a value as it is printed; a loss, too."""
        return value_text(value, "share") if self.estimated.share else f"{value:.3f}"

    def sealed_said(self, sealed: OpenedFacts) -> str:
        """Return what the sealed clusters said, with its interval."""
        return f"{self.said(sealed.estimate)} [{self.said(sealed.low)}, {self.said(sealed.high)}]"

    def averaged(self, most: int, seed: int) -> dict[str, Any]:
        """Return the row of the mean of the best ones."""
        mean = self.estimated.mean
        if mean is None:
            raise MetaevalError(f"--average takes correlations, and this is {self.words}; leave it out")
        if not 2 <= most < len(self.names):
            raise MetaevalError(
                f"--average {most}: give 2 to {len(self.names) - 1}, of the candidates there are"
            )

        def of(members: tuple[int, ...]) -> tuple[float, Floats]:
            return self._known(mean([self.names[i] for i in members]))

        best = tuple(sorted(np.argsort(-self.estimates, kind="stable")[:most].tolist()))
        return {
            "candidate": f"mean of the best {most}: {', '.join(map(self.label, best))}",
            "shown": self.sign * of(best)[0],
            "fresh": self.sign * cross_validated(self.estimates, self.psi, most, of, seed=seed),
        }


@command("choose", view="choose")
def choose(runs: Annotated[Places, "RUN...|FILE"], how: ChoiceOptions) -> Printed:
    """Choose the best of the candidates of the finished runs RUN, and say what the choice is worth.

    The best of several on few labels looks better than it is: the value on fresh ones is expected to be
    lower, and another candidate may be the best. Prints both, what may be lost, and how many labels would
    settle it. The report of the last run shows the tables.
    In place of RUN, it takes a FILE of verdicts on pairs with gold preferences, made by `metaeval verdicts
    import`: its judges are compared by their accuracy.
    """
    of, told = _of_verdicts(runs[0], how) if len(runs) == 1 and runs[0].is_file() else _of_runs(runs, how)
    costs, unit = costs_among(told.scores, of.names) if told.scores else (np.full(len(of.names), np.nan), "")
    if (how.cheapest or how.cost) and not unit:
        raise MetaevalError("no run says what a candidate costs; leave out --cheapest and --cost")
    columns = of.psi.shape[1]
    error = float(np.sqrt((of.psi[of.estimates.argmax()] ** 2).sum() / columns / (columns - 1)))
    slack = {"slack": error} if how.cheapest else {}
    share = of.estimated.share
    found = best_of(of.estimates, of.psi, costs, **slack, share=share, alpha=_ALPHA, seed=how.seed)
    averages = [of.averaged(most, how.seed) for most in how.average or ()]
    form: Form = "share" if share else "decimal"
    sealed = _opened(told, of.names[found.chosen]) if how.open else None
    ranks, order = found.ranks, np.argsort(-of.estimates, kind="stable")
    rows = [
        {
            "candidate": of.names[i],
            "chosen": bool(i == found.chosen),
            "shown": of.sign * of.estimates[i],
            "p_best": ranks.p_best[i],
            "may_be_best": bool(found.contenders[i]),
            "chance": found.chance[i],
            "rank_range": str(Rank(int(ranks.low[i]), int(ranks.high[i]))),
            "cost": costs[i],
        }
        for i in order
    ]
    low, high = sorted((of.sign * found.low, of.sign * found.high))
    value = {
        "candidate": of.names[found.chosen],
        "shown": of.sign * of.estimates[found.chosen],
        "fresh": of.sign * found.fresh,
        "low": low,
        "high": high,
        "loss": found.loss,
        "most": found.most,
        "labels": np.ceil(found.labels(how.loss, of.n)),
        **(dict(zip(_SEALED, (sealed.estimate, sealed.low, sealed.high), strict=True)) if sealed else {}),
    }
    candidates = table(
        "choose",
        _sentence(of, found, value, averages, how) + sealed_sentence(of, sealed),
        rows,
        (
            Column("candidate", "Candidate"),
            Column("chosen", "Chosen", keep=True),
            Column("shown", "Shown", form),
            Column("may_be_best", "May be best"),
            Column("p_best", "p", "p"),
            Column("chance", "Chance", "share"),
            Column("rank_range", "Rank range"),
            *([Column("cost", f"{unit} per unit", "usd" if unit == "USD" else "number")] if how.cost else []),
        ),
        *_notes(of, told.notes, how),
        about=("candidate",),
    )
    worth = table(
        "choose-value",
        "What the choice is worth",
        [value, *averages],
        (
            Column("candidate", "Candidate"),
            Column("shown", "As shown", form),
            Column("fresh", f"On fresh {of.clusters}", form, "low", "high"),
            *([Column("sealed", f"On sealed {of.clusters}", form, *_SEALED[1:])] if sealed else []),
            Column("loss", "Expected loss", form),
            Column("most", "Loss at most", form),
            Column("labels", f"{of.clusters.capitalize()} for a loss of {how.loss:g}", "count"),
        ),
        *_worth_notes(of, bool(averages)),
        *([] if sealed or told.joined is None else _sealed_notes(of, told.joined)),
        about=("candidate",),
    )
    simulated = told.scores.simulation.among(of.names) if told.scores else REAL
    return Printed([candidates, worth], simulated)


class _Told(NamedTuple):
    """What is known of candidates beside their estimates."""

    scores: ScoreTable | None
    notes: Sequence[str]
    joined: JoinedRuns | None = None
    cell: Cell | None = None


def _of_runs(runs: Places, how: ChoiceOptions) -> tuple[Contest, _Told]:
    """Return the evaluators of runs, in one cell."""
    joined = join_runs(runs)
    cell, cells = joined.cell(how.statistic), joined.cells
    board = joined.runs[joined.ruling].board
    if not all(cell[d.name] in d.choices for d in board.dimensions):
        board = cells.board(cell, intervals=False)
    words = board.words(cell).removesuffix(f", {board.unit}")
    estimated = cells.estimated(cell)
    printed = {n: shown for run in joined.runs.values() for n, shown in run.record.names.items()}
    names = _among(how.among, [*estimated.statistics], joined)
    return Contest(names, estimated, words, printed), _Told(joined.scores, joined.notes, joined, cell)


def _of_verdicts(path: Path, how: ChoiceOptions) -> tuple[Contest, _Told]:
    """Return the judges whose verdicts are in a file, by their accuracy."""
    if how.statistic is not None:
        raise MetaevalError("--statistic is a column of a run; verdicts are compared by their accuracy")
    known, without = with_gold(read_verdicts(path))
    refuse_several_aspects(known)
    estimated = accuracies(known, "each")
    names = _among(how.among, [*estimated.statistics])
    notes = [f"{counted(without, 'comparison')} without a gold preference left out."] if without else []
    return Contest(names, estimated, "accuracy, each order by itself", {}), _Told(None, notes)


def _among(patterns: Sequence[str], known: Sequence[str], joined: JoinedRuns | None = None) -> list[str]:
    """Return the evaluators that patterns name; without, all but baselines and what is part of the truth."""
    if not patterns and joined is None:
        return list(known)
    if not patterns and joined is not None:
        in_truth = {
            joined.columns[name][run]
            for run, opened in joined.runs.items()
            for name in opened.record.in_truth
        }
        kinds = joined.scores.kinds
        return [name for name in known if kinds.get(name) != Kind.BASELINE and name not in in_truth]
    named = [fitting(pattern, known) for pattern in patterns]
    if [] in named:
        raise MetaevalError(unknown("no evaluator is called", patterns[named.index([])], known, "there are"))
    return [name for name in known if any(name in of for of in named)]


def costs_among(scores: ScoreTable, names: Sequence[str]) -> tuple[Floats, str]:
    """Return the cost per unit of each, NaN where it is not known, and its unit; no unit if none is known."""
    known = costs_of(scores).set_index("evaluator").reindex(list(names))
    for unit, column in (("USD", "usd_per_text"), ("tokens", "tokens_per_text")):
        costs = known[column].to_numpy(dtype=np.float64)
        if (costs > 0).any():
            return costs, unit
    return np.full(len(names), np.nan), ""


def _sentence(
    of: Contest,
    found: BestChoice,
    value: dict[str, Any],
    averages: Sequence[dict[str, Any]],
    how: ChoiceOptions,
) -> str:
    """Say which one to use, and what that is worth."""
    said, k = of.said, len(of.names)
    interval = f"{said(value['fresh'])} [{said(value['low'])}, {said(value['high'])}]"
    told = (
        f"Use {of.label(found.chosen)}. On these {of.n:,} {of.clusters} it has {said(value['shown'])} "
        f"({of.words}); on fresh ones expect {interval}, counting the search among {k}"
        f"{f' of {how.searched}' if how.searched and how.searched > k else ''}."
    )
    contenders = int(found.contenders.sum())
    equals = [of.label(i) for i in np.flatnonzero(found.alike).tolist() if i != found.chosen]
    if equals:
        told += f" It does not matter whether it is this one or {', '.join(equals)}: they are equal."
    if contenders == 1 and found.contenders[found.chosen]:
        return f"{told} No other may be the best."
    if not found.contenders[found.chosen]:
        told += f" It is not the best: {contenders} of {k} may be."
    elif contenders > 1 + len(equals):
        chance = found.chance[found.chosen]
        told += f" {contenders} of {k} may still be the best; this one is with chance {chance:.2f}."
    told += f" Expected loss {said(found.loss)}, at most {said(found.most)}"
    if found.loss > how.loss:
        told += f"; about {value['labels']:,.0f} {of.clusters} bring it to {said(how.loss)}."
    else:
        told += f", so that it hardly matters which is used (a loss of {said(how.loss)} counts as none)."
    for row in averages:
        told += f" Expect {said(row['fresh'])} of the {row['candidate'].partition(':')[0]}."
    return told


def _worth_notes(of: Contest, averaged: bool) -> list[str]:
    """Say how fresh values and losses were made."""
    one = of.cluster
    told = (
        f"Fresh value: the .632 bootstrap of the whole search (Efron 1983), by {one}. Loss: what the best "
        "candidate has more than this one; at most: 95 % bound (Hsu 1984)."
    )
    means = (
        "Means of several: standardised scores; their members are picked anew in 10 times 5-fold "
        f"cross-validation by {one}, which gives their fresh value and no interval."
    )
    return [told, means] if averaged else [told]


def _opened(told: _Told, chosen: str) -> OpenedFacts:
    """Evaluate the chosen one on the sealed clusters of its run, once."""
    if told.joined is None or told.cell is None:
        raise MetaevalError("--open is for runs with sealed clusters; verdicts of a file have none")
    return open_for(told.joined, chosen, told.cell, alpha=_ALPHA)


def sealed_sentence(of: Contest, sealed: OpenedFacts | None) -> str:
    """Say what the sealed clusters said of the chosen one; empty if they were not opened."""
    if sealed is None:
        return ""
    few = f" (few {of.clusters})" if sealed.n < FEW_TO_CHOOSE else ""
    return (
        f" On the {sealed.n:,} sealed {of.clusters}{few}, opened {sealed.date} for this one alone, it has "
        f"{of.sealed_said(sealed)}."
    )


def _sealed_notes(of: Contest, joined: JoinedRuns) -> Iterator[str]:
    """Say that clusters are sealed, or for which one they were opened."""
    if before := opened_before(joined.runs):
        which = f"{before.evaluator} ({before.of})"
        yield f"The sealed {of.clusters} were opened {before.date} for {which}: {of.sealed_said(before)}."
    elif all(run.record.sealed for run in joined.runs.values()):
        yield f"The sealed {of.clusters} are not opened: --open evaluates the chosen one on them, once."


def _notes(of: Contest, more: Sequence[str], how: ChoiceOptions) -> list[str]:
    """Say what the table rests on."""
    best = (
        "May be the best: unless another is shown better (p: that none is). Chance of "
        "being it: of draws about estimates that are moved together by the noise in their differences "
        "(empirical Bayes)."
    )
    notes = [f"Shown: {of.words}.", best]
    if how.cheapest:
        notes.append(
            "The cheapest within a standard error of the best is chosen: it loses more than the best."
        )
    if of.n < FEW_TO_CHOOSE:
        notes.append(f"FEW {of.clusters.upper()}: with fewer than {FEW_TO_CHOOSE}, expect less than said.")
    if how.searched and how.searched > len(of.names):
        notes.append(
            f"WARNING: {how.searched} were searched and {len(of.names)} are known; the correction rests on "
            "these alone, so the fresh value may be too high. Give the scores of all."
        )
    if of.left_out:
        notes.append(f"Without a value: {', '.join(of.left_out)}.")
    return [*notes, *more]
