"""``metaeval off-policy``: what it prints and writes, and what it says of wrong input."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.cli import main
from metaeval.kinds.exposure.data.loading import log_of, save

COLUMNS = "policy,estimator,clip,value,ci_low,ci_high,ess,mean_weight,support,refused,reason"


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A sound log of 1,200 rounds of 150 users, and one item more that it never shows."""
    rng = np.random.default_rng(0)
    item = rng.choice(4, 1_200, p=(shares := np.array([0.4, 0.3, 0.2, 0.1])))
    log = pd.DataFrame(
        {
            "user_id": [f"u{i % 150}" for i in range(1_200)],
            "item_id": [f"i{i}" for i in item],
            "outcome": (rng.random(1_200) < 0.1 + 0.1 * item).astype(int),
            "propensity": shares[item],
        }
    )
    about = {"name": "sound", "outcome": {"min": 0, "max": 1}, "simulated": True}
    save(log_of(about, {"log": log}), tmp_path / "data")
    (tmp_path / "new.csv").write_text("item_id,probability\ni0,0.2\ni1,0.2\nnew,0.6\n")
    return str(tmp_path / "data")


def rows(path: Path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_values_and_overlap_are_files_beside_each_other(data: str, tmp_path: Path) -> None:
    out = tmp_path / "off_policy.csv"
    sweep = ["--clip", "1.5,3", "--trim", "3", "--resamples", "200"]
    assert main(["off-policy", data, "--policy", "uniform", *sweep, "--out", str(out)]) == 0
    found = rows(out)
    assert out.read_text().startswith(COLUMNS)
    assert [r["clip"] for r in found if r["estimator"] == "ips"] == ["", "1.5", "3.0", ""]
    assert [r["trim"] for r in found if r["estimator"] == "ips"] == ["", "", "", "3.0"]
    plain = {r["estimator"]: float(r["value"]) for r in found if not r["clip"] + r["trim"]}
    assert plain["dr"] == pytest.approx(0.25, abs=0.04)  # each item alike
    assert {r["simulated"] for r in found} == {"data"}
    overlap = {r["quantity"]: r["value"] for r in rows(tmp_path / "off_policy-overlap.csv")}
    assert float(overlap["largest weight"]) == 2.5


def test_a_refusal_is_a_row_and_force_shows_it(data: str, tmp_path: Path) -> None:
    out, policy = tmp_path / "x.csv", str(tmp_path / "new.csv")
    command = ["off-policy", data, "--policy", policy, "--estimators", "ips", "--resamples", "50"]
    assert main([*command, "--out", str(out)]) == 0
    (row,) = rows(out)
    assert (row["policy"], row["refused"], row["value"]) == ("new", "True", "")
    assert (
        "support: 60.0% of the policy is on what the log never shows; chance would leave out 0.0%"
        in row["reason"]
    )
    assert float(row["support"]) == pytest.approx(0.4)
    assert main([*command, "--force", "--out", str(out)]) == 0
    (forced,) = rows(out)
    assert forced["refused"] == "True"
    assert float(forced["value"]) > 0


def test_coat_by_its_released_propensities(real_data: Path, tmp_path: Path) -> None:
    """Done-criterion 2, for the policy that shows every user every coat alike."""
    coat, out = str(tmp_path / "coat"), tmp_path / "coat.csv"
    assert main(["data", "import", "coat", str(real_data / "coat"), "--kind", "exposure", "--out", coat]) == 0
    options = ["--policy", "uniform", "--resamples", "100", "--out", str(out)]
    assert main(["off-policy", coat, *options]) == 0
    found = {row["estimator"]: row for row in rows(out)}
    values = {name: round(float(found[name]["value"]), 3) for name in ("naive", "ips", "snips")}
    assert values == {"naive": 2.611, "ips": 2.424, "snips": 2.331}
    assert round(float(found["ips"]["ess"])) == 2_211
    assert {f"{float(row['random_sample']):.3f}" for row in found.values()} == {"2.229"}
    sources = {}
    for source in ("fitted", "naive-bayes"):
        assert main(["off-policy", coat, *options, "--propensity", source, "--refits", "0"]) == 0
        sources[source] = {row["estimator"]: row for row in rows(out)}["snips"]
    assert "random_sample: weighted by fitted propensities" in sources["fitted"]["reason"]
    assert (f"{float(sources['naive-bayes']['value']):.3f}", sources["naive-bayes"]["reason"]) == (
        "2.229",
        "",
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--policy", "unifrom"], "did you mean 'uniform'"),
        (["--policy", "uniform", "--estimators", "ips,dm"], "'dm' is not allowed"),
        (["--policy", "uniform", "--clip", "ten"], "'ten' is not a list of numbers, such as 10,100"),
        (["--policy", "uniform", "--clip", "-1"], "give numbers above 0"),
        ([], "--policy"),
    ],
)
def test_wrong_input_is_one_sentence(data: str, options: list[str], says: str, capsys) -> None:
    assert main(["off-policy", data, *options]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert len(err.strip().splitlines()) == 1
