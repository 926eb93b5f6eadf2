"""``metaeval disagreements``, as it is typed."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.cli.trust import disagreements
from metaeval.evaluators.verdicts import OUTCOMES, comparisons_of
from metaeval.trust.disagreements import session_of_disagreements
from metaeval.trust.labelling.golden_table import import_labels
from metaeval.trust.verdicts.commands import pairwise_of
from tests.cli.labelling import labelling
from tests.study.runs import tiny_in, tiny_run

JUDGES = ["Judge('simulated/one,noise=0.2')", "Judge('simulated/two,noise=0.5')", "Annotator('1')"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with tiny_in(tmp_path_factory.mktemp("made")) as folder:
        listed = ", ".join(f'"{e}"' for e in [*JUDGES, "Length()"])
        tiny_run(folder, "out", dataset="tiny", evaluators=f"[{listed}]")
        return folder


@pytest.fixture
def run(made: Path, fresh: Callable[[Path], Path]) -> Path:
    return fresh(made) / "out"


def typed(*arguments: str) -> str:
    done = CliRunner().invoke(
        disagreements, ["--resamples", "20", "--format", "md", *arguments], catch_exceptions=False
    )
    assert done.exit_code == 0
    return done.stdout


PANEL = [word for judge in JUDGES for word in ("--judge", judge)]


@pytest.mark.slow
def test_json_has_the_units_in_order(run: Path) -> None:
    found = json.loads(typed(str(run), *PANEL, "--n", "5", "--aspect", "clear", "--level", "user", "--json"))
    assert set(found) == {"answer", "disagreements", "panel", "gain"}
    first, gained = found["answer"]["sentences"]
    (panel,) = found["panel"]
    differ = panel["n_units"] * (1 - panel["unanimous"])
    assert f"do not all say the same on {differ:.0f} of {panel['n_units']} units (" in first
    assert gained.startswith("Their mean is not shown to be better")  # three users give no interval
    units = found["disagreements"]
    assert len(units) == 5
    assert {u["aspect"] for u in units} == {"clear"}
    assert [u["split"] for u in units] == sorted((u["split"] for u in units), reverse=True)
    for unit in units:
        given = [unit[f"score @ {judge}"] for judge in JUDGES]
        assert unit["range"] == max(given) - min(given)
    assert {(g["level"], g["aspect"], g["panel"]) for g in found["gain"]} == {
        ("user", "clear", panel) for panel in ("Mean", "Median", "Majority")
    }


@pytest.mark.slow
def test_people_label_the_units_and_the_labels_come_back(run: Path) -> None:
    found = json.loads(typed(str(run), *PANEL, "--n", "3", "--labels", "labels.csv", "--json"))
    with Path("labels.csv").open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["unit", "user_id", "item_id", "generator", "explanation", "clear", "fitting"]
    assert [r[1:4] for r in rows] == [[u[k] for k in header[1:4]] for u in found["disagreements"]]
    assert all(r[4] and not r[5] and not r[6] for r in rows)
    with Path("labels.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *([*r[:5], "4", "2"] for r in rows)])
    import_labels("tiny", "labels.csv", rater="anna")
    ratings = me.load("tiny").ratings.query("rater == 'anna'")
    assert len(ratings) == 6
    assert set(ratings.query("aspect == 'clear'")["rating"]) == {4}


@pytest.mark.slow
def test_people_label_the_units_on_a_page(run: Path) -> None:
    found = json.loads(typed(str(run), *PANEL, "--n", "6", "--json"))["disagreements"]
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    with labelling("disagreements", str(run), *PANEL, "--n", "6", "--label", "--rater", "anna") as page:
        shown = page.ask({"do": "show"})
        units = shown["total"]
        assert "score" not in json.dumps(shown)
        for at in range(units):
            for aspect in page.ask({"do": "show", "at": at})["unit"]["aspects"]:
                page.ask({"do": "label", "at": at, "aspect": aspect["name"], "label": 4})
        assert page.ended() == (0, f"labels of 'anna': {units} of {units} units\n")
    made = {path.name: path.read_bytes() for path in run.iterdir()}
    assert set(made) - set(before) == {"labels.csv", "labelling.jsonl", ".labelling.lock"}
    assert {name: made[name] for name in before} == before
    header, *rows = csv.reader((run / "labels.csv").read_text(encoding="utf-8").splitlines())
    names = ["user_id", "item_id", "generator", "aspect"]
    assert header == ["user_id", "item_id", "generator", "rater", "aspect", "rating"]
    assert {(*r[:3], r[4]) for r in rows} == {tuple(u[k] for k in names) for u in found}
    # The run is opened as before, and the labels go where a spreadsheet's do.
    assert json.loads(typed(str(run), *PANEL, "--n", "6", "--json"))["disagreements"] == found
    import_labels("tiny", run / "labels.csv", rater="anna")
    ratings = me.load("tiny").ratings.query("rater == 'anna'")
    assert sorted(map(tuple, ratings[names].to_numpy())) == sorted((*r[:3], r[4]) for r in rows)


@pytest.mark.slow
def test_people_decide_the_pairs_on_which_a_pairwise_judge_flips(run: Path) -> None:
    judge = "Pairwise('simulated/x,first_bias=0.1')"
    folder = tiny_run(run.parent, "pairs", evaluators=f'["{judge}"]')
    session = session_of_disagreements(folder, rater="anna", aspects=["clear"])
    found = comparisons_of(pd.read_parquet(folder / "verdicts.parquet").query("aspect == 'clear'"))
    flips = found[found["outcome"] == OUTCOMES.index("flip")]
    assert 0 < len(flips) < 18
    pairs = {key[:-1] for key in session.units}
    assert pairs == set(flips[["user_id", "item_id", "first", "second"]].itertuples(index=False, name=None))
    assert len(session.units) == len(flips)
    for at in range(len(flips)):
        session.answer({"do": "label", "at": at, "aspect": "clear", "label": 1})
    own, ranking = pairwise_of(folder / "labelled_pairs.csv", resamples=20)
    assert own.frame["pairs"].tolist() == [len(flips)]
    assert own.frame["first_share"].tolist() == [1]
    assert set(ranking.frame["evaluator"]) == {"anna"}
    steady = tiny_run(run.parent, "steady", evaluators="[\"Pairwise('simulated/x,noise=0.05')\"]")
    with pytest.raises(MetaevalError, match="do not differ on any pair"):
        session_of_disagreements(steady, rater="anna", aspects=["clear"])
    with pytest.raises(MetaevalError, match="did you mean 'clear'"):
        session_of_disagreements(folder, rater="anna", aspects=["claer"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--judge", JUDGES[0], "--judge", "Length()"],
            r"Length\(\) does not score on the scale from 1 to 5",
        ),
        (["--judge", JUDGES[0]], "an ensemble needs two or more"),
        (["--aspect", "claer"], "did you mean 'clear'"),
        (["--labels", "l.csv", "--data", "nowhere"], "there is no data set 'nowhere'"),
        (["--label", "--rater", "anna", "--data", "nowhere"], "there is no data set 'nowhere'"),
        (["--label"], "the rater has no name"),
    ],
)
def test_what_is_wrong_is_said(run: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        typed(str(run), *arguments)


def test_a_data_set_that_was_changed_is_not_labelled(run: Path) -> None:
    path = Path("tiny/explanations.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("Why not?", "Why?"), encoding="utf-8")
    with pytest.raises(MetaevalError, match="is not the one that the run"):
        typed(str(run), *PANEL, "--labels", "l.csv")
    assert not Path("l.csv").exists()
