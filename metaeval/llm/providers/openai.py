"""OpenAI, and every server that speaks its chat completions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import aiohttp
import httpx2
import openai
from pydantic_core import to_json

from metaeval.llm.calls.client import CallError, completion_count, count, text_of, word
from metaeval.llm.calls.request import Reply
from metaeval.llm.providers import key_for
from metaeval.llm.providers.wire import (
    ENCODING,
    MISREAD,
    answered,
    broken,
    read_body,
    read_headers,
    session_for,
    unreadable,
)
from metaeval.llm.replies.logprobs.probabilities import keep_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from metaeval.llm.calls.request import Request
    from metaeval.llm.providers import Connection

NO_KEY = "none"  # the SDK insists on one; servers of your own often want none


class OpenAIClient:
    """Sends requests with the headers of the SDK, but not through it.

    The SDK walks through every request and response type by type, which takes five times the call's own time.
    """

    denied: ClassVar[Collection[str]] = ("insufficient_quota",)
    """Codes that mean an empty account here; at other providers this one is a limit per minute."""
    path: ClassVar[str] = "chat/completions"

    def __init__(self, connection: Connection) -> None:
        self._key = key_for(connection.provider, connection.base_url)
        trusted = httpx2.create_ssl_context()
        sdk = openai.AsyncOpenAI(
            api_key=self._key or NO_KEY,
            base_url=connection.base_url,
            default_headers={"Accept-Encoding": ENCODING},
            http_client=httpx2.AsyncClient(verify=trusted, trust_env=False),  # never used
        )
        headers = {**sdk.default_headers, **sdk.auth_headers}
        self._session = session_for(
            connection.base_url,
            aiohttp.TCPConnector(limit=0, ssl=trusted),  # the runner limits
            headers={name: value for name, value in headers.items() if isinstance(value, str)},
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=connection.connect_seconds, sock_read=connection.reply_seconds
            ),
        )
        self._url = f"{connection.base_url}/{self.path}"

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request, or raise `CallError`."""
        body = {"model": request.model, **self.body(request)}
        try:
            async with self._session.post(self._url, data=to_json(body), allow_redirects=False) as response:
                raw = await read_body(response.content.iter_any(), response.headers, self._key)
        except CallError:
            raise
        except Exception as error:  # noqa: BLE001 - aiohttp lets through what a server can make it raise
            raise broken(error, self._key) from None
        headers = read_headers(response.headers, self._key)
        if not 200 <= response.status < 300:
            return answered(response.status, raw, headers, self.denied)
        try:
            answer = json.loads(raw)
            if isinstance(answer, dict) and "choices" not in answer and answer.get("error"):
                # Some gateways put an error into a body of status 200.
                return answered(200, raw, headers, self.denied)
            return read_completion(answer, raw, self.message)
        except MISREAD as error:
            raise unreadable(error, raw, "completion") from None

    async def close(self) -> None:
        """Give connections back."""
        await self._session.close()

    @classmethod
    def body(cls, request: Request) -> dict[str, Any]:
        """Return what is sent for a request beside the model's name."""
        return {
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            **cls.reply_format(request),
            **request.parameters,
        }

    @classmethod
    def message(cls, choice: dict[str, Any]) -> dict[str, Any]:
        """Return the message of a choice."""
        return choice.get("message") or {}

    @classmethod
    def reply_format(cls, request: Request) -> dict[str, Any]:
        """Return how a schema is asked for here."""
        if request.schema is None:
            return {}
        wanted = {"name": "reply", "strict": True, "schema": request.schema}
        return {"response_format": {"type": "json_schema", "json_schema": wanted}}


class DashScopeCompatibleClient(OpenAIClient):
    """DashScope's endpoint that speaks as OpenAI does."""

    denied: ClassVar[Collection[str]] = ()
    json_object: ClassVar[bool] = True
    """Whether a schema is asked for as a mere JSON object."""

    @classmethod
    def reply_format(cls, request: Request) -> dict[str, Any]:
        """Ask for a JSON object: a schema is taken by a few of its models only, and refused by the others."""
        return {} if request.schema is None else {"response_format": {"type": "json_object"}}


def read_completion(
    body: Mapping[str, Any],
    raw: str,
    message_of: Callable[[dict[str, Any]], dict[str, Any]] = OpenAIClient.message,
) -> Reply:
    """Return what a completion says; no choice, or an empty one, is a reply without text."""
    usage = body.get("usage") or {}
    choice = (body["choices"] or [{}])[0]
    message = message_of(choice)
    text = text_of(message.get("content"))
    if keep_numbers(choice, text):
        raw = json.dumps(body, ensure_ascii=False)
    return Reply(
        text=text,
        finish_reason=word(choice.get("finish_reason")),
        refusal=word(message.get("refusal")),
        model=word(body.get("model")),
        fingerprint=word(body.get("system_fingerprint")),
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=completion_count(usage),
        cached_tokens=count((usage.get("prompt_tokens_details") or {}).get("cached_tokens")),
        raw=raw,
    )
