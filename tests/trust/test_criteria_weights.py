"""Weights of criteria: planted ones are found, and held-out users say what they are worth."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import MetaevalError, SpecError
from metaeval.cli import main
from metaeval.kinds.relevance.data.loading import save
from metaeval.kinds.relevance.judge import Relevance
from metaeval.trust.criteria_weights import WeightOptions, fit_weights
from tests.kinds.relevance.films import films
from tests.llm.server import Act, serving

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("a", "b", "c", "d")


def planted(weights: list[float], users: int = 40, noise: float = 1.0, seed: int = 0) -> tuple[Any, Any, Any]:
    draw = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), 30)
    ratings = draw.integers(0, 8, (len(user), 4)).astype(float)
    lenient = draw.normal(0, 3, users)[user]
    return ratings, np.round(ratings @ weights + lenient + draw.normal(0, noise, len(user))), user


def test_planted_weights_are_found_and_better_than_the_sum() -> None:
    ratings, truth, user = planted([0.7, 0.3, 0, 0])
    found = fit_weights(ratings, truth, user, NAMES, WeightOptions(resamples=200))
    assert np.abs(found.weights - [0.7, 0.3, 0, 0]).max() < 0.05
    assert (found.low <= found.weights).all()
    assert (found.weights <= found.high).all()
    fitted, summed, change = found.agreement.value
    assert fitted > summed + 0.1
    assert change == pytest.approx(fitted - summed)
    assert found.agreement.low[2] > 0
    assert found.in_sample >= fitted - 0.01


def test_where_the_sum_is_right_nothing_is_gained_and_noise_gains_nothing() -> None:
    for weights, noise in (([0.25] * 4, 1.0), ([0.0] * 4, 3.0)):
        found = fit_weights(*planted(weights, noise=noise), NAMES, WeightOptions(resamples=200))
        assert found.agreement.low[2] <= 0.005
        assert abs(found.agreement.value[2]) < 0.02
    assert found.in_sample > 0.5  # in sample, noise looks like something


@given(st.integers(0, 50), st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_weights_are_shares_and_do_not_depend_on_the_order_of_rows(seed: int, weights: list[float]) -> None:
    ratings, truth, user = planted(weights, users=6, seed=seed)
    how = WeightOptions(resamples=20)
    found = fit_weights(ratings, truth, user, NAMES, how)
    assert found.weights.sum() == pytest.approx(1)
    assert (found.weights >= 0).all()
    order = np.random.default_rng(seed).permutation(len(user))
    again = fit_weights(ratings[order], truth[order], user[order], NAMES, how)
    assert np.allclose(again.weights, found.weights)
    assert np.allclose(again.agreement.value, found.agreement.value)


def test_a_run_says_what_to_write_and_nothing_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model rates two criteria; people's labels follow the second one alone."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    def number_of(text: str) -> int:
        return int(re.search(r"title: Film (\d+)", text)[1])  # type: ignore[index]

    def answer(body: dict[str, Any], _before: int = 0) -> Act:
        n = number_of(body["messages"][-1]["content"])
        return Act(text=json.dumps({"reason": "So.", "genre": n * 7 % 4, "host": n % 4}))

    data = films(users=8, judged=20)
    data.ratings["rating"] = data.ratings["item_id"].str[1:].astype(int) % 4.0
    save(data, tmp_path / "data")
    criteria = "criteria=['sum', 'genre', 'host: does it match the hosts that they like?']"

    def study(spec: str, address: str) -> dict[str, Any]:
        return {
            "kind": "relevance",
            "dataset": str(tmp_path / "data"),
            "truth": "Labels('human')",
            "models": {"mini": {"model": "openai/m", "base_url": address}},
            "evaluators": {"sum": spec},
            "bootstrap": None,
            "tests": None,
            "judging": {"store": str(tmp_path / "store.sqlite")},
        }

    with serving(answer) as server:
        run = me.run(study(f"Relevance('mini', {criteria})", server.openai), tmp_path / "run").folder
        asked = len(server.log)
        assert asked == 160
        assert main(["criteria", str(run), "--resamples", "100"]) == 0
        said = first = " ".join(capsys.readouterr().out.split())
        assert first.startswith("sum: fitted weights are better than the plain sum, on held-out users: ")
        assert "they order 100.0% of pairs as people do" in first
        assert "weights=[0.000, 1.000]" in said
        weighed = study(f"Relevance('mini', {criteria}, weights=[0, 1])", server.openai)
        again = me.run(weighed, tmp_path / "again").folder
        assert len(server.log) == asked
    (scores,) = again.glob("scores.*")
    frame = pd.read_parquet(scores) if scores.suffix == ".parquet" else pd.read_csv(scores)
    assert (frame["score"] == frame["item_id"].str[1:].astype(int) % 4).all()
    wrong = me.run(
        study("Relevance('simulated/one')", server.openai) | {"models": {}}, tmp_path / "plain"
    ).folder
    assert main(["criteria", str(wrong)]) == 2
    assert "no judge of the run rated criteria" in capsys.readouterr().err
    with pytest.raises(SpecError, match="there are 2 criteria and 1 weights"):
        Relevance("openai/m", criteria=["sum", "genre", "tone"], weights=[1])


def test_few_users_are_refused() -> None:
    with pytest.raises(MetaevalError, match="4 users have labels"):
        fit_weights(*planted([1, 0, 0, 0], users=4), NAMES, WeightOptions())
