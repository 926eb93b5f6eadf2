"""The gate: pass, fail or inconclusive, and how often it errs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from metaeval.base.errors import MetaevalError
from metaeval.trust.gate.baseline import GateScores
from metaeval.trust.gate.checks import gate
from metaeval.trust.gate.rules import Rules
from tests.trust.gates import scored

DROP = Rules(max_drop={"*": 0.3})


def with_scores(of: GateScores, change) -> GateScores:
    return replace(of, frame=change(of.frame.copy()))


def test_nothing_changed_passes() -> None:
    result = gate(scored(1), scored(0), DROP, by="category")
    assert result.verdict == "pass"
    cells = [(c.aspect, c.category) for c in result.checks]
    assert cells == [(a, c) for a in ("clear", "fitting") for c in ("", "long", "short")]
    assert result.simulated


def test_a_generator_made_worse_by_a_known_amount_fails() -> None:
    worse = with_scores(scored(0), lambda f: f.assign(score=np.maximum(1, f["score"] - 1)))
    worse = replace(worse, fingerprint="new texts")
    result = gate(worse, scored(0), DROP, by="category")
    assert result.verdict == "fail"
    whole = result.checks[0]
    assert whole.value == pytest.approx(-1, abs=0.02)
    assert whole.high < -0.3
    assert whole.value == pytest.approx(whole.current - whole.baseline)


def test_one_category_that_got_worse_is_not_hidden_by_another_that_got_better() -> None:
    def trade(frame: pd.DataFrame) -> pd.DataFrame:
        by = np.where(frame["category"] == "short", -1.0, 1.0)
        return frame.assign(score=(frame["score"] + by).clip(1, 5))

    result = gate(with_scores(scored(0), trade), scored(0), DROP, by="category")
    verdicts = {c.category: c.verdict for c in result.checks if c.aspect == "clear"}
    assert verdicts == {"": "pass", "long": "pass", "short": "fail"}
    assert result.verdict == "fail"


def test_too_few_units_are_inconclusive() -> None:
    result = gate(scored(1, users=3), scored(0, users=3), DROP)
    assert result.verdict == "inconclusive"
    assert all("too few units" in c.why for c in result.checks)
    assert all(c.smallest_effect > 0.3 for c in result.checks)


def test_means_are_held_against_their_minimum() -> None:
    result = gate(scored(0), None, Rules({"clear": 3.0, "fitting": 4.2}))
    low, high = result.checks
    assert (low.verdict, high.verdict, result.verdict) == ("pass", "fail", "fail")
    assert low.low > 3.0
    assert high.high < 4.2
    near = gate(scored(0), None, Rules({"clear": round(low.value, 2)}))
    assert near.verdict == "inconclusive"


def test_the_very_same_question_leaves_nothing_to_chance() -> None:
    few = {"users": 2, "items": 1, "call": "k"}
    result = gate(scored(0, **few), replace(scored(0, **few), fingerprint="other"), DROP)
    assert result.verdict == "pass"
    assert {c.why for c in result.checks} == {"the same texts, and the same judge"}
    # Equal scores of other questions are no proof, nor are other scores of the same ones.
    other = gate(replace(scored(0, **{**few, "call": "x"}), fingerprint="other"), scored(0, **few), DROP)
    assert other.verdict == "inconclusive"
    fickle = with_scores(scored(0, **few), lambda f: f.assign(score=6 - f["score"]))
    assert gate(fickle, scored(0, **few), DROP).verdict == "inconclusive"


def test_scores_that_are_missing_cannot_pass_but_can_fail() -> None:
    def lose(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(score=frame["score"].where(frame["user_id"] > "u05"))

    lost = gate(with_scores(scored(1), lose), scored(0), DROP)
    assert lost.verdict == "inconclusive"
    assert lost.checks[0].why == "24 of 160 units have no score"
    assert gate(with_scores(scored(1), lose), scored(0), replace(DROP, max_missing=0.3)).verdict == "pass"
    worse = with_scores(scored(0), lambda f: lose(f.assign(score=f["score"] - 1)))
    assert gate(worse, scored(0), DROP).verdict == "fail"
    # A unit that has no row at all is missing, too.
    gone = with_scores(scored(1), lambda f: f[f["user_id"] > "u05"])
    assert gate(gone, scored(0), DROP).checks[0].n_missing == 24
    least = gate(with_scores(scored(1), lose), None, Rules({"*": 2}))
    assert least.verdict == "inconclusive"


def test_a_category_cannot_slip_out() -> None:
    gone = with_scores(scored(1), lambda f: f[f["category"] == "long"])
    result = gate(gone, scored(0), Rules({"*": 2}, {"*": 0.3}), by="category")
    short = [c for c in result.checks if c.category == "short"]
    assert [(c.kind, c.verdict, c.n_units) for c in short] == [
        (kind, "inconclusive", 0) for _ in range(2) for kind in ("least", "drop")
    ]
    assert all(math.isnan(c.value) for c in short)


def test_new_units_are_told_and_left_out() -> None:
    result = gate(scored(1), scored(0, users=20), DROP)
    assert "80 units of the run not in the baseline" in result.notes[0]
    assert result.checks[0].n_units == 80


def test_a_generator_with_a_new_name_is_paired_with_the_old_one() -> None:
    result = gate(scored(1, generator="v2"), scored(0), DROP)
    assert result.notes[0] == "The texts of v2 are compared with those of v1 in the baseline."
    assert result.checks[0].n_units == 160


def other_scale() -> GateScores:
    return replace(scored(0), scale=(0.0, 1.0))


def two_generators(names: str) -> GateScores:
    parts = [scored(0, generator=name).frame for name in names]
    return replace(scored(0), frame=pd.concat(parts, ignore_index=True))


@pytest.mark.parametrize(
    ("baseline", "rules", "options", "message"),
    [
        (None, DROP, {}, "nothing to check: give --min"),
        (scored(0), Rules(), {}, "nothing to check"),
        (None, Rules({"cleer": 4}), {}, "nothing called 'cleer' to check; did you mean 'clear'"),
        (None, Rules({"clear/tiny": 4}), {"by": "category"}, "nothing called 'clear/tiny'"),
        (other_scale(), DROP, {}, "the baseline's scale is 0 to 1 and the run's is 1 to 5"),
        (two_generators("ab"), DROP, {}, "the baseline has a, b: give the one to compare with --generator"),
        (
            with_scores(scored(0), lambda f: f.assign(user_id="z" + f["user_id"])),
            DROP,
            {},
            "no unit of the run is in the baseline: they are matched by user_id, item_id, generator",
        ),
        (
            with_scores(scored(0), lambda f: f.drop(columns="user_id")),
            DROP,
            {},
            "named by item_id, generator and the run's by user_id",
        ),
    ],
)
def test_what_cannot_be_checked_is_said(baseline, rules, options, message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        gate(scored(1), baseline, rules, **options)


def test_clusters_that_are_not_there_are_said() -> None:
    without = with_scores(
        scored(0), lambda f: f.drop(columns="user_id").drop_duplicates(["item_id", "aspect"])
    )
    assert gate(without, None, Rules({"*": 2})).cluster == "item"
    with pytest.raises(MetaevalError, match="clustered by 'user'; give item, generator or unit"):
        gate(without, None, Rules({"*": 2}), cluster="user")


def no_more_often(seen: int, of: int, share: float) -> bool:
    """Say whether as many as were seen are likely if the share is as stated."""
    return bool(binom.sf(seen - 1, of, share) > 0.001)


@pytest.mark.slow
def test_at_the_margin_itself_it_fails_as_seldom_and_passes_as_seldom() -> None:
    # The worst that is still allowed: every cell is worse by the margin, where both errors are largest.
    rng = np.random.default_rng(0)
    old = replace(scored(0, users=20), scale=(-5.0, 10.0))
    verdicts = []
    for _ in range(100):
        user = rng.normal(0, 0.3, 20)[old.frame["user_id"].str[1:].astype(int)]
        change = rng.normal(-0.3, 0.7, len(old.frame)) + user
        new = with_scores(old, lambda f, change=change: f.assign(score=f["score"] + change))
        verdicts.append(gate(new, old, DROP, by="category").verdict)
    assert no_more_often(verdicts.count("fail"), 100, 0.05)
    assert no_more_often(verdicts.count("pass"), 100, 0.05)
