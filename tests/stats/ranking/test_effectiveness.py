"""Measures of ranked lists against ir_measures, and Compatibility against a reading of its definition."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.ranking.effectiveness import MEASURES, JudgedLists, compatibility, ndcg


class Topic(NamedTuple):
    """A ranked list of items and the labels of items, in the list or not."""

    ranking: list[str]
    labels: dict[str, int]


def topics(least=-2):
    """Return topics; trec_eval crashes where one has no label of 0 or more, and another follows."""
    items = [f"d{i}" for i in range(14)]
    return st.lists(
        st.builds(
            Topic,
            st.permutations(items).flatmap(lambda p: st.integers(1, 9).map(lambda n: p[:n])),
            st.dictionaries(st.sampled_from(items), st.integers(least, 3), min_size=1).filter(
                lambda labels: max(labels.values()) >= 0
            ),
        ),
        min_size=1,
        max_size=4,
    )


def lists_of(given):
    depth = max(len(t.ranking) for t in given)
    labels = np.array(
        [[t.labels.get(i, np.nan) for i in t.ranking] + [np.nan] * (depth - len(t.ranking)) for t in given]
    )
    grades = np.unique([g for t in given for g in t.labels.values()]).astype(float)
    counts = np.array([[sum(v == g for v in t.labels.values()) for g in grades] for t in given])
    return JudgedLists(labels, np.array([len(t.ranking) for t in given]), grades, counts)


def by_library(name, given):
    qrels = {str(i): t.labels for i, t in enumerate(given)}
    run = {str(i): {d: 1 / r for r, d in enumerate(t.ranking, 1)} for i, t in enumerate(given)}
    found = np.zeros(len(given))
    for one in ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, run):
        found[int(one.query_id)] = one.value
    return found


@pytest.mark.parametrize(
    "name",
    [
        "nDCG", "nDCG@3", "nDCG@10", "nDCG(gains={1:5,2:7})@5", "P@5", "P(rel=2)@2", "R@4", "Success@1", "RR",
        "RR(rel=2)", "RR@3", "AP", "AP@4", "Judged@3", "Judged", "Bpref", "Bpref(rel=2)", "Compat(p=0.9)",
        "nDCG(judged_only=True)", "Compat(p=0.5,normalize=False)", "nDCG(judged_only=True)@5",
        "AP(judged_only=True)", "P(judged_only=True)@3",
    ],
)  # fmt: skip
@given(given=topics())
def test_measures_are_those_of_ir_measures(name, given):
    measure = ir_measures.parse_measure(name)
    options = dict(measure.params)
    lists = lists_of(given)
    if options.pop("judged_only", False):
        lists = lists.condensed()
    assert MEASURES[measure.NAME](lists, **options) == pytest.approx(by_library(name, given), abs=1e-12)


@given(given=topics(), rel=st.integers(1, 2))
def test_inferred_precision_is_that_of_trec_eval(given, rel):
    found = MEASURES["infAP"](lists_of(given), rel=rel)
    assert found == pytest.approx(by_library(f"infAP(rel={rel})", given), abs=1e-6)  # it computes with floats


def overlap(one, other, p, depth):
    """Return the rank-biased overlap of two lists, term by term, cut at a depth (Clarke et al. 2021)."""
    agreement = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, depth + 1)]
    weights = [p ** (d - 1) for d in range(1, depth + 1)]
    return sum(w * a for w, a in zip(weights, agreement, strict=True)) / sum(weights)


@given(given=topics(), p=st.floats(0.05, 0.99), cut=st.sampled_from(["longest", 2, 12]))
def test_compatibility_is_the_overlap_with_the_nearest_ideal_list(given, p, cut):
    for topic, found in zip(given, compatibility(lists_of(given), p=p, depth=cut), strict=True):
        good = [d for d in topic.labels if topic.labels[d] > 0]
        if not good:
            assert found == 0
            continue
        depth = max(len(topic.ranking), len(good)) if cut == "longest" else cut
        if len(good) <= 5:  # the nearest of all ideal lists, by trying each
            ideals = [
                order
                for order in itertools.permutations(good)
                if [topic.labels[d] for d in order] == sorted((topic.labels[d] for d in good), reverse=True)
            ]
            scores = [
                overlap(topic.ranking, i, p, depth) / overlap(i, i, p, depth) for i in map(list, ideals)
            ]
            assert found == pytest.approx(max(scores), abs=1e-9)


def test_grades_below_0_are_no_judgement_of_relevance() -> None:
    """trec_eval and ir_measures on -2 for junk, -1 for what was pooled and not judged."""
    given = [Topic(["a", "c", "b"], {"a": -2, "b": 1, "c": -1}), Topic(["c", "a"], {"a": 2, "c": 0})]
    right = {"AP": (1 / 3, 1 / 2), "Bpref": (1, 0), "P@1": (0, 0), "Compat(p=0.95)": (0.1694, 0.3220)}
    for name, values in right.items():
        measure = ir_measures.parse_measure(name)
        found = MEASURES[measure.NAME](lists_of(given), **measure.params)
        assert found == pytest.approx(values, abs=5e-5), name
        assert found == pytest.approx(by_library(name, given), abs=1e-9), name
    below = lists_of([Topic(["a"], {"a": -2, "b": -1})])
    assert MEASURES["P"](below, cutoff=1) == 0
    for name in ("nDCG", "AP", "Bpref", "infAP", "Compat"):
        assert MEASURES[name](below) == 0, name


def test_rank_biased_precision_of_a_list_and_of_an_empty_one():
    lists = JudgedLists(
        np.array([[1.0, np.nan, 2.0], [np.nan] * 3]),
        np.array([3, 0]),
        np.array([1.0, 2.0]),
        np.ones((2, 2), int),
    )
    assert MEASURES["RBP"](lists, p=0.5) == pytest.approx([0.5 * (1 + 0.25), 0])
    assert MEASURES["RBP"](lists, p=0.5, rel=2) == pytest.approx([0.125, 0])
    for name, measure in MEASURES.items():
        options = {"cutoff": 2} if name in ("P", "R", "Success") else {}
        assert measure(lists, **options)[1] == 0, name


def test_exponential_gains_and_the_discount_from_rank_two():
    lists = lists_of([Topic(["a", "b", "c"], {"a": 1, "c": 3, "d": 2})])
    exponential = (1 / 1 + 7 / 2) / (7 / 1 + 3 / np.log2(3) + 1 / 2)
    assert ndcg(lists, dcg="exp-log2") == pytest.approx([exponential])
    from_two = (1 + 3 / np.log2(3)) / (3 + 2 + 1 / np.log2(3))
    assert ndcg(lists, dcg="jk") == pytest.approx([from_two])
