"""Coherence of verdicts: seconds against a loop over triples, and how often its intervals hold."""

from __future__ import annotations

import itertools
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.engine import clock, row
from benchmarks.shares import COVERS
from benchmarks.shares import row as share_row
from metaeval.analysis.verdict_coherence import coherence
from metaeval.stats.resampling.weights import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats

SLATES, USERS = 200, 1000
NAMES = 6  # of a user, in studies whose intervals are looked at
AXIOMS = ("transitivity", "asymmetry", "repeatability", "irreflexivity", "first_position")
_MANY = 20_000  # users of whom nothing is uncertain
_LISTED = 2  # users whose triples are listed


def verdicts(
    users: int, slates: int, *seed: int, repeats: int = 1, both: bool = False, lean: float = 0.0
) -> pd.DataFrame:
    """Return verdicts on all pairs of each user's slates, and on pairs of a slate and itself if ``both``.

    A user's slates are of unlike worth, the judge sees each pair with an error of its own, so that there are
    cycles, and leans to the first position by user.
    """
    rng = np.random.default_rng(seed)
    one, other = np.triu_indices(slates, 0 if both else 1)
    worth = rng.normal(size=(users, slates)) * rng.gamma(4, 0.5, (users, 1))
    gap = worth[:, one] - worth[:, other] + 2 * rng.normal(size=(users, len(one))) * (one != other)
    if both:
        one, other, gap = np.append(one, other), np.append(other, one), np.append(gap, -gap, axis=1)
    gap = np.repeat(gap[:, None], repeats, axis=1)
    gap += (lean * rng.normal(1, 1, users))[:, None, None]
    first = rng.random(gap.shape, np.float32) < 1 / (1 + np.exp(-gap))
    shape = gap.shape
    user, repeat, pair = (np.broadcast_to(a, shape).ravel() for a in np.ogrid[tuple(map(slice, shape))])
    won = pd.Categorical.from_codes((~first).astype(int).ravel(), pd.Index(["first", "second"]))
    named = pd.Categorical.from_codes(np.zeros(gap.size, int), pd.Index(["all"]))
    return pd.DataFrame(
        {
            "evaluator": named,
            "task": named,
            "cluster": user,
            "group": user,
            "repeat": repeat,
            "first": one[pair],
            "second": other[pair],
            "winner": won,
        }
    )


def listed(frame: pd.DataFrame) -> float:
    """Return transitivity by a list of all triples of each user."""
    kept = n = 0
    for _, own in frame.groupby("group"):
        won = own["winner"] == "first"
        best, worst = own["first"].where(won, own["second"]), own["second"].where(won, own["first"])
        beats = set(zip(best, worst, strict=True))
        for a, b, c in itertools.combinations(range(SLATES), 3):
            kept += len({(a, b) in beats, (b, c) in beats, (c, a) in beats}) == 2
            n += 1
    return kept / n


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other; ``quick`` takes a tenth of the users."""
    users = USERS // 10 if quick else USERS
    few = verdicts(_LISTED, SLATES, 0)
    slow, expected = clock(lambda: listed(few))
    found = coherence(few, resamples=1).set_index("axiom")["estimate"]["transitivity"]
    for size, both, target in ((users, False, 40), (users // 4, True, 15)):
        frame = verdicts(size, SLATES, 0, both=both)
        fast, _ = clock(partial(coherence, frame))
        what = f"triples of {SLATES} slates × {size:,} users, {'both orders' if both else 'one order'}"
        more = {"verdicts": len(frame), "naive_measured_on_users": _LISTED}
        yield row(what, slow * size / _LISTED, fast, target, largest_difference=abs(found - expected), **more)


@cache
def of_many(lean: float) -> Floats:
    """Return what is estimated: each axiom, of very many users."""
    found = coherence(verdicts(_MANY, NAMES, 0, repeats=2, both=True, lean=lean), resamples=1)
    return found.set_index("axiom")["estimate"].loc[[*AXIOMS]].to_numpy()


@one_thread()
def coverage(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield how often intervals hold; the judge leans to the first position, more for some users."""
    for users, lean in [(40, 0.5)] if quick else itertools.product((20, 40, 100), (0.0, 0.5)):
        hits = np.zeros(len(AXIOMS))
        for i in range(studies):
            frame = verdicts(users, NAMES, 1, users, round(10 * lean), i, repeats=2, both=True, lean=lean)
            found = coherence(frame, resamples=999, seed=i).set_index("axiom").loc[[*AXIOMS]]
            hits += ((found["ci_low"] <= of_many(lean)) & (of_many(lean) <= found["ci_high"])).to_numpy()
        what = f"coherence of verdicts, {users} users, {'a' if lean else 'no'} lean to the first position"
        yield share_row(what, studies, dict(zip(AXIOMS, (hits / studies).tolist(), strict=True)), COVERS)
