"""Verbosity and self-preference: what is held fixed, and when other people's ratings are used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.bias.bias import BiasData, JudgedUnits
from metaeval.trust.bias.biases import measure
from metaeval.trust.bias.given_truth import given_truth_note
from metaeval.trust.bias.self_preference import self_preference
from metaeval.trust.bias.verbosity import verbosity
from tests.trust.simulated_studies import FAMILIES, drawn

DRAWS = Resampler(30, resamples=200)


def test_other_peoples_ratings_are_used_if_they_tell_of_the_truth() -> None:
    data = drawn(1, noisy=True, others=True)
    strong = verbosity(data, "j", DRAWS)
    assert strong is not None
    assert strong.doubling.instrument
    assert strong.doubling.best.value[-1] < strong.doubling.plain.value[-1]
    noise = np.random.default_rng(0).integers(1, 6, data.truth.shape).astype(float)
    weak = verbosity(replace(data, second=noise), "j", DRAWS)
    assert weak is not None
    assert weak.doubling.weak
    assert not weak.doubling.instrument
    assert weak.doubling.best.value == pytest.approx(strong.doubling.plain.value)
    told = given_truth_note(measure(BiasData(replace(data, second=noise), resamples=20)))
    assert "too weak an instrument" in told


def test_texts_without_length_are_left_out() -> None:
    data = drawn(2)
    assert data.length is not None
    length = data.length.copy()
    length[:100] = np.nan
    found = verbosity(replace(data, length=length), "j", DRAWS)
    assert found is not None
    assert list(found.n_units) == [260, 260]
    assert verbosity(replace(data, length=None), "j", DRAWS) is None


@pytest.mark.parametrize(
    "families",
    [
        {},
        {"j": "ours"},  # no generator of it
        {"j": None, "g1": "ours"},
        dict.fromkeys(("j", "g1", "g2", "g3", "g4"), "ours"),  # nothing to compare with
    ],
)
def test_self_preference_takes_own_and_other_texts(families: dict[str, str | None]) -> None:
    assert self_preference(drawn(3), "j", families, DRAWS) is None


def test_judges_of_other_families_see_what_is_good_about_a_text() -> None:
    data = drawn(4, family=0.5)
    other = data.scores[0] + np.random.default_rng(1).normal(0, 0.3, data.truth.shape)
    two = replace(data, judges=("j", "k"), rates=frozenset("jk"), scores=np.stack([data.scores[0], other]))
    alone = self_preference(data, "j", FAMILIES, DRAWS)
    beside = self_preference(two, "j", {**FAMILIES, "k": "others"}, DRAWS)
    assert alone is not None
    assert beside is not None
    assert alone.beyond_others is None
    assert beside.others == ("k",)
    assert beside.points.best.low[-1] > 0
    assert beside.beyond_others.low[-1] < 0 < beside.beyond_others.high[-1]


def frames() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return scores, truth, lengths and other people's ratings of 12 units, one aspect."""
    units = pd.DataFrame(
        [(f"u{u}", f"i{i}", g) for u in range(3) for i in range(2) for g in ("a", "b")],
        columns=["user_id", "item_id", "generator"],
    )
    truth = units.assign(aspect="x", rating=[float(1 + n % 5) for n in range(12)])
    scores = units.assign(evaluator="j", aspect="x", score=[float(1 + n % 4) for n in range(12)], status="ok")
    length = units.assign(length=[float(10 + n) for n in range(12)])
    second = pd.concat([truth.assign(rater=r, rating=truth["rating"] + d) for r, d in (("1", 1), ("2", -2))])
    return scores, truth, length, second


def test_frames_are_matched_whatever_their_order() -> None:
    scores, truth, length, second = frames()
    plain = JudgedUnits.matched(scores, truth, ["j"], length=length, second=second)
    assert plain.second == pytest.approx(plain.truth - 0.5)
    assert plain.scores[0, 0] == pytest.approx(scores["score"])
    assert plain.length == pytest.approx(length["length"])
    assert (plain.n_clusters, plain.generators) == (3, ("a", "b"))
    mixed = [f.sample(frac=1, random_state=n) for n, f in enumerate(frames())]
    other = JudgedUnits.matched(mixed[0], mixed[1], ["j"], length=mixed[2], second=mixed[3])
    order = np.lexsort([other.length])
    assert other.scores[0, 0, order] == pytest.approx(plain.scores[0, 0])
    assert (other.cluster[order] == plain.cluster).all()
