"""Coherence of judges made by hand, ratings of slates, agreement, and regret against coherence."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr

from metaeval.base.records import Kind
from metaeval.evaluators.chance import FirstPosition
from metaeval.kinds.slates import coherence, regret
from metaeval.kinds.slates.coherence import RegretRanks
from metaeval.kinds.slates.data.slate_set import PREFERENCE, SlateSet
from metaeval.kinds.slates.kind import SLATES
from metaeval.kinds.slates.measures import Oracle
from tests.kinds.slates.studies import duels, random_duels, scored

SHEETS = ["regret", "regret_by_difficulty", "coherence", "regret_coherence", "judge_agreement"]
UTILITY = {"a": 0.1, "b": 0.4, "c": 0.7, "d": 0.9}


def triples(users: int = 12) -> SlateSet:
    """Return every pair of four slates, for each user, and a slate against itself."""
    pairs = [*combinations(UTILITY, 2), ("a", "a")]
    rows = [(f"u{u:02d}", "T1", x, y, UTILITY[x], UTILITY[y]) for u in range(users) for x, y in pairs]
    return duels(rows, similarity=0.5)


def axioms(data: SlateSet, verdicts: Any, **more: Any) -> pd.DataFrame:
    found = scored(data, {"judge": verdicts}, **more)
    return found.table(coherence.COHERENCE).set_index("axiom")


def test_an_oracle_keeps_to_all_axioms() -> None:
    data = triples()
    found = axioms(data, Oracle().score(data, [PREFERENCE]).frame["score"].to_numpy())
    assert (found["estimate"] == 1).drop("first_position").all()
    assert found.loc["transitivity", "n"] == 12 * 4


def test_a_first_position_judge_is_never_the_same_in_both_orders() -> None:
    data = triples()
    found = axioms(data, FirstPosition().score(data, [PREFERENCE]).frame["score"].to_numpy())
    for axiom, estimate in (("asymmetry", 0), ("irreflexivity", 0), ("first_position", 1)):
        assert found.loc[axiom, "estimate"] == estimate
    assert "transitivity" not in found.index


def test_a_cyclic_judge() -> None:
    data = triples()
    beats = {("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("d", "b"), ("d", "c")}
    sides = data.table[["first", "second"]].itertuples(index=False, name=None)
    found = axioms(data, [1 if pair in beats else -1 if pair[::-1] in beats else 0 for pair in sides])
    # Of the triples abc, abd, acd and bcd one is a cycle.
    assert found.loc["transitivity", "estimate"] == 0.75
    assert found.loc["asymmetry", "estimate"] == 1
    assert found.loc["transitivity", "in_cycles"] == 0.75


def test_ratings_are_held_against_verdicts_that_name_a_slate() -> None:
    data = duels([("u", "T1", "a", "b", 1, 0), ("v", "T1", "a", "b", 1, 0), ("v", "T1", "a", "c", 1, 0)])
    study = scored(
        data,
        {"judge": [1, -1, 0, 1, np.nan, 1], "rates": [1, -1, 1, 1, 1, -1]},
        ratings={"judge": "rates"},
    )
    found = study.table(coherence.COHERENCE)
    row = found[found["axiom"] == "rating_transitivity"].iloc[0]
    assert (row["n"], row["n_missing"]) == (4, 1)  # the tie counts in neither
    assert row["estimate"] == 0.75
    assert row["chance"] == 0.5


def test_raters_are_found_by_model_and_address() -> None:
    data = triples(3)
    verdicts = Oracle().score(data, [PREFERENCE]).frame["score"].to_numpy()
    study = scored(data, dict.fromkeys(("here", "there", "rates"), verdicts))
    specs = {"here": "Slates('x/m')", "there": "Slates('x/m', base_url='u')", "rates": "SlateRating('x/m')"}
    study.study.__dict__["evaluators"] = specs
    addresses = {"here": "", "there": "u", "rates": ""}
    study.scores.signatures.update({n: {"model": "m", "address": a} for n, a in addresses.items()})  # type: ignore[attr-defined]
    found = study.table(coherence.COHERENCE)
    rated = found[found["axiom"] == "rating_transitivity"]
    assert rated[["evaluator", "estimate"]].to_numpy().tolist() == [["here", 1.0]]


def judged(n: int, seed: int = 0) -> dict[str, Any]:
    data = random_duels(seed, users=20)
    draw = np.random.default_rng(seed)
    gap = data.ratings["rating"].to_numpy()
    given = {f"j{i}": np.sign(gap + draw.normal(0, 0.2 + 0.2 * i, len(gap))) for i in range(n)}
    return {"data": data, "verdicts": given, "kinds": dict.fromkeys(given, Kind.JUDGE)}


def test_regret_against_coherence_needs_four_judges() -> None:
    few = scored(**judged(3)).table(coherence.AGAINST)
    assert few["rho"].isna().all()
    assert set(few["note"]) == {"fewer than 4 judges: no correlation"}
    study = scored(**judged(5))
    table = study.table(coherence.AGAINST).set_index(["task", "axiom"])
    by_task, axes = study.table(regret.BY_TASK), study.table(coherence.COHERENCE)
    for (task, axiom), row in table.iterrows():
        share = axes[(axes["task"] == task) & (axes["axiom"] == axiom)].set_index("evaluator")["estimate"]
        own = by_task[by_task["task"] == task].set_index("evaluator")["regret"][share.index]
        assert row["rho"] == pytest.approx(spearmanr(own, share)[0])
        assert row["note"] == ""
        assert -1 <= row["rho_low"] <= row["rho_high"] <= 1
    assert ("T1", "asymmetry") in table.index
    assert "first_position" not in table.index.get_level_values(1)
    assert [s.name for s in SLATES.details(study)] == SHEETS


def test_few_users_of_a_judge_leave_no_interval_of_ranks() -> None:
    for users, note in ((9, "a judge has fewer than 10 users of whom this was asked: no interval"), (10, "")):
        data = triples(users)
        draw = np.random.default_rng(1)
        gap = data.ratings["rating"].to_numpy()
        said = {f"j{i}": np.sign(gap + draw.normal(0, 0.1 + 0.2 * i, len(gap))) for i in range(4)}
        study = scored(data, said, dict.fromkeys(said, Kind.JUDGE))
        row = study.table(coherence.AGAINST).set_index("axiom").loc["asymmetry"]
        assert row["note"] == note
        assert np.isfinite(row["rho"])
        assert np.isnan(row["rho_low"]) == np.isnan(row["rho_high"]) == bool(note)


@given(
    regret=arrays(float, (5, 6), elements=st.integers(0, 3).map(float)),
    kept=arrays(float, (5, 6), elements=st.integers(0, 2).map(float)),
    weights=arrays(float, 6, elements=st.integers(0, 3).map(float)),
)
def test_ranks_under_weights_are_spearmans(regret: Any, kept: Any, weights: Any) -> None:
    ranks = RegretRanks(regret, np.stack([kept, np.full_like(kept, 2.0)], axis=1), even=False)
    own, share = (np.round(v @ weights, 12) for v in (regret, kept))
    alike = len(set(own)) == 1 or len(set(share)) == 1
    expected = np.nan if alike else spearmanr(own, share)[0]
    with np.errstate(invalid="ignore"):  # all weights 0
        np.testing.assert_allclose(ranks.at(weights[:, None]), [[expected]], atol=1e-12)
