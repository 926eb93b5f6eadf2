"""A YAML file → a validated pydantic model; each error is one sentence with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from metaeval.base.errors import Problem, nearest
from metaeval.base.yaml_lines import Lines, YamlError, read_yaml

if TYPE_CHECKING:
    from pathlib import Path

Location = tuple[str | int, ...]


class Strict(BaseModel):
    """A model that refuses unknown keys and silent conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


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
        known = _fields(model, location[:-1])
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


def _fields(model: type[BaseModel], location: Location) -> list[str]:
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _model_in(a))), None)
