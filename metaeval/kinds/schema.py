"""The JSON Schema of study files, made of the models that read them, for editors."""

from __future__ import annotations

from typing import Any

from metaeval.kinds.kind import KINDS, kind_named

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_USUAL = "explanations"


def study_schema() -> dict[str, Any]:
    """Return the schema: the keys of the study's ``kind``, and of explanations without one."""
    definitions: dict[str, Any] = {}
    branches = []
    for name in KINDS:
        own = kind_named(name).study.model_json_schema()
        definitions |= own.pop("$defs", {})
        own["properties"]["kind"] = {"const": name, "description": "the kind of study"}
        named = {"properties": {"kind": {"const": name}}}
        chosen = named if name == _USUAL else {**named, "required": ["kind"]}
        branches.append({"if": chosen, "then": own})
    return {
        "$schema": _DRAFT,
        "title": "A study of metaeval",
        "type": "object",
        "properties": {"kind": {"enum": [*KINDS], "default": _USUAL}},
        "allOf": branches,
        "$defs": definitions,
    }
