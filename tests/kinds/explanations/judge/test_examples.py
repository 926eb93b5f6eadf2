from collections import Counter

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.base.records import Scale
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.judge.judge import choose_examples

ASPECTS = ("clear", "true")


def study(users=4, items=3, generators=2, drop=(), unanswered=()):
    units = [
        (f"u{u}", f"i{u}{i}", f"g{g}") for u in range(users) for i in range(items) for g in range(generators)
    ]
    units = [u for u in units if u not in drop]
    explanations = pd.DataFrame(units, columns=["user_id", "item_id", "generator"])
    explanations["explanation"] = [f"text of {'/'.join(u)}" for u in units]
    ratings = pd.DataFrame(
        [
            (*u, "user", a, np.nan if (u, a) in unanswered else 1.0 + (len(a) + n) % 5)
            for n, u in enumerate(units)
            for a in ASPECTS
        ],
        columns=["user_id", "item_id", "generator", "rater", "aspect", "rating"],
    )
    return ExplanationSet(explanations, ratings, dict.fromkeys(ASPECTS, "."), Scale(1, 5))


def unit_of(example):
    return tuple(example.explanation.removeprefix("text of ").split("/"))


@pytest.mark.parametrize("mode", ["one-shot", "personalized", "shuffled"])
def test_same_generator_and_never_scored(mode):
    data = study()
    found = choose_examples(data, ASPECTS, mode, 0)
    units = set(data.units.itertuples(index=False, name=None))
    for unit, example in found.of_unit.items():
        assert unit_of(example)[2] == unit[2]
        assert unit_of(example) in found.shown
        assert example.own == (mode != "one-shot")
    assert set(found.of_unit) == units - found.shown
    assert found.without == 0


def test_one_shot_is_one_pair_for_all_and_personalized_one_item_of_the_same_user():
    one = choose_examples(study(), ASPECTS, "one-shot", 0)
    assert len({unit_of(e)[:2] for e in one.of_unit.values()}) == 1
    assert len(one.shown) == 2  # one per generator
    own = choose_examples(study(), ASPECTS, "personalized", 0)
    for unit, example in own.of_unit.items():
        assert unit_of(example)[0] == unit[0]
        assert unit_of(example)[1] != unit[1]
    assert len(own.shown) == 4 * 2
    assert len({unit[:2] for unit in own.shown}) == 4


def test_shuffled_is_the_example_of_one_other_user_and_hides_the_same_units():
    data = study(users=6)
    personalized = choose_examples(data, ASPECTS, "personalized", 3)
    shuffled = choose_examples(data, ASPECTS, "shuffled", 3)
    assert shuffled.shown == personalized.shown
    giver = {(unit[0], unit_of(e)[0]) for unit, e in shuffled.of_unit.items()}
    assert len(giver) == 6
    assert all(a != b for a, b in giver)
    assert set(Counter(b for _, b in giver).values()) == {1}


def test_the_draw_of_a_user_depends_on_the_seed_and_nobody_else():
    data = study(users=12)
    assert len({choose_examples(data, ASPECTS, "personalized", seed).shown for seed in range(5)}) == 5
    few = choose_examples(study(users=2), ASPECTS, "personalized", 5).shown
    many = choose_examples(study(users=7), ASPECTS, "personalized", 5).shown
    assert few == {u for u in many if u[0] in ("u0", "u1")}


def test_what_cannot_be_is_said():
    data = study()
    no_users = ExplanationSet(
        data.explanations.drop(columns="user_id"), data.ratings, dict.fromkeys(ASPECTS, "."), Scale(1, 5)
    )
    with pytest.raises(DataError, match="has no users"):
        choose_examples(no_users, ASPECTS, "one-shot", 0)
    with pytest.raises(DataError, match="two users"):
        choose_examples(study(users=1), ASPECTS, "shuffled", 0)
    unrated = ExplanationSet(
        data.explanations, data.ratings.assign(rating=np.nan), dict.fromkeys(ASPECTS, "."), Scale(1, 5)
    )
    with pytest.raises(DataError, match="no ratings by users"):
        choose_examples(unrated, ASPECTS, "personalized", 0)
