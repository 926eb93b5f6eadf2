from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import metaeval as me
from metaeval.base.errors import DataError, SpecError
from metaeval.base.records import Kind, ScoreTable
from metaeval.evaluators.grid import unit_positions
from metaeval.kinds.registry import build
from tests.evaluators.making import make_set, scores_of

DATA = make_set(
    ["a b", "c d e"], ["a b", "c"], ratings=[(i, r, "clear", i + 2) for i in (0, 1) for r in ("1", "2")]
)


def test_the_evaluator_column_holds_specs_in_their_normal_form():
    table = me.score(DATA, ["BLEU( n = 1 )", 'Mean(Annotator("1"),Annotator("2"))', build("Length()")])
    assert table.evaluators == ("BLEU(n=1)", "Mean(Annotator('1'), Annotator('2'))", "Length()")
    assert list(table.kinds) == list(table.signatures) == list(table.evaluators)
    assert list(table.kinds.values()) == [Kind.REFERENCE, Kind.ANNOTATOR, Kind.BASELINE]


def test_a_mapping_names_the_evaluators():
    table = me.score(DATA, {"panel": "Mean(first, Annotator('2'))", "first": "Annotator('1')"})
    assert table.evaluators == ("panel", "first")
    assert scores_of(table, "panel") == scores_of(table, "first") == {"i0": (2, "ok"), "i1": (3, "ok")}
    assert table.signatures["panel"]["spec"] == "Mean(Annotator('1'), Annotator('2'))"


@pytest.mark.parametrize(
    ("evaluators", "said"),
    [
        ("BLEU()", "given as a list"),
        ([], "no evaluators are given"),
        (["BLEU(n=1)", "BLEU( n=1 )"], r"BLEU\(n=1\) is given twice"),
        ({"a": "Mean(b)", "b": "Mean(a)"}, "defined by itself"),
    ],
)
def test_wrong_evaluators(evaluators, said):
    with pytest.raises(SpecError, match=said):
        me.score(DATA, evaluators)


@pytest.mark.parametrize(
    ("aspects", "said"),
    [
        (["claer"], "no aspect 'claer'; it has clear, true; did you mean 'clear'"),
        (["clear", "clear"], "given twice"),
    ],
)
def test_wrong_aspects(aspects, said):
    with pytest.raises(DataError, match=said):
        me.score(DATA, ["Length()"], aspects=aspects)


class Foreign:
    """An evaluator of someone else, which can be wrong in many ways."""

    kind = Kind.JUDGE

    def __init__(self, **changes):
        self.spec = build("User()").spec
        self.changes = changes

    def signature(self, data):
        return {}

    def score(self, data, aspects):
        frame = data.units.assign(evaluator="x", aspect=aspects[0], score=1.0, status="ok")
        return ScoreTable(frame.assign(**self.changes).drop(columns=self.changes.get("drop", [])))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"score": np.inf}, "infinite score to the unit with user_id 'u0'"),
        ({"score": np.nan}, "NaN everywhere else"),
        ({"status": "odd", "score": np.nan}, "status 'odd'; allowed are ok, missing"),
    ],
)
def test_scores_of_others_are_held_to_the_same_rules(changes, said):
    with pytest.raises(DataError, match=said):
        me.score(DATA, [Foreign(**changes)])


def test_positions_of_units():
    shuffled = DATA.units[::-1]
    assert unit_positions(shuffled, DATA).tolist() == [1, 0]
    assert unit_positions(DATA.units.assign(item_id="nowhere"), DATA).tolist() == [-1, -1]
    # Each key is known, the combination is not.
    crossed = DATA.units.assign(item_id=DATA.units["item_id"].to_numpy()[::-1])
    assert unit_positions(crossed, DATA).tolist() == [-1, -1]
    twice = make_set(["a", "b"])
    twice.explanations["item_id"], twice.explanations["user_id"] = "i", "u"
    with pytest.raises(DataError, match="two explanations"):
        unit_positions(DATA.units, twice)


@pytest.mark.slow
def test_importing_the_package_of_evaluators_loads_no_heavy_library():
    heavy = ["sacrebleu", "rouge_score", "nltk", "evaluate", "datasets", "joblib", "scipy", "torch"]
    heavy += ["psycopg"]
    code = f"import sys, metaeval.kinds.scoring; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
