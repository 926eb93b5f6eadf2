"""Reading study files: text and objects → a checked study."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from metaeval.base.errors import MetaevalError, SpecError, StudyError
from metaeval.base.records import AVERAGE, Evaluator
from metaeval.base.validation import sentences
from metaeval.base.yaml_lines import Lines, YamlError, read_yaml
from metaeval.kinds.files.loading import load
from metaeval.kinds.functions import function_named, is_function, with_files
from metaeval.kinds.kind import kind_named
from metaeval.kinds.study import IN_MEMORY, Held, Study, located


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
        raise StudyError(located(lines, str(error), "evaluators")) from error
    return make_study(content, lines)


def make_study(content: Mapping[str, Any], lines: Lines | None = None) -> Study:
    """Make a study from the keys of a study file; its data set and evaluators may be objects.

    `StudyError` is raised if a key is unknown or missing, or a value is not allowed.
    """
    lines = lines or Lines()
    content, held = _objects_apart(content)
    try:
        model = kind_named(content.get("kind")).study
    except MetaevalError as error:
        raise StudyError(located(lines, str(error), "kind")) from error
    try:
        study = model.model_validate(dict(content), context=lines)
    except ValidationError as error:
        found = sentences(error, content, model, whole=True)
        raise StudyError(*(located(lines, text, *where) for where, text in found)) from error
    study._lines, study._held = lines, held
    for aspect in study.aspects or []:
        if aspect == AVERAGE:
            raise study.error(f"no aspect may be called {AVERAGE!r}, the name of their mean", "aspects")
    return study


def _objects_apart(content: Mapping[str, Any]) -> tuple[dict[str, Any], Held]:
    """Return the keys of a study with text in place of objects, and the objects.

    `MetaevalError` is raised if a data set cannot be made of what is given, or two evaluators have one spec.
    """
    content, data = dict(content), None
    given = content.get("dataset")
    if isinstance(given, os.PathLike):
        content["dataset"] = os.fspath(given)
    elif hasattr(given, "units") or hasattr(given, "columns") or hasattr(given, "column_names"):
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
