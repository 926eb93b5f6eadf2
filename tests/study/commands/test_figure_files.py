"""Figures of a run: their numbers are the run's, and what a study has not is not drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.engine.figures.figure import figure_payload
from metaeval.kinds.explanations.kind import EXPLANATIONS
from metaeval.runs.finished import open_run
from metaeval.study.commands.figure_files import figures_of_run, write_figures
from metaeval.study.results import read_run
from tests.drawn import drawn_run
from tests.tiny import write_study

if TYPE_CHECKING:
    from metaeval.engine.figures.figure import Figure
    from metaeval.runs.finished import OpenRun


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> OpenRun:
    return open_run(drawn_run(tmp_path_factory.mktemp("drawn")))


def by_name(figures: list[Figure]) -> dict[str, Figure]:
    return {figure.sheet.name: figure for figure in figures}


def test_the_numbers_are_those_of_the_run(run: OpenRun) -> None:
    (ranking,) = figures_of_run(run, names=["ranking"])
    correlations = read_run(run.folder)[0].frame
    assert ranking.sheet.frame["estimate"].tolist() == correlations["estimate"].tolist()
    assert ranking.choices == {"aspect": "average", "level": "dataset", "coefficient": "pearson"}
    assert set(ranking.sheet.frame["kind"]) == {"annotator", "judge", "baseline", "recorded"}
    assert ranking.sheet.frame["human_who"].unique().tolist() == ["people"]
    assert "30 resamples" in " ".join(ranking.sheet.notes)


def test_simulated_judges_are_marked_everywhere(run: OpenRun) -> None:
    found = by_name(figures_of_run(run))
    for name, column in (("ranking", "evaluator"), ("likeness", "first"), ("user_bias", "evaluator")):
        names = set(found[name].sheet.frame[column])
        assert "zero (simulated)" in names
        assert "zero" not in names
    assert all(figure.sheet.simulated for figure in found.values())


def test_what_is_wanted_first_is_shown_first(run: OpenRun) -> None:
    found = by_name(figures_of_run(run, first={"aspect": "clear", "coefficient": "kendall"}))
    assert found["ranking"].choices == {"aspect": "clear", "level": "dataset", "coefficient": "kendall"}
    assert found["distributions"].choices == {"aspect": "clear"}
    assert found["likeness"].sheet.frame["aspect"].iloc[0] == "clear"
    average = by_name(figures_of_run(run, first={"aspect": "average"}))
    assert average["distributions"].choices == {"aspect": "clear"}  # it has no average


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": ["rankng"]}, "no figure 'rankng'; did you mean 'ranking'"),
        ({"first": {"aspect": "cleer"}}, "the run has no aspect 'cleer'; did you mean 'clear'"),
        ({"first": {"level": "usr"}}, "no level 'usr'; did you mean 'user'"),
        ({"first": {"coefficient": "kendal"}}, "no coefficient 'kendal'; did you mean 'kendall'"),
    ],
)
def test_unknown_names(run: OpenRun, arguments, message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        figures_of_run(run, **arguments)


def test_one_aspect_has_no_average_and_no_judges_no_ensembles(tiny: Path) -> None:
    study = write_study(
        Path("s.yaml"), aspects="[fitting]", missing="{truth: drop, score: drop}", tests="null"
    )
    found = by_name(figures_of_run(open_run(me.run(study, "out").folder)))
    assert list(found) == ["ranking", "distributions", "likeness", "user_bias"]
    assert found["ranking"].choices["aspect"] == "fitting"
    assert all(set(f.sheet.frame["aspect"]) == {"fitting"} for f in found.values())
    with pytest.raises(MetaevalError, match=r"no data for a figure 'cost' \(it has: ranking, distr"):
        write_figures("out", names=["cost"])


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
    found = by_name(figures_of_run(run))
    assert found["user_bias"].sheet.title == "Bias by items: scores too high or too low"
    assert found["user_bias"].sheet.frame["who"].unique().tolist() == ["i1", "i2"]
    ranking = found["ranking"].sheet.frame
    assert ranking[ranking["evaluator"] == "Recorded('S* star')"]["estimate"].isna().all()
    assert None in figure_payload(found["ranking"])["rows"]["estimate"]
    for name in ("distributions", "likeness"):
        assert "left out: Recorded('S* star')" in " ".join(found[name].sheet.notes)
    written = write_figures(run.folder, ["svg"], "drawn")
    assert [p.name for p in written if p.suffix == ".svg"] == [f"{name}.svg" for name in found]


def test_a_pipeline_gets_the_same_figures_as_a_folder(run: OpenRun) -> None:
    found = EXPLANATIONS.results(run.scored)
    assert [figure_payload(f) for f in found.figures] == [figure_payload(f) for f in figures_of_run(run)]
