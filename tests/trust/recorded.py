"""Runs of evaluators whose scores are known, on units whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import metaeval as me

MANIFEST = """\
name: d
scale: {{min: 1, max: 5, integer: {integer}}}
aspects: {{clear: It is clear.}}
"""
STUDY = """\
dataset: data
levels: [dataset]
coefficients: [pearson]
bootstrap: null
tests: null
details: false
evaluators: {evaluators}
"""


def run_recorded(
    folder: Path,
    rated: pd.DataFrame,
    scores: Mapping[str, Any],
    *,
    rows: Any = slice(None),
    integer: bool = True,
    evaluators: str = "[Recorded('*')]",
) -> Path:
    """Write a data set of one aspect and run a study of it; the data are in ``data``, the run in ``run``.

    Parameters
    ----------
    rated
        The keys of every unit, and what the user said of it: the column ``rating``.
    scores
        Recorded evaluator → a score of every unit.
    rows
        Those whose rating is known.
    """
    keys, data = rated.drop(columns="rating"), folder / "data"
    data.mkdir(parents=True)
    manifest = MANIFEST.format(integer=str(integer).lower())
    (data / "dataset.yaml").write_text(manifest, encoding="utf-8")
    keys.assign(explanation="text").to_csv(data / "explanations.csv", index=False)
    rated.assign(rater="user", aspect="clear")[rows].to_csv(data / "ratings.csv", index=False)
    of = [keys.assign(evaluator=name, aspect="clear", score=values) for name, values in scores.items()]
    pd.concat(of).to_csv(data / "scores.csv", index=False)
    (folder / "study.yaml").write_text(STUDY.format(evaluators=evaluators), encoding="utf-8")
    me.run(folder / "study.yaml", out=folder / "run")
    return folder
