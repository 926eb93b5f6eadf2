"""Clients over HTTP: OpenAI and every server that speaks as it does, and DashScope."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import aiohttp
import certifi
from pydantic_core import to_json

from metaeval.base import __version__
from metaeval.llm.calls.client import (
    RetryableError,
    cached_count,
    completion_count,
    count,
    text_of,
    word,
)
from metaeval.llm.calls.request import Reply, Request
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

NO_KEY = "none"  # servers of your own often want none
_REMEMBERED = 1000  # ids of completions
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}


class OpenAIClient:
    """Sends requests over one session of its own.

    The SDK walks through every request and response type by type, which takes five times the call's own time.
    """

    denied: ClassVar[Collection[str]] = ("insufficient_quota",)
    """Codes that mean an empty account here; at other providers this one is a limit per minute."""

    def __init__(self, connection: Connection) -> None:
        self._key = key_for(connection.provider, connection.base_url)
        self._connection, self._url = connection, f"{connection.base_url}/chat/completions"
        self._sessions = [self._session()]
        self._answered: dict[str, int] = {}  # the id of a completion → the hash of its request
        self._repeated = 0

    def _session(self) -> aiohttp.ClientSession:
        connection = self._connection
        account = {header: os.environ.get(name, "") for header, name in _ACCOUNT.items()}
        secure = connection.base_url.startswith("https:")
        return session_for(
            connection.base_url,
            aiohttp.TCPConnector(limit=0, ssl=_trusted() if secure else True),  # the runner limits
            headers={
                "Authorization": f"Bearer {self._key or NO_KEY}",
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Accept-Encoding": ENCODING,
                "User-Agent": f"metaeval/{__version__}",
                **{header: value for header, value in account.items() if value},
            },
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_SECONDS, sock_read=connection.reply_seconds
            ),
        )

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request, or raise `CallError`."""
        body = to_json({"model": request.model, **self.body(request)})
        try:
            async with self._sessions[-1].post(self._url, data=body, allow_redirects=False) as response:
                raw = await read_body(response.content.iter_any(), response.headers, self._key)
        except Exception as error:  # noqa: BLE001 - aiohttp lets through what a server can make it raise
            raise broken(error, self._key) from None
        headers = read_headers(response.headers, self._key)
        if not 200 <= response.status < 300:
            return answered(response.status, raw, headers, self.denied)
        try:
            content = json.loads(raw)
            reply = read_completion(content, raw, headers, self.denied)
        except MISREAD as error:
            raise unreadable(error, raw, "completion") from None
        self._refuse_surplus(word(content.get("id")), hash(body))
        return reply

    def _refuse_surplus(self, name: str | None, asked: int) -> None:
        """Raise `RetryableError` for the id of a reply to another request, if ids here tell calls apart.

        A reply too many shifts all later ones of its connection, so no open connection is used again.
        """
        if not name or self._answered.setdefault(name, asked) == asked:
            if len(self._answered) > _REMEMBERED:
                del self._answered[next(iter(self._answered))]
            return
        self._repeated += 1
        if len(self._answered) > 2 * self._repeated:
            self._sessions.append(self._session())
            message = f"the reply {name[:40]!r} has come before, to another request"
            raise RetryableError(message, "repeated_reply", sent=True)

    async def close(self) -> None:
        """Give connections back."""
        for session in self._sessions:
            await session.close()

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


def read_completion(
    body: Mapping[str, Any],
    raw: str,
    headers: Mapping[str, str] = MappingProxyType({}),
    denied: Collection[str] = (),
) -> Reply:
    """Return what a completion says; no choice, or an empty one, is a reply without text.

    `CallError` is raised if it tells of a failure: gateways do that in a body of status 200.
    """
    if error := failure_in(body, (body.get("choices") or [{}])[0]):
        return answered(200, json.dumps({"error": error}), headers, denied)
    usage = body.get("usage") or {}
    choice = (body["choices"] or [{}])[0]
    message = choice.get("message") or {}
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
        cached_tokens=cached_count(usage),
        raw=raw,
    )


class DashScopeCompatibleClient(OpenAIClient):
    """DashScope's endpoint that speaks as OpenAI does."""

    denied: ClassVar[Collection[str]] = ()
    json_object: ClassVar[bool] = True
    """Whether a schema is asked for as a mere JSON object."""

    @classmethod
    def reply_format(cls, request: Request) -> dict[str, Any]:
        """Ask for a JSON object: a schema is taken by a few of its models only, and refused by the others."""
        return {} if request.schema is None else {"response_format": {"type": "json_object"}}


def _trusted() -> ssl.SSLContext:
    """Return the certificates that are trusted: those that the environment names, else Mozilla's."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)
