"""A kind of study of its own: do evaluators answer yes-or-no questions as the people who asked them do?"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.base.records import Kind, Scale
from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.engine.measures import share
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.grid import Grid
from metaeval.judging.unit_judge import UnitJudge
from metaeval.kinds.data import RatedUnits
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.study import Study
from metaeval.llm.replies.fields import Choice

KEYS = ("asker", "question")


@dataclass(frozen=True, repr=False)
class Yes(BaseEvaluator):
    """Says yes to everything."""

    kind = Kind.BASELINE

    def grid(self, data, aspects):
        return Grid.repeated(np.ones(len(data)), len(aspects))


@dataclass(frozen=True, repr=False)
class Judge(UnitJudge):
    """Asks a language model."""

    def fields(self, data, aspects):
        return [Choice("answer", {1.0: ["yes"], 0.0: ["no"]})]

    def messages(self, data, unit, aspects, prepared):
        reply = 'Reply with JSON: {"answer": "yes"} or {"answer": "no"}.'
        return [("system", reply), ("user", data.table["question"][unit])]


class YesNo(StudyKind):
    """Accuracy against the answers of a table ``asker,question,answer``, with 1 for yes and 0 for no."""

    name = "yes-no"
    study = Study
    evaluators = {"Yes": Yes, "Judge": Judge}  # noqa: RUF012 - as a reader would write it
    measures = (share("accuracy", lambda scores, truth: scores == truth),)

    def load(self, place):
        table = pd.read_csv(Path(place) / "answers.csv", dtype=str)
        said = table[[*KEYS]].assign(rater="asker", aspect="answer", rating=table["answer"].astype(float))
        return RatedUnits(table, said, {"answer": "Is it so?"}, Scale(0, 1), KEYS, name=Path(place).name)

    def unit_view(self, data, aspects):
        asker, question = (data.table[key].tolist() for key in KEYS)
        columns = (UnitColumn("asker", "asker", asker), UnitColumn("question", "question", question))
        return UnitView(columns, (UnitText("question", question),), (Rated("answer"),), "aspect")


YES_NO = YesNo()
