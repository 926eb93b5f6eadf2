"""Verdicts on judges that are known to be good, bad, biased or like a person."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.base.records import Scale
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.replacement import Panel
from metaeval.trust.replacement_tables import ReplacingOptions, replacing_sheets

USERS, PER = 40, 20
WHO = np.repeat(np.arange(USERS), PER)
RNG = np.random.default_rng(5)
QUALITY = RNG.normal(3, 1, USERS * PER) + RNG.normal(0, 0.3, USERS)[WHO]


def _rated(noise: float, shift: float = 0.0) -> np.ndarray:
    return np.clip(np.rint(QUALITY + shift + RNG.normal(0, noise, len(QUALITY))), 1, 5)


PEOPLE = np.stack([_rated(0.7) for _ in range(4)])


def _verdict(scores: np.ndarray, how: ReplacingOptions | None = None, units: int = USERS * PER) -> str:
    panel = Panel(
        "judge",
        "clear",
        Scale(1, 5),
        ("1", "2", "3", "4"),
        PEOPLE[:, :units],
        scores[:units],
        WHO[:units],
        int(WHO[units - 1]) + 1,
    )
    [verdicts, *_] = replacing_sheets([panel], how or ReplacingOptions(cluster="user"), Resampler(0, 200))
    return str(verdicts.frame["verdict"][0])


def test_a_judge_as_good_as_people_replaces_one() -> None:
    assert _verdict(_rated(0.7)) == "replaces a person (ω = 1.00 at ε = 0.1)"


@pytest.mark.parametrize("scores", [RNG.integers(1, 6, USERS * PER).astype(float), _rated(0.7, shift=1.0)])
def test_noise_and_a_bias_of_a_point_replace_nobody(scores: np.ndarray) -> None:
    assert _verdict(scores) == "does not replace a person (ω = 0.00 at ε = 0.1)"


def test_few_units_are_too_few_and_how_many_more_is_said() -> None:
    said = _verdict(_rated(0.75), units=60)
    assert said.startswith("too few labels to tell for a person (ω = ")
    assert said.endswith(" more units would decide")


def test_scores_that_are_no_ratings_are_not_held_against_them() -> None:
    assert _verdict(_rated(0.7) * 10) == "cannot be said: its scores are not on people's scale"


def test_where_nobody_has_enough_units_what_each_lacks_is_said() -> None:
    said = _verdict(_rated(0.7), units=20)
    assert said.startswith("cannot be said: a person needs 30 units")
    assert said.endswith("; 1 has 20 (10 more), 2 has 20 (10 more), 3 has 20 (10 more), 4 has 20 (10 more)")


def test_non_inferior_is_yes_no_or_undecided() -> None:
    decided = []
    for noise, units in ((0.7, USERS * PER), (3.0, USERS * PER), (1.5, 60)):
        scores = np.clip(QUALITY + np.random.default_rng(0).normal(0, noise, len(QUALITY)), 1, 5)[:units]
        parts = PEOPLE[:, :units], scores, WHO[:units], int(WHO[units - 1]) + 1
        panel = Panel("judge", "clear", Scale(1, 5), ("1", "2", "3", "4"), *parts)
        decided.append(
            replacing_sheets([panel], ReplacingOptions(cluster="user"), Resampler(0, 200))[-1].frame
        )
    assert [frame["non_inferior"].item() for frame in decided] == ["yes", "no", "undecided"]


def test_experts_have_a_larger_epsilon() -> None:
    said = _verdict(_rated(0.9), ReplacingOptions(experts=("1", "2"), cluster="user"))
    assert said.startswith("replaces an expert (ω = 1.00 at ε = 0.2); ")
    assert "a crowd worker (ω = 0.00 at ε = 0.1)" in said


def test_units_that_no_study_has_are_no_number() -> None:
    for noise in (0.9, 1.0, 1.1):
        panel = Panel("judge", "clear", Scale(1, 5), ("1", "2", "3", "4"), PEOPLE, _rated(noise), WHO, USERS)
        rates = replacing_sheets([panel], ReplacingOptions(cluster="user"), Resampler(0, 100))[1].frame
        assert np.isfinite(rates["more_units"].fillna(0)).all()
