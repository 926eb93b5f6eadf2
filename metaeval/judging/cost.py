"""What the calls of judges cost, which of them brought no reply, and whether their replies are still kept."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

from metaeval.base.keys import key_columns
from metaeval.base.records import FIRST, PRICE, SECOND, Kind, ScoreTable, Status
from metaeval.judging.outcome import COSTS
from metaeval.llm.calls.request import key_of
from metaeval.llm.replies.fields import Choice, Field, Number
from metaeval.llm.store.replies import Store
from metaeval.llm.store.rows import Database

if TYPE_CHECKING:
    import pandas as pd

_REASONS = 3  # that a sentence names
_LONGEST = 160  # characters of a reason
UNREAD = ("refused", "unparsed", "out_of_range", "truncated", "unweighed")
"""Statuses of replies that came and could not be read."""
# In the canonical text of a request its attempt comes first; the text of a first attempt need not be read.
_LATER = """CASE WHEN request LIKE '{"attempt":0,%' THEN NULL ELSE request END"""


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
    found = []
    for name, table in asked.items():
        calls, lost = calls_of(table.frame, table.verdicts)
        if not lost:
            continue
        with Store(store) as opened:
            errors = {key: reply.error for key, reply in opened.get_many(lost).items()}
        told = [
            (error.code or error.kind, error.message) if (error := errors.get(key)) else ("unknown", "")
            for key in sorted(lost)
        ]
        first, counts = dict(reversed(told)), Counter(code for code, _ in told)
        reasons = [LossReason(code, n, first[code]) for code, n in counts.most_common()]
        found.append(LostCalls(name, len(calls), len(lost), reasons))
    return found


def rows_with_calls(scores: pd.DataFrame, verdicts: pd.DataFrame | None) -> pd.DataFrame:
    """Return a judge's scores, or verdicts of a judge of pairs, of which a call has decided."""
    frame = scores if verdicts is None or verdicts.empty else verdicts
    return frame[frame["call"].notna() & (frame["call"] != "")]


def rows_with_replies(scores: pd.DataFrame, verdicts: pd.DataFrame | None) -> pd.DataFrame:
    """Return those to whose call a reply came."""
    asked = rows_with_calls(scores, verdicts)
    return asked[~asked["status"].isin([Status.TRANSPORT.value, Status.BUDGET.value])]


def calls_of(scores: pd.DataFrame, verdicts: pd.DataFrame | None) -> tuple[set[str], set[str]]:
    """Return the keys of a judge's calls, and of those that brought no reply."""
    asked = rows_with_calls(scores, verdicts)
    lost = asked[asked["status"] == Status.TRANSPORT.value]
    return set(" ".join(asked["call"]).split()), set(" ".join(lost["call"]).split())


def lost_sentences(lost: Sequence[LostCalls], command: str) -> list[str]:
    """Return one sentence per judge with lost calls, and how to ask again: by ``command``, if given."""
    if not lost:
        return []
    how = f"with: {command}" if command else "by running the study again, into the same folder"
    return [*map(_sentence, lost), f"These scores are missing; ask for them again {how}"]


def _sentence(of: LostCalls) -> str:
    reasons = of.reasons[:_REASONS]
    told = "; ".join(f"{r.code}, {r.calls:,} times: {short(r.message.rstrip('.'))}" for r in reasons)
    more = len(of.reasons) - len(reasons)
    others = f"; and {more} other reasons" if more else ""
    calls = f"{of.lost:,} of {of.asked:,} calls of {of.evaluator}"
    return f"{calls} brought no reply ({told.rstrip(': ')}{others})."


def short(text: str) -> str:
    """Return a text on one line, a long one without its middle: a reply often answers at its end."""
    text, half = " ".join(text.split()), _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} … {text[-half:]}"


def field_in_words(field: Field) -> str:
    """Return what a reply is to give for a field, in words."""
    if isinstance(field, Choice):
        return f"{field.name}: {' or '.join(said[0] for said in field.words.values())}"
    return f"{field.name}: {field.scale if isinstance(field, Number) else 'a text'}"


COLUMNS = (
    "evaluator",
    "model",
    "prompt",
    "texts",
    "lost",
    "shared",
    "usd",
    "usd_alone",
    "usd_per_text",
    "tokens_per_text",
    "reasoning_tokens_per_text",
    "seconds_per_text",
    "unread",
    "unread_first",
    "unread_second",
    "simulated",
)


