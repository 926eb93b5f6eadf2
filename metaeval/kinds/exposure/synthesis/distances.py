"""How far synthetic interactions are from real ones: transitions of genres, and nearest real users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.spatial.distance import jensenshannon

from metaeval.kinds.exposure.synthesis.constraints import probabilities, steps_of, transition_counts
from metaeval.kinds.exposure.synthesis.interactions import incidence
from metaeval.stats.resampling.draws import generator

if TYPE_CHECKING:
    from typing import Any

    from scipy.sparse import csr_array

    from metaeval.kinds.exposure.synthesis.synthesizer import Synthesis
    from metaeval.stats.coefficients.tables import Floats, Ints

_USERS = 1_000  # sequences that are compared with all users at a time


class Distance(NamedTuple):
    """How far two transition matrices are apart: the mean over genres, as frequent as in the first one."""

    total_variation: float
    jensen_shannon: float
    """The divergence, in bits."""


def transition_distance(real: Floats, other: Floats) -> Distance:
    """Compare transitions, given as counts; genres that nothing follows in either are left out."""
    mass = real.sum(axis=1) * (other.sum(axis=1) > 0)
    use = mass > 0
    if not use.any():
        return Distance(np.nan, np.nan)
    p, q, weight = probabilities(real)[use], probabilities(other)[use], mass[use] / mass.sum()
    divergence = np.nan_to_num(jensenshannon(p, q, base=2, axis=1)) ** 2  # NaN: rounding below 0
    return Distance(float(weight @ np.abs(p - q).sum(axis=1) / 2), float(weight @ divergence))


def distances_of(made: Synthesis) -> tuple[Distance, Distance]:
    """Return the distance of synthetic transitions from the real ones, and that of two halves of the users.

    Halves are drawn by the names of users.
    """
    known = made.known
    real = transition_counts(*steps_of(known.user, known.item), known.has)
    synthetic = transition_counts(*made.first_and_second(), known.has)
    half = generator(0, "halves").permutation(len(known.count)) % 2 == 0
    parts = [
        transition_counts(*steps_of(known.user[own], known.item[own]), known.has)
        for own in (half[known.user], ~half[known.user])
    ]
    return transition_distance(real, synthetic), transition_distance(*parts)


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The other real user whose items are most like those of a sequence, shape (sequences,) each."""

    user: Ints
    cosine: Floats
    contained: Ints
    """Whether some other user has all items of the sequence."""
    same: Ints
    """Whether some other user has these items and no more."""


def nearest_users(sequences: csr_array[Any, Any], users: Ints, taken: csr_array[Any, Any]) -> Nearest:
    """Find the nearest real user of each sequence of items, its own user left out.

    Parameters
    ----------
    sequences
        Whether a sequence has an item, shape (sequences, items).
    users
        Whose sequences they are.
    taken
        Whether a user took an item, shape (users, items).
    """
    size, length = (np.asarray(of.sum(axis=1)).ravel() for of in (taken, sequences))
    found = []
    for at in range(0, len(users), _USERS):
        part = slice(at, at + _USERS)
        shared = (sequences[part] @ taken.T).toarray()
        shared[np.arange(len(shared)), users[part]] = 0.0
        own = length[part, None]
        cosine = shared / np.sqrt(np.maximum(own * size, 1.0))
        whole = shared == own
        found.append((cosine.max(axis=1), whole.any(axis=1), (whole & (size == own)).any(axis=1)))
    cosine, contained, same = (np.concatenate(column) for column in zip(*found, strict=True))
    return Nearest(users, cosine, contained.astype(np.int64), same.astype(np.int64))


def nearest_of(made: Synthesis) -> tuple[Nearest, Nearest]:
    """Return the nearest real users of synthetic sequences, and of as many last real items of each user."""
    known, shape = made.known, (len(made.known.count), len(made.known.has))
    users = np.unique(made.user)
    back = np.repeat(np.cumsum(known.count), known.count) - np.arange(len(known.rows))
    last = back <= np.bincount(made.user, minlength=shape[0])[known.user]
    pairs = ((made.user, made.item), (known.user[last], known.item[last]))
    synthetic, real = (nearest_users(incidence(*p, shape)[users], users, known.taken) for p in pairs)
    return synthetic, real
