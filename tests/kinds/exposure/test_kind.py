"""A log with pairs is run as any other data set; one without pairs says how they are made."""

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import StudyError
from metaeval.kinds.exposure.data.loading import log_of, save
from tests.kinds.exposure.data.test_loading import ABOUT, tables


def study(folder):
    return {"kind": "exposure", "dataset": str(folder), "evaluators": ["Recorded('e')", "Random(seed=0)"]}


def test_a_run_compares_verdicts_with_outcomes(tmp_path) -> None:
    folder = save(log_of(ABOUT, tables()), tmp_path / "shop")
    me.run(study(folder), out=tmp_path / "run")
    found = pd.read_csv(tmp_path / "run" / "pair_auc.csv").query("bin == 'all' and not weighted")
    found = found.set_index("evaluator")["estimate"]
    # Recorded is asked once of the one pair that differs, a above b, and says so the wrong way round.
    assert found["Recorded('e')"] == 0
    assert (tmp_path / "run" / "report.html").exists()


def test_without_pairs_the_command_that_makes_them_is_named(tmp_path) -> None:
    folder = save(log_of(ABOUT, {"log": tables()["log"]}), tmp_path / "my shop")
    with pytest.raises(StudyError, match=r"has no pairs to judge; .* metaeval data pairs '.*my shop'"):
        me.run(study(folder), out=tmp_path / "run")
