"""`gate`, `escalate`, `plan` and `correct` on a file of verdicts on pairs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.trust.correction import correction_of
from metaeval.trust.escalation import escalation_of
from metaeval.trust.gate.run import GateRequest, baseline_of_run, gate_run
from metaeval.trust.label_plan import plan_of
from metaeval.trust.labelling.pages import label_set
from metaeval.trust.verdicts.judged import judged_pairs

N = 600


def frame(seed: int = 0, *, good: float = 0.92) -> pd.DataFrame:
    """Draw verdicts of two judges in both orders, with gold: ``b`` wins 60 %.

    Where a pair is easy (two thirds), ``good`` is right in a share of the pairs and both its orders agree;
    elsewhere its orders are two coins. ``lean`` names what is shown first in half of its verdicts.
    """
    rng = np.random.default_rng(seed)
    b_wins, easy = rng.random(N) < 0.6, rng.random(N) < 2 / 3
    gold = np.where(b_wins, "second", "first")
    other = np.where(b_wins, "first", "second")
    rows = []
    sure = rng.random(N) < good
    for order in ("first", "second"):
        coin = np.where(rng.random(N) < 0.5, "first", "second")
        of_good = np.where(easy, np.where(sure, gold, other), coin)
        of_lean = np.where(rng.random(N) < 0.5, order, gold)
        for name, winner in (("good", of_good), ("lean", of_lean)):
            units = {"user_id": [f"u{i // 3}" for i in range(N)], "item_id": [f"i{i}" for i in range(N)]}
            part = pd.DataFrame(units).assign(first="a", second="b", aspect="", evaluator=name, order=order)
            rows.append(part.assign(winner=winner, gold=gold, easy=np.where(easy, "yes", "no")))
    return pd.concat(rows, ignore_index=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    frame().to_csv(tmp_path / "v.csv", index=False)
    return tmp_path / "v.csv"


def test_both_orders_say_how_sure_a_judge_is(file: Path) -> None:
    [pairs] = judged_pairs(file, ["good"])
    given = frame().query("evaluator == 'good'")
    agree = given.groupby("item_id", sort=False)["winner"].agg(lambda s: s.iloc[0] == s.iloc[1])
    np.testing.assert_array_equal(pairs.sure[0], np.where(agree, 1.0, 0.5))
    assert set(pairs.named[0][~agree.to_numpy()]) == {0.5}  # orders that differ name nobody
    assert pairs.clusters.n == N // 3
    assert pairs.cluster == "user"


def test_repeats_and_shares_are_put_together(tmp_path: Path) -> None:
    said = [("1", "first", 0.9), ("1", "second", 0.7), ("2", "first", 0.2), ("2", "second", 0.8)]
    rows = [
        {"item_id": "i", "repeat": repeat, "first": "a", "second": "b", "evaluator": "j", "order": order,
         "winner": "first" if share > 0.5 else "second", "share": share}
        for repeat, order, share in said
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "v.csv", index=False)
    [pairs] = judged_pairs(tmp_path / "v.csv")
    assert pairs.share.tolist() == [[pytest.approx(0.65)]]
    assert pairs.verdicts.tolist() == [4]
    assert pairs.graded
    assert np.isnan(pairs.gold).all()


def test_a_pair_is_handed_on_where_the_orders_differ(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["escalate", str(file), "--judge", "good", "--alpha", "0.25"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("good decides 8")
    route = pd.read_csv(file.with_name("route.csv"), keep_default_na=False)
    given = frame().query("evaluator == 'good'")
    agree = given.groupby("item_id")["winner"].nunique().reindex(route["item_id"]) == 1
    assert ((route["route"] == "good") == agree.to_numpy()).all()
    said = given.drop_duplicates("item_id").set_index("item_id")["winner"].reindex(route["item_id"])
    assert (route["winner"] == np.where(agree, said, "")).all()
    stages = escalation_of(file, ["lean"], alpha=0.05, route=file.with_name("r.csv"))[1].frame
    assert stages["said"].tolist() == ["from its 2 verdicts on a pair"]


def test_verdicts_in_one_order_say_nothing_of_how_sure_they_are(tmp_path: Path) -> None:
    frame().query("order == 'first'").to_csv(tmp_path / "v.csv", index=False)
    stages = escalation_of(tmp_path / "v.csv", ["good"])[1].frame
    assert stages["said"].str.contains("nothing says how sure").all()


def test_people_may_be_in_a_file_of_their_own(file: Path, tmp_path: Path) -> None:
    whole = frame()
    people = whole.query("evaluator == 'good' and order == 'first'").assign(evaluator="anna")
    people.assign(winner=people["gold"]).drop(columns="gold").to_csv(tmp_path / "people.csv", index=False)
    whole.drop(columns="gold").to_csv(tmp_path / "bare.csv", index=False)
    asked = {"labels": tmp_path / "people.csv", "route": tmp_path / "r.csv"}
    one, two = (escalation_of(tmp_path / name, ["good"], **asked) for name in ("bare.csv", "v.csv"))
    pd.testing.assert_frame_equal(one[0].frame, two[0].frame)
    gates = [
        gate_run(tmp_path / name, GateRequest(evaluator="good", least={"*": 0.7}, labels=labels)).checks
        for name, labels in (("bare.csv", tmp_path / "people.csv"), ("v.csv", None))
    ]
    assert gates[0] == gates[1]
    plan = {"width": 0.1, "judge": "good", "plan": tmp_path / "p.csv"}
    plans = [
        plan_of(tmp_path / "bare.csv", labels=tmp_path / "people.csv", **plan),
        plan_of(tmp_path / "v.csv", **plan),
    ]
    pd.testing.assert_frame_equal(plans[0][0].frame, plans[1][0].frame)
    with pytest.raises(MetaevalError, match="no pair has a gold preference, so there is no accuracy"):
        gate_run(tmp_path / "bare.csv", GateRequest(evaluator="good", least={"*": 0.7}))


def test_a_gate_checks_accuracy_and_win_rate(file: Path, tmp_path: Path) -> None:
    whole = frame().query("evaluator == 'good'")
    asked = GateRequest(evaluator="good", least={"*": 0.7}, by="easy", cluster="item")
    found = gate_run(file, asked)
    every, hard, easy = found.checks
    right = whole["winner"] == whole["gold"]
    assert every.value == pytest.approx(right.mean())
    assert easy.value == pytest.approx(right[whole["easy"] == "yes"].mean())
    assert [every.aspect, every.verdict, hard.verdict, easy.verdict] == ["accuracy", "pass", "fail", "pass"]
    assert found.first[0].startswith("accuracy of no: mean 0.")
    wins = gate_run(file, GateRequest(evaluator="good", generators=("b",), least={"*": 0.5})).checks[0]
    outcome = whole.groupby("item_id")["winner"].agg(lambda s: s.map({"first": 0, "second": 1}).mean())
    assert wins.value == pytest.approx(outcome.mean())
    assert (wins.aspect, wins.n_clusters) == ("win rate", N // 3)
    # A baseline: a worse judge's verdicts on the same pairs fail by the drop, the same ones pass.
    frame(good=0.6).to_csv(tmp_path / "worse.csv", index=False)
    worse = gate_run(tmp_path / "worse.csv", GateRequest(evaluator="good", max_drop={"*": 0.05}), file)
    assert [c.verdict for c in worse.checks] == ["fail"]
    base = GateRequest(evaluator="good", max_drop={"*": 0.05})
    [path, _], _ = baseline_of_run(file, base, tmp_path / "main.json")
    same = gate_run(file, GateRequest(), path)
    assert (same.verdict, same.checks[0].why) == ("pass", "the same texts, and the same judge")
    assert gate_run(tmp_path / "worse.csv", GateRequest(), path).verdict == "fail"


def test_a_plan_asks_for_a_win_rate_or_an_accuracy(file: Path, tmp_path: Path) -> None:
    [better] = plan_of(file, ("b", "a"), judge="good")
    row = better.frame.iloc[0]
    assert row["verdict"] == "decided for these units: b is better than a; stop labelling"
    assert row["ci_low"] <= (frame()["gold"] == "second").mean() - 0.5 <= row["ci_high"]
    [worse] = plan_of(file, ("a", "b"), judge="good", plan=tmp_path / "other.csv")
    assert worse.frame["verdict"][0] == "decided for these units: a is worse than b; stop labelling"
    [known] = plan_of(file, judge="good", width=0.06, plan=tmp_path / "p.csv")
    row = known.frame.iloc[0]
    [pairs] = judged_pairs(file, ["good"])
    assert row["ci_low"] <= pairs.right.mean() <= row["ci_high"]
    assert row["n_labelled"] < N
    with pytest.raises(MetaevalError, match="good has no verdict on a pair of a and c"):
        plan_of(file, ("a", "c"), judge="good", plan=tmp_path / "q.csv")


def test_win_rates_are_corrected_by_some_labels(file: Path) -> None:
    found = correction_of(file, ["lean"], labelled=60)
    row, truth = found[0].frame.iloc[0], (frame()["gold"] == "second").mean()
    assert row["verdict"].startswith("people would have given b a win rate of 0.")
    assert row["ci_low"] <= truth <= row["ci_high"]
    assert row["n_labelled"] == 180
    assert row["ci_high"] - row["ci_low"] < row["labels_ci_high"] - row["labels_ci_low"]
    groups = found[1].frame.set_index("group")
    assert groups["estimate"].sum() == pytest.approx(1)
    assert groups.loc["b", "estimate"] == pytest.approx(row["estimate"])
    assert groups.loc["b", "withheld"] == pytest.approx(truth)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("gate FILE --min 0.5", "FILE has 2 evaluators: choose one with --evaluator (good, lean)"),
        ("gate FILE --min 0.5 --evaluator good --anchors x", "--anchors is for runs"),
        ("gate FILE --min 0.5 --evaluator good --generator c", "the verdicts are not on 'c'"),
        ("gate FILE --min 0.5 --evaluator good --against a", "name it with --generator"),
        (
            "gate FILE --max-drop 0.5 --evaluator good --baseline no.csv",
            "there is no file of verdicts no.csv",
        ),
        ("escalate FILE --within 1", "--within is for ratings"),
        ("escalate FILE --judge x", "there are no verdicts of an evaluator 'x'"),
        ("escalate FILE --aspect x", "the verdicts name no aspects"),
        ("escalate no.csv", "there is no run folder no.csv, and no file of verdicts"),
        ("plan FILE --buy", "--buy is for runs"),
        ("correct FILE --at-least 1", "--at-least is for ratings"),
        ("correct FILE --labels no.csv", "there is no file no.csv"),
    ],
)
def test_bad_input_is_one_sentence(
    file: Path, words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.replace("FILE", str(file)).split()) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said.replace("FILE", str(file)) in line
    assert [p.name for p in file.parent.iterdir()] == ["v.csv"]


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("gate FILE --evaluator good --min 0.5", "checks"),
        ("escalate FILE --judge good", "escalate"),
        ("plan FILE --better a b", "plan"),
        ("correct FILE --judge good --labelled 40", "correct"),
    ],
)
def test_each_says_it_as_json(file: Path, words: str, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words.replace("FILE", str(file)).split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[key][0]["verdict"]


def test_a_page_shows_the_pairs_of_a_route_and_stops_by_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "dataset.yaml").write_text(
        "name: d\nscale: {min: 1, max: 5}\naspects: {clear: It is clear.}\n", encoding="utf-8"
    )
    pairs = frame().query("evaluator == 'good'").assign(aspect="clear")
    units = pairs[["user_id", "item_id"]].drop_duplicates()
    texts = pd.concat([units.assign(generator=name, explanation=f"by {name}") for name in "ab"])
    texts.to_csv(tmp_path / "set" / "explanations.csv", index=False)
    (tmp_path / "set" / "ratings.csv").write_text("user_id,item_id,generator,rater,aspect,rating\n")
    pairs.drop(columns="gold").to_csv("v.csv", index=False)
    pairs.to_csv("gold.csv", index=False)
    escalation_of("gold.csv", ["good"], alpha=0.25)
    left = (pd.read_csv("route.csv")["route"] == "person").sum()
    session = label_set("set", rater="anna", pairs=True, only="route.csv")
    assert len(session.units) == left < N
    plan_of("v.csv", ("a", "b"))
    session = label_set("set", rater="anna", pairs=True, only="plan.csv")
    assert len(session.units) == N
    for at, (*_, order) in enumerate(session.units[:60]):  # b is always better
        was = {
            "do": "label",
            "at": at,
            "aspect": "clear",
            "label": -1 if order == "first" else 1,
            "was": None,
        }
        answer = session.answer(was)
    assert "b" in str(answer)
    assert session._decided().startswith("decided for these units: a is worse than b")
