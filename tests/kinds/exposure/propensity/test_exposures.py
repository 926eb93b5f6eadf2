"""Each feature against a plain loop over the rows."""

import datetime as dt
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.propensity.exposures import Exposures, Features, indicators, popularity_bins
from metaeval.kinds.exposure.study import FEATURES
from tests.kinds.exposure.data.test_loading import ABOUT


def exposures(seed=0, n=200):
    draw = np.random.default_rng(seed)
    log = pd.DataFrame(
        {
            "user_id": [f"u{u}" for u in draw.integers(0, 7, n)],
            "item_id": [f"i{i}" for i in np.minimum(draw.geometric(0.2, n), 12)],
            "timestamp": 1.7e9 + 86_400 * 20 * draw.random(n),
            "outcome": 1.0,
        }
    )
    genres = ["drama, comedy", "drama", "crime|comedy", ""] * 4
    items = pd.DataFrame({"item_id": [f"i{i}" for i in range(16)], "genres": genres})
    return log, items, Exposures.of(log_of(ABOUT, {"log": log, "items": items}))


def test_features_are_what_they_say():
    log, items, of = exposures()
    features = Features(of, FEATURES)
    rows = pd.DataFrame(features.rows(of.user, of.item, of.time, of.repeats), columns=features.names)
    genres = dict(items.to_numpy())
    released = log.groupby("item_id")["timestamp"].min()
    for at in range(0, len(log), 17):
        user, item, time, _ = log.iloc[at]
        own = log[log["user_id"] == user]
        assert rows["user_frequency"][at] == math.log(len(own))
        others = log[(log["item_id"] == item) & (log["user_id"] != user)]
        assert rows["item_popularity"][at] == math.log1p(len(others))
        moment = dt.datetime.fromtimestamp(time, dt.UTC)
        seconds = (moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()
        assert rows["hour (sine)"][at] == pytest.approx(math.sin(2 * math.pi * seconds / 86_400), abs=1e-5)
        days = [day for day in rows if day.endswith("day") and rows[day][at]] or ["Monday"]
        assert days == [moment.strftime("%A")]
        seen = Counter(g.strip() for i in own["item_id"] for g in genres[i].replace("|", ",").split(",") if g)
        shares = [n / seen.total() for n in seen.values()]
        assert rows["genre_entropy"][at] == pytest.approx(-sum(p * math.log(p) for p in shares), abs=1e-9)
        age = (time - released[item]) / 86_400
        in_bin = [b for b in range(1, 5) if rows[f"age bin {b}"][at]]
        assert in_bin == ([features.ages.of(age)] if features.ages.of(age) else [])


def test_popularity_bin_0_is_the_most_popular_and_ties_share_a_bin():
    *_, of = exposures()
    bins, rows = popularity_bins(of), of.rows_of_item
    assert bins[rows.argmax()] == 0
    assert (rows == 0).sum() > 1
    for n in set(rows):
        assert len(set(bins[rows == n])) == 1
    order = np.argsort(-rows, kind="stable")
    assert (np.diff(bins[order]) >= 0).all()


def test_features_without_data_are_left_out():
    log, *_ = exposures()
    of = Exposures.of(log_of(ABOUT, {"log": log.drop(columns="timestamp")}))
    assert Features(of, FEATURES).names == ("user_frequency", "item_popularity")


def test_a_text_with_too_many_values_has_no_indicators():
    assert indicators(pd.Series(["a", "b", "c"]), most=2) is None
    assert indicators(pd.Series(["a", "a"]), most=2) is None
    names, of = indicators(pd.Series(["a,b", "b", ""]), most=2)
    assert (names, of.tolist()) == (["a", "b"], [[1, 1], [0, 1], [0, 0]])
