"""A YAML file → a validated pydantic model; each error is one sentence with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from metaeval.errors import Problem, nearest

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
    tree, problem = _parse(path)
    if problem is not None:
        return None, [Problem(path.name, None, None, problem)]
    try:
        return model.model_validate(_plain(tree)), []
    except ValidationError as error:
        found = error.errors(include_url=False)
        return None, [Problem(path.name, None, None, _sentence(dict(e), tree, model)) for e in found]


def _parse(path: Path) -> tuple[object, str | None]:
    """Return the tree, which knows its lines, or what is wrong with the file."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    tree: object = None
    problem: str | None = None
    try:
        tree = YAML(typ="rt").load(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError:
        problem = "is not UTF-8; save the file as UTF-8"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        problem = f"{line}is not valid YAML: {error.problem}"
    except (YAMLError, ValueError) as error:
        problem = f"is not valid YAML: {str(error).splitlines()[0]}"
    if problem is None and not isinstance(tree, Mapping):
        problem = "must hold keys and values, such as `name: my study`"
    return tree, problem


def _plain(node: object) -> object:
    """Return plain dicts, lists and scalars: strict validation refuses the parser's subclasses."""
    if isinstance(node, Mapping):
        return {_plain(k): _plain(v) for k, v in node.items()}
    if isinstance(node, str):
        return str(node)
    if isinstance(node, Sequence):
        return [_plain(v) for v in node]
    for kind in (bool, int, float):
        if isinstance(node, kind):
            return kind(node)
    return node


def _sentence(error: dict[str, Any], tree: object, model: type[BaseModel]) -> str:
    location: Location = error["loc"]
    line, path = _trace(tree, location)
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


def _trace(tree: object, location: Location) -> tuple[int | None, list[str | int]]:
    """Return the line of the innermost part of ``location`` that the file has, and the parts it has.

    Parts that only pydantic knows, such as the arm of a union, are passed over.
    """
    line: int | None = None
    path: list[str | int] = []
    node = tree
    for part in location:
        if isinstance(node, Mapping) and part in node:
            line = node.lc.key(part)[0] + 1  # type: ignore[attr-defined]  # the parser's own mapping
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            line = node.lc.item(part)[0] + 1  # type: ignore[attr-defined]
        else:
            continue
        path.append(part)
        node = node[part]  # type: ignore[index,call-overload,unused-ignore]
    return line, path


def _fields(model: type[BaseModel], location: Location) -> list[str]:
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _model_in(a))), None)
