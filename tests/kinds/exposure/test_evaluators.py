"""Evaluators of matched pairs: the judge, through the real SDKs against a server, and others."""

import json
import re
import unicodedata
from functools import partial

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import DataError, SpecError
from metaeval.judging.estimate import estimates
from metaeval.judging.settings import JudgingOptions, judging
from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.judge import MatchedPairs
from metaeval.kinds.exposure.measures import PopularItem, System
from metaeval.kinds.registry import build, check_judge_prompt
from metaeval.llm.prompts.template import bundled_prompts
from tests.llm import server as acts
from tests.llm.server import Act, serving

ASPECTS = ["preference"]
ABOUT = {"name": "films", "statement": "Did the user click?", "outcome": {"min": 0, "max": 1}}
TITLES = ["Café “Müller” — part…two", "Naïve\u00a0Ghosts", "Quiet  Harbour", "Straße ½", "Last Tram", "Ǆ ﬁlm"]


def films(**tables):
    """Return two users with two pairs each, and one item that is in no pair."""
    log = pd.DataFrame(
        [(u, f"i{i}", 1_700_000_000 + i, i % 2) for u in ("u1", "u2") for i in range(6)],
        columns=["user_id", "item_id", "timestamp", "outcome"],
    )
    items = pd.DataFrame({"item_id": [f"i{i}" for i in range(6)], "title": TITLES, "released": [1.6e9] * 6})
    pairs = [(u, p, a, b, 2.0) for u in ("u1", "u2") for p, a, b in (("1", "i0", "i1"), ("2", "i3", "i2"))]
    frame = pd.DataFrame(pairs, columns=["user_id", "pair", "first", "second", "weight"])
    profiles = pd.DataFrame({"user_id": ["u1", "u2"], "likes": ["slow films", "fast cars"]})
    about = {**ABOUT, "exposure": "pair"}
    return log_of(about, {"log": log, "items": items, "pairs": frame, "profiles": profiles, **tables})


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-test")


def told(body):
    """Return the messages, in OpenAI's shape or in DashScope's."""
    return [message["content"] for message in (body.get("messages") or body["input"]["messages"])]


def shown(body, tag):
    """Return what stands between a tag and its end."""
    (text,) = re.findall(rf"^<{tag}>\n(.*?)\n</{tag}>$", "\n".join(told(body)), re.DOTALL | re.MULTILINE)
    return str(text)


def reply(winner, *evidence, text=False):
    if text:
        lines = "".join(f"\n- It fits. | {quote}" for quote in evidence)
        return f"winner: {winner}\nconfidence: 0.7\nrationales:{lines}"
    rationales = [{"reason": "It fits.", "evidence": quote} for quote in evidence]
    return json.dumps({"winner": winner, "confidence": 0.7, "rationales": rationales}, ensure_ascii=False)


def later(body, _before=0, *, text=False):
    """Prefer the title that comes later in the alphabet, and quote it."""
    titles = [shown(body, tag).removeprefix("title: ") for tag in ("item-a", "item-b")]
    return Act(text=reply("A" if titles[0] > titles[1] else "B", max(titles), text=text))


def scores(data, server, **options):
    """Return the scores of a judge that asks the server."""
    return MatchedPairs("openai/m", base_url=server.openai, **options).score(data, ASPECTS).frame


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "dashscope"])
@pytest.mark.parametrize("form", ["auto", "json", "text"])
def test_scores_are_verdicts_by_place_and_a_replay_asks_nobody(provider, form):
    data = films()
    with serving(partial(later, text=form == "text")) as server:
        judge = MatchedPairs(f"{provider}/m", reply=form, base_url=getattr(server, provider))
        with judging():
            frame = judge.score(data, ASPECTS).frame
        assert len(server.log) == len(data) == 8
        with judging(offline=True):
            assert judge.score(data, ASPECTS).frame.equals(frame)
    titles = dict(zip(data.items["item_id"], map(" ".join, map(str.split, TITLES)), strict=True))
    wanted = [1 if titles[a] > titles[b] else -1 for a, b in data.table[["first", "second"]].to_numpy()]
    assert frame["score"].tolist() == wanted
    assert (frame["evidence"] == 1).all()
    assert (frame["confidence"] == 0.7).all()
    assert set(frame["invented"]) == {""}


