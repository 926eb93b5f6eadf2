"""The judge of duels, through the real SDK against a server on the loopback address."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import PromptError
from metaeval.judging.settings import judging
from metaeval.kinds.registry import check_judge_prompt
from metaeval.kinds.slates.data.slate_set import Domain, units_of, utilities_of
from metaeval.kinds.slates.judge import SlateRating, Slates
from metaeval.llm.calls.limits import Limits
from metaeval.llm.prompts.template import bundled_prompts
from tests.kinds.slates.catalogue import slates
from tests.llm import server as acts
from tests.llm.server import Act, serving

ASPECTS = ["preference"]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def films(text: str, tag: str) -> list[int]:
    """Return the films of the list that stands between a tag and its end, in their order."""
    (listed,) = re.findall(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.DOTALL)
    return [int(number) for number in re.findall(r"title: Film (\d+)", listed)]


def told(body: dict[str, Any]) -> str:
    return "\n".join(message["content"] for message in body["messages"])


def prefers_small_numbers(body: dict[str, Any], _before: int = 0) -> Act:
    sums = [sum(films(told(body), tag)) for tag in ("list-a", "list-b")]
    return Act(text=json.dumps({"preference": "A" if sums[0] < sums[1] else "B", "reason": "So."}))


def test_scores_are_the_verdicts_by_place_and_nothing_is_asked_twice() -> None:
    data = slates()
    with serving(prefers_small_numbers) as server:
        judge = Slates("openai/m", base_url=server.openai)
        with judging():
            frame = judge.score(data, ASPECTS).frame
        assert len(server.log) == len(data) == 24
        with judging(offline=True):
            assert judge.score(data, ASPECTS).frame.equals(frame)
    assert set(frame["status"]) == {"ok"}
    items = data.slates.groupby(["user_id", "slate"])["item_id"].agg(lambda of: sum(int(i[1:]) for i in of))
    sums = [
        [items[user, s] for s in pair]
        for user, *pair in data.table[["user_id", "first", "second"]].to_numpy()
    ]
    assert frame["score"].tolist() == [1 if first < second else -1 for first, second in sums]


def test_a_set_has_no_order_and_lists_are_shown_in_theirs() -> None:
    data = slates(users=1, duels=3)
    with serving(prefers_small_numbers) as server, judging():
        Slates("openai/m", fields=["title"], base_url=server.openai).score(data, ASPECTS)
        bodies = [seen.body for seen in server.log]
    listed = data.slates.groupby("slate")["item_id"].agg(lambda of: [int(i[1:]) for i in of])
    shown = {tuple(films(told(body), tag)): told(body) for body in bodies for tag in ("list-a", "list-b")}
    assert tuple(sorted(listed["s0"], key=str)) in shown
    assert tuple(listed["s2"]) in shown
    assert shown[tuple(listed["s2"])] != shown[tuple(listed["s4"])]
    for task, (slate, line) in {
        "T1": ("s0", "- title"),
        "T2": ("s2", "2. title"),
        "T3": ("s4", "3. title"),
    }.items():
        films_of = sorted(listed["s0"], key=str) if task == "T1" else listed[slate]
        assert f"\n{line}" in shown[tuple(films_of)]
    systems = {body["messages"][0]["content"] for body in bodies}
    assert sorted(
        len(re.findall(r"A set has no order|the same items, in different", s)) for s in systems
    ) == [0, 1, 1]


def test_what_a_user_shares_is_the_same_goes_first_and_holds_no_item_of_a_slate() -> None:
    data = slates(users=3, duels=8)
    with serving(prefers_small_numbers, delay=0.01) as server:
        with judging(limits=Limits(concurrency=8)):
            Slates("openai/m", history=4, base_url=server.openai).score(data, ASPECTS)
        bodies = [seen.body["messages"] for seen in server.log]
    assert all([message["role"] for message in body] == ["system", "user", "user"] for body in bodies)
    assert len({json.dumps(body[:-1]) for body in bodies}) == 9  # users and tasks
    assert data.histories is not None
    for user, own in data.slates.groupby("user_id"):
        past = data.histories[data.histories["user_id"] == user]
        kept = past[~past["item_id"].isin(own["item_id"])].sort_values("timestamp", ascending=False)
        assert 0 < len(kept) < len(past)
        lines = [
            f"title: Film {item[1:]}; genres: .*; rated {rating:g}"
            for item, rating in kept[["item_id", "rating"]].head(4).to_numpy()
        ]
        wanted = "<history>\n" + "\n".join(lines) + "\n</history>"
        assert any(re.search(wanted, body[1]["content"]) for body in bodies), wanted


def test_a_repeated_duel_is_asked_again_and_so_is_the_second_order_of_a_slate_and_itself() -> None:
    duels = slates(users=1, duels=1).table.iloc[:1].drop(columns="order")
    again = pd.concat([duels, duels.assign(duel="again", repeat=1), duels.assign(duel="same", second="s0")])
    units = units_of(again)
    data = replace(slates(users=1, duels=1), table=units, ratings=utilities_of(units))
    with serving(prefers_small_numbers) as server, judging():
        judge = Slates("openai/m", base_url=server.openai)
        asked = [question.request.replicate for question in judge.questions(data, ASPECTS)]
        assert asked == [0, 0, 1, 1, 0, 1]
        judge.score(data, ASPECTS)
        assert len(server.log) == 6
        Slates("openai/m", replicate=1, base_url=server.openai).score(data, ASPECTS)
        assert len(server.log) == 9  # what was the repetition is the first time of replicate=1


def answer(body: dict[str, Any], _before: int = 0) -> Act:
    if "<slate>" in told(body):
        return Act(text=json.dumps({"rating": sum(films(told(body), "slate")) % 10 + 1}))
    return prefers_small_numbers(body)


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('{"preference": "A", "reason": "It has what they like."}', 1),
        ('{"preference": "B"}', -1),
        ("preference: A\nreason: Both lists are good, but list A has more thrillers than list B.", 1),
        ("B", -1),
        ("preference: A\nreason: On reflection, B is better.", 1),
    ],
)
def test_replies_are_read_as_letters(reply: str, score: float | None) -> None:
    with serving(acts.always(Act(text=reply))) as server, judging():
        judge = Slates("openai/m", attempts=1, base_url=server.openai)
        frame = judge.score(slates(users=1, duels=1), ASPECTS).frame
    assert set(frame["status"]) == {"unparsed" if score is None else "ok"}
    assert score is None or set(frame["score"]) == {score}


DOMAINS = {
    "films": Domain(
        "a film service", "film", "films", "rating", "well-known films", "films of several genres"
    ),
    "music": Domain("a music service", "song", "songs", "share listened to", "hits", "several styles"),
}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("judge", [Slates, SlateRating])
@pytest.mark.parametrize("form", ["json", "text"])
def test_one_template_serves_every_domain(
    judge: type[Slates] | type[SlateRating], domain: str, form: str
) -> None:
    words = DOMAINS[domain]
    data = slates(users=1, duels=3, domain=words, profiles=pd.DataFrame({"user_id": ["u0"], "age": ["30"]}))
    asked = [q.request.messages for q in judge("openai/m", reply=form).questions(data, ASPECTS)]
    prompts = ["\n".join(message.content for message in messages) for messages in asked]
    assert len({messages[0].content for messages in asked}) == 3  # tasks
    for prompt in prompts:
        assert all(word in prompt for word in (*words[:1], *words[2:]))
        assert not re.search(r"\bitems?\b", prompt)
        assert "own " + words.liked + ", from 1 (worst) to 5 (best)" in prompt
        assert "- age: 30" in prompt
        assert "in at most 30 words" in prompt
    assert sum(f"any {words.noun} that you do not recognise" in prompt for prompt in prompts) == 4


@pytest.mark.parametrize("name", ["slates", "slate-rating"])
@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (r"<!-- \w+ -->\n", "", "has no part before the one with the (duel|slate)"),
        (r"{% if history %}", "{% if history %}{{ first }}{{ slate }}", "before its last part|does not name"),
        (
            r"## The (two )?{{",
            "{{ history.text if history }} {{",
            "shows history or profile in its last part",
        ),
        (r"{{ (first|slate) \|", "{{ frist |", "which the header does not name"),
    ],
)
def test_a_prompt_of_ones_own_is_checked(
    tmp_path: Path, name: str, before: str, after: str, says: str
) -> None:
    text = bundled_prompts()[name].read_text(encoding="utf-8").replace(f"name: {name}", "name: own")
    own = tmp_path / "own.md"
    own.write_text(text, encoding="utf-8")
    assert check_judge_prompt(own) == []
    assert check_judge_prompt(bundled_prompts()[name]) == []
    judge = Slates if name == "slates" else SlateRating
    assert next(judge("openai/m", prompt=str(own)).questions(slates(), ASPECTS))
    own.write_text(re.sub(before, after, text), encoding="utf-8")
    assert re.search(says, "\n".join(p.message for p in check_judge_prompt(own)))
    with pytest.raises(PromptError):
        next(judge("openai/m", prompt=str(own)).questions(slates(), ASPECTS))


@pytest.mark.slow
@pytest.mark.parametrize(("form", "tie"), [("json", False), ("text", True)])
def test_a_simulated_judge_follows_the_history_with_noise_and_a_lean(form: str, *, tie: bool) -> None:
    data = slates(users=30, duels=6)
    truth = np.sign(data.ratings["rating"].to_numpy())

    def judged(model: str) -> Any:
        with judging():
            frame = Slates(f"simulated/{model}", history=30, reply=form, tie=tie).score(data, ASPECTS).frame
        assert set(frame["status"]) == {"ok"}
        return frame["score"].to_numpy()

    def accuracy(scores: Any) -> float:
        known = truth != 0
        return float(np.mean((scores == truth)[known] + 0.5 * (scores == 0)[known]))

    good, noisy, coin, lean = map(judged, ("noise=0", "x", "weight=0", "first_bias=0.6"))
    assert accuracy(good) > accuracy(noisy) > 0.6
    assert abs(accuracy(coin) - 0.5) < 0.1
    assert abs((good == 1).mean() - (good == -1).mean()) < 0.1
    assert (lean == 1).mean() > 0.7
    assert tie == (0 in good)
