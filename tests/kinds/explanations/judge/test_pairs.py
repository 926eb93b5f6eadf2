"""Which explanations are compared with each other."""

from __future__ import annotations

import itertools

import pandas as pd

from metaeval.base.records import Scale
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.judge.pairs import (
    Match,
    all_matches,
    groups_of,
    sampled_matches,
    swiss_matches,
)


def data_of(*units: tuple[str, str, str]) -> ExplanationSet:
    frame = pd.DataFrame(units, columns=["user_id", "item_id", "generator"]).assign(explanation="text")
    return ExplanationSet(frame, pd.DataFrame(), {"clear": "It is clear."}, Scale(1, 5))


GRID = data_of(*itertools.product(["u2", "u1"], ["i1", "i2"], ["d", "b", "a", "c"]))
GROUPS = groups_of(GRID, range(len(GRID)))


def test_groups_are_users_and_items_with_their_generators_in_order() -> None:
    assert [g.key for g in GROUPS] == [("u2", "i1"), ("u2", "i2"), ("u1", "i1"), ("u1", "i2")]
    generators = GRID.explanations["generator"]
    for group in GROUPS:
        assert [generators[u] for u in group.units] == ["a", "b", "c", "d"]
    (one,) = groups_of(GRID, [0, 3])
    assert one.units == (3, 0)


def test_a_sample_hangs_on_its_own_user_and_item_alone() -> None:
    found = sampled_matches(GROUPS, 2, seed=0)
    assert [sum(m.group == g for m in found) for g in range(4)] == [2, 2, 2, 2]
    assert len(set(found)) == 8
    assert sampled_matches(GROUPS[2:], 2, seed=0) == [m._replace(group=m.group - 2) for m in found[4:]]
    assert any(sampled_matches(GROUPS, 2, seed=s) != found for s in (1, 2, 3))
    assert sampled_matches(GROUPS, 99, seed=0) == all_matches(GROUPS)


def test_swiss_rounds_bring_equals_together_and_nobody_twice() -> None:
    (group,) = groups_of(GRID, range(4))
    points = {group.units[0]: 1.0, group.units[2]: 1.0, group.units[1]: 0.0, group.units[3]: 0.0}
    (top, rest) = swiss_matches([group], points, set(), seed=0)
    assert top == Match(0, group.units[0], group.units[2])
    assert rest == Match(0, group.units[1], group.units[3])
    played = {tuple(top[1:])}
    later = swiss_matches([group], points, played, seed=0)
    assert not {tuple(m[1:]) for m in later} & played
    met: set[tuple[int, int]] = set()
    for round_ in range(10):
        pairs = [m[1:] for m in swiss_matches([group], {}, met, seed=round_)]
        units = [u for pair in pairs for u in pair]
        assert len(units) == len(set(units))
        assert not set(pairs) & met
        met.update(pairs)
    assert met == set(group.pairs)
    assert swiss_matches([group], {}, met, seed=0) == []
