"""What a study of relevance fills in, and which evaluators its data know."""

from __future__ import annotations

import pytest

import metaeval as me
from metaeval.base.errors import SpecError, StudyError
from metaeval.kinds.relevance.data.simulated import simulate
from metaeval.kinds.relevance.kind import RELEVANCE
from metaeval.kinds.study import make_study

DATA = simulate(seed=1, users=6, items=60)
HUMAN = "Labels('human')"


def resolved(**keys):
    study = make_study({"kind": "relevance", "dataset": "x", "truth": HUMAN, **keys})
    return RELEVANCE.resolve(study, DATA)


def test_a_collection_is_scored_with_the_evaluators_of_its_kind():
    table = me.score(DATA, ["Labels('judge')", "Popularity()"])
    assert table.evaluators == ("Labels('judge')", "Popularity()")
    with pytest.raises(SpecError, match=r"there is no evaluator 'BLEU'; known are .*Popularity"):
        me.score(DATA, ["BLEU(n=4)"])


def test_a_star_stands_for_all_other_raters():
    study = resolved(evaluators={"mine": "Labels('oracle')", "rest": "Labels('*')"})
    raters = set(DATA.ratings["rater"]) - {"human", "oracle"}
    assert study.specs == {"mine": "Labels('oracle')", **{r: f"Labels({r!r})" for r in sorted(raters)}}
    with pytest.raises(StudyError, match=r"no further rater fits 'x\*'"):
        resolved(evaluators=["Labels('x*')"])


def test_ablations_add_variants():
    judge = "Relevance('simulated/one', labels=5)"
    ablations = [{"base": "judge", "vary": {"history": [1]}}]
    study = resolved(evaluators={"judge": judge}, ablations=ablations)
    assert study.specs == {
        "judge": judge,
        "judge, history 1": "Relevance('simulated/one', labels=5, history=1)",
    }
    # A study that was resolved, as run.json keeps it, is resolved to itself.
    assert RELEVANCE.resolve(study, DATA).specs == study.specs
    with pytest.raises(StudyError, match="there is no evaluator 'jugde'; did you mean 'judge'"):
        resolved(evaluators={"judge": judge}, ablations=[{"base": "jugde"}])


def test_levels_and_coefficients_of_a_study_that_names_none():
    study = resolved(evaluators=["Popularity()"])
    assert study.levels == ["dataset", "user"]
    assert study.by == {"aspect": "relevance", "level": "dataset", "coefficient": "kendall"}
