from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import SpecError
from metaeval.base.records import Kind, ScoreTable
from metaeval.base.spec import EvaluatorSpec
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.ensemble import Majority, Mean, Median
from metaeval.kinds.registry import build
from metaeval.stats.coefficients.grouped import kendall, spearman
from metaeval.stats.coefficients.tables import exact_mean
from tests.evaluators.making import make_set, scores_of

numbers = st.floats(-1e12, 1e12) | st.sampled_from([0.1, 0.2, 0.3, 1e-300, 1e16, -1e16])


class Fixed:
    """An evaluator of someone else: given scores and statuses, counted calls."""

    kind = Kind.JUDGE

    def __init__(self, name, scores, statuses=None):
        self.spec = EvaluatorSpec(name)
        self.scores = scores
        self.statuses = statuses or ["ok"] * len(scores)
        self.calls = 0

    def signature(self, data):
        return {"fixed": True}

    def score(self, data, aspects):
        self.calls += 1
        frames = [
            data.units.assign(
                evaluator="whatever", aspect=a, score=self.scores, status=self.statuses, tokens=3
            )
            for a in aspects
        ]
        import pandas as pd

        return ScoreTable(pd.concat(frames[::-1]).iloc[::-1])


def _mean(columns):
    parts = [Fixed(f"F{i}", column) for i, column in enumerate(columns)]
    data = make_set(["x"] * len(columns[0]))
    found = scores_of(me.score(data, {"m": Mean(*parts)}), "m")
    return [s for s, _ in found.values()]


@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=5), st.randoms())
def test_mean_does_not_depend_on_the_order_of_the_parts(columns, random):
    shuffled = random.sample(columns, len(columns))
    assert exact_mean(np.array(columns)).tolist() == exact_mean(np.array(shuffled)).tolist()


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=6))
def test_mean_is_the_exactly_rounded_sum_over_the_count(values):
    exact = float(sum(map(Fraction, values))) / len(values)
    assert exact_mean(np.array(values)[:, None])[0] == pytest.approx(exact, rel=1e-14, abs=1e-300)


@st.composite
def decimals(draw):
    """Return columns of decimals as a person writes them, some of which lack."""
    digits, parts = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    cell = st.none() | st.tuples(st.integers(-(10**digits), 5 * 10**digits), st.just(10**digits))
    columns = st.lists(st.lists(cell, min_size=parts, max_size=parts).filter(any), min_size=1, max_size=6)
    return [[c and Fraction(*c) for c in column] for column in draw(columns)]


@given(decimals(), st.booleans())
def test_means_and_medians_are_those_on_paper(columns, beside):
    """So equal ones tie, whatever parts they are of; numbers of another kind in the table change nothing."""
    values = np.array([[np.nan if v is None else float(v) for v in c] for c in columns]).T
    paper = [[v for v in c if v is not None] for c in columns]
    if beside:
        values = np.column_stack([values, np.full(len(values), math.pi)])
    made = exact_mean(values)[: len(columns)]
    assert made.tolist() == [float(sum(c) / len(c)) for c in paper]
    median = Median(Fixed("F", [0.0])).middle(values, words=False)[: len(columns)]
    assert median.tolist() == [float(statistics.median(c)) for c in paper]


def test_equal_means_tie():
    columns = [[0.1, 0.3, 0.2], [0.2, 0.2, 0.2], [0.3, 0.1, 0.2]]
    assert (0.1 + 0.2) + 0.3 != (0.3 + 0.2) + 0.1
    assert _mean(columns) == [0.2, 0.2, 0.2]


def test_ties_on_paper_count_in_coefficients():
    """Tenths whose means are 0.15 in three ways: τ-b by exact arithmetic is 0.7333, ρ 0.8584."""
    rows = [
        (1, 2, 3),
        (3, 0, 3),
        (2, 1, 3),
        (7, 1, 5),
        (4, 4, 5),
        (0.5, 0.5, 1),
        (1, 0, 1),
        (6, 3, 4),
        (8, 1, 4),
    ]
    one, other, rated = (np.array(c) / k for c, k in zip(zip(*rows, strict=True), (10, 10, 1), strict=True))
    mean = exact_mean(np.stack([one, other]))
    assert (kendall(mean, rated), spearman(mean, rated)) == pytest.approx((0.7333, 0.8584), abs=5e-5)


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), min_size=1, max_size=5))
def test_median(columns):
    parts = [Fixed(f"F{i}", column) for i, column in enumerate(columns)]
    found = scores_of(
        me.score(
            make_set(["x", "y"]),
            {
                "m": build(
                    EvaluatorSpec("Median", tuple(p.spec for p in parts)), {p.spec.name: p for p in parts}
                )
            },
        ),
        "m",
    )
    for (score, _), values in zip(found.values(), zip(*columns, strict=True), strict=True):
        assert score == pytest.approx(statistics.median(values), rel=1e-12)


STATUSES = {
    "A": ["ok", "ok", "refused", "example", "ok", "unparsed"],
    "B": ["ok", "budget", "transport", "ok", "example", "unparsed"],
    "C": ["ok", "ok", "ok", "ok", "refused", "missing"],
}


def _parts():
    return [
        Fixed(name, [float(i) if s == "ok" else np.nan for s in statuses], statuses)
        for i, (name, statuses) in enumerate(STATUSES.items(), start=1)
    ]


