"""Units that are asked twice, items that show who reads, and what the owner of a set sees of the raters."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.runs.answer import read_answer
from metaeval.trust.analyses import details_of
from metaeval.trust.labelling.golden_table import export_labels, import_labels
from metaeval.trust.labelling.label_session import LabelSession
from metaeval.trust.labelling.pages import label_server, label_set, label_sets
from metaeval.trust.labelling.raters import raters_sheet
from tests.runs.serving import serving
from tests.tiny import say_how_to_label
from tests.trust.saving import fill

ASPECTS = ("clear", "fitting")


def label_all(session: LabelSession, *labels: float) -> dict[str, Any]:
    """Label every unit that is asked about, both aspects with the same label, in turn."""
    state = session.answer({"do": "show"})
    n = 0
    while state["unit"]:
        at = state["unit"]["at"]
        for aspect in ASPECTS:
            state = session.answer(
                {"do": "label", "at": at, "aspect": aspect, "label": labels[n % len(labels)]}
            )
        n += 1
    return state


def attention_items(folder: Path, *rows: str) -> None:
    lines = ["user_id,item_id,generator,aspect,right", *rows]
    (folder / "attention.csv").write_text("\n".join(lines) + "\n")


def test_a_share_comes_again_after_all_others_and_makes_no_new_units(tiny: Path) -> None:
    say_how_to_label(tiny, repeat=0.2, repeat_after=0)
    before = me.load(tiny)
    session = label_set("tiny", rater="anna")
    first = [key for key in session.units if len(key) == 3]
    assert (len(first), len(session.units)) == (18, 22)
    assert [key[:3] for key in session.units[18:]] == [k for k in first if (*k, "2") in session.units]
    assert session.answer({"do": "show"})["total"] == 18
    with pytest.raises(DataError, match="this unit is asked about later"):
        session.answer({"do": "label", "at": 18, "aspect": "clear", "label": 3})
    state = label_all(session, 4, 2)
    assert (state["total"], state["labelled"]) == (22, 22)
    data = me.load(tiny)
    assert len(data) == len(before) == 18
    assert (data.ratings["rater"] == "anna").sum() == 36
    assert data.repeats is not None
    assert len(data.repeats) == 8
    assert set(data.repeats["asking"]) == {"2"}
    assert before.repeats is None
    assert data.fingerprint != before.fingerprint
    # It can be undone, and goes on there.
    assert session.answer({"do": "undo"})["unit"]["at"] == 21
    again = label_set("tiny", rater="anna")
    assert again.answer({"do": "show"})["unit"]["at"] == 21
    # A saved set keeps them.
    data.save("saved")
    saved = me.load("saved")
    assert saved.repeats is not None
    assert saved.fingerprint == data.fingerprint


def test_the_second_asking_is_a_day_later_and_without_what_was_skipped(tiny: Path) -> None:
    say_how_to_label(tiny, repeat=0.2)
    session = label_set("tiny", rater="anna")
    (skipped, *_) = [session.units.index(key[:3]) for key in session.units[18:]]
    session.answer({"do": "skip", "at": skipped})
    state = label_all(session, 3)
    assert state["unit"] is None
    assert state["total"] == 18
    assert state["again"].startswith("Please come back: 4 further units can be labelled from ")
    log = tiny / "labelling.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()]
    day_ago = pd.Timestamp.now("UTC") - pd.Timedelta(hours=25)
    log.write_text("".join(json.dumps({**e, "time": day_ago.isoformat()}) + "\n" for e in events))
    later = label_set("tiny", rater="anna")
    state = label_all(later, 5)
    assert (state["total"], state["labelled"], state["again"]) == (22, 20, "")
    data = me.load(tiny)
    assert data.repeats is not None
    assert len(data.repeats) == 6


@pytest.mark.parametrize("true", [True, False])
def test_details_and_the_answer_know_whether_people_agree_with_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, true: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    data = me.load("data/sample")
    asked = data.ratings[data.ratings["rater"].isin(["1", "2"])].groupby("rater").sample(400, random_state=0)
    rng = np.random.default_rng(0)
    again = (asked["rating"] + rng.integers(-1, 2, len(asked))).clip(1, 5)
    again = again if true else pd.Series(rng.permutation(asked["rating"]), asked.index)
    replace(data, repeats=asked.assign(asking="2", rating=again)).save("set")
    text = "dataset: set\nevaluators: [Length(), Random()]\nlevels: [dataset]\ntests: null\n"
    Path("study.yaml").write_text(text + "bootstrap: {resamples: 200}\n")
    folder = me.run("study.yaml", "out").folder
    sheet = next(s for s in details_of(folder) if s.name == "people")
    rows = sheet.frame.set_index("against")
    assert rows.loc["themselves, asked again", "who"] == "all raters"
    assert rows.loc["themselves, asked again", "n_units"] == 800
    pairs = asked.assign(again=again)[asked["rater"] == "1"].dropna()
    own = pairs.groupby("aspect")[["rating", "again"]].corr().iloc[0::2, 1].mean()
    row = rows.loc["1, asked again"]
    assert row["dataset"] == pytest.approx(own)
    assert row["dataset_low"] < row["dataset"] < row["dataset_high"]
    assert any("agreement with themselves" in note for note in sheet.notes)
    # Whoever says something else the second time says nothing of quality.
    line = read_answer(folder).lines[0]
    assert ("People are not shown to agree with themselves, asked again (" in line) is not true
    assert line.endswith("nothing here shows quality.") is not true


def test_attention_items_go_to_all_raters_and_are_no_truth(tiny: Path) -> None:
    unit = ("u1", "i1", "short")
    attention_items(tiny, "u1,i1,short,clear,5", "u1,i1,short,clear,4", "u1,i1,short,fitting,5")
    sessions = label_sets("tiny", ["anna", "bert"], overlap=1)
    assert all(unit in session.units for session in sessions)
    assert sum(len(session.units) for session in sessions) == 19
    for session, label in zip(sessions, (4, 1), strict=True):
        label_all(session, label)
    ratings = me.load(tiny).ratings
    mine = ratings[ratings["rater"].isin(["anna", "bert"])]
    assert len(mine) == 2 * 17
    assert not (mine[["user_id", "item_id", "generator"]].agg(tuple, axis=1) == unit).any()
    frame = raters_sheet(sessions).frame.set_index("rater")
    assert frame["attention"].to_dict() == {
        "anna": "1 of 2 failed: u1 · i1 · short · fitting",
        "bert": "2 of 2 failed: u1 · i1 · short · clear; u1 · i1 · short · fitting",
    }
    assert frame["left"].tolist() == [0, 0]
    # So does a spreadsheet.
    export_labels("tiny", "l.csv", rater="cleo")
    fill(Path("l.csv"), lambda *_: "4")
    done = import_labels("tiny", "l.csv", rater="cleo")
    assert done.attention == "1 of 2 failed: u1 · i1 · short · fitting"
    assert "attention items: 1 of 2 failed: u1 · i1 · short · fitting" in done.lines()
    assert (me.load(tiny).ratings["rater"] == "cleo").sum() == 34
    assert import_labels("tiny", "l.csv", rater="cleo").same == 36


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("u9,i1,short,clear,5", "there is no unit (u9, i1, short)"),
        ("u1,i1,short,cler,5", "did you mean 'clear'"),
        ("u1,i1,short,clear,6", "6 is not on the scale"),
        ("u1,i1,short,clear,", "is not on the scale"),
    ],
)
def test_a_wrong_attention_item_is_one_sentence(tiny: Path, row: str, says: str) -> None:
    attention_items(tiny, row)
    with pytest.raises(DataError) as error:
        label_set("tiny", rater="anna")
    assert says in str(error.value)
    assert not (tiny / "labelling.jsonl").exists()


def test_the_owner_alone_sees_how_far_the_raters_are(tiny: Path) -> None:
    attention_items(tiny, "u1,i1,short,clear,5")
    sessions = label_sets("tiny", ["anna", "bert"])
    with serving(label_server(*sessions)) as server:
        *raters, owner = server.addresses

        def read(address: str) -> str:
            with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - our own
                return str(answer.read().decode())

        def post(address: str, **request: Any) -> None:
            urllib.request.urlopen(address, json.dumps(request).encode(), timeout=60).close()  # noqa: S310

        page = read(owner)
        assert "Raters so far" in page
        for aspect in ASPECTS:
            for address in raters:
                post(address, do="label", at=0, aspect=aspect, label=3)
        table = pd.read_csv(f"{owner}raters.csv").set_index("rater")
        assert table["labelled"].to_dict() == {"anna": 1, "bert": 1}
        assert table["left"].to_dict() == {"anna": 17, "bert": 17}
        assert (table.index == ["anna", "bert"]).all()
        assert "Raters so far" not in read(raters[0])
        for what in (lambda: read(f"{raters[0]}raters.csv"), lambda: post(owner, do="show")):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                what()
