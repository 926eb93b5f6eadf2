"""The Open Bandit Dataset as released, and done-criterion 1: its off-policy values."""

import csv

import numpy as np
import pytest

from metaeval.base.errors import DataError
from metaeval.cli import main
from metaeval.kinds.exposure.data.imports.obd import import_obd, thompson
from metaeval.kinds.exposure.data.loading import load

HEAD = "timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0\n"
ROUNDS = HEAD + "".join(
    f"2019-11-24 00:0{i}:03.979311+00:00,{i % 3},{i % 3 + 1},{i % 2},0.25,ab{i % 2},0.5\n" for i in range(6)
)
PRIORS = "men:\n  alpha: [3.0, 1, 2]\n  beta: [5.0, 9, 7]\n"


@pytest.fixture
def released(tmp_path):
    for policy in ("random", "bts"):
        folder = tmp_path / policy / "men"
        folder.mkdir(parents=True)
        (folder / "men.csv").write_text(ROUNDS)
        (folder / "item_context.csv").write_text(",item_id,item_feature_0\n0,0,-0.5\n1,1,0.5\n2,2,1.5\n")
    (tmp_path / "prior_bts.yaml").write_text(PRIORS)
    return tmp_path


def test_rounds_items_and_policies(released):
    found = import_obd(released, released / "out")
    data = load(released / "out")
    rows = data.log[["item_id", "outcome", "position", "propensity"]].to_numpy().tolist()
    assert rows[:2] == [["0", 0.0, 1, 0.25], ["1", 1.0, 2, 0.25]]
    assert set(data.log) >= {"timestamp", "user_feature_0"}
    assert not [c for c in data.log if "affinity" in c]
    assert data.items["item_id"].tolist() == ["0", "1", "2"]
    assert [note.split(":")[0] for note in found.notes] == ["policy bts", "policy bts-estimated"]
    estimated = (released / "out" / "policies" / "bts-estimated.csv").read_text()
    rows = list(csv.DictReader(estimated.splitlines()))
    assert float(rows[0]["probability"]) == pytest.approx((2 + 1 / 3) / 3)
    import_obd(released, released / "out", force=True)  # the policies are a part of it


def test_the_priors_are_found_in_the_code_of_the_release_or_asked_for(released):
    """They lie in the library's code, and not among the data."""
    code, data = released / "zr-obp", released / "zr-obp" / "obd"
    (code / "obp" / "policy" / "conf").mkdir(parents=True)
    data.mkdir()
    for policy in ("random", "bts"):
        (released / policy).rename(data / policy)
    priors = (released / "prior_bts.yaml").rename(code / "obp" / "policy" / "conf" / "prior_bts.yaml")
    for folder in (code, data):
        assert "policy bts:" in import_obd(folder, released / "out", force=True).notes[0]
    priors.rename(released / "elsewhere.yaml")
    with pytest.raises(DataError, match=r"lie in the code of the release .*not in its data: name them with"):
        import_obd(data, released / "new")
    assert not (released / "new").exists()
    assert len(import_obd(data, released / "new", priors=str(released / "elsewhere.yaml")).notes) == 2
    assert len(import_obd(data, released / "none", priors="none").notes) == 1


def test_thompson_sampling_shows_the_items_with_the_highest_draws():
    found = thompson(np.array([900.0, 300, 100, 1]), np.array([100.0, 700, 900, 999]), draws=1_000)
    assert found.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    alike = thompson(np.full(5, 2.0), np.full(5, 8.0), draws=40_000)
    np.testing.assert_allclose(alike, 0.2, atol=0.01)
    np.testing.assert_allclose(thompson(np.full(5, 2.0), np.full(5, 8.0), draws=40_000), alike)


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("random/men/men.csv", None, "there is no file"),
        ("random/men/item_context.csv", None, "there is no file"),
        ("random/men/men.csv", "item_id,position\n1,1\n", "has no column 'timestamp'; it is not as released"),
        ("random/men/men.csv", ROUNDS.replace("0.25,", "1.5,"), "row 2, column 'propensity_score'"),
        ("prior_bts.yaml", "women: {}\n", "no alpha and beta of the campaign 'men'"),
        ("prior_bts.yaml", PRIORS.replace("[3.0,", "[3.0, 4,"), "must be 3 numbers above 0 each"),
    ],
)
def test_what_is_not_as_released_is_said_and_nothing_is_written(released, file, text, says):
    (released / file).unlink() if text is None else (released / file).write_text(text)
    with pytest.raises(DataError) as error:
        import_obd(released, released / "out")
    assert says in str(error.value)
    assert not (released / "out").exists()


@pytest.fixture
def values(real_data, tmp_path):
    """Return what the commands say of a campaign, a logging policy and an evaluated one, by estimator."""

    def read(campaign, logged, policy):
        data, out = tmp_path / f"{campaign}-{logged}", tmp_path / "values.csv"
        options = ["--campaign", campaign, "--policy", logged, "--out", str(data), "--force"]
        assert main(["data", "import", "obd", str(real_data / "obd"), *options]) == 0
        evaluated = ["--policy", policy, "--resamples", "100", "--out", str(out)]
        assert main(["off-policy", str(data), *evaluated]) == 0
        return {row["estimator"]: row for row in csv.DictReader(out.read_text().splitlines())}

    return read


@pytest.mark.slow
def test_men_random_to_bts(values):
    found = values("men", "random", "bts")
    assert {row["refused"] for row in found.values()} == {"False"}
    assert [f"{float(found[e]['value']):.5f}" for e in ("ips", "snips")] == ["0.00453", "0.00460"]
    assert round(float(found["ips"]["ess"])) == 2_467
    assert float(found["ips"]["mean_weight"]) == pytest.approx(0.98465, abs=1e-5)
    estimated = values("men", "random", "bts-estimated")
    assert f"{float(estimated['ips']['value']):.5f}" == "0.00566"
    assert round(float(estimated["ips"]["ess"])) == 2_871


def test_women_bts_to_random_is_refused_with_its_numbers(values):
    found = values("women", "bts", "uniform")
    for name in ("ips", "snips", "dr"):
        row = found[name]
        assert (row["refused"], row["value"], row["ci_low"]) == ("True", "", "")
        assert float(row["ess"]) == pytest.approx(2.08, abs=0.01)
        assert float(row["mean_weight"]) == pytest.approx(3.134, abs=0.001)
        assert "effective_size: the effective sample size is 2.1 (at least 100)" in row["reason"]
    assert found["naive"]["refused"] == "False"
