"""The models that a study names: what is sent of each setting, through the real SDKs; and what is refused."""

from __future__ import annotations

import contextlib
import json
import traceback
from pathlib import Path
from typing import Any

import pytest

import metaeval as me
from metaeval.base.errors import SpecError, StoppedError, StudyError
from metaeval.cli import main
from metaeval.judging.models import models_of
from metaeval.kinds.registry import build
from metaeval.llm.store.replies import Store
from metaeval.study.pipeline import rerun
from metaeval.study.plan import plan
from tests.llm.server import Act, Server, serving
from tests.tiny import write_study

KEY = "sk-never-to-be-seen-4711"
GIVEN = {"model": "openai/gpt-5-mini"}


def answer(body: dict[str, Any], _before: int) -> Act:
    del body
    return Act(text='{"clear": 3, "fitting": 4}')


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "DASHSCOPE_HTTP_BASE_URL", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def data(tiny: Path) -> me.ExplanationSet:
    return me.load(tiny)


def sent(data: me.ExplanationSet, spec: str = "Judge('m')", **model: Any) -> dict[str, Any]:
    """Return the body of the first request of a judge, without the messages."""
    with serving(answer) as server:
        base_url = server.dashscope if model["model"].startswith("dashscope/") else server.openai
        with contextlib.suppress(StoppedError):  # by a judge that cannot read what the server says
            me.score(data, {"judge": spec}, models={"m": {"base_url": base_url, **model}})
        (body, *_) = [seen.body for seen in server.log]
    body.pop("messages", None)
    return body


DEFAULTS = {"model": "gpt-5-mini", "temperature": 0, "max_tokens": 1024}
BARE = {"model": "gpt-5-mini"}
THINKING = {"chat_template_kwargs": {"enable_thinking": False}, "top_k": 20}


@pytest.mark.parametrize(
    ("spec", "model", "body"),
    [
        ("Judge('m')", {}, DEFAULTS),
        ("Judge('m')", {"temperature": None}, {**BARE, "max_tokens": 1024}),
        ("Judge('m')", {"temperature": None, "max_tokens": None}, BARE),
        (
            "Judge('m')",
            {"temperature": 0.7, "max_tokens": 4000},
            {**BARE, "temperature": 0.7, "max_tokens": 4000},
        ),
        ("Judge('m')", {"reasoning_effort": "low"}, {**DEFAULTS, "reasoning_effort": "low"}),
        ("Judge('m')", {"reasoning_effort": None, "top_p": None}, DEFAULTS),
        ("Judge('m')", {"seed": 7, "top_p": 0.9}, {**DEFAULTS, "seed": 7, "top_p": 0.9}),
        ("Judge('m')", {"extra": THINKING}, {**DEFAULTS, **THINKING}),
        ("Judge('m')", {"extra": {"safe": None}}, {**DEFAULTS, "safe": None}),
        (
            "Judge('m')",
            {"max_completion_tokens": 4000},  # the judge's own limit would be a second one
            {**BARE, "temperature": 0, "max_completion_tokens": 4000},
        ),
        ("Judge('m', temperature=1)", {"temperature": 0.2}, {**DEFAULTS, "temperature": 1}),
        ("Judge('m', temperature=None)", {"temperature": 0.2}, {**BARE, "max_tokens": 1024}),
        ("Judge('m', max_tokens=9)", {"temperature": None}, {**BARE, "max_tokens": 9}),
        ("Judge(model='m', seed=3)", {"seed": 5}, {**DEFAULTS, "seed": 5}),
        ("Pairwise('m')", {"reasoning_effort": "low"}, {**DEFAULTS, "reasoning_effort": "low"}),
    ],
)
def test_what_is_sent(
    data: me.ExplanationSet, spec: str, model: dict[str, Any], body: dict[str, Any]
) -> None:
    assert sent(data, spec, **GIVEN, **model) == body


def test_what_is_sent_to_dashscope(data: me.ExplanationSet) -> None:
    model = {"temperature": None, "top_p": 0.9, "extra": {"enable_thinking": False}}
    found = sent(data, model="dashscope/qwen3", **model)
    assert found["model"] == "qwen3"
    wanted = {"result_format": "message", "max_tokens": 1024, "top_p": 0.9, "enable_thinking": False}
    assert found["parameters"] == wanted


