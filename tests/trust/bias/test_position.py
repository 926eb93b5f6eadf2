from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.evaluators.verdicts import FLIP, comparisons_of
from metaeval.trust.bias.bias import VerdictPairs, pairs_of
from metaeval.trust.bias.position import pairwise_effects, position


def verdicts(rows: list[tuple[str, str, str]]) -> pd.DataFrame:
    """Return verdicts on ``a`` and ``b``, each of (user, winner with a shown first, with b shown first)."""
    long = [
        {"user_id": user, "item_id": f"i{n}", "order": order, "winner": winner}
        for n, (user, *winners) in enumerate(rows)
        for order, winner in zip(("first", "second"), winners, strict=True)
        if winner != "not asked"
    ]
    frame = pd.DataFrame(long).assign(first="a", second="b", aspect="x", evaluator="p", call="")
    return frame.assign(status=np.where(frame["winner"] == "", "unparsed", "ok"))


def test_flips_and_the_first_place() -> None:
    rows = [
        ("u1", "first", "first"),  # a wins twice
        ("u1", "first", "second"),  # a flip: the first place wins twice
        ("u2", "second", "first"),  # a flip: the second place wins twice
        ("u2", "first", "second"),
        ("u3", "tie", "tie"),
        ("u3", "tie", "second"),  # b, shown first, wins: a flip, too
        ("u3", "first", ""),  # left out
        ("u3", "first", "not asked"),
    ]
    (pairs,) = pairs_of(verdicts(rows))
    found = position(pairs, resamples=100)
    assert found is not None
    assert (found.n_pairs, found.n_left_out, found.flips.n) == (6, 2, 3)
    assert found.flips.value[0] == pytest.approx(4 / 6)
    # The same word means the same in `metaeval pairwise`.
    outcomes = comparisons_of(verdicts(rows))["outcome"]
    assert (outcomes == FLIP).sum() / (outcomes >= 0).sum() == found.flips.value[0]
    # Decided verdicts: 2 + 2 + 2 + 2 + 0 + 1; won by the first place: 1 + 2 + 0 + 2 + 0 + 1.
    assert found.first.value[0] == pytest.approx(6 / 9)
    assert found.ties.value[0] == pytest.approx(3 / 12)


def compared(length: float, family: float, seed: int = 0) -> tuple[VerdictPairs, pd.DataFrame, pd.DataFrame]:
    """Return pairs, truth and lengths of 40 users; what is planted is the share of a win it is worth."""
    rng = np.random.default_rng(seed)
    units = pd.DataFrame(
        [(f"u{u}", f"i{i}", g) for u in range(40) for i in range(4) for g in "ab"],
        columns=["user_id", "item_id", "generator"],
    )
    truth = units.assign(aspect="x", rating=rng.integers(1, 6, len(units)).astype(float))
    lengths = units.assign(length=2 ** rng.uniform(4, 7, len(units)))
    of = [d[c].to_numpy().reshape(-1, 2) for d, c in ((truth, "rating"), (lengths, "length"))]
    better, longer = of[0] @ [1, -1], np.log2(of[1]) @ [1, -1]
    chance = np.clip(0.5 + 0.08 * better + length * longer + family, 0, 1)
    frame = units[units["generator"] == "a"][["user_id", "item_id"]].assign(first="a", second="b")
    shown = {c: (rng.random(len(frame)) < chance) * 1.0 for c in ("shown_first", "shown_second")}
    return VerdictPairs("p", "x", frame.assign(**shown).reset_index(drop=True), 0), truth, lengths


def test_length_and_family_of_pairs_given_the_truth() -> None:
    found = pairwise_effects(*compared(0.1, 0.2), ["a"], resamples=1000)
    assert found.length is not None
    assert found.family is not None
    assert found.length.low[0] < 0.1 < found.length.high[0]
    assert found.length.p[0] < 0.01
    assert found.family.low[0] < 0.2 < found.family.high[0]
    assert found.family.p[0] < 0.01


def test_what_is_not_known_is_left_out() -> None:
    pairs, truth, lengths = compared(0, 0)
    assert pairwise_effects(pairs, truth, None, [], resamples=10).length is None
    assert pairwise_effects(pairs, truth, lengths, ["a", "b"], resamples=10).family is None
    # An overall verdict is held against the mean over aspects.
    overall = VerdictPairs("p", "", pairs.frame, 0)
    one, other = (pairwise_effects(of, truth, lengths, [], resamples=10) for of in (overall, pairs))
    assert one.length.value == pytest.approx(other.length.value)
