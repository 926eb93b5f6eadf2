"""How many labels settle what is open, and whether judges of pairs order what they compare."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval as me
from metaeval.kinds.exposure.recommenders.link import ordering
from metaeval.trust.auditing.findings import finding, labels_needed, settled_by, sufficiency
from metaeval.trust.auditing.page import audit


@given(
    value=st.floats(-0.9, 0.9),
    half=st.floats(0.01, 0.5),
    share=st.floats(0.05, 0.95),
    n=st.integers(10, 10_000),
)
def test_so_many_labels_bring_the_end_of_the_interval_to_the_bound(
    value: float, half: float, share: float, n: int
) -> None:
    """By the root of the labels: with 3 times as many more, an interval is half as wide."""
    bound = value + share * half
    more = labels_needed(value, value - half, value + half, bound, n)
    assert more is not None
    assert half * (n / (n + more)) ** 0.5 == pytest.approx(share * half, rel=0.06)
    assert labels_needed(value, value - half, value + half, value + 1.1 * half, n) is None
    assert labels_needed(value, value - half, value + half, value, n) is None


def test_what_labels_do_not_settle_says_what_would() -> None:
    gate = settled_by(finding("Agrees?", "κ", "more labels decide", "", gate="unknown"), [1_234, None, 70])
    one = finding("As good?", "?", "a second person tells", "", replace="unknown")
    no = finding("Order?", "none", "it orders nothing", "", leaderboard="no")
    open_ = finding("Order?", "?", "open", "", leaderboard="unknown")
    said = sufficiency([gate, one, no, open_], "metaeval plan RUN")
    assert said is not None
    assert said.answer == "serve as a gate: about 1,200 more; replace a person: a second person tells"
    assert not said.uses
    assert sufficiency([no], "") is None


def points(scores: list[float], targets: list[float], width: float) -> Any:
    n = len(scores)
    frame = pd.DataFrame({"system": [f"s{i}" for i in range(n)], "score": scores, "target": targets})
    for what in ("score", "target"):
        frame = frame.assign(**{f"{what}_low": frame[what] - width, f"{what}_high": frame[what] + width})
    frame = frame.assign(evaluator="j", measure="Recall@10", estimator="ips")
    later = frame.assign(estimator="snips", score_low=-9.0)  # of which nothing is read
    return SimpleNamespace(table=lambda _: pd.concat([frame, later], ignore_index=True))


@pytest.mark.parametrize(
    ("scores", "width", "usable"),
    [
        ([0.1, 0.2, 0.3, 0.4], 0.01, "yes"),
        ([0.4, 0.3, 0.2, 0.1], 0.01, "no"),
        ([0.1, 0.2, 0.4, 0.3], 0.01, "no"),
        ([0.1, 0.1, 0.1, 0.1], 0.01, "unknown"),
        ([0.1, 0.2, 0.3, 0.4], 0.3, "unknown"),
    ],
)
def test_recommenders_are_ordered_by_intervals_that_do_not_meet(
    scores: list[float], width: float, usable: str
) -> None:
    [(name, found)] = ordering(points(scores, [0.1, 0.2, 0.3, 0.4], width), ["j"])
    assert (name, found.usable) == ("j", usable)
    if width == 0.01:
        assert found.answer.startswith("of 6 pairs that users tell apart (Recall@10, ips)")
    assert list(ordering(points(scores, scores, width), ["another"])) == []


_ENDS = "(0: as by chance, 1: always the better slate)"


def test_judges_of_slates_keep_what_chance_loses_or_do_not(tmp_path: Path) -> None:
    study = {
        "kind": "slates",
        "dataset": "data/slates",
        "tasks": ["T3"],
        "evaluators": {"best": "Oracle()", "first": "FirstPosition()", "sharp": "Recorded('sharp')"},
        "bootstrap": {"resamples": 200},
        "tests": None,
        "details": False,
    }
    me.run(study, tmp_path / "run")
    made = audit.made(tmp_path / "run", judges=["best", "first"], use="leaderboard", resamples=200)
    assert made.code == 1
    assert made.first == [
        f"best: may rank what it scores: skill T3 1.00 [1.00, 1.00] {_ENDS}.",
        f"first: must not rank what it scores: skill T3 0.00 [0.00, 0.00] {_ENDS}.",
    ]
