"""What a judge is asked about, and what it is shown of a user."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.kinds.known_items import items_of
from metaeval.kinds.relevance.judge import profiles_of, sampled, spread
from tests.kinds.relevance.films import films

if TYPE_CHECKING:
    from metaeval.kinds.known_items import Profiles
    from metaeval.kinds.relevance.data.collection import Collection


def told(data: Collection, fields: tuple[str, ...] = ("title",), **more: object) -> Profiles:
    options = {"history": 100, "order": "random", "seed": 0, "room": None, **more}
    return profiles_of(data, items_of(data, fields), **options)  # type: ignore[arg-type]


def numbers(profiles: Profiles, user: str) -> list[int]:
    """Return the films that a user's history shows, in its order."""
    values = profiles.of(user)
    assert values is not None
    return [int(n) for n in re.findall(r"^title: Film (\d+)", values["history"]["text"], re.MULTILINE)]


def past(data: Collection, user: str) -> pd.DataFrame:
    """Return what a user chose and is not asked about."""
    judged = set(data.table[data.table["user_id"] == user]["item_id"])
    own = data.histories[data.histories["user_id"] == user]
    return own[~own["item_id"].isin(judged)]


def test_no_item_that_is_judged_for_a_user_is_in_the_history_shown() -> None:
    data = films(users=10)
    judged = data.table.merge(data.histories, on=["user_id", "item_id"])
    assert len(judged) > 10
    for user in data.units["user_id"].unique():
        assert sorted(numbers(told(data), user)) == sorted(
            int(item[1:]) for item in past(data, user)["item_id"]
        )


def test_recent_is_by_time_and_random_by_the_seed_and_the_user_alone() -> None:
    data = films(users=6)
    recent = past(data, "u2").sort_values("timestamp", ascending=False)["item_id"].str[1:].astype(int)
    assert numbers(told(data, order="recent", history=3), "u2") == recent.tolist()[:3]
    drawn = numbers(told(data, history=3), "u2")
    assert numbers(told(data), "u2")[:3] == drawn
    others = data.without("user_id", ["u0", "u1"])
    shuffled = dataclasses.replace(others, histories=data.histories.sample(frac=1, random_state=3))
    assert numbers(told(shuffled, history=3), "u2") == drawn
    assert any(numbers(told(data, seed=seed, history=3), "u2") != drawn for seed in (1, 2, 3))


def test_a_line_has_the_fields_and_the_rating_and_no_line_break() -> None:
    data = films(users=1)
    values = told(data, ("title", "overview")).of("u0")
    assert values is not None
    lines = values["history"]["text"].split("\n")
    assert len(lines) == len(past(data, "u0"))
    form = r"title: Film \d+; overview: What happens in film \d+\. And how it ends\.; rated [1-5]"
    assert all(re.fullmatch(form, line) for line in lines)
    assert values["history"]["ratings"] == {"low": "1", "high": "5"}
    assert values["profile"] is None


def test_what_is_too_long_is_cut_from_the_end_and_counted() -> None:
    data = films(users=4, items=300, past=200, judged=5)
    whole = told(data)
    assert whole.cut == []
    short = told(data, room=400)
    assert short.cut == ["u0", "u1", "u2", "u3"]
    shown = numbers(short, "u1")
    assert 20 < len(shown) < 100
    assert shown == numbers(whole, "u1")[: len(shown)]
    values = short.of("u1")
    assert values is not None
    assert (values["history"]["shown"], values["history"]["total"]) == (
        str(len(shown)),
        str(len(past(data, "u1"))),
    )
    assert told(data, history=len(shown), room=400).cut == []


def test_profiles_are_shown_and_count() -> None:
    profiles = pd.DataFrame({"user_id": ["u0", "u1"], "age": ["30", None], "likes": ["war\nfilms", " "]})
    data = films(users=2, profiles=profiles)
    values = told(data).of("u0")
    assert values is not None
    assert values["profile"] == [{"name": "age", "value": "30"}, {"name": "likes", "value": "war films"}]
    alone = told(dataclasses.replace(data, histories=None))
    assert alone.of("u0") == {"profile": values["profile"], "history": None}
    assert alone.of("u1") is None
    assert told(data, history=0).of("u1") == {"profile": None, "history": None}


def test_what_cannot_be_is_said() -> None:
    data = films()
    with pytest.raises(DataError, match="'films' has no histories"):
        told(dataclasses.replace(data, histories=None))
    timeless = dataclasses.replace(data, histories=data.histories.drop(columns="timestamp"))
    with pytest.raises(DataError, match="column 'timestamp' in the histories of data set 'films'"):
        told(timeless, order="recent")
    with pytest.raises(DataError, match=r"no field 'titel'; did you mean 'title'"):
        told(data, ("titel",))
    with pytest.raises(DataError, match="has no items file"):
        told(dataclasses.replace(data, items=None))


@given(st.integers(1, 300), st.integers(0, 1000))
def test_every_beginning_is_spread_evenly(count: int, seed: int) -> None:
    """No stretch of the circle between two neighbours is more than four times the mean."""
    order = spread(count, seed % count)
    assert sorted(order) == list(range(count))
    for size in range(1, count + 1):
        places = np.sort(order[:size])
        gaps = np.diff(np.append(places, places[0] + count))
        assert gaps.max() <= max(1, 4 * count / size)


def test_a_sample_has_units_of_all_depths() -> None:
    data = films(users=20, items=200, judged=100)
    depths = data.runs["rank"].to_numpy()[sampled(data, 20, seed=0)]
    quarters = np.histogram(depths, [1, 26, 51, 76, 101])[0] / 20
    assert np.allclose(quarters, 5, atol=1)
    assert sorted(sampled(data, None, seed=0)) == sorted(sampled(data, 500, seed=0)) == list(range(2000))


def test_a_smaller_sample_is_part_of_a_larger_and_a_user_depends_on_nobody_else() -> None:
    data = films(users=5, items=60, judged=40)
    some, more, other = (set(sampled(data, n, seed)) for n, seed in ((7, 0), (23, 0), (7, 1)))
    assert some < more
    assert some != other
    alone = data.without("user_id", ["u0", "u1", "u2", "u4"])
    assert {unit + 3 * 40 for unit in sampled(alone, 7, 0)} == {u for u in some if 120 <= u < 160}
    shuffled = dataclasses.replace(data, runs=data.runs.sample(frac=1, random_state=1))
    assert set(sampled(shuffled, 7, 0)) == some


def test_what_no_run_has_is_the_deepest() -> None:
    data = films(users=1, items=60, judged=40)
    data = dataclasses.replace(data, runs=data.runs[data.runs["rank"] <= 20])
    in_runs = [unit < 20 for unit in sampled(data, 10, 0)]
    assert sum(in_runs) == 5


def test_a_random_pool_has_every_unit_as_likely() -> None:
    data = films(users=1, items=60, judged=40)
    data = dataclasses.replace(data, runs=data.runs[data.runs["rank"] <= 5])  # few units have a depth
    counts = np.zeros(40)
    for seed in range(400):
        counts[sampled(data, 10, seed, "random")] += 1
    assert np.abs(counts / 400 - 10 / 40).max() < 0.1
    assert set(sampled(data, 10, 3, "random")) < set(sampled(data, 20, 3, "random"))
