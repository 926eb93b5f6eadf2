"""Duels are drawn by names and a seed, and what the rule states holds for every draw."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.kinds.slates.data.sampling import Drawn, Sampling, draw_duels
from tests.examples import examples


def candidates(users: int = 3, items: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "user_id": np.repeat([f"u{n}" for n in range(users)], items),
            "item_id": np.tile([f"i{n}" for n in range(items)], users),
            "gain": rng.integers(0, 5, users * items) / 4,
        }
    )


ITEMS = pd.DataFrame(
    {"item_id": [f"i{n}" for n in range(12)], "title": [f"word{n % 3} other{n % 5} {n}" for n in range(12)]}
)


def contents(found: Drawn) -> dict[tuple[str, str], list[str]]:
    ordered = found.slates.sort_values(["user_id", "slate", "position"])
    return ordered.groupby(["user_id", "slate"])["item_id"].agg(list).to_dict()


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(2, 6), st.integers(2, 6), st.integers(0, 3), st.booleans())
def test_every_draw_keeps_the_rule(size: int, slates: int, seed: int, equal: bool) -> None:
    how = Sampling(size=size, slates=slates, seed=seed, equal=equal, identical=0, repeats=0)
    found = draw_duels(candidates(), how)
    lists = contents(found)
    for (user, task), duels in found.duels.groupby(["user_id", "task"]):
        own = {name: items for (of, name), items in lists.items() if of == user and name.startswith(task)}
        assert 2 <= len(own) <= slates
        assert len(duels) == len(own) * (len(own) - 1) // 2
        assert all(len(set(items)) == size for items in own.values())
        kinds = {frozenset(items) for items in own.values()}
        assert len(kinds) == 1 if task == "T2" else task == "T3" or len(kinds) == len(own)
        assert len({tuple(items) for items in own.values()}) == len(own)
        if not equal:
            assert (duels["utility_first"] != duels["utility_second"]).all()
        assert all(duels[side].between(0, 1).all() for side in ("utility_first", "utility_second"))
    assert found.duels["duel"].groupby(found.duels["user_id"]).nunique().sum() == len(found.duels)


def test_draws_depend_on_names_not_on_rows_or_other_users() -> None:
    how = Sampling(duels=3, by="difficulty", identical=1, repeats=1)
    all_users = candidates()
    found = draw_duels(all_users, how, ITEMS)
    shuffled = draw_duels(all_users.sample(frac=1, random_state=1), how, ITEMS.iloc[::-1])
    pd.testing.assert_frame_equal(found.duels, shuffled.duels)
    pd.testing.assert_frame_equal(found.slates, shuffled.slates)
    alone = draw_duels(all_users[all_users["user_id"] == "u1"], how.model_copy(update={"tasks": ("T3",)}))
    drawn = contents(found)
    assert all(drawn[name] == items for name, items in contents(alone).items())
    other = draw_duels(all_users, how.model_copy(update={"seed": 1}), ITEMS)
    assert contents(other) != drawn


def test_difficulty_spreads_a_sample_over_the_range_of_similarity() -> None:
    how = {"tasks": ("T1",), "slates": 12, "size": 3, "duels": 9, "identical": 0, "repeats": 0}
    given_ = candidates(users=20)
    evenly = draw_duels(given_, Sampling(by="difficulty", **how), ITEMS).duels
    alike = draw_duels(given_, Sampling(**how), ITEMS).duels
    assert len(evenly) == len(alike) == 20 * 9
    # All pairs, which say where the thirds lie.
    whole = draw_duels(given_, Sampling(**{**how, "duels": None}), ITEMS).duels.groupby("user_id")[
        "similarity"
    ]

    def highest(duels: pd.DataFrame) -> pd.Series:
        low, high = duels["user_id"].map(whole.min()), duels["user_id"].map(whole.max())
        return (duels["similarity"] > low + (high - low) * 2 / 3).groupby(duels["user_id"]).sum()

    there = whole.agg(lambda s: (s > s.min() + (s.max() - s.min()) * 2 / 3).sum())
    assert (highest(evenly) >= there.clip(upper=3)).all()
    assert highest(alike).sum() < highest(evenly).sum()


def test_probes_are_added_to_the_duels() -> None:
    plain = draw_duels(candidates(), Sampling(duels=4, identical=0, repeats=0))
    found = draw_duels(candidates(), Sampling(duels=4, identical=2, repeats=3))
    duels = found.duels
    identical, again = duels["first"] == duels["second"], duels["repeat"] == 1
    assert duels[identical].groupby(["user_id", "task"]).size().eq(2).all()
    assert duels[again].groupby(["user_id", "task"]).size().eq(3).all()
    rest = duels[~identical & ~again]
    pd.testing.assert_frame_equal(rest.reset_index(drop=True), plain.duels)
    sides = ["user_id", "task", "first", "second", "utility_first", "utility_second"]
    assert len(duels[again].merge(rest, on=sides)) == again.sum()
