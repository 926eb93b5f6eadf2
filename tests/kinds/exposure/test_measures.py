"""PairAUC and RJS against sums that are written out, against each other, and against a planted truth."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.exposure_bias import bias
from metaeval.engine.order import paired_tests
from metaeval.engine.sheet import Sheet
from metaeval.kinds.exposure.charts import BIAS, bias_figure
from metaeval.kinds.exposure.judges import evidence_table, invented_table
from metaeval.kinds.exposure.kind import EXPOSURE
from metaeval.kinds.exposure.measures import pair_auc_table
from metaeval.reports.drawing import draw
from tests.examples import examples
from tests.kinds.exposure.studies import random_pairs, scored

TIES = ("wrong", "half", "drop")
ANSWERS = (1.0, -1.0, 0.0, "unparsed", "invented")


def drawn(data, seed, names=("a", "b")):
    """Return verdicts and failures of several evaluators."""
    draw = np.random.default_rng(seed)
    return {name: [ANSWERS[i] for i in draw.integers(0, len(ANSWERS), len(data))] for name in names}


def by_hand(data, verdicts, ties, *, weighted):
    """Return PairAUC, RJS and RJS with users alike, as the source writes them."""
    right = {}
    mass = {}
    truth = data.ratings["rating"].tolist()
    valid = [0.0 if isinstance(said, str) else said for said in verdicts]
    for said, true, row in zip(valid, truth, data.table.itertuples(), strict=True):
        if ties == "drop" and said == 0:
            continue
        w = row.weight if weighted else 1.0
        credit = float(said == true) if said else {"wrong": 0.0, "half": 0.5}[ties]
        right[row.user_id] = right.get(row.user_id, 0) + w * credit
        mass[row.user_id] = mass.get(row.user_id, 0) + w
    tau = {u: 2 * right[u] / mass[u] - 1 for u in mass}
    auc = sum(right.values()) / sum(mass.values())
    return auc, sum(mass[u] * tau[u] for u in tau) / sum(mass.values()), sum(tau.values()) / len(tau)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(TIES))
def test_measures_are_the_sums_of_the_source_and_rjs_is_twice_pair_auc_less_one(seed, ties):
    data = random_pairs(seed)
    verdicts = drawn(data, seed)
    board = scored(data, verdicts, ties=ties, bootstrap=None).board
    for weighting in ("ips", "none"):
        for at, name in enumerate(verdicts):
            wanted = by_hand(data, verdicts[name], ties, weighted=weighting == "ips")
            found = [
                board.of({"bin": "all", "weighting": weighting, "measure": m})["estimate"].iloc[at]
                for m in ("PairAUC", "RJS", "RJS, users alike")
            ]
            assert found == pytest.approx(wanted)
            assert found[1] == pytest.approx(2 * found[0] - 1)
            if len(data.table["user_id"].unique()) == 1:
                assert found[1] == pytest.approx(found[2])


def test_the_table_counts_ties_invalid_answers_and_pairs_by_bin():
    data = random_pairs(3)
    verdicts = drawn(data, 3)
    verdicts["b"][0] = "missing"  # it was not asked: the unit is left out for all
    table = pair_auc_table(scored(data, verdicts))
    assert ",".join(table).startswith("evaluator,bin,weighted,estimate,ci_low,ci_high,ties,invalid,n_pairs,")
    assert len(table) == 2 * 4 * 2
    assert table["ci_low"].le(table["estimate"]).all()
    assert table["ci_high"].ge(table["estimate"]).all()
    for row in table.itertuples():
        use = np.arange(len(data)) > 0
        if row.bin != "all":
            use &= (data.table["popularity"] == row.bin).to_numpy()
        said = [v for v, here in zip(verdicts[row.evaluator], use, strict=True) if here]
        assert row.ties == said.count(0.0)
        assert row.invalid == said.count("unparsed") + said.count("invented")
        assert row.n_verdicts == use.sum()
        assert row.n_pairs == len(data.table.loc[use, ["user_id", "pair"]].drop_duplicates())


def test_without_weights_only_unweighted_agreement_is_there():
    data = random_pairs(4)
    data.table["weight"] = np.nan
    study = scored(data, drawn(data, 4))
    assert {study.study.ordered_by["weighting"], *study.board.frame["weighting"]} == {"none"}


def test_a_verdict_counts_by_the_share_of_its_evidence_if_the_rule_says_so():
    data = random_pairs(5)
    draw = np.random.default_rng(5)
    truth = data.ratings["rating"].to_numpy()
    shares = draw.choice([0.0, 0.5, 1.0], len(data))
    verdicts = {"a": np.where(shares > 0, truth, -truth).tolist()}  # it is wrong where all is made up
    found = {}
    for rule in ("weight", "ignore"):
        study = scored(data, verdicts, columns={"evidence": shares}, signatures={"evidence": rule})
        found[rule] = study.board.of({"bin": "all", "weighting": "none", "measure": "PairAUC"})[
            "estimate"
        ].item()
    assert found["weight"] == 1
    assert found["ignore"] == pytest.approx((shares > 0).mean())


def test_tests_tell_a_careful_evaluator_from_a_careless_one_and_intervals_hold_the_truth():
    data = random_pairs(6, users=60)
    truth, draw = data.ratings["rating"].to_numpy(), np.random.default_rng(6)

    def right(share):
        return np.where(draw.random(len(truth)) < share, truth, -truth).tolist()

    cells = (scored(data, {"careful": right(0.85), "careless": right(0.5), "coin": right(0.5)})).cells
    cell = {"bin": "all", "weighting": "ips", "measure": "RJS"}
    found = cells.compare(cell, paired_tests.Tests(permutations=500))
    assert found.p_corrected[0, 1] < 0.05 < found.p_corrected[1, 2]
    row = cells.board(cell).frame.iloc[0]
    assert row["ci_low"] < 0.7 < row["ci_high"]


def test_groups_of_users_and_pairs_have_the_measures_of_their_units():
    data = random_pairs(7)
    verdicts = drawn(data, 7)
    users, pairs = EXPOSURE.groups(scored(data, verdicts, ties="half"))
    assert (users.keys, pairs.keys) == (("user_id",), ("user_id", "pair"))
    numbers = users.columns[0].numbers  # evaluators, bins, weightings, measures, users
    assert numbers.shape[1:4] == (4, 2, 3)
    for at, (user,) in enumerate(users.ids):
        own = (data.table["user_id"] == user).to_numpy()
        said = [0.0 if isinstance(v, str) else v for v in np.array(verdicts["a"], dtype=object)[own]]
        true, weight = data.ratings["rating"].to_numpy()[own], data.table["weight"].to_numpy()[own]
        wanted = (weight * (1 + np.array(said) * true) / 2).sum() / weight.sum()
        assert numbers[0, 0, 0, 0, at] == pytest.approx(wanted)


def test_the_audit_counts_by_order_and_lists_what_was_invented():
    data = random_pairs(8)
    draw = np.random.default_rng(8)
    shares = draw.choice([0.0, 0.5, 1.0], len(data))
    texts = ["\n".join(["made up"] * round(2 * (1 - s))) for s in shares]
    truth = data.ratings["rating"].to_numpy()
    first = (data.table["order"] == "first").to_numpy()
    # The item is the same in both orders, but for the users whose number is even: for them it is the place.
    even = data.table["user_id"].str[-1].isin(list("02468")).to_numpy()
    verdicts = {"a": np.where(even, 1.0, truth).tolist()}
    study = scored(
        data, verdicts, columns={"evidence": shares, "invented": texts}, signatures={"evidence": "ignore"}
    )
    table = evidence_table(study).set_index("order")
    for order, use in {"both": shares >= 0, "first": first, "second": ~first}.items():
        row = table.loc[order]
        assert row["complete"] == pytest.approx((shares[use] == 1).mean())
        assert row["found"] == pytest.approx(shares[use].mean())
        assert row["complete_low"] <= row["complete"] <= row["complete_high"]
        assert row["n_invented"] == (shares[use] < 1).sum()
        assert (row["n_verdicts"], row["n_discarded"], row["rule"]) == (use.sum(), 0, "ignore")
    assert table.loc["both", "same"] == pytest.approx((~even).mean())
    planted = invented_table(study)
    assert list(planted) == ["evaluator", "user_id", "pair", "order", "text"]
    assert len(planted) == round(2 * (1 - shares).sum())
    assert set(planted["text"]) == {"made up"}
    assert evidence_table(scored(data, verdicts)).equals(pd.DataFrame())


@pytest.mark.slow
def test_exposure_biases_unweighted_agreement_and_not_the_weighted_one():
    found = bias(3)
    error = (found["estimate"] - found["truth"]).groupby([found["evaluator"], found["weighting"]]).mean()
    assert error["better on popular items", "unweighted"] > 0.06
    assert error["better on the tail", "unweighted"] < -0.06
    assert abs(error["as good on all items", "unweighted"]) < 0.01
    assert error.xs("weighted", level=1).abs().max() < 0.012
    figure = bias_figure(Sheet(BIAS.name, BIAS.title, found, tuple(BIAS.columns)), {})
    svg = draw(figure, "svg").decode()
    for text in (*found["evaluator"], "weighted", "unweighted"):
        assert text in svg
