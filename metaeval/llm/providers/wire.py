"""HTTP: a session, a body of limited size without the key, an error, or a broken connection."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import AsyncIterable, Collection, Mapping
from typing import Any

import aiohttp
from requests.utils import get_environ_proxies, select_proxy

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.client import CallError, RejectedError, RetryableError, failed, retry_after
from metaeval.llm.calls.request import Reply
from metaeval.llm.calls.scrub import scrub

LONGEST_BODY = 8 << 20
"""Bytes of a body, decompressed: more than a reply of 2,000 tokens with 20 alternatives for each."""
ENCODING = "gzip"
"""What `read_body` can decompress, to be asked for in ``Accept-Encoding``."""
MISREAD = (ValueError, TypeError, AttributeError, KeyError, RecursionError)
"""What taking a body apart raises that is not as it should be."""
_LONGEST_CODE = 80
_GZIP = 31  # zlib's window bits for it
_BROKEN_OFF = ("error", "abort")  # as OpenRouter, Mistral, vLLM and SGLang end what has failed
_PASSWORD = re.compile(r"//[^/]*@")  # in a proxy's address
_NOT_CONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)


def session_for(base_url: str, connector: aiohttp.BaseConnector, **more: Any) -> aiohttp.ClientSession:  # noqa: ANN401 - aiohttp's own
    """Return a session for one address, through the proxy that the environment names for it.

    With aiohttp's own ``trust_env`` proxies and ``.netrc`` are looked up in a thread for every call, which
    takes longer than the call. `MetaevalError` is raised for a proxy that speaks no HTTP.
    """
    proxy = select_proxy(base_url, get_environ_proxies(base_url))
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    if proxy and not proxy.lower().startswith(("http://", "https://")):
        raise MetaevalError(
            f"the environment names a proxy of {proxy.partition(':')[0]!r} for {base_url}; only http proxies "
            f"can be used: set http_proxy or https_proxy, or name the host in no_proxy"
        )
    return aiohttp.ClientSession(
        connector=connector,
        proxy=proxy,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        **more,
    )


async def read_body(chunks: AsyncIterable[bytes], headers: Mapping[str, str], secret: str) -> str:
    """Return a body as text without the key; JSON is UTF-8 (RFC 8259), whatever the headers say.

    `RejectedError` is raised if it is too long, `RetryableError` if it cannot be decompressed.
    """
    coding = headers.get("Content-Encoding", "").strip().lower()
    if coding not in {"", "identity", ENCODING}:
        message = f"the body is compressed by {coding[:40]!r}, not {ENCODING}"
        raise RetryableError(message, "invalid_body", sent=True)
    unzip = zlib.decompressobj(_GZIP) if coding == ENCODING else None
    body = bytearray()
    try:
        async for chunk in chunks:
            body += chunk if unzip is None else unzip.decompress(chunk, LONGEST_BODY + 1 - len(body))
            if len(body) > LONGEST_BODY:
                message = f"the body is longer than {LONGEST_BODY >> 20} MB"
                raise RejectedError(message, "body_too_large", sent=True)
    except zlib.error as error:
        raise RetryableError(f"the body cannot be decompressed: {error}", "invalid_body", sent=True) from None
    if unzip is not None and not unzip.eof:
        raise RetryableError("the compressed body was cut off", "connection", sent=True)
    return scrub(body.decode("utf-8", "replace"), secret)


def read_headers(headers: Mapping[str, str], secret: str) -> dict[str, str]:
    """Return those headers of a response that matter, without the key."""
    return {
        n: scrub(headers[n], secret) for n in ("Retry-After", "Retry-After-Ms", "Location") if n in headers
    }


def answered(status: int, body: str, headers: Mapping[str, str], denied: Collection[str] = ()) -> Reply:
    """Return or raise what an answer means that is no reply; see `metaeval.llm.calls.client.failed`."""
    code, message, param = "", body, ""
    with contextlib.suppress(*MISREAD):
        content = json.loads(body)
        if isinstance(content, list) and content:  # as Gemini's compatible endpoint sends it
            content = content[0]
        error = content.get("error", content) if isinstance(content, dict) else content
        if isinstance(error, dict):
            code = str(error.get("code") or error.get("type") or "")[:_LONGEST_CODE]
            message, param = str(error.get("message") or message), str(error.get("param") or "")
        elif isinstance(error, str):
            message = error
        if isinstance(content, dict) and isinstance(content.get("detail"), list):
            # As pydantic refuses what is sent; it would repeat the prompt.
            message = "; ".join(f"{'.'.join(map(str, d['loc']))}: {d['msg']}" for d in content["detail"])
    if 300 <= status < 400:
        code, to = "redirect", headers.get("Location", "")[:200]
        message = (
            f"the server redirects to {to!r}, which is not followed; write the final address as base_url"
        )
    elif 200 <= status < 300:
        status = int(code) if code.isdecimal() and len(code) == 3 else 500
    wait = retry_after(headers)
    return failed(status, code, message, param=param, wait=wait, denied=denied)._replace(raw=body)


def failure_in(body: Mapping[str, Any], choice: Mapping[str, Any]) -> object:
    """Return the error that a body of status 2xx has beside its choices, or in one; None for an answer."""
    for error in (body.get("error"), choice.get("error")):
        if any(error.values()) if isinstance(error, dict) else error:  # some send one without content
            return error
    reason = choice.get("finish_reason")
    return f"the server broke the reply off (finish_reason {reason!r})" if reason in _BROKEN_OFF else None


def unreadable(error: BaseException, body: str, what: str) -> RetryableError:
    """Return the error for a body that is not as it should be."""
    reason = ""
    if isinstance(error, (ValueError, RecursionError, aiohttp.ContentTypeError)):
        reason = " (nested too deep)" if isinstance(error, RecursionError) else " (no JSON)"
    # Not the error's own words: aiohttp's hold the headers of the request, with the key.
    words = " ".join(body[:200].split()) or "it is empty"
    return RetryableError(f"the body is no {what}{reason}: {words}", "invalid_body", sent=True)


def broken(error: BaseException, secret: str) -> CallError:
    """Return the error for a lost call; a `CallError` stays. SDKs wrap the cause in errors of their own."""
    if isinstance(error, CallError):
        return error
    causes = [error]
    while isinstance(causes[-1].__cause__, Exception):
        causes.append(causes[-1].__cause__)
    words = _PASSWORD.sub("//", scrub(f"{causes[-1]}" or type(causes[-1]).__name__, secret))
    text = " ".join(words.split())[:500]
    if any(isinstance(c, _NOT_CONNECTED) for c in causes):
        return RetryableError(f"cannot connect: {text}", "connect")
    if isinstance(causes[-1], TimeoutError):
        return RetryableError(f"no reply in time: {text}", "timeout", sent=True)
    if any(isinstance(c, (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError)) for c in causes):
        return RetryableError(f"connection lost: {text}", "connection", sent=True)
    # An invalid status line, header or chunk, and whatever else a server can send.
    return RetryableError(f"the response cannot be read: {text}", "invalid_response", sent=True)
