"""All that a kind of study is made of, in one import: ``from metaeval.kinds import api``."""

from typing import TYPE_CHECKING

from metaeval.base.records import Kind, Scale
from metaeval.data.units import KeyedUnits, RatedUnits
from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.engine.figure import Figure
from metaeval.engine.measures import Measure, share
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.base import BaseEvaluator, flag, integer, word
from metaeval.evaluators.grid import Grid
from metaeval.judging.prompts import Asks
from metaeval.judging.unit_judge import Shown, UnitJudge
from metaeval.kinds.kind import Scored, StudyKind
from metaeval.kinds.study import Study
from metaeval.kinds.table import INTERVALS, KindTable
from metaeval.llm.replies.fields import Choice, Number, Text

if TYPE_CHECKING:
    from metaeval.engine.charts import ROWS

# fmt: off
__all__ = [
    "INTERVALS", "ROWS", "Asks", "BaseEvaluator", "Choice", "Column", "Figure", "Grid", "KeyedUnits", "Kind",
    "KindTable", "Measure", "Number", "Rated", "RatedUnits", "Scale", "Scored", "Sheet", "Shown", "Study",
    "StudyKind", "Text", "UnitColumn", "UnitJudge", "UnitText", "UnitView", "flag", "integer", "share",
    "word",
]
# fmt: on


def __getattr__(name: str) -> object:
    """Load the library of charts with the first figure."""
    if name == "ROWS":
        from metaeval.engine.charts import ROWS

        return ROWS
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
