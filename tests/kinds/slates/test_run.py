"""A study of slates from its file to its folder, and what is done with the folder afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from metaeval.cli import main
from tests.conftest import ROOT
from tests.reports.report.conftest import browser  # noqa: F401 - a fixture
from tests.reports.report.pages import overflow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

STUDY = """\
kind: slates
name: duels
dataset: {data}
tasks: [T1, T3]
evaluators:
  coin: Random(seed=0)
  sharp: Recorded('sharp')
  careful: Recorded('careful')
  mini: "Slates('simulated/mini,noise=0.3')"
  rates: "SlateRating('simulated/mini,noise=0.3')"
  three: Majority(sharp, careful, mini)
order_by: {{task: T3, measure: accuracy}}
difficulty: 2
bootstrap: {{resamples: 100}}
tests: {{permutations: 100}}
judging: {{store: {store}}}
"""
COLUMNS = {
    "regret.csv": "evaluator,task,regret,ci_low,ci_high,accuracy,weighted_accuracy,n_duels,n_users",
    "coherence.csv": "evaluator,task,axiom,estimate,ci_low,ci_high,chance,n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study, its run in ``run``."""
    folder = tmp_path_factory.mktemp("slates")
    data = folder / "data"
    shutil.copytree(ROOT / "data" / "slates", data)
    for name in ("duels", "scores", "slates", "histories"):
        table = pd.read_csv(data / f"{name}.csv", dtype=str, keep_default_na=False)
        table[table["user_id"] <= "u08"].to_csv(data / f"{name}.csv", index=False)
    study = STUDY.format(data=data, store=folder / "store.sqlite")
    (folder / "s.yaml").write_text(study, encoding="utf-8")
    assert main(["run", str(folder / "s.yaml"), "--out", str(folder / "run")]) == 0
    return folder


def read(place: Path, name: str, run: str = "run") -> pd.DataFrame:
    return pd.read_csv(place / run / name)


def test_the_files_of_a_run(place: Path) -> None:
    for name, columns in COLUMNS.items():
        assert ",".join(read(place, name)).startswith(columns)
    regret = read(place, "regret.csv")
    assert set(regret["task"]) == {"T1", "T3"}
    assert len(regret) == 6 * 2
    axioms = read(place, "coherence.csv")
    assert {"rating_transitivity", "irreflexivity", "repeatability"} < set(axioms["axiom"])
    assert set(axioms.loc[axioms["axiom"] == "rating_transitivity", "evaluator"]) == {"mini"}
    majority = read(place, "majority.csv")
    assert set(majority["member"]) == {"sharp", "careful", "mini"}
    assert set(read(place, "regret_by_difficulty.csv")["difficulty"]) == {1, 2}
    leaderboard = (place / "run" / "leaderboard.md").read_text(encoding="utf-8")
    assert "accuracy" in leaderboard
    ranking = read(place, "ranking.csv")
    assert ranking["evaluator"][0] == "sharp"
    assert ranking["estimate"].is_monotonic_decreasing


def test_details_and_figures_of_a_finished_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["details", str(place / "run"), "--format", "md"]) == 0
    told = capsys.readouterr().out
    for title in ("Regret by task", "Regret by difficulty", "Majorities against their members"):
        assert f"## {title}" in told
    assert "fewer than 4 judges" in told
    assert told in (place / "run" / "details.md").read_text(encoding="utf-8") + "\n"
    out = place / "figures"
    assert main(["figures", str(place / "run"), "--out", str(out), "--format", "svg"]) == 0
    names = {path.stem for path in out.iterdir()}
    assert {
        "regret_by_task",
        "regret_by_difficulty",
        "regret_against_coherence",
        "coherence_by_judge",
    } <= names


