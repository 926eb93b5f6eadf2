"""Synthetic interactions follow the target and the constraints, row by row, whatever the order of the log."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from data.make_exposure import simulate
from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.study import SynthesisOptions
from metaeval.kinds.exposure.synthesis_rounds import curve_frame
from metaeval.kinds.exposure.synthesizer import KnownInteractions, anchor_shares, probabilities, synthesize
from tests.kinds.exposure.data.test_loading import ABOUT

DATA = simulate(users=60, items=150, seed=3).data


def made(data=DATA, before=None, **how):
    return synthesize(KnownInteractions.of_log(data), SynthesisOptions(**how), before)


def test_the_order_of_the_log_changes_nothing_and_the_seed_does():
    shuffled = replace(DATA, log=DATA.log.sample(frac=1, random_state=1).reset_index(drop=True))
    one, other = (made(data).rows().frame for data in (DATA, shuffled))
    pd.testing.assert_frame_equal(one, other)
    assert not one.equals(made(seed=1).rows().frame)


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["either", "both", "transition", "similarity"])
def test_each_row_is_new_to_its_user_and_passes_as_its_reason_says(constraint):
    found = made(constraint=constraint, transition=0.15, similarity=0.2)
    frame, known = found.rows().frame, found.known
    assert not frame.duplicated(["user_id", "item_id"]).any()
    assert not frame.merge(DATA.log[["user_id", "item_id"]].astype("str")).size
    assert DATA.items is not None
    genres = DATA.items.set_index("item_id")["genres"].str.split(", ")
    matrix = pd.DataFrame(probabilities(known.transitions()), known.genres, known.genres)
    taken = pd.DataFrame(known.taken_items.toarray(), columns=known.log.items)
    log = DATA.log[DATA.log["outcome"] == 1].sort_values(["timestamp", "item_id"])
    last = log.groupby("user_id", observed=True)["item_id"].last()
    for user, rows in frame.groupby("user_id"):
        chain = [last[user], *rows["item_id"]]
        for one, other, reason in zip(chain, chain[1:], rows["reason"], strict=False):
            both = taken[one] @ taken[other]
            cosine = both / np.sqrt(taken[one].sum() * taken[other].sum()) if both else 0.0
            by = {
                "transition": matrix.loc[genres[one], genres[other]].to_numpy().max() > 0.15,
                "similarity": cosine > 0.2,
            }
            assert reason.split("passed: ")[1] == " and ".join(name for name, passed in by.items() if passed)
            wanted = {"either": any(by.values()), "both": all(by.values())}
            assert {**by, **wanted}[constraint]
            anchor = reason.split(";")[0].removeprefix("anchor: ")
            assert anchor == "none" or anchor in genres[other]


def test_the_curve_is_that_of_the_target_and_the_default_gives_the_tail_three_fifths():
    many = simulate(users=300, items=150, seed=4).data
    curve = curve_frame(made(many))
    assert curve["target"].tolist() == pytest.approx(np.arange(1, 6) / 15)
    assert np.abs(curve["synthetic"] - curve["target"]).max() < 0.02
    flat = curve_frame(made(many, target=(0, 0, 0.5, 0, 0.5)))
    assert flat["synthetic"].tolist() == pytest.approx([0, 0, 0.5, 0, 0.5], abs=0.02)
    with pytest.raises(MetaevalError, match="target has 2 shares, and the items have 5 bins"):
        made(target=(0.5, 0.5))


def test_anchors_are_the_most_frequent_genres_of_the_last_interactions():
    known = KnownInteractions.of_log(DATA)
    shares = anchor_shares(known, 4, 2)
    for user in np.flatnonzero(known.count):
        recent = known.item[known.user == user][-4:]
        count = known.has[recent].sum(axis=0)
        first = np.argsort(-count, kind="stable")[:2]
        assert shares[user, first] == pytest.approx(count[first] / count[first].sum())
        assert np.delete(shares[user], first).sum() == 0
        assert known.last[user] == recent[-1]


def test_a_further_round_goes_on_with_each_chain_and_repeats_nothing():
    first = made(steps=5)
    second = made(steps=5, before=first)
    assert set(second.step) == set(range(6, 11))
    both = pd.concat([first.rows().frame, second.rows().frame])
    assert not both.duplicated(["user_id", "item_id"]).any()
    assert not (second.item[:5] == first.item[:5]).all()


def test_steps_without_a_candidate_that_passes_are_left_out_and_counted():
    found = made(constraint="similarity", similarity=0.3, attempts=3)
    assert 0 < len(found.rows()) < found.wanted == 20 * (found.known.count > 0).sum()
    assert 0 < found.accepted == len(found.item) / (len(found.item) + found.rejected) < 0.5
    with pytest.raises(MetaevalError, match="candidates passed the constraints; lower `transition`"):
        made(constraint="both", transition=1, similarity=1)


@pytest.mark.parametrize(
    ("table", "column", "says"),
    [
        ("log", "timestamp", "has rows without a `timestamp`; add it"),
        ("log", "user_id", "need a log with three users or more"),
        ("items", "genres", "have none; add a table `items` with a column 'genres'"),
    ],
)
def test_what_a_log_lacks_is_said(table, column, says):
    frames = {"log": DATA.log, "items": DATA.items}
    frames[table] = frames[table].drop(columns=column)
    with pytest.raises(MetaevalError, match=says):
        KnownInteractions.of_log(log_of(ABOUT, frames))


def test_a_log_without_success_is_refused():
    with pytest.raises(MetaevalError, match="no outcome of the log of shop is a success"):
        KnownInteractions.of_log(log_of(ABOUT, {"log": DATA.log.assign(outcome=0.0), "items": DATA.items}))
