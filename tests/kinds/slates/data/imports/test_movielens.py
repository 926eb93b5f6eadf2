"""Duels of MovieLens: the newest films of a user, and a history that has none of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from metaeval.kinds.slates.data.imports.movielens import import_movielens
from metaeval.kinds.slates.data.loading import load
from metaeval.kinds.slates.data.sampling import Sampling


def release(folder: Path, users: int = 3, films: int = 12) -> Path:
    folder.mkdir()
    rated = [(u, 100 + f, (u + f * f) % 5 + 1, 1000 + f) for u in range(1, users + 1) for f in range(films)]
    (folder / "ratings.dat").write_text("".join("::".join(map(str, row)) + "\n" for row in rated))
    titles = [f"{100 + f}::Film {f} (199{f % 10})::Drama|War\n" for f in range(films)]
    (folder / "movies.dat").write_text("".join(titles), encoding="latin-1")
    (folder / "users.dat").write_text("".join(f"{u}::M::25::{u}::0\n" for u in range(1, users + 1)))
    return folder


def test_the_newest_half_are_candidates_and_the_older_ones_history(tmp_path: Path) -> None:
    how = Sampling(size=3, history=4)
    result = import_movielens(release(tmp_path / "1m"), tmp_path / "out", how)
    data = load(tmp_path / "out")
    assert data.fingerprint == result.data.fingerprint
    assert set(data.slates["item_id"]) == {str(f) for f in range(106, 112)}
    assert sorted(data.histories["item_id"].unique()) == ["102", "103", "104", "105"]
    assert data.histories.groupby("user_id")["timestamp"].max().max() < 1006
    assert (data.history_scale.min, data.history_scale.max, data.history_scale.integer) == (1, 5, True)
    assert data.profiles["occupation"].tolist() == ["academic or educator", "artist", "clerical or admin"]
    assert data.items["year"].str.fullmatch("199.").all()
    assert data.domain.noun == "film"
    assert list(data.tasks) == ["T1", "T2", "T3"]
    assert data.extra["sampling"]["size"] == 3
    assert result.lines()[1] == "3 users drawn of 3 with 3 candidates or more"


@pytest.mark.slow
def test_the_small_release(real_data: Path, tmp_path: Path) -> None:
    found = import_movielens(real_data / "movielens", tmp_path / "out", Sampling(identical=1, repeats=1))
    data = found.data
    assert (data.counts["user"], data.history_scale.min) == (100, 0.5)
    per_task = data.table.drop_duplicates(["user_id", "duel"]).groupby("task").size()
    assert (per_task >= 790).all()  # 8 of each user, but for few whose films are all rated alike
    both = data.slates[["user_id", "item_id"]].merge(data.histories, how="inner")
    assert both.empty
    of = data.table[data.table["first"] != data.table["second"]].groupby("task")["similarity"]
    assert of.median()["T2"] == 1
    assert 0.3 < of.median()["T1"] < 0.7
    again = import_movielens(real_data / "movielens", tmp_path / "again", Sampling(users=50))
    some = again.data.slates[["user_id", "slate", "position", "item_id"]]
    assert len(some.merge(data.slates)) == len(some)  # fewer users are some of the same, with the same slates
    assert pd.Index(some["user_id"].unique()).isin(data.table["user_id"]).all()
