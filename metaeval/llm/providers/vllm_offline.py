"""Models that the process which asks runs itself, by vLLM on its GPUs: no server and no network.

The parameter ``engine`` of a request says how its model is loaded: what ``vllm.LLM`` takes, such as
``{"tensor_parallel_size": 2}``. A model is loaded once per process. Requests that wait are answered together.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from metaeval.base.errors import MetaevalError, MissingExtraError
from metaeval.base.parallel import in_thread
from metaeval.llm.calls.client import CallError, DeniedError, RejectedError
from metaeval.llm.calls.request import Reply, Request, canonical
from metaeval.llm.providers import Connection
from metaeval.llm.providers.openai import read_completion

_TOGETHER = 0.02  # seconds in which requests are gathered
_QUIET = {
    "VLLM_NO_USAGE_STATS": "1",  # which would be sent away
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # stdout is the command's result
}
_TOO_LONG = re.compile(r"maximum model length|max_model_len|maximum context|longer than", re.IGNORECASE)
_NOT_SAMPLING = ("engine", "chat_template_kwargs", "logprobs", "top_logprobs", "max_completion_tokens")

Outcome: TypeAlias = "Reply | CallError"


class VllmOfflineClient:
    """Answers by models in this process."""

    def __init__(self, connection: Connection) -> None:
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        try:
            from vllm.platforms import current_platform
        except ImportError as error:
            raise MissingExtraError(f"a model of {connection.provider!r}", "vllm") from error
        if current_platform.is_unspecified() or current_platform.is_cpu():
            raise MetaevalError(
                f"{connection.provider!r} runs models on a GPU, and vLLM finds none here; run on a machine "
                f"that has one, or name a model that a server answers"
            )
        self._models: dict[str, _Model] = {}

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request, or raise `CallError`."""
        engine = request.parameters.get("engine") or {}
        name = canonical([request.model, engine])
        if name not in self._models:
            self._models[name] = _Model(request.model, engine)
        return await self._models[name].reply(request)

    async def close(self) -> None:
        """Leave models in memory until the process ends."""


class _Model:
    """A model, and the requests that wait for it."""

    def __init__(self, name: str, engine: dict[str, Any]) -> None:
        self._name, self._engine = name, engine
        self._llm: Any = None
        self._failed: DeniedError | None = None
        self._waiting: list[tuple[Request, asyncio.Future[Reply]]] = []
        self._work: asyncio.Task[None] | None = None

    async def reply(self, request: Request) -> Reply:
        done: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, done))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer_all())
        return await done

    async def _answer_all(self) -> None:
        while self._waiting:
            await asyncio.sleep(_TOGETHER)
            taken, self._waiting = self._waiting, []
            requests = [request for request, _ in taken]
            work = in_thread(lambda requests=requests: list(self._outcomes(requests)))  # type: ignore[misc]
            outcomes = await asyncio.wrap_future(work)
            for (_, done), outcome in zip(taken, outcomes, strict=True):
                if done.done():  # no one waits any more
                    continue
                if isinstance(outcome, CallError):
                    done.set_exception(outcome)
                else:
                    done.set_result(outcome)

    def _outcomes(self, requests: Sequence[Request]) -> Iterator[Outcome]:
        """Answer some requests together; if that fails, each alone, so that one does not spoil the others."""
        if self._llm is None and self._failed is None:
            self._load()
        if self._failed is not None:
            yield from [self._failed] * len(requests)
            return
        try:
            yield from self._chat(requests)
        except (ValueError, TypeError) as error:
            if len(requests) > 1:
                for request in requests:
                    yield from self._outcomes([request])
                return
            words = _words(error)
            yield RejectedError(words, "context_length_exceeded" if _TOO_LONG.search(words) else "invalid")
        except Exception as error:  # noqa: BLE001 - the engine broke
            self._failed = DeniedError(_words(error), "engine")
            yield from [self._failed] * len(requests)

    def _load(self) -> None:
        try:
            from vllm import LLM

            self._llm = LLM(model=self._name, **self._engine)
        except Exception as error:  # noqa: BLE001 - no such model, too little memory, an unknown argument
            self._failed = DeniedError(_words(error), "load")

    def _chat(self, requests: Sequence[Request]) -> list[Reply]:
        replies: list[Reply] = []
        for template, same in itertools.groupby(
            requests, lambda request: request.parameters.get("chat_template_kwargs")
        ):
            of_template = list(same)
            outputs = self._llm.chat(
                [[message._asdict() for message in request.messages] for request in of_template],
                [_sampling(request) for request in of_template],
                use_tqdm=False,
                chat_template_kwargs=template,
            )
            replies += [_reply(request, output) for request, output in zip(of_template, outputs, strict=True)]
        return replies


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:500] or type(error).__name__


def _sampling(request: Request) -> Any:  # noqa: ANN401 - vLLM's own
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    parameters = request.parameters
    own = {name: value for name, value in parameters.items() if name not in _NOT_SAMPLING}
    if "max_completion_tokens" in parameters:
        own["max_tokens"] = parameters["max_completion_tokens"]
    if parameters.get("logprobs"):
        own["logprobs"] = parameters.get("top_logprobs", 1)
    if request.schema is not None:
        own["structured_outputs"] = StructuredOutputsParams(json=dict(request.schema))
    return SamplingParams(**own)


def _reply(request: Request, output: Any) -> Reply:  # noqa: ANN401 - vLLM's own
    """Return a reply in the form of a chat completion."""
    (completion,) = output.outputs
    choice: dict[str, Any] = {
        "message": {"role": "assistant", "content": completion.text},
        "finish_reason": completion.finish_reason,
    }
    if completion.logprobs is not None:
        places = zip(completion.token_ids, completion.logprobs, strict=True)
        choice["logprobs"] = {"content": [_place(token, listed) for token, listed in places]}
    usage = {
        "prompt_tokens": len(output.prompt_token_ids),
        "completion_tokens": len(completion.token_ids),
        "prompt_tokens_details": {"cached_tokens": output.num_cached_tokens},
    }
    body = {"model": request.model, "choices": [choice], "usage": usage}
    return read_completion(body, json.dumps(body, ensure_ascii=False))


def _place(token: int, listed: dict[int, Any]) -> dict[str, Any]:
    beside = [{"token": one.decoded_token, "logprob": one.logprob} for one in listed.values()]
    own = listed[token]
    return {"token": own.decoded_token, "logprob": own.logprob, "top_logprobs": beside}
