"""Thresholds as they are typed, and why nobody lowers a bar in passing."""

from __future__ import annotations

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.trust.gate.rules import EVERY, Rules, joined, lowered, read_thresholds

CELLS = [("clear", ""), ("clear", "short"), ("a/b", ""), ("a/b", "short")]


def test_thresholds_are_read() -> None:
    given = read_thresholds(["clear=4.2", "3", "clear/short=4", "a=b=1e-1"], "--min")
    assert given == {"clear": 4.2, EVERY: 3.0, "clear/short": 4.0, "a=b": 0.1}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["clear=high"], "--min 'clear=high' is not a threshold"),
        (["clear="], "not a threshold"),
        (["nan"], "not a threshold"),
        (["clear=1", "clear=2"], "--min gives clear twice"),
        (["1", "2"], "gives all aspects twice"),
    ],
)
def test_what_is_no_threshold_is_said(texts: list[str], message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        read_thresholds(texts, "--min")


def test_the_nearest_threshold_holds() -> None:
    rules = Rules({EVERY: 3, "clear": 4, "clear/short": 4.5, "a/b": 2})
    assert [rules.least_of(*cell) for cell in CELLS] == [4, 4.5, 2, 2]
    assert rules.max_drop_of("clear", "") is None
    rules.check_names(CELLS)
    with pytest.raises(MetaevalError, match="nothing called 'claer' to check; did you mean 'clear'"):
        Rules({"claer": 3}).check_names(CELLS)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"max_drop": {"clear": 0}}, "largest drop of 'clear' is 0; give a number above 0"),
        ({"alpha": 0.5}, "alpha is 0.5"),
        ({"max_missing": 1.0}, "missing is 1.0"),
    ],
)
def test_rules_that_no_sample_could_follow(rules, message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        Rules(**rules)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (Rules({"clear": 4.1}), "a mean of 4.1 for clear instead of 4.2"),
        (Rules({EVERY: 4.1}), "a mean of 4.1 for clear instead of 4.2"),
        (Rules({"clear/short": 4}), "a mean of 4 for clear/short instead of 4.2"),
        (Rules(max_drop={"a/b": 0.4}), "a drop of up to 0.4 for a/b instead of 0.3"),
        (Rules(alpha=0.1), "an alpha of 0.1 instead of 0.05"),
        (Rules(max_missing=0.2), "a share of 0.2 without a score instead of 0.05"),
    ],
)
def test_a_bar_is_not_lowered_from_the_command_line(asked: Rules, told: str) -> None:
    kept = Rules({"clear": 4.2}, {EVERY: 0.3})
    with pytest.raises(MetaevalError, match=f"{told} is less strict than main.json"):
        joined(asked, kept, CELLS, "main.json")


def test_a_bar_may_be_raised_and_what_is_left_out_stays() -> None:
    kept = Rules({"clear": 4.2}, {EVERY: 0.3})
    found = joined(Rules({"clear": 4.5, "a/b": 3}, {"clear/short": 0.1}, 0.01), kept, CELLS, "main.json")
    assert [found.least_of(*cell) for cell in CELLS] == [4.5, 4.5, 3, 3]
    assert [found.max_drop_of(*cell) for cell in CELLS] == [0.3, 0.1, 0.3, 0.3]
    assert found.alpha == 0.01
    assert lowered(found, kept, CELLS) == []
    with pytest.raises(MetaevalError, match="nothing called 'cleer'"):
        joined(Rules({"cleer": 5}), kept, CELLS, "main.json")
