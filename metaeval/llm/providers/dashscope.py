"""DashScope (Model Studio), through its native ``dashscope`` SDK."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, cast

import aiohttp
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection as Line
from aiohttp.tracing import Trace
from dashscope import AioGeneration

from metaeval.llm.calls.client import cached_count, count, text_of, word
from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.calls.scrub import scrub
from metaeval.llm.providers import CONNECT_SECONDS, Connection, key_for
from metaeval.llm.providers.answers import keep_numbers
from metaeval.llm.providers.wire import (
    ENCODING,
    MISREAD,
    answered,
    broken,
    failure_in,
    read_body,
    read_headers,
    session_for,
    unreadable,
)

_WHAT = "reply of DashScope"
_body: ContextVar[list[str]] = ContextVar("_body")
"""Where the middleware leaves the body of the call that is under way in this task."""


class _AnsweredError(Exception):
    """The answer is no reply; raised before the SDK follows a redirect or takes the body apart."""

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(f"status {status}")
        self.status, self.headers = status, headers


class _Response(aiohttp.ClientResponse):
    """A response whose body is read with a limit."""

    content_type = "application/json"  # else the SDK may take the body for something else

    async def take(self, secret: str) -> str:
        """Read the body, and keep it without the key for whoever reads it next."""
        try:
            text = await read_body(self.content.iter_any(), self.headers, secret)
        except BaseException:
            self.close()
            raise
        self._body = text.encode()
        return text

    def get_encoding(self) -> str:
        """Return how the body is encoded now."""
        return "utf-8"


class _LostError(Exception):
    """A connection was lost; not one of aiohttp's errors, on which the SDK sends again by itself."""


class _Connector(aiohttp.TCPConnector):
    """Limits the time to connect: the SDK's own limit is one for the whole call."""

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Line:
        limits = aiohttp.ClientTimeout(total=timeout.total, sock_connect=CONNECT_SECONDS)
        return await super().connect(req, traces, limits)


class _Scrubbed(logging.Filter):
    """Keeps the key out of the SDK's log, which repeats what the server said."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = scrub(record.getMessage(), self._key), ()
        record.exc_info = None
        return True


class DashScopeClient:
    """Sends requests with `dashscope.AioGeneration` over one session of its own."""

    json_object: ClassVar[bool] = True
    """Whether a schema is asked for as a mere JSON object."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._key = key_for(connection.provider, connection.base_url)
        self._session: aiohttp.ClientSession | None = None
        self._filter = _Scrubbed(self._key)
        self._handler = logging.NullHandler()  # without one Python prints the SDK's errors itself
        log = logging.getLogger("dashscope")
        log.addFilter(self._filter)
        log.addHandler(self._handler)

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request, or raise `CallError`."""
        if self._session is None:
            self._session = session_for(
                self._connection.base_url,
                _Connector(limit=0),  # the runner limits
                middlewares=(self._watch,),
                response_class=_Response,
                headers={"Accept-Encoding": ENCODING},
            )
        wanted = {} if request.schema is None else {"response_format": {"type": "json_object"}}
        body: list[str] = []
        _body.set(body)
        try:
            await AioGeneration.call(
                model=request.model,
                messages=cast("Any", [{"role": m.role, "content": m.content} for m in request.messages]),
                api_key=self._key or "none",
                base_address=self._connection.base_url,
                request_timeout=self._connection.reply_seconds,
                session=self._session,
                **{"result_format": "message", **wanted, **request.parameters},
            )
        except _AnsweredError as answer:
            return answered(answer.status, "".join(body), answer.headers)
        except (aiohttp.ContentTypeError, *MISREAD):
            pass  # the SDK takes the body apart before it looks whether it is whole; it is read below
        except Exception as error:  # noqa: BLE001 - the SDK lets through what a server can make aiohttp raise
            raise broken(error, self._key) from None
        raw = "".join(body)
        try:
            content = json.loads(raw)
            output = content.get("output") or {}
            choices = output.get("choices") or []
            failed = content if content.get("code") and not (choices or output.get("text")) else None
            if wrong := failed or failure_in(content, [*choices, {}][0]):
                return answered(200, json.dumps({"error": wrong}), {})
            if not isinstance(content.get("output"), dict):
                raise TypeError("there is no output")
            return _read(content, raw)
        except MISREAD as error:
            raise unreadable(error, raw, _WHAT) from None

    async def close(self) -> None:
        """Give connections back."""
        log = logging.getLogger("dashscope")
        log.removeFilter(self._filter)
        log.removeHandler(self._handler)
        if self._session is not None:
            await self._session.close()

    async def _watch(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Keep the body as it came, and keep the SDK from sending twice what may be charged twice."""
        try:
            response = cast("_Response", await handler(request))
            _body.get().append(await response.take(self._key))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _LostError from error
        if not 200 <= response.status < 300:
            raise _AnsweredError(response.status, read_headers(response.headers, self._key))
        return response


def _read(body: Mapping[str, Any], raw: str) -> Reply:
    """Return what a reply says; older models answer in ``output.text``, newer ones in ``output.choices``."""
    # Of the body itself: where there is no number of tokens, the SDK's object has 0.
    output, usage = body.get("output") or {}, body.get("usage") or {}
    choice = (output.get("choices") or [{}])[0]
    message = choice.get("message") or {"content": output.get("text")}
    reason = word(choice.get("finish_reason") or output.get("finish_reason"))
    text = text_of(message.get("content"))
    if keep_numbers(choice, text):
        raw = json.dumps(body, ensure_ascii=False)
    return Reply(
        text=text,
        finish_reason=None if reason == "null" else reason,
        refusal=word(message.get("refusal")),
        model=word(body.get("model")),
        prompt_tokens=count(usage.get("input_tokens")),
        completion_tokens=count(usage.get("output_tokens")),
        cached_tokens=cached_count(usage),
        raw=raw,
    )
