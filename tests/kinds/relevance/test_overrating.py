"""What is rated too high or too low, label by label."""

import pandas as pd
import pytest

from metaeval.base.records import Scale
from metaeval.base.simulation import REAL
from metaeval.engine.alignment.policy import Policy, prepare
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.relevance.overrating import overrating

POLICY = Policy.of(["dataset"], ["kendall"], None, "skip", "common")


@pytest.mark.parametrize("options", [None, Bootstrap(resamples=50)])
def test_differences_are_counted_by_label(options):
    units = pd.DataFrame({"user_id": list("aabb"), "item_id": list("xyxy"), "aspect": "relevance"})
    truth = units.assign(rating=[0.0, 2.0, 0.0, 2.0])
    good = units.assign(evaluator="good", score=[1.0, 2.0, 0.0, 1.0])
    off = units.assign(evaluator="off", score=[0.1, 0.2, 7.0, 0.3])
    data = prepare(pd.concat([good, off]), truth, POLICY)
    sheet = overrating(data, Scale(0, 3), options, REAL)
    rows = sheet.frame.set_index(["evaluator", "label"])[["bias", "over", "under", "n_units"]]
    assert rows.to_dict("index") == {
        ("good", "0"): {"bias": 0.5, "over": 0.5, "under": 0.0, "n_units": 2},
        ("good", "2"): {"bias": -0.5, "over": 0.0, "under": 0.5, "n_units": 2},
    }
    assert overrating(prepare(off, truth, POLICY), Scale(0, 3), options, REAL) is None
