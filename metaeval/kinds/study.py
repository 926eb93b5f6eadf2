"""What a study file may say: its keys, their values, and the sentence for everything else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from metaeval.base.errors import MetaevalError, StudyError, shown, unknown
from metaeval.base.keys import DATASET
from metaeval.base.records import COEFFICIENTS, DataOfKind, Evaluator
from metaeval.base.spec import EvaluatorSpec
from metaeval.base.validation import Line, Share, Strict
from metaeval.base.yaml_lines import Lines, YamlError
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.board import Cell
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.order.paired_tests import Tests
from metaeval.judging.models import Models
from metaeval.judging.settings import JudgingOptions

IN_MEMORY = "(in memory)"
"""What stands for the path of a data set that was given as an object."""


@dataclass(frozen=True, slots=True)
class Held:
    """The objects of a study."""

    data: DataOfKind | None = None
    """Its data set; None if the study names a folder or a place on the hub."""
    evaluators: Mapping[str, Evaluator] = field(default_factory=dict)
    """Spec → the evaluator that was given as an object."""
    place: str = ""
    """Where the data set that the study names was found."""


Interval: TypeAlias = Literal["clusters", "total"]
"""What members of families have on the leaderboard: the interval over clusters alone, or the total one."""


def distinct(values: list[str], info: ValidationInfo) -> list[str]:
    """Return one or more values without repetition; raise `ValueError` if that is not so."""
    if not values:
        raise ValueError(f"{info.field_name} is empty; name at least one, or leave the key out")
    twice = sorted({v for v in values if values.count(v) > 1})
    if twice:
        raise ValueError(f"{twice[0]!r} is twice in {info.field_name}; name it once")
    return values


def _file_name(value: str) -> str:
    if not value or value.startswith(".") or not all(c.isalnum() or c in "._-" for c in value):
        raise ValueError(f"{value!r} cannot name a folder; use letters, digits, '-', '_' and '.'")
    return value


def _check_evaluators(value: object) -> object:
    """See that evaluators are a list of specs, or a mapping from names to specs; all of them can be read."""
    match value:
        case list():
            items: list[tuple[str | int, object]] = list(enumerate(value))
        case dict():
            items = list(value.items())
        case _:
            raise ValueError(
                f"evaluators must be a list of specs, or names with a spec each, not {shown(value)}"
            )
    if not items:
        raise ValueError("evaluators is empty; name at least one, such as BLEU(n=4)")
    for at, text in items:
        if not isinstance(at, str | int) or not isinstance(text, str):
            given = at if not isinstance(at, str | int) else text
            problem = f'{shown(given)} is not text; write a spec such as "BLEU(n=4)" in quotes'
        elif isinstance(at, str) and (not at.strip() or not at.isprintable()):
            problem = f"{at!r} cannot name an evaluator; write one line that is not empty"
        elif isinstance(at, int) and text in [t for _, t in items[:at]]:
            problem = f"{text!r} is twice in evaluators; name it once"
        else:
            continue
        raise PydanticCustomError("sentence", "{error}", {"error": problem, "at": at})
    return value


_PRICE = re.compile(r"(\d+(?:\.\d+)?) per unit")


def _price(value: str) -> str:
    if not _PRICE.fullmatch(value):
        raise ValueError(f"{value!r} is no price; write USD per unit, on all aspects, such as 0.111 per unit")
    return value


def _check_sealed(value: object) -> object:
    """See that what is sealed is a share, or a column with its values."""
    share = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1
    if share or value is None or (isinstance(value, dict) and len(value) == 1):
        return value
    raise ValueError(
        f"sealed is the share of clusters to keep apart, above 0 and below 1, or one column with its values, "
        f"such as {{split: [test]}}, not {shown(value)}"
    )


class Study(Strict):
    """What the study file of every kind may say; a kind adds what is its own.

    Read one with `read_study`; `make_study` makes one from a mapping.
    """

    model_config = ConfigDict(hide_input_in_errors=True)  # a model may hold a secret by mistake

    kind: str = "explanations"
    name: Annotated[str, AfterValidator(_file_name)] = "study"
    title: Line | None = None
    dataset: Line
    exclude: dict[str, list[str]] = Field(default_factory=dict)
    sealed: Annotated[
        Share | dict[Line, Annotated[list[Line], AfterValidator(distinct)]] | None,
        BeforeValidator(_check_sealed),
    ] = None
    """The share of the clusters that are kept apart for a test of the one that is chosen, or a column of the
    data set with the values that name them."""
    truth: Line
    aspects: Annotated[list[Line], AfterValidator(distinct)] | None = None
    models: Models = Field(default_factory=dict)
    evaluators: Annotated[list[str] | dict[str, str], BeforeValidator(_check_evaluators)]
    family: dict[Line, Annotated[list[Line], AfterValidator(distinct)]] = Field(default_factory=dict)
    interval: Interval = "clusters"
    bootstrap: Bootstrap | None = Bootstrap()
    tests: Tests | None = Tests()
    details: bool = True
    judging: JudgingOptions = Field(default_factory=JudgingOptions)
    costs: dict[Line, Annotated[str, AfterValidator(_price)]] = Field(default_factory=dict)
    """Evaluator that asks no model, such as a person → its price: ``0.111 per unit``, in USD."""
    _lines: Lines = PrivateAttr(default_factory=Lines)
    _held: Held = PrivateAttr(default_factory=Held)

    @property
    def policy(self) -> Policy:
        """How missing scores and undefined groups are treated in details: as nowhere else is said."""
        return Policy.of([DATASET], COEFFICIENTS[:1], None, "skip", "common")

    @property
    def ordered_by(self) -> Cell | None:
        """The cell that orders the leaderboard, of a study that is resolved; None for the first one."""
        return None

    @property
    def specs(self) -> dict[str, str]:
        """Name of each evaluator → its spec, of a study that is resolved."""
        given = self.evaluators
        return given if isinstance(given, dict) else {spec: spec for spec in given}

    def prices(self, evaluators: Mapping[str, Evaluator], data: DataOfKind) -> dict[str, float]:
        """Return the price in USD per unit of evaluators that have one; `StudyError` for a strange name."""
        found = {}
        for given, price in self.costs.items():
            named = [name for name, e in evaluators.items() if given in {name, str(e.spec)}]
            if not named:
                raise self.error(
                    unknown("there is no evaluator", given, evaluators, "there are"), "costs", given
                )
            if "model" in evaluators[named[0]].signature(data):
                message = (
                    f"{given} asks a model, whose replies say what it costs; its prices stand under models"
                )
                raise self.error(message, "costs", given)
            found[named[0]] = float(price.split()[0])
        return found

    @property
    def from_memory(self) -> Held:
        """What it was given from memory."""
        return self._held

    @property
    def place(self) -> str:
        """Where its data set lies, as seen from here."""
        return self._held.place or self.dataset

    def found_at(self, place: str | os.PathLike[str]) -> Self:
        """Return the study with the place where its data set was found."""
        found = self.model_copy()
        found._held = replace(self._held, place=str(place))
        return found

    @property
    def facts(self) -> dict[str, str]:
        """What a dry run says of the study beside its data, evaluators and aspects: a word → its value."""
        return {}

    def error(self, message: str, *where: str | int) -> StudyError:
        """Return an error that says where in the study file the value at ``where`` stands."""
        return StudyError(located(self._lines, message, *where))

    @contextmanager
    def errors_at(self, *where: str | int) -> Iterator[None]:
        """Have errors of what is done within say where in the study file the value at ``where`` stands."""
        try:
            yield
        except MetaevalError as error:
            raise self.error(str(error), *where) from error

    @property
    def file(self) -> str:
        """The study file, as it was named; empty if the study was not read from one."""
        return self._lines.file

    @property
    def folder(self) -> Path | None:
        """The folder of the study file, if the study was read from one."""
        return Path(self._lines.file).parent if self._lines.file else None


def located(lines: Lines, message: str, *where: str | int) -> str:
    """Return a message that begins with file and line, which a study that is not from a file has not."""
    return str(YamlError(lines.file, message, lines.line(*where))) if lines.file else f"study: {message}"


def unknown_word(what: str, word: str, known: Sequence[str]) -> str:
    """Return the sentence for a word that the data set does not know."""
    return unknown(f"the data set has no {what}", word, known)


class Ablation(Strict):
    """What is changed of a judge, and how often each variant is asked."""

    base: Line
    """The name of the judge among the evaluators."""
    vary: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    """Argument → the values that it takes in turn; all others stay as they are."""
    repeats: Annotated[int, Field(ge=1, description="1 or more")] = 1
    """How often each variant is asked; a repeat has replies of its own (the argument ``replicate``)."""

    def variants(self, spec: EvaluatorSpec) -> Iterator[Variant]:
        """Yield the judge itself, and then each variant of its spec.

        Raises `SpecError` if a value cannot stand in a spec.
        """
        yield Variant("", "", self._repeated(self.base, spec, {}))
        for argument, values in self.vary.items():
            for value in values:
                name = f"{self.base}, {argument} {_said(value)}"
                yield Variant(argument, _said(value), self._repeated(name, spec, {argument: value}))

    def _repeated(self, name: str, spec: EvaluatorSpec, changed: Mapping[str, Any]) -> dict[str, str]:
        found = {}
        for n in range(self.repeats):
            repeat = {"replicate": n} if n else {}
            of_repeat = EvaluatorSpec(spec.name, spec.args, {**spec.kwargs, **changed, **repeat})
            found[f"{name}, repeat {n + 1}" if n else name] = str(of_repeat)
        return found


@dataclass(frozen=True, slots=True)
class Variant:
    """A judge with one argument changed, or none."""

    argument: str
    value: str
    specs: Mapping[str, str]
    """Name of each repeat → its spec."""


def _said(value: object) -> str:
    if isinstance(value, list | tuple):
        return " + ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