def test_a_figure_of_several_runs_has_a_panel_per_data_set(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copytree(place / "data", tmp_path / "other")
    about = (other / "dataset.yaml").read_text(encoding="utf-8")
    (other / "dataset.yaml").write_text(about.replace("name: slates", "name: music"), encoding="utf-8")
    study = STUDY.format(data=other, store=place / "store.sqlite").replace("[T1, T3]", "[T3]")
    (tmp_path / "s.yaml").write_text(study, encoding="utf-8")
    assert main(["run", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "run")]) == 0
    runs = [str(place / "run"), str(tmp_path / "run")]
    assert main(["figures", *runs]) == 2
    assert "need a folder of their own; give it with --out" in capsys.readouterr().err
    out = tmp_path / "figures"
    assert main(["figures", *runs, "--out", str(out)]) == 0
    rows = pd.read_csv(out / "regret_by_task.csv")
    assert rows.groupby("dataset", sort=False)["task"].unique().map(list).to_dict() == {
        "slates": ["T1", "T3"],
        "music": ["T3"],
    }
    assert len(rows[rows["dataset"] == "music"]) == 6
    for name in ("regret_by_task", "regret_against_coherence", "regret_by_difficulty", "coherence_by_judge"):
        drawn = (out / f"{name}.svg").read_text(encoding="utf-8")
        assert ">slates<" in drawn
        # The first task is shown where one can be chosen, and one of the sets does not have it.
        assert (">music<" in drawn) == (name == "regret_by_task")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tasks: [T1, T3]", "tasks: [T1, T4]", "the data set has no task 'T4'"),
        ("task: T3,", "task: T2,", "the data set has no task 'T2'"),
        ("measure: accuracy", "measure: precision", "order_by.measure"),
        (
            "difficulty: 2",
            "difficulty: 2\nratings: {mini: rated}",
            "no evaluator 'rated'; did you mean 'rates'",
        ),
        ("permutations: 100", "swap: duel", "tests.swap: 'duel' is not allowed"),
        ("resamples: 100", "cluster: unit", "bootstrap.cluster: 'unit' is not allowed"),
    ],
)
def test_what_the_data_do_not_have(
    place: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    study = (place / "s.yaml").read_text(encoding="utf-8")
    (place / "wrong.yaml").write_text(study.replace(old, new), encoding="utf-8")
    assert main(["run", str(place / "wrong.yaml"), "--out", str(place / "wrong")]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.strip().splitlines()) == 1
    assert not (place / "wrong").exists()


def test_the_page_leads_from_an_evaluator_to_a_duel(
    place: Path,
    browser: Browser,  # noqa: F811 - the fixture
) -> None:
    complaints: list[str] = []
    for width in (1440, 390):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((place / "run" / "report.html").as_uri())
        page.locator("main h2").wait_for()
        caption = page.locator("caption").first.inner_text()
        assert caption.startswith(
            "Accuracy against the truth users, T3; 256 units of 8 users"
        )  # what the study orders by
        if width == 390:
            page.get_by_text("Choose what is shown").click()
        page.get_by_label("Measure").select_option("regret")
        names = page.locator("tbody .evaluator .words").all_inner_texts()
        assert names.index("sharp") < names.index("coin")
        page.get_by_role("link", name="mini in detail").click()
        page.get_by_role("heading", name="Users and duels: mini").wait_for()
        page.get_by_label("By", exact=True).select_option("duel")
        page.locator("tbody th a").first.click()
        page.get_by_role("heading", name="Units").wait_for()
        assert page.get_by_role("status").inner_text().startswith("2 of ")  # both orders
        page.locator("tbody th a").first.click()
        page.get_by_text("unit 1 of 2").wait_for()
        sides = [page.get_by_role("heading", name=f"Shown {side}") for side in ("first", "second")]
        first, second = (side.evaluate("h => h.getBoundingClientRect().top") for side in sides)
        assert (first == second) == (width == 1440)
        assert "preference" in page.locator("details.call[open]").inner_text()
        page.get_by_role("link", name="next unit").click()
        page.get_by_text("unit 2 of 2").wait_for()
        assert overflow(page) == 0
        page.close()
    assert not complaints
