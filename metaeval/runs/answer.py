"""What a run says to somebody who has a minute: a short record and its sentences, computed once.

A run writes it as ``answer.json``, and a command on the run adds what it found of each judge. Reports, pages
and messages only read it.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pandas as pd
from pydantic import Field

from metaeval.base.counts import few_of
from metaeval.base.errors import MetaevalError
from metaeval.base.records import Kind, ScoreTable
from metaeval.base.spec import USERS, EvaluatorSpec
from metaeval.engine.board import ESTIMATES, Board, Cell
from metaeval.engine.sheet import value_text
from metaeval.runs.folder import ANSWER, SCORES, TRUTH, read_output, read_record, rewrite_output
from metaeval.runs.judge_trust import Finding, JudgeTrust
from metaeval.runs.record import Facts, Record
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, few_note

if TYPE_CHECKING:
    from metaeval.engine.order.paired_tests import Comparisons
    from metaeval.engine.order.ranking import PeopleLine

_CHANCE = "Random"
"""The name of the evaluators that score by chance."""


class RunAnswer(Facts):
    """The answer of a run; evaluators are named as in its tables."""

    sentences: list[str]
    at: dict[str, str] = Field(default_factory=dict)
    """The cell of the board that it is about."""
    measure: str = ""
    tools: int = 0
    """Evaluators that are not people."""
    best: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    may_be_best: list[str] = Field(default_factory=list)
    """The tools that are not shown to be worse than the best one, which is among them."""
    better_than: dict[str, list[str]] = Field(default_factory=dict)
    """Baseline → the tools that are shown to be better."""
    people: str = ""
    """Who of the people agrees best with the truth, or how people agree."""
    people_estimate: float | None = None
    judges: dict[str, JudgeTrust] = Field(default_factory=dict)

    def trust(self, judges: Iterable[str]) -> list[str]:
        """Return a sentence on each of some judges, or on several of which the same is known."""
        of: dict[str, list[str]] = {}
        for judge in map(self.judges.__getitem__, judges):
            of.setdefault(judge.words, []).append(judge.label)
        return [f"{few_of(names)}: {words}." for words, names in of.items()]

    @property
    def lines(self) -> list[str]:
        """All that is said: on the run, and on each judge."""
        return [" ".join(self.sentences), *self.trust(self.judges)]

    @property
    def record(self) -> dict[str, object]:
        """All of it as plain JSON values."""
        judges = {name: {**judge.content(), "words": judge.words} for name, judge in self.judges.items()}
        return self.model_dump(mode="json") | {"judges": judges, "lines": self.lines}

    @property
    def text(self) -> str:
        """The content of the file."""
        return json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_answer(folder: Path, record: Record | None = None) -> RunAnswer:
    """Read the answer of a finished run."""
    return RunAnswer.model_validate_json(read_output(folder, ANSWER, record).read_text(encoding="utf-8"))


def add_found(
    folder: Path,
    command: str,
    found: Mapping[str, str],
    findings: Mapping[str, Sequence[Finding]] = MappingProxyType({}),
) -> RunAnswer | None:
    """Add what a command found of each judge to the answer of a finished run, and return it.

    ``found`` has a clause for each judge, and ``findings`` those of an audit. A run that may not be written
    keeps the answer that it has, and one that has none gets none.
    """
    record = read_record(folder)
    if ANSWER not in record.outputs:
        return None
    answer = read_answer(folder, record)
    judges = dict(answer.judges)
    for name, clause in found.items():
        known = judges.get(name) or JudgeTrust(label=record.names.get(name, name), found={})
        more = {"findings": [*findings[name]]} if name in findings else {}
        judges[name] = known.model_copy(update={"found": {**known.found, command: clause}, **more})
    answer = answer.model_copy(update={"judges": judges})
    with contextlib.suppress(OSError):
        rewrite_output(folder, ANSWER, lambda _: answer.text)
    return answer


def kept_judges(
    folder: Path, record: Record, scores: ScoreTable, truth: pd.DataFrame
) -> dict[str, JudgeTrust]:
    """Return what commands found of the judges of a finished run whose scores, and truth, are still the same.

    Parameters
    ----------
    folder
        That of the finished run; there may be none, or one of another study.
    record, scores, truth
        Those of the run that replaces it.
    """
    try:
        before = read_record(folder)
        judges = read_answer(folder, before).judges
        if before.data != record.data or not any(any(j.found.values()) for j in judges.values()):
            return {}
        old, people = (pd.read_parquet(read_output(folder, name, before)) for name in (SCORES, TRUTH))
    except (MetaevalError, ValueError):
        return {}
    if not people.equals(truth.reset_index(drop=True)):
        return {}
    by = [*scores.keys, "aspect", "score"]

    def said(frame: pd.DataFrame, judge: str) -> pd.DataFrame:
        return frame.loc[frame["evaluator"] == judge, by].reset_index(drop=True)

    return {n: j for n, j in judges.items() if said(old, n).equals(said(scores.frame, n))}


def answer_of(
    board: Board,
    order: Cell,
    record: Record,
    *,
    tests: Comparisons | None = None,
    people: Sequence[PeopleLine] = (),
    kept: Mapping[str, JudgeTrust] = MappingProxyType({}),
) -> RunAnswer:
    """Say what a run found.

    Parameters
    ----------
    board, order, tests
        The estimates, the cell that orders the leaderboard, and its tests.
    people
        How well people agree, by cell.
    kept
        What is known of judges already.
    """
    board = record.named(board)
    found = _Found(board, order, record, tests)
    at_order = [p for p in people if dict(p.at) == dict(order)]
    line, again = (next((p for p in at_order if p.again == repeated), None) for repeated in (False, True))
    judges = {
        name: kept.get(name, JudgeTrust(label=board.label(name), found={"audit": ""}))
        for name, kind in record.kinds.items()
        if kind == Kind.JUDGE
    }
    return found.answer(line, again, judges)


class _Found:
    """The rows of one cell, the best first, and what is shown of every two."""

    def __init__(self, board: Board, order: Cell, record: Record, tests: Comparisons | None) -> None:
        self.board, self.order, self.record, self.tests = board, dict(order), record, tests
        rows = board.of(order)
        rows = rows[rows["estimate"].notna() & ~rows["evaluator"].isin(board.apart)]
        rows = rows.sort_values("estimate", ascending=not board.higher_in(order), kind="stable")
        names = [str(name) for name in rows["evaluator"]]
        self.rows: dict[str, list[float]] = dict(
            zip(names, rows[[*ESTIMATES]].to_numpy().tolist(), strict=True)
        )
        self.people = [n for n in names if board.kinds.get(n) == Kind.ANNOTATOR]
        self.tools = [n for n in names if n not in self.people] or names
        self.people = [n for n in self.people if n not in self.tools and n not in record.in_truth]

    def value(self, estimate: float) -> str:
        """Return an estimate on the scale of the table."""
        return value_text(estimate, self.board.form)

    def measured(self, estimate: float) -> str:
        """Return what is measured, with its value and the scale of the table."""
        unit = f" {self.board.unit} =" if self.board.unit else ""
        return f"{self.measure}{unit} {self.value(estimate)}"

    def at(self, name: str) -> float:
        """Return an estimate."""
        return self.rows[name][0]

    def shown_better(self, one: str, other: str) -> bool:
        """Say whether one evaluator is shown to be better than another."""
        tests = self.tests
        if tests is None or not {one, other} <= {*tests.evaluators}:
            return False
        if self.alone == one:
            return True
        i, j = (tests.evaluators.index(name) for name in (one, other))
        ahead = (
            self.at(one) > self.at(other)
            if self.board.higher_in(self.order)
            else self.at(one) < self.at(other)
        )
        return ahead and bool(tests.p_corrected[i, j] <= tests.policy["alpha"])

    @property
    def alone(self) -> str:
        """The only evaluator that may be the best by the ranks, people among them; empty if there is none."""
        ranks = self.tests.ranks if self.tests else None
        best = [name for name in ranks.of if ranks.may_be_best(name)] if ranks else []
        return best[0] if len(best) == 1 else ""

    def may_be_best(self, one: str, best: str) -> bool:
        """Say whether a tool may be the best of them: by the ranks, or else by the tests of pairs."""
        ranks = self.tests.ranks if self.tests else None
        possible = ranks.may_be_best_tool(one) if ranks and one in ranks.of else None
        return not self.shown_better(best, one) if possible is None else possible

    def beats(self, one: str, baseline: str) -> bool:
        """Say whether a tool is shown to be better than a baseline."""
        ranks = self.tests.ranks if self.tests else None
        if ranks and baseline == ranks.baseline and one in ranks.of:
            return bool(ranks.better_than_baseline(one))
        return self.shown_better(one, baseline)

    def answer(
        self, line: PeopleLine | None, again: PeopleLine | None, judges: Mapping[str, JudgeTrust]
    ) -> RunAnswer:
        if not len(self.rows):
            return RunAnswer(
                sentences=["No evaluator has an estimate here."], at=self.order, judges=dict(judges)
            )
        best = self.tools[0]
        may = [n for n in self.tools if n == best or self.may_be_best(n, best)]
        better = {b: [n for n in self.tools if self.beats(n, b)] for b in self.baselines if b != best}
        who = self.people[0] if self.people else ""
        low, high = (None if math.isnan(v) else v for v in self.rows[best][1:])
        label = self.board.label
        return RunAnswer(
            sentences=[*self._sentences(best, may, better, line, again)],
            at=self.order,
            measure=self.measure,
            tools=len(self.tools),
            best=label(best),
            estimate=self.at(best),
            low=low,
            high=high,
            may_be_best=[*map(label, may)],
            better_than={label(b): [*map(label, names)] for b, names in better.items()},
            people=label(who) if who else line.label if line else "",
            people_estimate=self.at(who) if who else line.estimate if line else None,
            judges=dict(judges),
        )

    @property
    def baselines(self) -> list[str]:
        """Chance, and the best of the others."""
        found = [n for n in self.tools if self.board.kinds.get(n) == Kind.BASELINE]
        chance = [n for n in found if EvaluatorSpec.parse(self.record.specs[n]).name == _CHANCE]
        others = [n for n in found if n not in chance]
        return [*chance[:1], *others[:1]]

    @property
    def measure(self) -> str:
        board, at = self.board, self.order
        return board.estimate.format(**{d.name: d.choices[at[d.name]] for d in board.dimensions})

    def _sentences(
        self,
        best: str,
        may: Sequence[str],
        better: Mapping[str, Sequence[str]],
        line: PeopleLine | None,
        again: PeopleLine | None,
    ) -> Iterator[str]:
        label, tests = self.board.label, self.tests
        equal = [label(n) for n in may if n != best]
        first = self._first(best)
        few = 0 if tests is None else tests.policy.get("n_clusters", FEWEST_CLUSTERS)
        if tests is None or len(self.tools) == 1:
            yield f"{first}."
        elif few < FEWEST_CLUSTERS:
            who = self.record.data.nouns[self.record.data.cluster]
            yield f"{first}. Whether it is better than another cannot be told: {few_note(few, who)}"
        elif equal:
            which = "any of them" if len(equal) > 1 else "either"
            yield f"{first}, but no lead over {few_of(equal)} is shown: {which} may be the best tool."
        else:
            yield f"{first}, and is shown to be better than every other."
        for of, whom in ((again, "themselves, asked again"), (line, "each other")):
            if of and (of.among or of.again) and of.low <= 0:
                agree = "contradict" if of.high < 0 else "are not shown to agree with"
                mixed = ", as if rows or raters were mixed up" if of.high < 0 else ""
                yield f"People {agree} {whom} ({self.interval(of)}){mixed}: nothing here shows quality."
                return
        if tests is None or few < FEWEST_CLUSTERS:
            better = {}
        if better:
            (baseline, most), *more = ((label(b), len(names)) for b, names in better.items())
            further = "".join(f", {b} by {self._count(n)}" for b, n in more)
            yield f"{baseline} is shown to be beaten by {self._count(most)}{further}."
        if reached := self._people(best, line):
            yield reached

    def _count(self, n: int) -> str:
        """Say how many of the other tools."""
        others = len(self.tools) - 1
        if not n or others == 1:
            return "the other tool" if n else "none"
        if n == others:
            return "both other tools" if n == 2 else f"all {n} other tools"
        return f"{n} of the {others} other tools"

    def _first(self, best: str) -> str:
        """Say which tool is ahead."""
        board, truth = self.board, self.record.truth.short
        where = [
            d.choices[self.order[d.name]]
            for d in board.dimensions
            if f"{{{d.name}}}" not in board.estimate and len(d.choices) > 1 and self.order[d.name] != d.total
        ]
        equal = [n for n in self.tools if self.at(n) == self.at(best)]
        names, several = few_of([board.label(n) for n in equal]), len(equal) > 1
        of = f"Of {len(self.tools)} tools, " if len(self.tools) > 1 else ""
        if board.relation == "with the truth":
            whom = f"{'the ' if truth == USERS else ''}{truth}"
            how = f"agree{'' if several else 's'}{' best' if of else ''} with {whom}"
            said = [self.measured(self.at(best)), *where]
        elif not of:
            at = f" ({', '.join(where)})" if where else ""
            return f"The {self.measure} of {names} is {self.value(self.at(best))}{at}"
        else:
            extreme = "highest" if board.higher_in(self.order) else "lowest"
            how = f"{'have' if several else 'has'} the {extreme} {self.measure}"
            said = [self.value(self.at(best)), *where]
        return f"{of}{names} {how} ({', '.join(said)})"

    def _people(self, best: str, line: PeopleLine | None) -> str:
        """Say whether the best tool reaches people."""
        label = self.board.label
        if line and line.said:
            return line.said
        if not self.people:
            return f"People reach {self.interval(line)} ({line.label})." if line else ""
        who = self.people[0]
        ahead = (
            self.at(best) >= self.at(who)
            if self.board.higher_in(self.order)
            else self.at(best) <= self.at(who)
        )
        value = f"the {self.value(self.at(who))} of {label(who)}"
        if ahead:
            shown = "is shown to be better" if self.shown_better(best, who) else "is not shown to be better"
            return f"{label(best)} reaches {value}, and {shown}."
        if self.tests is None or self.shown_better(who, best):
            return f"None reaches {value}."
        return f"None reaches {value}; whether {label(best)} is worse is open."

    def interval(self, line: PeopleLine) -> str:
        """Return what people reach, with its interval, if it has one."""
        ends = "" if math.isnan(line.low) else f" [{self.value(line.low)}, {self.value(line.high)}]"
        return f"{self.measured(line.estimate)}{ends}"