def test_what_the_model_is_told():
    data = films()
    with serving(later) as server, judging():
        scores(data, server)
        asked = [told(request.body) for request in server.log]
        histories = [shown(request.body, "history") for request in server.log]
    for system, context, pair in asked:
        assert "Did the user click?" in system
        assert re.search("<profile>\nlikes: (slow films|fast cars)\n</profile>", context)
        assert "released" not in context + pair
    # UnitResults items are left out, and the most recent row comes first.
    assert set(histories) == {"title: Ǆ ﬁlm; rated 1\ntitle: Last Tram; rated 0"}
    assert len({context for _, context, _ in asked}) == 2
    assert len({pair for _, _, pair in asked}) == 4  # two pairs in both orders


FOUND = [
    *("title: Last Tram; rated 0", "slow films", "Café “Müller” — part…two", "Naïve \n Ghosts"),
    *(unicodedata.normalize("NFD", 'Café "Müller" - part...two'), "Straße 1⁄2", "Quiet Harbour"),
]
INVENTED = [
    *("café “Müller”", "Cafe “Müller”", "Strasse", "QuietHarbour"),  # case, accents, letters, spaces
    *("Café … two", "…"),  # an ellipsis that leaves something out
    *("Ghosts Quiet Harbour", "part…two; rated 1", "fast cars and slow films"),  # from two blocks
    *("You compare two items", "The two items", "item-a"),  # from the instructions
]


@pytest.mark.parametrize(("quote", "share"), [*((q, 1.0) for q in FOUND), *((q, 0.5) for q in INVENTED)])
def test_evidence_of_user_or_items_is_found_and_other_evidence_is_not(quote, share):
    assert planted(quote, FOUND[0]).tolist() == [share, share]


def planted(one, other):
    """Return the share of evidence found of the first user's pair that has the passage, in both orders."""
    data = films()
    pair = "2" if any(word in one for word in ("Stra", "Quiet")) else "1"
    with serving(lambda _body, _: Act(text=reply("A", one, other))) as server, judging():
        frame = scores(data, server)
        assert len(server.log) == 8  # nothing is asked again
    own = frame[(frame["user_id"] == "u1") & (frame["pair"] == pair)]
    invented = own["evidence"] < 1
    assert own["status"].tolist() == ["invented" if bad else "ok" for bad in invented]
    assert own["score"].isna().tolist() == invented.tolist()
    assert own["invented"].tolist() == [one if bad else "" for bad in invented]
    return own["evidence"].to_numpy()


def test_the_rule_says_what_invented_evidence_does():
    data = films()
    with serving(lambda _body, _: Act(text=reply("A", "made up", FOUND[0]))) as server, judging():
        for rule in ("weight", "ignore"):
            frame = scores(data, server, evidence=rule)
            assert frame["score"].tolist() == [1] * 8
            assert frame["evidence"].tolist() == [0.5] * 8
        assert len(server.log) == 8  # the rule is no part of the question
        frame = scores(data, server, samples=2, temperature=1)
        assert set(frame["status"]) == {"invented"}
        assert frame["evidence"].tolist() == [0.5] * 8
        assert set(frame["invented"]) == {"made up\nmade up"}


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (Act(text=reply("A")), "unparsed"),
        (Act(text=reply("C", FOUND[0])), "unparsed"),
        (Act(text=reply("A", FOUND[0]).replace("0.7", "7")), "out_of_range"),
        (acts.REFUSED, "refused"),
        (acts.LENGTH, "truncated"),
    ],
)
def test_a_reply_that_is_not_whole_is_asked_for_again(act, status):
    with serving(acts.always(act)) as server, judging():
        frame = scores(films(), server, attempts=2)
        assert len(server.log) == 16
    assert set(frame["status"]) == {status}


def test_a_tie_is_allowed_or_not():
    data = films()
    with serving(lambda _body, _: Act(text=reply("TIE", FOUND[0]))) as server, judging():
        allowed, refused = scores(data, server), scores(data, server, tie=False, attempts=1)
        systems = [told(request.body)[0] for request in server.log]
    assert set(allowed["score"]) == {0}
    assert set(refused["status"]) == {"unparsed"}
    assert ["TIE" in text for text in systems[:8]] == [True] * 8
    assert not any("TIE" in text for text in systems[8:])


