"""Studies of exposure in memory: pairs with weights, verdicts given as numbers, and what is made of them."""

import numpy as np
import pandas as pd

from metaeval.base.records import Scale, ScoreTable
from metaeval.kinds.exposure.data.log_set import KEYS, PREFERENCE, LogSet, preferences_of, units_of
from metaeval.kinds.exposure.kind import EXPOSURE
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.exposure.study import ExposureStudy

CLICKS = Scale(0, 1)


def random_pairs(seed, users=12, each=6):
    """Return pairs of users with few or many, in three bins, with weights of all sizes."""
    draw = np.random.default_rng(seed)
    pairs = [
        (f"u{u:02d}", str(p), f"i{2 * p}", f"i{2 * p + 1}", str(draw.integers(3)))
        for u in range(users)
        for p in range(draw.integers(1, each + 1))
    ]
    frame = pd.DataFrame(pairs, columns=["user_id", "pair", "first", "second", "popularity"])
    units = units_of(frame.assign(weight=np.exp(draw.normal(size=len(frame)))))
    log = pd.concat(
        [frame[["user_id", side]].set_axis(["user_id", "item_id"], axis=1) for side in ("first", "second")]
    )
    log["outcome"] = np.concatenate([clicks := draw.integers(0, 2, len(frame)), 1 - clicks]).astype(float)
    log = log.astype({"user_id": "category", "item_id": "category"})
    return LogSet(units, preferences_of(units, log), log, CLICKS, 1.0)


def scored(
    data,
    verdicts,
    *,
    columns=None,
    signatures=None,
    **study,
):
    """Return a study of verdicts, a number per unit, or the reason that there is none.

    Parameters
    ----------
    columns
        Further columns of the scores, a value per unit.
    """
    frames = []
    for name, given in verdicts.items():
        statuses = ["ok" if not isinstance(v, str) else v for v in given]
        scores = [v if not isinstance(v, str) else np.nan for v in given]
        frame = data.table[[*KEYS]].assign(evaluator=name, aspect=PREFERENCE, score=scores, status=statuses)
        frames.append(frame.assign(**(columns or {})))
    table = ScoreTable(pd.concat(frames), {n: {**(signatures or {})} for n in verdicts}, {})
    options = {"bootstrap": {"resamples": 200}, "tests": {"permutations": 200}, **study}
    specs = {name: f"Recorded('{name}')" for name in verdicts}
    made = ExposureStudy(dataset="none", kind="exposure", **{"evaluators": specs, **options})
    resolved = EXPOSURE.resolve(made, data)
    return ExposureScored(
        EXPOSURE, resolved, data.scale, data.cluster, table, data.ratings.drop(columns="rater"), None, data
    )
