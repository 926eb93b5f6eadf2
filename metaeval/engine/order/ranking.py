"""The results of a study, and the ranking of evaluators in one cell: interval, rank range, cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.errors import MetaevalError
from metaeval.engine.sentences import ranks_sentence, tests_sentence
from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.engine.board import Board, Cell
    from metaeval.engine.drilldown import Groups
    from metaeval.engine.figure import Figure
    from metaeval.engine.order.paired_tests import Comparisons


_COSTS = (
    Column("unread", "unread", "share"),
    Column("unread_first", "unread, in order", "share"),
    Column("unread_second", "unread, swapped", "share"),
    Column("usd_per_text", "USD per unit", "usd"),
    Column("seconds_per_text", "time per unit", "seconds"),
    Column("tokens_per_text", "tokens per unit", "count"),
)
_BY_ORDER = ("unread_first", "unread_second")  # of what is shown in two orders


def ranking(
    board: Board,
    *,
    by: Cell | Sequence[str] | str | None = None,
    tests: Comparisons | None = None,
    costs: pd.DataFrame | None = None,
) -> Sheet:
    """Order evaluators by one cell of a board.

    Parameters
    ----------
    by
        The cell; that of the tests, or the one that is shown first, if left out.
    tests
        Of the same cell, with the ranks that evaluators may have.
    costs
        A row per evaluator: ``evaluator``, ``unread``, ``unread_first``, ``unread_second``,
        ``usd_per_text``, ``seconds_per_text``, ``tokens_per_text``.

    Raises
    ------
    MetaevalError
        If the board has no such cell, or the tests are of another one.
    """
    tested = None if tests is None else board.cell(tests.by)
    at = board.cell(by, tested)
    if tested not in (None, at):
        raise MetaevalError(
            f"the tests are by {board.words(tested)}, not by {board.words(at)}; compare by the same column"
        )
    down = board.higher_in(at)
    rows = board.of(at).sort_values("estimate", ascending=not down, kind="stable")
    apart = rows["evaluator"].isin(board.apart).sort_values(kind="stable")
    rows = rows.loc[apart.index].reset_index(drop=True)
    compared = rows["estimate"].where(~apart.to_numpy())
    places = compared.rank(method="min", ascending=not down)  # equals share a rank
    rows.insert(0, "rank", ["" if math.isnan(place) else f"{place:.0f}" for place in places])
    rows["label"] = [board.label(e) for e in rows["evaluator"]]
    columns = [Column("rank", "rank"), Column("label", "evaluator")]
    notes = [f"Ordered by {board.words(at)}."]
    title, second = board.estimate.format(**at) + " (lower is better)" * (not down), board.second_of(at)
    if second is None:
        ends = ("ci_low", "ci_high") if board.intervals else ()
        columns.append(Column("estimate", title, board.form, *ends))
        if board.intervals:
            notes.append(board.intervals)
    else:
        columns.append(Column("estimate", title, board.form))
        if second.made or rows[second.name].notna().any():
            columns.append(Column(second.name, second.title, board.form, "ci_low", "ci_high"))
        notes += second.made
    if tests is not None:
        rows, of_ranks, of_tests, more = _tested(rows, tests, board)
        columns[1:1] = of_ranks
        columns += of_tests
        notes += more
    columns += [Column(name, said, "count") for name, said in board.counts.items() if rows[name].any()]
    if costs is not None and len(costs):
        rows = rows.merge(costs[["evaluator", *(c.name for c in _COSTS)]], how="left", on="evaluator")
        columns += [c for c in _COSTS if c.name not in _BY_ORDER or rows[c.name].notna().any()]
    return Sheet("ranking", "Ranking", rows, tuple(columns), tuple(notes), board.simulated)


def _tested(
    rows: pd.DataFrame, tests: Comparisons, board: Board
) -> tuple[pd.DataFrame, list[Column], list[Column], list[str]]:
    """Add the ranks that each evaluator may have, and how it stands against the best and the baseline.

    Returns the rows, the columns on ranks and those on tests, and notes.
    """
    import pandas as pd

    place = [tests.evaluators.index(e) for e in rows["evaluator"]]
    square = np.ix_(place, place)
    p, alpha, ranks = tests.p_corrected[square], tests.policy["alpha"], tests.ranks
    # The best is the first that any test compares: one may have scores for too few units.
    known = ~np.isnan(p)
    first = int(known.any(axis=1).argmax())
    tested = known.any(axis=1) | (np.arange(len(p)) == first)
    difference, half = (matrix[square][:, first] for matrix in (tests.difference, tests.half))
    names = rows["evaluator"]
    of = [ranks.of[name] for name in names]
    whole = {
        "rank_low": [r.low for r in of],
        "rank_high": [r.high for r in of],
        "rank_low_simultaneous": [r.low_simultaneous for r in of],
        "rank_high_simultaneous": [r.high_simultaneous for r in of],
    }
    estimated = rows["estimate"].notna()
    rows = rows.assign(
        rank_range=[str(r) for r in of],
        **{name: pd.array(values, dtype="Int64") for name, values in whole.items()},
        may_be_best=pd.array([ranks.may_be_best(name) for name in names], dtype="boolean"),
        p_best=np.array([r.p_best for r in of], dtype=np.float64),
        better_than_baseline=pd.array([ranks.better_than_baseline(e) for e in names], dtype="boolean"),
        difference=difference,
        difference_low=difference - half,
        difference_high=difference + half,
        p_against_best=p[first],
        worse_than_best=p[first] <= alpha,
        verdict=[
            "not compared" if not_tested else "best" if i == first and there else _verdict(value, alpha)
            for i, (value, there, not_tested) in enumerate(
                zip(p[first], estimated, estimated & ~tested, strict=True)
            )
        ],
    )
    notes = [ranks_sentence(ranks, board.label)]
    if ranks.refused:
        shown = [Column("verdict", "against the best", keep=True)]
        return rows, [], shown, [*notes, tests_sentence(tests.policy)]
    of_tests = [
        Column("may_be_best", "may be best", keep=True),
        Column("p_best", "p", "p"),
        Column("difference", "against the best", board.form, "difference_low", "difference_high"),
    ]
    if ranks.baseline:
        of_tests[2:2] = [Column("better_than_baseline", f"better than {board.label(ranks.baseline)}")]
    return rows, [Column("rank_range", "rank range", keep=True)], of_tests, notes


def _verdict(p: float, alpha: float) -> str:
    if math.isnan(p):
        return ""
    text = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return f"worse, {text}" if p <= alpha else text


@dataclass(frozen=True, slots=True, eq=False)
class RankedCell:
    """The tests of one cell of the board."""

    at: Mapping[str, str]
    """Dimension → value."""
    ranking: Sheet
    """What `metaeval.engine.order.ranking` made of them; the best first."""
    tests: Comparisons
    sentence: str
    """What rank ranges are, and how evaluators were tested."""

    @classmethod
    def of(cls, board: Board, tests: Comparisons) -> RankedCell:
        """Rank the evaluators of a board by the cell that was tested."""
        told = f"{ranks_sentence(tests.ranks, board.label)} {tests_sentence(tests.policy)}"
        return cls(tests.by, ranking(board, tests=tests), tests, told)


@dataclass(frozen=True, slots=True)
class PeopleLine:
    """The agreement of people in one cell of the board."""

    label: str
    at: Mapping[str, str]
    estimate: float
    low: float = math.nan
    high: float = math.nan
    """The ends of its interval, in the cell that orders the leaderboard."""
    among: bool = False
    """Whether people are compared with each other, and not with the truth."""
    again: bool = False
    """Whether people are compared with themselves, asked again."""
    said: str = ""
    """What is said in place of how far people come, if the kind of study knows more."""


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """The results of a study."""

    board: Board
    order: Mapping[str, str]
    """The cell that orders the leaderboard: dimension → value."""
    tests: Comparisons | None = None
    """Of every two evaluators in that cell."""
    ranked: Sequence[RankedCell] = ()
    """The cells that are tested, for the report."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    """What was done with missing values and the like, for ``run.json``."""
    figures: Sequence[Figure] = ()
    groups: Sequence[Groups] = ()
    people: Sequence[PeopleLine] = ()
    table: pd.DataFrame | None = None
    """What the file of the board holds, where that is more than the frame of the board."""
    files: Mapping[str, pd.DataFrame | str] = field(default_factory=dict)
    """Name of a file of the kind, beside those of its tables → its content: rows, or text."""
