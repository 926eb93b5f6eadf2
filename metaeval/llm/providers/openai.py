"""OpenAI, and every server that speaks its chat completions, through the ``openai`` SDK."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import openai

from metaeval.llm.calls.client import CallError, RejectedError, completion_count, count, text_of, word
from metaeval.llm.calls.request import Reply
from metaeval.llm.calls.scrub import scrub
from metaeval.llm.providers import key_for
from metaeval.llm.providers.wire import (
    ENCODING,
    MISREAD,
    answered,
    broken,
    read_body,
    read_headers,
    unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from httpx2 import Request as HTTPRequest
    from httpx2 import Response

    from metaeval.llm.calls.request import Request
    from metaeval.llm.providers import Connection

NO_KEY = "none"  # the SDK insists on one; servers of one's own often want none


class _Transport(openai.DefaultAioHttpClient):
    """Reads bodies by itself: with a limit, and before the SDK sees them; follows no redirect."""

    secret = ""

    async def send(self, request: HTTPRequest, **options: Any) -> Response:  # noqa: ANN401 - the SDK's own
        """Send a request, and return the response with its body."""
        response = await super().send(request, **{**options, "stream": True, "follow_redirects": False})
        try:
            body = await read_body(response.aiter_raw(), response.headers, self.secret)
        finally:
            await response.aclose()
        headers = read_headers(response.headers, self.secret)
        return type(response)(response.status_code, headers=headers, content=body.encode(), request=request)


class OpenAIClient:
    """Sends requests through the SDK's aiohttp transport, the faster of its two."""

    denied: ClassVar[Collection[str]] = ("insufficient_quota",)
    """Codes that mean an empty account here; at other providers this one is a limit per minute."""

    def __init__(self, connection: Connection) -> None:
        self._key = key_for(connection.provider, connection.base_url)
        transport = _Transport()
        transport.secret = self._key
        self._sdk = openai.AsyncOpenAI(
            api_key=self._key or NO_KEY,
            base_url=connection.base_url,
            max_retries=0,  # the runner waits and counts
            timeout=openai.Timeout(connection.reply_seconds, connect=connection.connect_seconds),
            http_client=transport,
            default_headers={"Accept-Encoding": ENCODING},
        )
        # The SDK loads most of itself when it is first asked for this: now, not while a call's time runs.
        self._create = self._sdk.chat.completions.with_raw_response.create

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request, or raise `CallError`."""
        try:
            # What is sent goes past the SDK's own arguments: so the parameters of any server can be given,
            # and long messages are not walked through type by type, which takes a quarter of a call's time.
            response = await self._create(model=request.model, messages=[], extra_body=self.body(request))
        except CallError:
            raise
        except openai.APIStatusError as error:
            got = error.response
            return answered(got.status_code, got.text, got.headers, self.denied)
        except openai.APIConnectionError as error:
            raise broken(error, self._key) from None
        except openai.OpenAIError as error:
            raise RejectedError(scrub(str(error), self._key)) from None
        except Exception as error:  # noqa: BLE001 - the SDK lets through what a server can make aiohttp raise
            raise broken(error, self._key) from None
        raw = response.text
        try:
            answer = json.loads(raw)
            if isinstance(answer, dict) and "choices" not in answer and answer.get("error"):
                # Some gateways put an error into a body of status 200.
                return answered(200, raw, response.headers, self.denied)
            return read_completion(answer, raw)
        except MISREAD as error:
            raise unreadable(error, raw, "chat completion") from None

    async def close(self) -> None:
        """Give connections back."""
        await self._sdk.close()

    @classmethod
    def body(cls, request: Request) -> dict[str, Any]:
        """Return what is sent for a request beside the model's name."""
        return {
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            **cls.reply_format(request),
            **request.parameters,
        }

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


def read_completion(body: Mapping[str, Any], raw: str) -> Reply:
    """Return what a chat completion says; no choice, or an empty one, is a reply without text."""
    usage = body.get("usage") or {}
    choice = (body["choices"] or [{}])[0]
    message = choice.get("message") or {}
    return Reply(
        text=text_of(message.get("content")),
        finish_reason=word(choice.get("finish_reason")),
        refusal=word(message.get("refusal")),
        model=word(body.get("model")),
        fingerprint=word(body.get("system_fingerprint")),
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=completion_count(usage),
        cached_tokens=count((usage.get("prompt_tokens_details") or {}).get("cached_tokens")),
        raw=raw,
    )
