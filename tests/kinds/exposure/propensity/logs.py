"""Simulated logs whose propensities and mean outcome are known."""

import numpy as np
import pandas as pd
from scipy.special import expit

from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.off_policy.evaluation import evaluate
from metaeval.kinds.exposure.off_policy.policies import arrays_of, uniform
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.study import OffPolicy

ABOUT = {"name": "planted", "outcome": {"min": 0, "max": 5, "integer": False}, "exposure": "pair"}


def planted(seed, users=150, items=60, slope=1.2, level=-2.0):
    """Expose each pair of a user and an item once, by the item's pull; what pulls is liked, too.

    Returns the log, and of all pairs the propensities and the outcomes.
    """
    draw = np.random.default_rng(seed)
    pull = draw.normal(size=items)
    p = np.repeat(expit(level + slope * pull)[None], users, axis=0)
    outcome = np.clip(2.5 + pull + draw.normal(0, 0.5, (users, items)), 0, 5)
    user, item = np.nonzero(draw.random((users, items)) < p)
    names = [
        np.array([f"{letter}{n:03}" for n in range(count)]) for letter, count in (("u", users), ("i", items))
    ]
    log = pd.DataFrame(
        {
            "user_id": names[0][user],
            "item_id": names[1][item],
            "timestamp": 1.6e9 + 86_400 * 30 * draw.random(len(user)),
            "outcome": outcome[user, item],
            "propensity": p[user, item],
        }
    )
    return log, p, outcome, pd.DataFrame({"item_id": names[1], "pull": [str(round(x)) for x in pull]})


def planted_set(seed, **how):
    log, p, outcome, items = planted(seed, **how)
    return log_of(ABOUT, {"log": log, "items": items}), p, outcome


def means(data, options):
    """The naive mean, IPS and SNIPS of the policy that shows all items alike, refused or not."""
    log = arrays_of(data, propensities_of(data, options))
    wanted = OffPolicy(estimators=("naive", "ips", "snips"))
    return [one.estimate.value for one in evaluate(log, uniform(log), wanted, None).estimates]