def test_the_address_of_the_spec_goes_before_that_of_the_model(data: me.ExplanationSet) -> None:
    with serving(answer) as server:
        models = {"m": {**GIVEN, "base_url": "http://127.0.0.1:9/v1"}}
        me.score(data, [f"Judge('m', base_url={server.openai!r})"], models=models)
        assert server.log


DEFAULT_KEY = "f1ef13c9296f7afe321ab4c0453ccc9f72f7c5e8d83c4e4a58cf7e2f80f3146f"
KEYS = {
    "Judge('openai/gpt-4o')": DEFAULT_KEY,
    "Judge('openai/gpt-4o', temperature=0)": DEFAULT_KEY,
    "Judge('openai/gpt-4o', temperature=0.7, max_tokens=50, reply='json', base_url='http://a:8000/v1/')": (
        "d2bbdd2190a7948b6059dc5c60da4d9c00cd8bf5efb2cc930f6f928ca42edd7b"
    ),
    "Judge('dashscope/qwen-max', examples='personalized')": (
        "11876bcb581c2a20c9c13d8ed952c4c8e92479cc864c635c9036c3f91f0296d4"
    ),
    "Pairwise('openai/gpt-4o', seed=3, replicate=2)": (
        "ec7f481a6c2e680d2c9e6b4d7cc1938960be3fa3da36cad54fdc49e3dfc71ebc"
    ),
    "Judge('simulated/one')": "73660cee7038ad697c12ae4b914c98136bf17999d4e6e24ab0e1ff56c5d16121",
}
"""The first key on the sample: another one would have every reply asked for again."""


def key_of(judge: Any, data: me.ExplanationSet) -> str:
    first = next(iter(judge.questions(data, list(data.aspects))))
    return str(first.request.key)


@pytest.mark.parametrize("spec", KEYS)
def test_keys_stay_as_they_are(spec: str, sample: Path) -> None:
    assert key_of(build(spec), me.load(sample)) == KEYS[spec]


def test_a_short_name_is_in_no_key_and_every_setting_is(data: me.ExplanationSet) -> None:
    plain = build("Judge('openai/gpt-4o', max_tokens=50)")
    same = models_of({"m": {"model": "openai/gpt-4o", "max_tokens": 50}})
    assert key_of(build("Judge('m')", models=same), data) == key_of(plain, data)
    changes: list[dict[str, Any]] = [
        {},
        {"model": "openai/gpt-4"},
        {"base_url": "http://localhost:1/v1"},
        {"temperature": None},
        {"temperature": 0.5},
        {"max_tokens": 51},
        {"max_tokens": None},
        {"reasoning_effort": "low"},
        {"top_p": 0.5},
        {"extra": {"top_p": 0.4}},
        {"extra": {"a": {"b": 1}}},
        {"extra": {"a": {"b": 2}}},
    ]
    models = models_of({str(i): {"model": "openai/gpt-4o", **c} for i, c in enumerate(changes)})
    judges = [build(f"Judge('{name}')", models=models) for name in models]
    assert len({key_of(judge, data) for judge in judges}) == len(changes)
    assert len({json.dumps(judge.signature(data)) for judge in judges}) == len(changes)
    # Where it stands makes no difference to the server.
    two = models_of({"a": {**GIVEN, "top_p": 0.5}, "b": {**GIVEN, "extra": {"top_p": 0.5}}})
    assert key_of(build("Judge('a')", models=two), data) == key_of(build("Judge('b')", models=two), data)


@pytest.mark.parametrize(
    ("spec", "stated"),
    [
        ("Judge('a')", set()),
        ("Judge('b')", {"temperature", "seed"}),
        ("Judge('a', max_tokens=1024, reply='json')", {"max_tokens", "response_format"}),
        ("Judge('b', max_tokens=1024)", {"temperature", "max_tokens", "seed"}),
    ],
)
def test_what_the_study_states_and_what_is_default(spec: str, stated: set[str]) -> None:
    judge: Any = build(spec, models=models_of({"a": GIVEN, "b": {**GIVEN, "temperature": 0, "seed": 1}}))
    assert judge.stated == stated


