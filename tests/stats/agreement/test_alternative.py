"""The alternative annotator test against its published numbers, scipy and simulated studies."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, ttest_1samp

from metaeval.stats.agreement.alternative import LEAST_UNITS, Advantages, Alignment, Replacing, rejected

# ω and ρ as the authors print them, for gemini_flash, gemini_pro, gpt-4o, llama-31, gpt-4o-mini, mistral-v03.
PUBLISHED = {
    "wax": (0.1, "accuracy", (0.38, 0.50, 0.50, 0, 0, 0), (0.69, 0.74, 0.73, 0.57, 0.59, 0.50)),
    "framing": (0.15, "accuracy", (1, 1, 1, 0.5, 1, 0.25), (0.83, 0.91, 0.92, 0.80, 0.87, 0.80)),
    "summeval": (0.2, "rmse", (0, 0, 0, 0, 0, 0), (0.46, 0.44, 0.48, 0.58, 0.54, 0.62)),
    "cebab_stars": (0.1, "rmse", (0.6, 0.8, 0.9, 0.6, 0.9, 0.5), (0.82, 0.87, 0.90, 0.85, 0.89, 0.83)),
}
MODELS = ("gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03")


def _read(file: Path) -> dict[str, dict[str, object]]:
    return dict(json.loads(gzip.decompress(file.read_bytes())))


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_rates(real_data: Path, name: str) -> None:
    epsilon, alignment, rates, advantages = PUBLISHED[name]
    people = _read(real_data / "alttest" / name / "human_annotations.json.gz")
    models = _read(real_data / "alttest" / name / "llm_annotations.json.gz")
    items = sorted({item for given in people.values() for item in given})
    words = sorted({str(v) for of in (*people.values(), *models.values()) for v in of.values()})

    def row(given: dict[str, object]) -> list[float]:
        values = [given.get(item) for item in items]
        if alignment == "accuracy":
            return [np.nan if v is None else float(words.index(str(v))) for v in values]
        return [np.nan if v is None else float(str(v)) for v in values]

    ratings = np.array([row(given) for given in people.values()])
    for model, rate, advantage in zip(MODELS, rates, advantages, strict=True):
        compared = Advantages.of(ratings, row(models[model]), alignment)
        kept = compared.take(compared.units >= LEAST_UNITS)
        found = Replacing(kept.sums(np.arange(len(items)), len(items)), np.full(len(kept.judge), epsilon))
        assert found.winning_rate() == pytest.approx(rate, abs=0.00501)
        assert found.shares.mean() == pytest.approx(advantage, abs=0.00501)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["accuracy", "rmse"]))
def test_units_as_clusters_are_the_published_test(seed: int, alignment: Alignment) -> None:
    rng = np.random.default_rng(seed)
    ratings, judge = rng.integers(1, 5, (3, 40)).astype(float), rng.integers(1, 5, 40).astype(float)
    ratings[rng.random(ratings.shape) < 0.1] = np.nan
    compared = Advantages.of(ratings, judge, alignment)
    found = Replacing(compared.sums(np.arange(40), 40), np.full(3, 0.1))
    for j in range(3):
        d = (compared.person - compared.judge)[j]
        wanted = ttest_1samp(d[~np.isnan(d)], 0.1, alternative="less").pvalue
        assert found.p()[j] == pytest.approx(wanted, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_rejections_are_those_of_scipy(p: list[float]) -> None:
    assert np.array_equal(rejected(np.array(p)), false_discovery_control(p, method="by") <= 0.05)


@pytest.mark.slow
def test_type_one_error_with_users() -> None:
    # Every person's advantage is ε, and varies by user: the judge replaces nobody.
    rng = np.random.default_rng(0)
    users, per, people, epsilon = 30, 20, 5, 0.1
    who = np.repeat(np.arange(users), per)
    wrong = np.zeros(2)
    for _ in range(2000):
        shift = rng.beta(1.5, 1.5, (people, users)) * 0.4 - 0.2
        judge, person = (
            (rng.random((people, users * per)) < 0.75 + s * (epsilon / 2 + shift[:, who])) for s in (-1, 1)
        )
        compared = Advantages(judge.astype(float), person.astype(float))
        for k, of_unit in enumerate((who, np.arange(users * per))):
            test = Replacing(compared.sums(of_unit, of_unit[-1] + 1), np.full(people, epsilon))
            wrong[k] += (test.p() <= 0.05).mean() / 2000
    assert wrong[0] <= 0.055  # 0.05, and the error of 2,000 studies
    assert wrong[1] > 0.1  # as published


def test_more_studies_are_decided_with_more_clusters() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 400).astype(float)
    ratings = np.stack([np.clip(truth + rng.integers(-1, 2, 400), 1, 5) for _ in range(4)])
    judge = np.clip(truth + rng.integers(-1, 2, 400), 1, 5)
    compared = Advantages.of(ratings, judge, "rmse")
    found = Replacing(compared.sums(np.arange(400) // 10, 40), np.full(4, 0.1))
    shares = found.decided([0.5, 1, 2, 8], people=4, studies=200)
    assert shares[-1] == 1.0
    assert (np.diff(shares) >= 0).all()
