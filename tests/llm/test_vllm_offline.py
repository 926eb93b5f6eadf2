"""Models that the process itself runs, with a stand-in of the same interface in the place of vLLM.

What the stand-in takes and gives is that of ``vllm.LLM``, ``SamplingParams``, ``StructuredOutputsParams``,
``RequestOutput`` and ``Logprob`` of vLLM 0.12.
"""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.llm.calls.limits import Budget, Limits
from metaeval.llm.calls.request import Message, Request
from metaeval.llm.calls.work import Answer
from metaeval.llm.store.replies import Store
from tests.llm.asking import running
from tests.tiny import write_study


@dataclass
class SamplingParams:
    """Those that are used here; an unknown one is a `TypeError`, as there."""

    temperature: float = 1.0
    max_tokens: int | None = 16
    seed: int | None = None
    logprobs: int | None = None
    structured_outputs: StructuredOutputsParams | None = None


@dataclass
class StructuredOutputsParams:
    json: dict[str, Any] | None = None


@dataclass
class Engine:
    """What was loaded and asked."""

    loaded: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    batches: list[list[tuple[str, SamplingParams]]] = field(default_factory=list)
    templates: list[Any] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    broken: str = ""

    def module(self, *, gpu: bool = True) -> dict[str, ModuleType]:
        engine = self

        class LLM:
            def __init__(self, model: str, *, tensor_parallel_size: int = 1) -> None:
                if model == "no/such":
                    raise OSError(f"{model} is not a local folder and is not a valid model identifier")
                engine.loaded.append((model, {"tensor_parallel_size": tensor_parallel_size}))

            def chat(
                self,
                messages: list[list[dict[str, str]]],
                sampling_params: list[SamplingParams],
                use_tqdm: bool = True,
                chat_template_kwargs: dict[str, Any] | None = None,
            ) -> list[Any]:
                assert not use_tqdm
                if engine.broken:
                    raise RuntimeError(engine.broken)
                texts = [conversation[-1]["content"] for conversation in messages]
                for text in texts:
                    if len(text) > 5000:
                        raise ValueError(
                            f"The decoder prompt (length {len(text)}) is longer than the maximum model length"
                        )
                engine.batches.append(list(zip(texts, sampling_params, strict=True)))
                engine.templates.append(chat_template_kwargs)
                engine.threads.add(threading.current_thread().name)
                return [_output(params) for params in sampling_params]

        platform = SimpleNamespace(is_unspecified=lambda: not gpu, is_cpu=lambda: False)
        names = {
            "vllm": {"LLM": LLM, "SamplingParams": SamplingParams},
            "vllm.platforms": {"current_platform": platform},
            "vllm.sampling_params": {"StructuredOutputsParams": StructuredOutputsParams},
        }
        modules = {name: ModuleType(name) for name in names}
        for name, content in names.items():
            modules[name].__dict__.update(content)
        return modules


def _output(params: SamplingParams) -> Any:
    tokens = ["clear", ": ", "4", "\nfitting: ", "2"]
    if params.structured_outputs is not None:
        tokens = [json.dumps(dict.fromkeys((params.structured_outputs.json or {})["properties"], 3))]
    probabilities = None
    if params.logprobs:
        probabilities = [
            {
                number: SimpleNamespace(logprob=math.log(share), rank=1, decoded_token=text)
                for number, share, text in ((i, 0.75, token), (99, 0.25, "5"))
            }
            for i, token in enumerate(tokens)
        ]
    said = SimpleNamespace(
        text="".join(tokens), token_ids=list(range(len(tokens))), logprobs=probabilities, finish_reason="stop"
    )
    return SimpleNamespace(outputs=[said], prompt_token_ids=[0] * 40, num_cached_tokens=16)


def install(monkeypatch: pytest.MonkeyPatch, **more: bool) -> Engine:
    engine = Engine()
    for name, module in engine.module(**more).items():
        monkeypatch.setitem(sys.modules, name, module)
    return engine


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    return install(monkeypatch)


def asked(store: Store, *requests: Request, **options: Any) -> list[Answer]:
    return sorted(running(requests, store, **options), key=lambda answer: answer.position)


def questions(number: int, model: str = "org/m", **parameters: Any) -> Iterator[Request]:
    first = Request("vllm-offline", model, (), {"temperature": 0, "max_tokens": 20, **parameters})
    for i in range(number):
        yield first.asking([Message("system", "be just"), Message("user", f"How is text {i}?")])


