"""What the judges of one run share: store, limits, prices and the budget."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from metaeval.base.validation import Line
from metaeval.llm.calls.address import Where
from metaeval.llm.calls.caller import Caller, ModelAt
from metaeval.llm.calls.limits import Budget, Limits
from metaeval.llm.calls.price import Price, Prices
from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.calls.runner import CallLoop
from metaeval.llm.calls.terms import Terms
from metaeval.llm.store.replies import Store, StudyShares, database_at
from metaeval.llm.store.rows import Database, ServerAddress, is_address


class JudgingOptions(Limits, Budget):
    """How the judges of a study ask their models."""

    store: Annotated[Line | None, Field(repr=False)] = None
    study_id: Line | None = None
    batch: bool = False
    prices: dict[str, Price] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, given: object) -> object:
        return {k: v for k, v in given.items() if v is not None} if isinstance(given, dict) else given

    @field_validator("store", mode="before")
    @classmethod
    def _readable(cls, given: object) -> object:
        # What cannot be read is not repeated, as other errors do: it may hold a password.
        return ServerAddress.read(given).text if isinstance(given, str) and is_address(given) else given

    @model_serializer(mode="wrap")
    def _as_written(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return null for what is left out: it does not depend on the study."""
        given = {*self.model_fields_set, "prices"}
        found = {k: v if k in given else None for k, v in plain(self).items()}
        return found | {"store": self.store and ServerAddress.shown(self.store)}

    @property
    def place(self) -> Database:
        """Where the replies are kept."""
        return database_at(self.store)

    @property
    def limits(self) -> Limits:
        """What a run keeps to."""
        return Limits(**{name: getattr(self, name) for name in Limits.model_fields})

    @property
    def budget(self) -> Budget:
        """What a run may spend."""
        return Budget(max_usd=self.max_usd, max_calls=self.max_calls)


@dataclass(frozen=True, slots=True)
class Judging:
    """How judges ask their models.

    Parameters
    ----------
    store
        Replies kept so far, and where new ones are kept.
    limits, budget, prices
        Limits of each address, prices of models; the budget is that of all judges together.
    offline
        Take every reply from the store; a missing one is an error.
    study_id
        Budget and limits per minute are those of all processes that use the store under this name together;
        if it is empty, those of this process.
    instead
        Called with what must be sent, instead of sending it (`metaeval.llm.calls.runner.RequestRun`).
    """

    store: Store
    limits: Limits = field(default_factory=Limits)
    budget: Budget = field(default_factory=Budget)
    prices: Prices = field(default_factory=Prices)
    offline: bool = False
    study_id: str = ""
    instead: Callable[[Request], Reply] | None = None
    terms: dict[ModelAt, Terms] = field(default_factory=dict)
    """What each model is known to take."""
    at: dict[Where, Limits] = field(default_factory=dict)
    """The limits of addresses that have their own."""
    names: dict[str, str] = field(default_factory=dict)
    """The spec of each judge → what the study calls it."""
    loop: CallLoop = field(init=False)
    """Where all of them ask."""

    def __post_init__(self) -> None:
        shares = StudyShares(self.store, self.study_id) if self.study_id else None
        caller = Caller(
            limits=self.limits,
            at=self.at,
            budget=self.budget,
            prices=self.prices,
            shares=shares,
            terms=self.terms,
        )
        object.__setattr__(self, "loop", CallLoop(caller))


_current: ContextVar[Judging | None] = ContextVar("judging", default=None)


@contextlib.contextmanager
def judging(
    store: str | os.PathLike[str] | None = None,
    *,
    limits: Limits | None = None,
    budget: Budget | None = None,
    prices: Prices | None = None,
    offline: bool = False,
    study_id: str = "",
) -> Iterator[Judging]:
    """Have all judges that score inside this block share a store, limits and a budget.

    The arguments are those of `Judging`; a store, a path or ``postgresql://…``, that is left out is
    ``METAEVAL_STORE``, else a file in the user's cache folder.
    """
    with Store(store) as opened:
        settings = Judging(
            opened, limits or Limits(), budget or Budget(), prices or Prices(), offline, study_id
        )
        with with_settings(settings):
            yield settings


@contextlib.contextmanager
def with_settings(settings: Judging) -> Iterator[None]:
    """Have all judges that score inside this block ask as these settings say."""
    token = _current.set(settings)
    try:
        yield
    finally:
        _current.reset(token)


def judging_of(options: JudgingOptions, *, offline: bool = False) -> AbstractContextManager[Judging]:
    """Return the block inside which the judges of a study score."""
    return judging(
        options.store,
        limits=options.limits,
        budget=options.budget,
        prices=Prices(options.prices),
        offline=offline,
        study_id=options.study_id or "",
    )


@contextlib.contextmanager
def current() -> Iterator[Judging]:
    """Yield the settings of the enclosing `judging` block, or the defaults."""
    settings = _current.get()
    if settings is not None:
        yield settings
        return
    with judging() as settings:
        yield settings
