from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.data.tables.table import from_frame
from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.off_policy.policies import (
    arrays_of,
    policy_of,
    predicted,
    read_policy,
    read_predictions,
)
from tests.examples import examples

ABOUT = {"name": "log", "outcome": {"min": 0, "max": 1}}


def log(**columns):
    made = {
        "user_id": ["u", "v", "u", "w"],
        "item_id": ["a", "b", "b", "a"],
        "outcome": [0, 1, 0, 1],
        "position": [1, 2, 1, 2],
        "propensity": [0.5, 0.5, 0.25, 1.0],
    }
    return log_of(ABOUT, {"log": pd.DataFrame({k: v for k, v in (made | columns).items() if v is not None})})


LOG = arrays_of(log())


def read(text, of=LOG):
    rows = [line.split(",") for line in text.split()]
    return policy_of(from_frame(pd.DataFrame(rows[1:], columns=rows[0]), "policy.csv"), of, "policy")


def probabilities(policy, of=LOG):
    return policy.table[policy.row, of.item].tolist()


def test_a_table_of_items_holds_for_all():
    assert probabilities(read("item_id,probability a,0.2 b,0.3 c,0.5")) == [0.2, 0.3, 0.3, 0.2]


def test_positions_and_users_have_probabilities_of_their_own():
    text = "item_id,position,probability a,1,1 b,2,0.25 a,2,0.75 a,3,1"  # of position 3 the log has none
    assert probabilities(read(text)) == [1.0, 0.25, 0.0, 0.75]
    text = "user_id,item_id,probability u,a,0.5 u,b,0.5 v,b,1 w,a,0.125 w,c,0.875 x,a,1"
    assert probabilities(read(text)) == [0.5, 1.0, 0.5, 0.125]
    text = "user_id,position,item_id,probability u,1,a,0.5 u,1,b,0.5 v,2,b,1 w,2,a,0.5 w,2,b,0.5"
    assert probabilities(read(text)) == [0.5, 1.0, 0.5, 0.5]


def test_contexts_profiles_and_rounds_have_probabilities_of_their_own():
    people = pd.DataFrame({"user_id": ["u", "v", "w"], "age": ["old", "old", "young"]})
    given = log(device=["phone", "web", "web", "phone"], probability_new=[0.5, 0.25, 1, 0])
    of = arrays_of(log_of(ABOUT, {"log": given.log, "profiles": people}))
    text = "device,item_id,probability phone,a,1 web,a,0.25 web,b,0.75"  # a user has both devices
    assert probabilities(read(text, of), of) == [1.0, 0.75, 0.75, 1.0]
    text = "age,device,item_id,probability old,phone,a,1 old,web,b,1 young,phone,a,0.5 young,phone,b,0.5"
    assert probabilities(read(text, of), of) == [1.0, 1.0, 1.0, 0.5]
    text = "round,item_id,probability 1,a,1 2,a,0.5 2,b,0.5 3,b,1 4,a,0.25 4,b,0.75"
    assert probabilities(read(text, of), of) == [1.0, 0.5, 1.0, 0.25]
    alone = read("round,probability 4,0.1 3,0.2 2,0.3 1,0.4", of)
    assert alone.logged(of).tolist() == [0.4, 0.3, 0.2, 0.1]
    assert read_policy("new", of, "nowhere").logged(of).tolist() == [0.5, 0.25, 1, 0]
    assert set(of.context) == {"device"}
    named = arrays_of(log(round=["d", "c", "b", "a"]))
    assert read("round,probability a,0.1 b,0.2 c,0.3 d,0.4", named).logged(named).tolist() == [
        0.4,
        0.3,
        0.2,
        0.1,
    ]
    with pytest.raises(MetaevalError, match=r"policy\.csv.*has no row for round 2"):
        read("round,probability 1,0.5", of)
    with pytest.raises(
        MetaevalError, match=r"column 'probability_new': the probability_new 2 is not from 0 to 1"
    ):
        log(probability_new=[0.5, 2, 1, 0])


def test_own_predictions_are_of_the_logged_item_and_of_the_policy(tmp_path):
    file = tmp_path / "q.csv"
    file.write_text("item_id,position,prediction\na,1,0.1\nb,1,0.2\na,2,0.3\nb,2,0.4\n")
    own = read_predictions(file, LOG)
    policy = read("item_id,position,probability a,1,1 b,2,0.25 a,2,0.75")
    of_logged, of_policy = predicted(LOG, policy, own)
    assert of_logged.tolist() == [0.1, 0.4, 0.2, 0.3]
    assert of_policy.tolist() == pytest.approx([0.1, 0.325, 0.1, 0.325])
    text = "round,probability,prediction,expected 1,1,0.1,0.5 2,1,0.2,0.6 3,1,0.3,0.7 4,1,0.4,0.8"
    assert [v.tolist() for v in predicted(LOG, read(text), None)] == [
        [0.1, 0.2, 0.3, 0.4],
        [0.5, 0.6, 0.7, 0.8],
    ]
    file.write_text("item_id,prediction\na,0.1\n")
    with pytest.raises(
        MetaevalError, match=r"q\.csv has no prediction of the item 'b' for round 2 of the log"
    ):
        predicted(LOG, policy, read_predictions(file, LOG))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item,probability a,1", "policy.csv: has no column 'item_id'; a policy needs it"),
        ("item_id,p a,1", "policy.csv: has no column 'probability'; a policy needs it"),
        ("item_id,probability a,0.6 b,-0.4", "row 3, column 'probability': is not a number from 0 to 1"),
        ("item_id,probability a,0.6 b,much", "row 3, column 'probability'"),
        ("item_id,probability a,0.5 a,0.5", "row 3, column 'item_id': 'a' occurs twice for the same item_id"),
        ("item_id,probability a,0.5 b,0.4", "probabilities sum to 0.9; they must sum to 1"),
        ("item_id,position,probability a,1,1 a,2,0.5", "probabilities of position 2 sum to 0.5; they must"),
        ("user_id,item_id,probability u,a,1 v,b,1", "probabilities of user_id w sum to 0; they must sum"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, says):
    with pytest.raises(MetaevalError) as error:
        read(text)
    assert says in str(error.value)


