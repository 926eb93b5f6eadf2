"""How often what is said of a confidence, a single rating, and a judge's drift holds; users have levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from benchmarks.shares import AT_MOST, COVERS, SIZE, row
from metaeval.stats.agreement.confidence import half_width, reliability
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.weights import one_thread
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.gate.drift import p_of, split

if TYPE_CHECKING:
    from collections.abc import Iterator

UNITS = 12  # of a user


@one_thread()
def confidence(studies: int, users: int, over: float) -> Iterator[dict[str, Any]]:
    """Yield the coverage of the calibration error, and the size of the test; it is ``over`` too sure."""
    rng, user = np.random.default_rng([users, int(100 * over)]), np.repeat(np.arange(users), UNITS)
    held, found = np.zeros(2), 0
    for i in range(studies):
        said = rng.uniform(0.3, 1, user.size)
        luck = (rng.normal(size=users)[user] + rng.normal(size=user.size)) / np.sqrt(2)
        right = (norm.cdf(luck) < said - over).astype(float)
        of = reliability(said, right, Clusters(user, users), Resampler(users, 499, i))
        held += [e.low <= over <= e.high for e in (of.ece, of.gap)]
        found += of.p <= 0.05
    shares = dict(zip(("ece", "gap"), (held / studies).tolist(), strict=True))
    yield row(f"confidence: intervals, {users} users, {over:g} too sure", studies, shares, (0.93, 1.0))
    if not over:
        what = f"confidence: a calibrated one is refused, {users} users"
        yield row(what, studies, {"false_positives": found / studies}, SIZE)


def rating(studies: int, users: int, own: float) -> dict[str, Any]:
    """Return how often a rating of a new user lies within the conformal interval."""
    rng, user = np.random.default_rng([users, int(100 * own)]), np.repeat(np.arange(users + 1), UNITS)
    known, held = user < users, 0.0
    for _ in range(studies):
        errors = np.abs(own * rng.normal(size=users + 1)[user] + rng.normal(size=user.size))
        held += float((errors[~known] <= half_width(errors[known], user[known], users)).mean())
    # With few users the interval is wide on purpose: it holds whatever users are like.
    target = (0.885, 0.915) if users >= 100 else (0.885, 0.93)
    what = f"confidence: a rating of a new user lies within 90 %, {users} users with levels of {own:g}"
    return row(what, studies, {"coverage": held / studies}, target)


def drift(studies: int, users: int, anchors: int, judge: float) -> Iterator[dict[str, Any]]:
    """Yield coverage and size of both parts of a change; users differ in how the judge drifts on them."""
    rng = np.random.default_rng([users, anchors, int(100 * judge)])
    held, found = np.zeros(2), np.zeros(2)
    of_anchor, of_unit = (np.repeat(np.arange(users), n) for n in (anchors, UNITS))
    for _ in range(studies):
        level, moved = rng.normal(size=users), judge + 0.2 * rng.normal(size=users)
        change = moved[of_anchor] + 0.5 * rng.normal(size=of_anchor.size)
        then, now = (level[of_unit] + rng.normal(size=of_unit.size) for _ in range(2))
        others = ((now + moved[of_unit], of_unit), (then, of_unit))
        parts = split((change, of_anchor), *others, (-100.0, 100.0))
        for i, (part, true) in enumerate(((parts.judge, judge), (parts.system, 0.0))):
            low, high = part.ends(0.025)
            held[i] += low <= true <= high
            found[i] += p_of(part) <= 0.05
    names = ("judge", "system")
    where = f"{users} users, {anchors} anchors each, the judge drifts by {judge:g}"
    yield row(f"drift: intervals, {where}", studies, dict(zip(names, held / studies, strict=True)), COVERS)
    system = {"false_positives": float(found[1] / studies)}
    yield row(f"drift: a system that did not change is said to, {where}", studies, system, AT_MOST)


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for users in (40,) if quick else (40, 100):
        for over in (0.0, 0.1):
            yield from confidence(studies, users, over)
        for own in (0.3, 1.0):
            yield rating(studies, users, own)
        for anchors in (1, 4):
            yield from drift(studies, users, anchors, 0.3)
