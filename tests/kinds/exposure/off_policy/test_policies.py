from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.off_policy.arrays import arrays_of
from metaeval.kinds.exposure.off_policy.policies import policy_of, read_policy
from metaeval.sources.tables.table import from_frame

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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item,probability a,1", "policy.csv: has no column 'item_id'; a policy needs it"),
        ("item_id,p a,1", "policy.csv: has no column 'probability'; a policy needs it"),
        ("item_id,probability a,0.6 b,-0.4", "row 3, column 'probability': is not a number from 0 to 1"),
        ("item_id,probability a,0.6 b,much", "row 3, column 'probability'"),
        ("item_id,probability a,0.5 a,0.5", "row 3, column 'item_id': 'a' occurs twice for the same item_id"),
        ("item_id,probability a,0.5 b,0.4", "probabilities sum to 0.9; they must sum to 1"),
        (
            "item_id,position,probability a,1,1 a,2,0.5",
            "probabilities of position 2 sum to 0.5; they must sum to 1",
        ),
        (
            "user_id,item_id,probability u,a,1 v,b,1",
            "probabilities of user_id w sum to 0; they must sum to 1",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, says):
    with pytest.raises(MetaevalError) as error:
        read(text)
    assert says in str(error.value)


def test_users_of_a_log_without_any_are_refused():
    with pytest.raises(MetaevalError, match="names users, and the log has none"):
        read("user_id,item_id,probability u,a,1", arrays_of(log(user_id=None)))


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


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31))
def test_the_order_of_the_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(2), size=2)
    rows = [(str(p + 1), item, repr(float(shares[p, i]))) for p in (0, 1) for i, item in enumerate("ab")]
    text = [",".join(row) for row in rows]
    shuffled = " ".join(text[i] for i in rng.permutation(4))
    head = "position,item_id,probability "
    assert probabilities(read(head + " ".join(text))) == probabilities(read(head + shuffled))
