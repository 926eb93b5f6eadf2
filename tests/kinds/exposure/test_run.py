"""A study of exposure from its file to its folder, and what is done with the folder afterwards."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import metaeval as me
from data.make_exposure import simulate
from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.kinds.exposure.commands import make_pairs
from metaeval.kinds.exposure.data.loading import save
from metaeval.trust.calibration.calibrating import calibration_of
from metaeval.trust.calibration.sheets import Calibrating
from tests.conftest import ROOT
from tests.study.test_report import payload_of

STUDY = """\
kind: exposure
name: pairs
dataset: {data}
evaluators:
  coin: Random(seed=0)
  popular: Popularity()
  best: System('near-best')
  one: "MatchedPairs('simulated/one,noise=0.05,invent=0.3', fields=['genres'], history=20)"
  two: "MatchedPairs('simulated/two,noise=0.05', fields=['genres'], history=20, evidence='ignore')"
  panel: Majority(one, two, skip_missing=True)
ties: half
ablations:
  - base: one
    vary: {{evidence: [ignore], temperature: [1]}}
    against: [two, panel]
    matching: [[popularity], []]
order_by: {{measure: RJS}}
bootstrap: {{resamples: 100}}
tests: {{permutations: 100}}
judging: {{store: {store}}}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a study, its run in ``run``."""
    folder = tmp_path_factory.mktemp("exposure")
    save(simulate(users=12, items=80).data, folder / "data", "csv")
    make_pairs(folder / "data", per_user=4)
    text = STUDY.format(data=folder / "data", store=folder / "store.sqlite")
    (folder / "s.yaml").write_text(text, encoding="utf-8")
    assert main(["run", str(folder / "s.yaml"), "--out", str(folder / "run")]) == 0
    return folder


def read(place, name, run="run"):
    return pd.read_csv(place / run / name)


def test_the_files_of_a_run(place):
    table = read(place, "pair_auc.csv")
    assert ",".join(table).startswith("evaluator,bin,weighted,estimate,ci_low,ci_high,ties,invalid,n_pairs")
    assert {"one, evidence ignore", "one, temperature 1", "panel"} < set(table["evaluator"])
    whole = table[(table["bin"] == "all") & table["weighted"]].set_index("evaluator")
    assert whole["rjs"].to_numpy() == pytest.approx(2 * whole["estimate"].to_numpy() - 1)
    evidence = read(place, "evidence.csv").set_index(["evaluator", "order"]).sort_index()
    one = evidence.loc[("one", "both")]
    invented = read(place, "invented.csv")
    assert 0 < one["n_invented"] == one["n_discarded"] == (invented["evaluator"] == "one").sum()
    assert evidence.loc[("two", "both"), "complete"] == 1
    assert evidence.loc[("one, evidence ignore", "both"), "n_discarded"] == 0
    assert whole.loc["one", "invalid"] > 0 == whole.loc["one, evidence ignore", "invalid"]
    assert all((place / "run" / f"{name}.csv").exists() for name in ("board", "tests", "ranking"))


def test_the_grid_changes_one_thing_at_a_time(place):
    grid = read(place, "ablations.csv")
    changed = grid["argument"].fillna("") + ": " + grid["value_of"].fillna("")
    assert changed.tolist() == [
        *(": ", "evidence: ignore", "temperature: 1", "evaluator: two", "evaluator: panel"),
        *("weights: none", "matched on: popularity", "matched on: nothing"),
    ]
    table = read(place, "pair_auc.csv")
    whole = table[table["bin"] == "all"].set_index(["evaluator", "weighted"])["estimate"]
    wanted = [*(whole[name, True] for name in grid["evaluator"][:5]), whole["one", False]]
    assert grid["estimate"][:6].tolist() == pytest.approx(wanted)
    assert grid["difference"].to_numpy() == pytest.approx(grid["estimate"] - grid["estimate"][0])
    assert grid["difference_low"].le(grid["difference"] + 1e-12).all()
    assert grid["p"].notna().tolist() == [False, True, True, True, True, False, False, False]
    assert grid["n_pairs"][6] > 0
    assert grid["n_pairs"][7] > grid["n_pairs"][0]


def test_a_finished_run_is_ordered_detailed_and_drawn(place, capsys):
    by = ["leaderboard", str(place / "run"), "--format", "md", "--by"]
    assert main([*by, "all,none,PairAUC"]) == 0
    assert "Ordered by all bins, unweighted, PairAUC" in capsys.readouterr().out
    assert main([*by, "9,none,PairAUC"]) == 2
    assert "no bin '9'" in capsys.readouterr().err
    assert main(["details", str(place / "run"), "--format", "md"]) == 0
    told = capsys.readouterr().out
    for title in ("Agreement on matched pairs", "Evidence quoted by judges", "Invented evidence"):
        assert f"## {title}" in told
    assert told in (place / "run" / "details.md").read_text(encoding="utf-8") + "\n"
    out = place / "figures"
    assert main(["figures", str(place / "run"), "--out", str(out), "--format", "svg"]) == 0
    assert {"exposure_bias", "agreement_by_bin"} <= {path.stem for path in out.iterdir()}
    # The report shows pairs, and why a verdict is invalid.
    page = payload_of(place / "run" / "report.html")
    assert "invented: the evidence in the reply is not in the prompt" in str(page["glossary"])
    parts = {part["title"]: part for part in page["units"]["parts"]}
    assert {"shown first", "shown second", "weight of the pair", "what the user did before"} <= set(parts)
    assert "invented" in page["units"]["statusNames"]
    assert {"evidence", "invented", "ablations"} <= {sheet["name"] for sheet in page["sheets"]}


def test_another_rule_another_source_of_weights_and_a_replay_offline(place):
    text = (place / "s.yaml").read_text(encoding="utf-8")
    own = text.replace("ties: half", "ties: drop\nevidence: weight\npropensity: {floor: 0.5}")
    (place / "weight.yaml").write_text(own, encoding="utf-8")
    me.run(place / "weight.yaml", out=place / "weight", offline=True)  # all replies are in the store
    record = json.loads((place / "weight" / "run.json").read_text(encoding="utf-8"))
    specs = {name: found["spec"] for name, found in record["evaluators"].items()}
    assert "evidence='weight'" in specs["one"]
    assert "evidence='ignore'" in specs["two"]
    assert specs["panel"].count("evidence=") == 2
    units = pd.read_parquet(place / "weight" / "units.parquet")
    weights = units["weight"].to_numpy()
    low = units[["propensity_first", "propensity_second"]].max(axis=1) < 0.5
    assert low.any()
    assert (weights[low] == 4).all()
    table = read(place, "pair_auc.csv", "weight").set_index(["evaluator", "bin", "weighted"]).sort_index()
    assert table.loc[("one", "all", True), "invalid"] == 0


@pytest.mark.slow
def test_runs_are_compared(place, capsys):
    text = (place / "s.yaml").read_text(encoding="utf-8").replace("noise=0.05", "noise=3")
    (place / "other.yaml").write_text(text, encoding="utf-8")
    assert main(["run", str(place / "other.yaml"), "--out", str(place / "other")]) == 0
    capsys.readouterr()
    runs = [str(place / name) for name in ("run", "other")]
    assert main(["compare", *runs, "--by", "all,ips,RJS"]) == 0
    assert "swaps of verdicts by user" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("measure: RJS", "measure: AUC", "order_by.measure"),
        ("measure: RJS", "bin: 7", "order_by.bin"),
        ("measure: RJS", "bin: '7'", "the data set has no bin of popularity '7'"),
        ("ties: half", "ties: skip", "ties"),
        ("ties: half", "evidence: drop", "evidence"),
        ("against: [two, panel]", "against: [tow]", "no evaluator 'tow'; did you mean 'two'"),
        ("base: one", "base: on", "no evaluator 'on'"),
        ("matching: [[popularity], []]", "matching: [[colour]]", "colour"),
        ("matching: [[popularity], []]", "matching: [[category]]", "no column 'category'"),
        ("System('near-best')", "System('nearbest')", "no recommender 'nearbest'; did you mean 'near-best'"),
        ("ties: half", "propensity: {floor: 2}", "floor"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(place, capsys, old, new, said):
    study = (place / "s.yaml").read_text(encoding="utf-8").replace(old, new)
    (place / "wrong.yaml").write_text(study, encoding="utf-8")
    assert main(["run", str(place / "wrong.yaml"), "--out", str(place / "wrong")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert said in line
    shutil.rmtree(place / "wrong", ignore_errors=True)


@pytest.fixture
def run(demo_of):
    """Return the run folder of the demo."""
    assert me.load("data/exposure").simulated
    return demo_of("exposure") / "results" / "exposure"


@pytest.mark.slow
def test_judges_beat_the_first_place_and_systems_are_as_good_as_they_were_made(run):
    found = pd.read_csv(run / "pair_auc.csv").query("bin == 'all' and weighted").set_index("evaluator")
    assert found.loc["first", "estimate"] == pytest.approx(0.5)
    assert found.loc[["best", "three", "panel"], "ci_low"].gt(0.5).all()
    assert found.loc[["one", "two"], "estimate"].gt(0.5).all()
    assert found.loc["best", "estimate"] > found.loc["taste", "estimate"]


def test_only_the_judge_that_makes_things_up_is_caught(run):
    audit = pd.read_csv(run / "evidence.csv").query("order == 'both'").set_index("evaluator")["complete"]
    assert audit[["two", "three"]].eq(1).all()
    assert 0.7 < audit["one"] < 0.9


def test_calibrate_measures_the_confidence_of_verdicts_alone(place, tmp_path):
    run = shutil.copytree(place / "run", tmp_path / "run")
    sheets = calibration_of(run, Calibrating(resamples=50))
    assert [sheet.name for sheet in sheets] == ["conclusion", "confidence", "reliability"]
    assert {"one", "two"} <= set(sheets[0].frame["evaluator"])
    assert not (run / "calibration.json").exists()
    assert main(["calibrate", str(run), "--resamples", "50"]) == 0
    assert "reliability" in {figure["name"] for figure in payload_of(run / "report.html")["figures"]}
    with pytest.raises(MetaevalError, match="this takes ratings"):
        calibration_of(run, Calibrating(evaluators=("coin",)))


def test_a_field_of_users_parts_agreement_and_online_values_are_a_target(tmp_path: Path) -> None:
    """Of users who click what is popular, and others: the values of all pairs are their mean by weight."""
    place = shutil.copytree(ROOT / "data" / "exposure", tmp_path / "log")
    users = sorted(pd.read_csv(place / "log.csv")["user_id"].unique())
    groups = pd.DataFrame(
        {"user_id": users, "plan": ["free" if i % 3 else "paid" for i in range(len(users))]}
    )
    groups.to_csv(place / "profiles.csv", index=False)
    online = tmp_path / "online.csv"
    online.write_text(
        "system,minutes\n" + "".join(f"taste-{n},{n * 10}\n" for n in range(1, 5)) + "random,1\n"
    )
    study = {
        "kind": "exposure",
        "dataset": str(place),
        "evaluators": ["Popularity()"],
        "by": "plan",
        "recommenders": {"measures": ["Recall"], "estimators": ["ips"], "online": str(online)},
        "bootstrap": {"resamples": 200},
        "tests": None,
    }
    me.run(study, tmp_path / "run")
    by = pd.read_csv(tmp_path / "run" / "pair_auc_by.csv").set_index("value")
    assert by["n_users"].to_dict() == {"free": by["n_users"]["free"], "paid": by["n_users"]["paid"]}
    whole = pd.read_csv(tmp_path / "run" / "pair_auc.csv").iloc[0]
    assert by["n_pairs"].sum() == whole["n_pairs"]
    assert by["estimate"].min() < whole["estimate"] < by["estimate"].max()
    links = pd.read_csv(tmp_path / "run" / "calibration.csv").set_index(["measure", "estimator"])
    assert set(links.index) == {("Recall@20", "ips"), ("minutes", "online")}
    own = links.loc["minutes", "online"]
    assert (own["n_systems"], own["n_refused"]) == (5, 0)
    points = pd.read_csv(tmp_path / "run" / "calibration_points.csv")
    assert points[points["estimator"] == "online"].set_index("system")["target"]["taste-3"] == 30
    with pytest.raises(MetaevalError, match="has no column 'plam'; did you mean 'plan'"):
        me.run({**study, "by": "plam"}, tmp_path / "other")
    online.write_text("system,minutes\nnobody,3\n")
    with pytest.raises(
        MetaevalError, match=r"online.csv: no recommender that can be measured is called 'nobody'"
    ):
        me.run(study, tmp_path / "other")
