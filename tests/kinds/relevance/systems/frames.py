"""Labels from one frame per evaluator."""

from __future__ import annotations

import pandas as pd

from metaeval.kinds.relevance.systems.labels import Judgements


def judgements_of(frames, scale):
    """Return the labels of evaluators, the truth first: frames of ``user_id``, ``item_id`` and ``label``."""
    (name, truth), *others = frames.items()
    units = pd.concat([f[["user_id", "item_id"]] for f in frames.values()]).drop_duplicates(ignore_index=True)
    scores = pd.concat([f.assign(evaluator=e) for e, f in [*others, (name, truth)]])
    scores = scores.rename(columns={"label": "score"})
    return Judgements.of_study(units, scores, truth.rename(columns={"label": "rating"}), name, scale)
