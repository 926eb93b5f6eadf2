"""`metaeval choose`: equal candidates, one that is clearly better, few users, averages, kinds and runs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.engine.sheet import Sheet
from tests.trust.recorded import run_recorded

PER = 12


def study(folder: Path, users: int, noise: Mapping[str, float], seed: int = 0) -> Path:
    """Run a study whose evaluators are as noisy as stated; names that begin alike give the same scores."""
    rng = np.random.default_rng(seed)
    n = users * PER
    keys = pd.DataFrame({"item_id": [f"i{k}" for k in range(n)], "user_id": np.repeat(range(users), PER)})
    keys = keys.assign(generator="g")
    rating = rng.integers(1, 6, n)
    given = {name: np.rint(10 * (rating + rng.normal(0, sd, n))) / 10 for name, sd in noise.items()}
    given = {name: given.get(name.removesuffix(" again"), scores) for name, scores in given.items()}
    evaluators = json.dumps({name: f"Recorded('{name}')" for name in given})
    return run_recorded(folder, keys.assign(rating=rating), given, evaluators=evaluators) / "run"


def said(sheets: list[Sheet]) -> str:
    return sheets[0].title


@pytest.fixture(scope="module")
def close(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with six candidates that are nearly as good."""
    return study(tmp_path_factory.mktemp("close"), 16, {f"judge {i}": 2 + 0.05 * i for i in range(6)})


def test_the_first_line_is_the_answer(close: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["choose", str(close), "--loss", "0.01", "--average", "3"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert re.match(
        r"Use judge \d\. On these 16 users it has 0\.\d{3} \(.*\); on fresh ones expect 0\.\d{3} "
        r"\[0\.\d{3}, 0\.\d{3}\], counting the search among 6\. \d of 6 may still be the best; this one is "
        r"with chance 0\.\d\d\. Expected loss 0\.\d{3}, at most 0\.\d{3}; about \d+ users bring it to "
        r"0\.010\. Expect 0\.\d{3} of the mean of the best 3\.",
        out,
    ), out
    table, worth = me.choose(close, loss=0.01, average=(3, 5))
    rows = table.frame
    assert rows["chosen"].tolist() == [True] + [False] * 5
    assert rows["chance"].sum() == pytest.approx(1)
    one, three, five = worth.frame.to_dict("records")
    assert one["fresh"] < one["shown"] < three["fresh"] < three["shown"]
    assert five["candidate"].count("judge") == 5
    assert one["labels"] == np.ceil(16 * one["loss"] / 0.01)
    assert "choose" in (close / "report.html").read_text(encoding="utf-8")


def test_equal_candidates_do_not_matter_and_the_cheaper_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = study(tmp_path, 12, {"a": 1.0, "a again": 1.0, "worse": 6.0})
    assert "It does not matter whether it is this one or a again: they are equal." in said(me.choose(run))
    with pytest.raises(MetaevalError, match="no run says what a candidate costs"):
        me.choose(run, cheapest=True)
    prices = pd.DataFrame({"evaluator": ["a", "a again"], "usd_per_text": [0.2, 0.1]})
    monkeypatch.setattr("metaeval.trust.choice.costs_of", lambda _: prices)
    sheets = me.choose(run, cost=True)
    assert said(sheets).startswith("Use a again. ")
    assert "or a: they are equal" in said(sheets)
    assert [c.title for c in sheets[0].columns][-1] == "USD per unit"


def test_the_cheapest_within_a_standard_error(close: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = me.choose(close)[0].frame["candidate"]
    prices = pd.DataFrame({"evaluator": names, "usd_per_text": np.linspace(2, 1, 6)})
    monkeypatch.setattr("metaeval.trust.choice.costs_of", lambda _: prices)
    best, cheap = (me.choose(close, cheapest=c)[1].frame.iloc[0] for c in (False, True))
    assert best["candidate"] == names[0]
    assert cheap["candidate"] != names[0]
    assert cheap["loss"] > best["loss"]


def test_one_that_is_clearly_better(tmp_path: Path) -> None:
    run = study(tmp_path, 12, {"good": 0.5, **{f"bad {i}": 6.0 for i in range(4)}})
    sheets = me.choose(run)
    assert said(sheets).startswith("Use good. ")
    assert said(sheets).endswith("No other may be the best.")
    assert sheets[0].frame["rank_range"][0] == "1"
    (only,) = sheets[1].frame.to_dict("records")
    assert (only["loss"], only["most"], only["labels"]) == (0, 0, 12)
    assert "among 4" in said(me.choose(run, among=["bad *"]))


def test_what_cannot_be_chosen(tmp_path: Path, close: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = study(tmp_path / "few", 5, {"a": 1.0, "b": 2.0})
    assert main(["choose", str(few)]) == 2
    assert "5 users are too few" in capsys.readouterr().err
    for options, why in (
        ({"among": ["judge 9"]}, "no evaluator is called"),
        ({"among": ["judge 1"]}, "choosing takes two"),
        ({"average": (6,)}, "give 2 to 5"),
        ({"statistic": "clear,generator,kendall"}, "does not change smoothly|no coefficient"),
        ({"statistic": "unknown"}, "no aspect"),
    ):
        with pytest.raises(MetaevalError, match=why):
            me.choose(close, **options)
    small = study(tmp_path / "small", 8, {"a": 1.0, "b": 2.0})
    assert any(note.startswith("FEW USERS") for note in me.choose(small)[0].notes)


def test_a_search_that_went_on_outside(close: Path) -> None:
    sheets = me.choose(close, searched=200)
    assert "counting the search among 6 of 200" in said(sheets)
    assert any(note.startswith("WARNING: 200 were searched and 6 are known") for note in sheets[0].notes)


def test_several_runs(tmp_path: Path) -> None:
    noise = {"a": 1.0, "b": 2.0}
    runs = [study(tmp_path / name, 12, noise, seed=0) for name in ("one", "two")]
    sheets = me.choose(runs)
    assert "among 4" in said(sheets)
    assert "they are equal" in said(sheets)
    assert sheets[0].frame["candidate"].str.contains(" @ ").all()


@pytest.mark.parametrize("kind", ["slates", "exposure"])
def test_measures_of_other_kinds(kind: str, demo_of: Callable[[str], Path], tmp_path: Path) -> None:
    run = Path(shutil.copytree(demo_of(kind) / "results" / kind, tmp_path / "run"))
    sheets = me.choose(run)
    assert said(sheets).startswith("Use ")
    shown = sheets[1].frame.iloc[0]
    values = sheets[0].frame["shown"]
    lower = kind == "slates"
    assert shown["shown"] == (values.min() if lower else values.max())
    assert (shown["fresh"] > shown["shown"]) == lower
    with pytest.raises(MetaevalError, match="--average takes correlations"):
        me.choose(run, average=(2,))
