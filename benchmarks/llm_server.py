"""A model's server for `benchmarks.llm`, in a process of its own: answers any request after a fixed time.

``python -m benchmarks.llm_server SECONDS`` prints its port. It reads no more of a request than where it ends,
so that it takes little of the machine that it shares with what is measured.
"""

from __future__ import annotations

import asyncio
import json
import sys

_TEXT = '{"persuasiveness": 3, "transparency": 4, "accuracy": 4, "satisfaction": 2}'
_BODY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "simulated-2024-08-06",
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": _TEXT},
            }
        ],
        "usage": {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420},
    }
).encode()
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_BODY)


class _Answers(asyncio.Protocol):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, blank, rest = self._read.partition(b"\r\n\r\n")
        if not blank:
            return
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(rest) >= length:
            self._read = rest[length:]
            asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        if isinstance(self._transport, asyncio.Transport) and not self._transport.is_closing():
            self._transport.write(_HEAD + _BODY)


async def _serve(seconds: float) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Answers(seconds), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
