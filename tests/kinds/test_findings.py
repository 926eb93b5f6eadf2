"""Figures of the demos have what they show as their title, with the names that are printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metaeval.reports.report_model import payload_of

SAID = {
    "relevance": {
        "system_values": "oracle orders 14 systems as human does with τ 1.00: both have near-oracle first",
        "label_curve": "50 labels per user of human order the systems as all 78.8 do with τ 0.95",
        "agreement": "oracle orders most pairs as the labels do, 76.9 %, and 2.8 % the other way",
    },
    "slates": {
        "regret_by_task": "sharp has the least regret on average, 0.0020; verdicts at random have 0.0525",
        "regret_by_difficulty": "sharp has the least regret on average, 0.0015; "
        "verdicts at random have 0.0565",
        "regret_against_coherence": "popular keeps to the axiom most (100.0 %), sharp has the least regret "
        "(0.0019)",
        "coherence_by_judge": "first is furthest from an axiom: asymmetry, 0.0 %",
    },
    "exposure": {
        "exposure_bias": "Weighted by inverse propensities, best agrees best: PairAUC 0.5882, "
        "unweighted 0.5987",
        "agreement_by_bin": "best, the best over the bins: PairAUC 0.6106 in the most popular bin, "
        "0.5000 in the last",
        "calibration_curve": "three (simulated) orders 8 recommenders as Recall@10 by IPS does with "
        "Spearman's ρ 0.98",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAID)
def test_the_finding_is_the_title(kind: str, demo_of: Callable[[str], Path]) -> None:
    report = demo_of(kind) / "results" / kind / "report.html"
    page = payload_of(report.read_text(encoding="utf-8"))
    shown = {
        figure["name"]: figure["findings"]["|".join(choice["chosen"] for choice in figure["choices"])]
        for figure in page["figures"]
    }
    assert shown == SAID[kind]
    names = {e["name"] for e in page["evaluators"]}
    for figure in page["figures"]:
        assert {*figure["names"].values()} >= names
