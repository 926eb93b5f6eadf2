"""Bytes per reply of a judge in a store; in PostgreSQL too, if ``METAEVAL_STORE`` names an empty database."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.judging import URL, data
from metaeval.kinds.explanations.judge.judge import Judge
from metaeval.llm.calls.request import Reply
from metaeval.llm.store.replies import Store
from metaeval.llm.store.rows import is_address, put
from metaeval.llm.store.tools import info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.llm.store.rows import StoreConnection

_AT_MOST = 2_700  # bytes per reply
_AT_ONCE = 500  # replies per transaction
_SAID = '{"persuasiveness": 3, "transparency": 4, "accuracy": 4, "satisfaction": 2}'


def _reply(number: int) -> Reply:
    """Return a reply with a body as OpenAI sends it."""
    model = "gpt-6-luna-2026-09-30"
    message: dict[str, Any] = {"role": "assistant", "content": _SAID, "refusal": None, "annotations": []}
    tokens = {"prompt_tokens": 376, "completion_tokens": 27}
    guessed = {"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}
    body = {
        "id": f"chatcmpl-{number:029x}",
        "object": "chat.completion",
        "created": 1_795_000_000 + number,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {
            **tokens,
            "total_tokens": 403,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0, **guessed},
        },
        "service_tier": "default",
        "system_fingerprint": None,
    }
    return Reply(
        _SAID,
        "stop",
        model=model,
        prompt_tokens=376,
        completion_tokens=27,
        cached_tokens=0,
        raw=json.dumps(body),
    )


def per_reply(place: str, replies: int) -> dict[str, Any]:
    """Fill a store with a judge's requests and replies to them, and return what each takes."""
    units = data(replies)
    judge = Judge("openai/gpt-6-luna", base_url=URL, profile=True)
    wanted = [question.request for question in judge.questions(units, list(units.aspects))]
    with Store(place) as store:
        for first in range(0, len(wanted), _AT_ONCE):

            def fill(connection: StoreConnection, first: int = first) -> None:
                for number, request in enumerate(wanted[first : first + _AT_ONCE], first):
                    put(connection, request.key, request.fields, _reply(number), 1_795_000_000.0 + number)

            store.write(fill)
        found = info(store)
    characters = sum(request.length for request in wanted) / len(wanted)
    return {
        "replies": found.replies,
        "prompt_characters": round(characters),
        "bytes_a_reply": round(found.bytes / found.replies),
    }


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    replies = 5_000 if quick else 20_000
    with tempfile.TemporaryDirectory() as folder:
        places = {"SQLite": str(Path(folder) / "replies.sqlite")}
        if is_address(named := os.environ.get("METAEVAL_STORE", "")):
            places["PostgreSQL"] = named
        for kind, place in places.items():
            found = per_reply(place, replies)
            ratio = found["bytes_a_reply"] / _AT_MOST
            name = f"bytes per reply in {kind}, prompts and replies of a judge"
            yield {"benchmark": name, **found, "ratio": round(ratio, 2), "target": 1, "held": ratio <= 1}
