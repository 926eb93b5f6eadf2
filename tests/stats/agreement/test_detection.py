"""Sensitivity, precision, ROC area and the like: printed examples, and scikit-learn on the units weighted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from metaeval.stats.agreement.detection import DETECTIONS, RocArea, detection
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.weighted.sums import Clusters


def one_each(n):
    return Clusters(np.arange(n), n)


def spread(counts):
    """Return a value for each unit, from how many units have each."""
    return np.repeat(np.arange(len(counts)), counts)


# Altman & Bland 1994: liver scans of 344 people (table 1).
PRINTED = {
    # hits, false alarms, misses, correct rejections
    (231, 32, 27, 54): {
        "sensitivity": "0.90",
        "specificity": "0.63",
        "precision": "0.88",
        "prevalence": "0.75",
    },
    # Wikipedia, "Sensitivity and specificity": faecal occult blood screen of 2,030 people.
    (20, 180, 10, 1820): {
        "sensitivity": "0.667",
        "specificity": "0.910",
        "precision": "0.10",
        "prevalence": "0.0148",
        "accuracy": "0.9064",
        "f1": "0.174",
        "balanced": "0.788",
    },
}


@pytest.mark.parametrize("table", PRINTED)
def test_printed_tables(table) -> None:
    said, true = (np.repeat(v, table) for v in ([1, 1, 0, 0], [1, 0, 1, 0]))
    found = dict(
        zip(DETECTIONS, detection(said, true, one_each(len(said))).at(np.ones((len(said), 1))), strict=True)
    )
    for name, printed in PRINTED[table].items():
        digits = len(printed.partition(".")[2])
        assert found[name][0] == pytest.approx(float(printed), abs=0.5 * 10**-digits + 1e-9), name


def test_the_area_of_hanley_and_mcneil() -> None:
    normal, abnormal = spread([33, 6, 6, 11, 2]), spread([3, 2, 2, 11, 33])  # their table I
    scores, true = np.concatenate([normal, abnormal]), np.repeat([0, 1], [58, 51])
    area = RocArea.of(scores, true, one_each(109))
    assert round(area.at(np.ones((109, 1)))[0, 0], 3) == 0.893
    found = bootstrap(area, Resampler(109, 2000), bounds=(0.0, 1.0))
    assert (found.high[0] - found.low[0]) / 3.92 == pytest.approx(0.032, abs=0.004)  # their standard error


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 3)), min_size=1, max_size=30),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_weights_stand_for_repeated_units(rows, weights) -> None:
    scores, true, cluster = (np.array(v) for v in zip(*rows, strict=True))
    times, clusters = np.array(weights)[cluster], Clusters(cluster, 4)
    column = np.array(weights, dtype=float)[:, None]
    x, y = np.repeat(scores, times), np.repeat(true, times)
    area = RocArea.of(scores, true, clusters).at(column)[0, 0]
    both = 0 < y.sum() < len(y)
    assert area == pytest.approx(metrics.roc_auc_score(y, x) if both else np.nan, nan_ok=True)
    found = dict(zip(DETECTIONS, detection(scores >= 2, true, clusters).at(column)[:, 0], strict=True))
    if not both:
        assert np.isnan(found["balanced"])
        return
    said = x >= 2
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, said))
    assert found["balanced"] == pytest.approx(metrics.balanced_accuracy_score(y, said))
    assert found["sensitivity"] == pytest.approx(metrics.recall_score(y, said))
    assert found["specificity"] == pytest.approx(metrics.recall_score(~y, ~said))
    assert found["f1"] == pytest.approx(metrics.f1_score(y, said))
    if said.any():
        assert found["precision"] == pytest.approx(metrics.precision_score(y, said))
    assert found["prevalence"] == pytest.approx(y.mean())
