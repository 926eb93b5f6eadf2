"""Scores of judges of which it is known who is the better."""

import numpy as np
import pandas as pd


def judges(seed=0, users=30, items=3, generators=6, names=("good", "twin", "weak", "shuffled", "Random")):
    """Return scores and truth of two aspects.

    ``twin`` differs from ``good`` in its noise only, ``weak`` has more of it, ``shuffled`` gives the scores
    of ``good`` to other units, and ``Random`` throws dice.
    """
    rng = np.random.default_rng(seed)
    user, item, generator = (
        a.ravel() for a in np.meshgrid(*map(np.arange, (users, items, generators)), indexing="ij")
    )
    n = len(user)
    unit = pd.DataFrame(
        {"user_id": [f"u{u}" for u in user], "item_id": item, "generator": [f"g{g}" for g in generator]}
    )

    def likert(values):
        return np.clip(np.rint(values), 1, 5)

    truth, scores = [], []
    for aspect in ("clear", "true"):
        signal = rng.normal(size=n)
        rating = likert(3 + 0.5 * rng.normal(size=users)[user] + signal + 0.5 * rng.normal(size=n))
        good = likert(3 + signal + 0.7 * rng.normal(size=n))
        made = {
            "good": good,
            "twin": likert(3 + signal + 0.7 * rng.normal(size=n)),
            "weak": likert(3 + signal + 2.5 * rng.normal(size=n)),
            "shuffled": rng.permutation(good),
            "Random": rng.integers(1, 6, n).astype(float),
        }
        truth.append(unit.assign(aspect=aspect, rating=rating))
        scores += [unit.assign(evaluator=e, aspect=aspect, score=made[e]) for e in names]
    return pd.concat(scores, ignore_index=True), pd.concat(truth, ignore_index=True)
