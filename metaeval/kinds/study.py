"""What a study file may say: its keys, their values, and the sentence for everything else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from metaeval.base.errors import MetaevalError, SpecError, StudyError, shown, unknown
from metaeval.base.keys import DATASET
from metaeval.base.records import AVERAGE, COEFFICIENTS, DataOfKind, Evaluator
from metaeval.base.spec import EvaluatorSpec
from metaeval.base.validation import Line, Strict, sentences
from metaeval.base.yaml_lines import Lines, YamlError, read_yaml
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.board import Cell
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.paired_tests import Tests
from metaeval.judging.models import Models
from metaeval.judging.settings import JudgingOptions
from metaeval.kinds.functions import function_named, is_function, with_files
from metaeval.kinds.kind import kind_named
from metaeval.kinds.registry import ShortNames

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


def taken(content: Mapping[str, Any]) -> tuple[dict[str, Any], Held]:
    """Return the keys of a study with text in place of objects, and the objects.

    `MetaevalError` is raised if a data set cannot be made of what is given, or two evaluators have one spec.
    """
    content, data = dict(content), None
    given = content.get("dataset")
    if isinstance(given, os.PathLike):
        content["dataset"] = os.fspath(given)
    elif hasattr(given, "units") or hasattr(given, "columns") or hasattr(given, "column_names"):
        from metaeval.kinds.files.loading import load

        data = load(given)
        kind = content.setdefault("kind", getattr(data, "kind", "explanations"))
        if kind != getattr(data, "kind", kind):
            raise StudyError(f"study: kind is {kind!r}, and the data set is one of {data.kind}; leave it out")
        content["dataset"] = IN_MEMORY
    found: dict[str, Evaluator] = {}

    def text(name: str | None, one: Any) -> Any:  # noqa: ANN401 - what is no evaluator is said by the study
        evaluator = function_named(name, one) if is_function(one) else one
        if not hasattr(evaluator, "spec"):
            return evaluator
        spec = str(evaluator.spec)
        if found.setdefault(spec, evaluator) is not evaluator:
            raise MetaevalError(f"two evaluators with the spec {spec} are given; specs must differ")
        return spec

    match content.get("evaluators"):
        case Mapping() as named:
            content["evaluators"] = {name: text(name, one) for name, one in named.items()}
        case list() | tuple() as listed:
            content["evaluators"] = [text(None, one) for one in listed]
    return content, Held(data, found)


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
    truth: Line
    aspects: Annotated[list[Line], AfterValidator(distinct)] | None = None
    models: Models = Field(default_factory=dict)
    evaluators: Annotated[list[str] | dict[str, str], BeforeValidator(_check_evaluators)]
    bootstrap: Bootstrap | None = Bootstrap()
    tests: Tests | None = Tests()
    details: bool = True
    judging: JudgingOptions = Field(default_factory=JudgingOptions)
    _lines: Lines = PrivateAttr(default_factory=Lines)
    _held: Held = PrivateAttr(default_factory=Held)

    @property
    def policy(self) -> Policy:
        """How missing scores and undefined groups are treated in details: as nowhere else is said."""
        return Policy.of([DATASET], COEFFICIENTS[:1], None, "skip", "common")

    @property
    def by(self) -> Cell | None:
        """The cell that orders the leaderboard, of a study that is resolved; None for the first one."""
        return None

    @property
    def specs(self) -> dict[str, str]:
        """Name of each evaluator → its spec, of a study that is resolved."""
        given = self.evaluators
        return given if isinstance(given, dict) else {spec: spec for spec in given}

    @property
    def held(self) -> Held:
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
        return StudyError(_located(self._lines, message, *where))

    @property
    def file(self) -> str:
        """The study file, as it was named; empty if the study was not read from one."""
        return self._lines.file

    @property
    def folder(self) -> Path | None:
        """The folder of the study file, if the study was read from one."""
        return Path(self._lines.file).parent if self._lines.file else None


def read_study(path: str | os.PathLike[str]) -> Study:
    """Read a study file; its name is the file's, if it has no ``name``.

    `StudyError` is raised with file, line and the nearest right word.
    """
    try:
        content, lines = read_yaml(path)
    except YamlError as error:
        raise StudyError(str(error)) from error
    if not isinstance(content, dict):
        what = "is empty" if content is None else "is not a mapping"
        raise StudyError(f"{path} {what}; a study file has keys such as dataset and evaluators")
    if "name" not in content:
        stem = "".join(c if c.isalnum() or c in "._-" else "-" for c in Path(path).stem).lstrip(".")
        content = {**content, "name": stem or "study"}
    try:
        content = with_files(content, Path(path).parent)
    except SpecError as error:
        raise StudyError(_located(lines, str(error), "evaluators")) from error
    return make_study(content, lines)


def make_study(content: Mapping[str, Any], lines: Lines | None = None) -> Study:
    """Make a study from the keys of a study file; its data set and evaluators may be objects.

    `StudyError` is raised if a key is unknown or missing, or a value is not allowed.
    """
    lines = lines or Lines()
    content, held = taken(content)
    try:
        model = kind_named(content.get("kind")).study
    except MetaevalError as error:
        raise StudyError(_located(lines, str(error), "kind")) from error
    try:
        study = model.model_validate(dict(content), context=lines)
    except ValidationError as error:
        found = sentences(error, content, model, whole=True)
        raise StudyError(*(_located(lines, text, *where) for where, text in found)) from error
    study._lines, study._held = lines, held
    for aspect in study.aspects or []:
        if aspect == AVERAGE:
            raise study.error(f"no aspect may be called {AVERAGE!r}, the name of their mean", "aspects")
    return study


def _located(lines: Lines, message: str, *where: str | int) -> str:
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


def variants_of(study: Study, ablations: Sequence[Ablation]) -> Iterator[tuple[str, str]]:
    """Yield name and spec of every variant that the ablations add."""
    names = ShortNames(study.specs)
    for at, ablation in enumerate(ablations):
        if ablation.base not in study.specs:
            sentence = unknown("there is no evaluator", ablation.base, study.specs, "there are")
            raise study.error(sentence, "ablations", at, "base")
        try:
            for variant in ablation.variants(names[ablation.base]):
                yield from variant.specs.items()
        except SpecError as error:
            raise study.error(str(error), "ablations", at) from error


def _said(value: object) -> str:
    if isinstance(value, list | tuple):
        return " + ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