def costs_of(scores: ScoreTable) -> pd.DataFrame:
    """Return what each judge cost, and each other evaluator whose price the study says.

    A call is paid once: its cost is shared equally by the judges that make it, as it is by the texts and
    aspects that it is about. So ``usd`` of all judges adds up to what the provider charged.

    Returns
    -------
    DataFrame
        ``texts`` asked about; ``lost``: share of calls without a reply; ``shared``: share of calls that
        other judges make too; ``usd`` in all; ``usd_alone``: if there were no other judge; ``usd_per_text``,
        ``tokens_per_text`` and ``seconds_per_text``: per text on all aspects, all attempts together, over
        calls with a reply; ``reasoning_tokens_per_text``: reasoning tokens among the tokens, NaN where the
        server counts none; ``unread``: share of replies that could not be read, and of those with the
        first, or the second, of two shown first. NaN where unknown.
    """
    import pandas as pd

    names = [n for n, s in scores.signatures.items() if scores.kinds.get(n) == Kind.JUDGE and "model" in s]
    pairs = scores.verdicts
    frames = {name: scores.frame[scores.frame["evaluator"] == name] for name in names}
    verdicts = {n: None if pairs is None else pairs[pairs["evaluator"] == n] for n in names}
    parts = _parts({name: rows_with_calls(frames[name], verdicts[name]) for name in names})
    rows = []
    for name in names:
        signature, part = scores.signatures[name], parts[parts["evaluator"] == name]
        calls, lost = calls_of(frames[name], verdicts[name])
        replies = rows_with_replies(frames[name], verdicts[name]).drop_duplicates("call")
        unread = replies["status"].isin(UNREAD)
        order = replies.reindex(columns=["order"])["order"]
        asked = rows_with_calls(frames[name], None)
        texts = len(asked[list(key_columns(asked))].drop_duplicates())
        sums = {c: float(part[c].sum(skipna=False)) for c in COSTS}
        sums["reasoning_tokens"] = sums["reasoning_tokens"] or nan
        share_lost = len(lost) / len(calls) if calls else nan
        answered = texts * (1 - share_lost)
        rows.append(
            {
                "evaluator": name,
                "model": signature["model"],
                "prompt": signature["prompt"]["name"],
                "texts": texts,
                "lost": share_lost,
                "shared": float((part["judges"] > 1).mean()),
                "usd": sums["usd"],
                "usd_alone": float(asked["usd"].sum(skipna=False)),
                **{f"{c}_per_text": total / answered if answered else nan for c, total in sums.items()},
                "unread": float(unread.mean()),
                **{f"unread_{shown}": unread[order == shown].mean() for shown in (FIRST, SECOND)},
                "simulated": bool(signature.get("simulated", False)),
            }
        )
    for name, signature in scores.signatures.items():
        if PRICE in signature:  # of a person: no calls, and nothing to read
            own = scores.frame[(scores.frame["evaluator"] == name) & scores.frame["score"].notna()]
            n, price = len(own[list(key_columns(own))].drop_duplicates()), float(signature[PRICE])
            paid = {"texts": n, "usd": n * price, "usd_alone": n * price, "usd_per_text": price}
            rows.append({"evaluator": name, "model": "", "prompt": "", **paid, "simulated": False})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _parts(asked: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return each judge's part of each call: ``evaluator``, ``call``, ``judges`` of it, and `COSTS`."""
    import pandas as pd

    columns, costs = ["evaluator", "call", *COSTS], list(COSTS)
    cells = [of.assign(evaluator=name).reindex(columns=columns) for name, of in asked.items()]
    table = pd.concat(cells) if cells else pd.DataFrame(columns=columns)
    table["call"] = table["call"].str.split()
    table["samples"] = table["call"].str.len()
    table[costs] = table[costs].astype(float).div(table["samples"], axis=0)
    by = table.explode("call").groupby(["evaluator", "call"], sort=False)
    calls = by[costs].sum(min_count=1).assign(samples=by["samples"].min()).reset_index()
    calls = calls.sort_values("samples", kind="stable")
    judges = calls.groupby("call")["call"].transform("size")
    # A judge of samples knows what all of them cost; who asks one of them alone knows its cost.
    calls[costs] -= calls.groupby("call")[costs].transform("first").mul(1 - 1 / judges, axis=0)
    return calls.assign(judges=judges)


@dataclass(frozen=True, slots=True)
class RepliesState:
    """What tells whether a store still has the replies that were used."""

    file: list[int] | None
    """The store's file as it was; None if someone else wrote to it, or it is no file."""
    digest: str | None
    """Of the replies to the calls; None if there were others that no file of the run names."""

    def holds(self, store: Database, calls: Callable[[], Sequence[str]]) -> bool:
        """Say whether the store still has the replies to these calls."""
        if not store.exists():
            return False
        if self.file is not None and self.file == store.state():
            return True
        # Another run may have added to the store; what counts is that these replies are the same.
        return self.digest is not None and self.digest == _digest(store, calls())


def calls_in(frames: Iterable[pd.DataFrame | None]) -> list[str]:
    """Return the keys of the last call behind each score or verdict, each once, sorted."""
    keys: set[str] = set()
    for frame in frames:
        if frame is not None and "call" in frame:
            keys.update(" ".join(frame["call"].dropna().unique()).split())  # of samples there are several
    return sorted(keys)


def with_attempts(store: Store, calls: Sequence[str]) -> Iterator[str]:
    """Yield the keys of calls, each after those of the earlier attempts at the same request."""
    with store.sentences():
        rows = store.rows_of(calls, f"key,{_LATER}")
        later = {key: store.request_in(text, key) for key, text in rows if text}
    for key in calls:
        request = later.get(key, {"attempt": 0})
        yield from (key_of({**request, "attempt": n}) for n in range(request["attempt"]))
        yield key


def replies_state(store: Database, calls: Sequence[str], behind: Iterable[ScoreTable]) -> RepliesState:
    """Return what tells later whether a store has the same replies.

    Parameters
    ----------
    store
        This process has it not open.
    calls
        What `metaeval.runs.finished.calls_of_run` finds in the run folder.
    behind
        The tables of all judges, also of those whose scores are not in the folder.
    """
    if not store.exists():
        return RepliesState(None, None)
    whole = calls_in(frame for table in behind for frame in (table.frame, table.verdicts))
    digest = _digest(store, calls) if whole == list(calls) else None
    return RepliesState(store.state(), digest)


def _digest(store: Database, calls: Sequence[str]) -> str:
    digest = hashlib.sha256()
    with Store(store, create=False) as opened:
        for row in opened.rows_of(sorted(set(with_attempts(opened, calls))), "key,digest"):
            digest.update(repr(row).encode())
    return digest.hexdigest()
