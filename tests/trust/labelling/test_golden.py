"""Golden sets: every stratum is in them, and they say where they come from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.files.loading import inspect, load
from metaeval.trust.labelling.golden import Golden, sample, write_sample

if TYPE_CHECKING:
    from pathlib import Path

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


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


def test_the_seed_and_the_keys_alone_decide(data: ExplanationSet) -> None:
    made = sample(data, 50, ["generator"])
    mixed = replace(
        data, explanations=data.explanations.sample(frac=1, random_state=3).reset_index(drop=True)
    )
    assert keys(sample(mixed, 50, ["generator"])) == keys(made)
    others = [keys(sample(data, 50, ["generator"], seed=seed)) for seed in (1, 2)]
    assert len({frozenset(k) for k in [keys(made), *others]}) == 3


def test_no_unit_of_a_stratum_is_preferred(data: ExplanationSet) -> None:
    """Over many seeds each of the 88 units of a generator is drawn about equally often."""
    data = replace(data, ratings=data.ratings.head(0))
    counts: Counter[tuple[str, ...]] = Counter()
    seeds = 120
    for seed in range(seeds):
        counts.update(k for k in keys(sample(data, 6 * 8, ["generator"], seed=seed)) if k[2] == "item")
    expected = seeds * 8 / 88
    assert len(counts) == 88
    # the 0.9999 quantile of chi-squared with 87 degrees of freedom; without return it is a little wide
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 143


def test_it_loads_again_and_says_what_it_was_drawn_from(
    sample: Path, data: ExplanationSet, tmp_path: Path
) -> None:
    for suffix in ("csv", "parquet", "jsonl"):
        made = write_sample(
            sample, 24, ["generator", "age"], tmp_path / suffix, seed=5, equal=True, suffix=suffix
        )
        assert inspect(tmp_path / suffix).problems == ()
        again = load(tmp_path / suffix)
        assert again.fingerprint == made.data.fingerprint
        said = again.extra["golden"]
        assert said["parent"] == {"name": "sample", "fingerprint": data.fingerprint, "units": len(data)}
        assert (said["by"], said["seed"], said["allocation"]) == (["generator", "age"], 5, "equal")
        assert sum(s["chosen"] for s in said["strata"]) == 24
        assert sum(s["units"] for s in said["strata"]) == len(data)
        assert again.simulated


def with_kind(data: ExplanationSet, easy: int) -> ExplanationSet:
    kinds = ["easy"] * easy + ["hard"] * (len(data) - easy)
    return replace(data, explanations=data.explanations.assign(kind=kinds))


def test_one_kind_that_fills_the_set_is_told(data: ExplanationSet) -> None:
    mostly = with_kind(data, 450)
    (warning,) = sample(mostly, 100, ["kind", "generator"]).warnings
    assert "have the kind 'easy'" in warning
    assert "--equal" in warning
    assert not sample(mostly, 100, ["kind"], equal=True).warnings
    assert not sample(with_kind(data, 400), 100, ["kind"]).warnings
    (alone,) = sample(with_kind(data, len(data)), 10, ["kind"]).warnings
    assert "10 of the 10 units (100%)" in alone


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
        (0, ["generator"], "1 or more, not 0"),
        (True, ["generator"], "not True"),
        (10, ["genertor"], "no column 'genertor' of explanations or users; did you mean 'generator'"),
        (10, ["explanation"], "no column 'explanation'"),
        (10, ["generator", "generator"], "given twice"),
        (10, [], "one or more"),
        (10, "generator", "one or more"),
    ],
)
def test_what_cannot_be_drawn(data: ExplanationSet, n: int, by: list[str], says: str) -> None:
    with pytest.raises(DataError) as error:
        sample(data, n, by)
    assert says in str(error.value)


def test_a_study_without_users_or_texts(real_data: Path, tmp_path: Path) -> None:
    from metaeval.kinds.explanations.data.tables.importer import import_table

    root = real_data / "hanna"
    found = sorted(root.rglob("*wide*.csv"))
    if not found:
        pytest.skip("HANNA is not among the real data")
    from tests.conftest import ROOT

    whole = import_table(found[0], ROOT / "studies" / "maps" / "hanna.yaml", tmp_path / "hanna").data
    made = sample(whole, 110, ["generator"])
    assert {s.chosen for s in made.strata} == {10}
    assert len(made.data.scores) == len(whole.scores) * 110 / len(whole)
