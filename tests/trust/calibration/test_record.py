"""A calibration in its file, and what makes a judge uncalibrated."""

from __future__ import annotations

import json

import numpy as np
import pytest

from metaeval.analysis.agreement.labels import Agreement
from metaeval.base.errors import MetaevalError
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.explanations.data.loading import load
from metaeval.kinds.registry import build
from metaeval.stats.resampling.bootstrap import NOTHING, Estimate
from metaeval.trust.calibration.record import (
    Bands,
    calibration_text,
    changes,
    identity,
    is_calibrated,
    make_calibration,
    read_calibration,
    state_of,
)

MODEL = "Judge('simulated/one')"


def signed(data, text=MODEL, **outcome):
    """The signature that a run keeps: of the evaluator, its spec, and what its replies told."""
    evaluator = build(text)
    return {"spec": str(evaluator.spec), **evaluator.signature(data), **outcome}


@pytest.fixture
def data(tiny):
    return load(tiny)


def agreement(name="judge", low=0.65, stratum="", n_clusters=6):
    return Agreement(
        name,
        "clear",
        stratum,
        20,
        n_clusters,
        {"refused": 1},
        {"quadratic": Estimate(0.7, low, 0.8, 30), "kappa": NOTHING},
        (1.0, 2.0),
        np.array([[8, 2], [3, 7]]),
    )


def calibration(data, found=None, **signatures):
    return make_calibration(
        found or [agreement(), agreement(low=0.2, stratum="short")],
        [],
        signatures=signatures or {"judge": signed(data, models=["one-2026"])},
        about={"metaeval": "x"},
        bands=Bands(),
        bootstrap=Bootstrap(resamples=10),
        measure="quadratic",
    )


def test_it_comes_back_from_its_file_byte_by_byte(data, tmp_path) -> None:
    made = calibration(data)
    (tmp_path / "calibration.json").write_text(calibration_text(made), encoding="utf-8")
    for path in (tmp_path, tmp_path / "calibration.json"):
        found = read_calibration(path)
        assert found == made
    kept = found["evaluators"]["judge"]["aspects"]["clear"]
    assert kept["verdict"] == "usable as a gate"
    assert (kept["estimate"], kept["low"], kept["high"]) == (0.7, 0.65, 0.8)
    assert kept["values"]["kappa"]["estimate"] is None
    assert kept["confusion"] == [[8, 2], [3, 7]]
    assert kept["strata"]["short"]["verdict"] == "not measuring it, or too few labels to tell"
    first = (tmp_path / "calibration.json").read_bytes()
    (tmp_path / "calibration.json").write_text(calibration_text(calibration(data)), encoding="utf-8")
    assert (tmp_path / "calibration.json").read_bytes() == first


def test_what_is_no_calibration_is_said(data, tmp_path) -> None:
    file = tmp_path / "c.json"
    with pytest.raises(MetaevalError, match="there is no calibration"):
        read_calibration(file)
    for text in ("{", "[" * 90_000):
        file.write_text(text)
        with pytest.raises(MetaevalError, match="is not JSON"):
            read_calibration(file)
    file.write_text("[1]")
    with pytest.raises(MetaevalError, match="not written by"):
        read_calibration(file)
    file.write_text(json.dumps({**calibration(data), "calibration": 99}))
    with pytest.raises(MetaevalError, match="form 99"):
        read_calibration(file)


@pytest.mark.parametrize(
    ("now", "outcome", "says"),
    [
        (MODEL, {"models": ["one-2026"]}, None),
        (MODEL, {}, None),  # not asked yet: how the provider names the model is not known
        ("Judge('simulated/one', replicate=3, attempts=1, max_tokens=9, seed=4)", {}, None),
        (MODEL, {"models": ["one-2027"]}, "the model that the provider names changed (one-2026 → one-2027)"),
        ("Judge('simulated/two')", {}, "the model changed (simulated/one → simulated/two)"),
        ("Judge('simulated/one', prompt='single-aspect')", {}, "the prompt changed (multi-aspect"),
        ("Judge('simulated/one', temperature=1)", {}, "its temperature changed (0 → 1)"),
        ("Judge('simulated/one', examples='one-shot')", {}, "the kind of examples changed (none → one-shot)"),
    ],
)
def test_a_judge_is_calibrated_until_it_changes(data, now, outcome, says) -> None:
    state = state_of(calibration(data), signed(data, now, **outcome), "judge")
    assert is_calibrated(state) == (says is None)
    if says is not None:
        assert state.startswith("uncalibrated: ")
        assert says in state


def test_a_judge_of_another_name_is_found_by_what_it_is(data) -> None:
    two = {"a": signed(data), "b": signed(data, "Judge('simulated/two')")}
    kept = calibration(data, [agreement("a"), agreement("b")], **two)
    assert state_of(kept, two["b"], "another name") == "calibrated"
    stranger = signed(data, "Judge('simulated/three')")
    assert state_of(kept, stranger, "c") == "uncalibrated: no judge like it is in the calibration"


def test_a_panel_is_its_members_and_how_they_are_put_together(data) -> None:
    def panel(name, second="Judge('simulated/two')"):
        return identity(signed(data, f"{name}({MODEL}, {second})"))

    assert changes(panel("Mean"), panel("Mean")) == []
    assert changes(panel("Mean"), panel("Median")) == [
        "how the members are put together changed (Mean → Median)"
    ]
    assert changes(panel("Mean"), panel("Mean", "Judge('simulated/three')")) == [
        "in member 2, the model changed (simulated/two → simulated/three)"
    ]
