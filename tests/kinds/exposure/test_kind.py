"""A log with pairs is run as any other data set; one without pairs says how they are made."""

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import StudyError
from metaeval.kinds.exposure.data.loading import log_of, save
from metaeval.study.commands.details import details
from tests.kinds.exposure.data.test_loading import ABOUT, tables


def study(folder):
    return {"kind": "exposure", "dataset": str(folder), "evaluators": ["Recorded('e')", "Random(seed=0)"]}


def test_a_run_compares_verdicts_with_outcomes(tmp_path) -> None:
    folder = save(log_of(ABOUT, tables()), tmp_path / "shop")
    me.run(study(folder), out=tmp_path / "run")
    found = pd.read_csv(tmp_path / "run" / "board.csv").set_index("evaluator")["estimate"]
    # Recorded is asked once of the one pair that differs, a above b, and says so the wrong way round.
    assert found["Recorded('e')"] == 0
    assert (tmp_path / "run" / "report.html").exists()
    overlap = pd.read_csv(tmp_path / "run" / "overlap.csv")
    assert overlap["n"][0] == 5
    assert overlap["source"].unique().tolist() == ["logged"]
    # A finished run shows the same as the run itself.
    assert {"means", "overlap", "balance"} <= {sheet.name for sheet in details(tmp_path / "run")}


def test_propensities_of_a_study_may_be_fitted(tmp_path) -> None:
    how = {"source": "fitted", "refits": 2, "folds": 3, "features": ["item_popularity"]}
    content = {**study("data/exposure"), "evaluators": ["Random(seed=0)"], "propensity": how}
    me.run(content, out=tmp_path / "run")
    means = pd.read_csv(tmp_path / "run" / "means.csv").set_index("mean")
    assert means["ci_low"]["snips"] < means["value"]["snips"] < means["ci_high"]["snips"]
    with pytest.raises(StudyError, match="source"):
        me.run({**content, "propensity": {"source": "guessed"}}, out=tmp_path / "other")


def test_without_pairs_the_command_that_makes_them_is_named(tmp_path) -> None:
    folder = save(log_of(ABOUT, {"log": tables()["log"]}), tmp_path / "my shop")
    with pytest.raises(StudyError, match=r"has no pairs to judge; .* metaeval data pairs '.*my shop'"):
        me.run(study(folder), out=tmp_path / "run")
