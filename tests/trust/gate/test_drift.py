"""A change of scores in two parts: the judge's, seen on anchors, and the system's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metaeval.trust.gate.checks import gate
from metaeval.trust.gate.drift import drift_sheets, p_of, split
from metaeval.trust.gate.rules import Rules
from tests.trust.gates import scored

LIMITS = (1.0, 5.0)


def test_the_parts_are_the_means_and_add_up() -> None:
    anchors = np.array([0.5, 0.1, 0.3, 0.7]), ["a", "a", "b", "c"]
    now, then = (np.array([3.0, 4, 2]), ["a", "b", "d"]), (np.array([2.0, 3, 3]), ["a", "b", "d"])
    found = split(anchors, now, then, LIMITS)
    assert found.judge.value == pytest.approx(0.4)
    assert found.whole.value == pytest.approx(1 / 3)
    assert found.system.value == pytest.approx(1 / 3 - 0.4)
    assert (found.judge.n_units, found.judge.n_clusters, found.judge.df) == (4, 3, 2)
    # The jackknife by hand.
    left = [np.mean([0.3, 0.7]), np.mean([0.5, 0.1, 0.7]), np.mean([0.5, 0.1, 0.3]), 0.4]
    expected = np.sqrt(3 / 4 * np.square(np.array(left) - np.mean(left)).sum())
    assert found.judge.se == pytest.approx(expected)


def test_without_anchors_or_others_nothing_is_made_up() -> None:
    none: tuple[np.ndarray, list[str]] = (np.zeros(0), [])
    some = np.array([1.0, 2]), ["a", "b"]
    assert np.isnan(split(none, some, some, LIMITS).judge.value)
    assert np.isnan(split(none, some, some, LIMITS).system.p_above(0.0))
    alone = split(some, none, none, LIMITS)
    assert alone.judge.value == 1.5
    assert np.isnan(alone.whole.value)


def tables(judge: float = 0.0, system: float = 0.0, *, users: int = 30, anchors: int = 4):
    rng = np.random.default_rng(0)
    u, i = (v.ravel() for v in np.indices((users, 12)))
    units = pd.DataFrame({"user_id": u, "item_id": i}).astype(str).assign(evaluator="judge", aspect="clear")
    level = rng.normal(3, 0.5, users)[u]
    then = units.assign(score=level + rng.normal(0, 0.3, u.size))
    moved = level + judge + np.where(i < anchors, 0.0, system)
    now = units.assign(score=moved + rng.normal(0, 0.3, u.size))
    return then, now, units[i < anchors][["user_id", "item_id"]]


@pytest.mark.parametrize(
    ("judge", "system", "said"),
    [
        (-0.5, 0.0, "the judge drifted (-0.51); the system was not seen to change (+0.02)"),
        (0.0, -0.5, "the judge was not seen to drift (-0.01); the system changed (-0.48)"),
        (0.5, -0.5, "the judge drifted (+0.49); the system changed (-0.48)"),
    ],
)
def test_the_verdict_names_who_changed(judge: float, system: float, said: str) -> None:
    words, parts = drift_sheets(*tables(judge, system), ["judge"], cluster="user_id", limits=LIMITS)
    assert words.frame["verdict"].tolist() == [said]
    row = parts.frame.iloc[0]
    assert row["judge"] + row["system"] == pytest.approx(row["whole"])
    assert (row["anchors"], row["n_units"], row["n_clusters"]) == (120, 240, 30)


def test_refusals_are_words() -> None:
    then, now, anchors = tables()
    how = {"cluster": "user_id", "limits": LIMITS}
    [none, _] = drift_sheets(then, now, anchors[:0], ["judge"], **how)
    assert none.frame["verdict"].item() == "cannot be said: no anchor has a score in both runs"
    [every, _] = drift_sheets(then, then, then[["user_id", "item_id"]], ["judge"], **how)
    assert every.frame["verdict"].item() == (
        "the judge gave all anchors the same score; nothing is said of the system, as there is no other unit "
        "in both runs"
    )
    assert drift_sheets(then, now, anchors, ["nobody"], **how) == []


def gated(shift: float, n_anchors: int, drift: float = -0.6):
    """Hold a system against its baseline by a judge that has become harsher."""
    before, now = scored(0, aspects=("clear",)), scored(1, aspects=("clear",), shift=shift + drift)
    anchors = before.frame[before.frame["item_id"].isin(["i0", "i1"])][:n_anchors]
    # Anchors have the texts of then, so that the system's shift is not in their scores.
    rng = np.random.default_rng(5)
    anchors = anchors.assign(then=anchors["score"])
    anchors["score"] = np.clip(np.rint(anchors["then"] + drift + rng.normal(0, 0.3, len(anchors))), 1, 5)
    rules = Rules({}, {"*": 0.3})
    changed = replace(now, fingerprint="other")
    return gate(changed, before, rules, anchors=anchors), gate(changed, before, rules)


def test_a_gate_is_corrected_by_the_drift_of_its_judge() -> None:
    corrected, plain = gated(0.0, 80)
    assert (corrected.verdict, plain.verdict) == ("pass", "fail")
    assert corrected.checks[0].value == pytest.approx(0, abs=0.15)
    assert corrected.checks[0].n_units == 80  # anchors are not the system's
    assert any("less the judge's drift" in note for note in corrected.notes)
    assert gated(-0.8, 80)[0].verdict == "fail"


def test_a_gate_without_enough_anchors_is_inconclusive_and_says_why() -> None:
    for n, why in ((0, "fewer than two clusters of anchors"), (2, "fewer than two clusters of anchors")):
        result, _ = gated(0.0, n)
        assert result.verdict == "inconclusive"
        assert why in result.checks[0].why


def test_the_same_texts_and_judge_need_no_anchors() -> None:
    same = scored(0, aspects=("clear",))
    anchors = same.frame.assign(then=same.frame["score"])
    [check] = gate(same, same, Rules({}, {"*": 0.3}), anchors=anchors).checks
    assert (check.verdict, check.value, check.n_units) == ("pass", 0.0, 160)


@pytest.mark.slow
def test_a_system_that_did_not_change_is_seldom_said_to() -> None:
    rng, users, studies = np.random.default_rng(2), 40, 2000
    wrong, covered = 0, 0
    of_anchor, of_unit = np.repeat(np.arange(users), 2), np.repeat(np.arange(users), 10)
    for _ in range(studies):
        level, moved = rng.normal(size=users), 0.4 + 0.3 * rng.normal(size=users)
        change = moved[of_anchor] + 0.5 * rng.normal(size=of_anchor.size)
        then, now = (level[of_unit] + rng.normal(size=of_unit.size) for _ in range(2))
        parts = split((change, of_anchor), (now + moved[of_unit], of_unit), (then, of_unit), (-50.0, 50.0))
        wrong += p_of(parts.system) <= 0.05
        low, high = parts.judge.ends(0.025)
        covered += low <= 0.4 <= high
    assert wrong / studies == pytest.approx(0.05, abs=0.013)
    assert covered / studies == pytest.approx(0.95, abs=0.013)
