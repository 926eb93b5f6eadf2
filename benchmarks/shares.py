"""Shares of simulated studies in which an interval held, or a test found something, and their targets."""

from __future__ import annotations

import math
from typing import Any

COVERS = (0.93, 0.97)
"""What 95 % intervals should hold."""
SIZE = (0.04, 0.06)
"""What tests at 5 % should find where there is nothing."""
AT_MOST = (0.0, 0.06)
"""The same of tests that are careful by design."""
_SPREAD = 2.6  # standard errors that a share of few studies may lie off


def row(
    what: str, studies: int, shares: dict[str, float], target: tuple[float, float], **more: object
) -> dict[str, Any]:
    """Lay out shares of studies; ``held`` allows for what chance does to shares of so few of them."""
    return {
        "benchmark": what,
        "studies": studies,
        **{name: round(share, 4) for name, share in shares.items()},
        "target": f"{target[0]:g} to {target[1]:g}",
        "held": all(_within(share, target, studies) for share in shares.values()),
        **more,
    }


def _within(share: float, target: tuple[float, float], studies: int) -> bool:
    low, high = target
    return all(
        math.copysign(1, sign) * (share - end) >= -_SPREAD * math.sqrt(end * (1 - end) / studies)
        for sign, end in ((1, low), (-1, high))
    )
