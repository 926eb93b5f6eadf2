"""What becomes of a pairwise judge's replies: verdicts, scores of units, and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.records import FIRST, SECOND, TIE, Status
from metaeval.evaluators.grid import CODES, OK, STATUSES, Grid
from metaeval.evaluators.strengths import strengths, strengths_by_group
from metaeval.evaluators.verdicts import (
    FLIP,
    NO_VERDICT,
    OUTCOMES,
    WINNERS,
    outcomes,
    points,
)
from metaeval.judging.outcome import COSTS, Outcome
from metaeval.kinds.explanations.text.texts import explanations_of
from metaeval.stats.ranking.comparisons import Games

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.evaluators.grid import CodeArray, FloatArray
    from metaeval.evaluators.verdicts import Flips
    from metaeval.judging.model_evaluator import Question
    from metaeval.judging.outcome import Answered
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.explanations.pairwise.pairings import Match

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
        self.cost = {c: np.zeros((len(data), len(aspects))) for c in COSTS}

    def expect(self, matches: Sequence[Match]) -> None:
        """Make room for further pairs."""
        self.matches += matches
        shape = (len(matches), len(_ORDERS), len(self.aspects))
        self.winners = np.concatenate([self.winners, np.full(shape, NO_VERDICT, np.int8)])
        self.codes = np.concatenate([self.codes, np.full(shape, _MISSING, np.int8)])
        self.call = np.concatenate([self.call, np.full(shape, "", dtype=object)])

    def take(self, question: Question, found: Answered) -> None:
        """Note the verdicts of a reply, or why it has none; both units and all aspects share its cost."""
        self.meet(found)
        match, order = question.about
        aspects = list(question.aspects)
        self.codes[match, order, aspects] = CODES[found.status]
        if found.read is not None:
            said = np.array([WINNERS.index(str(found.read[self.aspects[a]])) for a in aspects], np.int8)
            # A reply says 1 for the text shown first, which is the second generator's in the other order.
            self.winners[match, order, aspects] = np.where(said == 0, 0, 3 - said) if order else said
        self.call[match, order, aspects] = found.call
        shared = np.ix_(self.matches[match][1:], aspects)
        for column, spent in zip(COSTS, found.cost, strict=True):
            self.cost[column][shared] += spent / (2 * len(aspects))

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
        won = points(self.outcomes)
        total: dict[int, list[float]] = {}
        for match, row in zip(self.matches, won, strict=True):
            given = row[~np.isnan(row)].tolist()
            total.setdefault(match.first, []).extend(given)
            total.setdefault(match.second, []).extend(1 - p for p in given)
        # Rounded: the order of equals must not hang on the order of a sum.
        return {unit: round(sum(p) / len(p), 9) for unit, p in total.items() if p}

    def counts(self) -> dict[str, int]:
        """Return how many pairs × aspects were wins, ties, flips and failures."""
        found = self.outcomes
        of_code = {name: int((found == code).sum()) for code, name in enumerate(OUTCOMES[:-1])}
        wins = of_code[FIRST] + of_code[SECOND]
        return {
            "wins": wins,
            "ties": of_code[TIE],
            "flips": int((found == FLIP).sum()),
            "failed": int((found == NO_VERDICT).sum()),
        }

    def grid(self, method: str, per: str, flips: Flips, seed: int) -> Grid:
        """Return the scores of units: their strengths, or those of their generators.

        A unit without a comparison that counts has the status of its first failure. If the budget ended
        before all comparisons were asked, generators have no score.

        Parameters
        ----------
        method
            One of `metaeval.evaluators.strengths.METHODS`.
        per
            ``unit``, or ``generator``: all its units with a text get its strength.
        flips, seed
            How flips count; of the order of comparisons, for Elo.
        """
        names, generator = np.unique(self.data.explanations["generator"].to_numpy(str), return_inverse=True)
        group, first, second = np.array(self.matches, dtype=np.int64).reshape(-1, 3).T
        won = points(self.outcomes, flips)
        codes = self._failures(first, second)
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
                found = strengths(method, games, seed)[generator[scored]]
                if (self.codes[:, :, aspect] == _BUDGET).any():
                    grid.codes[scored, aspect] = _BUDGET
            else:
                n_groups = int(group.max(initial=-1)) + 1
                by_group = strengths_by_group(method, games, group[counted], n_groups, seed)
                found = by_group[of_unit[scored], generator[scored]]
            fine = ~np.isnan(found) & (grid.codes[scored, aspect] != _BUDGET)
            grid.scores[scored[fine], aspect] = found[fine]
            grid.codes[scored[fine], aspect] = OK
        return grid

    def _failures(self, first: Any, second: Any) -> CodeArray:  # noqa: ANN401 - int64 of shape (pairs,)
        """Return the first failure of each unit and aspect; that of the budget counts before all others."""
        found = np.full((len(self.data), len(self.aspects)), _MISSING, np.int8)
        for at in range(len(self.matches) - 1, -1, -1):
            for unit in (first[at], second[at]):
                for codes in self.codes[at, ::-1]:
                    keep = (codes == OK) | (found[unit] == _BUDGET)
                    found[unit] = np.where(keep, found[unit], codes)
        return found

    def calls(self) -> Any:  # noqa: ANN401 - str of shape (units, aspects)
        """Return the key of the first call about each unit and aspect; empty if there was none."""
        found = np.full((len(self.data), len(self.aspects)), "", dtype=object)
        for match, call in zip(reversed(self.matches), self.call[::-1], strict=True):
            for unit in (match.first, match.second):
                for keys in call[::-1]:
                    found[unit] = np.where(keys == "", found[unit], keys)
        return found

    def costs(self) -> dict[str, FloatArray]:
        """Return tokens, USD and seconds of each unit and aspect; NaN where nothing was asked."""
        asked = np.zeros(len(self.data), dtype=bool)
        asked[[unit for match in self.matches for unit in match[1:]]] = True
        return {column: np.where(asked[:, None], spent, np.nan) for column, spent in self.cost.items()}

    def frame(self, evaluator: str) -> pd.DataFrame:
        """Return the verdicts, long, as `metaeval.evaluators.verdicts` says."""
        import pandas as pd

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
        return frame
