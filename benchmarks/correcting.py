"""How often the interval of a corrected mean, difference and share covers the truth, and how wide it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.shares import row
from metaeval.stats.regression.correction import LabelledSample
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from collections.abc import Iterator

COVERED = (0.935, 0.965)
UNITS, OWN, BETTER = 6, 0.7, 0.3  # units of a user; what users differ by; what generator 1 is better by
MEAN, DIFFERENCE = np.array([[0.5, 0.5]]), np.array([[-1.0, 1.0]])


def study(
    rng: np.random.Generator, users: int, share: float, r: float, *, whole: bool
) -> tuple[LabelledSample, Any]:
    """Draw ratings with users' own levels, and a judge whose errors are independent of each other.

    ``share`` of the users have labels if ``whole``, else of the units. Two judges of r: the second is
    returned as well.
    """
    of_unit = np.repeat(np.arange(users), UNITS)
    group = np.tile(np.arange(UNITS) % 2, users)
    n = users * UNITS
    y = OWN * rng.normal(size=users)[of_unit] + np.sqrt(1 - OWN**2) * rng.normal(size=n)
    f = r * y + np.sqrt(1 - r * r) * rng.normal(size=(2, n)) + 1
    y = y + BETTER * group
    f[:] += r * BETTER * group
    if whole:
        chosen = rng.choice(users, max(3, round(users * share)), replace=False)
        rated = np.isin(of_unit, chosen)
    else:
        rated = rng.random(n) < share
    return LabelledSample(np.where(rated, y, np.nan), f, group, 2, Clusters(of_unit, users)), y


def covered(studies: int, users: int, share: float, r: float, *, whole: bool) -> Iterator[dict[str, Any]]:
    """Yield the shares of intervals that cover, and by how much they are narrower than those of labels."""
    rng = np.random.default_rng(users)
    hits: dict[str, list[Any]] = {
        "mean": [],
        "difference": [],
        "two judges": [],
        "strata": [],
        "isotonic": [],
    }
    widths, shares = [], []
    for k in range(studies):
        sample, _ = study(rng, users, share, r, whole=whole)
        one = LabelledSample(sample.ratings, sample.scores[:1], sample.group, 2, sample.clusters)
        ways = {
            "mean": one.powered(MEAN),
            "difference": one.powered(DIFFERENCE),
            "two judges": sample.powered(MEAN),
            "strata": one.by_strata(MEAN),
            "isotonic": one.powered(MEAN, one.mapped(k)),
        }
        for name, way in ways.items():
            low, high = (float(end[0]) for end in way.interval())
            truth = BETTER if name == "difference" else BETTER / 2
            if not np.isnan(low):
                hits[name].append(low <= truth <= high)
        pairs = [(ways["mean"], MEAN), (ways["difference"], DIFFERENCE)]
        widths.append([way.standard_error[0] / one.labels_alone(c).standard_error[0] for way, c in pairs])
        shares.append(_share(one, users))
    what = "users" if whole else "units"
    name = f"correcting: {users} users, {share:.0%} of {what}, r = {r:g}"
    measured = {key: float(np.mean(values)) for key, values in hits.items()}
    yield row(name, studies, measured, COVERED)
    yield row(f"{name}, Rogan-Gladen", studies, {"share": float(np.nanmean(shares))}, (COVERED[0], 1.0))
    narrower = np.maximum(0.0, 1 - np.nanmedian(widths, axis=0)).tolist()
    found = dict(zip(("mean narrower by", "difference narrower by"), narrower, strict=True))
    yield row(f"{name}, width", studies, found, (0.0, 1.0))


def _share(one: LabelledSample, users: int) -> float:
    """Say whether the interval of the share of ratings above 0 covers it; NaN where there is none."""
    from scipy.special import ndtr

    y, f = one.ratings, one.scores
    binary = np.where(np.isnan(y), np.nan, y > 0)
    found = LabelledSample(binary, (f > 1).astype(float), one.group, 2, Clusters(one.clusters.of_unit, users))
    ends = found.rogan_gladen()
    truth = (ndtr(0) + ndtr(BETTER)) / 2
    return float(ends.low <= truth <= ends.high) if np.isfinite(ends.low) else np.nan


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for users in (100,) if quick else (40, 100, 300):
        for share in (0.1,) if quick else (0.1, 0.25, 0.5):
            for r in (0.7,) if quick else (0.3, 0.5, 0.7, 0.9):
                yield from covered(studies, users, share, r, whole=True)
    if not quick:
        for r in (0.3, 0.7):
            yield from covered(studies, 100, 0.1, r, whole=False)
