"""Agreement under popularity exposure, on simulated logs whose truth is known.

Items come in five levels of popularity, the popular ones shown more often by far. Three evaluators name the
better item with a probability that depends on the level: higher for popular items, the same for all, or
higher for the tail. Their truth is the mean over levels, as all have as many items. Pairs are matched on
popularity and weighted by the propensities of the log, as `metaeval data pairs` does.

Unweighted agreement misses the truth by about 0.08, the weighted one by less than 0.01: rare items more often
find no partner with another outcome, which no propensity says.

``python -m benchmarks.exposure_bias`` draws docs/images/exposure_bias.svg.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.base.records import ScoreTable
from metaeval.base.simulation import Simulation
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.exposure.charts import BIAS, WEIGHTINGS, bias_figure
from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.data.log_set import KEYS, PREFERENCE
from metaeval.kinds.exposure.kind import EXPOSURE
from metaeval.kinds.exposure.measures import ALL, IPS, NONE
from metaeval.kinds.exposure.pairs import matched_pairs
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.exposure.study import ExposureStudy, PropensityOptions

LOGS, USERS, ITEMS = 12, 100, 300
PROPENSITIES = np.array([0.75, 0.5, 0.33, 0.22, 0.15])
"""Of each level of popularity."""
RIGHT = {
    "better on popular items": np.array([0.9, 0.8, 0.7, 0.6, 0.5]),
    "as good on all items": np.full(5, 0.7),
    "better on the tail": np.array([0.5, 0.6, 0.7, 0.8, 0.9]),
}
"""Evaluator → with which probability it is right, by level."""
ABOUT = {"name": "exposure-bias", "simulated": True, "outcome": {"min": 0, "max": 1}, "exposure": "pair"}


def agreement(seed: int) -> dict[str, dict[str, float]]:
    """Return weighting → evaluator → PairAUC on one simulated log."""
    draw = np.random.default_rng(seed)
    level = np.repeat(np.arange(len(PROPENSITIES)), ITEMS)
    p = np.broadcast_to(PROPENSITIES[level], (USERS, len(level)))
    user, item = np.nonzero(draw.random(p.shape) < p)
    log = pd.DataFrame(
        {
            "user_id": np.char.add("u", user.astype(str)),
            "item_id": np.char.add("i", item.astype(str)),
            "outcome": draw.integers(0, 2, len(user)),
            "propensity": p[user, item],
        }
    )
    given = propensities_of(log_of(ABOUT, {"log": log}), PropensityOptions())
    pairs = matched_pairs(given, match=["popularity"], per_user=2 * ITEMS, seed=seed, floor=1e-6).frame
    data = log_of(ABOUT, {"log": log, "pairs": pairs})
    truth = data.ratings["rating"].to_numpy()
    of_pair = level[data.table["first"].str[1:].astype(int)]
    frames = [
        data.table[[*KEYS]].assign(
            evaluator=name,
            aspect=PREFERENCE,
            score=np.where(draw.random(len(truth)) < right[of_pair], truth, -truth),
            status="ok",
        )
        for name, right in RIGHT.items()
    ]
    table = ScoreTable(pd.concat(frames), {name: {} for name in RIGHT}, {})
    study = ExposureStudy(kind="exposure", dataset="-", evaluators=["Random()"], bootstrap=None)
    ratings = data.ratings.drop(columns="rater")
    board = ExposureScored(
        EXPOSURE, study, data.scale, data.cluster, table, ratings, None, data
    ).cells.board()
    cells = {name: {"bin": ALL, "weighting": w, "measure": "PairAUC"} for name, w in _WEIGHTS.items()}
    found = {name: board.of(at)[["evaluator", "estimate"]].to_numpy().tolist() for name, at in cells.items()}
    return {name: {str(evaluator): float(auc) for evaluator, auc in of} for name, of in found.items()}


_WEIGHTS = dict(zip(WEIGHTINGS, (IPS, NONE), strict=True))


def bias(logs: int = LOGS) -> pd.DataFrame:
    """Return a row per evaluator and weighting: the mean PairAUC of the logs, where 95 % lie, the truth."""
    found = [agreement(seed) for seed in range(logs)]
    rows = []
    for name, right in RIGHT.items():
        for weighting in WEIGHTINGS:
            values = np.array([one[weighting][name] for one in found])
            low, high = np.quantile(values, [0.025, 0.975])
            row = {"evaluator": name, "weighting": weighting, "estimate": values.mean()}
            error = values.std(ddof=1) / np.sqrt(logs)
            rows.append(row | {"ci_low": low, "ci_high": high, "truth": right.mean(), "error": error})
    return pd.DataFrame(rows)


if __name__ == "__main__":
    from metaeval.reports.drawing import draw

    columns = (*BIAS.columns, Column("truth", "Truth", "decimal"))
    notes = (
        "Where popular items are shown more, unweighted agreement is that on popular items.",
        "The grey tick is the agreement if all items were shown alike.",
    )
    sheet = Sheet(BIAS.name, BIAS.title, bias(), columns, notes, Simulation(data=True))
    Path("docs/images/exposure_bias.svg").write_bytes(draw(bias_figure(sheet, {}), "svg"))
