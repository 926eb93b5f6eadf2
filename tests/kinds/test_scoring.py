from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError, SpecError
from metaeval.base.records import Kind, ScoreTable
from metaeval.evaluators.grid import grid_of, unit_positions
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


def test_aspects_can_be_chosen():
    frame = me.score(DATA, ["Length()"], aspects=["true"]).frame
    assert frame["aspect"].tolist() == ["true", "true"]


@pytest.mark.parametrize(
    ("evaluators", "said"),
    [
        ("BLEU()", "given as a list"),
        (3, "given as a list"),
        ([], "no evaluators are given"),
        ({}, "no evaluators are given"),
        (["BLEU(n=1)", "BLEU( n=1 )"], r"BLEU\(n=1\) is given twice"),
        ({"a": "Mean(b)", "b": "Mean(a)"}, "defined by itself"),
        ({"": "BLEU()"}, "short name must be a text"),
        ({1: "BLEU()"}, "short name must be a text, not 1"),
        (["BLUE()"], "did you mean 'BLEU'"),
        ([None], "given as text"),
    ],
)
def test_wrong_evaluators(evaluators, said):
    with pytest.raises(SpecError, match=said):
        me.score(DATA, evaluators)


@pytest.mark.parametrize(
    ("aspects", "said"),
    [
        (["claer"], "no aspect 'claer'; it has clear, true; did you mean 'clear'"),
        ("clear", "given as a list"),
        ([], "given as a list"),
        (["clear", "clear"], "given twice"),
    ],
)
def test_wrong_aspects(aspects, said):
    with pytest.raises(DataError, match=said):
        me.score(DATA, ["Length()"], aspects=aspects)


def test_the_table_goes_through_parquet_and_groupby(tmp_path):
    frame = me.score(DATA, ["Length()", "BLEU(n=1)"]).frame
    frame.to_parquet(tmp_path / "scores.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "scores.parquet"), frame)
    assert frame.groupby(["evaluator", "aspect"]).size().tolist() == [2, 2, 2, 2]


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
        ({"status": "refused"}, "NaN everywhere else"),
        ({"status": "odd", "score": np.nan}, "status 'odd'; allowed are ok, missing"),
    ],
)
def test_scores_of_others_are_held_to_the_same_rules(changes, said):
    with pytest.raises(DataError, match=said):
        me.score(DATA, [Foreign(**changes)])


def test_categorical_columns_of_others_are_understood():
    frame = me.score(DATA, ["Length()"]).frame.sample(frac=1, random_state=0)
    plain = grid_of(frame, DATA, ["clear", "true"], "scores")
    grid = grid_of(
        frame.astype(dict.fromkeys(["user_id", "item_id", "generator", "aspect", "status"], "category")),
        DATA,
        ["clear", "true"],
        "scores",
    )
    assert grid.scores.tolist() == plain.scores.tolist() == [[3, 3], [5, 5]]
    assert grid.codes.tolist() == plain.codes.tolist()


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


def test_an_empty_data_set():
    empty = make_set([], [])
    table = me.score(empty, ["Length()", "BLEU()", "Random()", "Mean(Length(), Random())"])
    assert len(table) == 0


def test_importing_the_package_of_evaluators_loads_no_heavy_library():
    heavy = ["sacrebleu", "rouge_score", "nltk", "evaluate", "datasets", "joblib", "scipy", "torch"]
    heavy += ["psycopg"]
    code = f"import sys, metaeval.kinds.scoring; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
