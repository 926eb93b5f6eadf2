"""`me.compare`: what is tested, on which units, options and errors."""

import numpy as np
import pytest

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError
from metaeval.base.records import AVERAGE
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.engine.order.paired_tests import Tests as How  # under its own name it would be collected
from metaeval.engine.order.paired_tests import compare_prepared, correlation_cell
from metaeval.engine.sentences import tests_sentence as sentence
from tests.engine.known_judges import judges
from tests.stats import naive

KEYS = ["user_id", "item_id", "generator"]


@pytest.mark.parametrize("level", ["dataset", "user", "pair", "item", "generator"])
@pytest.mark.parametrize("aspect", ["clear", AVERAGE])
def test_differences_are_those_of_the_correlations(level, aspect):
    data = judges(users=8)
    frame = me.correlate(*data, levels=[level]).frame
    for coefficient in naive.COEFFICIENTS:
        found = me.compare(*data, aspect=aspect, level=level, coefficient=coefficient, permutations=10)
        rows = frame[(frame["aspect"] == aspect) & (frame["coefficient"] == coefficient)]
        estimates = rows.set_index("evaluator")["estimate"].loc[list(found.evaluators)].to_numpy()
        expected = estimates[:, None] - estimates
        np.fill_diagonal(expected, np.nan)
        np.testing.assert_allclose(found.difference, expected, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("coefficient", naive.COEFFICIENTS)
def test_differences_between_generators_whose_means_tie(coefficient):
    """Standardized scores are rounded; the means of generators tie where those of their scores do."""
    for seed in range(20):
        scores, truth = judges(seed, users=3, items=1, generators=8, names=("good", "weak"))
        frame = me.correlate(scores, truth, levels=["generator"], coefficients=[coefficient]).frame
        found = me.compare(
            scores, truth, aspect="clear", level="generator", coefficient=coefficient, permutations=1
        )
        good, weak = (
            frame[frame["aspect"] == "clear"].set_index("evaluator")["estimate"].loc[["good", "weak"]]
        )
        assert found.difference[0, 1] == pytest.approx(good - weak, abs=1e-9)


@pytest.mark.parametrize("level", ["dataset", "user", "pair"])
@pytest.mark.parametrize("coefficient", naive.COEFFICIENTS)
def test_what_differs_is_seen_to_differ(level, coefficient):
    found = me.compare(*judges(), level=level, coefficient=coefficient, permutations=2000)
    at = {name: i for i, name in enumerate(found.evaluators)}

    def p(one, other):
        return found.p_corrected[at[one], at[other]]

    assert p("good", "twin") > 0.05
    assert p("shuffled", "Random") > 0.05
    for better in ("good", "twin"):
        for worse in ("weak", "shuffled", "Random"):
            assert p(better, worse) < 0.05
            assert found.p_greater[at[better], at[worse]] < 0.01
            assert found.p_greater[at[worse], at[better]] > 0.99


def test_williams_stands_beside_pearson_alone():
    def williams(**options):
        return me.compare(*judges(users=5), permutations=10, **options).p_williams

    assert np.isfinite(williams(aspect="clear")[0, 1])
    assert np.isfinite(williams(aspect="clear", level="generator")[0, 1])
    for options in ({}, {"aspect": "clear", "level": "user"}, {"aspect": "clear", "coefficient": "spearman"}):
        assert np.isnan(williams(**options)).all()


def test_without_users_items_are_swapped():
    scores, truth = judges(users=1, items=20)
    found = me.compare(*(f.drop(columns="user_id") for f in (scores, truth)), permutations=50)
    assert found.policy["swap"] == "item"
    assert me.compare(scores, truth, permutations=50).policy["swap"] == "user"
    with pytest.raises(DataError, match="the data name no user to resample by"):
        me.compare(*(f.drop(columns="user_id") for f in (scores, truth)), swap="user")


def test_evaluators_are_compared_on_the_units_that_all_scored():
    scores, truth = judges(users=10, names=("good", "weak"))
    gone = (scores["evaluator"] == "weak") & scores["user_id"].isin(["u0", "u1"])
    found = me.compare(scores[~gone], truth, permutations=300)
    rest = ~scores["user_id"].isin(["u0", "u1"])
    expected = me.compare(scores[rest], truth[~truth["user_id"].isin(["u0", "u1"])], permutations=300)
    np.testing.assert_allclose(found.difference, expected.difference, rtol=0, atol=1e-9)


@pytest.mark.parametrize("level", ["dataset", "user", "pair", "generator"])
@pytest.mark.parametrize("coefficient", naive.COEFFICIENTS)
def test_evaluators_may_be_compared_on_their_own_units(level, coefficient):
    scores, truth = judges(users=10)
    scores = scores[np.random.default_rng(0).random(len(scores)) < 0.8]
    found = me.compare(scores, truth, level=level, coefficient=coefficient, units="own", permutations=100)
    off = ~np.eye(5, dtype=bool)
    assert np.isfinite(found.p[off]).all()
    np.testing.assert_array_equal(found.p[off], found.p.T[off])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aspect": "cleer"}, r"there is no aspect 'cleer'.*clear.*\(aspects: clear, true, average\)"),
        ({"level": "usr"}, "levels: 'usr' is not allowed"),
        ({"coefficient": "tau"}, "coefficients: 'tau' is not allowed"),
        ({"swap": "users"}, "no users to resample by; .*did you mean 'user'"),
        (
            {"correction": "bonferroni"},
            r"correction: 'bonferroni' is not allowed \(allowed: holm, bh, none\)",
        ),
        ({"permutations": 0}, "permutations is 0; give a whole number, 1 or more"),
        ({"permutations": 1e4}, "permutations is 10000.0"),
        ({"alpha": 5}, "alpha is 5; give a number between 0 and 1"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(MetaevalError, match=message):
        me.compare(*judges(users=4), **options)


def test_few_users_are_said_to_be_too_few():
    scores, truth = judges(users=4)
    tests = me.compare(scores, truth, permutations=200)
    assert tests.policy["least_p"] == 2**-3
    result = me.correlate(scores, truth, levels=["dataset"], coefficients=["pearson"])
    notes = " ".join(me.leaderboard(result, tests=tests).ranking.notes)
    assert "There are too few users for a significant difference" in notes
    assert tests.policy["permutations"] == 200  # more would not help


def test_so_many_permutations_are_made_that_a_correction_with_others_leaves_something():
    """One of 703 tests: with 10,000 permutations no p that is corrected with the others is below 0.07."""
    scores, truth = judges()
    data = prepare(scores, truth, Policy.of(["dataset"], ["pearson"], None, "skip", "common"))
    alone = compare_prepared(data, correlation_cell(AVERAGE), How(permutations=50))
    together = compare_prepared(data, correlation_cell(AVERAGE), How(permutations=50), corrected_with=703)
    assert together.policy["permutations"] > alone.policy["permutations"]
    assert 703 * together.policy["least_p"] <= 0.05


def test_above_the_limit_differences_are_tested_by_the_jackknife(monkeypatch):
    swapped = me.compare(*judges(users=60), level="user", coefficient="kendall")
    monkeypatch.setattr("metaeval.stats.resampling.paired.LIMIT", 50)
    found = me.compare(*judges(users=60), level="user", coefficient="kendall")
    assert (found.policy["made_by"], found.policy["least_p"]) == ("jackknife", 0.0)
    assert "permutations" not in found.policy
    assert sentence(found.policy) == (
        "p: two-sided t tests of differences (the jackknife over 60 users, Holm's correction over "
        f"{found.policy['pairs']} pairs)."
    )
    np.testing.assert_allclose(found.p, swapped.p, atol=0.08)
    orders = me.compare(*judges(users=60), level="generator", coefficient="kendall")
    assert orders.policy["permutations"] == 10_000  # not smooth, so swapped
