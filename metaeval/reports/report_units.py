"""The units in a report: which are shown, their texts, truth and scores, and what was asked of judges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.records import Status
from metaeval.engine.drilldown import Groups, UnitView
from metaeval.evaluators.grid import NO_ROW, OK, STATUSES, Grid
from metaeval.llm.calls.terms import phrases
from metaeval.llm.providers.answers import thought_in
from metaeval.llm.replies.reader import used_up
from metaeval.stats.coefficients.tables import Floats, Ints

if TYPE_CHECKING:
    from metaeval.llm.store.tools import Conversation

MOST_UNITS = 5_000
"""So many units a page holds; of more, a sample."""
MOST_GROUPS = 5_000
"""So many groups of a grouping a page lists."""
MOST_TEXT = 16_000_000
"""So many characters of prompts and replies a page holds, lines that are repeated counted once."""
WHY_MISSING: Mapping[str, str] = {
    Status.MISSING: "the source has none",
    Status.UNTOKENIZABLE: "the text has no words to compare",
    Status.EXAMPLE: "shown to the judge as an example",
    Status.REFUSED: "the judge would not answer",
    Status.UNPARSED: "the reply has no score",
    Status.OUT_OF_RANGE: "the score is not on the scale",
    Status.TRUNCATED: "the reply is cut off",
    Status.INVENTED: "the evidence in the reply is not in the prompt",
    Status.UNWEIGHED: "the reply has no token probabilities",
    Status.TRANSPORT: "no reply came",
    Status.BUDGET: "not asked: the budget was used up",
}
"""Why there is no score, by its status."""
_NOT_THERE = len(STATUSES)
_STATUS_NAMES = [*map(str, STATUSES), "no row"]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The units that a page shows."""

    at: Ints
    """Their positions in the data, rising."""
    total: int
    note: str
    """A sentence on what is left out; empty if nothing is."""


def sample(clusters: Sequence[str], who: str, most: int = MOST_UNITS, seed: int = 0) -> Sample:
    """Choose the units to show: all, or those of clusters drawn at random.

    ``clusters`` has the cluster of each unit; ``who`` is what a cluster is called, in the plural: "users".
    Units are drawn one by one where even a single cluster has too many.
    """
    total = len(clusters)
    if total <= most:
        return Sample(np.arange(total), total, "")
    names, of_unit, sizes = np.unique(
        np.asarray(clusters, dtype=str), return_inverse=True, return_counts=True
    )
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(names))
    drawn = order[np.cumsum(sizes[order]) <= most]
    if len(drawn):
        at = np.flatnonzero(np.isin(of_unit, drawn))
        how = f"all those of {len(drawn):,} of {len(names):,} {who}, drawn at random"
    else:
        at = np.sort(rng.choice(total, most, replace=False))
        how = "drawn at random"
    note = f"A sample of {len(at):,} of {total:,} units is shown: {how} (seed {seed}). Numbers use all units."
    return Sample(at, total, note)


def listed_groups(groups: Groups, view: UnitView, shown: Sample, most: int = MOST_GROUPS) -> Ints:
    """Choose the groups to list: all, or those of the shown units, then the first by name; places, rising."""
    if len(groups.ids) <= most:
        return np.arange(len(groups.ids))
    texts = {column.name: column.texts for column in view.columns}
    here = {tuple(texts[key][unit] for key in groups.keys) for unit in shown.at}
    elsewhere = np.array([names not in here for names in groups.ids])
    return np.sort(np.argsort(elsewhere, kind="stable")[:most])


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The units of a run, with all that is known of each."""

    view: UnitView
    truth: Grid
    """Shape (units, what is rated)."""
    scores: tuple[Grid, ...]
    """Of each evaluator, of the same shape."""

    def payload(self, shown: Sample) -> dict[str, Any]:
        """Return the units of a sample as JSON values."""
        view, texts = self.view, Texts()
        return {
            "total": shown.total,
            "shown": len(shown.at),
            "note": shown.note,
            "columns": [
                {"name": c.name, "title": c.title, "key": c.key, **_column(_at(c.texts, shown))}
                for c in view.columns
            ],
            "heading": view.heading,
            "compared": view.compared,
            "parts": [
                {"title": p.title, "beside": p.beside, "texts": texts.places(_at(p.texts, shown))}
                for p in view.texts
            ],
            "texts": texts.all,
            "rated": [{"name": r.name, "statement": r.statement} for r in view.rated],
            "dimension": view.dimension,
            "truth": [coded(column) for column in self.truth.scores[shown.at].T],
            "scores": [[coded(column) for column in grid.scores[shown.at].T] for grid in self.scores],
            "statusNames": _STATUS_NAMES,
            "statuses": [[_failures(column) for column in grid.codes[shown.at].T] for grid in self.scores],
        }


def _at(texts: Sequence[str | None], shown: Sample) -> list[str | None]:
    return [texts[unit] for unit in shown.at]


def _column(values: Sequence[str | None]) -> dict[str, list[Any]]:
    texts = Texts()
    codes = texts.places(values)
    return {"values": texts.all, "codes": codes}


def _failures(codes: Any) -> dict[str, list[int]]:  # noqa: ANN401 - int8 of shape (units,)
    """Return which units have no score, and why."""
    unit = np.flatnonzero(codes != OK)
    why = np.where(codes[unit] == NO_ROW, _NOT_THERE, codes[unit])
    return {"unit": unit.tolist(), "status": why.tolist()}


# Arrays → JSON that is short: values once and codes for them, few digits, null for NaN.

_DIGITS = 9  # many more than are printed, so that nothing is rounded twice to another last digit


def number(value: Any) -> float | int | None:  # noqa: ANN401 - a number of any library, or None
    """Return a number with few digits, whole if it is; None for what is no finite number."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if short.is_integer() else short


