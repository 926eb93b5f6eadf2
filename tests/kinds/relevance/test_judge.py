"""The judge of relevance, through the real SDK against a server on the loopback address."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from metaeval.base.errors import DataError, PromptError, SpecError
from metaeval.base.records import Kind, Scale
from metaeval.judging.estimate import estimates
from metaeval.judging.models import models_of
from metaeval.judging.settings import JudgingOptions, judging
from metaeval.kinds.registry import build, check_judge_prompt
from metaeval.kinds.relevance.judge import CRITERIA, Relevance
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.price import Prices
from metaeval.llm.prompts.template import bundled_prompts
from tests.kinds.relevance.films import films
from tests.llm import server as acts
from tests.llm.server import Act, serving

if TYPE_CHECKING:
    from pathlib import Path

    from metaeval.evaluators.base import BaseEvaluator

ASPECTS = ["relevance"]
KNOWN = {"Relevance": Relevance}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def number_of(body: dict[str, Any]) -> int:
    """Return the number of the film that a request is about."""
    found = re.search(r"title: Film (\d+)", body["messages"][-1]["content"])
    assert found is not None
    return int(found[1])


def answer(body: dict[str, Any], _before: int = 0) -> Act:
    return Act(text=json.dumps({"reason": "As before.", "relevance": number_of(body) % 4}))


def test_labels_are_what_the_model_said_and_nothing_is_asked_twice() -> None:
    data = films()
    with serving(answer) as server:
        judge = Relevance("openai/m", labels=6, base_url=server.openai)
        with judging():
            frame = judge.score(data, ASPECTS).frame
        assert len(server.log) == 18
        with judging(offline=True):
            again = judge.score(data, ASPECTS).frame
        assert again.equals(frame)
        with judging():
            Relevance("openai/m", labels=8, base_url=server.openai).score(data, ASPECTS)
            assert len(server.log) == 24  # the larger sample has the smaller one in it
            Relevance("openai/m", labels=6, replicate=1, base_url=server.openai).score(data, ASPECTS)
            assert len(server.log) == 42
    asked = frame[frame["status"] == "ok"]
    assert asked.groupby("user_id").size().tolist() == [6, 6, 6]
    assert (asked["score"] == asked["item_id"].str[1:].astype(int) % 4).all()
    assert set(frame["status"]) == {"ok", "missing"}
    assert judge.kind is Kind.JUDGE


def test_all_but_the_last_message_of_a_user_is_the_same_and_goes_first_once() -> None:
    data = films(users=3, judged=12)
    with serving(answer, delay=0.02) as server:
        with judging(limits=Limits(concurrency=8)):
            Relevance("openai/m", base_url=server.openai).score(data, ASPECTS)
        bodies = [seen.body["messages"] for seen in server.log]
    assert len(bodies) == 36
    assert all([m["role"] for m in body] == ["system", "user", "user"] for body in bodies)
    assert len({json.dumps(body[:-1]) for body in bodies}) == 3
    assert len({body[0]["content"] for body in bodies}) == 1
    for body in bodies:
        assert "<history>\ntitle: Film" in body[1]["content"]
        assert body[2]["content"].startswith("## The item\n<item>\ntitle: Film")
        item = re.search(r"title: (Film \d+)\n", body[2]["content"])
        assert item is not None
        assert f"title: {item[1]};" not in body[1]["content"]
    assert "0: not interested\n- 1: somewhat interested" in bodies[0][0]["content"]
    assert "How interested are you in watching this film?" in bodies[0][0]["content"]


def rating(body: dict[str, Any], _before: int) -> Act:
    said: dict[str, Any] = {"reason": "Why not."}
    keys = re.findall(r'^- "(\w+)": your rating', body["messages"][0]["content"], re.MULTILINE)
    said |= dict.fromkeys(keys, 2)
    if '"relevance"' in body["messages"][0]["content"]:
        said["relevance"] = 1
    return Act(text=json.dumps(said))


@pytest.mark.parametrize(
    ("criteria", "score", "names"),
    [
        ("cot", 1, list(CRITERIA)),
        ("sum", 22, list(CRITERIA)),
        (["genre", "host: does it match the hosts that they like?"], 1, ["genre", "host"]),
        (["sum", "tone", "genre"], 4, ["tone", "genre"]),
    ],
)
def test_criteria_are_rated_each_and_put_together(criteria: Any, score: int, names: list[str]) -> None:
    with serving(rating) as server, judging():
        judge = Relevance("openai/m", criteria=criteria, labels=2, base_url=server.openai)
        table = judge.score(films(), ASPECTS)
        system = server.log[0].body["messages"][0]["content"]
    assert set(table.frame["score"].dropna()) == {score}
    (signature,) = table.signatures.values()
    assert list(signature["criteria"]) == names
    is_sum = signature["put_together"] == "sum"
    assert signature.get("score_scale") == ([0, 3 * len(names)] if is_sum else None)
    assert re.findall(r"^- (\w+): does it match", system, re.MULTILINE) == names
    assert ("not interested" in system) != is_sum


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (acts.REFUSED, "refused"),
        (Act(text='{"reason": "So.", "relevance": 4}'), "out_of_range"),
        (Act(text='{"reason": "So."}'), "unparsed"),
    ],
)
def test_a_reply_that_cannot_be_read_is_a_failure_and_no_label(act: Act, status: str) -> None:
    with serving(acts.always(act)) as server, judging():
        judge = Relevance("openai/m", labels=1, attempts=2, base_url=server.openai)
        frame = judge.score(films(), ASPECTS).frame
    assert frame["score"].isna().all()
    assert frame["status"].value_counts().to_dict() == {"missing": 27, status: 3}


@pytest.mark.parametrize("form", ["auto", "json", "text"])
@pytest.mark.parametrize("criteria", [None, "cot", "sum"])
def test_the_simulated_model_answers(form: str, criteria: str | None) -> None:
    with judging():
        judge = Relevance("simulated/x,noise=0", reply=form, criteria=criteria)
        table = judge.score(films(), ASPECTS)
    assert set(table.frame["status"]) == {"ok"}
    assert table.frame["score"].nunique() > 2
    assert table.signatures[str(judge)]["simulated"]


def judged_by(model: dict[str, Any], spec: str) -> BaseEvaluator:
    found = build(spec, known=KNOWN, models=models_of({"mini": model}))
    assert isinstance(found, Relevance)
    return found


def test_a_history_over_the_context_is_cut_counted_and_said(caplog: pytest.LogCaptureFixture) -> None:
    data = films(users=3, items=200, past=150, judged=4)
    with serving(answer) as server, judging(), caplog.at_level(logging.WARNING, "metaeval"):
        model = {"model": "openai/m", "base_url": server.openai, "context": 2200}
        judge = judged_by(model, "Relevance('mini', fields=['title'])")
        table = judge.score(data, ASPECTS)
        shown = {len(seen.body["messages"][1]["content"]) for seen in server.log}
        assert "context" not in server.log[0].body
    (signature,) = table.signatures.values()
    assert (signature["users"], signature["users_cut"]) == (3, 3)
    assert "the histories of 3 of 3 users are longer than the model takes, and are cut" in caplog.text
    assert max(shown) / 4 < 2200 * 4 / 5 - 1024 + 100
    with pytest.raises(SpecError, match="context of 1,000 tokens leaves no room for a reply of 1,024"):
        judged_by({**model, "context": 1000}, "Relevance('mini')").score(data, ASPECTS)


def test_what_it_would_cost_counts_the_cache(tmp_path: Path) -> None:
    """The server's own count of cached tokens is priced as such; the estimate before is near it."""
    data = films(users=2, items=400, past=300, judged=10)
    prices = {"openai/m": {"input": 1.0, "output": 0.0, "cached": 0.1}}
    options = JudgingOptions.model_validate({"store": str(tmp_path / "s.sqlite"), "prices": prices})

    def counting(body: dict[str, Any], _before: int) -> Act:
        tokens = [len(message["content"]) // 4 for message in body["messages"]]
        profile = body["messages"][1]["content"]
        cached = sum(tokens[:-1]) if profile in seen else 0
        seen.add(profile)
        usage = {"prompt_tokens": sum(tokens), "completion_tokens": 10, "total_tokens": sum(tokens) + 10}
        usage["prompt_tokens_details"] = {"cached_tokens": cached}  # type: ignore[assignment]
        return Act(text=answer(body).text, usage=usage)

    seen: set[str] = set()
    with serving(counting) as server:
        judge = Relevance("openai/m", base_url=server.openai)
        (before,) = estimates([judge], [data], ASPECTS, options)
        with judging(options.store, prices=Prices(prices)):
            frame = judge.score(data, ASPECTS).frame
        (after,) = estimates([judge], [data], ASPECTS, options)
    assert before.requests == 20
    assert 0.85 < before.cached_tokens / before.tokens < 0.9
    assert before.usd_likely == pytest.approx(frame["usd"].sum(), rel=0.01)
    assert before.usd is not None
    assert before.usd > 5 * frame["usd"].sum()
    assert (after.tokens, after.cached_tokens) == (0, 0)


def test_a_user_or_item_of_which_nothing_is_known_is_not_asked_about() -> None:
    data = films()
    unknown = data.table["item_id"][0]
    items = data.items[data.items["item_id"] != unknown]
    with serving(answer) as server, judging():
        judge = Relevance("openai/m", base_url=server.openai)
        frame = judge.score(
            replace(data, items=items, histories=data.histories[data.histories["user_id"] != "u1"]), ASPECTS
        ).frame
        none = Relevance("openai/m", history=0, base_url=server.openai).score(data, ASPECTS).frame
        assert "<history>" not in json.dumps(server.log[-1].body["messages"])
    missing = frame[frame["status"] == "missing"]
    assert set(missing["user_id"][missing["item_id"] != unknown]) == {"u1"}
    assert set(none["status"]) == {"ok"}


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("history=-1", "history must be an integer of at least 0"),
        ("labels=0", "labels must be an integer of at least 1"),
        ("order='newest'", "order='newest' is not known .*random, recent"),
        ("fields='title'", "fields is a list such as"),
        ("criteria='som'", "'som' is none of cot and sum; did you mean 'sum'"),
        ("criteria=['gnre']", "'gnre' is not known; did you mean 'genre'"),
        ("criteria=['sum', 'tone', 'tone']", "'tone' is twice in it"),
        ("criteria=['relevance: is it?']", "'relevance' is twice in it, or is a word of every reply"),
    ],
)
def test_wrong_arguments_are_said(argument: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        build(f"Relevance('openai/m', {argument})", known=KNOWN)


def test_a_spec_is_what_was_written_and_one_of_python_builds_it_again() -> None:
    text = "Relevance('openai/m', fields=('title', 'genres'), criteria=('sum', 'tone'), labels=None)"
    assert str(build(text, known=KNOWN)) == text
    made = Relevance("openai/m", fields=["title", "genres"], criteria=["sum", "tone"], labels=None)
    assert build(str(made), known=KNOWN) == made
    with pytest.raises(DataError, match="no field 'titel'; did you mean 'title'"):
        next(Relevance("openai/m", fields=["titel"]).questions(films(), ASPECTS))


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (r"<!-- \w+ -->\n", "", "has no part before the one with the item"),
        ("{% if history %}", "{% if history %}{{ item }}", "shows the item before its last part"),
        ("## The item", "{{ history.text if history }}", "shows history or profile in its last part"),
        ("{{ question }}", "", "does not use the placeholder 'question'|'question', which is not used"),
        (r"{{ item \|", "{{ itm |", "did you mean 'item'"),
    ],
)
def test_a_prompt_of_ones_own_is_checked(tmp_path: Path, before: str, after: str, says: str) -> None:
    text = bundled_prompts()["relevance"].read_text(encoding="utf-8").replace("name: relevance", "name: own")
    own = tmp_path / "own.md"
    own.write_text(text, encoding="utf-8")
    assert check_judge_prompt(own) == []
    assert next(Relevance("openai/m", prompt=str(own)).questions(films(), ASPECTS))
    wrong = re.sub(before, after, text)
    assert wrong != text
    own.write_text(wrong, encoding="utf-8")
    assert re.search(says, "\n".join(p.message for p in check_judge_prompt(own)))
    with pytest.raises(PromptError):
        next(Relevance("openai/m", prompt=str(own)).questions(films(), ASPECTS))


def test_each_aspect_is_a_call_with_its_question_and_scale() -> None:
    two = {"relevance": "How interested are you?", "familiar": "How well do you know it?"}
    data = replace(
        films(), aspects=two, scale=Scale.over({"relevance": Scale(0, 3), "familiar": Scale(1, 7)})
    )

    def reply(body: dict[str, Any], _before: int = 0) -> Act:
        knows = "How well do you know it?" in body["messages"][0]["content"]
        assert knows == ("from 1 to 7" in body["messages"][0]["content"])
        assert knows != ("very interested" in body["messages"][0]["content"])
        return Act(text=json.dumps({"reason": "So.", "relevance": 7 if knows else number_of(body) % 4}))

    with serving(reply) as server, judging():
        judge = Relevance("openai/m", labels=4, base_url=server.openai)
        frame = judge.score(data, [*two]).frame
        assert len(server.log) == 24
        scores = frame[frame["status"] == "ok"].groupby("aspect")["score"]
        assert (scores.get_group("familiar") == 7).all()
        assert scores.get_group("relevance").max() <= 3
        with pytest.raises(DataError, match="criteria are of relevance alone"):
            Relevance("openai/m", criteria="sum", base_url=server.openai).score(data, [*two])