MODELS = (
    "\n  mini: {model: openai/gpt-5-mini, %s}\n  own: {model: vllm/qwen3, base_url: 'http://localhost:1/v1'}"
)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("temprature: 0", "models.mini.temprature: not known; did you mean 'temperature'?"),
        ("max_token: 5", "did you mean 'max_tokens'?"),
        ("reasoning_efort: low", "did you mean 'reasoning_effort'?"),
        ("extra_body: {}", "did you mean 'extra'? Parameters of this server alone go under extra"),
        ("base_ulr: 'http://localhost:1'", "did you mean 'base_url'?"),
        ("prompt: rubric", "'prompt' is an argument of the judge: Judge('short name', prompt=…)"),
        ("temperature: -1", "models.mini.temperature: -1: it must be greater than or equal to 0"),
        ("temperature: cold", "models.mini.temperature must be a number, not 'cold'"),
        ("max_tokens: 0", "models.mini.max_tokens: 0: it must be greater than 0"),
        ("max_tokens: 1.5", "models.mini.max_tokens must be a whole number, not 1.5"),
        ("extra: [1]", "models.mini.extra must be a mapping from keys to values, not [1]"),
        ("extra: {temperature: 1}", "'temperature' does not go under extra; write it beside extra, and once"),
        ("seed: 1, extra: {seed: 1}", "'seed' does not go under extra; write it beside extra, and once"),
        ("stream: true", "'stream' cannot be a parameter of a request; leave it out"),
        ("extra: {messages: []}", "'messages' cannot be a parameter of a request; leave it out"),
        ("extra: {at: .nan}", "a parameter of a request is not a JSON value"),
        ("at: 2024-01-01", "models.mini.at"),
        ("base_url: 'localhost:8000'", "base_url 'localhost:8000' is not an address"),
        ("base_url: 'http://me:pw@host/v1'", "give the key in OPENAI_API_KEY"),
    ],
)
def test_wrong_settings_are_answered_with_their_line(tiny: Path, setting: str, says: str) -> None:
    path = write_study(tiny.parent / "s.yaml", models=MODELS % setting)
    with pytest.raises(StudyError) as caught:
        plan(path)
    text = str(caught.value)
    assert f"{path}, line 4: " in text
    assert "\n" not in text
    assert says in text


@pytest.mark.parametrize(
    ("models", "line", "says"),
    [
        ("{m: {model: gpt-4o}}", 3, "'gpt-4o' is not a provider/name, such as openai/gpt-4o"),
        ("{m: {model: opnai/x}}", 3, "there is no provider 'opnai'; did you mean 'openai'?"),
        ("{m: {temperature: 0}}", 3, "the key 'model' is missing under 'models.m'"),
        ("{m: openai/gpt-4o}", 3, "models.m must be a mapping from keys to values, not 'openai/gpt-4o'"),
        ("{openai/m: {model: openai/x}}", 3, "'openai/m' cannot be a short name"),
        ("{m: {model: azure/x}}", 3, "set AZURE_OPENAI_ENDPOINT, or give base_url"),
        ("[m]", 3, "models must be a mapping from keys to values, not ['m']"),
    ],
)
def test_wrong_models_are_answered_with_their_line(tiny: Path, models: str, line: int, says: str) -> None:
    with pytest.raises(StudyError) as caught:
        plan(write_study(tiny.parent / "s.yaml", models=models))
    assert f"s.yaml, line {line}: " in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize("spec", ["Judge('mni')", "Mean(Judge('mni'), Length())", "Pairwise('mni')"])
def test_a_name_that_is_no_model_is_answered_with_its_line_and_the_nearest(tiny: Path, spec: str) -> None:
    path = write_study(
        tiny.parent / "s.yaml", models=MODELS % "seed: 1", evaluators=f'{{a: Length(), b: "{spec}"}}'
    )
    with pytest.raises(StudyError) as caught:
        plan(path)
    assert f"{path}, line 2: " in str(caught.value)
    assert "there is no model 'mni'; did you mean 'mini'? (models: mini, own)" in str(caught.value)


