"""Files and options → validated pydantic models; each error is one sentence, with its line if it has one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails

from metaeval.base.errors import DataError, MetaevalError, Problem, exact, nearest, shown
from metaeval.base.yaml_lines import YamlError, read_yaml

Location = tuple[str | int, ...]


class Strict(BaseModel):
    """A model that refuses unknown keys and silent conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Options(Strict):
    """Options that a file or Python gives; a subclass is their only declaration.

    The description of a field says what it may be: "give …".

    Raises `MetaevalError` if Python gives what is not allowed. Whoever validates a file passes a ``context``
    and gets the `ValidationError`, which says where in the file it stands.
    """

    called: ClassVar[str] = ""
    """What a sentence puts before the name of an option, such as ``bootstrap``."""

    @model_validator(mode="wrap")
    @classmethod
    def _for_python(
        cls, given: object, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        try:
            return handler(given if info.context is not None else _plain(given))
        except ValidationError as error:
            if info.context is not None:
                raise
            errors = error.errors(include_url=False)
            # A wrong name goes first: what is missing was often meant by it.
            first = min(errors, key=lambda one: one["type"] != "extra_forbidden")
            raise MetaevalError(_of_argument(first, cls)) from error


def _line(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError(f"{value!r} is not a line of text; write one line that is not empty")
    return value


Line = Annotated[str, AfterValidator(_line), Field(description="one line of text that is not empty")]


def _filled(value: str, info: ValidationInfo) -> str:
    if not value.strip():
        raise ValueError(f"{info.field_name} is empty")
    return value.strip()


Filled = Annotated[str, AfterValidator(_filled)]
"""Text, without the blanks around it."""
Finite = Annotated[float, Field(strict=False, allow_inf_nan=False)]


class ScaleEnds(Strict):
    """The two ends of a scale."""

    min: Finite
    max: Finite

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.min >= self.max:
            raise ValueError(f"min ({exact(self.min)}) must be below max ({exact(self.max)})")
        return self


Count = Annotated[int, Field(gt=0, le=10_000_000, description="a whole number, 1 or more")]
Seed = Annotated[int, Field(ge=0, description="a whole number, 0 or more")]
Share = Annotated[float, Field(gt=0, lt=1, description="a number between 0 and 1")]
ByKey = Annotated[str | None, Field(description="what a key names, such as user, or unit")]
Switch = Annotated[bool, Field(description="true or false")]


def not_allowed(name: str, given: object, known: Sequence[str]) -> str:
    """Return the sentence for an argument that is none of the known words."""
    return f"{name}: {shown(given)} is not allowed (allowed: {', '.join(known)}){nearest(str(given), known)}"


def words(annotation: object) -> list[str]:
    """Return the words of a ``Literal``, also where it is a part of a union."""
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    return [word for part in get_args(annotation) for word in words(part)]


def _plain(options: object) -> object:
    """Return options with Python's own numbers for those of NumPy."""
    if not isinstance(options, dict):
        return options
    return {k: v.item() if getattr(v, "shape", None) == () else v for k, v in options.items()}


def _of_argument(error: ErrorDetails, model: type[Options]) -> str:
    """Return the sentence for an option that Python gave."""
    value = error["input"]
    if not error["loc"]:
        return f"{model.called or 'options'} must be a mapping, not {shown(value)}"
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        return not_allowed(model.called or "options", name, list(model.model_fields))
    field, option = model.model_fields[name], f"{model.called} {name}".strip()
    if error["type"] == "literal_error":
        return not_allowed(option, value, words(field.annotation))
    return f"{option} is {None if error['type'] == 'missing' else shown(value)}; give {field.description}"


Model = TypeVar("Model", bound=BaseModel)


def read_model(path: Path, model: type[Model]) -> tuple[Model | None, list[Problem]]:
    """Read a file as a model; return it and no problem, or None and every problem, each with its line."""
    try:
        content, lines = read_yaml(path)
    except YamlError as error:
        at = "" if error.line is None else f"line {error.line}: "
        return None, [Problem(path.name, None, None, at + error.message)]
    if not isinstance(content, dict):
        return None, [Problem(path.name, None, None, "must hold keys and values, such as `name: my study`")]
    try:
        return model.model_validate(content, context=lines), []
    except ValidationError as error:
        wrong = [(lines.line(*where), text) for where, text in sentences(error, content, model)]
        texts = [f"line {line}: {text}" if line else text for line, text in wrong]
        return None, [Problem(path.name, None, None, text) for text in texts]


def model_of(content: Mapping[str, Any], model: type[Model], said: str = "") -> Model:
    """Return values in memory as a model, or raise `DataError` with what is wrong first, after ``said``."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        _, text = sentences(error, content, model)[0]
        raise DataError(said + text) from error


def sentences(
    error: ValidationError, content: object, model: type[BaseModel], *, whole: bool = False
) -> list[tuple[Location, str]]:
    """Return the way to each value that is wrong, and what is wrong with it.

    ``whole`` says that what the validators of single values raise are whole sentences; the name of the key
    goes before them, if not.
    """
    texts: dict[tuple[Location, str], str] = {}
    types: dict[Location, list[str]] = {}
    for one in error.errors(include_url=False):
        context = one.get("ctx", {})
        where = _known(content, (*one["loc"], *([context["at"]] if "at" in context else [])))
        if one["type"] in _TYPES:
            # Each arm of a union has an error of its own.
            types.setdefault(where, []).append(_TYPES[one["type"]])
            wanted = " or ".join(w for w in types[where] if w != _WHOLE or _NUMBER not in types[where])
            quote = "; put it in quotes" * (wanted == _TYPES["string_type"] and one["input"] is not None)
            what = f"a key of {_key(where[:-1])}" if one["loc"][-1:] == ("[key]",) else _key(where)
            texts[where, ""] = f"{what} must be {wanted}, not {shown(one['input'])}{quote}"
        else:
            text = _sentence(one, where, model, whole=whole)
            texts[where, text] = text
    return [(where, text) for (where, _), text in texts.items()]


_WHOLE, _NUMBER, _MAPPING = "a whole number", "a number", "a mapping from keys to values"
_TYPES = {
    "string_type": "text",
    "int_type": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "list_type": "a list",
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
}


def _key(where: Location) -> str:
    return ".".join(map(str, where))


def _sentence(error: ErrorDetails, where: Location, model: type[BaseModel], *, whole: bool) -> str:
    name, key, value = "".join(map(str, error["loc"][-1:])), _key(where), error["input"]
    match error["type"]:
        case "extra_forbidden":
            known = fields_at(model, error["loc"][:-1])
            hint = nearest(name, known) or f" (known keys: {', '.join(known)})"
            return f"unknown key {name!r}{hint}"
        case "missing":
            return f"the key {name!r} is missing" + (f" under {key!r}" if key else "")
        case "literal_error":
            known = [w.strip("'") for w in error["ctx"]["expected"].replace(" or ", ", ").split(", ")]
            hint, have = nearest(str(value), known), ", ".join(known)
            return f"{key}: {shown(value)} is not allowed{hint} (allowed: {have})"
        case "value_error" | "sentence":
            text = str(error["ctx"]["error"])
            apart = whole and not isinstance(value, dict)
            return text if apart or text.startswith(key) else f"{key}: {text}"
    text = error["msg"].replace("Input should", "it must")
    return f"{key}: {shown(value)}: {text[0].lower()}{text[1:]}"


def _known(content: Any, location: Location) -> Location:  # noqa: ANN401 - any YAML value
    """Return the parts of ``location`` that the file has; the arm of a union is known to pydantic alone."""
    path: list[str | int] = []
    for part in location:
        mapped = isinstance(content, dict) and part in content
        if mapped or (isinstance(content, list) and isinstance(part, int) and part < len(content)):
            content = content[part]
            path.append(part)
    return tuple(path)


def fields_at(model: type[BaseModel], location: Location) -> list[str]:
    """Return the keys that a model has at a place."""
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _model_in(a))), None)