def test_users_and_propensities_of_a_log_without_any_are_refused():
    with pytest.raises(MetaevalError, match="names users, and the log has none"):
        read("user_id,item_id,probability u,a,1", arrays_of(log(user_id=None)))
    with pytest.raises(MetaevalError, match=r"the log of log has no column 'propensity'.*fit propensities"):
        arrays_of(log(propensity=None))


def test_the_uniform_policy_knows_the_items_that_were_never_shown(tmp_path):
    items = pd.DataFrame({"item_id": ["c", "a", "b", "d"]})
    of = arrays_of(log_of(ABOUT, {"log": pd.DataFrame(log().log), "items": items}))
    policy = read_policy("uniform", of, tmp_path)
    assert policy.items == ["a", "b", "c", "d"]
    assert policy.table.tolist() == [[0.25] * 4]


def test_a_policy_is_found_as_a_file_or_beside_the_data(tmp_path, monkeypatch):
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "best.csv").write_text("item_id,probability\na,1\n")
    (tmp_path / "other.csv").write_text("item_id,probability\nb,1\n")
    assert probabilities(read_policy("best", LOG, tmp_path)) == [1, 0, 0, 1]
    assert probabilities(read_policy(str(tmp_path / "other.csv"), LOG, tmp_path)) == [0, 1, 1, 0]
    with pytest.raises(MetaevalError, match=r"'bets'.*'best'.*give a file, or one of uniform, best"):
        read_policy("bets", LOG, tmp_path)


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 2**31))
def test_the_order_of_the_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(2), size=2)
    rows = [(str(p + 1), item, repr(float(shares[p, i]))) for p in (0, 1) for i, item in enumerate("ab")]
    text = [",".join(row) for row in rows]
    shuffled = " ".join(text[i] for i in rng.permutation(4))
    head = "position,item_id,probability "
    assert probabilities(read(head + " ".join(text))) == probabilities(read(head + shuffled))


def test_names_are_codes_and_contexts_categories():
    found = arrays_of(log(region=["n", "s", "n", "n"]))
    assert [found.items[i] for i in found.item] == ["a", "b", "b", "a"]
    assert [found.positions[i] for i in found.position] == [1, 2, 1, 2]
    assert [found.users[i] for i in found.cluster] == ["u", "v", "u", "w"]
    assert found.context["region"].tolist() == [0, 1, 0, 0]  # the most frequent first
    assert found.count is None
    alone = arrays_of(log(user_id=None, position=None))  # rounds stand for themselves
    assert (alone.cluster.tolist(), alone.n_clusters, alone.positions) == ([0, 1, 2, 3], 4, [1])


def many(**context):
    rows = {"user_id": ["u"] * 60, "item_id": ["a"] * 60, "outcome": [1] * 60, "propensity": [0.5] * 60}
    return arrays_of(log(**rows, position=None, **context)).context


def test_a_context_of_numbers_has_fifths():
    age = np.random.default_rng(0).permutation(60)
    assert many(age=age)["age"].tolist() == (age // 12).tolist()
    few = many(stars=[i % 5 for i in range(60)])["stars"]
    assert sorted(set(few.tolist())) == [0, 1, 2, 3, 4]


def test_rare_texts_of_a_context_stand_together():
    found = arrays_of(log(city=["rare", "big", "rarer", "big"])).context["city"]
    assert found.tolist() == [1, 0, 2, 0]
    assert many(page=[f"p{i:02}" for i in range(60)])["page"].max() == 50


def test_propensities_of_pairs_are_those_of_rounds_of_their_users():
    """Each pair counts once, whatever its rows and whatever the pace of its user."""
    of = log(
        user_id=["u", "v", "u", "u", "w"],
        item_id=["a", "b", "b", "b", "a"],
        outcome=[1, 0, 1, 1, 0],
        propensity=[0.5, 0.5, 0.25, 1.0, 0.5],
        position=None,
    )
    pairs = arrays_of(replace(of, exposure="pair"))
    weight = 1 / 2 / pairs.propensity  # of the policy that shows both items alike
    np.testing.assert_allclose(weight / pairs.count.sum(), 1 / np.array([0.5, 0.5, 0.5, 2.0, 0.5]) / 6)
    np.testing.assert_allclose(np.bincount(pairs.cluster, pairs.count), 5 / 3)
