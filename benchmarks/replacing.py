"""How often a person is wrongly said to be replaced; users differ in whom the judge agrees with better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.shares import AT_MOST, row
from metaeval.stats.agreement.alternative import Advantages, Replacing

if TYPE_CHECKING:
    from collections.abc import Iterator

PEOPLE, UNITS, EPSILON = 5, 20, 0.1  # units of a user


def replaced(studies: int, users: int) -> Iterator[dict[str, Any]]:
    """Yield the share of tests that replace a person whose advantage is ε: by cluster, and as published."""
    rng, user = np.random.default_rng(users), np.repeat(np.arange(users), UNITS)
    found = np.zeros(2)
    for _ in range(studies):
        shift = rng.beta(1.5, 1.5, (PEOPLE, users)) * 0.4 - 0.2
        judge, person = (
            (rng.random((PEOPLE, user.size)) < 0.75 + sign * (EPSILON / 2 + shift[:, user])).astype(float)
            for sign in (-1, 1)
        )
        compared = Advantages(judge, person)
        for k, of_unit in enumerate((user, np.arange(user.size))):
            test = Replacing(compared.sums(of_unit, int(of_unit[-1]) + 1), np.full(PEOPLE, EPSILON))
            found[k] += (test.p() <= 0.05).mean()
    tests = ((f"by cluster, {users} users", AT_MOST), (f"as published, {users} users", (0.0, 1.0)))
    for share, (name, target) in zip((found / studies).tolist(), tests, strict=True):
        yield row(f"replacing: {name}, the advantage is ε", studies, {"false_positives": share}, target)


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for users in (40,) if quick else (10, 20, 40, 100):
        yield from replaced(studies, users)
