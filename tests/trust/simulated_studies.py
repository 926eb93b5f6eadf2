"""Small studies drawn at random, with a bias planted in a judge or with none."""

from __future__ import annotations

import numpy as np

from metaeval.base.records import Scale
from metaeval.trust.bias.bias import JudgedUnits

FAMILIES = {"j": "ours", "g1": "ours", "g2": "theirs", "g3": "theirs", "g4": None}
GENERATORS = ("g1", "g2", "g3", "g4")


def drawn(
    seed: int,
    *,
    users: int = 30,
    items: int = 3,
    length: float = 0.0,
    family: float = 0.0,
    lenient: float = 0.0,
    noisy: bool = False,
    others: bool = False,
) -> JudgedUnits:
    """Draw a study of 2 aspects and 4 generators, rated on whole numbers from 1 to 5.

    Better texts are longer, generators differ in quality and length, users in how high they rate, and the
    judge in how it takes each of them.

    Parameters
    ----------
    length, family, lenient
        What is planted: points of the judge's score for twice the length, for the generator ``g1``, and for
        everything.
    noisy
        Whether the judge sees the quality that the truth is a noisy rating of, or else the truth itself.
    others
        Whether two other people rated the same units.
    """
    rng = np.random.default_rng(seed)
    n = users * items * 4
    user, generator = np.repeat(np.arange(users), items * 4), np.tile(np.arange(4), users * items)
    quality = rng.normal(0, 0.8, n) + np.array([0.5, 0.2, -0.2, -0.5])[generator]
    doublings = 6.5 + 0.4 * quality + rng.normal(0, 0.5, n) + np.array([0.3, 0, 0, -0.3])[generator]

    def rated(values: np.ndarray) -> np.ndarray:
        return np.clip(np.rint(values), 1, 5)

    truth = [rated(3 + quality + rng.normal(0, 0.5, users)[user] + rng.normal(0, 0.5, n)) for _ in range(2)]
    second = [np.mean([rated(3 + quality + rng.normal(0, 0.6, n)) for _ in range(2)], axis=0) for _ in truth]
    scores = []
    for rating in truth:
        seen = quality + 3 if noisy else rating
        of_user = rng.normal(0, 0.4, users)[user] + rng.normal(0, 0.15, users)[user] * (doublings - 6.5)
        bias = length * (doublings - 6.5) + family * (generator == 0) + lenient
        scores.append(rated(0.9 + 0.7 * seen + of_user + rng.normal(0, 0.6, n) + bias))
    return JudgedUnits(
        ("j",),
        ("x", "y"),
        np.array(scores)[None],
        np.array(truth),
        user,
        users,
        generator,
        GENERATORS,
        2**doublings,
        np.array(second) if others else None,
        Scale(1, 5),
        frozenset({"j"}),
    )
