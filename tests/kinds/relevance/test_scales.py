from __future__ import annotations

import numpy as np
import pandas as pd

from metaeval.base.records import Scale, ScoreTable
from metaeval.kinds.relevance.scales import on_label_scale


def test_sums_are_moved_to_the_scale_of_the_labels_and_all_else_stays() -> None:
    frame = pd.DataFrame({"evaluator": ["sum"] * 4 + ["label"] * 2, "score": [11, 33, 55, np.nan, 2, 5]})
    moved = on_label_scale(ScoreTable(frame, {"sum": {"score_scale": [11, 55]}, "label": {}}), Scale(1, 5))
    assert moved["score"].fillna(-1).tolist() == [1, 3, 5, -1, 2, 5]
