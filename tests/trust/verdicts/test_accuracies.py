"""Accuracies of judges as candidates and as families: by hand, with two orders, refusals, and LLMBar's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.data.verdicts.verdict_table import import_verdicts
from metaeval.trust.verdicts.accuracies import accuracies, verdict_families
from metaeval.trust.verdicts.accuracy import with_gold
from tests.conftest import ROOT

MAP = ROOT / "studies" / "maps" / "llmbar.yaml"


def verdicts(judges: dict[str, float], items: int = 40, seed: int = 0, aspect: str = "") -> pd.DataFrame:
    """Return verdicts in both orders on items, right as often as stated, the gold one being the first."""
    rng = np.random.default_rng(seed)
    rows = [
        {"item_id": f"i{i:02}", "order": order, "evaluator": judge, "winner": ("second", "first")[right]}
        for judge, share in judges.items()
        for i in range(items)
        for order, right in zip(("first", "second"), (rng.random(2) < share).astype(int), strict=True)
    ]
    return pd.DataFrame(rows).assign(first="a", second="b", aspect=aspect, gold="first")


def test_the_accuracy_and_what_the_orders_add() -> None:
    frame = verdicts({"one a": 0.9, "one b": 0.8, "one c": 0.7, "other": 0.5})
    known, _ = with_gold(frame)
    found = accuracies(known, "each")
    assert (found.cluster, found.n_clusters, found.share) == ("item", 40, True)
    by_hand = (frame["winner"] == "first").groupby(frame["evaluator"]).mean()
    for name, statistic in found.statistics.items():
        assert statistic.at(np.ones((40, 1)))[-1, 0] == pytest.approx(by_hand[name])
    sheet, parts = verdict_families(known, "each", ["one=one *"])
    row = sheet.frame.iloc[0]
    assert row["estimate"] == pytest.approx(by_hand[["one a", "one b", "one c"]].mean())
    assert row["total_low"] < row["ci_low"] < row["ci_high"] < row["total_high"]
    # Both orders of an item are independent here: one adds what the other does not share.
    right = (frame["winner"] == "first").to_numpy(dtype=float).reshape(4, 40, 2)[:3]
    assert parts.frame["sd_reply"].iloc[0] ** 2 == pytest.approx(
        (right - right.mean(axis=1, keepdims=True)).var(axis=2, ddof=1).mean() * 40 / 39, rel=0.03
    )
    assert parts.frame["se_replies"].iloc[0] < parts.frame["se"].iloc[0]
    once, _ = with_gold(frame[frame["order"] == "first"])
    assert verdict_families(once, "each", ["one=one *"])[1].frame["sd_reply"].isna().all()
    assert verdict_families(known, "net", ["one=one *"])[1].frame["sd_reply"].isna().all()


def test_what_is_refused() -> None:
    known, _ = with_gold(verdicts({"one a": 0.9, "one b": 0.8}))
    for family, words in {
        "one=one *": "the family 'one' has 2 members",
        "one": "no name with a pattern",
        "one=two *": "there is no evaluator 'two",
    }.items():
        with pytest.raises(MetaevalError, match=words):
            verdict_families(known, "each", [family])
    several = pd.concat([verdicts({"a": 0.9, "b": 0.5}, aspect=of) for of in ("clear", "kind")])
    with pytest.raises(MetaevalError, match="several aspects"):
        verdict_families(with_gold(several)[0], "each", ["one=*"])


def test_one_is_chosen_of_the_judges_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "verdicts.csv"
    verdicts({"good": 0.9, "bad": 0.5, "worse": 0.4}).to_csv(path, index=False)
    assert main(["choose", str(path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("Use good. On these 40 items it has ")
    assert "No other may be the best." in out
    [table, _] = me.choose(path, among=("bad", "wor*"))
    assert set(table.frame["candidate"]) == {"bad", "worse"}
    with pytest.raises(MetaevalError, match="by their accuracy"):
        me.choose(path, statistic="average")
    with pytest.raises(MetaevalError, match="no run says what a candidate costs"):
        me.choose(path, cost=True)
    assert [*tmp_path.iterdir()] == [path]


def test_gpt_4_on_llmbar(real_data: Path) -> None:
    found = import_verdicts(real_data / "llmbar" / "verdicts.csv", MAP, winner_of="unswapped")
    sheet, parts = verdict_families(with_gold(found)[0], "each", ["GPT-4=GPT-4 *"])
    [row] = sheet.frame[["ci_low", "ci_high", "total_low", "total_high", "se"]].to_numpy()
    assert row == pytest.approx([0.797, 0.856, 0.775, 0.878, 0.023], abs=0.001)
    assert sheet.notes[0].endswith("take more members.")
    assert parts.frame["sd_reply"].iloc[0] > 0
