"""Calls that brought no reply: how many of which judge, and why; and the sentences that say so."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from metaeval.base.records import Status
from metaeval.llm.store.replies import Store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from metaeval.base.records import ScoreTable
    from metaeval.llm.calls.request import CallFailure

_REASONS = 3  # that a sentence names
_LONGEST = 160  # characters of a reason


def lost_calls(asked: Mapping[str, ScoreTable], store: Path) -> list[dict[str, Any]]:
    """Return an entry for each judge that lost calls on the way, for ``run.json``.

    Parameters
    ----------
    asked
        Judge → its scores.
    store
        Where the failures are kept, with what the provider or the way to it said.

    Returns
    -------
    list of dict
        ``evaluator``; how many different calls were ``asked`` and ``lost``; and ``reasons``, the most
        frequent first: ``code``, ``calls`` and the first ``message``.
    """
    of_judge = {name: calls_of(table.frame, table.verdicts) for name, table in asked.items()}
    wanted = {key for _, lost in of_judge.values() for key in lost}
    if not wanted:
        return []
    errors: dict[str, CallFailure] = {}
    if store.is_file():
        with Store(store, create=False) as opened:
            found = opened.get_many(wanted)
        errors = {key: reply.error for key, reply in found.items() if reply.error is not None}
    return [
        {"evaluator": name, "asked": len(all_of_it), "lost": len(lost), "reasons": _reasons(lost, errors)}
        for name, (all_of_it, lost) in of_judge.items()
        if lost
    ]


def calls_of(scores: pd.DataFrame, verdicts: pd.DataFrame | None) -> tuple[set[str], set[str]]:
    """Return the keys of the calls of one judge, and of those that brought no reply.

    Parameters
    ----------
    scores, verdicts
        Of the judge; a judge of pairs has the status of each call in its verdicts.
    """
    frame = scores if verdicts is None or verdicts.empty else verdicts
    asked = frame[frame["call"].notna() & (frame["call"] != "")]
    lost = asked[asked["status"] == Status.TRANSPORT.value]
    return set(asked["call"]), set(lost["call"])


def _reasons(lost: set[str], errors: Mapping[str, CallFailure]) -> list[dict[str, Any]]:
    messages: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for key in sorted(lost):
        error = errors.get(key)
        code = (error.code or error.kind) if error else "unknown"
        counted[code] += 1
        messages.setdefault(code, " ".join(error.message.split()) if error else "")
    return [{"code": code, "calls": n, "message": messages[code]} for code, n in counted.most_common()]


def lost_sentences(record: Mapping[str, Any]) -> list[str]:
    """Return what ``run.json`` says of lost calls: a sentence per judge, and how to ask again."""
    lost = record.get("lost")
    if not lost:
        return []
    return [*map(_sentence, lost), again_sentence(record.get("again", ""))]


def again_sentence(command: str) -> str:
    """Return how to ask again for what was lost."""
    how = f"with: {command}" if command else "by running the study again, into the same folder"
    return f"These scores are missing; ask for them again {how}"


def _sentence(entry: Mapping[str, Any]) -> str:
    reasons = entry["reasons"][:_REASONS]
    told = "; ".join(f"{r['code']}, {r['calls']:,} times: {_short(r['message'])}" for r in reasons)
    more = len(entry["reasons"]) - len(reasons)
    others = f"; and {more} other reasons" if more else ""
    calls = f"{entry['lost']:,} of {entry['asked']:,} calls of {entry['evaluator']}"
    return f"{calls} brought no reply ({told.rstrip(': ')}{others})."


def _short(text: str) -> str:
    text = text.rstrip(".")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
