"""Figures of a run: their numbers are the run's, and what a study has not is not drawn."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import metaeval as me
from metaeval.engine.figure import figure_payload
from metaeval.runs.finished import OpenRun, open_run
from metaeval.study.results import read_back
from metaeval.trust.analyses import figures_of_run, write_figures
from tests.tiny import write_study


@pytest.fixture(scope="module")
def run(drawn: Path) -> OpenRun:
    return open_run(drawn)


@pytest.mark.slow
def test_the_numbers_are_those_of_the_run(run: OpenRun) -> None:
    (ranking,) = figures_of_run(run, names=["ranking"])
    correlations = read_back(run.folder).correlations.frame
    assert ranking.sheet.frame["estimate"].tolist() == correlations["estimate"].tolist()
    assert ranking.choices == {"aspect": "average", "level": "dataset", "coefficient": "pearson"}
    assert set(ranking.sheet.frame["kind"]) == {"annotator", "judge", "baseline", "recorded"}
    assert ranking.sheet.frame["human_who"].unique().tolist() == ["people"]
    assert "few_clusters" in " ".join(ranking.sheet.notes)  # three users


@pytest.mark.slow
def test_no_users_and_an_evaluator_that_gave_nothing(tiny: Path) -> None:
    for name in ("explanations", "ratings", "scores"):
        frame = pd.read_csv(tiny / f"{name}.csv")
        if name == "scores":
            frame.loc[frame["evaluator"] == "S* star", "score"] = None
        first = frame[frame["user_id"] == "u1"].drop(columns="user_id")
        first.to_csv(tiny / f"{name}.csv", index=False)
    study = write_study(
        Path("s.yaml"),
        evaluators='["Length()", "Annotator(\'1\')", "Recorded(\'S* star\')"]',
        missing="{truth: drop, score: drop}",
        tests="null",
    )
    run = open_run(me.run(study, "out").folder)
    found = {figure.sheet.name: figure for figure in figures_of_run(run)}
    assert found["user_bias"].sheet.title == "Bias by items: scores too high or too low"
    assert found["user_bias"].sheet.frame["who"].unique().tolist() == ["i1", "i2"]
    ranking = found["ranking"].sheet.frame
    assert ranking[ranking["evaluator"] == "Recorded('S* star')"]["estimate"].isna().all()
    assert None in figure_payload(found["ranking"])["rows"]["estimate"]
    for name in ("distributions", "likeness"):
        assert "left out: S* star" in " ".join(found[name].sheet.notes)
    written = write_figures(run.folder, ["svg"], "drawn")
    assert [p.name for p in written if p.suffix == ".svg"] == [f"{name}.svg" for name in found]
