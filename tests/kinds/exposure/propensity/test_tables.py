"""What is said of a log before it is weighted; on Coat, the published numbers."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from metaeval.cli import cli
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.commands import overlap_report
from metaeval.kinds.exposure.data.imports.coat import import_coat
from metaeval.kinds.exposure.data.loading import load, save
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.propensity.tables import balance_frame, gap_sentence, overlap_frame
from metaeval.kinds.exposure.study import PropensityOptions
from tests.kinds.exposure.propensity.logs import planted_set


@pytest.fixture(scope="module")
def coat(real_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("coat") / "coat"
    import_coat(real_data / "coat", folder)
    return folder


def test_coat_by_the_command(coat):
    done = CliRunner().invoke(cli, ["data", "overlap", str(coat), "--resamples", "200", "--format", "md"])
    assert done.exit_code == 0, done.output
    for cells_ in (
        "naive | 2.611 [",
        "ips | 2.424 [",
        "snips | 2.331 [",
        "random sample | 2.229 [",
        "2,211 | 1.04 |",
    ):
        assert f"| {cells_}" in done.output
    assert (
        "IPS closes 49 % of this gap and SNIPS 73 %: propensities close part of the gap only." in done.output
    )


def test_a_bin_is_the_log_of_its_items_and_balance_has_the_fields_of_profiles(coat):
    data = load(coat)
    propensities = propensities_of(data, PropensityOptions())
    frame = overlap_frame(propensities)
    whole, bins = frame[frame["by"] == "all"], frame[frame["by"] == "popularity"]
    assert whole["n"].sum() == bins["n"].sum() == 6960
    assert whole["items"].sum() == bins["items"].sum() == 300
    weights = (bins["mean_weight"] * bins["items"]).sum() / 300
    assert whole["mean_weight"].item() == pytest.approx(weights)
    assert (bins["minimum"] >= whole["minimum"].item()).all()
    covariates = balance_frame(propensities).query("of == 'user'")["covariate"].tolist()
    assert covariates[0] == "frequency"
    assert any(name.split(":")[0] in data.profiles for name in covariates)


def test_right_propensities_balance_items_and_wrong_ones_are_seen():
    data, *_ = planted_set(1, slope=0.8, level=-1.0)
    given = propensities_of(data, PropensityOptions())
    balance = balance_frame(given)
    popularity = balance.iloc[0]
    assert popularity["covariate"] == "popularity (log)"
    assert popularity["before"] > 0.3
    assert abs(popularity["after"]) < 0.1
    right = overlap_frame(given)["mean_weight"][0]
    half = replace(data, log=data.log.assign(propensity=data.log["propensity"] / 2))
    wrong = overlap_frame(propensities_of(half, PropensityOptions()))["mean_weight"][0]
    assert right == pytest.approx(1, abs=0.06)
    assert wrong == pytest.approx(2 * right)


def test_items_that_were_never_shown_are_counted():
    data, *_ = planted_set(2, users=30, items=60, level=-4.0)
    frame = overlap_frame(propensities_of(data, PropensityOptions()))
    never = 1 - data.log["item_id"].nunique() / 60
    assert never > 0
    assert frame["unshown"][0] == pytest.approx(never)


def test_a_fitted_model_is_shown_with_its_calibration(tmp_path):
    data, *_ = planted_set(4, users=60, items=40)
    folder = save(data, tmp_path / "log")
    options = PropensityOptions(source="fitted", refits=2)
    sheets = {sheet.name: sheet for sheet in overlap_report(folder, options, Bootstrap(resamples=50))}
    assert set(sheets) == {"means", "overlap", "balance", "coefficients", "propensity_calibration"}
    frame = sheets["propensity_calibration"].frame
    np.testing.assert_allclose(frame["pairs"].sum(), 60 * 40)
    shown = np.average(frame["predicted"], weights=frame["pairs"])
    assert shown == pytest.approx(len(data.log) / 2400, rel=0.1)
    assert "2 resamples of users, propensities fitted again in each" in sheets["means"].notes[-1]


def test_the_sentence_says_what_is_closed_and_nothing_without_a_sample(coat):
    means, *_ = overlap_report(coat, PropensityOptions(), Bootstrap(resamples=20))
    assert gap_sentence(means.frame) == means.notes[0]
    assert not gap_sentence(means.frame.assign(closed=np.nan))
    over = means.frame.assign(closed=[np.nan, 1.2, 0.5, np.nan])
    assert "do not close the gap reliably" in gap_sentence(over.assign(ci_low=np.nan))
    assert "what is left is within the intervals" in gap_sentence(over.assign(ci_low=0.0, ci_high=9.0))


def test_a_folder_that_is_no_log_is_refused(sample):
    done = CliRunner().invoke(cli, ["data", "overlap", str(sample)])
    assert "holds a data set of kind 'explanations'; give one of exposure" in str(done.exception)


def test_a_log_without_users_is_resampled_by_rows(tmp_path):
    data, *_ = planted_set(6, users=40, items=20)
    folder = save(replace(data, log=data.log.drop(columns="user_id"), exposure="choice"), tmp_path / "log")
    means, _, balance = overlap_report(folder, PropensityOptions(), Bootstrap(resamples=20))
    assert means.notes[-1] == "95 % intervals from 20 resamples of rows."
    assert set(balance.frame["of"]) == {"item"}
