"""What a study file may say: its keys, their values, and the sentence for everything else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from metaeval.base.errors import StudyError, nearest
from metaeval.base.records import AVERAGE, COEFFICIENTS, LEVELS
from metaeval.base.yaml_lines import Lines, YamlError, read_yaml
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.llm.calls.limits import MOST

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from pydantic_core import ErrorDetails


def one_of(what: str, word: str, known: Sequence[str]) -> str:
    """Return ``word`` if it is known.

    Raises
    ------
    ValueError
        With the nearest known word, and all of them.
    """
    if word not in known:
        raise ValueError(f"unknown {what} {word!r}{nearest(word, known)} (allowed: {', '.join(known)})")
    return word


def _distinct(values: list[str], info: ValidationInfo) -> list[str]:
    if not values:
        raise ValueError(f"{info.field_name} is empty; name at least one, or leave the key out")
    twice = sorted({v for v in values if values.count(v) > 1})
    if twice:
        raise ValueError(f"{twice[0]!r} stands twice in {info.field_name}; name it once")
    return values


def _level(value: str) -> str:
    return one_of("level", value, LEVELS)


def _coefficient(value: str) -> str:
    return one_of("coefficient", value, COEFFICIENTS)


def _key_column(value: str) -> str:
    return one_of("column", value, KEYS)


def _fill(value: object) -> object:
    if value == "drop" or (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    ):
        return value
    raise ValueError(f"{value!r} is not a number or drop, which are what can be done with a missing value")


def _text(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError(f"{value!r} is not a line of text; write one line that is not empty")
    return value


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
            raise ValueError(f"evaluators must be a list of specs, or names with a spec each, not {value!r}")
    if not items:
        raise ValueError("evaluators is empty; name at least one, such as BLEU(n=4)")
    for at, text in items:
        if not isinstance(at, str | int) or not isinstance(text, str):
            given = at if not isinstance(at, str | int) else text
            problem = f'{given!r} is not text; write a spec such as "BLEU(n=4)" in quotes'
            raise PydanticCustomError("evaluator", "{text}", {"text": problem, "at": at})
        if isinstance(at, str) and (not at.strip() or not at.isprintable()):
            problem = f"{at!r} cannot name an evaluator; write one line that is not empty"
            raise PydanticCustomError("evaluator", "{text}", {"text": problem, "at": at})
        if isinstance(at, int) and text in [t for _, t in items[:at]]:
            problem = f"{text!r} stands twice in evaluators; name it once"
            raise PydanticCustomError("evaluator", "{text}", {"text": problem, "at": at})
    return value


Name = Annotated[str, AfterValidator(_text)]
Seconds = Annotated[int | float, Field(gt=0, le=86_400)]
Fill = Annotated[int | float | Literal["drop"], BeforeValidator(_fill)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Missing(_Part):
    """What is done with a rating or a score that is not there: a value in its place, or ``drop``."""

    truth: Fill = "drop"
    score: Fill = "drop"


class BootstrapOptions(_Part):
    """How intervals are made: clusters of units, drawn with replacement."""

    resamples: Annotated[int, Field(gt=0, le=10_000_000)] = 10_000
    cluster: Literal["user", "item", "generator", "unit"] | None = None
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    method: Literal["percentile", "bca"] = "percentile"
    expand: bool = True
    seed: Annotated[int, Field(ge=0)] = 0


class TestOptions(_Part):
    """How evaluators are tested against each other: swapped scores, corrected p-values."""

    permutations: Annotated[int, Field(gt=0, le=10_000_000)] = 10_000
    swap: Literal["user", "item", "generator", "unit"] | None = None
    correction: Literal["holm", "bh", "none"] = "holm"
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    seed: Annotated[int, Field(ge=0)] = 0


class OrderBy(_Part):
    """The column that orders the leaderboard and is tested; the average at the first level, if left out."""

    aspect: Name | None = None
    level: Annotated[str, AfterValidator(_level)] | None = None
    coefficient: Annotated[str, AfterValidator(_coefficient)] | None = None


class PriceOption(_Part):
    """What a model costs, in USD for a million tokens."""

    input: Annotated[int | float, Field(ge=0)]
    output: Annotated[int | float, Field(ge=0)]
    cached: Annotated[int | float, Field(ge=0)] | None = None


class JudgingOptions(_Part):
    """How the judges of a study ask their models; what is left out is as for every run."""

    store: Name | None = None
    concurrency: Annotated[int, Field(gt=0, le=10_000)] | None = None
    requests_per_minute: Annotated[int | float, Field(gt=0)] | None = None
    tokens_per_minute: Annotated[int | float, Field(gt=0)] | None = None
    max_usd: Annotated[int | float, Field(ge=0, le=MOST)] | None = None
    max_calls: Annotated[int, Field(ge=0, le=MOST)] | None = None
    connect_seconds: Seconds | None = None
    reply_seconds: Seconds | None = None
    call_seconds: Seconds | None = None
    patience_seconds: Seconds | None = None
    retries: Annotated[int, Field(ge=0, le=100)] | None = None
    prices: dict[str, PriceOption] = Field(default_factory=dict)


class Study(_Part):
    """A study: which evaluators are compared with which truth, on which data, how.

    Read one with `read_study`; `make_study` makes one from a mapping.
    """

    kind: Literal["explanations"] = "explanations"
    name: Annotated[str, AfterValidator(_file_name)] = "study"
    title: Name | None = None
    dataset: Name
    exclude: dict[Annotated[str, AfterValidator(_key_column)], list[str]] = Field(default_factory=dict)
    truth: Name = "User()"
    aspects: Annotated[list[Name], AfterValidator(_distinct)] | None = None
    evaluators: Annotated[list[str] | dict[str, str], BeforeValidator(_check_evaluators)]
    levels: Annotated[list[Annotated[str, AfterValidator(_level)]], AfterValidator(_distinct)] | None = None
    coefficients: Annotated[list[Annotated[str, AfterValidator(_coefficient)]], AfterValidator(_distinct)] = (
        Field(default_factory=lambda: list(COEFFICIENTS))
    )
    missing: Missing = Missing()
    undefined_groups: Literal["skip", "zero"] = "skip"
    units: Literal["common", "own"] = "common"
    order_by: OrderBy = OrderBy()
    bootstrap: BootstrapOptions | None = BootstrapOptions()
    tests: TestOptions | None = TestOptions()
    details: bool = True
    judging: JudgingOptions = JudgingOptions()
    _lines: Lines = PrivateAttr(default_factory=Lines)

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

    Raises
    ------
    StudyError
        With file, line and the nearest right word.
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
    return make_study(content, lines)


def make_study(content: Mapping[str, Any], lines: Lines | None = None) -> Study:
    """Make a study from the keys of a study file.

    Raises
    ------
    StudyError
        If a key is unknown or missing, or a value is not allowed.
    """
    lines = lines or Lines()
    try:
        study = Study.model_validate(dict(content))
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise StudyError(*dict.fromkeys(_problem(one, lines) for one in found)) from error
    study._lines = lines
    for aspect in study.aspects or []:
        if aspect == AVERAGE:
            raise study.error(f"no aspect may be called {AVERAGE!r}, the name of their mean", "aspects")
    return study


_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "dict_type": "a mapping from keys to values",
    "model_type": "a mapping from keys to values",
    "model_attributes_type": "a mapping from keys to values",
}


def _problem(error: ErrorDetails, lines: Lines) -> str:
    # The tags of unions are not part of the way through the file.
    where = tuple(p for p in error["loc"] if not str(p).startswith(("list[", "dict[", "[key]", "function-")))
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    key = ".".join(str(p) for p in where if isinstance(p, str))
    if kind == "extra_forbidden":
        parts: dict[str, type[BaseModel]] = {
            "missing": Missing,
            "bootstrap": BootstrapOptions,
            "tests": TestOptions,
            "order_by": OrderBy,
            "judging": JudgingOptions,
        }
        known = list((parts.get(str(where[0]), Study) if len(where) > 1 else Study).model_fields)
        hint = nearest(str(where[-1]), known)
        hint = hint or f" (known keys: {', '.join(known)})"
        text = f"unknown key {where[-1]!r}{hint}"
    elif kind == "missing":
        text = f"the key {where[-1]!r} is missing; a study needs it"
    elif kind == "literal_error":
        allowed = [w.strip("'") for w in str(context["expected"]).replace(" or ", ", ").split(", ")]
        hint = nearest(str(given), allowed)
        text = f"{key}: {given!r} is not allowed{hint} (allowed: {', '.join(allowed)})"
    elif kind == "evaluator":
        text, where = str(context["text"]), (*where, context["at"])
    elif kind == "value_error":
        text = str(context["error"])
    elif kind in _WANTED:
        text = f"{key} must be {_WANTED[kind]}, not {given!r}"
    else:
        text = f"{key}: {given!r}: {error['msg'].replace('Input should', 'it must')}"
    return _located(lines, text, *where)


def _located(lines: Lines, message: str, *where: str | int) -> str:
    """Return a message that begins with file and line, which a study that is not from a file has not."""
    return str(YamlError(lines.file, message, lines.line(*where))) if lines.file else f"study: {message}"
