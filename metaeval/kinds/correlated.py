"""Kinds of study that correlate scores with the truth, by aspect, level and coefficient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from metaeval.analysis.agreement.measures import by_group
from metaeval.analysis.given_column import by_sheet
from metaeval.base.errors import exact, one_of
from metaeval.base.keys import levels_of, preferred_levels
from metaeval.base.records import AVERAGE, COEFFICIENTS, LEVELS, DataOfKind
from metaeval.base.validation import Line
from metaeval.engine.alignment.policy import Coefficient, Missing, Policy
from metaeval.engine.cells import CorrelationCells
from metaeval.engine.correlation import BY, CORRELATIONS, correlated_by
from metaeval.engine.order.paired_tests import OrderBy
from metaeval.engine.passes import FileCells
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.kind import Scored, StudyKind
from metaeval.kinds.study import Study, distinct, unknown_word
from metaeval.kinds.table import KindTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.engine.board import Cell
    from metaeval.engine.drilldown import Groups

LEVEL_MEANINGS = {
    "dataset": "one coefficient over all units",
    "user": "the mean of the coefficients within each user",
    "pair": "the mean of the coefficients within each pair of a user and an item",
    "item": "the mean of the coefficients within each item",
    "generator": "one coefficient over the means of the generators, which wrote the units",
}


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
    by: Line | None = None
    """A column of the units, or of the users: correlations are made within each of its values, too."""

    @property
    def facts(self) -> dict[str, str]:
        """The levels."""
        return {"levels": ", ".join(self.levels or ())}

    @property
    def ordered_by(self) -> Cell:
        """The column that orders the leaderboard, of a study that is resolved."""
        return self.order_by.model_dump()

    @property
    def policy(self) -> Policy:
        """How missing scores, missing truth and undefined groups are treated, of a study that is resolved."""
        return Policy.of(
            self.levels or (), self.coefficients, self.missing.model_dump(), self.undefined_groups, self.units
        )


def _by(scored: Scored[CorrelatedStudy]) -> pd.DataFrame | None:
    """Return the correlations by the column of the study; None if it names none."""
    study = scored.study
    if study.by is None:
        return None
    categories = scored.kind.column(scored.data, study.by)
    return correlated_by(scored.scores, scored.truth, study.policy, study.bootstrap, categories)


def _by_sheets(scored: Scored[CorrelatedStudy], frame: pd.DataFrame) -> list[Sheet]:
    study = scored.study
    return [by_sheet(frame, str(study.by), study.ordered_by, scored.scores.simulation)]


BY_COLUMN = KindTable(
    f"{BY}.csv",
    "Correlations by a column",
    tuple(Column(name, "") for name in (BY, "evaluator", "aspect", "level", "coefficient")),
    _by,
    layout=_by_sheets,
)


class CorrelatedKind(StudyKind):
    """A kind whose board holds correlations; a subclass says the rest."""

    study: ClassVar[type[CorrelatedStudy]]
    board_file = CORRELATIONS

    @property
    def tables(self) -> Sequence[KindTable]:
        """Correlations by a column, if the study names one."""
        return (BY_COLUMN,)

    def resolve(self, study: Any, data: DataOfKind) -> Any:  # noqa: ANN401 - the study of the kind
        """Fill in levels, and the column that orders the leaderboard."""
        possible = list(levels_of(data.keys))
        for at, level in enumerate(study.levels or ()):
            if level not in possible:
                have = ", ".join(possible)
                keys = ", ".join(data.keys)
                sentence = f"the key columns {keys} allow no level {level!r}; use some of {have}"
                raise study.error(sentence, "levels", at)
        if study.by is not None:
            with study.errors_at("by"):
                self.column(data, study.by)
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
        study = scored.study
        if scored.loaded is not None:
            return FileCells(scored.loaded, study.policy, scored.scores, study.bootstrap)
        return CorrelationCells(scored.matched, study.bootstrap)

    def groups(self, scored: Scored[Any]) -> Sequence[Groups]:
        """Return the coefficients within each user, pair or item."""
        return by_group(scored.matched.prepared)

    def words(self, scored: Scored[Any]) -> dict[str, str]:
        """Explain the levels of the study."""
        levels = [f"{name}: {LEVEL_MEANINGS[name]}" for name in LEVEL_MEANINGS if name in scored.study.levels]
        undefined = "groups of a level without a coefficient, because truth or scores are all equal"
        return {"level": "; ".join(levels), "undefined groups": undefined}