@pytest.mark.parametrize("form", ["auto", "json", "text"])
def test_the_simulated_model_quotes_and_makes_up_on_demand(form):
    with judging():
        honest, inventive = (
            MatchedPairs(f"simulated/x{more}", reply=form).score(films(), ASPECTS).frame
            for more in ("", ",invent=1")
        )
    assert (set(honest["status"]), set(inventive["status"])) == ({"ok"}, {"invented"})
    assert honest["confidence"].between(0.5, 1).all()
    assert inventive["evidence"].eq(0).all()


def test_users_of_whom_nothing_is_known_are_not_asked_about():
    data = films()
    silent = data.log[(data.log["user_id"] != "u2") | data.log["item_id"].isin([f"i{i}" for i in range(4)])]
    tables = {"log": silent.astype({"user_id": str, "item_id": str})}
    tables["profiles"] = pd.DataFrame({"user_id": ["u1"], "likes": ["slow films"]})
    with judging():
        frame = MatchedPairs("simulated/x").score(films(**tables), ASPECTS).frame
    statuses = frame.groupby("user_id")["status"].unique().map(list).to_dict()
    assert statuses == {"u1": ["ok"], "u2": ["missing"]}


def test_arguments_prompt_and_what_it_would_take(tmp_path):
    judge = MatchedPairs("openai/m", evidence="weight", fields=["title"], base_url="http://127.0.0.1:1/v1")
    assert build(str(judge), known={"MatchedPairs": MatchedPairs}) == judge
    with pytest.raises(SpecError, match="evidence='drop' is not known"):
        MatchedPairs("openai/m", evidence="drop")
    with judging(), pytest.raises(DataError, match="no field 'titel'; did you mean 'title'"):
        MatchedPairs("simulated/x", fields=["titel"]).score(films(), ASPECTS)
    (found,) = estimates([judge], [films()], ASPECTS, JudgingOptions(store="replies.sqlite"))
    assert found.requests == 8
    bundled = bundled_prompts()["pairs-of-items"]
    assert check_judge_prompt(bundled) == []
    own, text = tmp_path / "own.md", bundled.read_text(encoding="utf-8")
    text = text.replace("name: pairs-of-items", "name: own").replace("{{ second | fenced(second_tag) }}", "")
    own.write_text(text.replace(", first, second]", ", first]"))
    assert any("second" in problem.message for problem in check_judge_prompt(own))


def verdicts(evaluator, data):
    return evaluator.score(data, ASPECTS).frame["score"].tolist()


def lists(**score):
    """Return two recommenders' lists for the first user, i1 before i0 and neither i2 nor i3."""
    rows = [(system, "u1", item, rank) for system in ("s", "t") for rank, item in enumerate(("i1", "i0"), 1)]
    return pd.DataFrame(rows, columns=["system", "user_id", "item_id", "rank"]).assign(**score)


def test_popularity_counts_users_of_the_log():
    data = films()
    log = data.log.astype({"user_id": str, "item_id": str})
    more = pd.DataFrame({"user_id": ["u3", "u3", "u4"], "item_id": ["i1", "i1", "i3"], "outcome": [1, 1, 1]})
    found = verdicts(PopularItem(), films(log=pd.concat([log, more], ignore_index=True).fillna(0)))
    assert found == [-1, 1, 1, -1] * 2  # i1 before i0, i3 before i2; a row that comes twice is one user
    assert verdicts(PopularItem(), data) == [0] * 8


def test_a_system_prefers_the_better_rank_or_the_higher_score():
    found = verdicts(System("s"), films(runs=lists()))
    assert found[:4] == [-1, 1, 0, 0]  # i1 before i0; neither i2 nor i3 is on the list
    assert np.isnan(found[4:]).all()  # the other user has no list
    scored = films(runs=lists(score=[1.0, 2.0, 3.0, np.nan]))
    assert verdicts(System("s"), scored)[:2] == [1, -1]  # by score, which is higher for i0
    assert verdicts(System("t"), scored)[:2] == [-1, 1]  # not all of its items have a score
    assert System("s").signature(scored) == {"system": "s", "by": "score"}


def test_a_system_that_is_not_there():
    with pytest.raises(DataError, match="no table runs"):
        verdicts(System("s"), films())
    with pytest.raises(DataError, match=r"no recommender 'x' .*it has: s, t"):
        verdicts(System("x"), films(runs=lists()))
