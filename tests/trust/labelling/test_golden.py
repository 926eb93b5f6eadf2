"""Golden sets: every stratum is in them, and they say where they come from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.data.manifest import Format
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.loading import save
from metaeval.kinds.index import kind_named
from metaeval.kinds.reading import inspect, load
from metaeval.trust.labelling.golden import Golden, equal_shares, proportional_shares, sample
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def data(sample: Path) -> ExplanationSet:
    return load(sample)


def keys(made: Golden) -> set[tuple[str, ...]]:
    return set(made.data.units.itertuples(index=False, name=None))


def test_every_stratum_is_covered_in_its_share(data: ExplanationSet) -> None:
    made = sample(data, 60, ["generator", "language"])
    assert len(made.data) == 60
    assert len(made.strata) == 12
    assert sum(s.chosen for s in made.strata) == 60
    profile = data.users.set_index("user_id")["language"]
    drawn = zip(
        made.data.explanations["generator"], made.data.explanations["user_id"].map(profile), strict=True
    )
    assert Counter(drawn) == {tuple(s.cell.values()): s.chosen for s in made.strata}
    assert {s.chosen for s in made.strata} == {5}
    assert not made.warnings


def test_what_belongs_to_a_unit_comes_along_whole(data: ExplanationSet) -> None:
    made = sample(data, 40, ["generator"]).data
    both = data.ratings.merge(made.units, on=list(data.keys))
    assert len(both) == len(made.ratings)
    assert (
        both.sort_values([*both.columns])
        .reset_index(drop=True)
        .equals(made.ratings.sort_values([*both.columns]).reset_index(drop=True))
    )
    assert set(made.users["user_id"]) == set(made.explanations["user_id"])
    assert made.explanations.merge(data.explanations).shape == made.explanations.shape


def test_pairs_are_of_two_generators_each_for_another_user_and_item(data: ExplanationSet) -> None:
    made = sample(data, 30, ["first"], pairs=True)
    groups = made.data.explanations.groupby(["user_id", "item_id"])
    assert groups.ngroups == 30
    assert (groups["generator"].nunique() == 2).all()
    assert len(made.data) == 60
    drawn = Counter(groups["generator"].min())
    assert drawn == {stratum.cell["first"]: stratum.chosen for stratum in made.strata}
    pairs = {
        kind_named().of_pairs(sample(data, 30, ["first"], seed=s, pairs=True).data)[1].fingerprint
        for s in (0, 0, 1)
    }
    assert len(pairs) == 2
    with pytest.raises(DataError, match=r"300 pairs cannot be drawn from 88"):
        sample(data, 300, ["first"], pairs=True)
    with pytest.raises(DataError, match="--pairs is for explanations"):
        sample(me.load(ROOT / "data" / "slates"), 30, ["task"], pairs=True)


def test_the_seed_and_the_keys_alone_decide(data: ExplanationSet) -> None:
    made = sample(data, 50, ["generator"])
    mixed = replace(
        data, explanations=data.explanations.sample(frac=1, random_state=3).reset_index(drop=True)
    )
    assert keys(sample(mixed, 50, ["generator"])) == keys(made)
    others = [keys(sample(data, 50, ["generator"], seed=seed)) for seed in (1, 2)]
    assert len({frozenset(k) for k in [keys(made), *others]}) == 3


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_it_loads_again_and_says_what_it_was_drawn_from(
    data: ExplanationSet, tmp_path: Path, suffix: Format
) -> None:
    made = sample(data, 24, ["generator", "age"], seed=5, equal=True)
    folder = save(made.data, tmp_path / "gold", suffix)
    assert inspect(folder).problems == ()
    again = load(folder)
    assert again.fingerprint == made.data.fingerprint
    drawn = again.extra["golden"]
    assert drawn["parent"] == {"name": "sample", "fingerprint": data.fingerprint, "units": len(data)}
    assert (drawn["by"], drawn["seed"], drawn["allocation"]) == (["generator", "age"], 5, "equal")
    assert sum(s["chosen"] for s in drawn["strata"]) == 24
    assert sum(s["units"] for s in drawn["strata"]) == len(data)
    assert again.simulated


def test_an_empty_value_is_a_stratum(data: ExplanationSet) -> None:
    lacking = replace(data, users=data.users[data.users["user_id"] != "u01"].reset_index(drop=True))
    made = sample(lacking, 10, ["language"])
    assert [s.cell["language"] for s in made.strata] == ["", "en", "zh"]
    assert made.lines()[0].startswith("language (empty): 1 of ")


@pytest.mark.parametrize(
    ("n", "by", "says"),
    [
        (
            11,
            ["generator", "language"],
            "11 units cannot cover the 12 strata by generator, language; take 12",
        ),
        (529, ["generator"], "cannot be drawn from 528; take 528 or fewer"),
        (10, ["genertor"], "no column 'genertor' of explanations or users; did you mean 'generator'"),
        (10, ["explanation"], "no column 'explanation'"),
        (10, ["generator", "generator"], "each given once"),
        (10, [], "one or more"),
    ],
)
def test_what_cannot_be_drawn(data: ExplanationSet, n: int, by: list[str], says: str) -> None:
    with pytest.raises(DataError) as error:
        sample(data, n, by)
    assert says in str(error.value)


# How many units each stratum gets

SIZES = st.lists(st.integers(1, 300), min_size=1, max_size=12)


@st.composite
def sizes_and_n(draw: st.DrawFn) -> tuple[list[int], int]:
    sizes = draw(SIZES)
    return sizes, draw(st.integers(len(sizes), sum(sizes)))


@given(sizes_and_n())
def test_all_is_given_every_stratum_is_covered_and_none_is_overdrawn(case: tuple[list[int], int]) -> None:
    sizes, n = case
    for shares in (proportional_shares(sizes, n), equal_shares(sizes, n)):
        assert sum(shares) == n
        assert all(1 <= share <= size for share, size in zip(shares, sizes, strict=True))


@given(sizes_and_n())
def test_equal_shares_differ_by_one_unless_a_stratum_is_used_up(case: tuple[list[int], int]) -> None:
    sizes, n = case
    shares = equal_shares(sizes, n)
    left = [share for share, size in zip(shares, sizes, strict=True) if share < size]
    assert not left or max(shares) - min(left) <= 1


@pytest.mark.parametrize(
    ("sizes", "n", "proportional", "equal"),
    [
        ([50, 30, 20], 10, [5, 3, 2], [4, 3, 3]),
        # Hamilton's method: quotas 4.7, 2.8, 1.5, 1.0; the two that are left go to the first two.
        ([47, 28, 15, 10], 10, [5, 3, 1, 1], [3, 3, 2, 2]),
        ([990, 5, 5], 10, [8, 1, 1], [4, 3, 3]),
        ([1, 1, 100], 3, [1, 1, 1], [1, 1, 1]),
        ([2, 100, 100], 50, [1, 25, 24], [2, 24, 24]),
        ([7], 7, [7], [7]),
    ],
)
def test_by_hand(sizes: list[int], n: int, proportional: list[int], equal: list[int]) -> None:
    assert proportional_shares(sizes, n) == proportional
    assert equal_shares(sizes, n) == equal
