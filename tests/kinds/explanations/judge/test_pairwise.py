"""The pairwise judge, against a real server on the loopback address and through the real SDK."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError, SpecError
from metaeval.base.records import Kind, Scale
from metaeval.evaluators.verdicts import comparisons_of, strengths
from metaeval.judging.settings import judging
from metaeval.kinds.registry import build
from metaeval.llm.calls.limits import Budget, Limits
from metaeval.llm.calls.price import Prices
from metaeval.stats.ranking.comparisons import Games
from tests.llm import server as acts
from tests.llm.server import Act, Server, serving

KEY = "sk-test-0123456789abcdefghij"
PRICES = Prices({"openai/gpt-4o": {"input": 2.5, "output": 10.0}})
ASPECTS = {"clear": "It is clear.", "fitting": "It fits my taste."}
GENERATORS = ("b", "d", "a", "c")  # not in the order of their names
SHOWN = re.compile(
    r"<first-explanation>\n(.*)\n</first-explanation>\n<second-explanation>\n(.*)\n<", re.DOTALL
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def data() -> me.ExplanationSet:
    """Two users, two items, four generators; a text names its generator, user and item."""
    rows = [
        (u, i, g, f"{g} by {u} on {i}", f"film {i}")
        for u in ("u2", "u1")
        for i in ("i1", "i2")
        for g in GENERATORS
    ]
    names = ["user_id", "item_id", "generator", "explanation", "item_title"]
    explanations = pd.DataFrame(rows, columns=names)
    ratings = explanations[names[:3]].assign(rater="user", aspect="clear", rating=3.0)
    users = pd.DataFrame({"user_id": ["u1", "u2"], "age": ["30", "40"]})
    return me.ExplanationSet(explanations, ratings, ASPECTS, Scale(1, 5), users=users, name="made")


def shown(body: dict[str, Any]) -> tuple[str, str]:
    """Return the two texts, in the order in which they were shown."""
    found = SHOWN.search(body["messages"][0]["content"])
    assert found is not None
    return found[1], found[2]


def alphabet(body: dict[str, Any], _before: int) -> Act:
    """Find the text clearer that is earlier in the alphabet, and the first one shown always more fitting."""
    one, two = shown(body)
    return Act(text=json.dumps({"clear": 1 if one < two else 2, "fitting": 1}))


def spec(server: Server, *more: str) -> str:
    return f"Pairwise({', '.join([repr('openai/gpt-4o'), *more, f'base_url={server.openai!r}'])})"


def test_both_orders_are_asked_and_named_by_the_pair(data: me.ExplanationSet) -> None:
    with serving(alphabet) as server, judging(prices=PRICES):
        table = me.score(data, {"p": spec(server)})
    verdicts = table.verdicts
    assert verdicts is not None
    assert len(server.log) == 4 * 6 * 2
    assert len(verdicts) == 4 * 6 * 2 * 2
    assert len({shown(s.body) for s in server.log}) == 48
    assert (verdicts["first"] < verdicts["second"]).all()
    assert set(verdicts["evaluator"]) == {"p"}
    clear = verdicts[verdicts["aspect"] == "clear"]
    assert set(clear["winner"]) == {"first"}
    fitting = verdicts[verdicts["aspect"] == "fitting"]
    assert (fitting["winner"] == fitting["order"]).all()
    # Which text stood first is what `order` says: the stored call shows it.
    assert verdicts["call"].nunique() == 48
    outcome = table.signatures["p"]["outcome"]
    assert outcome == {
        "comparisons": 24, "possible": 24, "calls_saved": 0, "wins": 24, "ties": 0, "flips": 24, "failed": 0,
    }  # fmt: skip
    assert table.kinds == {"p": Kind.JUDGE}
    assert table.signatures["p"]["models"] == ["gpt-4o-2024-08-06"]
    assert table.frame["tokens"].sum() == pytest.approx(110 * 48)
    assert table.frame["usd"].sum() == pytest.approx(48 * (100 * 2.5 + 10 * 10) / 1e6)
    assert (table.frame["call"] != "").all()


def test_scores_of_units_are_strengths_within_user_and_item(data: me.ExplanationSet) -> None:
    with serving(alphabet) as server:
        rates = me.score(data, [spec(server, "aggregate='win-rate'")]).frame
        model = me.score(data, [spec(server)]).frame
        n = len(server.log)
        elo = me.score(data, [spec(server, "aggregate='elo'")]).frame
        dropped = me.score(data, [spec(server, "flips='drop'")]).frame
        assert len(server.log) == n  # the same questions
    assert Counter(dropped.loc[dropped["aspect"] == "fitting", "status"]) == {"missing": 16}
    assert Counter(dropped.loc[dropped["aspect"] == "clear", "status"]) == {"ok": 16}
    of_clear = rates[rates["aspect"] == "clear"]
    assert of_clear.groupby("generator")["score"].unique().map(list).to_dict() == {
        "a": [1.0], "b": [pytest.approx(2 / 3)], "c": [pytest.approx(1 / 3)], "d": [0.0],
    }  # fmt: skip
    assert set(rates.loc[rates["aspect"] == "fitting", "score"]) == {0.5}  # flips are half a point each
    for frame in (model, elo):
        means = frame[frame["aspect"] == "clear"].groupby("generator")["score"].mean()
        assert means.is_monotonic_decreasing
        assert np.isfinite(frame["score"]).all()


def test_scores_of_generators_are_evalicas_over_all_pairs(data: me.ExplanationSet) -> None:
    def mixed(body: dict[str, Any], _before: int) -> Act:
        one, two = shown(body)
        alphabetical = 1 if one < two else 2
        turned = "u1 on i2" in one and "d" in (one[0], two[0])
        return Act(text=json.dumps({"clear": 3 - alphabetical if turned else alphabetical, "fitting": 0}))

    with serving(mixed) as server:
        table = me.score(data, [spec(server, "per='generator'")])
    frame, verdicts = table.frame, table.verdicts
    assert not frame.groupby(["aspect", "generator"])["score"].std().any()
    scores = frame[frame["aspect"] == "clear"].groupby("generator")["score"].first()
    pairs = comparisons_of(verdicts[verdicts["aspect"] == "clear"])
    place = {g: i for i, g in enumerate("abcd")}
    games = Games(
        pairs["first"].map(place).to_numpy(),
        pairs["second"].map(place).to_numpy(),
        (pairs["outcome"] == 1).astype(float).to_numpy(),
        4,
    )
    np.testing.assert_allclose(scores, strengths("bradley-terry", games))
    np.testing.assert_allclose(frame.loc[frame["aspect"] == "fitting", "score"], 0, atol=1e-9)


def test_swiss_rounds_hang_on_the_replies_and_save_calls(data: me.ExplanationSet) -> None:
    with serving(alphabet) as server:
        table = me.score(data, [spec(server, "pairs='swiss'", "rounds=2")], aspects=["clear"])
        assert len(server.log) == 4 * 2 * 2 * 2
        again = me.score(data, [spec(server, "pairs='swiss'", "rounds=2")], aspects=["clear"])
        assert len(server.log) == 32
    pd.testing.assert_frame_equal(again.verdicts, table.verdicts)
    (outcome,) = (s["outcome"] for s in table.signatures.values())
    assert outcome["comparisons"] == 16
    assert outcome["calls_saved"] == 2 * (24 - 16)
    for _, group in table.verdicts.groupby(["user_id", "item_id"]):
        pairs = [tuple(p) for p in group.loc[group["order"] == "first", ["first", "second"]].to_numpy()]
        assert len(set(pairs)) == 4
        winners = {min(p) for p in pairs[:2]}  # of the first round
        assert tuple(sorted(winners)) in pairs[2:]


def test_ways_to_fail_are_named_and_leave_the_pair_out(data: me.ExplanationSet) -> None:
    refused = {"a by u1 on i1", "b by u1 on i1"}

    def behave(body: dict[str, Any], before: int) -> Act:
        texts = shown(body)
        if set(texts) == refused and texts[0].startswith("a"):
            return acts.REFUSED
        if "c by u2 on i2" in texts:
            return acts.error(500, "server_error")
        if texts == ("b by u1 on i2", "d by u1 on i2"):
            return Act(text='{"clear": 3, "fitting": 0}')
        return alphabet(body, before)

    limits = Limits(retries=0)
    with serving(behave) as server, judging(limits=limits):
        table = me.score(data, [spec(server, "attempts=2")])
    statuses = Counter(table.verdicts["status"])
    assert statuses == {"ok": 96 - 2 - 12 - 2, "refused": 2, "transport": 12, "unparsed": 2}
    assert (table.verdicts["winner"] == "").equals(table.verdicts["status"] != "ok")
    found = comparisons_of(table.verdicts)
    assert (found["outcome"] == -1).sum() == 2 + 6 + 2
    # Three comparisons of the unit failed, so it has no score; of the others some are left.
    lost = table.frame[table.frame["status"] != "ok"]
    assert lost[["user_id", "item_id", "generator", "status"]].drop_duplicates().to_numpy().tolist() == [
        ["u2", "i2", "c", "transport"]
    ]


def test_without_budget_no_score_is_made_of_what_was_affordable(data: me.ExplanationSet) -> None:
    for per in ("unit", "generator"):
        with serving(alphabet) as server, judging(budget=Budget(max_calls=0)):
            table = me.score(data, [spec(server, f"per={per!r}", "temperature=0.5")])
            assert not server.log
        assert set(table.frame["status"]) == {"budget"}
    for per in ("unit", "generator"):
        with serving(alphabet) as server, judging(budget=Budget(max_calls=30)):
            table = me.score(data, [spec(server, f"per={per!r}", f"replicate={len(per)}")])
            assert len(server.log) == 30
        short = table.verdicts[table.verdicts["status"] == "budget"]
        sides = [short[["user_id", "item_id", s]].to_numpy().tolist() for s in ("first", "second")]
        units = {tuple(unit) for side in sides for unit in side}
        frame = table.frame[table.frame["status"] == "budget"]
        without = {tuple(k) for k in frame[["user_id", "item_id", "generator"]].to_numpy()}
        assert len(without) == 16 if per == "generator" else without == units


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Pairwise('gpt-4o')", "Pairwise takes a model such as 'openai/gpt-4o'"),
        ("Pairwise('openai/gpt-4o', pairs='sampled')", "n must be an integer of at least 1, not None"),
        ("Pairwise('openai/gpt-4o', rounds=2)", "rounds=2 is for pairs='swiss', not 'all'"),
        ("Pairwise('openai/gpt-4o', aggregate='bt')", "bradley-terry, elo, win-rate"),
        ("Pairwise('simulated/first_bias=2')", "first_bias is '2'; it must be a number from -1 to 1"),
    ],
)
def test_what_cannot_be_built_is_said(text: str, message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        build(text)


def test_what_cannot_be_compared_is_said(data: me.ExplanationSet) -> None:
    lone = data.explanations[data.explanations["generator"] == "a"].reset_index(drop=True)
    with pytest.raises(DataError, match="no two explanations of the same item for the same user"):
        me.score(dataclasses.replace(data, explanations=lone), ["Pairwise('simulated/x')"])
    with pytest.raises(MetaevalError, match="does not compare two texts"):
        me.score(data, ["Pairwise('simulated/x', prompt='multi-aspect')"])
    bare = dataclasses.replace(data, explanations=data.explanations.drop(columns="explanation"))
    with pytest.raises(DataError, match="column 'explanation'"):
        me.score(bare, ["Pairwise('simulated/x')"])
    with pytest.raises(SpecError, match="no argument 'examples'"):
        build("Pairwise('simulated/x', examples='none')")
