"""What becomes of a pairwise judge's replies: verdicts, scores of units, and costs."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError
from metaeval.base.records import FIRST, SECOND, TIE, Status
from metaeval.evaluators.grid import CODES, OK, STATUSES, CodeArray, FloatArray, Grid, rows_of
from metaeval.evaluators.verdicts import (
    FAILED,
    FLIP,
    NO_VERDICT,
    OUTCOMES,
    WINNERS,
    Flips,
    outcomes,
    points,
    strengths,
    strengths_by_group,
)
from metaeval.judging.outcome import COSTS, Outcome, Question, QuestionResult
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.text.texts import explanations_of
from metaeval.stats.ranking.comparisons import Games
from metaeval.stats.resampling.weights import permutation

ALL, SAMPLED, SWISS = SELECTIONS = ("all", "sampled", "swiss")


class Match(NamedTuple):
    """Two units to compare, by their positions in the data; ``first``'s generator comes first as text."""

    group: int
    """Place of the user and item among `groups_of`."""
    first: int
    second: int


class PairGroup(NamedTuple):
    """The units that explain one item to one user, in the order of their generators' names."""

    key: tuple[str, ...]
    """User and item, or the item alone in a study without users."""
    units: tuple[int, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of its units."""
        return list(itertools.combinations(self.units, 2))


def groups_of(data: ExplanationSet, units: Iterable[int]) -> list[PairGroup]:
    """Return the groups of the units at some positions that can be compared, in the order of the data."""
    rows = list(rows_of(data.explanations, data.keys))  # the generator comes last
    members: dict[tuple[str, ...], list[int]] = {}
    for unit in units:
        members.setdefault(rows[unit][:-1], []).append(unit)
    return [PairGroup(key, tuple(sorted(of, key=lambda unit: rows[unit][-1]))) for key, of in members.items()]


def compared_groups(data: ExplanationSet, who: object, instead: str) -> list[PairGroup]:
    """Return the groups of at least two texts, which ``who`` compares.

    `DataError` is raised if there are none; it says what to do ``instead``.
    """
    if "generator" not in data.keys:
        raise DataError(f"data set {data.name!r} has no generators, so there are no pairs to compare")
    units = [unit for unit, text in enumerate(explanations_of(data, who)) if text is not None]
    groups = [group for group in groups_of(data, units) if len(group.units) > 1]
    if not groups:
        raise DataError(
            f"data set {data.name!r} has no two explanations of the same item for the same user, so "
            f"there is nothing to compare; {instead}"
        )
    return groups


def all_matches(groups: Sequence[PairGroup]) -> list[Match]:
    """Return every pair of every group."""
    return [Match(at, *pair) for at, group in enumerate(groups) for pair in group.pairs]


def sampled_matches(groups: Sequence[PairGroup], n: int, seed: int) -> list[Match]:
    """Return ``n`` pairs of each group, or all if it has fewer.

    A group's draw depends on the seed and its user and item alone.
    """
    return [
        Match(at, *group.pairs[i])
        for at, group in enumerate(groups)
        for i in sorted(permutation(len(group.pairs), seed, *group.key)[:n])
    ]


def swiss_matches(
    groups: Sequence[PairGroup], points: Mapping[int, float], played: set[tuple[int, int]], seed: int
) -> list[Match]:
    """Return the next Swiss round in every group: generators with similar records meet.

    Within a group, units are sorted by their mean ``points`` per comparison so far (0.5 without one), equals
    in an order that is drawn; from the top, each meets the next below that it has not met. An odd one out
    gets a bye. Pairs that were ``played`` have their units in the order of the generators' names.
    """
    matches = []
    for at, group in enumerate(groups):
        drawn = [group.units[i] for i in permutation(len(group.units), seed, *group.key)]
        waiting = sorted(drawn, key=lambda unit: -points.get(unit, 0.5))  # stable: equals stay as drawn
        while waiting:
            one = waiting.pop(0)
            for other in waiting:
                first, second = sorted((one, other), key=group.units.index)
                if (first, second) not in played:
                    waiting.remove(other)
                    matches.append(Match(at, first, second))
                    break
    return matches


_BUDGET, _MISSING = CODES[Status.BUDGET], CODES[Status.MISSING]
_ORDERS = (FIRST, SECOND)


class Compared(Outcome):
    """What comparing has brought so far; arrays of verdicts have shape (pairs, orders, aspects)."""

    def __init__(self, data: ExplanationSet, aspects: Sequence[str]) -> None:
        super().__init__()
        self.data, self.aspects = data, aspects
        self.matches: list[Match] = []
        shape = (0, len(_ORDERS), len(aspects))
        self.winners = np.zeros(shape, np.int8)
        self.codes = np.zeros(shape, np.int8)
        self.call = np.zeros(shape, dtype=object)
        self.spent = np.zeros((*shape, len(COSTS)))

    def expect(self, matches: Sequence[Match]) -> None:
        """Make room for further pairs."""
        self.matches += matches
        shape = (len(matches), len(_ORDERS), len(self.aspects))
        self.winners = np.concatenate([self.winners, np.full(shape, NO_VERDICT, np.int8)])
        self.codes = np.concatenate([self.codes, np.full(shape, _MISSING, np.int8)])
        self.call = np.concatenate([self.call, np.full(shape, "", dtype=object)])
        self.spent = np.concatenate([self.spent, np.zeros((*shape, len(COSTS)))])

    def take(self, question: Question, answer: QuestionResult) -> None:
        """Note the verdicts of a reply, or why it has none, and its cost."""
        self.meet(answer)
        match, order = question.about
        aspects = list(question.aspects)
        self.codes[match, order, aspects] = CODES[answer.status]
        if answer.read is not None:
            winners = np.array([WINNERS.index(str(answer.read[self.aspects[a]])) for a in aspects], np.int8)
            # A reply says 1 for the text shown first, which is the second generator's in the other order.
            turned = np.where(winners == 0, 0, 3 - winners)
            self.winners[match, order, aspects] = turned if order else winners
        self.call[match, order, aspects] = answer.call
        self.spent[match, order, aspects] = answer.cost

    @property
    def outcomes(self) -> CodeArray:
        """What both orders come to, shape (pairs, aspects)."""
        return outcomes(self.winners[:, 0], self.winners[:, 1])

    @property
    def played(self) -> set[tuple[int, int]]:
        """Pairs of units that were compared."""
        return {(m.first, m.second) for m in self.matches}

    def standings(self) -> dict[int, float]:
        """Return the mean points per comparison of each unit, over all aspects; flips count as ties."""
        won = defaultdict[int, list[float]](list)
        for match, row in zip(self.matches, points(self.outcomes), strict=True):
            counted = row[~np.isnan(row)].tolist()
            won[match.first] += counted
            won[match.second] += [1 - p for p in counted]
        # Rounded: the order of equals must not hang on the order of a sum.
        return {unit: round(fmean(p), 9) for unit, p in won.items() if p}

    def counts(self) -> dict[str, int]:
        """Return how many pairs × aspects were wins, ties, flips and failures."""
        number = {code: int((self.outcomes == code).sum()) for code in range(FAILED, FLIP + 1)}
        tie, first, second = (number[OUTCOMES.index(name)] for name in (TIE, FIRST, SECOND))
        return {"wins": first + second, "ties": tie, "flips": number[FLIP], "failed": number[FAILED]}

    def grid(self, method: str, per: str, flips: Flips, seed: int) -> Grid:
        """Return the scores of units: their strengths, or those of their generators.

        A unit without a comparison that counts has the status of its first failure. If the budget ended
        before all comparisons were asked, generators have no score. With ``per="generator"`` all units with a
        text get the strength of their generator; ``seed`` is of the order of comparisons, for Elo.
        """
        names, generator = np.unique(self.data.explanations["generator"].to_numpy(str), return_inverse=True)
        group, first, second = np.array(self.matches, dtype=np.int64).reshape(-1, 3).T
        won = points(self.outcomes, flips)
        # The first failure of each unit and aspect; that of the budget counts before all others.
        codes: CodeArray = self._first_of_unit(
            self.codes, _MISSING, lambda code, old: (code != OK) & (old != _BUDGET)
        )
        grid = Grid(np.full(codes.shape, np.nan), codes)
        of_unit = np.full(len(self.data), -1)
        of_unit[first], of_unit[second] = group, group
        has_text = [bool(t) for t in explanations_of(self.data, "the judge")]
        scored = np.flatnonzero(of_unit >= 0 if per == "unit" else has_text)
        for aspect in range(len(self.aspects)):
            counted = np.flatnonzero(~np.isnan(won[:, aspect]))
            games = Games(
                generator[first[counted]], generator[second[counted]], won[counted, aspect], len(names)
            )
            if per == "generator":
                values = strengths(method, games, seed)[generator[scored]]
                if (self.codes[:, :, aspect] == _BUDGET).any():
                    grid.codes[scored, aspect] = _BUDGET
            else:
                n_groups = int(group.max(initial=-1)) + 1
                by_group = strengths_by_group(method, games, group[counted], n_groups, seed)
                values = by_group[of_unit[scored], generator[scored]]
            fine = ~np.isnan(values) & (grid.codes[scored, aspect] != _BUDGET)
            grid.scores[scored[fine], aspect] = values[fine]
            grid.codes[scored[fine], aspect] = OK
        return grid

    def calls(self) -> Any:  # noqa: ANN401 - str of shape (units, aspects)
        """Return the key of the first call about each unit and aspect; empty if there was none."""
        return self._first_of_unit(self.call, "", lambda key, _: key != "")

    def _first_of_unit(self, values: Any, default: Any, taken: Callable[[Any, Any], Any]) -> Any:  # noqa: ANN401
        """Return the first of the values of each unit that is to be taken, shape (units, aspects)."""
        first = np.full((len(self.data), len(self.aspects)), default, values.dtype)
        for match, orders in zip(reversed(self.matches), values[::-1], strict=True):
            for unit in match[1:]:
                for value in orders[::-1]:
                    first[unit] = np.where(taken(value, first[unit]), value, first[unit])
        return first

    @property
    def _costs(self) -> Any:  # noqa: ANN401 - an array
        """The cost of each verdict, shape (pairs, orders, aspects, costs): all of a call share its cost."""
        verdicts = Counter(self.call.ravel().tolist())  # equal texts are compared once
        return self.spent / np.vectorize(verdicts.__getitem__, otypes=[float])(self.call)[..., None]

    def costs(self) -> dict[str, FloatArray]:
        """Return tokens, USD and seconds of each unit and aspect; NaN where nothing was asked."""
        of_pair = self._costs.sum(axis=1) / 2
        units = np.array([match[1:] for match in self.matches], dtype=np.intp).reshape(-1, 2)
        costs = np.full((len(self.data), *of_pair.shape[1:]), np.nan)
        costs[units] = 0
        for unit in units.T:
            np.add.at(costs, unit, of_pair)
        return {column: costs[..., i] for i, column in enumerate(COSTS)}

    def frame(self, evaluator: str) -> pd.DataFrame:
        """Return the verdicts, long, as `metaeval.evaluators.verdicts` says."""
        explanations = self.data.explanations
        pairs, orders, n_aspects = self.winners.shape
        at, order, aspect = (i.ravel() for i in np.indices((pairs, orders, n_aspects)))
        first, second = (np.array([m[i] for m in self.matches], np.intp)[at] for i in (1, 2))
        frame = explanations[list(self.data.keys[:-1])].take(first).reset_index(drop=True)
        for name, unit in ((FIRST, first), (SECOND, second)):
            frame[name] = explanations["generator"].take(unit).array
        frame["aspect"] = pd.Series(list(self.aspects)).take(aspect).array
        frame["evaluator"] = evaluator
        frame["order"] = pd.Series(list(_ORDERS)).take(order).array
        frame["winner"] = pd.Series(list(WINNERS)).take(self.winners.ravel() % len(WINNERS)).array
        frame["status"] = pd.Series([s.value for s in STATUSES]).take(self.codes.ravel()).array
        frame["call"] = self.call.ravel().astype(str)
        frame[list(COSTS)] = self._costs.reshape(-1, len(COSTS))
        return frame
