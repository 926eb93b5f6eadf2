"""What a gate's sheet says of the rule that it was decided by."""

from __future__ import annotations

from dataclasses import replace

from metaeval.trust.gate.checks import gate, gate_sheet
from metaeval.trust.gate.rules import Rules
from tests.trust.gates import scored

DROP = Rules(max_drop={"*": 0.3})


def notes(result) -> str:
    return " ".join(gate_sheet(result).notes)


def test_the_correction_is_over_the_checks_that_were_tested() -> None:
    told = notes(gate(scored(1), scored(0), DROP, by="category"))
    assert "corrected by Holm over 6 tests" in told
    assert "there was nothing to test" not in told
    told = notes(gate(scored(0), None, Rules({"clear": 3.0})))
    assert "A check passes if a one-sided test at 5 %" in told
    assert "Holm" not in told


def test_where_nothing_was_tested_no_test_is_told() -> None:
    before = scored(0, call="k")
    told = notes(gate(before, replace(before, fingerprint="other"), DROP))
    assert "there was nothing to test" in told
    assert "one-sided test" not in told
    one_cluster = notes(gate(scored(1, users=1), scored(0, users=1), DROP))
    assert "there was nothing to test" not in one_cluster
