"""A model's server on the loopback address: it answers as told, and keeps a log of what it was asked.

It speaks OpenAI's chat completions (``/v1/chat/completions``), its older completions of raw text
(``/v1/completions``) and DashScope's text generation
(``/api/v1/services/aigc/text-generation/generation``).
"""

from __future__ import annotations

import asyncio
import json
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

COMPLETIONS_PATH = "/v1/completions"
DASHSCOPE_PATH = "/api/v1/services/aigc/text-generation/generation"


@dataclass(frozen=True)
class Act:
    """What the server does with a request."""

    kind: str = "answer"
    """answer, status, cut (the connection is closed mid-body), drop (before an answer), hang, or body."""
    text: str | None = None
    """What the model says; None: what the schema, or ``Summary: 3``, asks for."""
    finish_reason: str = "stop"
    refusal: str | None = None
    status: int = 200
    body: Any = None
    """JSON, or a text that is sent as it is."""
    headers: dict[str, str] = field(default_factory=dict)
    choices: bool = True
    message: dict[str, Any] = field(default_factory=dict)
    """Further fields of the message, such as ``reasoning_content``."""
    usage: dict[str, Any] | None = None
    logprobs: dict[str, Any] | None = None


ANSWER = Act()
CUT = Act("cut")
DROP = Act("drop")
HANG = Act("hang")
INVALID_JSON = Act("body", body='{"choices": [{"mess')
EMPTY = Act(choices=False)
LENGTH = Act(text='{"a": 3', finish_reason="length")
PROSE = Act(text="I quite like it, on the whole.")
REFUSED = Act(text="", refusal="I can't help with that.")
FILTERED = Act(text="", finish_reason="content_filter")


def error(status: int, code: str, message: str = "an error", **headers: str) -> Act:
    """Return an error as both APIs write it."""
    body = {"error": {"code": code, "message": message, "type": code}, "code": code, "message": message}
    return Act(
        "status", status=status, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


Behave = Callable[[dict[str, Any], int], Act]
"""From a request's body, and how often this very body came before, to what is done."""


def always(act: Act) -> Behave:
    return lambda _body, _before: act


def first(*acts: Act) -> Behave:
    """Act so on the first tries of every request, then answer."""
    return lambda _body, before: acts[before] if before < len(acts) else ANSWER


@dataclass
class Seen:
    """One request, as the server saw it."""

    path: str
    body: dict[str, Any]
    headers: Mapping[str, str]
    act: Act

    @property
    def authorization(self) -> str:
        return self.headers.get("Authorization", "")


class Threaded(ABC):
    """Runs in a thread of its own for the length of a block; a subclass says how it opens and closes."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @abstractmethod
    async def open(self) -> int:
        """Listen, on a free port if none is given, and return the port."""

    @abstractmethod
    async def close(self) -> None:
        """Listen no more."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai(self) -> str:
        return f"{self.url}/v1"

    @property
    def dashscope(self) -> str:
        return f"{self.url}/api/v1"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self.port = self._loop.run_until_complete(self.open())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _end(self) -> None:
        closing = asyncio.ensure_future(self.close())
        await asyncio.sleep(0)
        rest = asyncio.all_tasks() - {asyncio.current_task(), closing}
        for task in rest:
            task.cancel()
        await asyncio.gather(closing, *rest, return_exceptions=True)
        await asyncio.sleep(0)  # connections that were cut are closed then


class Server(Threaded):
    """A model's server that acts as told."""

    def __init__(self, behave: Behave | None = None, delay: float = 0.0, port: int = 0) -> None:
        super().__init__(port)
        self.behave = behave or always(ANSWER)
        self.delay = delay
        self.log: list[Seen] = []
        self.in_flight = self.most_in_flight = 0
        self._before: Counter[str] = Counter()

    async def open(self) -> int:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        text = json.dumps(body, sort_keys=True)
        act = self.behave(body, self._before[text])
        self._before[text] += 1
        self.log.append(Seen(request.path, body, request.headers, act))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.delay)
            return await self._act(request, act, body)
        finally:
            self.in_flight -= 1

    async def _act(self, request: web.Request, act: Act, body: dict[str, Any]) -> web.StreamResponse:
        if act.kind == "hang":
            await asyncio.sleep(3600)
        if act.kind == "drop":
            request.transport.close()
        elif act.kind == "cut":
            response = web.StreamResponse(
                headers={"Content-Length": "1000", "Content-Type": "application/json"}
            )
            await response.prepare(request)
            await response.write(b'{"choices": [{"message"')
            request.transport.close()
            return response
        if act.kind in {"status", "body"}:
            text = act.body if isinstance(act.body, str) else json.dumps(act.body)
            kind = "application/json"
            return web.Response(status=act.status, text=text, content_type=kind, headers=act.headers)
        write = {DASHSCOPE_PATH: dashscope_body, COMPLETIONS_PATH: completions_body}
        return web.json_response(write.get(request.path, openai_body)(act, body), headers=act.headers)


def wanted_text(body: dict[str, Any]) -> str:
    """Return an answer that fits the schema asked for; without one, ``Summary: 3``."""
    schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    if schema is None:
        return "Summary: 3"
    return json.dumps({name: part.get("minimum", 3) for name, part in schema["properties"].items()})


def openai_body(act: Act, body: dict[str, Any]) -> dict[str, Any]:
    text = wanted_text(body) if act.text is None else act.text
    message = {"role": "assistant", "content": text, "refusal": act.refusal, **act.message}
    choice = {"index": 0, "message": message, "logprobs": act.logprobs, "finish_reason": act.finish_reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": f"{body['model']}-2024-08-06",
        "system_fingerprint": "fp_1",
        "choices": [choice] if act.choices else [],
        "usage": act.usage or {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def completions_body(act: Act, body: dict[str, Any]) -> dict[str, Any]:
    chat = openai_body(act, body)
    for choice in chat["choices"]:
        choice["text"] = choice.pop("message")["content"]
    return {**chat, "object": "text_completion"}


def dashscope_body(act: Act, body: dict[str, Any]) -> dict[str, Any]:
    text = wanted_text(body.get("parameters") or {}) if act.text is None else act.text
    message = {"role": "assistant", "content": text}
    choice = {"finish_reason": act.finish_reason, "message": message, "logprobs": act.logprobs}
    return {
        "request_id": "r-1",
        "output": {"choices": [choice] if act.choices else []},
        "usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
    }


serving = Server
