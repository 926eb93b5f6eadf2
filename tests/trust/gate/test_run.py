"""Gates on runs: texts that nobody rated, and judges that people vouched for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.evaluators.verdicts import comparisons_of, points
from metaeval.kinds.explanations.data.loading import save
from metaeval.trust.calibration.record import calibration_text
from metaeval.trust.gate.baseline import read_baseline
from metaeval.trust.gate.run import GateRequest, baseline_of_run, gate_run
from tests.study.runs import QUICK
from tests.tiny import write_study


def golden(folder: Path, name: str, ending: str) -> Path:
    """Judge a golden set, whose texts people rated, and the system's new texts, which nobody did."""
    units = pd.DataFrame(
        [(f"u{u}", f"i{i}") for u in range(12) for i in range(3)], columns=["user_id", "item_id"]
    )
    text = "You liked a film by this director; it is about " + units["user_id"]
    labelled = units.assign(generator="labelled", explanation=text)
    new = units.assign(generator="new", explanation=text + ending)
    ratings = labelled.drop(columns="explanation").assign(
        rater="user", aspect="clear", rating=[float(1 + n % 5) for n in range(len(units))]
    )
    save(
        me.from_frames(pd.concat([labelled, new], ignore_index=True), ratings), folder / f"data-{name}", "csv"
    )
    study = {
        **QUICK,
        "dataset": str(folder / f"data-{name}"),
        "evaluators": "{judge: \"Judge('simulated/one,noise=0.05')\"}",
    }
    return me.run(write_study(folder / f"{name}.yaml", **study), folder / name).folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("gate")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METAEVAL_STORE", str(folder / "replies.sqlite"))
        return golden(folder, "old", ", and well acted."), golden(folder, "later", ", and well played.")


def test_texts_that_nobody_rated_are_checked(runs: tuple[Path, Path], tmp_path: Path) -> None:
    old, later = runs
    asked = GateRequest(least={"clear": 1.5}, max_drop={"*": 2.0}, generators=["new"])
    written, lowered = baseline_of_run(old, asked, tmp_path / "main.json")
    assert [p.name for p in written] == ["main.json", "main.units.csv"]
    assert lowered == []
    assert read_baseline(written[0]).scored.generators == ["new"]
    result = gate_run(later, GateRequest(generators=["new"]), written[0])
    assert {c.n_units for c in result.checks} == {36}
    assert result.verdict == "pass"
    # Both texts are in the baseline's run, and without a choice both are compared.
    assert {c.n_units for c in gate_run(later, asked, old).checks} == {36}
    assert gate_run(later, GateRequest(max_drop={"*": 0.8}), old).checks[0].n_units == 72


def test_a_calibration_takes_the_warning_away(runs: tuple[Path, Path], tmp_path: Path) -> None:
    asked = GateRequest(least={"clear": 1.1})
    assert any("uncalibrated" in note for note in gate_run(runs[0], asked).notes)
    written, _ = baseline_of_run(runs[0], asked, tmp_path / "main.json")
    identity = read_baseline(written[0]).scored.identity
    entry = {"identity": identity, "aspects": {"clear": {"verdict": "usable as a gate"}}}
    (tmp_path / "c.json").write_text(
        calibration_text({"calibration": 1, "evaluators": {"judge": entry}}), encoding="utf-8"
    )
    vouched = GateRequest(least={"clear": 1.1}, calibration=tmp_path / "c.json")
    assert gate_run(runs[0], vouched).notes == ()


def test_alpha_and_the_share_that_may_be_missing_are_kept(runs: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "main.json"
    baseline_of_run(runs[0], GateRequest(least={"clear": 2.0}, alpha=0.01, max_missing=0.2), path)
    result = gate_run(runs[1], GateRequest(), path)
    assert (result.rules.alpha, result.rules.max_missing) == (0.01, 0.2)
    with pytest.raises(MetaevalError, match=r"an alpha of 0\.05 instead of 0\.01 is less strict"):
        gate_run(runs[1], GateRequest(alpha=0.05), path)
    _, lowered = baseline_of_run(runs[1], GateRequest(least={"clear": 1.9}, alpha=0.05), path)
    assert lowered == ["a mean of 1.9 for clear instead of 2", "an alpha of 0.05 instead of 0.01"]


def test_a_pairwise_judge_is_checked_by_the_win_rate_of_one_generator(tmp_path: Path) -> None:
    golden(tmp_path, "pairs", " It is as quiet and as well acted as those that you liked.")
    study = {
        **QUICK,
        "dataset": str(tmp_path / "data-pairs"),
        "evaluators": "{pair: \"Pairwise('simulated/one,noise=0')\", length: Length()}",
    }
    run = me.run(write_study(tmp_path / "pair.yaml", **study), tmp_path / "pair").folder
    request = GateRequest(least={"*": 0.5}, evaluator="pair", generators=("new",), against="labelled")
    (check,) = gate_run(run, request).checks
    verdicts = comparisons_of(pd.read_parquet(run / "verdicts.parquet"))
    won = points(verdicts["outcome"])
    new = np.where(verdicts["first"].astype(str) == "new", won, 1 - won)
    assert check.value == pytest.approx(np.nanmean(new))
    assert 0 <= check.low <= check.value <= check.high <= 1
    (other,) = gate_run(
        run, request.model_copy(update={"generators": ("labelled",), "against": "new"})
    ).checks
    assert other.value == pytest.approx(1 - check.value)
    # Of two, the other one is meant.
    two = gate_run(run, request.model_copy(update={"against": None})).checks
    assert two[0].value == check.value
    for wrong, message in (
        ({"generators": ()}, "by the win rate of one generator against another"),
        ({"max_drop": {"*": 0.1}}, "it has no drop"),
        ({"against": "new"}, "has not compared new with 'new'"),
        ({"evaluator": "length"}, "compares no pairs"),
    ):
        with pytest.raises(MetaevalError, match=message):
            gate_run(run, request.model_copy(update=wrong))
