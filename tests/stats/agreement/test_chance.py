"""Agreement beyond chance: 220 cells that irrCAC prints, textbooks, statsmodels, and weights of clusters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa

from metaeval.stats.agreement.chance import CHANCE, agreement_weights, chance_agreement
from metaeval.stats.agreement.raters import cohen_kappa, krippendorff_alpha
from metaeval.stats.weighted.sums import Clusters


def of(*raters):
    """Return ratings from a row of labels per rater; a dot is no rating."""
    return np.array([[np.nan if c == "." else float("0123456789abcde".index(c)) for c in r] for r in raters])


def crossed(table):
    """Return the ratings that a table of the second rater by the first counts."""
    second, first = (np.repeat(i.ravel(), np.ravel(table)) for i in np.indices(np.shape(table)))
    return np.stack([first, second]).astype(float) + 1


# The data of Gwet (2014), as the R package irrCAC has them; letters are the labels a to e.
DATA = {
    "raw4raters": of("123321412...", "1233224125..", ".33323422513", "12332441251."),
    "raw5observers": of(
        "112.001122.0131",
        "1130000.2110231",
        "203000222100221",
        ".13....0.10022.",
        "2..0001.2....31",
    ),
    "raw_g1g2": of("abccbadab...bb", "abccbbdabe..ba", ".cccbcdbbeaccc", "abccbddabea.bb"),
    "raw_gender": of("aaaaabbbcaaaaab", "aaaababccaaaaba", "abbcaabbcabbcaa", "ccccaabbcccccaa"),
    "ben_gerry": of("aabbdcccedda", "babbbccce.dd"),
    "cont3x3abstractors": crossed([[13, 0, 0], [0, 20, 7], [0, 4, 56]]),
    "cont4x4diagnosis": crossed([[40, 4, 4, 17], [6, 25, 2, 13], [4, 1, 21, 12], [15, 5, 9, 45]]),
}
OWN = np.array(
    [
        [1.00, 0.75, 0.50, 0.25, 0.00],
        [0.00, 1.00, 0.75, 0.50, 0.25],
        [0.25, 0.00, 1.00, 0.75, 0.50],
        [0.50, 0.25, 0.00, 1.00, 0.75],
        [0.75, 0.50, 0.25, 0.00, 1.00],
    ]
)
PRINTED = pd.read_csv(Path(__file__).parent / "chance.csv")


def found_of(ratings, weights="identity", **options):
    statistic = chance_agreement(ratings, weights=weights, **options)
    return dict(zip(CHANCE, statistic.at(np.ones((np.shape(ratings)[1], 1)))[:, 0], strict=True))


@pytest.mark.parametrize("row", PRINTED.to_dict("records"), ids=lambda row: f"{row['data']}-{row['weights']}")
def test_what_irrcac_prints(row) -> None:
    found = found_of(DATA[row["data"]], OWN if row["weights"] == "own" else row["weights"])
    found |= {f"{m}_e": (found["agreement"] - v) / (1 - v) for m, v in found.items()}  # agreement by chance
    for name, printed in row.items():
        if name not in ("data", "weights") and not np.isnan(printed):
            assert found[name] == pytest.approx(printed, abs=0.000501), name


def test_more_printed_digits() -> None:
    found = found_of(DATA["cont3x3abstractors"])
    # The vignette of irrCAC: coefficients of its 100 pregnancies.
    assert found["conger"] == pytest.approx(0.79641, abs=5e-6)
    assert found["gwet"] == pytest.approx(0.84933, abs=5e-6)
    assert found["alpha"] == pytest.approx(0.79726, abs=5e-6)
    assert found["fleiss"] == pytest.approx(0.79624, abs=5e-6)
    assert found["brennan_prediger"] == pytest.approx(0.835, abs=5e-6)


@pytest.mark.parametrize(
    ("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_as_krippendorff_prints_it(level, printed) -> None:
    assert krippendorff_alpha(DATA["raw4raters"], level) == pytest.approx(printed, abs=0.0005)


def test_the_example_of_fleiss() -> None:
    # Ten subjects, 14 raters, five labels: P = .378, P_e = .213, kappa = .210.
    counts = np.array(
        [
            [0, 0, 0, 0, 14],
            [0, 2, 6, 4, 2],
            [0, 0, 3, 5, 6],
            [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0],
            [3, 2, 6, 3, 0],
            [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0],
            [0, 2, 2, 3, 7],
        ]
    )
    ratings = np.stack([np.repeat(np.arange(5.0), row) for row in counts], axis=1)
    found = found_of(ratings)
    assert round(found["agreement"], 3) == 0.378
    assert round(found["fleiss"], 3) == 0.210
    assert found["fleiss"] == pytest.approx(fleiss_kappa(counts))
    assert found["brennan_prediger"] == pytest.approx(fleiss_kappa(counts, "randolph"))


def test_printed_weights() -> None:
    printed = {
        "linear": (0.5, 0.0, 0.5),
        "ordinal": (0.667, 0.0, 0.667),
        "quadratic": (0.75, 0.0, 0.75),
        "radical": (0.293, 0.0, 0.293),
        "ratio": (0.556, 0.0, 0.84),
        "bipolar": (0.667, 0.0, 0.667),
        "circular": (0.0, 0.0, 0.0),
        "identity": (0.0, 0.0, 0.0),
    }
    for name, (one_two, one_three, two_three) in printed.items():
        w = agreement_weights(name, [1, 2, 3])
        assert np.array_equal(w, w.T)
        assert (np.diagonal(w) == 1).all()
        assert [w[0, 1], w[0, 2], w[1, 2]] == pytest.approx([one_two, one_three, two_three], abs=0.0005)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=30),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_weights_stand_for_repeated_units_and_two_raters_have_cohens_kappa(rows, weights) -> None:
    a, b, cluster = (np.array(v) for v in zip(*rows, strict=True))
    times = np.array(weights)[cluster]
    both = np.stack([a, b]).astype(float)
    labels = [1, 2, 3, 4]
    statistic = chance_agreement(both, labels, "linear", Clusters(cluster, 4))
    found = statistic.at(np.array(weights, dtype=float)[:, None])[:, 0]
    again = np.repeat(both, times, axis=1)
    if not again.shape[1]:
        assert np.isnan(found).all()
        return
    expected = found_of(again, "linear", labels=labels)
    assert found == pytest.approx(list(expected.values()), nan_ok=True)
    kappa = cohen_kappa(*again, "linear", labels=labels)
    assert expected["conger"] == pytest.approx(kappa, nan_ok=True)
    nominal = found_of(again, labels=labels)
    assert nominal["alpha"] == pytest.approx(krippendorff_alpha(again), nan_ok=True)


@pytest.mark.parametrize(
    ("ratings", "options", "said"),
    [
        ([[1.0, 2.0]], {"labels": [1, 3]}, "among the labels"),
        ([[1.0, 2.0]], {"weights": "square"}, "one of identity"),
        ([[1.0, 2.0]], {"weights": [[1, 0], [0, 0.5]]}, "1 on the diagonal"),
        ([[-1.0, 2.0]], {"weights": "ratio"}, "not negative"),
    ],
)
def test_what_is_wrong_is_said(ratings, options, said) -> None:
    with pytest.raises(ValueError, match=said):
        chance_agreement(ratings, **options)
