"""Collections to measure systems on: the real ones, and one that is made up."""

from __future__ import annotations

import pandas as pd
import pytest

from metaeval.base.records import Scale
from metaeval.kinds.relevance.systems.effectiveness import RankedRuns
from metaeval.kinds.relevance.systems.labels import Judgements


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
    judgements = Judgements.of_frames(frames, Scale(0, 3))
    return judgements, RankedRuns.of(pd.concat(runs, ignore_index=True), judgements.units)
