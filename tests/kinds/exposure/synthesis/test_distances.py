"""Distances of transitions are those of their definitions; copied users are found."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metaeval.kinds.exposure.data.simulated import simulate
from metaeval.kinds.exposure.synthesis.distances import nearest_of, nearest_users, transition_distance
from metaeval.kinds.exposure.synthesis.interactions import Interactions, incidence
from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
from metaeval.kinds.exposure.synthesis.report import synthesis_frame
from metaeval.kinds.exposure.synthesis.synthesizer import Synthesis, synthesize

KNOWN = Interactions.of_log(simulate(users=40, items=120, seed=6).data)
counts = arrays(float, (3, 3), elements=st.integers(0, 9).map(float))


@given(counts, counts)
def test_distances_are_the_means_of_their_definitions(real, other) -> None:
    def bits(p):
        return sum(x * np.log2(x) for x in p if x > 0)

    total, divergence, mass = 0.0, 0.0, 0.0
    for one, two in zip(real, other, strict=True):
        if one.sum() and two.sum():
            p, q = one / one.sum(), two / two.sum()
            mass += one.sum()
            total += one.sum() * max(abs(p[list(s)].sum() - q[list(s)].sum()) for s in _subsets())
            divergence += one.sum() * ((bits(p) + bits(q)) / 2 - bits((p + q) / 2))
    found = transition_distance(real, other)
    if mass:
        assert found == pytest.approx((total / mass, divergence / mass), abs=1e-9)
    else:
        assert np.isnan(found).all()


def _subsets():
    return [[], [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]


@given(arrays(bool, (5, 6)), arrays(bool, (5, 6)))
def test_the_nearest_user_is_another_one(sequences, taken) -> None:
    sequences[:, 0] = taken[:, 0] = True  # none is empty
    rows = [incidence(*np.nonzero(of), of.shape) for of in (sequences, taken)]
    found = nearest_users(rows[0], np.arange(5), rows[1])
    for user, own in enumerate(sequences):
        others = [t for other, t in enumerate(taken) if other != user]
        cosines = [(own & t).sum() / np.sqrt(own.sum() * t.sum()) for t in others]
        assert found.cosine[user] == pytest.approx(max(cosines))
        assert found.contained[user] == any(not (own & ~t).any() for t in others)
        assert found.same[user] == any((own == t).all() for t in others)


def copied(made: Synthesis) -> Synthesis:
    """Give each user the real items of the next one, as a synthesizer that leaks would."""
    users = np.flatnonzero(KNOWN.count)
    pairs = [
        (user, item) for user in users for item in KNOWN.item[KNOWN.user == np.roll(users, 1)[users == user]]
    ]
    user, item = np.array(pairs).T
    step = np.concatenate([np.arange(1, n + 1) for n in np.bincount(user) if n])
    none = np.zeros(len(user), dtype=bool)
    return replace(
        made, user=user, item=item, step=step, anchor=none - 1, by_transition=none, by_similarity=none
    )


def test_a_synthesizer_that_copies_users_is_found_out() -> None:
    made = synthesize(KNOWN, SynthesisOptions())
    honest, leak = (synthesis_frame(of).set_index("measure")["value"] for of in (made, copied(made)))
    assert honest["the same as a real user"] == 0
    assert honest["nearer than real items"] < 0.3
    assert leak["the same as a real user"] == leak["contained in a real user"] == 1
    assert leak["nearer than real items"] > 0.9
    assert nearest_of(copied(made))[0].cosine == pytest.approx(1)
