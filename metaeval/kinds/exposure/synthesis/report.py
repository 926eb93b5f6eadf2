"""What is reported of synthetic interactions: distances from real ones, and the exposure curve."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import jensenshannon

from metaeval.base.records import FIRST
from metaeval.base.simulation import Simulation
from metaeval.engine.sheet import Column, Sheet, columns
from metaeval.kinds.exposure.data.log_set import LogSet
from metaeval.kinds.exposure.synthesis.interactions import incidence, probabilities, transition_counts
from metaeval.kinds.exposure.synthesis.synthesizer import Synthesis
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.draws import generator

_USERS = 1_000  # sequences that are compared with all users at a time
TAIL = 2
"""Popularity bins that are the tail: the last ones."""


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
    synthetic = transition_counts(*made.first_and_second(), known.has)
    half = (generator(0, "halves").permutation(len(known.count)) % 2 == 0)[known.user]
    halves = known.transitions(half), known.transitions(~half)
    return transition_distance(known.transitions(), synthetic), transition_distance(*halves)


class Nearest(NamedTuple):
    """The other real user whose items are most like those of a sequence, shape (sequences,) each."""

    cosine: Floats
    contained: NDArray[np.bool_]
    """Whether some other user has all items of the sequence."""
    same: NDArray[np.bool_]
    """Whether some other user has these items and no more."""


def nearest_users(sequences: csr_array[Any, Any], users: Ints, taken: csr_array[Any, Any]) -> Nearest:
    """Find the nearest real user of each sequence of items, its own user left out.

    ``sequences`` and ``taken`` say which items a sequence and a user have, shape (sequences, items) and
    (users, items).
    """
    size, length = (np.asarray(matrix.sum(axis=1)).ravel() for matrix in (taken, sequences))
    parts = []
    for at in range(0, len(users), _USERS):
        part = slice(at, at + _USERS)
        shared = (sequences[part] @ taken.T).toarray()
        shared[np.arange(len(shared)), users[part]] = 0.0
        own = length[part, None]
        cosine = shared / np.sqrt(np.maximum(own * size, 1.0))
        whole = shared == own
        parts.append((cosine.max(axis=1), whole.any(axis=1), (whole & (size == own)).any(axis=1)))
    return Nearest(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def nearest_of(made: Synthesis) -> tuple[Nearest, Nearest]:
    """Return the nearest real users of synthetic sequences, and of as many last real items of each user."""
    known, shape = made.known, (len(made.known.count), len(made.known.has))
    users = np.unique(made.user)
    last = known.back <= np.bincount(made.user, minlength=shape[0])[known.user]
    pairs = ((made.user, made.item), (known.user[last], known.item[last]))
    synthetic, real = (nearest_users(incidence(*p, shape)[users], users, known.taken) for p in pairs)
    return synthetic, real


_NOTES = (
    (
        "Accepted: the share of new candidates that passed the constraints. Filled: the share of wanted "
        "steps that got an item. Tail: the two least popular bins."
    ),
    (
        "Transitions: the distance between the genres that follow a genre and those of the real "
        "interactions, the mean over genres; for comparison, the distance between two halves of the real "
        "users."
    ),
    (
        "Nearest: the cosine between a user's sequence and the most similar other real user; for "
        "comparison, the same for as many last real items of the user. Nearer: sequences with a higher "
        "cosine than the real items. Contained: one other user has all items of the sequence; the same: and "
        "no others."
    ),
    "Synthetic interactions are not behaviour of people. They never enter a truth.",
)


def shares_by_bin(items: Ints, bins: Ints) -> Floats:
    """Return the share of each popularity bin among rows of items."""
    count = np.bincount(bins[items], minlength=int(bins.max()) + 1)
    return np.asarray(count / max(1, count.sum()))


def tail_share(shares: Floats) -> float:
    """Return the share of the least popular bins."""
    return float(shares[-TAIL:].sum())


def curve_frame(made: Synthesis) -> pd.DataFrame:
    """Return the exposure curve: the share of each popularity bin in log, target and synthetic rows."""
    log = made.known.log.item
    shares = {
        "log": shares_by_bin(log, made.bins),
        "target": made.target,
        "synthetic": shares_by_bin(made.item, made.bins),
        "both": shares_by_bin(np.concatenate([log, made.item]), made.bins),
    }
    return pd.DataFrame({"bin": np.arange(len(made.target)), **shares})


def synthesis_frame(made: Synthesis, *pairs: LogSet) -> pd.DataFrame:
    """Return what is measured of synthetic interactions, and what it is to be compared with: a row each.

    ``pairs`` are the log with its own pairs, and with those that follow the synthetic exposure.
    """
    distance, halves = distances_of(made)
    nearest, real = nearest_of(made)
    nearer = float(np.mean(nearest.cosine > real.cosine)) if len(nearest.cosine) else np.nan
    names, items = "real items", made.known.log.items
    judged = [
        tail_share(shares_by_bin(items.get_indexer(pd.Index(d.table[FIRST])), made.bins)) for d in pairs
    ]
    rows: list[tuple[str, float, float, str]] = [
        ("interactions", len(made.item), made.wanted, "wanted"),
        ("accepted", made.accepted, np.nan, ""),
        ("filled", len(made.item) / max(1, made.wanted), np.nan, ""),
        ("tail", tail_share(shares_by_bin(made.item, made.bins)), tail_share(made.target), "target"),
        *([("tail of the pairs judged", judged[1], judged[0], "before")] if judged else []),
        ("passed by transition", made.by_transition.mean(), np.nan, ""),
        ("passed by similarity", made.by_similarity.mean(), np.nan, ""),
        ("transitions: total variation", distance.total_variation, halves.total_variation, "two halves"),
        ("transitions: Jensen-Shannon", distance.jensen_shannon, halves.jensen_shannon, "two halves"),
        ("nearest real user: median", np.median(nearest.cosine), np.median(real.cosine), names),
        ("nearer than real items", nearer, 0.5, "no difference"),
        ("contained in a real user", nearest.contained.mean(), real.contained.mean(), names),
        ("the same as a real user", nearest.same.mean(), real.same.mean(), names),
    ]
    return pd.DataFrame(rows, columns=["measure", "value", "against", "of"])


def synthesis_sheets(measures: pd.DataFrame, curve: pd.DataFrame, *, simulated: bool) -> list[Sheet]:
    """Lay out `synthesis_frame` and `curve_frame`."""
    shown = (
        Column("measure", "Measure"),
        *columns("number", value="Value", against="Against"),
        Column("of", "of"),
    )
    shares = columns("share", log="Log", target="Target", synthetic="Synthetic", both="Both")
    note = (
        "Bin 0 has the items with the most rows. Both: the rows of the log and the synthetic ones together."
    )
    bins, unreal = Column("bin", "Popularity bin", "counts"), Simulation(simulated)
    return [
        Sheet("synthesis", "Synthetic interactions", measures, shown, _NOTES, unreal),
        Sheet("exposure_curve", "Exposure by popularity", curve, (bins, *shares), (note,), unreal),
    ]
