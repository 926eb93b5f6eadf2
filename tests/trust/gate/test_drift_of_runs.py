"""Two runs of one study: anchors are found by their texts, and the gate takes the drift."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.kinds.explanations.data.loading import save
from metaeval.trust.gate.drift import drift_of
from metaeval.trust.gate.run import GateRequest, gate_run
from tests.study.runs import QUICK
from tests.tiny import write_study


def judged(folder: Path, name: str, ending: str, judge: str) -> Path:
    """Judge old texts, which are the same in all runs, and new ones, with an ending of their own."""
    units = pd.DataFrame(
        [(f"u{u}", f"i{i}") for u in range(12) for i in range(4)], columns=["user_id", "item_id"]
    )
    words = units["user_id"].str[1:].astype(int).map(lambda n: " It is well acted." * (n % 4))
    text = "You liked a film by this director." + words
    old = units.assign(generator="old", explanation=text)
    new = units.assign(generator="new", explanation=text + ending)
    rated = old.drop(columns="explanation").assign(
        rater="user", aspect="clear", rating=[1.0 + n % 5 for n in range(48)]
    )
    place = folder / f"data-{name}"
    save(me.from_frames(pd.concat([old, new], ignore_index=True), rated), place, "csv")
    study = {**QUICK, "dataset": str(place), "evaluators": f'{{judge: "Judge({judge!r})"}}'}
    return me.run(write_study(folder / f"{name}.yaml", **study), folder / name).folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("drift")
    plain, harsh = "simulated/one,noise=0.1", "simulated/one,noise=0.1,bias=-0.3"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METAEVAL_STORE", str(folder / "replies.sqlite"))
        return {
            "then": judged(folder, "then", "", plain),
            "now": judged(folder, "now", " And more.", harsh),
            "other": judged(folder, "other", " And more.", plain),
        }


@pytest.mark.slow
def test_the_judge_changed_and_not_the_system(runs: dict[str, Path]) -> None:
    words, parts = drift_of(runs["then"], runs["now"])
    assert words.frame["verdict"].item().startswith("the judge drifted (-")
    assert "the model changed" in words.notes[0]
    row = parts.frame.iloc[0]
    assert (row["anchors"], row["n_units"]) == (48, 48)
    assert row["judge_high"] < 0
    # The same judge gives the same replies.
    words, _ = drift_of(runs["then"], runs["other"])
    assert words.frame["verdict"].item().startswith("the judge gave all anchors the same score")


def test_the_report_shows_it(runs: dict[str, Path]) -> None:
    from metaeval.reports.report_model import payload_of

    drift_of(runs["then"], runs["now"])
    sheets = payload_of((runs["now"] / "report.html").read_text(encoding="utf-8"))["sheets"]
    assert {s["name"] for s in sheets if s["view"] == "drift"} == {"drift", "drift-parts"}


def test_a_gate_with_anchors_takes_another_judge(runs: dict[str, Path]) -> None:
    asked = GateRequest(max_drop={"*": 0.8})
    with pytest.raises(MetaevalError, match="give --anchors OLD"):
        gate_run(runs["now"], asked, runs["then"])
    plain = gate_run(runs["now"], asked, runs["then"], accept_judge_change=True)
    found = gate_run(runs["now"], asked.model_copy(update={"anchors": runs["then"]}))
    assert found.checks[0].n_units == 48
    assert found.checks[0].value > plain.checks[0].value
    with pytest.raises(MetaevalError, match="were not judged by the judge of the baseline"):
        gate_run(runs["now"], asked.model_copy(update={"anchors": runs["now"]}), runs["then"])


def test_what_cannot_be_split_is_said(runs: dict[str, Path]) -> None:
    with pytest.raises(MetaevalError, match="the two runs have no evaluator 'jugde'"):
        drift_of(runs["then"], runs["now"], ["jugde"])
    with pytest.raises(MetaevalError, match="units cannot be clustered by 'usr'"):
        drift_of(runs["then"], runs["now"], cluster="usr")
