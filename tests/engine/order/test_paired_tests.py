"""Paired tests: corrections against statsmodels, how many permutations, and the table of pairs."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

import metaeval as me
from metaeval.engine.order.paired_tests import Comparisons
from tests.engine.known_judges import judges


@pytest.mark.slow
@pytest.mark.parametrize(("correction", "name"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_corrections_are_those_of_statsmodels(correction, name):
    found = me.compare(*judges(users=6), correction=correction, permutations=200)
    upper = np.triu_indices(len(found.evaluators), 1)
    expected = multipletests(found.p[upper], method=name)[1]
    np.testing.assert_allclose(found.p_corrected[upper], expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.p_corrected, found.p_corrected.T)
    frame = found.frame
    for column, method in (("p_holm", "holm"), ("p_bh", "fdr_bh")):
        np.testing.assert_allclose(
            frame[column], multipletests(frame["p"], method=method)[1], rtol=0, atol=1e-12
        )


def test_a_family_is_the_pairs_that_could_be_tested():
    scores, truth = judges(users=6)
    scores.loc[scores["evaluator"] == "weak", "score"] = 2.0
    found = me.compare(scores, truth, permutations=200)
    weak = found.evaluators.index("weak")
    assert np.isnan(found.p[weak]).all()
    assert np.isnan(found.p_corrected[:, weak]).all()
    tested = found.frame.dropna(subset="p")
    assert len(tested) == 6
    np.testing.assert_allclose(tested["p_holm"], multipletests(tested["p"], method="holm")[1], atol=1e-12)


def test_more_permutations_where_there_are_many_pairs():
    scores, truth = judges(users=12, items=1, names=("good",))
    many = pd.concat(scores.assign(evaluator=f"E{i}") for i in range(12))
    found = me.compare(many, truth, permutations=100)
    n = found.policy["permutations"]
    assert found.policy["pairs"] == 66
    assert 66 / (n + 1) <= 0.05  # the smallest p-value there can be is significant after Holm's correction
    assert me.compare(many, truth, permutations=100, correction="none").policy["permutations"] == 100
    assert me.compare(many, truth, permutations=5000).policy["permutations"] == 5000


def test_a_frame_makes_the_comparisons_again(tmp_path):
    found = me.compare(
        *judges(users=6), level="user", coefficient="kendall", permutations=100, correction="bh"
    )
    found.frame.to_csv(tmp_path / "tests.csv", index=False)
    read = pd.read_csv(tmp_path / "tests.csv")
    again = Comparisons.of_frame(read, found.policy)
    assert (again.by, again.evaluators, again.policy) == (found.by, found.evaluators, found.policy)
    for field in ("difference", "p", "p_corrected", "p_williams"):
        np.testing.assert_array_equal(getattr(again, field), getattr(found, field), err_msg=field)
    better = found.difference > 0
    np.testing.assert_array_equal(again.p_greater[better], found.p_greater[better])
    pd.testing.assert_frame_equal(again.frame, found.frame)


def test_a_frame_names_the_better_one_first():
    frame = me.compare(*judges(), aspect="true", permutations=20).frame
    assert (frame["difference"] >= 0).all()
    assert len(frame) == 10
    assert set(frame["aspect"]) == {"true"}
    assert frame["p_williams"].notna().all()
