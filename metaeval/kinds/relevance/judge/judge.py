"""A language model that predicts how relevant an item is to a user."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

from metaeval.base.counts import counted
from metaeval.base.errors import SpecError
from metaeval.base.records import Status
from metaeval.evaluators.base import check_integer
from metaeval.judging.prompts import PartedPrompt
from metaeval.judging.unit_judge import UnitJudge
from metaeval.kinds.known_items import fields_of, items_of
from metaeval.kinds.relevance.data.collection import KEYS, Collection
from metaeval.kinds.relevance.judge.prompt import (
    COT,
    ORDERS,
    PARTS,
    PLACEHOLDERS,
    RANDOM,
    REASON,
    SUM,
    Criteria,
    criteria_of,
    profiles_of,
    sampled,
    shared_values,
)
from metaeval.kinds.relevance.systems.systems import SCORE_SCALE
from metaeval.llm.calls.price import reply_limit
from metaeval.llm.calls.request import Request
from metaeval.llm.prompts.template import load_prompt
from metaeval.llm.replies.fields import Field, Given, Number, Text

_ALIASES = ("interest", "label", "rating", "score", "answer")
_log = logging.getLogger("metaeval")


class _Prepared(NamedTuple):
    """What is the same for all units."""

    asked: Sequence[int]
    keys: Sequence[tuple[str, str]]
    items: Mapping[str, Sequence[tuple[str, str]]]
    of_user: Callable[[str], Sequence[tuple[str, str]] | None]
    of_item: Callable[[Mapping[str, str]], Sequence[tuple[str, str]]]
    outcome: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Relevance(UnitJudge):
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
    labels
        How many items of each user are asked about, drawn over all depths of the pool; None for all. The
        others are ``missing``.
    model, prompt, temperature, replicate, reply, template, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`; ``seed`` is of both draws.

    Notes
    -----
    A history that is too long for the model is cut: the last items in that order are left out, so that
    profile and history take at most four fifths of the model's context, less the longest reply. The
    signature says of how many users. The context is what the study's model says (``context``), else what the
    library of prices knows; where neither does, nothing is cut.
    """

    shares: ClassVar[bool] = True

    prompt: str = "relevance"
    _: KW_ONLY
    fields: Sequence[str] = ()
    history: int = 1000
    order: str = RANDOM
    criteria: str | Sequence[str] | None = None
    labels: int | None = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("fields", "criteria"):
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))  # as a spec has it
        if not (isinstance(self.fields, tuple) and all(isinstance(name, str) for name in self.fields)):
            raise SpecError(f"Relevance: fields is a list such as ['title', 'genres'], not {self.fields!r}")
        check_integer("Relevance", "history", self.history, 0)
        if self.labels is not None:
            check_integer("Relevance", "labels", self.labels, 1)
        self.check_word("order", ORDERS)
        criteria_of(self.criteria)

    def signature(self, data: Collection) -> Mapping[str, Any]:
        """Return the judge's settings, and what it is told; of sums, the scale that they are on."""
        (way, questions), signature = self._criteria, dict(super().signature(data))
        signature |= {"fields": fields_of(data, self.fields), "history": self.history, "order": self.order}
        signature["labels"] = self.labels
        if questions:
            signature |= {"criteria": dict(questions), "put_together": way}
        if way == SUM:
            signature[SCORE_SCALE] = [len(questions) * end for end in (data.scale.min, data.scale.max)]
        return signature

    def reply_fields(self, data: Collection, aspects: Sequence[str]) -> list[Field]:
        """Return a reason, a number for each criterion, and the label, unless it is a sum."""
        names = list(self._criteria.questions)
        ratings = [Number(name, data.scale) for name in names]
        wanted = aspects if self._criteria.way == COT else ()
        return [Text(REASON, required=False), *ratings, *(Number(a, data.scale, _ALIASES) for a in wanted)]

    def value(self, read: Mapping[str, Given], aspect: str) -> float:
        """Return the label, or the sum of the criteria."""
        parts = self._criteria
        return sum(float(read[n]) for n in parts.questions) if parts.way == SUM else float(read[aspect])

    def frames(
        self, data: Collection, aspects: Sequence[str], **simulate: object
    ) -> dict[tuple[int, ...], tuple[Sequence[Field], Request]]:
        """Return the fields, and a request; a simulated model follows how like the history an item is."""
        return super().frames(data, aspects, like=True, **simulate)

    def prepared(self, data: Collection, aspects: Sequence[str]) -> _Prepared:
        """Choose units and histories, and say how many are cut; raise `DataError` if nothing is known."""
        items = items_of(data, self.fields)
        room = self._room(data, aspects)
        profiles = profiles_of(data, items, history=self.history, order=self.order, seed=self.seed, room=room)
        users = data.units[KEYS[0]].nunique()
        if profiles.cut:
            _log.warning(
                "metaeval: %s: the histories of %s of %s are longer than the model takes, and are cut",
                self.spec,
                f"{len(profiles.cut):,}",
                counted(users, "user"),
            )
        fixed = shared_values(data, aspects[0], self._criteria)
        prompt = PartedPrompt(load_prompt(self.prompt), PARTS, fixed, known=PLACEHOLDERS, reply=self.reply)

        @functools.lru_cache(maxsize=2)  # filled once per user, and the very same text for all of the items
        def of_user(user: str) -> list[tuple[str, str]] | None:
            known = profiles.of(user)
            return None if known is None else prompt.shared(known)

        keys = list(data.units[[*KEYS]].itertuples(index=False, name=None))
        outcome = {"users": users, "users_cut": len(profiles.cut)}
        return _Prepared(sampled(data, self.labels, self.seed), keys, items, of_user, prompt.own, outcome)

    def units_to_ask(self, data: Collection, prepared: _Prepared) -> Sequence[int]:
        """Return the sampled units, those of a user one after the other."""
        return prepared.asked

    def messages(
        self, data: Collection, unit: int, aspects: Sequence[str], prepared: _Prepared
    ) -> list[tuple[str, str]] | Status:
        """Return what the model is told; where nothing is known of user or item, it is not asked."""
        user, item = prepared.keys[unit]
        known = prepared.items.get(item)
        first = prepared.of_user(user)
        if not known or first is None:
            return Status.MISSING
        item_text = "\n".join(f"{name}: {value}" for name, value in known)
        return [*first, *prepared.of_item({"item": item_text})]

    def outcome(self, prepared: _Prepared) -> Mapping[str, Any]:
        """Return how many users there are, and how many of their histories are cut."""
        return prepared.outcome

    @property
    def _criteria(self) -> Criteria:
        return criteria_of(self.criteria)

    def _room(self, data: Collection, aspects: Sequence[str]) -> int | None:
        """Return how many tokens of a prompt profile and history may take; None if any number."""
        if self.context is None:
            return None
        ((_, request),) = self.frames(data, aspects).values()
        room = self.context * 4 // 5 - (reply_limit(request) or 0)
        if room <= 0:
            raise SpecError(
                f"{self.spec}: a context of {self.context:,} tokens leaves no room for a reply of "
                f"{reply_limit(request):,}; lower max_tokens"
            )
        return room
