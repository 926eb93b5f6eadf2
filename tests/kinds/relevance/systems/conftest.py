"""Collections to measure systems on: the real ones, and one that is made up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.base.records import Scale
from metaeval.kinds.relevance.data.collection import Collection
from metaeval.kinds.relevance.systems.effectiveness import RankedRuns
from metaeval.kinds.relevance.systems.labels import Judgements
from tests.kinds.relevance.systems.frames import judgements_of


@pytest.fixture(scope="session")
def dl21(real_data):
    """Return the labels and the runs of the deep learning track, ties of scores in the order of the files."""
    folder = real_data / "dl21"
    names = ["user_id", "iteration", "item_id", "label"]
    frames = {
        path.stem: pd.read_csv(path, sep=r"\s+", names=names, dtype={"user_id": str})
        for path in (folder / "human.qrels", *sorted((folder / "judges").glob("*.qrels")))
        if path.stem != "gpt-4o-exam-max"
    }
    columns = ["user_id", "q0", "item_id", "rank", "score", "tag"]
    runs = []
    for path in sorted((folder / "runs").glob("*.gz")):
        run = pd.read_csv(path, sep=r"\s+", names=columns, dtype={"user_id": str})
        run = run.sort_values("score", ascending=False, kind="stable")
        runs.append(
            run.assign(rank=run.groupby("user_id").cumcount() + 1, system=path.name[: -len(".txt.gz")])
        )
    judgements = judgements_of(frames, Scale(0, 3))
    return judgements, RankedRuns.of(pd.concat(runs, ignore_index=True), judgements.units)


@pytest.fixture(scope="session")
def made_up():
    """Return a collection of 50 users, whose taste each of 14 systems meets better than the one before."""
    rng = np.random.default_rng(14)
    users, items, systems, depth = 50, 150, 14, 20
    popular = np.sort(rng.normal(size=items))[::-1]
    taste = 0.4 * popular + rng.normal(size=(users, items))
    rows = []
    for s in range(systems):
        score = s / (systems - 1) * taste + (1 - s / systems) * rng.normal(size=taste.shape)
        for u, order in enumerate(np.argsort(-score, axis=1)[:, :depth]):
            rows += [(f"s{s:02}", f"u{u:02}", f"i{i:03}", r) for r, i in enumerate(order, 1)]
    runs = pd.DataFrame(rows, columns=["system", "user_id", "item_id", "rank"])
    pool = (
        runs[["user_id", "item_id"]].drop_duplicates().sort_values(["user_id", "item_id"], ignore_index=True)
    )
    own = taste[pool["user_id"].str[1:].astype(int), pool["item_id"].str[1:].astype(int)]
    likely = np.exp(popular) / np.exp(popular).sum()  # users find what is popular
    held = [(f"u{u:02}", f"i{i:03}") for u in range(users) for i in rng.choice(items, 15, False, likely)]
    data = Collection(
        pool,
        pool.assign(rater="human", aspect="relevance", rating=np.digitize(own, [0.3, 1, 1.8]).astype(float)),
        {"relevance": "How interested are you?"},
        Scale(0, 3),
        runs,
        histories=pd.DataFrame(held, columns=["user_id", "item_id"]),
        depth=depth,
        simulated=True,
    )
    noisy = np.digitize(own + 0.7 * rng.normal(size=len(own)), [0.3, 1, 1.8]).astype(float)
    human = data.ratings["rating"].to_numpy().copy()
    human[rng.random(len(human)) < 0.1] = np.nan  # what nobody labelled
    scores = {"human": human, "noisy": noisy, "counts": 50 * noisy}
    return data, Judgements.of(pool, scores, data.scale)
