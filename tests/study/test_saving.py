"""`metaeval.save`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sample", "relevance", "slates", "exposure"])
def test_a_data_set_of_every_kind_is_loaded_as_it_was_saved(name: str, tmp_path: Path) -> None:
    data = me.load(f"data/{name}")
    assert me.save(data, tmp_path / "first") == tmp_path / "first"
    assert me.load(tmp_path / "first").fingerprint == data.fingerprint
    with pytest.raises(MetaevalError, match="holds a data set already"):
        data.save(tmp_path / "first")
    data.save(tmp_path / "first", "csv", force=True)
    assert me.load(tmp_path / "first").fingerprint == data.fingerprint


def test_scores_and_correlations_keep_every_digit(tiny: Path, tmp_path: Path) -> None:
    data = me.load(tiny)
    scores = me.score(data, ["Length()", "Random()"])
    result = me.correlate(scores, data.ratings[data.ratings["rater"] == "user"])
    for name, table in (("scores", scores), ("correlations", result)):
        file = me.save(table, tmp_path / f"{name}.parquet")
        pd.testing.assert_frame_equal(pd.read_parquet(file), table.frame)
    file = me.save(result, tmp_path / "correlations.csv")
    pd.testing.assert_frame_equal(pd.read_csv(file), result.frame, check_exact=True, check_dtype=False)


def test_what_is_not_saved(tiny: Path, tmp_path: Path) -> None:
    scores = me.score(me.load(tiny), ["Length()"])
    with pytest.raises(MetaevalError, match="not a DataFrame"):
        me.save(scores.frame, tmp_path / "x.csv")
    with pytest.raises(MetaevalError, match=r"its suffix may be .csv, .parquet, .jsonl"):
        me.save(scores, tmp_path / "x.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]
