# ruff: noqa: RUF012
"""A kind of study of its own: do evaluators answer yes-or-no questions as the people who asked them do?"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.base.records import Kind, Scale
from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.engine.measures import share
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.grid import OK, Grid
from metaeval.judging.unit_judge import UnitJudge
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.study import Study
from metaeval.llm.replies.fields import Choice


@dataclass(frozen=True, eq=False)
class Answers:
    """A table ``asker,question,answer``: who asked what, and 1 for yes or 0 for no."""

    frame: pd.DataFrame
    name: str = "answers"
    licence = source = language = ""
    simulated = False
    scores = None
    extra: dict = field(default_factory=dict)
    aspects = {"answer": "Is it so?"}
    scale = Scale(0, 1)
    keys = ("asker", "question")
    cluster = "asker"
    nouns = {"asker": "asker", "question": "question"}
    units = property(lambda self: self.frame[["asker", "question"]])
    ratings = property(
        lambda self: self.frame.assign(rater="asker", aspect="answer", rating=self.frame["answer"])
    )
    fingerprint = property(lambda self: hashlib.sha256(self.frame.to_csv().encode()).hexdigest())

    def __len__(self):
        return len(self.frame)

    def without(self, column, values):
        return replace(self, frame=self.frame[~self.frame[column].isin(values)].reset_index(drop=True))


@dataclass(frozen=True, repr=False)
class Asker(BaseEvaluator):
    kind = Kind.ANNOTATOR

    def grid(self, data, aspects):
        return Grid.repeated(
            data.frame["answer"].to_numpy(float), np.full(len(data), OK, np.int8), len(aspects)
        )

    def signature(self, data):
        return {}


class Yes(Asker):
    kind = Kind.BASELINE

    def said(self, data):
        return np.ones(len(data))


@dataclass(frozen=True, repr=False)
class Judge(UnitJudge):
    prompt: str = "multi-aspect"

    def fields(self, data, aspects):
        return [Choice(a, {1.0: ("yes",), 0.0: ("no",)}) for a in aspects]

    def messages(self, data, unit, aspects, prepared):
        return [("user", (f'{data.frame["question"][unit]} Reply with JSON such as {{"answer": "yes"}}.'))]


class YesNo(StudyKind):
    name, study, measures = "yes-no", Study, [share("accuracy", lambda score, truth: score == truth)]
    evaluators = {"Asker": Asker, "Yes": Yes, "Judge": Judge}

    def load(self, place):
        return Answers(pd.read_csv(Path(place) / "answers.csv", dtype={"asker": str, "question": str}))

    def unit_view(self, data, aspects):
        asker, question = (data.frame[k].tolist() for k in data.keys)
        columns = (UnitColumn("asker", "asker", asker), UnitColumn("question", "question", question))
        return UnitView(columns, (UnitText("question", question),), (Rated("answer"),), "aspect")


YES_NO = YesNo()
