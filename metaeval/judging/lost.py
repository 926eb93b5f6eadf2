"""Calls that brought no reply: how many per judge, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metaeval.base.records import Status
from metaeval.llm.store.replies import Store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.base.records import ScoreTable
    from metaeval.llm.calls.request import CallFailure
    from metaeval.llm.store.database import Database

_REASONS = 3  # that a sentence names
_LONGEST = 160  # characters of a reason


@dataclass(frozen=True, slots=True)
class LossReason:
    """Why calls brought no reply."""

    code: str
    calls: int
    message: str
    """What the first of them was told."""


@dataclass(frozen=True, slots=True)
class LostCalls:
    """The calls of one judge that brought no reply, and how many it made."""

    evaluator: str
    asked: int
    lost: int
    reasons: list[LossReason]
    """The most frequent first."""


def lost_calls(asked: Mapping[str, ScoreTable], store: Database) -> list[LostCalls]:
    """Return the calls without a reply of each judge that has some.

    Parameters
    ----------
    asked
        Judge → its scores.
    store
        Where failures are kept, with their messages.
    """
    of_judge = {name: calls_of(table.frame, table.verdicts) for name, table in asked.items()}
    wanted = {key for _, lost in of_judge.values() for key in lost}
    if not wanted:
        return []
    errors: dict[str, CallFailure] = {}
    if store.exists():
        with Store(store, create=False) as opened:
            found = opened.get_many(wanted)
        errors = {key: reply.error for key, reply in found.items() if reply.error is not None}
    return [
        LostCalls(name, len(all_of_it), len(lost), _reasons(lost, errors))
        for name, (all_of_it, lost) in of_judge.items()
        if lost
    ]


def calls_of(scores: pd.DataFrame, verdicts: pd.DataFrame | None) -> tuple[set[str], set[str]]:
    """Return the keys of a judge's calls, and of those that brought no reply.

    A judge of pairs has the status of each call in its verdicts, any other in its scores.
    """
    frame = scores if verdicts is None or verdicts.empty else verdicts
    asked = frame[frame["call"].notna() & (frame["call"] != "")]
    lost = asked[asked["status"] == Status.TRANSPORT.value]
    return set(" ".join(asked["call"]).split()), set(" ".join(lost["call"]).split())


def _reasons(lost: set[str], errors: Mapping[str, CallFailure]) -> list[LossReason]:
    messages: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for key in sorted(lost):
        error = errors.get(key)
        code = (error.code or error.kind) if error else "unknown"
        counted[code] += 1
        messages.setdefault(code, " ".join(error.message.split()) if error else "")
    return [LossReason(code, n, messages[code]) for code, n in counted.most_common()]


def lost_sentences(lost: Sequence[LostCalls], command: str) -> list[str]:
    """Return one sentence per judge with lost calls, and how to ask again: by ``command``, if given."""
    if not lost:
        return []
    how = f"with: {command}" if command else "by running the study again, into the same folder"
    return [*map(_sentence, lost), f"These scores are missing; ask for them again {how}"]


def _sentence(of: LostCalls) -> str:
    reasons = of.reasons[:_REASONS]
    told = "; ".join(f"{r.code}, {r.calls:,} times: {_short(r.message)}" for r in reasons)
    more = len(of.reasons) - len(reasons)
    others = f"; and {more} other reasons" if more else ""
    calls = f"{of.lost:,} of {of.asked:,} calls of {of.evaluator}"
    return f"{calls} brought no reply ({told.rstrip(': ')}{others})."


def _short(text: str) -> str:
    text = text.rstrip(".")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
