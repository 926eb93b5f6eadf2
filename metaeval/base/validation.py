"""Files and options → validated pydantic models; each error is one sentence, with its line if it has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

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

from metaeval.base.errors import MetaevalError, Problem, nearest
from metaeval.base.yaml_lines import Lines, YamlError, read_yaml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic_core import ErrorDetails

Location = tuple[str | int, ...]


class Strict(BaseModel):
    """A model that refuses unknown keys and silent conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Options(Strict):
    """Options that a file or Python gives; a subclass is their only declaration.

    The description of a field says what it may be: "give …".

    Raises
    ------
    MetaevalError
        If Python gives what is not allowed. Whoever validates a file passes a ``context`` and gets the
        `ValidationError`, which says where in the file it stands.
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
            found = error.errors(include_url=False)
            # A wrong name goes first: what is missing was often meant by it.
            first = min(found, key=lambda one: one["type"] != "extra_forbidden")
            raise MetaevalError(_of_argument(first, cls)) from error


def _line(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError(f"{value!r} is not a line of text; write one line that is not empty")
    return value


Line = Annotated[str, AfterValidator(_line), Field(description="one line of text that is not empty")]
Clustered = Annotated[str, Field(description="what a key of the data names, such as 'user', or 'unit'")]
Count = Annotated[int, Field(gt=0, le=10_000_000, description="a whole number, 1 or more")]
Seed = Annotated[int, Field(ge=0, description="a whole number, 0 or more")]
Share = Annotated[float, Field(gt=0, lt=1, description="a number between 0 and 1")]
Switch = Annotated[bool, Field(description="true or false")]


def not_allowed(name: str, given: object, known: Sequence[str]) -> str:
    """Return the sentence for an argument that is none of the known words."""
    return f"{name}: {given!r} is not allowed (allowed: {', '.join(known)}){nearest(str(given), known)}"


def words(annotation: object) -> list[str]:
    """Return the words of a ``Literal``, also where it is a part of a union."""
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    return [word for part in get_args(annotation) for word in words(part)]


def _plain(given: object) -> object:
    """Return options with Python's own numbers for those of NumPy."""
    if not isinstance(given, dict):
        return given
    return {k: v.item() if getattr(v, "shape", None) == () else v for k, v in given.items()}


def _of_argument(error: ErrorDetails, model: type[Options]) -> str:
    """Return the sentence for an option that Python gave."""
    name, given = str(error["loc"][0]), error["input"]
    if error["type"] == "extra_forbidden":
        return not_allowed(model.called or "options", name, list(model.model_fields))
    field, said = model.model_fields[name], f"{model.called} {name}".strip()
    if error["type"] == "literal_error":
        return not_allowed(said, given, words(field.annotation))
    return f"{said} is {None if error['type'] == 'missing' else given!r}; give {field.description}"


Model = TypeVar("Model", bound=BaseModel)


def read_model(path: Path, model: type[Model]) -> tuple[Model | None, list[Problem]]:
    """Read ``path`` as ``model``.

    Returns
    -------
    tuple
        The model and no problem, or None and every problem found, each with its line.
    """
    try:
        content, lines = read_yaml(path)
    except YamlError as error:
        at = "" if error.line is None else f"line {error.line}: "
        return None, [Problem(path.name, None, None, at + error.message)]
    if not isinstance(content, dict):
        return None, [Problem(path.name, None, None, "must hold keys and values, such as `name: my study`")]
    try:
        return model.model_validate(content), []
    except ValidationError as error:
        found = error.errors(include_url=False)
        return None, [
            Problem(path.name, None, None, _sentence(dict(e), content, lines, model)) for e in found
        ]


def _sentence(error: dict[str, Any], content: object, lines: Lines, model: type[BaseModel]) -> str:
    location: Location = error["loc"]
    path = _known(content, location)
    line = lines.line(*path)
    at = f"line {line}: " if line else ""
    where = ".".join(map(str, path))
    if error["type"] == "extra_forbidden":
        known = fields_at(model, location[:-1])
        allowed = ", ".join(sorted(known))
        return f"{at}unknown key {str(location[-1])!r}{nearest(str(location[-1]), known)}; allowed: {allowed}"
    if error["type"] == "missing":
        return f"{at}the key {str(location[-1])!r} is missing" + (f" under {where!r}" if where else "")
    if error["type"] == "value_error":
        return f"{at}{where}{': ' if where else ''}{error['ctx']['error']}"
    message = error["msg"][0].lower() + error["msg"][1:]
    quote = " (put it in quotes)" if error["type"] == "string_type" else ""
    return f"{at}{where} is {error['input']!r}: {message}{quote}"


def _known(content: Any, location: Location) -> list[str | int]:  # noqa: ANN401 - any YAML value
    """Return the parts of ``location`` that the file has; the arm of a union is known to pydantic alone."""
    path: list[str | int] = []
    for part in location:
        mapped = isinstance(content, dict) and part in content
        if mapped or (isinstance(content, list) and isinstance(part, int) and part < len(content)):
            content = content[part]
            path.append(part)
    return path


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