def test_requests_are_answered_together_by_a_model_that_is_loaded_once(store: Store, engine: Engine) -> None:
    found = asked(store, *questions(100), limits=Limits(concurrency=40), budget=Budget(max_usd=0.01))
    assert {answer.reply.text for answer in found} == {"clear: 4\nfitting: 2"}
    assert engine.loaded == [("org/m", {"tensor_parallel_size": 1})]
    assert sum(map(len, engine.batches)) == 100
    assert len(engine.batches) <= 10
    assert engine.batches[0][0][1] == SamplingParams(temperature=0, max_tokens=20)
    reply = found[0].reply
    counts = (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens)
    assert (*counts, reply.finish_reason, reply.model) == (40, 5, 16, "stop", "org/m")
    assert "MainThread" not in engine.threads


def test_what_a_judge_asks_for_reaches_the_engine(store: Store, engine: Engine) -> None:
    schema = {"type": "object", "properties": {"clear": {"type": "integer"}}}
    (plain,) = questions(1, engine={"tensor_parallel_size": 2}, seed=7)
    thinking = Request(
        "vllm-offline", "org/m", plain.messages, {"chat_template_kwargs": {"enable_thinking": False}}
    )
    formed = Request("vllm-offline", "org/m", plain.messages, {"max_completion_tokens": 9}, schema=schema)
    found = asked(store, plain, thinking, formed)
    assert found[2].reply.text == '{"clear": 3}'
    assert sorted(of["tensor_parallel_size"] for _, of in engine.loaded) == [1, 2]
    assert {"enable_thinking": False} in engine.templates
    sent = [params for batch in engine.batches for _, params in batch]
    assert SamplingParams(temperature=0, max_tokens=20, seed=7) in sent
    assert SamplingParams(max_tokens=9, structured_outputs=StructuredOutputsParams(schema)) in sent


def test_one_request_that_cannot_be_asked_spoils_no_other(store: Store, engine: Engine) -> None:
    (first,) = questions(1)
    long = first.asking([Message("user", "x" * 6000)])
    odd = Request("vllm-offline", "org/m", first.messages, {"top_z": 1}, stated=frozenset())
    found = asked(store, first, long, odd)
    assert found[0].reply.text
    assert found[1].reply.error is not None
    assert found[1].reply.error.code == "context_length_exceeded"
    assert found[2].reply.text, "a parameter that vLLM does not know is left out"


def test_a_model_that_cannot_be_loaded_or_breaks_stops_the_run(store: Store, engine: Engine) -> None:
    with pytest.raises(StoppedError, match=r"vllm-offline/no/such takes no call \(load\): no/such is not a"):
        asked(store, *questions(20, "no/such"))
    engine.broken = "EngineCore encountered an issue"
    with pytest.raises(StoppedError, match=r"takes no call \(engine\): EngineCore encountered an issue"):
        asked(store, *questions(20))


def test_without_a_gpu_or_the_extra_a_sentence_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, gpu=False)
    with pytest.raises(MetaevalError, match="runs models on a GPU, and vLLM finds none here"):
        asked(store, *questions(1))
    monkeypatch.setitem(sys.modules, "vllm.platforms", None)
    with pytest.raises(MetaevalError, match=r"pip install 'metaeval\[vllm\]'"):
        asked(store, *questions(1))


@pytest.mark.slow
def test_a_study_has_a_judge_in_this_process(tiny: Path, engine: Engine) -> None:
    path = write_study(
        tiny.parent / "study.yaml",
        evaluators="{plain: \"Judge('own')\", "
        "expected: \"Judge('own', prompt='single-aspect', expected=True, reply='text')\"}",
        models="{own: {model: vllm-offline/org/m, extra: {engine: {tensor_parallel_size: 2}}}}",
        judging="{max_usd: 0.01, concurrency: 20}",
        bootstrap="{resamples: 20}",
        details="false",
    )
    run = me.run(path, "out")
    assert engine.loaded == [("org/m", {"tensor_parallel_size": 2})]
    frame = run.scores.frame
    assert (frame[frame["evaluator"] == "plain"]["status"] == "ok").all()
    assert set(frame["usd"]) == {0.0}
    assert any(params.logprobs == 20 for batch in engine.batches for _, params in batch)
