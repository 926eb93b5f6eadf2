"""What a study of explanations finds out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.analysis.agreement.by_group import by_group
from metaeval.analysis.agreement.forest import CELL
from metaeval.base.progress import progress
from metaeval.base.records import USER_RATER
from metaeval.engine.comparison import Tests, compare_prepared
from metaeval.engine.correlation import correlated
from metaeval.engine.correlation_board import correlation_board
from metaeval.engine.matched import Matched
from metaeval.engine.ranking import ranking
from metaeval.engine.results import PeopleLine, RankedCell, Results
from metaeval.engine.sentences import tests_sentence
from metaeval.kinds.explanations.reading import LEVEL_MEANINGS
from metaeval.reports import words
from metaeval.runs.folder import CORRELATIONS, RATERS
from metaeval.stats.resampling.threads import in_threads
from metaeval.study.commands.details import details_of
from metaeval.study.figures import sheets_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from metaeval.base.records import ScoreTable
    from metaeval.engine.board import Board
    from metaeval.engine.comparison import Comparisons
    from metaeval.engine.policy import Prepared
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.explanations.study import ExplanationStudy
    from metaeval.runs.record import Record

_MOST_PERMUTATIONS = 10_000  # in columns other than the one that orders the leaderboard
_MOST_TESTED = 32  # evaluators, above which only that column is tested


def explanation_results(
    study: ExplanationStudy, data: ExplanationSet, scores: ScoreTable, truth: pd.DataFrame, record: Record
) -> Results:
    """Correlate scores with the truth, test, and work out details and figures."""
    with progress("correlating"):
        matched = Matched(scores, truth, study.policy)
        result = correlated(matched.prepared, scores, study.bootstrap)
    with progress("testing"):
        tests = compare_prepared(matched.prepared, study.by, study.tests) if study.tests else None
    raters = data.ratings[data.ratings["rater"] != USER_RATER]
    rated = raters if len(raters) else None
    record = record.having(policy=dict(result.policy))
    with progress("details"):
        details = details_of(matched, rated, record) if study.details else []
    with progress("figures"):
        figures = sheets_of(matched, rated, record, result.frame)
    board = correlation_board(result, study.by)
    return Results(
        board,
        study.by,
        tests,
        tuple(_ranked(board, matched.prepared, tests, study.tests)),
        dict(result.policy),
        details,
        figures,
        by_group(matched.prepared),
        (
            ("level", words.meanings(LEVEL_MEANINGS, study.policy.levels)),
            (
                "undefined groups",
                "groups of a level where truth or scores are all equal, so without a coefficient",
            ),
        ),
        tuple(_people(figures)),
        {**({} if rated is None else {RATERS: rated}), CORRELATIONS: result.frame},
        kept=False,
    )


def _ranked(
    board: Board,
    data: Prepared,
    tests: Comparisons | None,
    options: Tests | None,
) -> Iterator[RankedCell]:
    """Test the columns of the leaderboard, but for ranks over all units, which take long."""
    if tests is None or options is None:
        return
    yield _tested(board, tests)
    if len(data.evaluators) > _MOST_TESTED:
        return
    how = options.model_copy(update={"permutations": min(options.permutations, _MOST_PERMUTATIONS)})
    rows = board.frame[CELL].drop_duplicates().itertuples(index=False)
    cells = [dict(zip(CELL, map(str, row), strict=True)) for row in rows]
    others = [
        by for by in cells if by != tests.by and (by["coefficient"] == "pearson" or by["level"] != "dataset")
    ]
    for found in in_threads(lambda by: compare_prepared(data, by, how), others):
        yield _tested(board, found)


def _tested(board: Board, tests: Comparisons) -> RankedCell:
    sheet = ranking(board, tests=tests)
    return RankedCell(tests.by, sheet, tests.policy["alpha"], tests_sentence(tests.policy))


def _people(figures: Sequence[Sheet]) -> Iterator[PeopleLine]:
    """Yield what people reach in each column: the line that the figure of the ranking has."""
    for sheet in (figure for figure in figures if figure.name == "ranking"):
        lines = sheet.frame.dropna(subset=["human"]).drop_duplicates(CELL)
        for line in lines.to_dict("records"):
            yield PeopleLine(str(line["human_who"]), {k: str(line[k]) for k in CELL}, line["human"])
