"""The results of a study, and the ranking of evaluators in one cell: interval, rank group, cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.errors import MetaevalError
from metaeval.engine.sentences import rank_groups_sentence, tests_sentence
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.ranking.orders import rank_clusters

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.engine.board import Board, Cell
    from metaeval.engine.drilldown import Groups
    from metaeval.engine.figure import Figure
    from metaeval.engine.paired_tests import Comparisons


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
        Of the same cell. Evaluators that are not significantly different from the best share rank group 1;
        the best of the rest leads rank group 2, and so on.
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
        rows, more = _clusters(rows, tests, higher_is_better=down)
        columns[1:1] = [Column("cluster", "rank group")]
        columns.append(Column("verdict", "against the best", keep=True))
        notes += more
    columns += [Column(name, said, "count") for name, said in board.counts.items() if rows[name].any()]
    if costs is not None and len(costs):
        rows = rows.merge(costs[["evaluator", *(c.name for c in _COSTS)]], how="left", on="evaluator")
        columns += [c for c in _COSTS if c.name not in _BY_ORDER or rows[c.name].notna().any()]
    return Sheet("ranking", "Ranking", rows, tuple(columns), tuple(notes), board.simulated)


def _clusters(
    rows: pd.DataFrame, tests: Comparisons, *, higher_is_better: bool
) -> tuple[pd.DataFrame, list[str]]:
    """Add each evaluator's rank group, and how it stands against the best."""
    place = [tests.evaluators.index(e) for e in rows["evaluator"]]
    p = tests.p_corrected[np.ix_(place, place)]
    alpha = tests.policy["alpha"]
    estimates = rows["estimate"].to_numpy()
    # An evaluator that no test compares, as it has scores for too few units, is in no rank group.
    first = int((~np.isnan(p)).any(axis=1).argmax())
    tested = (~np.isnan(p)).any(axis=1) | (np.arange(len(p)) == first)
    compared = np.where(tested, estimates, np.nan)
    clusters = rank_clusters(compared if higher_is_better else -compared, p, alpha)
    against_best = p[first]
    rows = rows.assign(
        cluster=[str(c) if c else "" for c in clusters],
        p_best=against_best,
        worse_than_best=against_best <= alpha,
        verdict=[
            "best" if place == first and cluster else _verdict(value, alpha) if known else "not compared"
            for place, (cluster, value, known) in enumerate(
                zip(clusters, against_best, tested | np.isnan(estimates), strict=True)
            )
        ],
    )
    return rows, [rank_groups_sentence(alpha), tests_sentence(tests.policy)]


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
    """What `metaeval.engine.ranking` made of them: ``evaluator``, ``cluster``, ``p_best``; the best first."""
    alpha: float
    sentence: str
    """What rank groups are, and how evaluators were tested."""

    @classmethod
    def of(cls, board: Board, tests: Comparisons) -> RankedCell:
        """Rank the evaluators of a board by the cell that was tested."""
        sheet, alpha = ranking(board, tests=tests), tests.policy["alpha"]
        return cls(tests.by, sheet, alpha, f"{rank_groups_sentence(alpha)} {tests_sentence(tests.policy)}")


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
