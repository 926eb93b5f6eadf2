"""A study given in Python: its data set and its evaluators may be objects instead of text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import MetaevalError, StudyError
from metaeval.kinds.functions import function_named, is_function

if TYPE_CHECKING:
    from metaeval.base.records import DataOfKind, Evaluator

IN_MEMORY = "(in memory)"
"""What stands for the path of a data set that was given as an object."""


@dataclass(frozen=True, slots=True)
class Held:
    """The objects of a study."""

    data: DataOfKind | None = None
    """Its data set; None if the study names a folder or a place on the hub."""
    evaluators: Mapping[str, Evaluator] = field(default_factory=dict)
    """Spec → the evaluator that was given as an object."""


def taken(content: Mapping[str, Any]) -> tuple[dict[str, Any], Held]:
    """Return the keys of a study with text in place of objects, and the objects.

    Raises
    ------
    MetaevalError
        If a data set cannot be made of what is given, or two evaluators have one spec.
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
