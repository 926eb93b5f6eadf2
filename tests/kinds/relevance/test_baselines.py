"""Popularity, likeness to the history and recorded labels."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau
from sklearn.feature_extraction.text import TfidfVectorizer

from metaeval.base.errors import DataError, SpecError
from metaeval.base.records import Kind, Scale
from metaeval.judging.settings import judging
from metaeval.kinds.relevance.baselines import History, ItemSimilarity, Labels, Popularity
from metaeval.kinds.relevance.data.imports.coat import import_coat
from metaeval.kinds.relevance.data.loading import load
from metaeval.kinds.relevance.judge import Relevance
from tests.kinds.relevance.films import films

if TYPE_CHECKING:
    from pathlib import Path

ASPECTS = ["relevance"]
WORDS = r"(?u)\w+"


def test_popularity_is_the_number_of_other_users() -> None:
    data = films(users=12)
    scores = Popularity().score(data, ASPECTS).frame
    own = 0
    for user, item, score in scores[["user_id", "item_id", "score"]].itertuples(index=False):
        having = set(data.histories[data.histories["item_id"] == item]["user_id"])
        own += user in having
        assert score == len(having - {user})
    assert own > 5
    with pytest.raises(DataError, match="has no histories"):
        Popularity().score(dataclasses.replace(data, histories=None), ASPECTS)


def test_the_newest_of_a_history_are_labels() -> None:
    data = films(users=4)
    past = data.histories.sort_values("timestamp")
    for split in ("user", "time"):
        rows = past.groupby("user_id").tail(3) if split == "user" else past.tail(12)
        found = History(newest=0.25, split=split).labels(data)
        assert set(map(tuple, found[["user_id", "item_id"]].to_numpy())) == set(
            map(tuple, rows[["user_id", "item_id"]].to_numpy())
        )
        assert (found["score"] == 1).all()
    cut = History(cuts=[2, 3, 5]).labels(data).merge(data.histories, on=["user_id", "item_id"])
    assert dict(zip(cut["rating"], cut["score"], strict=True)) == {1: 0, 2: 1, 3: 2, 4: 2, 5: 3}
    frame = History().score(data, ASPECTS).frame
    assert frame["score"].notna().sum() == len(data.units.merge(History().labels(data)))
    assert set(frame["status"]) == {"ok", "missing"}
    bare = data.histories.drop(columns="timestamp")
    with pytest.raises(DataError, match="no column 'timestamp' in its histories"):
        History(newest=0.5).score(dataclasses.replace(data, histories=bare), ASPECTS)
    for wrong in (0, 1.5, True):
        with pytest.raises(SpecError, match="is a share above 0"):
            History(newest=wrong)


def test_similarity_is_the_cosine_with_the_mean_of_the_history() -> None:
    data = films(users=4)
    vectors = TfidfVectorizer(token_pattern=WORDS).fit_transform(data.items["genres"]).toarray()
    scores = ItemSimilarity(fields=["genres"]).score(data, ASPECTS).frame
    for user, of_user in scores.groupby("user_id"):
        past = data.histories[data.histories["user_id"] == user]["item_id"]
        past = past[~past.isin(data.table[data.table["user_id"] == user]["item_id"])]
        profile = vectors[past.str[1:].astype(int)].mean(axis=0)
        items = vectors[of_user["item_id"].str[1:].astype(int)]
        assert np.allclose(of_user["score"], items @ profile / np.linalg.norm(profile))


def test_a_user_without_a_history_and_an_item_without_words_are_missing() -> None:
    data = films()
    silent, unknown = data.table["item_id"][:2]
    items = data.items.assign(title=data.items["title"].where(data.items["item_id"] != silent))
    changed = dataclasses.replace(
        data,
        items=items[items["item_id"] != unknown],
        histories=data.histories[data.histories["user_id"] != "u1"],
    )
    frame = ItemSimilarity(["title"]).score(changed, ASPECTS).frame
    missing = frame["status"] == "missing"
    assert (missing == (frame["item_id"].isin([silent, unknown]) | (frame["user_id"] == "u1"))).all()
    assert frame["score"].isna().equals(missing)
    with pytest.raises(SpecError, match="fields is a list"):
        ItemSimilarity("title")
    with pytest.raises(DataError, match="no field 'genre'; did you mean 'genres'"):
        ItemSimilarity(["genre"]).score(data, ASPECTS)


def test_labels_of_a_rater_are_kept_and_those_off_the_scale_are_not() -> None:
    data = films()
    machine = data.ratings[:5].assign(rater="machine", rating=[0.0, 3.0, 4.0, 1.5, np.nan])
    data = dataclasses.replace(data, ratings=pd.concat([data.ratings, machine], ignore_index=True))
    frame = Labels("machine").score(data, ASPECTS).frame
    assert frame["status"].tolist() == ["ok", "ok", "out_of_range", "out_of_range", "missing"]
    assert frame["score"].tolist()[:2] == [0, 3]
    assert (Labels("human").score(data, ASPECTS).frame["score"] == data.ratings["rating"][: len(data)]).all()
    with pytest.raises(DataError, match=r"no ratings of 'machin'.*did you mean 'machine'"):
        Labels("machin").score(data, ASPECTS)
    with pytest.raises(SpecError, match="must not be empty"):
        Labels(" ")


@pytest.mark.slow
def test_likeness_and_a_simulated_judge_tell_which_coats_people_like(real_data: Path, tmp_path: Path) -> None:
    """The truth are ratings of coats drawn at random; the history, those that people chose themselves."""
    import_coat(real_data / "coat", tmp_path / "coat")
    data = load(tmp_path / "coat")
    truth = Labels("user").score(data, ASPECTS).frame["score"]
    found = {}
    with judging():
        for evaluator in (Popularity(), ItemSimilarity(), Relevance("simulated/x", labels=8)):
            frame = evaluator.score(data, ASPECTS).frame
            assert (frame["status"] == "ok").sum() == (290 * 8 if evaluator.kind is Kind.JUDGE else 4640)
            found[type(evaluator).__name__] = kendalltau(frame["score"], truth, nan_policy="omit").statistic
    assert found["Popularity"] == pytest.approx(0.053, abs=0.01)
    assert found["ItemSimilarity"] == pytest.approx(0.125, abs=0.01)
    assert found["Relevance"] > 0.1


def test_labels_on_a_scale_of_their_own_are_kept_and_mapped_by_cuts() -> None:
    data = films()
    ratings = [0.0, 2.5, 4.0, 5.0, 42.0]
    machine = data.ratings[:5].assign(rater="machine", rating=ratings)
    data = dataclasses.replace(
        data,
        ratings=pd.concat([data.ratings, machine], ignore_index=True),
        scales={"machine": Scale(0, 5, integer=False)},
    )
    plain, mapped = Labels("machine"), Labels("machine", cuts=[2, 4, 5])
    frame = plain.score(data, ASPECTS).frame
    assert frame["score"].tolist()[:4] == ratings[:4]
    assert frame["status"].tolist() == ["ok"] * 4 + ["out_of_range"]
    assert mapped.score(data, ASPECTS).frame["score"].tolist()[:4] == [0, 1, 2, 3]
    assert (plain.signature(data)["own_scale"], "own_scale" in mapped.signature(data)) == ([0, 5], False)
    with pytest.raises(DataError, match="need 3 cuts"):
        Labels("machine", cuts=[2]).score(data, ASPECTS)
    with pytest.raises(SpecError, match="cuts are rising numbers"):
        Labels("machine", cuts=[4, 2])
