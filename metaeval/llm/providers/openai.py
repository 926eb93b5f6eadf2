"""OpenAI, and every server that speaks its chat completions, through the ``openai`` SDK."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, ClassVar

import aiohttp
import openai

from metaeval.llm.client import (
    CallError,
    RejectedError,
    RetryableError,
    count,
    failed,
    retry_after,
    scrub,
    text_of,
    word,
)
from metaeval.llm.providers import key_for
from metaeval.llm.request import Reply

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from metaeval.llm.providers import Connection
    from metaeval.llm.request import Request

_NO_KEY = "none"  # the SDK insists on one; servers of one's own often want none


class OpenAIClient:
    """Sends requests through the SDK's aiohttp transport, the faster of its two."""

    denied: ClassVar[Collection[str]] = ("insufficient_quota",)
    """Codes that mean an empty account here; at other providers this one is a limit a minute."""

    def __init__(self, connection: Connection) -> None:
        self._key = key_for(connection.provider, connection.base_url)
        self._sdk = openai.AsyncOpenAI(
            api_key=self._key or _NO_KEY,
            base_url=connection.base_url,
            max_retries=0,  # the runner waits and counts
            timeout=openai.Timeout(connection.reply_seconds, connect=connection.connect_seconds),
            http_client=openai.DefaultAioHttpClient(),
        )
        # The SDK loads most of itself when it is first asked for this: now, not while a call's time runs.
        self._create = self._sdk.chat.completions.with_raw_response.create

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request, or raise `CallError`."""
        try:
            # What is sent goes past the SDK's own arguments: so the parameters of any server can be given,
            # and long messages are not walked through type by type, which takes a quarter of a call's time.
            body = {
                "messages": [{"role": m.role, "content": m.content} for m in request.messages],
                **self.reply_format(request),
                **request.parameters,
            }
            response = await self._create(model=request.model, messages=[], extra_body=body)
        except openai.APIStatusError as error:
            return self._failed(error.response.text, error.status_code, error.response.headers)
        except openai.APIConnectionError as error:
            raise self._lost(error) from None
        except openai.OpenAIError as error:
            raise RejectedError(scrub(str(error), self._key)) from None
        raw = scrub(response.text, self._key)
        try:
            answer = json.loads(raw)
            if isinstance(answer, dict) and "choices" not in answer and answer.get("error"):
                # Some gateways put an error into a body of status 200.
                return self._failed(raw, 200, response.headers)
            return read_completion(answer, raw)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            message = f"the body is no chat completion ({error}): {raw[:200]}"
            raise RetryableError(message, "invalid_body", sent=True) from None

    async def close(self) -> None:
        """Give connections back."""
        await self._sdk.close()

    def reply_format(self, request: Request) -> dict[str, Any]:
        """Return how a schema is asked for here."""
        if request.schema is None:
            return {}
        wanted = {"name": "reply", "strict": True, "schema": request.schema}
        return {"response_format": {"type": "json_schema", "json_schema": wanted}}

    def _failed(self, text: str, status: int, headers: Mapping[str, str]) -> Reply:
        code, message = "", scrub(text, self._key)
        with contextlib.suppress(ValueError):
            body = json.loads(message)
            error = body.get("error", body) if isinstance(body, dict) else body
            if isinstance(error, dict):
                code = str(error.get("code") or error.get("type") or "")
                message = str(error.get("message") or message)
                if status == 200:
                    status = int(code) if code.isdigit() else 500
            elif isinstance(error, str):
                message = error
        reply = failed(status, code, message, wait=retry_after(headers), denied=self.denied)
        return reply._replace(raw=scrub(text, self._key))

    def _lost(self, error: BaseException) -> CallError:
        """Say what became of the connection; the SDK calls all of it "Connection error"."""
        causes = [error]
        while causes[-1].__cause__ is not None:
            causes.append(causes[-1].__cause__)
        text = scrub(f"{causes[-1]}" or type(causes[-1]).__name__, self._key)
        if any(isinstance(c, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)) for c in causes):
            return RetryableError(f"cannot connect: {text}", "connect")
        if isinstance(causes[-1], TimeoutError):
            return RetryableError(f"no reply in time: {text}", "timeout", sent=True)
        return RetryableError(f"connection lost: {text}", "connection", sent=True)


class DashScopeCompatibleClient(OpenAIClient):
    """DashScope's endpoint that speaks as OpenAI does."""

    denied: ClassVar[Collection[str]] = ()

    def reply_format(self, request: Request) -> dict[str, Any]:
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
        completion_tokens=count(usage.get("completion_tokens")),
        cached_tokens=count((usage.get("prompt_tokens_details") or {}).get("cached_tokens")),
        raw=raw,
    )