def test_parameters_that_only_sound_like_secrets_are_sent(data: me.ExplanationSet) -> None:
    told = {
        "prompt_cache_key": "a",
        "stop_token_ids": [1],
        "top_logprobs": 2,
        "min_tokens": 1,
        "reasoning": {},
    }
    assert sent(data, **GIVEN, **told) == {**DEFAULTS, **told}


@pytest.mark.parametrize(
    "wrong",
    [
        {"api_key": KEY},
        {"api-key": KEY},
        {"Authorization": f"Bearer {KEY}"},
        {"openai_api_key": KEY},
        {"client_secret": KEY},
        {"token": KEY},
        {"headers": {"x-key": KEY}},
        {"extra": {"extra_headers": {"x": KEY}}},
        {"extra": {"deep": [{"API-Key": KEY}]}},
    ],
)
def test_a_secret_is_refused_with_the_variable_that_it_belongs_into(
    tiny: Path, wrong: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    content = {"dataset": "tiny", "evaluators": ["Judge('m')"], "models": {"m": {**GIVEN, **wrong}}}
    with pytest.raises(StudyError, match="set OPENAI_API_KEY in the environment") as caught:
        me.run(content, "out")
    said = "".join(traceback.format_exception(caught.value))
    with pytest.raises(SpecError, match="set OPENAI_API_KEY in the environment") as other:
        me.score(me.load(tiny), ["Length()"], models=content["models"])  # type: ignore[arg-type]
    said += "".join(traceback.format_exception(other.value))
    study = write_study(tiny.parent / "s.yaml", models=json.dumps(content["models"]))
    assert main(["run", str(study), "--out", "out"]) == 2
    assert KEY not in said + "".join(capsys.readouterr())
    assert not Path("out").exists()


def study_on(server: Server, **more: Any) -> dict[str, Any]:
    model = {"model": "openai/gpt-5-mini", "base_url": server.openai, "temperature": None, "top_p": 0.5}
    return {
        "dataset": "tiny",
        "models": {"mini": {**model, "extra": {"a": {"b": 1}}, **more}},
        "evaluators": {"judge": "Judge('mini')", "both": "Mean(judge, Annotator('1'))"},
        "truth": "Annotator('2')",
        "bootstrap": None,
        "tests": None,
        "details": False,
        "judging": {"store": "replies.sqlite"},
    }


@pytest.mark.slow
def test_a_run_says_its_models_and_is_run_again_from_its_folder(tiny: Path) -> None:
    with serving(answer) as server:
        study = study_on(server)
        me.run(study, "out")
        asked = len(server.log)
        me.run(study, "out")
        record = json.loads(Path("out/run.json").read_text(encoding="utf-8"))
        assert record["study"]["models"] == study["models"]
        signature = record["evaluators"]["judge"]["signature"]
        assert signature["model"] == "openai/gpt-5-mini"
        assert signature["address"] == server.openai
        assert (signature["temperature"], signature["max_tokens"]) == (None, 1024)
        assert signature["parameters"] == {"top_p": 0.5, "a": {"b": 1}}
        again = rerun("out", offline=True)
        assert len(server.log) == asked
        assert set(again.scores.frame["status"]) == {"ok"}
        me.run(study_on(server, top_p=0.4), "out")  # another model under the same short name
        assert len(server.log) == 2 * asked
        assert {s.body["top_p"] for s in server.log[asked:]} == {0.4}
    for file in Path("out").rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()
    with Store("replies.sqlite") as store:
        assert KEY not in str(store.rows("SELECT * FROM replies"))


def test_simulated_models_are_marked_by_their_short_names(tiny: Path) -> None:
    study = {
        "dataset": "tiny",
        "models": {"s": {"model": "simulated/one,noise=0.2"}},
        "evaluators": ["Judge('s')", "Length()"],
        "judging": {"store": "replies.sqlite"},
        "bootstrap": None,
        "tests": None,
    }
    done = me.run(study, "out")
    assert done.facts.simulation.evaluators == ("Judge('s')",)
    assert "Judge s (simulated)" in Path("out/leaderboard.md").read_text(encoding="utf-8")
