"""The judge of matched pairs, through the real SDKs against a server on the loopback address."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import DataError, SpecError
from metaeval.judging.estimate import estimates
from metaeval.judging.settings import JudgingOptions, judging
from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.judge.judge import MatchedPairs
from metaeval.kinds.prompts import check_judge_prompt
from metaeval.kinds.registry import build
from metaeval.llm.prompts.template import bundled_prompts
from tests.llm import server as acts
from tests.llm.server import Act, serving

if TYPE_CHECKING:
    from pathlib import Path

    from metaeval.kinds.exposure.data.log_set import LogSet

ASPECTS = ["preference"]
ABOUT = {
    "name": "films",
    "outcome": {"min": 0, "max": 1},
    "statement": "Did the user click?",
    "exposure": "pair",
}
TITLES = ["Café “Müller” — part…two", "Naïve\u00a0Ghosts", "Quiet  Harbour", "Straße ½", "Last Tram", "Ǆ ﬁlm"]


def films(**tables: pd.DataFrame) -> LogSet:
    """Return two users with two pairs each, and one item that is in no pair."""
    log = pd.DataFrame(
        [(u, f"i{i}", 1_700_000_000 + i, i % 2) for u in ("u1", "u2") for i in range(6)],
        columns=["user_id", "item_id", "timestamp", "outcome"],
    )
    items = pd.DataFrame(
        {"item_id": [f"i{i}" for i in range(6)], "title": TITLES, "released": [1_600_000_000.0] * 6}
    )
    pairs = [(u, p, a, b, 2.0) for u in ("u1", "u2") for p, a, b in (("1", "i0", "i1"), ("2", "i3", "i2"))]
    frame = pd.DataFrame(pairs, columns=["user_id", "pair", "first", "second", "weight"])
    profiles = pd.DataFrame({"user_id": ["u1", "u2"], "likes": ["slow films", "fast cars"]})
    return log_of(ABOUT, {"log": log, "items": items, "pairs": frame, "profiles": profiles, **tables})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-test")


def told(body: dict[str, Any]) -> list[str]:
    """Return the messages, in OpenAI's shape or in DashScope's."""
    return [message["content"] for message in (body.get("messages") or body["input"]["messages"])]


def shown(body: dict[str, Any], tag: str) -> str:
    """Return what stands between a tag and its end."""
    (text,) = re.findall(rf"^<{tag}>\n(.*?)\n</{tag}>$", "\n".join(told(body)), re.DOTALL | re.MULTILINE)
    return str(text)


def reply(winner: str, *evidence: str, text: bool = False) -> str:
    if text:
        lines = "".join(f"\n- It fits. | {said}" for said in evidence)
        return f"winner: {winner}\nconfidence: 0.7\nrationales:{lines}"
    said = [{"reason": "It fits.", "evidence": e} for e in evidence]
    return json.dumps({"winner": winner, "confidence": 0.7, "rationales": said}, ensure_ascii=False)


def later(body: dict[str, Any], _before: int = 0) -> Act:
    """Prefer the title that comes later in the alphabet, and quote it."""
    titles = [shown(body, tag).removeprefix("title: ") for tag in ("item-a", "item-b")]
    return Act(text=reply("A" if titles[0] > titles[1] else "B", max(titles)))


@pytest.mark.parametrize("provider", ["openai", "dashscope"])
@pytest.mark.parametrize("form", ["auto", "json", "text"])
def test_scores_are_verdicts_by_place_and_a_replay_asks_nobody(provider: str, form: str) -> None:
    data = films()

    def answer(body: dict[str, Any], before: int) -> Act:
        act = later(body, before)
        said = json.loads(str(act.text))
        return Act(
            text=reply(said["winner"], *(r["evidence"] for r in said["rationales"]), text=form == "text")
        )

    with serving(answer) as server:
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


def test_what_the_model_is_told() -> None:
    data = films()
    with serving(later) as server, judging():
        MatchedPairs("openai/m", base_url=server.openai).score(data, ASPECTS)
        asked = [told(request.body) for request in server.log]
        histories = [shown(request.body, "history") for request in server.log]
    for system, context, pair in asked:
        assert "Did the user click?" in system
        assert re.search("<profile>\nlikes: (slow films|fast cars)\n</profile>", context)
        assert "released" not in context + pair
    # Judged items are left out, and the most recent row comes first.
    assert set(histories) == {"title: Ǆ ﬁlm; rated 1\ntitle: Last Tram; rated 0"}
    assert len({context for _, context, _ in asked}) == 2
    assert len({pair for _, _, pair in asked}) == 4  # two pairs in both orders


FOUND = [
    "title: Last Tram; rated 0",
    "slow films",
    unicodedata.normalize("NFD", 'Café "Müller" - part...two'),
    "Café “Müller” — part…two",
    "Naïve \n Ghosts",
    "Straße 1⁄2",
    "Quiet Harbour",
]
INVENTED = [
    "café “Müller”",  # case
    "Café … two",  # an ellipsis that leaves something out
    "Cafe “Müller”",
    "part…two; rated 1",
    "Strasse",
    "QuietHarbour",
    "Ghosts Quiet Harbour",  # from two blocks
    "You compare two items",  # from the instructions
    "item-a",
    "The two items",
    "fast cars and slow films",
    "…",
]


@pytest.mark.parametrize("said", FOUND)
def test_evidence_of_user_or_items_is_found(said: str) -> None:
    assert planted(said, said).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("said", INVENTED)
def test_planted_evidence_is_caught(said: str) -> None:
    assert planted(said, FOUND[0]).tolist() == [0.5, 0.5]


def planted(one: str, other: str) -> Any:
    """Return the share of evidence found of the first user's pair that has the passage, in both orders."""
    data = films()
    pair = "2" if any(word in one for word in ("Stra", "Quiet")) else "1"
    with serving(lambda _body, _: Act(text=reply("A", one, other))) as server, judging():
        frame = MatchedPairs("openai/m", base_url=server.openai).score(data, ASPECTS).frame
        assert len(server.log) == 8  # nothing is asked again
    own = frame[(frame["user_id"] == "u1") & (frame["pair"] == pair)]
    invented = own["evidence"] < 1
    assert own["status"].tolist() == ["invented" if bad else "ok" for bad in invented]
    assert own["score"].isna().tolist() == invented.tolist()
    assert own["invented"].tolist() == [one if bad else "" for bad in invented]
    return own["evidence"].to_numpy()


