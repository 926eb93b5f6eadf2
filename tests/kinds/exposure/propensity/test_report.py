"""What is said of a log before it is weighted; on Coat, the published numbers."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from metaeval.base.simulation import REAL
from metaeval.cli import cli
from metaeval.kinds.exposure.data.imports.coat import import_coat
from metaeval.kinds.exposure.data.loading import load, save
from metaeval.kinds.exposure.propensity.means import gap_sentence
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.propensity.overlap import balance_frame, overlap_frame
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.propensity.report import overlap_report
from metaeval.kinds.exposure.propensity.sheets import overlap_sheet
from metaeval.reports.sheets import cells
from tests.kinds.exposure.propensity.logs import planted_set


@pytest.fixture(scope="module")
def coat(real_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("coat") / "coat"
    import_coat(real_data / "coat", folder)
    return folder


def test_coat_by_the_command(coat) -> None:
    done = CliRunner().invoke(cli, ["data", "overlap", str(coat), "--resamples", "200", "--format", "md"])
    assert done.exit_code == 0, done.output
    assert "| naive | 2.611 [" in done.output
    assert "| ips | 2.424 [" in done.output
    assert "| snips | 2.331 [" in done.output
    assert "| random sample | 2.229 [" in done.output
    assert "| 2,211 | 1.04 |" in done.output
    assert (
        "IPS closes 49 % of this gap and SNIPS 73 %: propensities close part of the gap only." in done.output
    )


def test_a_bin_is_the_log_of_its_items(coat) -> None:
    given = propensities_of(load(coat), PropensityOptions())
    frame = overlap_frame(given)
    whole, bins = frame[frame["by"] == "all"], frame[frame["by"] == "popularity"]
    assert whole["n"].sum() == bins["n"].sum() == 6960
    assert whole["items"].sum() == bins["items"].sum() == 300
    weights = (bins["mean_weight"] * bins["items"]).sum() / 300
    assert whole["mean_weight"].item() == pytest.approx(weights)
    assert (bins["minimum"] >= whole["minimum"].item()).all()


def test_right_propensities_balance_items_and_wrong_ones_are_seen() -> None:
    data, *_ = planted_set(1, slope=0.8, level=-1.0)
    given = propensities_of(data, PropensityOptions())
    balance = balance_frame(given)
    popularity = balance.iloc[0]
    assert popularity["covariate"] == "popularity (log)"
    assert popularity["before"] > 0.3
    assert abs(popularity["after"]) < 0.1
    right = overlap_frame(given)["mean_weight"][0]
    wrong = overlap_frame(propensities_of(_scaled(data, 0.5), PropensityOptions()))["mean_weight"][0]
    assert right == pytest.approx(1, abs=0.06)
    assert wrong == pytest.approx(2 * right)


def _scaled(data, by):
    return replace(data, log=data.log.assign(propensity=data.log["propensity"] * by))


def test_balance_has_the_fields_of_profiles(coat) -> None:
    data = load(coat)
    found = balance_frame(propensities_of(data, PropensityOptions()))
    users = found[found["of"] == "user"]["covariate"].tolist()
    assert users[0] == "frequency"
    assert any(name.split(":")[0] in data.profiles for name in users)


def test_items_that_were_never_shown_are_counted() -> None:
    data, *_ = planted_set(2, users=30, items=60, level=-4.0)
    frame = overlap_frame(propensities_of(data, PropensityOptions()))
    never = 1 - data.log["item_id"].nunique() / 60
    assert never > 0
    assert frame["unshown"][0] == pytest.approx(never)


def test_no_small_propensity_is_printed_as_zero() -> None:
    data, *_ = planted_set(2, users=30, items=60)
    frame = overlap_frame(propensities_of(data, PropensityOptions())).assign(minimum=2e-5, q01=2e-9)
    sheet = overlap_sheet(frame, REAL)
    at = [[c.name for c in sheet.columns].index(name) for name in ("minimum", "q01")]
    assert {float(row[i]) for row in cells(sheet) for i in at} == {2e-5, 2e-9}


def test_a_fitted_model_is_shown_with_its_calibration(tmp_path) -> None:
    data, *_ = planted_set(4, users=60, items=40)
    folder = save(data, tmp_path / "log")
    options = PropensityOptions(source="fitted", refits=2)
    sheets = {sheet.name: sheet for sheet in overlap_report(folder, options, resamples=50)}
    assert set(sheets) == {"means", "overlap", "balance", "coefficients", "propensity_calibration"}
    frame = sheets["propensity_calibration"].frame
    np.testing.assert_allclose(frame["pairs"].sum(), 60 * 40)
    assert np.average(frame["predicted"], weights=frame["pairs"]) == pytest.approx(
        len(data.log) / 2400, rel=0.1
    )
    assert "2 resamples of users, propensities fitted again in each" in sheets["means"].notes[-1]


def test_the_sentence_says_what_is_closed_and_nothing_without_a_sample(coat) -> None:
    (means,) = [s for s in overlap_report(coat, PropensityOptions(), resamples=20) if s.name == "means"]
    assert gap_sentence(means.frame) == means.notes[0]
    assert not gap_sentence(means.frame.assign(closed=np.nan))
    over = means.frame.assign(closed=[np.nan, 1.2, 0.5, np.nan])
    assert "do not close the gap reliably" in gap_sentence(over.assign(ci_low=np.nan))
    assert "what is left is within the intervals" in gap_sentence(over.assign(ci_low=0.0, ci_high=9.0))


def test_a_folder_that_is_no_log_is_refused(sample) -> None:
    done = CliRunner().invoke(cli, ["data", "overlap", str(sample)])
    assert "holds a data set of kind 'explanations'; give one of exposure" in str(done.exception)


def test_a_log_without_users_is_resampled_by_rows(tmp_path) -> None:
    data, *_ = planted_set(6, users=40, items=20)
    folder = save(replace(data, log=data.log.drop(columns="user_id"), exposure="choice"), tmp_path / "log")
    means, _, balance = overlap_report(folder, PropensityOptions(), resamples=20)
    assert means.notes[-1] == "95 % intervals from 20 resamples of rows."
    assert set(balance.frame["of"]) == {"item"}


def test_json(coat) -> None:
    done = CliRunner().invoke(cli, ["data", "overlap", str(coat), "--resamples", "20", "--json"])
    assert {"means", "overlap", "balance"} <= set(json.loads(done.output))
