"""Measures by name: what is read, and the sentence for what is not."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.kinds.relevance.measures import measure_named
from metaeval.stats.ranking.effectiveness import JudgedLists

LISTS = JudgedLists(
    np.array([[np.nan, 2.0, 0.0, 1.0], [0.0, 1.0, np.nan, np.nan]]),
    np.array([4, 2]),
    np.array([0.0, 1.0, 2.0]),
    np.array([[1, 2, 1], [2, 1, 0]]),
)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("P@2", [0.5, 0.5]),
        ("RR", [0.5, 0.5]),
        ("Rprec", [1 / 3, 0]),  # by the library
        ("SetP", [0.5, 0.5]),
        ("Compat(p=0.5,depth=1)", [0, 0]),
        ("RBP(p=0.5)", [0.5 * (1 / 2 + 1 / 8), 0.25]),
        ("P(judged_only=True)@2", [0.5, 0.5]),
        ("nDCG(dcg='jk')@1", [0, 0]),
    ],
)
def test_a_measure_of_a_name(name, values):
    assert measure_named(name).values(LISTS) == pytest.approx(values)


def test_the_lowest_relevant_label_is_that_of_the_collection_unless_the_name_has_one():
    assert measure_named("P@4", relevant=2).values(LISTS) == pytest.approx([0.25, 0])
    assert measure_named("Rprec", relevant=2).values(LISTS) == pytest.approx([0, 0])
    assert measure_named("P(rel=1)@4", relevant=2).values(LISTS) == pytest.approx([0.5, 0.25])


def test_a_topic_of_negative_labels_alone_is_worth_nothing_and_crashes_nothing():
    """trec_eval reads beyond its memory where another topic follows such a one."""
    lists = JudgedLists(
        np.array([[-2.0, -1.0], [1.0, -1.0]] * 60), np.full(120, 2), np.array([-2.0, -1.0, 1.0]),
        np.array([[1, 1, 0], [0, 1, 1]] * 60),
    )  # fmt: skip
    for name in ("Rprec", "SetP", "IPrec@0.1", "ERR@2"):
        assert (measure_named(name).values(lists) > 0).tolist() == [False, True] * 60, name


def test_the_twin_of_judged_items_alone():
    twin = measure_named("P@1").judged_only()
    assert twin is not None
    assert (twin.name, *twin.values(LISTS)) == ("P@1, judged only", 1, 0)
    assert measure_named("Compat(p=0.9)").judged_only() is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ndcg@10", "RBP(p=0.8); did you mean 'nDCG'?"),
        ("nDCG@ten", "cannot be read"),
        ("nDCG@10@5", "cannot be read"),
        ("__import__('os')", "cannot be read"),
        ("", "cannot be read"),
        ("Compat(q=0.9)", "has no parameter 'q'"),
        ("Compat(p=1.5)", "give a number between 0 and 1"),
        ("nDCG@0", "needs a cutoff of at least 1"),
        ("P", "cutoff is missing"),
        ("nDCG(dcg='ln')@5", "dcg='ln' is not allowed"),
        ("nDCG@'a'", "cutoff='a' is not allowed"),
        ("INST", "max_rel is missing"),
        ("Compat(depth=0)", "give a whole number or 'longest'"),
        ("Accuracy@10", "cannot order systems"),
        ("NumRet", "cannot order systems"),
        ("NumQ", "cannot order systems"),
        ("INST(max_rel=3)", "needs a further package"),
    ],
)
def test_what_is_no_measure_is_said_in_one_sentence(name, said):
    with pytest.raises(MetaevalError) as caught:
        measure_named(name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