def test_the_rule_says_what_invented_evidence_does() -> None:
    data = films()
    with serving(lambda _body, _: Act(text=reply("A", "made up", FOUND[0]))) as server, judging():
        for rule in ("weight", "ignore"):
            frame = MatchedPairs("openai/m", evidence=rule, base_url=server.openai).score(data, ASPECTS).frame
            assert frame["score"].tolist() == [1] * 8
            assert frame["evidence"].tolist() == [0.5] * 8
        assert len(server.log) == 8  # the rule is no part of the question
        frame = (
            MatchedPairs("openai/m", samples=2, temperature=1, base_url=server.openai)
            .score(data, ASPECTS)
            .frame
        )
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
def test_a_reply_that_is_not_whole_is_asked_for_again(act: Act, status: str) -> None:
    with serving(acts.always(act)) as server, judging():
        frame = MatchedPairs("openai/m", attempts=2, base_url=server.openai).score(films(), ASPECTS).frame
        assert len(server.log) == 16
    assert set(frame["status"]) == {status}


def test_a_tie_is_allowed_or_not() -> None:
    data = films()
    with serving(lambda _body, _: Act(text=reply("TIE", FOUND[0]))) as server, judging():
        allowed = MatchedPairs("openai/m", base_url=server.openai).score(data, ASPECTS).frame
        refused = MatchedPairs("openai/m", tie=False, base_url=server.openai).score(data, ASPECTS).frame
        systems = [told(request.body)[0] for request in server.log]
    assert set(allowed["score"]) == {0}
    assert set(refused["status"]) == {"unparsed"}
    assert ["TIE" in text for text in systems[:8]] == [True] * 8
    assert not any("TIE" in text for text in systems[8:])


@pytest.mark.parametrize("form", ["auto", "json", "text"])
def test_the_simulated_model_quotes_and_makes_up_on_demand(form: str) -> None:
    data = films()
    with judging():
        honest = MatchedPairs("simulated/x", reply=form).score(data, ASPECTS).frame
        inventive = MatchedPairs("simulated/x,invent=1", reply=form).score(data, ASPECTS).frame
    assert set(honest["status"]) == {"ok"}
    assert honest["confidence"].between(0.5, 1).all()
    assert set(inventive["status"]) == {"invented"}
    assert inventive["evidence"].eq(0).all()
    assert np.isnan(inventive["score"]).all()


def test_users_of_whom_nothing_is_known_are_not_asked_about() -> None:
    data = films()
    silent = data.log[(data.log["user_id"] != "u2") | data.log["item_id"].isin([f"i{i}" for i in range(4)])]
    tables = {"log": silent.astype({"user_id": str, "item_id": str})}
    tables["profiles"] = pd.DataFrame({"user_id": ["u1"], "likes": ["slow films"]})
    with judging():
        frame = MatchedPairs("simulated/x").score(films(**tables), ASPECTS).frame
    assert frame.groupby("user_id")["status"].unique().map(list).to_dict() == {
        "u1": ["ok"],
        "u2": ["missing"],
    }


def test_arguments_prompt_and_what_it_would_take(tmp_path: Path) -> None:
    judge = MatchedPairs("openai/m", evidence="weight", fields=["title"], base_url="http://127.0.0.1:1/v1")
    assert build(str(judge), known={"MatchedPairs": MatchedPairs}) == judge
    with pytest.raises(SpecError, match="evidence='drop' is not known"):
        MatchedPairs("openai/m", evidence="drop")
    with judging(), pytest.raises(DataError, match="no field 'titel'; did you mean 'title'"):
        MatchedPairs("simulated/x", fields=["titel"]).score(films(), ASPECTS)
    (found,) = estimates([judge], films(), ASPECTS, JudgingOptions(store="replies.sqlite"))
    assert found.requests == 8
    bundled = bundled_prompts()["pairs-of-items"]
    assert check_judge_prompt(bundled) == []
    own = tmp_path / "own.md"
    own.write_text(bundled.read_text(encoding="utf-8").replace("name: pairs-of-items", "name: own"))
    text = own.read_text(encoding="utf-8")
    own.write_text(
        text.replace("{{ second | fenced(second_tag) }}", "").replace(", first, second]", ", first]")
    )
    assert any("second" in problem.message for problem in check_judge_prompt(own))
