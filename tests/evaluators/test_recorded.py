from __future__ import annotations

import numpy as np
import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.base.records import Kind
from tests.evaluators.making import make_set, scores_of

SCORES = [
    (0, "BLEU Ξ§", "", 0.5),
    (1, "BLEU Ξ§", "", np.nan),
    (2, "BLEU Ξ§", "", 0.7),
    (2, "BLEU Ξ§", "clear", 0.9),
    (0, "judge", "true", 4),
]


def test_a_score_without_aspect_holds_for_all_that_have_none_of_their_own():
    table = me.score(make_set(["a", "b", "c"], scores=SCORES), ["Recorded('BLEU Ξ§')"])
    clear, true = (scores_of(table, "Recorded('BLEU Ξ§')", a) for a in ("clear", "true"))
    assert clear["i0"] == true["i0"] == (0.5, "ok")
    assert clear["i1"][1] == "missing"
    assert (clear["i2"], true["i2"]) == ((0.9, "ok"), (0.7, "ok"))
    assert table.kinds["Recorded('BLEU Ξ§')"] is Kind.RECORDED


def test_rows_only_where_a_score_is_recorded():
    table = me.score(make_set(["a", "b"], scores=SCORES[-1:]), ["Recorded('judge')"])
    assert scores_of(table, "Recorded('judge')", "true") == {"i0": (4, "ok")}
    assert scores_of(table, "Recorded('judge')", "clear") == {}


def test_a_confidence_comes_along_of_the_aspect_or_of_all():
    data = make_set(["a", "b", "c"], scores=SCORES)
    assert "confidence" not in me.score(data, ["Recorded('judge')"]).frame
    data.scores["confidence"] = [0.1, 0.2, 0.3, 0.9, 0.5]
    frame = me.score(data, ["Recorded('BLEU Ξ§')"]).frame.set_index(["item_id", "aspect"])
    found = frame["confidence"].to_dict()
    assert found["i0", "clear"] == found["i0", "true"] == 0.1
    assert (found["i2", "clear"], found["i2", "true"]) == (0.9, 0.3)


@pytest.mark.parametrize(
    ("scores", "spec", "aspects", "said"),
    [
        (SCORES, "Recorded('jugde')", None, "recorded are 'BLEU Ξ§', 'judge'; did you mean 'judge'"),
        (SCORES, "Recorded('judge')", ["clear"], "has scores for 'true', not for 'clear'"),
        (None, "Recorded('judge')", None, "has no recorded scores"),
        ([(0, "judge", "true", np.inf)], "Recorded('judge')", None, "infinite score"),
        ([(0, f"e{i:02}", "", 1) for i in range(50)], "Recorded('zzzz')", None, "'e19', …$"),
    ],
)
def test_what_is_not_there(scores, spec, aspects, said):
    with pytest.raises(DataError, match=said):
        me.score(make_set(["a", "b", "c"], scores=scores), [spec], aspects=aspects)
