"""``python -m benchmarks.coverage_page < coverage.jsonl``: the lines of ``--coverage`` as Markdown tables."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NOT_SHARES = {"benchmark", "studies", "target", "held", "p_uniform", "without_interval", "refused"}
_NUMBERS = {
    "size": "may be best",
    "size_by_holm": "not worse than the best, Holm",
    "width": "ranks in a range",
}
"""Means over studies, of evaluators or ranks."""
_NAMES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "bootstrap_pearson": "Pearson, bootstrap",
    "false_positives": "false positives",
    "false_stops": "false stops",
    "passes": "passes wrongly",
    "fails": "fails wrongly",
    "soft_pairwise_accuracy": "soft pairwise accuracy",
    "tau": "τ",
    "ips": "IPS",
    "snips": "SNIPS",
    "switch-dr": "Switch-DR",
    "dros": "DRos",
    "dr": "DR",
    "bootstrap": "τ, bootstrap",
    "first_position": "first position",
    "user_mean": "mean over users",
    "ece": "ECE",
    "gap": "too sure by",
    "near_one": "Pearson near 1",
    "rare": "rare share",
    "best_in_set": "the best may be the best",
    "rank_range": "rank range",
    "all_ranges": "all rank ranges",
    "interval": "interval",
}


_SECTIONS = (
    ("Correlations within groups and over all units", ("percentile intervals", "bca intervals")),
    ("Paired tests", ("paired tests",)),
    ("Ranks of evaluators", ("ranks", "differences")),
    ("Correlations of generators' means", ("generator level",)),
    ("Generators", ("rankings of", "means of", "equal generators", "prediction-powered")),
    ("Orders of systems", ("order of",)),
    ("Whose order", ("whose order",)),
    ("Families of prompts", ("family of",)),
    ("Whether a judge can be trusted", ("calibration", "shares of", "biases", "gate", "panel")),
    ("Replacing people", ("replacing",)),
    ("Correcting a judge", ("correcting",)),
    ("Handing units on", ("escalating",)),
    ("Choosing the best of several", ("choosing",)),
    ("Planning labels", ("planning",)),
    ("Confidence, single ratings and drift", ("confidence", "drift")),
    ("Coherence of verdicts", ("coherence",)),
    ("Off-policy values", ("off-policy",)),
    ("Many clusters", ("many clusters",)),
)


def page(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the sections, each with its tables."""
    every = list(rows)
    for title, starts in _SECTIONS:
        yield f"\n## {title}"
        yield from tables(sorted((r for r in every if r["benchmark"].startswith(starts)), key=_shares))


def _shares(row: dict[str, Any]) -> list[str]:
    return [k for k in row if k not in _NOT_SHARES and not k.startswith("bias_")]


def tables(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of Markdown tables, a new one wherever the shares are others."""
    columns: list[str] = []
    for row in rows:
        shares = _shares(row)
        if shares != columns:
            columns = shares
            titles = [{**_NAMES, **_NUMBERS}.get(c, c) for c in columns]
            yield ""
            yield f"| what | {' | '.join(titles)} | target | |"
            yield f"| :--- |{' ---: |' * len(titles)} ---: | :--- |"
        values = [f"{row[c]:.1f}" if c in _NUMBERS else f"{100 * row[c]:.1f}" for c in columns]
        low, high = (100 * float(end) for end in row["target"].split(" to "))
        target = "" if (low, high) == (0, 100) else f"{low:g} – {high:g}"
        yield f"| {row['benchmark']} | {' | '.join(values)} | {target} | {'' if row['held'] else '✗'} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(page(map(json.loads, sys.stdin))) + "\n")
