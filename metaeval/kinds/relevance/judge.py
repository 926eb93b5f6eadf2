"""A language model that predicts how relevant an item is to a user."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, SpecError, nearest
from metaeval.base.records import Status
from metaeval.evaluators.base import argument, integer, word
from metaeval.judging.prompts import Asks
from metaeval.judging.unit_judge import CRITERION, HistoryJudge, Shown
from metaeval.kinds.known_items import (
    ITEM,
    USER,
    USER_SAMPLE,
    Profiles,
    fields_of,
    histories_of,
    items_of,
    user_profiles,
)
from metaeval.kinds.relevance.data.collection import KEYS, RELEVANCE, Collection
from metaeval.kinds.relevance.systems.systems import SCORE_SCALE
from metaeval.llm.calls.price import reply_limit
from metaeval.llm.replies.fields import Field, Given, Number, Text
from metaeval.stats.resampling.weights import permutation

if TYPE_CHECKING:
    from metaeval.judging.outcome import QuestionResult

_ALIASES = ("interest", "label", "rating", "score", "answer")
_log = logging.getLogger("metaeval")


RANDOM, RECENT = ORDERS = ("random", "recent")
DEPTH, _ = POOLS = ("depth", RANDOM)


def profiles_of(
    data: Collection,
    items: Mapping[str, Sequence[tuple[str, str]]],
    *,
    history: int,
    order: str,
    seed: int,
    room: int | None,
) -> Profiles:
    """Return what is shown of each user: `user_profiles` of the most recent, or of a drawn history.

    Raises
    ------
    DataError
        If the data have nothing to show, or no times to order by.
    """
    past = _ordered(data, order, needed=history > 0 and (data.profiles is None or data.profiles.empty))
    seed_of = seed if order == RANDOM else None
    return user_profiles(data, items, past, history=history, drawn=seed_of, room=room)


def _ordered(data: Collection, order: str, *, needed: bool) -> pd.DataFrame:
    """Return the histories in an order that does not depend on that of their rows, the most recent first."""
    if data.histories is None and not needed:
        return pd.DataFrame({USER: [], ITEM: []}, dtype=str)
    past = histories_of(data, data.units).sort_values(ITEM)
    if order == RANDOM:
        return past
    if "timestamp" not in past:
        raise DataError(
            f"order='recent' needs a column 'timestamp' in the histories of data set {data.name!r}; write "
            "order='random'"
        )
    return past.sort_values("timestamp", ascending=False, kind="stable")


def sampled(data: Collection, labels: int | None, seed: int, pool: str = DEPTH) -> list[int]:
    """Return the positions of so many units of each user, all if None; those of a user come together.

    The sample of a user depends on the seed and on the user's units alone. A ``pool`` that is ``random`` is
    drawn, each unit as likely as another. Else the units are sorted by pool depth, the best rank that any run
    gives them, those of no run last, equal ones in drawn order, and the sample is spread evenly over them,
    whatever its size. In both, a smaller one is part of a larger one: with more labels, nothing is asked
    again.
    """
    best = data.runs.groupby(list(KEYS))["rank"].min().reset_index()
    depths = data.units.merge(best, on=list(KEYS), how="left")["rank"].fillna(np.inf).to_numpy()
    chosen: list[int] = []
    for user, positions in data.units.groupby(USER, sort=False).indices.items():
        drawn = np.asarray(positions)[permutation(len(positions), seed, "labels", str(user))]
        if pool == RANDOM:
            chosen += sorted(drawn[:labels].tolist())
            continue
        by_depth = drawn[np.argsort(depths[drawn], kind="stable")]
        (shift,) = permutation(len(positions), seed, "shift", str(user))[:1]
        chosen += sorted(by_depth[spread(len(positions), shift)[:labels]].tolist())
    return chosen


def spread(count: int, shift: int) -> list[int]:
    """Return the first ``count`` whole numbers, in an order whose every beginning is spread evenly over them.

    It is van der Corput's sequence, moved by ``shift`` around the circle.
    """
    bits = (count - 1).bit_length()
    turned = (int(f"{i:b}".zfill(bits)[::-1], 2) for i in range(1 << bits))
    return [(i + shift) % count for i in turned if i < count]


CRITERIA: Mapping[str, str] = {
    "genre": "does it match the genres and subgenres that this person likes, such as action or romance?",
    "tone": "does it match the tone and mood that they like, such as light-hearted, dark or intense?",
    "complexity": "does it match how simple or how layered they like their stories?",
    "pacing": "does it match how slow or how fast they like things to move?",
    "themes": "does it match the themes and topics that they like, such as friendship or revenge?",
    "cast": "does it match the people they like: actors, directors, authors, hosts and the like?",
    "culture": "does it match the countries, languages and cultures whose works they like?",
    "commitment": "does it match how much time they like to spend, such as its running time?",
    "period": "does it match whether they like classics or what is new?",
    "popularity": "does it match whether they like what everybody knows or what few know?",
    "ratings": "does it match how much they care for what others rated highly?",
}
"""Name → question; after the criteria of the study of LLM judges for recommender systems (its Figure 6)."""

COT, SUM = WAYS = ("cot", "sum")
REASON = "reason"


class Criteria(NamedTuple):
    """What is rated beside the whole, and how it is put together."""

    way: str
    """``cot``: the model rates each, then the whole; ``sum``: the score is the sum of the ratings."""
    questions: Mapping[str, str]


def criteria_of(criteria: str | Sequence[str] | None) -> Criteria:
    """Return the criteria of a judge, from its argument.

    Raises
    ------
    SpecError
        If a name is unknown, stands twice or is taken.
    """
    if criteria is None:
        return Criteria(COT, {})
    listed: list[Any] = list(criteria) if isinstance(criteria, list | tuple) else [criteria]
    way = listed.pop(0) if listed and listed[0] in WAYS else COT
    if isinstance(criteria, str) and listed:
        raise _wrong(f"{criteria!r} is none of cot and sum{nearest(criteria, WAYS)}")
    questions: dict[str, str] = {}
    for text in listed or CRITERIA:
        name, colon, question = (" ".join(part.split()) for part in str(text).partition(":"))
        if name in questions or name in (REASON, RELEVANCE) or not name:
            raise _wrong(f"{name!r} is twice in it, or is a word of every reply")
        if not (question if colon else name in CRITERIA):
            raise _wrong(f"{name!r} is not known{nearest(name, CRITERIA)}")
        questions[name] = question or CRITERIA[name]
    return Criteria(way, questions)


def _numbers(weights: object) -> bool:
    return isinstance(weights, tuple) and all(
        isinstance(weight, int | float) and not isinstance(weight, bool) and weight >= 0 for weight in weights
    )


def _wrong(why: str) -> SpecError:
    return SpecError(
        f"Relevance: criteria: {why}; write 'cot', 'sum', or a list such as ['sum', 'genre', 'host: does it "
        f"match …?'] of known names ({', '.join(CRITERIA)}) and of your own with a question"
    )


ASKS = Asks(
    sample={
        "question": "How interested are you in it?",
        "scale_min": "1",
        "scale_max": "5",
        "integer": (True, False),
        "labels": [{"label": "1", "name": "not interested"}],
        "criteria": [{"name": name, "question": question} for name, question in CRITERIA.items()],
        "overall": (True, False),
        "reply_form": "json",
        **USER_SAMPLE,
        "item": "title: A",
    },
    optional=("labels", "criteria", "profile", "history"),
    needed=("question", "scale_min", "scale_max", "history", "item"),
    noun="item",
    own=("item",),
    shared=("history", "profile"),
)
"""Of the prompt. ``labels`` is a list of label and name; ``criteria`` one of name and question, and
``overall`` says whether the label is asked for too. ``item`` is the text of the item; ``profile`` and
``history`` are those of `metaeval.kinds.known_items`."""


@dataclass(frozen=True, repr=False)
class Relevance(HistoryJudge):
    """A language model as an assessor: from a user's history, it predicts labels of items.

    Scores are on the collection's scale, but for sums of criteria. A sum stays as it is where scores are
    correlated or order items; where labels are needed it is brought to their scale, and rounded. A reply that
    is not complete and valid is a typed failure.

    What is the same for all items of a user comes first, in messages of its own, so that a provider's cache
    holds it; one call of a user is made before the others. An item that is judged for a user is left out of
    the user's history.

    Parameters
    ----------
    fields
        What is told of items, those of the history too; all that the collection has, if empty.
    history
        How many items of the user's history are shown at most.
    order
        Which of them: ``random``, drawn; or ``recent``, the last ones by their time.
    criteria
        None; ``cot``: the model rates eleven criteria, then the whole; ``sum``: the score is the sum of the
        criteria; or a list of known names and of your own with a question, which may begin with ``sum``:
        ``['sum', 'genre', 'host: does it match the hosts that they like?']``.
    weights
        Of the criteria of a sum, in their order, such as those that ``metaeval criteria`` fits; all 1, if
        left out.
    labels
        How many items of each user are asked about; None for all. The others are ``missing``.
    pool
        How these are drawn: ``depth``, spread over all depths of the pool; or ``random``, each as likely.
    model, prompt, temperature, replicate, reply, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`; ``seed`` is of both draws.

    Notes
    -----
    A history that is too long for the model is cut: the last items in that order are left out, so that
    profile and history take at most four fifths of the model's context, less the longest reply. The
    signature says of how many users. The context is what the study's model says (``context``), else what the
    library of prices knows; where neither does, nothing is cut.
    """

    prompt: str = "relevance"
    _: KW_ONLY
    history: int = integer(1000, 0)
    order: str = word(RANDOM, ORDERS)
    criteria: str | Sequence[str] | None = None
    weights: Sequence[float] = argument((), (_numbers, " are numbers of at least 0, not {value!r}"))
    labels: int | None = integer(100, 1, none=True)
    pool: str = word(DEPTH, POOLS)
    asks: ClassVar[Asks] = ASKS

    def __post_init__(self) -> None:
        """Raise `MetaevalError` for an argument that cannot be used."""
        super().__post_init__()
        way, questions = criteria_of(self.criteria)
        if self.weights and (way != SUM or len(self.weights) != len(questions) or not any(self.weights)):
            raise SpecError(
                f"Relevance: weights are of the criteria of a sum, one for each, not all 0; there are "
                f"{len(questions) if way == SUM else 0} criteria and {len(self.weights)} weights"
            )

    def signature(self, data: Collection) -> Mapping[str, Any]:
        """Return the judge's settings, and what it is told; of sums, the scale that they are on."""
        (way, questions), signature = self._criteria, dict(super().signature(data))
        signature["fields"] = fields_of(data, self.fields)
        del signature["criteria"]
        if not self.weights:
            del signature["weights"]
        if self.pool == DEPTH:
            del signature["pool"]
        if questions:
            signature |= {"criteria": dict(questions), "put_together": way}
        if way == SUM:
            scale = data.scale.of(RELEVANCE)
            signature[SCORE_SCALE] = [
                (sum(self.weights) or len(questions)) * end for end in (scale.min, scale.max)
            ]
        return signature

    def reply_fields(self, data: Collection, aspects: Sequence[str]) -> list[Field]:
        """Return a reason, a number for each criterion, and the label, unless it is a sum."""
        (aspect,) = aspects
        scale = data.scale.of(aspect)
        ratings = [Number(name, scale) for name in self._criteria.questions]
        wanted = [Number(RELEVANCE, scale, _ALIASES)] if self._criteria.way == COT else []
        return [Text(REASON, required=False), *ratings, *wanted]

    def parts(self, data: Collection, aspects: Sequence[str]) -> list[tuple[int, ...]]:
        """Return a call for each aspect; raise `DataError` if another than relevance has criteria."""
        if self._criteria.questions and [*aspects] != [RELEVANCE]:
            raise DataError(f"{self.spec}: criteria are of relevance alone; write aspects: [{RELEVANCE}]")
        return [(a,) for a in range(len(aspects))]

    def value(self, read: Mapping[str, Given], aspect: str) -> float:
        """Return the label, or the sum of the criteria."""
        del aspect  # a call asks for one, whatever it is called
        parts = self._criteria
        if parts.way != SUM:
            return float(read[RELEVANCE])
        weights = self.weights or [1] * len(parts.questions)
        return sum(weight * float(read[n]) for weight, n in zip(weights, parts.questions, strict=True))

    def beside(self, found: QuestionResult) -> Mapping[str, Given]:
        """Keep the rating of each criterion, so that weights can be fitted."""
        read = found.read or {}
        return {**super().beside(found), **{CRITERION + n: read[n] for n in self._criteria.questions}}

    @property
    def simulation(self) -> Mapping[str, object]:
        """A simulated model follows how like the history an item is."""
        return {"like": True}

    def fixed(self, data: Collection, aspects: Sequence[str]) -> Mapping[str, object]:
        """Return what is the same for all users."""
        (aspect,), scale = aspects, data.scale.of(aspects[0])
        named = sorted(data.labels.items()) if aspect == RELEVANCE else ()
        labels = [{"label": str(n), "name": " ".join(of.split())} for n, of in named]
        way, questions = self._criteria
        return {
            "question": " ".join(data.aspects[aspect].split()),
            "scale_min": f"{scale.min:g}",
            "scale_max": f"{scale.max:g}",
            "integer": scale.integer,
            "labels": labels or None,
            "criteria": [{"name": n, "question": q} for n, q in questions.items()] or None,
            "overall": way == COT,
        }

    def shown(self, data: Collection, aspects: Sequence[str]) -> Shown:
        """Choose units and histories; an item of which nothing is known is not asked about.

        `DataError` is raised if nothing is known at all. The signature says how many users there are, and how
        many of their histories are cut.
        """
        items = items_of(data, self.fields)
        room = self._room(data, aspects)
        profiles = profiles_of(data, items, history=self.history, order=self.order, seed=self.seed, room=room)
        users = data.units[USER].nunique()
        if profiles.cut:
            _log.warning(
                "metaeval: %s: the histories of %s of %s are longer than the model takes, and are cut",
                self.spec,
                f"{len(profiles.cut):,}",
                counted(users, "user"),
            )
        item_of = data.units[ITEM].tolist()

        def own(unit: int, _: Sequence[str]) -> Mapping[str, object] | Status:
            known = items.get(item_of[unit])
            return (
                {"item": "\n".join(f"{name}: {value}" for name, value in known)} if known else Status.MISSING
            )

        return Shown(
            own=own,
            groups=data.units[USER].tolist(),
            shared=profiles.of,
            order=sampled(data, self.labels, self.seed, self.pool),
            facts={"users": users, "users_cut": len(profiles.cut)},
        )

    @property
    def _criteria(self) -> Criteria:
        return criteria_of(self.criteria)

    def _room(self, data: Collection, aspects: Sequence[str]) -> int | None:
        """Return how many tokens of a prompt profile and history may take; None if any number."""
        if self.context is None:
            return None
        ((_, request),) = self.bare_requests(data, aspects).values()
        room = self.context * 4 // 5 - (reply_limit(request) or 0)
        if room <= 0:
            raise SpecError(
                f"{self.spec}: a context of {self.context:,} tokens leaves no room for a reply of "
                f"{reply_limit(request):,}; lower max_tokens"
            )
        return room
