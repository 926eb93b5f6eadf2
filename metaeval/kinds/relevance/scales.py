"""Scores on a scale of their own, where labels are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.base.records import Scale, ScoreTable

SCORE_SCALE = "score_scale"
"""What a signature calls the lowest and the highest score, where these are not labels."""


def on_label_scale(scores: ScoreTable, scale: Scale) -> pd.DataFrame:
    """Return the scores; those on a scale of their own, such as sums of criteria, moved to that of labels.

    Lowest goes to lowest, highest to highest, the rest in proportion; nothing is rounded.
    """
    frame = scores.frame
    for name, signature in scores.signatures.items():
        if SCORE_SCALE in signature:
            low, high = signature[SCORE_SCALE]
            moved = scale.min + (frame["score"] - low) * (scale.max - scale.min) / (high - low)
            frame = frame.assign(score=frame["score"].where(frame["evaluator"] != name, moved))
    return frame
