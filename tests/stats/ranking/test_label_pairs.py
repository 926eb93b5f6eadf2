"""Pairs of labels, against a loop over pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.ranking.label_pairs import label_pairs

UNITS = st.lists(
    st.tuples(st.sampled_from([-1.5, 0.0, 1.0, 2.0, 1e9]), st.integers(0, 3), st.integers(0, 2)), max_size=30
)


def naive(units):
    found = {(high, low): np.zeros((3, 3)) for high in range(4) for low in range(high)}
    for i, (score, label, group) in enumerate(units):
        for other_score, other_label, other_group in units[:i]:
            if group == other_group and label != other_label:
                (_, high_score), (_, low_score) = sorted(
                    [(label, score), (other_label, other_score)], reverse=True
                )
                counts = found[max(label, other_label), min(label, other_label)]
                counts[:, group] += [high_score > low_score, high_score == low_score, 1]
    return found


@pytest.mark.parametrize("whole", [True, False])
@given(units=UNITS)
def test_counts_are_those_of_a_loop_over_pairs(units, whole):
    if whole:  # scores that are labels themselves are counted another way
        units = [(float(round(score) % 5), label, group) for score, label, group in units]
    scores, labels, group = (np.array([u[i] for u in units]) for i in range(3))
    found = label_pairs(scores.astype(float), labels.astype(int), 4, group.astype(int), 3)
    counted = {(p.high, p.low): np.stack([p.agree, p.tie, p.pairs]) for p in found}
    expected = naive(units)
    assert counted.keys() == expected.keys()
    for pair, counts in expected.items():
        np.testing.assert_array_equal(counted[pair], counts)