def numbers(values: Iterable[Any]) -> list[float | int | None]:
    """Return `number` of each."""
    return [number(v) for v in values]


def decimals(values: Floats, digits: int = 4) -> Any:  # noqa: ANN401 - lists nested as the array is
    """Return an array as nested lists, rounded to decimals; None for NaN."""
    rounded = (np.round(values, digits) + 0.0).astype(object)  # no -0.0
    rounded[np.isnan(values)] = None
    return rounded.tolist()


def coded(values: Floats) -> dict[str, list[Any]]:
    """Return numbers of shape (n,) as distinct values and the position of each among them; -1 for NaN."""
    known = ~np.isnan(values)
    distinct, codes = np.unique(values[known], return_inverse=True)
    places = np.full(values.shape, -1)
    places[known] = codes
    return {"values": numbers(distinct.tolist()), "codes": places.tolist()}


class Texts:
    """Texts that stand once each, wherever they are used."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._places)

    def place(self, text: str) -> int:
        """Return the position of a text, which is taken in if it is new."""
        return self._places.setdefault(text, len(self._places))

    def places(self, texts: Iterable[Any]) -> list[int]:
        """Return the position of each text; -1 for what is none."""
        return [self.place(t) if isinstance(t, str) else -1 for t in texts]

    @property
    def all(self) -> list[str]:
        """All texts, each at its position."""
        return list(self._places)


@dataclass(slots=True)
class Calls:
    """The calls of the judges in a report."""

    conversations: Mapping[str, Conversation]
    """By the key of the call; a call that the store does not have any more is not there."""
    most: int = MOST_TEXT
    _lines: Texts = field(default_factory=Texts)
    _replies: list[dict[str, Any]] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)
    _size: int = 0
    _left_out: int = 0
    _gone: int = 0

    def payload(self, keys: Sequence[Any], shown: Ints) -> dict[str, Any]:
        """Return the calls of the units at the positions ``shown`` as JSON values.

        ``keys`` has for each evaluator the key of the call behind each score, shape (what is rated, units),
        empty for none, several with blanks between them; None for an evaluator that asks no one.
        """
        judges = [e for e, of_judge in enumerate(keys) if of_judge is not None]
        places: list[Any] = [None] * len(keys)
        for e in judges:
            places[e] = np.full((len(keys[e]), len(shown)), -1)
        # Unit by unit, so that a page that cannot hold all has those of some units whole.
        for row, unit in enumerate(shown):
            for e in judges:
                places[e][:, row] = [self._place(key) for key in keys[e][:, unit]]
        return {
            "lines": self._lines.all,
            "replies": self._replies,
            "of": [None if of_judge is None else of_judge.tolist() for of_judge in places],
            "note": self._note(),
        }

    def _note(self) -> str:
        parts = []
        if self._left_out:
            parts.append(
                f"{_calls(self._left_out)} left out of this page to keep it small; `metaeval store "
                "export` writes them."
            )
        if self._gone:
            parts.append(f"{_calls(self._gone)} not in the store when the page was made.")
        return " ".join(parts)

    def _place(self, key: str) -> int:
        """Return the position of a call among those on the page; -1 if it is not there."""
        if not key:
            return -1
        if " " in key and key not in self._places:
            samples = [place for one in key.split() if (place := self._place(one)) >= 0]
            self._places[key] = len(self._replies) if samples else -1
            self._replies += [{"samples": samples}] if samples else []
        if key not in self._places:
            conversation = self.conversations.get(key)
            if conversation is None or self._size > self.most:
                self._gone += conversation is None
                self._left_out += conversation is not None
                self._places[key] = -1
            else:
                self._places[key] = len(self._replies)
                self._replies.append(self._reply(key, conversation))
        return self._places[key]

    def _reply(self, key: str, conversation: Conversation) -> dict[str, Any]:
        reply = conversation.reply
        thought = thought_in(reply.text, reply.raw)
        self._size += len(thought.text) + len(thought.answer)
        return {
            "key": key,
            "prompt": [
                {"role": m.role, "lines": list(self._line_places(m.content.split("\n")))}
                for m in conversation.messages
            ],
            "text": thought.answer,
            "thought": thought.text,
            "thoughtTokens": thought.tokens,
            "usedUp": used_up(reply.text, reply.finish_reason),
            "sent": ", ".join(phrases(reply.sent)),
            "refusal": reply.refusal or "",
            "finish": reply.finish_reason or "",
            "tokens": [reply.prompt_tokens, reply.completion_tokens],
            "seconds": number(reply.service_seconds),
            "model": reply.model or "",
            "error": f"{reply.error.kind}: {reply.error.message}" if reply.error else "",
        }

    def _line_places(self, lines: Iterable[str]) -> Iterable[int]:
        for line in lines:
            before = len(self._lines)
            place = self._lines.place(line)
            self._size += len(line) if len(self._lines) > before else 0
            yield place


def _calls(n: int) -> str:
    return f"{n:,} call was" if n == 1 else f"{n:,} calls were"