def test_the_first_part_without_a_score_gives_the_status():
    found = scores_of(me.score(make_set(["x"] * 6), {"m": Mean(*_parts())}), "m")
    assert [t for _, t in found.values()] == ["ok", "budget", "refused", "example", "example", "unparsed"]
    assert found["i0"][0] == 2


def test_skip_missing_takes_what_there_is():
    found = scores_of(me.score(make_set(["x"] * 6), {"m": Mean(*_parts(), skip_missing=True)}), "m")
    assert [t for _, t in found.values()] == ["ok", "ok", "ok", "example", "example", "unparsed"]
    assert [s for s, _ in found.values()][:3] == [2, 2, 3]


def test_a_part_without_a_row_is_missing_and_no_row_at_all_stays_none():
    data = make_set(["x"] * 3, ratings=[(0, "1", "clear", 2), (0, "2", "clear", 4), (1, "2", "clear", 4)])
    table = me.score(data, ["Mean(Annotator('1'), Annotator('2'))"])
    found = scores_of(table, "Mean(Annotator('1'), Annotator('2'))")
    assert found["i0"] == (3, "ok")
    assert found["i1"][1] == "missing"
    assert "i2" not in found
    skipping = "Mean(Annotator('1'), Annotator('2'), skip_missing=True)"
    assert scores_of(me.score(data, [skipping]), skipping)["i1"] == (4, "ok")


def test_nested_with_any_evaluators():
    data = make_set(["abc", "abcde"], ["abc", "abcde"], ratings=[(i, "1", "clear", 2) for i in (0, 1)])
    text = "Mean(Median(Length(), Annotator('1')), ROUGE('1'))"
    table = me.score(data, [text], aspects=["clear"])
    assert [s for s, _ in scores_of(table, text).values()] == [(2.5 + 100) / 2, (3.5 + 100) / 2]
    parts = table.signatures[text]["parts"]
    assert parts["Median(Length(), Annotator('1'))"]["parts"]["Annotator('1')"]["rater"] == "1"
    assert parts["ROUGE('1')"]["tokenizer"] == "auto"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Mean(Annotator('1'), User())", Kind.ANNOTATOR),
        ("Median(Mean(Annotator('1'), Annotator('2')), Annotator('3'))", Kind.ANNOTATOR),
        ("Mean(Annotator('1'), Length())", Kind.ENSEMBLE),
        ("Mean(BLEU(n=1))", Kind.ENSEMBLE),
    ],
)
def test_an_ensemble_of_people_is_among_the_annotators(text, kind):
    assert build(text).kind is kind


def test_an_ensemble_made_in_python_prints_as_its_spec():
    made = Mean(build("Length()"), build("Random(seed=1)"), skip_missing=True)
    assert str(made) == repr(made) == "Mean(Length(), Random(seed=1), skip_missing=True)"
    assert build(str(made)) == made
    assert hash(build(str(made))) == hash(made)
    assert isinstance(made, BaseEvaluator)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("Mean()", "one evaluator or more"),
        ("Mean('Length()')", r"takes evaluators, such as Annotator\('1'\), not 'Length\(\)'"),
        ("Mean((Length(), User()))", "takes evaluators"),
        ("Mean(Length(), skip=True)", "did you mean 'skip_missing'"),
        ("Mean(Length(), skip_missing=1)", "True or False"),
        ("Mean(Lenght())", "did you mean 'Length'"),
    ],
)
def test_wrong_arguments(spec, said):
    with pytest.raises(SpecError, match=said):
        build(spec)


def test_parts_that_print_alike_are_told_apart():
    assert _mean([[1.0], [3.0]]) == [2]
    alike = [Fixed("F", [1.0]), Fixed("F", [3.0])]
    assert scores_of(me.score(make_set(["x"]), {"m": Mean(*alike)}), "m")["i0"] == (2, "ok")
    with pytest.raises(SpecError, match=r"another evaluator with the spec F\(\) is given"):
        me.score(make_set(["x"]), dict(zip("ab", alike, strict=True)))


def test_shared_parts_are_scored_once():
    shared = Fixed("Shared", [1.0, 2.0])
    names = {"a": shared, "b": "Mean(a, Length())", "c": "Median(a, b, a)"}
    table = me.score(make_set(["x", "yy"]), names)
    assert shared.calls == 1
    assert table.evaluators == ("a", "b", "c")
    assert [s for s, _ in scores_of(table, "c").values()] == [1, 2]
    assert table.frame.loc[table.frame["evaluator"] == "a", "tokens"].tolist() == [3] * 4


@given(st.lists(st.lists(st.integers(1, 3) | st.none(), min_size=4, max_size=4), min_size=1, max_size=6))
def test_majority_is_the_mean_of_the_most_frequent_scores(columns):
    values = np.array([[math.nan if v is None else float(v) for v in column] for column in columns])
    for unit in range(4):
        given_scores = [v for v in values[:, unit].tolist() if not math.isnan(v)]
        if given_scores:
            modes = statistics.multimode(given_scores)
            found = Majority(*[Fixed(f"F{i}", [0.0]) for i in range(len(columns))]).middle(
                values[:, [unit]], words=False
            )
            assert found[0] == pytest.approx(math.fsum(modes) / len(modes), abs=1e-15)


def test_words_have_a_majority_and_none_where_two_are_as_frequent():
    made = Majority(*[Fixed(f"F{i}", [0.0]) for i in range(4)])
    values = np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 2.0], [2.0, 0.0]])
    assert made.middle(values, words=True)[0] == 0
    assert math.isnan(made.middle(values, words=True)[1])
    assert made.middle(values, words=False)[1] == 1
