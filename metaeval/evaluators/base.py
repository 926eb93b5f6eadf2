"""What the evaluators of this package have in common, and checks of their arguments."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from metaeval.base.errors import SpecError, nearest, shown
from metaeval.base.records import DataOfKind, Kind, ScoreTable
from metaeval.base.spec import Argument, EvaluatorSpec
from metaeval.evaluators.grid import Grid, frame_of


class BaseEvaluator(ABC):
    """An evaluator that is a frozen dataclass: its fields are the arguments of its spec.

    A subclass is decorated with ``@dataclass(frozen=True, repr=False)``, sets ``kind`` as a class variable,
    checks its fields in ``__post_init__`` and says in `grid` what its scores are.
    """

    called: ClassVar[str] = ""
    """Its name in specs, if it is not that of its class."""
    needs: ClassVar[str] = ""
    """What it needs beside the units, in a few words for a list of evaluators; empty if nothing."""

    @classmethod
    def found_in(cls, data: DataOfKind) -> list[str] | None:
        """Return the names that ``data`` have for the first argument; None if it is no name of theirs."""
        del data
        return None

    if TYPE_CHECKING:

        @property
        def kind(self) -> Kind:
            """The block of a leaderboard it stands in."""
            ...

    @property
    def spec(self) -> EvaluatorSpec:
        """The spec as the user wrote it; for an evaluator made in Python, one that builds it again."""
        written = self.__dict__.get("_written")
        return written if isinstance(written, EvaluatorSpec) else self._derived_spec()

    def written_as(self, spec: EvaluatorSpec) -> None:
        """Remember how the user wrote this evaluator; called once, by the registry."""
        object.__setattr__(self, "_written", spec)

    def _derived_spec(self) -> EvaluatorSpec:
        args: list[Argument] = []
        kwargs: dict[str, Argument] = {}
        # Arguments by name alone come last, as they do in the call.
        for field in sorted(dataclasses.fields(cast("Any", self)), key=lambda f: f.kw_only is True):
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING:
                args.append(value)
            elif value != field.default:
                kwargs[field.name] = value
        return EvaluatorSpec(self.called or type(self).__name__, tuple(args), kwargs)

    @abstractmethod
    def grid(self, data: DataOfKind, aspects: Sequence[str]) -> Grid:
        """Return a score or its status for every unit and aspect."""

    def check(self, data: DataOfKind, aspects: Sequence[str]) -> None:
        """Raise `DataError` if the data has not what this evaluator needs, as far as that is seen at once."""
        if self.kind in (Kind.ANNOTATOR, Kind.RECORDED):
            self.grid(data, aspects)

    def signature(self, data: DataOfKind) -> Mapping[str, Any]:
        """Return what a score of this evaluator depends on, as plain JSON values."""
        return {}

    def score(self, data: DataOfKind, aspects: Sequence[str]) -> ScoreTable:
        """Return a score, or the reason that there is none, for every unit and aspect.

        Parameters
        ----------
        data
            The explanations, with what is known of them.
        aspects
            Names of the aspects to score.

        Returns
        -------
        ScoreTable
            Columns: the keys of the data, ``evaluator``, ``aspect``, ``score``, ``status``.

        Raises
        ------
        DataError
            If the data has not what this evaluator needs.
        """
        name = str(self.spec)
        frame = frame_of(self.grid(data, aspects), data, aspects, name)
        return ScoreTable(frame, {name: dict(self.signature(data))}, {name: self.kind})

    def __str__(self) -> str:
        return str(self.spec)

    def __repr__(self) -> str:
        return str(self.spec)


def check_choice(evaluator: str, argument: str, value: object, allowed: Sequence[str]) -> None:
    """Raise `SpecError` unless ``value`` is one of the texts ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise SpecError(
            f"{evaluator}: {argument} must be one of {', '.join(map(repr, allowed))}, not {shown(value)}"
            + (nearest(str(value), allowed))
        )


def check_integer(
    evaluator: str, argument: str, value: object, low: int | None = None, high: int | None = None
) -> None:
    """Raise `SpecError` unless ``value`` is an integer between ``low`` and ``high``, both included."""
    wrong = isinstance(value, bool) or not isinstance(value, int)
    if wrong or not (low is None or low <= value) or not (high is None or value <= high):  # type: ignore[operator]
        allowed = "an integer"
        if low is not None:
            allowed += f" of at least {low}" if high is None else f" from {low} to {high}"
        raise SpecError(f"{evaluator}: {argument} must be {allowed}, not {shown(value)}")


def check_flag(evaluator: str, argument: str, value: object) -> None:
    """Raise `SpecError` unless ``value`` is True or False."""
    if not isinstance(value, bool):
        raise SpecError(f"{evaluator}: {argument} must be True or False, not {shown(value)}")


def check_text(evaluator: str, argument: str, value: object) -> None:
    """Raise `SpecError` unless ``value`` is a text with something in it."""
    if not isinstance(value, str):
        hint = f"; write {evaluator}({str(value)!r})" if isinstance(value, int | float) else ""
        raise SpecError(f"{evaluator}: {argument} must be a text in quotes, not {shown(value)}{hint}")
    if not value.strip():
        raise SpecError(f"{evaluator}: {argument} must not be empty")
