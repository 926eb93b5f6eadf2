"""What the evaluators of this package have in common, and their arguments, which are checked."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any, ClassVar, cast

from metaeval.base.errors import SpecError, nearest, shown
from metaeval.base.records import DataOfKind, Kind, ScoreTable
from metaeval.base.spec import Argument, EvaluatorSpec
from metaeval.evaluators.grid import Grid, frame_of


class BaseEvaluator(ABC):
    """An evaluator that is a frozen dataclass: its fields are the arguments of its spec.

    A subclass is decorated with ``@dataclass(frozen=True, repr=False)``, sets ``kind`` as a class variable,
    and says in `grid` what its scores are. A field that `integer`, `flag`, `choice`, `word`, `text`, `texts`
    or `argument` makes is checked.
    """

    called: ClassVar[str] = ""
    """Its name in specs, if it is not that of its class."""
    needs: ClassVar[str] = ""
    """What it needs beside the units, in a few words for a list of evaluators; empty if nothing."""

    def __post_init__(self) -> None:
        """Keep lists as tuples, as a spec has them; raise `SpecError` for an argument that is wrong."""
        name = self.called or type(self).__name__
        for field in dataclasses.fields(cast("Any", self)):
            value = getattr(self, field.name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, field.name, value)
            if "right" in field.metadata and not field.metadata["right"](value):
                raise SpecError(f"{name}: {field.name}{field.metadata['wrong'](value, name)}")

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


def argument(default: object, right: Callable[[Any], bool], wrong: Callable[[Any, str], str]) -> Any:  # noqa: ANN401 - a field, of the type of its annotation
    """Return a field of an evaluator that is checked; it has no default if that is `dataclasses.MISSING`.

    ``wrong`` makes the rest of a sentence on a value that is not ``right``, also of the evaluator's name.
    """
    return dataclasses.field(default=default, metadata={"right": right, "wrong": wrong})


def integer(
    default: object = MISSING, low: int | None = None, high: int | None = None, *, none: bool = False
) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for an integer between ``low`` and ``high``, both included; with ``none``, or None."""
    allowed = "an integer"
    if low is not None:
        allowed += f" of at least {low}" if high is None else f" from {low} to {high}"

    def right(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int):
            return none and value is None
        return (low is None or low <= value) and (high is None or value <= high)

    return argument(default, right, lambda value, _: f" must be {allowed}, not {shown(value)}")


def flag(default: object = False) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for True or False."""
    return argument(
        default,
        lambda value: isinstance(value, bool),
        lambda value, _: f" must be True or False, not {shown(value)}",
    )


def choice(default: object, allowed: Sequence[str]) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for one of some texts, such as the names of tokenizers."""
    listed = ", ".join(map(repr, allowed))
    return argument(
        default,
        lambda value: isinstance(value, str) and value in allowed,
        lambda value, _: f" must be one of {listed}, not {shown(value)}{nearest(str(value), allowed)}",
    )


def word(default: object, known: Sequence[str]) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for one of the words that say how a judge goes about it."""
    return argument(
        default,
        lambda value: value in known,
        lambda value, _: f"={value!r} is not known{nearest(str(value), known)} ({', '.join(known)})",
    )


def text(default: object = MISSING) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for a text with something in it; with the default None, or None."""

    def wrong(value: object, evaluator: str) -> str:
        if isinstance(value, str):
            return " must not be empty"
        hint = f"; write {evaluator}({str(value)!r})" if isinstance(value, int | float) else ""
        return f" must be a text in quotes, not {shown(value)}{hint}"

    return argument(
        default, lambda value: value is default or (isinstance(value, str) and bool(value.strip())), wrong
    )


def texts(example: str) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for a list of texts, such as ``example``; an empty one is the default."""
    return argument(
        (),
        lambda value: isinstance(value, tuple) and all(isinstance(one, str) for one in value),
        lambda value, _: f" is a list such as {example}, not {value!r}",
    )
