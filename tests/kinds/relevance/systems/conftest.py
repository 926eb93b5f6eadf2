"""Collections to measure systems on: the real ones, and one that is made up."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from metaeval.base.records import Scale
from metaeval.kinds.relevance.data.collection import Collection
from metaeval.kinds.relevance.measures import MeasurePair
from metaeval.kinds.relevance.systems.systems import Judgements, Systems
from metaeval.stats.resampling.bootstrap import Resampler


def systems_of(frames, scale, runs, pairs=(), resampler=None, own=MappingProxyType({}), **options):
    """Return systems by the labels of evaluators, the truth first: ``user_id``, ``item_id`` and ``label``."""
    (name, truth), *_ = frames.items()
    units = pd.concat([f[["user_id", "item_id"]] for f in frames.values()]).drop_duplicates(ignore_index=True)
    scores = pd.concat([f.assign(evaluator=e) for e, f in frames.items()]).rename(columns={"label": "score"})
    truth = truth.rename(columns={"label": "rating"})
    judgements = Judgements.of_study(units, scores, truth, name, scale, own=own)
    data = Collection(units, truth, {}, scale, runs)
    return Systems(data, judgements, name, [], pairs, resampler, **options)


@pytest.fixture(scope="session")
def dl21(real_data):
    """Return the systems of the deep learning track, ties of scores in the order of the files."""
    folder = real_data / "dl21"
    names = ["user_id", "iteration", "item_id", "label"]
    frames = {
        path.stem: pd.read_csv(path, sep=r"\s+", names=names, dtype={"user_id": str})
        for path in (folder / "human.qrels", *sorted((folder / "judges").glob("*.qrels")))
    }
    columns = ["user_id", "q0", "item_id", "rank", "score", "tag"]
    runs = []
    for path in sorted((folder / "runs").glob("*.gz")):
        run = pd.read_csv(path, sep=r"\s+", names=columns, dtype={"user_id": str})
        run = run.sort_values("score", ascending=False, kind="stable")
        runs.append(
            run.assign(rank=run.groupby("user_id").cumcount() + 1, system=path.name[: -len(".txt.gz")])
        )
    pairs = [MeasurePair("Compat(p=0.9)", "nDCG@10"), MeasurePair("nDCG@10", "nDCG@10")]
    runs = pd.concat(runs, ignore_index=True)
    return systems_of(frames, Scale(0, 3), runs, pairs, Resampler(53, 200), own={"gpt-4o-exam-max": 0})


@pytest.fixture(scope="session")
def made_up():
    """Return 14 systems, of which each meets the taste of 50 users better than the one before."""
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
    judgements = Judgements.of(pool, scores, data.scale)
    pairs = [MeasurePair("Compat(p=0.9)", "nDCG@10"), MeasurePair("nDCG@10", "nDCG@10")]
    return Systems(data, judgements, "human", ["nDCG@10", "P@5"], pairs, Resampler(50, 200))
