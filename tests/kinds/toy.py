"""A kind of study of its own: do evaluators answer yes-or-no questions as the people who asked them do?"""

from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.kinds import api

KEYS = ("asker", "question")


class Yes(api.BaseEvaluator):
    kind = api.Kind.BASELINE

    def grid(self, data, aspects):
        return api.Grid.repeated(np.ones(len(data)), len(aspects))


class Judge(api.UnitJudge):
    def reply_fields(self, data, aspects):
        return [api.Choice("answer", {1.0: ["yes"], 0.0: ["no"]})]

    def messages(self, data, unit, aspects, shown):
        reply = 'Reply with JSON: {"answer": "yes"} or {"answer": "no"}.'
        return [("system", reply), ("user", data.table["question"][unit])]


def says_yes(scored):
    return scored.scores.frame.groupby("evaluator", as_index=False)["score"].mean()


def bars(sheet, first):
    return api.Figure(sheet, api.ROWS.mark_bar().encode(x="score:Q", y="evaluator:N"))


class YesNo(api.StudyKind):
    """Accuracy against the answers of a table ``asker,question,answer``, with 1 for yes and 0 for no."""

    name = "yes-no"
    study = api.Study
    evaluators = {"Yes": Yes, "Judge": Judge}  # noqa: RUF012 - as a reader would write it
    measures = (api.share("accuracy", lambda scores, truth: scores == truth),)
    columns = (api.Column("evaluator", "Evaluator"), api.Column("score", "Says yes", "share"))
    tables = (api.KindTable("says_yes.csv", "How often evaluators say yes", columns, says_yes, chart=bars),)

    def load(self, place):
        table = pd.read_csv(Path(place) / "answers.csv", dtype=str)
        truth = table[[*KEYS]].assign(rater="asker", aspect="answer", rating=table["answer"].astype(float))
        return api.RatedUnits(table, truth, {"answer": "Is it so?"}, api.Scale(0, 1), KEYS, name="answers")

    def unit_view(self, data, aspects):
        columns = tuple(api.UnitColumn(key, key, data.table[key].tolist()) for key in KEYS)
        text = api.UnitText("question", columns[1].texts)
        return api.UnitView(columns, (text,), (api.Rated("answer"),), "aspect")


YES_NO = YesNo()
