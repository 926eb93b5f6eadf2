"""A loop goes on where it stopped, says what it cannot do before it asks, and leaves the truth alone."""

from pathlib import Path

import pandas as pd
import pytest

from data.make_exposure import simulate
from metaeval.cli import main
from metaeval.kinds.exposure.data.loading import load, save
from metaeval.study.loop import loop

STUDY = """\
kind: exposure
dataset: {data}
evaluators: ["Random(seed=0)", "Random(seed=1)"]
bootstrap: {{resamples: 50}}
tests: null
details: false
propensity: {{source: logged}}
synthesis: {{steps: 8{more}}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def study(data: str = "data/exposure", more: str = "", **keys: str) -> str:
    text = STUDY.format(data=data, more=more) + "".join(f"{key}: {value}\n" for key, value in keys.items())
    Path("study.yaml").write_text(text)
    return "study.yaml"


@pytest.fixture(scope="module")
def looped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loop of one round, for tests that only read it."""
    folder = tmp_path_factory.mktemp("loop")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        loop(study(), "out")
    return folder / "out"


@pytest.mark.slow
def test_two_rounds_are_written_and_a_finished_loop_makes_no_run_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["loop", study(), "--out", "out", "--rounds", "2"]) == 0
    said = capsys.readouterr()
    assert "SIMULATED DATA" in said.err
    assert said.out.splitlines()[-1] == "out/loop.csv"
    changes = pd.read_csv("out/loop.csv")
    last = changes[changes["round"] == 2]
    shown = last[(last["change_low"] > 0) | (last["change_high"] < 0)]
    of = [f"{(shown['of'] == what).sum()} of 4 measures of {what}s" for what in ("evaluator", "recommender")]
    first = Path("out/loop.md").read_text().splitlines()[0]
    assert first.startswith(f"After 2 rounds, a change is shown in {of[0]}")
    assert of[1] in first
    assert said.out.startswith(first[:40])
    assert changes.columns.tolist()[:4] == ["of", "name", "measure", "round"]
    assert changes.groupby("of")["name"].nunique().to_dict() == {"evaluator": 2, "recommender": 1}
    assert (changes["change"] - (changes["after"] - changes["before"])).abs().max() < 1e-12
    assert changes["round"].unique().tolist() == [1, 2]
    rounds = [load(f"out/{name}") for name in ("synthetic", "synthetic-2")]
    assert len(rounds[1].synthetic or ()) == 2 * len(rounds[0].synthetic or ())
    record = Path("out/round-1/run.json").read_bytes()
    first = Path("out/loop.csv").read_bytes()
    assert main(["loop", "study.yaml", "--out", "out", "--rounds", "2"]) == 0
    assert Path("out/round-1/run.json").read_bytes() == record
    assert Path("out/loop.csv").read_bytes() == first


@pytest.mark.slow
def test_each_constraint_is_off_in_a_row_of_its_own() -> None:
    """Without any, all pass; with the similarity alone, few do, and sequences are nearer to real users."""
    loop(study(more=", constraint: either"), "out")
    rows = pd.read_csv("out/loop-ablation.csv").set_index("off")
    assert rows["constraint"].to_dict() == {
        "nothing": "either",
        "transition": "similarity",
        "similarity": "transition",
        "both": "none",
    }
    assert rows["accepted"]["both"] == 1
    assert rows["accepted"].idxmin() == "transition"
    assert rows["nearest"].idxmax() == "transition"
    # What is gained is that of the table of changes, and differences are of the same users.
    changes = pd.read_csv("out/loop.csv").set_index("measure").loc["IPS-Recall@20"]
    assert rows.loc["nothing", ["change", "change_low", "change_high"]].tolist() == pytest.approx(
        changes[["change", "change_low", "change_high"]].tolist()
    )
    assert rows["difference"]["both"] == pytest.approx(rows["change"]["both"] - rows["change"]["nothing"])


@pytest.mark.slow
def test_the_truth_of_each_round_is_that_of_the_real_log(looped: Path) -> None:
    real = load("data/exposure")
    log = (
        real.log.astype({"user_id": "str", "item_id": "str"})
        .groupby(["user_id", "item_id"])["outcome"]
        .mean()
    )
    after = load(looped / "synthetic")
    truth = pd.read_parquet(looped / "round-1" / "truth.parquet").set_index(["user_id", "pair", "order"])[
        "rating"
    ]
    assert len(after)
    for unit in after.table.itertuples():
        gap = log[unit.user_id, unit.first] - log[unit.user_id, unit.second]
        assert truth[unit.user_id, unit.pair, unit.order] * gap > 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"more": ", target: [1, 1]"}, "target has 2 shares, and the items have 5 bins"),
        ({"more": ", transition: 2"}, "synthesis.transition: 2: it must be less than or equal to 1"),
        ({"more": ", stepps: 2"}, "did you mean 'steps'"),
        (
            {"truth": "Random(seed=3)"},
            "the truth of a loop is User(), the user's own log, not Random(seed=3)",
        ),
        ({"data": "data/relevance"}, "holds a data set of kind 'relevance'"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_written(
    given: dict[str, str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["loop", study(**given), "--out", "out"]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert "Traceback" not in said
    assert not Path("out").exists()


@pytest.mark.slow
def test_other_kinds_recorded_verdicts_and_synthetic_data_are_refused(
    looped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = simulate(users=60, items=100).data
    save(data, "bare")
    assert main(["loop", study("bare"), "--out", "out"]) == 2
    assert "has no pairs to judge" in capsys.readouterr().err
    assert main(["loop", study(str(looped / "synthetic")), "--out", "out"]) == 2
    assert "has synthetic rows; begin with the data set without them" in capsys.readouterr().err
    assert main(["loop", study(), "--out", str(looped / "round-0")]) == 2
    assert "which no loop writes; give another --out" in capsys.readouterr().err
    Path("other.yaml").write_text("dataset: data/sample\nevaluators: [Random(seed=0)]\n")
    assert main(["loop", "other.yaml"]) == 2
    assert "a loop takes one of kind 'exposure'" in capsys.readouterr().err
