"""The sheets on confidence: a verdict in words, refusals with their reason, and the diagram."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from metaeval.base.records import Scale
from metaeval.engine.intervals import Bootstrap
from metaeval.trust.calibration.sheets import confidence_sheets, reliability_figures

BOOT = Bootstrap(resamples=200, cluster="user")


def tables(seed=0):
    rng = np.random.default_rng(seed)
    u, i = (v.ravel() for v in np.indices((40, 10)))
    units = pd.DataFrame({"user_id": u, "item_id": i}).astype(str)
    truth = units.assign(aspect="clear", rating=rng.integers(1, 6, u.size).astype(float))
    said = np.round(rng.uniform(0.2, 1, u.size), 2)
    judges = {"honest": (said, said), "boaster": (said - 0.2, said), "percent": (said, 100 * said)}
    frames = []
    for name, (chance, confidence) in judges.items():
        score = np.where(rng.random(u.size) < chance, truth["rating"], truth["rating"] % 5 + 1)
        frames.append(units.assign(aspect="clear", evaluator=name, score=score, confidence=confidence))
    silent = units.assign(aspect="clear", evaluator="silent", score=3.0, confidence=np.nan)
    return pd.concat([*frames, silent]), truth


FIVE = Scale(1, 5)


def found(scale=FIVE, within=None, names=("honest", "boaster", "percent", "silent")):
    scores, truth = tables()
    how = {"scale": scale, "bootstrap": BOOT, "within": within}
    return confidence_sheets(scores, truth, names, judges=["silent"], **how)


def test_each_verdict_is_a_sentence() -> None:
    verdicts = found()[1].frame.set_index("evaluator")["verdict"]
    assert verdicts["honest"].startswith("not seen to be miscalibrated")
    assert verdicts["boaster"].startswith("too high: it is")
    assert "tells right from wrong" in verdicts["boaster"]
    assert verdicts["percent"] == "cannot be said: its confidence is not between 0 and 1"
    assert "silent" not in verdicts


def test_one_sentence_per_judge_says_whether_its_confidence_may_choose_what_people_look_at() -> None:
    said = found()[0].frame.set_index("evaluator")["verdict"]
    assert said["honest"].endswith("So people may look at what it is least sure of.")
    assert re.search(r"too high: it is .*So people may", said["boaster"])
    assert "So it is not known" in said["percent"]
    assert "so it cannot choose what people look at" in said["silent"]


def test_on_a_scale_without_steps_it_must_be_said_what_agrees() -> None:
    [_, sheet] = found(Scale(1, 5, integer=False), names=["honest"])
    assert (
        sheet.frame["verdict"].item()
        == "cannot be said: its scale has no steps; say what agrees with --within POINTS"
    )
    [_, sheet, _] = found(Scale(1, 5, integer=False), within=4, names=["honest"])
    assert sheet.frame["accuracy"].item() == 1


def test_the_diagram_is_of_the_bins() -> None:
    sheets = found()
    assert [sheet.name for sheet in sheets] == ["conclusion", "confidence", "reliability"]
    [figure] = reliability_figures(sheets)
    assert figure.vega_lite["layer"]
    assert set(sheets[2].frame["evaluator"]) == {"honest", "boaster"}
    assert sheets[2].frame["n_units"].sum() == 800
    assert [sheet.name for sheet in found(names=["silent"])] == ["conclusion"]
    assert reliability_figures([]) == []
