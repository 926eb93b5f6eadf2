"""What a study of correlations finds out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.analysis.agreement.by_group import by_group
from metaeval.base.progress import progress
from metaeval.engine.comparison import compare_prepared
from metaeval.engine.correlation import correlated
from metaeval.engine.correlation_board import COLUMN, correlation_board
from metaeval.engine.results import RankedCell, Results
from metaeval.kinds.correlated import LEVEL_MEANINGS
from metaeval.stats.resampling.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.engine.board import Board
    from metaeval.engine.comparison import Comparisons
    from metaeval.kinds.correlated import CorrelatedKind, CorrelatedStudy
    from metaeval.kinds.scored import Scored

_MOST_PERMUTATIONS = 10_000  # in columns other than the one that orders the leaderboard
_MOST_TESTED = 32  # evaluators, above which only that column is tested


def results(kind: CorrelatedKind, scored: Scored[CorrelatedStudy]) -> Results:
    """Correlate scores with the truth, test, and work out the figures."""
    study, data = scored.study, scored.matched.prepared
    with progress("correlating"):
        result = correlated(data, scored.scores, study.bootstrap)
        board = correlation_board(result, study.by)
    with progress("testing"):
        tests = compare_prepared(data, study.by, study.tests) if study.tests else None
        ranked = tuple(_ranked(scored, board, tests)) if tests else ()
    with progress("figures"):
        drawn = kind.figures(scored, board)
    levels = [f"{level}: {said}" for level, said in LEVEL_MEANINGS.items() if level in study.policy.levels]
    undefined = "groups of a level where truth or scores are all equal, so without a coefficient"
    return Results(
        board,
        study.by,
        tests,
        ranked,
        dict(result.policy),
        drawn,
        by_group(data),
        (("level", "; ".join(levels)), ("undefined groups", undefined)),
        tuple(kind.people(drawn)),
        result.frame,  # has the average over aspects where there is one aspect, too
    )


def _ranked(scored: Scored[CorrelatedStudy], board: Board, tests: Comparisons) -> Iterator[RankedCell]:
    """Test the columns of the leaderboard, but for ranks over all units, which take long."""
    yield RankedCell.of(board, tests)
    data, options = scored.matched.prepared, scored.study.tests
    if options is None or len(data.evaluators) > _MOST_TESTED:
        return
    how = options.model_copy(update={"permutations": min(options.permutations, _MOST_PERMUTATIONS)})
    rows = board.frame[[*COLUMN]].drop_duplicates().itertuples(index=False)
    cells = [dict(zip(COLUMN, map(str, row), strict=True)) for row in rows]
    others = [
        by for by in cells if by != tests.by and (by["coefficient"] == "pearson" or by["level"] != "dataset")
    ]
    for found in in_threads(lambda by: compare_prepared(data, by, how), others):
        yield RankedCell.of(board, found)
