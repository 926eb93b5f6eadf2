"""No way leads from a synthetic row into a truth: each that there is, is tried here."""

from dataclasses import replace

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError, StudyError
from metaeval.cli import main
from metaeval.kinds.exposure.data.loading import load, log_of, save
from metaeval.kinds.exposure.data.log_set import SyntheticRows
from tests.kinds.exposure.data.test_loading import ABOUT, tables


@pytest.fixture
def folder(tmp_path):
    return save(log_of(ABOUT, tables()), tmp_path / "shop", "csv")


@pytest.mark.slow
@pytest.mark.parametrize("table", ["log", "pairs", "test"])
def test_a_row_that_says_that_it_is_synthetic_is_an_error_of_its_table(folder, table, capsys):
    frame = pd.read_csv(folder / f"{table}.csv").assign(source="web")
    frame.to_csv(folder / f"{table}.csv", index=False)
    assert main(["data", "check", str(folder)]) == 0  # another source is nobody's business
    frame.loc[len(frame) - 1, "source"] = "synth"
    frame.to_csv(folder / f"{table}.csv", index=False)
    capsys.readouterr()
    assert main(["data", "check", str(folder)]) == 1
    said = capsys.readouterr()
    assert (
        f"{table}.csv, row {len(frame) + 1}, column 'source': 'synth' is that of synthetic rows"
        in "".join(said)
    )
    study = {"kind": "exposure", "dataset": str(folder), "evaluators": ["Random(seed=0)"]}
    with pytest.raises(DataError, match="which no truth may hold"):
        me.run(study, out=folder.parent / "run")


def test_in_memory_they_are_no_frame_and_no_table_of_a_truth_takes_them(folder):
    data = load(folder)
    assert data.synthetic is not None
    with pytest.raises(TypeError, match="SyntheticRows"):
        pd.concat([data.log, data.synthetic])  # type: ignore[list-item]
    rows = data.synthetic.frame
    for name in ("log", "test", "ratings"):
        with pytest.raises(DataError, match=f"{name} has synthetic rows"):
            replace(data, **{name: pd.concat([getattr(data, name), rows])})
    with pytest.raises(DataError, match="pairs has synthetic rows"):
        replace(data, table=data.table.assign(source="synth"))
    with pytest.raises(DataError, match="every synthetic row has the source 'synth'"):
        SyntheticRows(rows.assign(source="log"))


@pytest.mark.slow
def test_the_truth_of_data_with_synthetic_rows_is_the_log_alone(folder, tmp_path):
    study = {"kind": "exposure", "dataset": str(folder), "evaluators": ["Random(seed=0)"]}
    with pytest.raises(StudyError, match=r"has synthetic rows, .* Recorded\('e'\) may be made of them"):
        me.run({**study, "truth": "Recorded('e')"}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    rows = load(folder)
    save(replace(rows, synthetic=None), tmp_path / "real")
    truths = [
        me.run({**study, "dataset": str(place)}, out=tmp_path / f"run-{place.name}").folder / "truth.parquet"
        for place in (folder, tmp_path / "real")
    ]
    pd.testing.assert_frame_equal(*map(pd.read_parquet, truths))
