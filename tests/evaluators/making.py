"""Small data sets, made in place."""

from __future__ import annotations

import pandas as pd

from metaeval.base.records import Scale
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

ASPECTS = {"clear": "It is clear.", "true": "It is true."}


def make_set(explanations, *references, ratings=(), scores=None, scale=None, users=True, aspects=None):
    """One unit an explanation; ``ratings`` are (position, rater, aspect, rating)."""
    count = len(explanations)
    keys = pd.DataFrame(
        {
            "user_id": [f"u{i % 3}" for i in range(count)],
            "item_id": [f"i{i}" for i in range(count)],
            "generator": ["gen"] * count,
        }
    )
    if not users:
        keys = keys.drop(columns="user_id")
    frame = keys.assign(explanation=explanations)
    for number, texts in enumerate(references, start=1):
        frame["reference" if number == 1 else f"reference_{number}"] = texts
    return ExplanationSet(
        frame,
        _long(keys, ratings, ["rater", "aspect", "rating"]),
        aspects or ASPECTS,
        scale or Scale(1, 5),
        scores=None if scores is None else _long(keys, scores, ["evaluator", "aspect", "score"]),
        name="made",
    )


def _long(keys, rows, columns):
    values = pd.DataFrame([r[1:] for r in rows], columns=columns)
    values[columns[2]] = values[columns[2]].astype(float)
    return pd.concat([keys.take([r[0] for r in rows]).reset_index(drop=True), values], axis=1)


def scores_of(table, evaluator, aspect="clear"):
    """Item → (score, status)."""
    rows = table.frame[(table.frame["evaluator"] == evaluator) & (table.frame["aspect"] == aspect)]
    return {i: (s, t) for i, s, t in zip(rows["item_id"], rows["score"], rows["status"], strict=True)}
