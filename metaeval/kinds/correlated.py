"""Kinds of study that correlate scores with the truth, by aspect, level and coefficient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from metaeval.analysis.agreement.measures import by_group
from metaeval.base.errors import exact, one_of
from metaeval.base.keys import levels_of, preferred_levels
from metaeval.base.progress import progress
from metaeval.base.records import AVERAGE, COEFFICIENTS, LEVELS, DataOfKind
from metaeval.engine.alignment.policy import Coefficient, Missing, Policy
from metaeval.engine.cells import CorrelationCells
from metaeval.engine.correlation import COLUMN, CORRELATIONS, correlated, correlation_board
from metaeval.engine.paired_tests import OrderBy, compare_prepared
from metaeval.engine.passes import compare_loaded, correlate_loaded
from metaeval.engine.ranking import PeopleLine, RankedCell, Results
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.study import Study, distinct, unknown_word
from metaeval.stats.resampling.weights import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.engine.board import Board, Cell
    from metaeval.engine.figure import Figure
    from metaeval.engine.paired_tests import Comparisons, Tests
    from metaeval.kinds.kind import Scored

LEVEL_MEANINGS = {
    "dataset": "one coefficient over all units",
    "user": "the mean of the coefficients within each user",
    "pair": "the mean of the coefficients within each pair of a user and an item",
    "item": "the mean of the coefficients within each item",
    "generator": "one coefficient over the means of the generators, which wrote the units",
}


_MOST_PERMUTATIONS = 10_000  # in columns other than the one that orders the leaderboard
_MOST_TESTED = 32  # evaluators, above which only that column is tested


def _level(value: str) -> str:
    return one_of(value, LEVELS, "unknown level", "allowed", error=ValueError)


class CorrelatedStudy(Study):
    """What the study file may say of correlations."""

    levels: Annotated[list[Annotated[str, AfterValidator(_level)]], AfterValidator(distinct)] | None = None
    coefficients: Annotated[list[Coefficient], AfterValidator(distinct)] = Field(
        default_factory=lambda: list(COEFFICIENTS)
    )
    missing: Missing = Missing()
    undefined_groups: Literal["skip", "zero"] = "skip"
    units: Literal["common", "own"] = "common"
    order_by: OrderBy = OrderBy()

    @property
    def facts(self) -> dict[str, str]:
        """The levels."""
        return {"levels": ", ".join(self.levels or ())}

    @property
    def by(self) -> Cell:
        """The column that orders the leaderboard, of a study that is resolved."""
        return self.order_by.model_dump()

    @property
    def policy(self) -> Policy:
        """How missing scores, missing truth and undefined groups are treated, of a study that is resolved."""
        return Policy.of(
            self.levels or (), self.coefficients, self.missing.model_dump(), self.undefined_groups, self.units
        )


class CorrelatedKind(StudyKind):
    """A kind whose board holds correlations; a subclass says the rest."""

    study: ClassVar[type[CorrelatedStudy]]
    board_file = CORRELATIONS

    def resolve(self, study: Any, data: DataOfKind) -> Any:  # noqa: ANN401 - the study of the kind
        """Fill in levels, and the column that orders the leaderboard."""
        possible = list(levels_of(data.keys))
        for at, level in enumerate(study.levels or ()):
            if level not in possible:
                have = ", ".join(possible)
                keys = ", ".join(data.keys)
                sentence = f"the key columns {keys} allow no level {level!r}; use some of {have}"
                raise study.error(sentence, "levels", at)
        chosen = list(study.levels or preferred_levels(data.keys))
        aspects = list(study.aspects or data.aspects)
        data.scale.check_numbers(aspects, "correlation")
        fill = study.missing.truth
        for scale in () if isinstance(fill, str) else map(data.scale.of, aspects):
            if not scale.min <= fill <= scale.max:
                sentence = (
                    f"{exact(fill)} is not on the scale of the ratings ({scale}); give one on it, or drop"
                )
                raise study.error(sentence, "missing", "truth")
        known = {
            "aspect": [*aspects, AVERAGE] if len(aspects) > 1 else aspects,
            "level": chosen,
            "coefficient": list(study.coefficients),
        }
        for key, names in known.items():
            value = getattr(study.order_by, key)
            if value is not None and value not in names:
                raise study.error(unknown_word(key, value, names), "order_by", key)
        order = OrderBy(
            aspect=study.order_by.aspect or known["aspect"][-1],
            level=study.order_by.level or chosen[0],
            coefficient=study.order_by.coefficient or study.coefficients[0],
        )
        return study.model_copy(update={"levels": chosen, "order_by": order})

    def cells(self, scored: Scored[Any]) -> CorrelationCells:
        """Correlate scores with the truth."""
        bootstrap = scored.study.bootstrap
        return CorrelationCells(scored.matched, bootstrap.model_dump() if bootstrap else None)

    def results(self, scored: Scored[Any]) -> Results:
        """Correlate scores with the truth, test, and work out the figures.

        There are no figures and no single groups of scores that do not fit in memory.
        """
        study, loaded = scored.study, scored.loaded
        with progress("correlating"):
            if loaded is None:
                result = correlated(scored.matched.prepared, scored.scores, study.bootstrap)
            else:
                result = correlate_loaded(loaded, study.policy, study.bootstrap, scored.scores)
            board = correlation_board(result, study.by)
        with progress("testing"):
            tests = _tests(scored, study.tests) if study.tests else None
            ranked = tuple(_ranked(scored, board, tests)) if tests else ()
        with progress("figures"):
            drawn = self.figures(scored, board) if loaded is None else ()
        return Results(
            board,
            study.by,
            tests,
            ranked,
            dict(result.policy),
            drawn,
            by_group(scored.matched.prepared) if loaded is None else (),
            people=tuple(self.people(drawn)),
            table=result.frame,  # has the average over aspects where there is one aspect, too
        )

    def words(self, scored: Scored[Any]) -> dict[str, str]:
        """Explain the levels of the study."""
        levels = [f"{name}: {LEVEL_MEANINGS[name]}" for name in LEVEL_MEANINGS if name in scored.study.levels]
        undefined = "groups of a level without a coefficient, because truth or scores are all equal"
        return {"level": "; ".join(levels), "undefined groups": undefined}

    def people(self, drawn: Sequence[Figure]) -> Sequence[PeopleLine]:
        """Return what people reach in each column, if a figure says it."""
        del drawn
        return ()


def _tests(scored: Scored[CorrelatedStudy], how: Tests) -> Comparisons:
    """Test the column that orders the leaderboard."""
    if scored.loaded is None:
        return compare_prepared(scored.matched.prepared, scored.study.by, how)
    return compare_loaded(scored.loaded, scored.study.policy, scored.study.by, how)


def _ranked(scored: Scored[CorrelatedStudy], board: Board, tests: Comparisons) -> Iterator[RankedCell]:
    """Test the columns of the leaderboard, but for ranks over all units, which take long."""
    yield RankedCell.of(board, tests)
    options = scored.study.tests
    if options is None or scored.loaded is not None:
        return
    data = scored.matched.prepared
    if len(data.evaluators) > _MOST_TESTED:
        return
    how = options.model_copy(update={"permutations": min(options.permutations, _MOST_PERMUTATIONS)})
    rows = board.frame[[*COLUMN]].drop_duplicates().itertuples(index=False)
    cells = [dict(zip(COLUMN, map(str, row), strict=True)) for row in rows]
    others = [
        by for by in cells if by != tests.by and (by["coefficient"] == "pearson" or by["level"] != "dataset")
    ]
    for found in in_threads(lambda by: compare_prepared(data, by, how), others):
        yield RankedCell.of(board, found)
