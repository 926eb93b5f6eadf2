"""Ensembles of judges: what is known by construction, and what the engine says of averaged scores."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.ensemble_frontier import Choosing, _frontier
from metaeval.analysis.ensemble_sheets import ensemble_sheets
from metaeval.analysis.ensemble_subsets import Costs, ensembles
from metaeval.base.errors import MetaevalError
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Prepared, prepare
from metaeval.engine.frames import correlate
from metaeval.stats.subset_correlations import every_subset

FEW = Choosing(resamples=300, resamples_in_fold=100, repeats=2)
LEVELS = ("dataset", "user", "pair")


def frames(
    noise: dict[str, float], *, users: int = 20, seed: int = 0, aspects: int = 2, users_known: bool = True
):
    """Return scores and truth: a judge is the truth and noise of its own; ``inf`` is noise alone."""
    rng = np.random.default_rng(seed)
    key = pd.DataFrame(
        [(f"u{u}", f"i{i}", f"g{g}") for u in range(users) for i in range(3) for g in range(5)],
        columns=["user_id", "item_id", "generator"],
    )
    truths, scores = [], []
    for a in range(aspects):
        rating = rng.integers(1, 6, len(key)).astype(float)
        truths.append(key.assign(aspect=f"a{a}", rating=rating))
        for name, scale in noise.items():
            own = rng.normal(size=len(key))
            score = own if math.isinf(scale) else rating + scale * own
            scores.append(key.assign(evaluator=name, aspect=f"a{a}", score=score, status="ok"))
    found = pd.concat(scores, ignore_index=True), pd.concat(truths, ignore_index=True)
    if not users_known:
        found[0]["item_id"] = found[0]["user_id"] + found[0]["item_id"]
        found[1]["item_id"] = found[1]["user_id"] + found[1]["item_id"]
        return found[0].drop(columns="user_id"), found[1].drop(columns="user_id")
    return found


def data(noise: dict[str, float], levels=LEVELS, missing=None, **more) -> Prepared:
    scores, truth = frames(noise, **more)
    return prepare(scores, truth, Policy.of(levels, ["pearson"], missing, "skip", "common"))


@pytest.mark.parametrize("units", ["common", "own"])
def test_accuracies_are_those_of_the_mean_evaluators(units) -> None:
    scores, truth = frames({"a": 1.0, "b": 2.0, "c": 4.0})
    rows = np.random.default_rng(1).choice(len(scores), 25, replace=False)
    scores.loc[rows, ["score", "status"]] = [np.nan, "refused"]
    found = ensembles(prepare(scores, truth, Policy.of(LEVELS, ["pearson"], None, "skip", units)), how=FEW)
    wide = scores.set_index(["user_id", "item_id", "generator", "aspect", "evaluator"])["score"].unstack()  # noqa: PD010 - one value a cell
    wide = wide.dropna()  # the units that all judges have
    for row, members in enumerate(found.members):
        names = [n for n, there in zip(found.judges, members, strict=True) if there]
        mean = wide[names].mean(axis=1).rename("score").reset_index().assign(evaluator="mean")
        expected = correlate(mean, truth, levels=LEVELS, coefficients=["pearson"]).frame
        for at, level in enumerate(found.levels):
            of_level = expected[expected["level"] == level].set_index("aspect")["estimate"]
            for a, aspect in enumerate(found.aspects):
                assert found.accuracy[at, a, row] == pytest.approx(of_level[aspect], abs=1e-10)
    assert found.n_missing == 25
    assert sum(found.n_units) == len(wide)


def test_sizes_sum_up_the_subsets() -> None:
    found = ensembles(data({"a": 1.0, "b": 2.0, "c": 4.0, "d": 4.0}), how=FEW)
    size = found.members.sum(axis=1)
    assert [s.n_subsets for s in found.sizes[:4].itertuples()] == [4, 6, 4, 1]
    for s in found.sizes.itertuples():
        values = found.accuracy[found.levels.index(s.level), found.aspects.index(s.aspect)]
        assert s.mean == pytest.approx(values[size == s.n_judges].mean())
        assert s.spread == pytest.approx(values[size == s.n_judges].std())
        named = np.array([j in s.best_judges for j in found.judges])
        row = int((found.members == named).all(axis=1).argmax())
        assert values[row] == s.best == values[size == s.n_judges].max()


def test_judges_with_independent_noise_gain_and_noise_gains_nothing() -> None:
    found = ensembles(data({"a": 2.0, "b": 2.0, "noise": math.inf}, users=40), how=FEW)
    of_user = {c.judge: c for c in found.contributions.itertuples() if c.level == "user"}
    assert of_user["a"].joining > 0
    assert of_user["noise"].shapley < 0.1 * of_user["a"].shapley
    together = found.accuracy[found.levels.index("user"), -1, -1]
    assert sum(c.shapley for c in of_user.values()) == pytest.approx(together)
    best = next(p for p in found.points.itertuples() if p.best and p.level == "user")
    assert best.judges == ("a", "b")
    assert best.cheapest


def test_copies_of_one_judge_are_worth_one() -> None:
    one = data({"a": 2.0, "b": 2.0, "c": 2.0}, users=40)
    copies = replace(one, scores=np.repeat(one.scores[:1], 3, axis=0))
    found = ensembles(copies, how=FEW)
    assert [e.effective for e in found.errors.itertuples()] == pytest.approx([1.0] * 3)
    # A copy adds no accuracy: the cheapest ensemble is the best one, a single judge.
    assert {p.judges for p in found.points.itertuples()} == {("a",)}
    assert all(
        c.cross_fitted == pytest.approx(found.choices["cross_fitted"][0])
        for c in found.choices.itertuples()
        if c.level == "dataset"
    )
    independent = ensembles(one, how=FEW)
    assert independent.errors["effective"].iloc[-1] > 2


def test_the_frontier_rises_and_nothing_beats_it() -> None:
    rng = np.random.default_rng(0)
    members = every_subset(6)
    for _ in range(20):
        values, of_judge = rng.normal(size=63), rng.integers(0, 3, 6) / 10
        values[rng.integers(0, 63, 5)] = np.nan
        cost = members @ of_judge
        points = _frontier(values, cost, members.sum(axis=1))
        assert values[points[-1]] == np.nanmax(values)
        for p in points:
            as_cheap = np.nanmax(values[cost <= cost[p] + 1e-9])
            assert values[p] == as_cheap
        assert (np.diff(cost[points]) > 1e-9).all()
        assert (np.diff(values[points]) > 0).all()


def test_costs_decide_what_is_cheapest() -> None:
    study = data({"dear": 1.5, "cheap": 1.0, "poor": 20.0}, users=40)
    costs = Costs({"dear": 1.0, "cheap": 0.01, "poor": 0.001}, "usd")
    found = ensembles(study, costs=costs, how=FEW)
    points = [p for p in found.points.itertuples() if p.level == "user"]
    assert [p.cost for p in points] == sorted(p.cost for p in points)
    assert points[0].judges == ("poor",)
    assert points[0].worse
    assert ("dear",) not in [p.judges for p in points]
    assert points[-1].judges == ("dear", "cheap")
    assert math.isnan(points[-1].p)
    assert points[-1].ci_low < points[-1].accuracy < points[-1].ci_high
    assert sum(p.cheapest for p in points) == 1


def test_the_best_of_many_worthless_judges_looks_too_good() -> None:
    study = data({f"n{j}": math.inf for j in range(8)}, users=30)
    found = [ensembles(study, how=replace(FEW, seed=seed)) for seed in range(5)]  # how users are split
    for level in LEVELS:
        best = [
            c
            for f in found
            for c in f.choices.itertuples()
            if c.level == level and c.rule == "best of any size"
        ]
        assert best[0].in_sample > 0.05
        assert np.mean([c.cross_fitted for c in best]) < best[0].in_sample * 0.8
        assert np.mean([c.optimism for c in best]) > 0


def test_without_users_items_are_resampled_and_a_note_says_so() -> None:
    study = data({"a": 1.0, "b": 2.0}, levels=("dataset", "item", "generator"), users_known=False)
    found = ensembles(study, how=FEW)
    assert (found.cluster, found.n_clusters) == ("item", 60)
    notes = {s.name: " ".join(s.notes) for s in ensemble_sheets(found)}
    assert "The data have no users: items are resampled" in notes["frontier"]
    assert "The data have no users: items are resampled" in notes["choices"]


def test_a_judge_that_is_constant_has_no_accuracy_and_adds_nothing() -> None:
    study = data({"a": 1.0, "b": 2.0})
    constant = replace(study, scores=np.concatenate([study.scores[:1], np.full_like(study.scores[:1], 3.0)]))
    found = ensembles(constant, how=FEW)
    assert np.isnan(found.accuracy[..., 1]).all()
    assert found.accuracy[..., 0] == pytest.approx(found.accuracy[..., 2])
    assert {p.judges for p in found.points.itertuples()} == {("a",)}
    assert math.isnan(found.errors["effective"][0])
    sheets = {s.name: s for s in ensemble_sheets(found)}
    assert "n_undefined" in [c.name for c in sheets["sizes"].columns]
    assert "An undefined accuracy counts as 0." in sheets["judges"].notes


@pytest.mark.parametrize(
    ("judges", "aspects", "users", "message"),
    [
        (1, None, 3, "an ensemble takes 2 to 16 judges, not 1"),
        (17, None, 3, "not 17, because every subset is computed; choose them with --judge"),
        (2, ["a9"], 3, "there is no aspect 'a9'"),
        (2, None, 1, "all units are of one user"),
    ],
)
def test_what_cannot_be_done_is_said(judges: int, aspects, users: int, message: str) -> None:
    study = data({f"j{j}": 1.0 for j in range(judges)}, users=users)
    with pytest.raises(MetaevalError, match=message):
        ensembles(study, aspects=aspects, how=FEW)


def test_sheets_have_their_columns() -> None:
    found = ensembles(data({"a": 1.0, "b": 2.0, "c": 1.5, "d": 2.0, "e": 3.0}), how=FEW)
    sheets = ensemble_sheets(found)
    assert [s.name for s in sheets] == ["sizes", "judges", "errors", "frontier", "choices"]
    for sheet in sheets:
        wanted = {n for c in sheet.columns for n in (c.name, c.low, c.high) if n}
        assert wanted <= set(sheet.frame.columns)
    who = set(sheets[0].frame["who"])
    assert "all 5" in who
    assert any(w.startswith("all but ") for w in who)


def test_scores_on_unlike_scales_are_told() -> None:
    study = data({"a": 1.0, "b": 1.0})
    said = "spread 100 times as widely"
    assert not any("times as widely" in n for n in ensemble_sheets(ensembles(study, how=FEW))[0].notes)
    same = replace(study, scores=study.scores[:1] * np.array([1.0, 100.0])[:, None, None])
    assert any(said in n for n in ensemble_sheets(ensembles(same, how=FEW))[0].notes)
