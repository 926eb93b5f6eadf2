"""Agreement of labels under weights, against agreement of the units that the weights stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from metaeval.stats.agreement.raters import KAPPAS, LabelAgreement, cohen_kappa, krippendorff_alpha
from metaeval.stats.resampling.weights import Resamples
from metaeval.stats.weighted.sums import Clusters


def raters(n=240, k=4, n_clusters=12, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, k, n)
    b = np.clip(a + rng.integers(-1, 2, n), 0, k - 1)
    return a, b, rng.integers(0, n_clusters, n)


def by_name(agreement, weights):
    cuts = range(1, agreement.k)
    names = (*KAPPAS, "alpha", *(f"cut {c}" for c in cuts), *(f"alpha {c}" for c in cuts))
    return dict(zip(names, agreement.at(weights), strict=True))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
)
def test_weights_stand_for_repeated_units(rows, weights) -> None:
    a, b, cluster = (np.array(v) for v in zip(*rows, strict=True))
    found = by_name(LabelAgreement.of(a, b, 4, Clusters(cluster, 5)), np.array(weights, dtype=float)[:, None])
    times = np.array(weights)[cluster]
    x, y = np.repeat(a, times), np.repeat(b, times)
    labels = np.arange(4)
    expected = {
        "kappa": cohen_kappa(x, y, labels=labels),
        "linear": cohen_kappa(x, y, "linear", labels=labels),
        "quadratic": cohen_kappa(x, y, "quadratic", labels=labels),
        "alpha": krippendorff_alpha(np.stack([x, y]), "ordinal"),
        **{f"cut {c}": cohen_kappa(x >= c, y >= c) for c in (1, 2, 3)},
        **{f"alpha {c}": krippendorff_alpha(np.stack([x >= c, y >= c]).astype(float)) for c in (1, 2, 3)},
    }
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name][0] == pytest.approx(value, abs=1e-9, nan_ok=True), name


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_bootstrap_replicates_are_those_of_scikit_learn_on_resampled_clusters(seed, weights) -> None:
    a, b, cluster = raters(seed=seed)
    agreement = LabelAgreement.of(a, b, 4, Clusters(cluster, 12))
    drawn = next(Resamples(12, 40, seed).blocks())
    naive = []
    for column in drawn.T:
        rows = np.concatenate([np.tile(np.flatnonzero(cluster == c), int(n)) for c, n in enumerate(column)])
        naive.append(cohen_kappa_score(a[rows], b[rows], labels=[0, 1, 2, 3], weights=weights))
    assert by_name(agreement, drawn)[weights or "kappa"] == pytest.approx(naive, abs=1e-12)


def test_who_never_gives_the_highest_label_has_kappa_zero_at_its_cut() -> None:
    a, _, cluster = raters()
    found = by_name(LabelAgreement.of(a, np.minimum(a, 2), 4, Clusters(cluster, 12)), np.ones((12, 1)))
    assert found["cut 3"][0] == 0.0
    assert found["cut 2"][0] == found["cut 1"][0] == 1.0


def test_one_label_throughout_is_undefined() -> None:
    same = np.zeros(6, dtype=int)
    found = LabelAgreement.of(same, same, 3, Clusters(same, 1)).at(np.ones((1, 1)))
    assert np.isnan(found).all()
