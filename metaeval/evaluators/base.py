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
    and says in `grid` what its scores are. A field that ``integer``, ``flag``, ``choice``, ``word``,
    ``text``, ``texts`` or ``argument`` makes is checked.
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
            for right, wrong in field.metadata.get("checks", ()):
                if not right(value):
                    near = nearest(str(value), field.metadata["among"])
                    quoted = f"; write {name}({str(value)!r})" if isinstance(value, int | float) else ""
                    said = wrong.format(value=value, shown=shown(value), near=near, quoted=quoted)
                    raise SpecError(f"{name}: {field.name}{said}")

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


def argument(default: object, *checks: tuple[Callable[[Any], object], str], among: Sequence[str] = ()) -> Any:  # noqa: ANN401 - of the type of its annotation
    """Return a field of an evaluator that is checked; it has no default if that is `dataclasses.MISSING`.

    A check says whether a value is right, and has the rest of a sentence on one that is not: ``value`` and
    ``shown`` in it are the value, ``near`` the nearest word ``among`` some, ``quoted`` how to write a text.
    """
    return dataclasses.field(default=default, metadata={"checks": checks, "among": among})


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

    return argument(default, (right, f" must be {allowed}, not {{shown}}"))


def flag(default: object = False) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for True or False."""
    return argument(default, (lambda given: isinstance(given, bool), " must be True or False, not {shown}"))


def choice(default: object, allowed: Sequence[str]) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for one of some texts, such as the names of tokenizers."""
    listed = f" must be one of {', '.join(map(repr, allowed))}, not {{shown}}{{near}}"
    return argument(
        default, (lambda given: isinstance(given, str) and given in allowed, listed), among=allowed
    )


def word(default: object, known: Sequence[str]) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for one of the words that say how a judge goes about it."""
    listed = f"={{value!r}} is not known{{near}} ({', '.join(known)})"
    return argument(default, (lambda given: given in known, listed), among=known)


def text(default: object = MISSING) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for a text with something in it; with the default None, or None."""
    return argument(
        default,
        (
            lambda given: given is default or isinstance(given, str),
            " must be a text in quotes, not {shown}{quoted}",
        ),
        (lambda given: given is default or given.strip(), " must not be empty"),
    )


def texts(example: str) -> Any:  # noqa: ANN401 - as `argument`
    """Return a field for a list of texts, such as ``example``; an empty one is the default."""

    def right(given: object) -> bool:
        return isinstance(given, tuple) and all(isinstance(one, str) for one in given)

    return argument((), (right, f" is a list such as {example}, not {{value!r}}"))
