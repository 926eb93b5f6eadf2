"""Paired tests of files against those of frames."""

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.base.records import COEFFICIENTS
from metaeval.engine import passes
from tests.engine.test_correlation import study
from tests.engine.test_passes import written

CELLS = [
    *(("dataset", coefficient, swap) for coefficient in COEFFICIENTS for swap in ("user", "item")),
    *(("user", coefficient, "user") for coefficient in COEFFICIENTS),
    ("pair", "kendall", "user"),
    ("item", "pearson", "user"),
    ("generator", "spearman", None),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["likert", "continuous"])
@pytest.mark.parametrize(("level", "coefficient", "swap"), CELLS)
def test_files_give_the_tests_of_frames(tmp_path, monkeypatch, level, coefficient, swap, kind):
    monkeypatch.setattr(passes, "_BLOCK", 1)
    scores, truth = study(3, kind=kind)
    options = {"level": level, "coefficient": coefficient, "swap": swap, "permutations": 200}
    for fill in ({}, {"missing": {"score": 2}}, {"aspect": "true"}):
        expected = me.compare(scores, truth, **options, **fill)
        given = written(tmp_path / "scores", scores)
        found = me.compare(given, truth, engine="duckdb", **options, **fill)
        assert me.compare(given, truth, **options, **fill).frame.equals(expected.frame)
        assert found.policy == expected.policy
        without = [c for c in expected.frame if c != "p_williams"]
        pd.testing.assert_frame_equal(
            found.frame[without], expected.frame[without], rtol=0, atol=1e-12, check_exact=False
        )
        assert np.isnan(found.frame["p_williams"]).all()


def test_many_clusters_have_the_t_tests_of_frames(tmp_path, monkeypatch):
    monkeypatch.setattr("metaeval.stats.resampling.paired.LIMIT", 4)
    scores, truth = study(4, users=30)
    given = written(tmp_path / "scores", scores)
    for coefficient in COEFFICIENTS:
        expected = me.compare(scores, truth, coefficient=coefficient)
        found = me.compare(given, truth, coefficient=coefficient, engine="duckdb")
        assert found.policy == expected.policy
        assert found.policy["made_by"] != "permutations"
        np.testing.assert_allclose(found.p, expected.p, rtol=0, atol=1e-12)


def test_what_takes_all_scores_is_refused(tmp_path):
    scores, truth = study(users=40, kind="continuous")
    given = written(tmp_path / "scores", scores)
    with pytest.raises(MetaevalError, match=r"kendall at dataset level needs all scores in memory, 0.00 GB"):
        me.compare(given, truth, coefficient="kendall", engine="duckdb", permutations=20)
    with pytest.raises(MetaevalError, match="set units: common, and leave out evaluators without any score"):
        me.compare(given, truth, units="own", engine="duckdb", permutations=20)
    with pytest.raises(MetaevalError, match="engine 'duckdb' reads scores in Parquet files"):
        me.compare(scores, truth, engine="duckdb")
    with pytest.raises(MetaevalError, match="there is no aspect 'claer'"):
        me.compare(given, truth, aspect="claer", engine="duckdb", permutations=20)
