"""The results of a batch → replies."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from metaeval.llm.calls.client import CallError, DeniedError, RejectedError
from metaeval.llm.calls.request import BY_BATCH, CallFailure, Reply, canonical
from metaeval.llm.calls.terms import changes_in
from metaeval.llm.providers.openai import read_completion
from metaeval.llm.providers.wire import MISREAD, answered, unreadable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from metaeval.llm.calls.request import FailureKind

_OURS = re.compile(r"invalid|bad.?request|unsupported|too.?(?:long|large)|inspection|filter", re.IGNORECASE)
"""In the code of an error without a status: the fault is the request's, so it is not sent again."""


def result_in(line: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the key that a line of results is about, and what it says; None if it says of none."""
    try:
        row = json.loads(line)
        key = row["custom_id"]
    except MISREAD:
        return None
    return (key, row) if isinstance(key, str) else None


def reply_of(row: Mapping[str, Any], sent: str, denied: Collection[str] = ()) -> Reply:
    """Return the reply that a row of results holds; its ``error`` says why there is none.

    Parameters
    ----------
    row
        With ``response``, which has a ``status_code`` and a ``body``, or ``error``.
    sent
        What was sent otherwise than asked for, as JSON; a failure keeps it too.
    denied
        Codes of an empty account at this provider.
    """
    try:
        reply = _read(row, denied)
    except CallError as error:
        kind: FailureKind = "transport"
        if isinstance(error, (DeniedError, RejectedError)):
            kind = "denied" if isinstance(error, DeniedError) else "rejected"
        return failure(kind, str(error), error.code, sent)
    return reply._replace(sent=canonical({**changes_in(sent), **BY_BATCH}))


def failure(kind: FailureKind, message: str, code: str, sent: str = "") -> Reply:
    """Return a reply that is none."""
    return Reply(error=CallFailure(kind, message, code), sent=sent)


def _read(row: Mapping[str, Any], denied: Collection[str]) -> Reply:
    response, error = row.get("response"), row.get("error")
    if isinstance(response, dict):
        status, body = response.get("status_code"), response.get("body")
        raw = json.dumps(body, ensure_ascii=False)
        if status == 200:
            try:
                return read_completion(body if isinstance(body, dict) else {}, raw)
            except MISREAD as wrong:
                raise unreadable(wrong, raw, "completion") from None
        if isinstance(status, int) and not error:
            return answered(status, raw, {}, denied)
    code = str(error.get("code") or "") if isinstance(error, dict) else ""
    said = json.dumps({"error": error if error else "the row has neither a response nor an error"})
    return answered(400 if _OURS.search(code) else 500, said, {}, denied)
