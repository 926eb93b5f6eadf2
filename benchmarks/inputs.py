"""Inputs of a stated size, simulated so that anyone can run the benchmark."""

from __future__ import annotations

import numpy as np
import pandas as pd

GENERATORS, ITEMS_OF_USER = 8, 8
ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction")


def keys(n_units: int) -> dict[str, pd.Series]:
    """Return key columns of users with 8 items each and 8 generators per item, as strings."""
    index = np.arange(n_units)
    user, item = index // (GENERATORS * ITEMS_OF_USER), index // GENERATORS
    name = {"user_id": user, "item_id": (item * 7919) % 1009, "generator": index % GENERATORS}
    return {column: column[0] + pd.Series(codes).astype("str") for column, codes in name.items()}


def frames(
    n_units: int, evaluators: int = 1, aspects: int = 1, *, continuous: bool = False, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return scores (sorted by user) and truth (sorted by generator) as plain frames."""
    rng = np.random.default_rng(seed)
    key = keys(n_units)
    truths, scores = [], []
    for aspect in ASPECTS[:aspects]:
        rating = rng.integers(1, 6, n_units)
        truths.append(pd.DataFrame({**key, "aspect": aspect, "rating": rating}))
        for e in range(evaluators):
            noisy = rating + rng.normal(scale=1.5, size=n_units)
            # Half of several evaluators are Likert, half continuous; a single one is as asked for.
            whole = not continuous if evaluators == 1 else e % 2 == 0
            score = np.clip(np.rint(noisy), 1, 5) if whole else noisy
            scores.append(pd.DataFrame({**key, "evaluator": f"E{e}", "aspect": aspect, "score": score}))
    truth = pd.concat(truths, ignore_index=True)
    return pd.concat(scores, ignore_index=True), truth.sample(frac=1, random_state=seed).reset_index(
        drop=True
    )
