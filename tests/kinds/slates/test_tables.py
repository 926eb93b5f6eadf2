"""Regret against a coin, by difficulty, and of majorities against their members."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.evaluators.chance import FirstPosition
from metaeval.kinds.slates import regret
from metaeval.kinds.slates import regret as judges
from metaeval.kinds.slates.data.slate_set import PREFERENCE
from metaeval.kinds.slates.measures import Oracle
from tests.kinds.slates.studies import duels, random_duels, scored
from tests.kinds.slates.test_regret import by_loops

COLUMNS = "evaluator,task,regret,ci_low,ci_high,accuracy,weighted_accuracy,n_duels,n_users"


def test_regret_against_a_coin() -> None:
    data = random_duels(1, users=30)
    tables = {
        "oracle": Oracle().score(data, [PREFERENCE]),
        "first": FirstPosition().score(data, [PREFERENCE]),
    }
    study = scored(data, {name: table.frame["score"].to_numpy() for name, table in tables.items()})
    frame = study.table(regret.BY_TASK)
    assert ",".join(frame.columns[:9]) == COLUMNS
    frame = frame.set_index(["evaluator", "task"])
    for task in ("T1", "T2"):
        oracle, first = frame.loc[("oracle", task)], frame.loc[("first", task)]
        chance = by_loops(data, np.zeros(len(data)), task)["regret"]
        assert oracle["chance"] == pytest.approx(chance)
        assert (oracle["skill"], oracle["skill_low"], oracle["regret"]) == (1, 1, 0)
        assert oracle["difference"] == pytest.approx(-chance)
        assert oracle["p"] == pytest.approx(1 / 201)
        assert oracle["p_corrected"] == pytest.approx(4 / 201)
        assert (first["difference"], first["p"]) == (0, 1)
        assert first["skill"] == pytest.approx(0)
        of_task = data.table[data.table["task"] == task]
        assert first["n_duels"] == len(of_task) / 2
        assert first["n_users"] == of_task["user_id"].nunique()


def test_difficulty_is_in_quantiles_of_similarity() -> None:
    data = random_duels(2, users=30)
    verdicts = np.random.default_rng(0).choice([-1.0, 1.0], len(data))
    frame = scored(data, {"a": verdicts}, difficulty=2).table(regret.BY_DIFFICULTY)
    assert frame["difficulty"].tolist() == [1, 2, 1, 2]
    of_task = data.table["task"] == "T2"
    middle = data.table.loc[of_task, "similarity"].median()
    easy = (of_task & (data.table["similarity"] < middle)).to_numpy()
    row = frame[(frame["task"] == "T2") & (frame["difficulty"] == 1)].iloc[0]
    part = data.table[easy].reset_index(drop=True)
    only = duels([("u", "T2", "a", "b", 0, 0)])
    object.__setattr__(only, "table", part)
    assert row["regret"] == pytest.approx(by_loops(only, verdicts[easy], "T2")["regret"])
    assert row["n_units"] == easy.sum()
    assert row["n_users"] == part["user_id"].nunique()
    assert row["similarity_low"] == part["similarity"].min()


def test_a_majority_against_its_members() -> None:
    data = random_duels(4, users=30)
    draw = np.random.default_rng(1)
    gap = data.ratings["rating"].to_numpy()
    members = {name: np.sign(gap + draw.normal(0, 0.5, len(gap))) for name in "abc"}
    votes = np.sign(sum(members.values()))
    specs = {n: f"Recorded('{n}')" for n in members}
    majority = f"Majority({', '.join(specs.values())})"
    found = scored(data, {**members, "all": votes}, evaluators={**specs, "all": majority})
    frame = found.table(judges.MAJORITY).set_index(["member", "task"]).sort_index()
    assert len(frame) == 3 * 2
    regret = {name: by_loops(data, v, "T1")["regret"] for name, v in {**members, "all": votes}.items()}
    for member in members:
        row = frame.loc[(member, "T1")]
        assert row["difference"] == pytest.approx(regret["all"] - regret[member])
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
        assert 0 < row["p"] <= row["p_corrected"] <= 1
