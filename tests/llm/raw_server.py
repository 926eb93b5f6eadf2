"""A server that sends bytes as it is told, HTTP or not; and forty-odd answers that are none.

It closes each connection and says so, lest a client send its next request on one just closed.

The text of the last message says which answer a request gets: ``Answer NAME``, else a good one.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

from tests.llm.server import Threaded

Send: TypeAlias = "bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]"


def http(body: bytes, *headers: str, status: str = "200 OK", length: int | None = -1) -> bytes:
    """Return a response; with a length of None there is no such header."""
    lines = [f"HTTP/1.1 {status}", "Connection: close", *headers]
    if not any(h.lower().startswith("content-type") for h in headers):
        lines.append("Content-Type: application/json")
    if length is not None:
        lines.append(f"Content-Length: {len(body) if length < 0 else length}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def completion(text: Any = "Summary: 3", **fields: Any) -> bytes:
    """Return a body that both APIs understand."""
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "input_tokens": 9, "output_tokens": 2}
    body = {"model": "m", "choices": [choice], "output": {"choices": [choice]}, "usage": usage, **fields}
    return json.dumps(body).encode()


def chunked(*parts: bytes) -> bytes:
    head = http(b"", "Transfer-Encoding: chunked", length=None)
    return head + b"".join(parts)


def endless(first: bytes, again: bytes, pause: float = 0.01) -> Send:
    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(pause)

    return send


GOOD = http(completion())
DEEP = b'{"choices":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
ZIPPED = "Content-Encoding: gzip"


def bomb() -> Send:
    """Return a gzip body without end that grows a thousandfold."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, again = (packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return endless(http(first, ZIPPED, length=10**12), 100 * again)  # 100 MB at a time


_OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"

MALFORMED: dict[str, Send] = {
    "nothing": b"",
    "not http": b"SSH-2.0-OpenSSH_9.6\r\n",
    "status line of one word": b"HTTP/1.1\r\n\r\n",
    "redirect without a place": http(b"", status="302 Found"),
    "header too long": http(completion(), "X-Long: " + "x" * 20_000),
    "length too great": http(b"{}", length=1000),
    "chunk size that is none": chunked(b"zz\r\n{}\r\n0\r\n\r\n"),
    "chunk without an end": chunked(b"2\r\n{}"),
    "body cut off": http(completion())[:-20],
    "empty body": http(b""),
    "html": http(b"<html>Welcome</html>", "Content-Type: text/html"),
    "gzip that is none": http(b"no gzip", ZIPPED),
    "gzip cut off": http(gzip.compress(completion())[:-12], ZIPPED),
    "gzip with a wrong sum": http(gzip.compress(completion())[:-8] + b"\0" * 8, ZIPPED),
    "gzip bomb": bomb(),
    "brotli": http(b"\x0b\x02\x80", "Content-Encoding: br"),
    "an encoding of many": http(gzip.compress(gzip.compress(completion())), "Content-Encoding: gzip, gzip"),
    "body too long": http(b" " * (9 << 20) + completion()),
    "not utf-8": http(b'{"choices": "\xff\xfe\x80"}'),
    "utf-16": http(completion().decode().encode("utf-16"), "Content-Type: application/json; charset=utf-16"),
    "deep json": http(DEEP),
    "deep error": http(DEEP, status="500 Oh"),
    "deep code": http(b'{"error":{"code":' + b"[" * 900 + b"]" * 900 + b"}}", status="400 Bad Request"),
    "nan": http(b"NaN"),
    "a number of many digits": http(b'{"choices": ' + b"9" * 10_000 + b"}"),
    "null": http(b"null"),
    "a list": http(b"[1, 2]"),
    "choices a string": http(completion(choices="abc", output="abc")),
    "choices of strings": http(completion(choices=["abc"], output={"choices": ["abc"]})),
    "message a list": http(completion(choices=[{"message": [1]}], output={"choices": [{"message": [1]}]})),
    "usage a list": http(completion(usage=[1])),
    "usage a string": http(completion(usage="a few")),
    "error of status 200": http(b'{"error": {"code": [1], "message": {"a": 1}}, "code": [1]}'),
    "retry-after of a far year": http(
        b"{}", "Retry-After: Sun, 31 Dec 999999 23:59:59 GMT", status="503 Busy"
    ),
    "retry-after that is no date": http(b"{}", "Retry-After: Sun, 99 Foo 2020 99:99:99", status="503 Busy"),
    "redirect": http(b"", "Location: /elsewhere", status="307 Temporary Redirect"),
    "100 without end": endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 50),
    "headers without end": endless(_OK, b"X-More: and more\r\n" * 500),
    "body without end": endless(http(b"", length=10**12), b" " * 65_536),
    "chunks without end": endless(chunked(), b"10000\r\n" + b" " * 65_536 + b"\r\n"),
    "body by drops": endless(http(b"", length=10**6), b" ", 0.05),
    "headers by drops": endless(_OK + b"X-A: ", b"a", 0.05),
}
"""Answers that bring no reply. The redirects stand apart: three of them in a row stop a run."""

TOLERATED: dict[str, Send] = {
    "content a number": http(completion(7)),
    "content an object": http(completion({"a": 1})),
    "content of parts": http(completion([{"text": "Summary: 3"}, 3, None])),
    "numbers of tokens that are none": http(
        completion(usage={"prompt_tokens": "9", "completion_tokens": -1})
    ),
    "half a surrogate": http(b'{"choices":[{"message":{"content":"\\ud800"}}],"output":{"text":"\\ud800"}}'),
    "gzip": http(gzip.compress(completion()), ZIPPED),
    "nan as a text's number": http(completion(created=float("nan"))),
    "an encoding unknown": http(completion(), "Content-Type: application/json; charset=nonsense"),
    "invalid utf-8 in the text": http(completion("xxx").replace(b"xxx", b"\xff\xfe")),
    "100 and then an answer": b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD,
}
"""Answers that are odd and yet bring a reply."""

_NAMED = re.compile(r'"Answer ([^"]+)"')
_LENGTH = re.compile(rb"(?i)content-length: *(\d+)")


class RawServer(Threaded):
    """Answers each connection once."""

    def __init__(self, answer: Callable[[str], Send] | None = None) -> None:
        super().__init__()
        self.answer = answer or self.named
        self.log: list[str] = []

    @staticmethod
    def named(request: str) -> Send:
        """Return the answer whose name is in the request."""
        found = _NAMED.search(request)
        return {**MALFORMED, **TOLERATED}[found[1]] if found else GOOD

    async def open(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                head = await reader.readuntil(b"\r\n\r\n")
                found = _LENGTH.search(head)
                body = await reader.readexactly(int(found[1]) if found else 0)
                self.log.append(head.decode() + body.decode())
                send = self.answer(self.log[-1])
                if isinstance(send, bytes):
                    writer.write(send)
                    await writer.drain()
                else:
                    await send(writer)
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()


serving_raw = RawServer
