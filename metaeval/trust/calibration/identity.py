"""The identity of a judge: the part of its signature that its calibration holds for; and its changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_WORDS = {
    "model": "the model",
    "models": "the model that the provider names",
    "sent": "what the server takes",
    "prompt": "the prompt",
    "rubric": "the rubric",
    "parser": "the parser of replies",
    "examples": "the kind of examples",
    "profile": "whether the profile is shown",
    "reply": "the form of the reply",
    "ensemble": "how the members are put together",
    "parts": "the members",
}
_NOT_IDENTITY = frozenset(
    {
        "spec",  # a way to write what the rest says
        "fingerprints",  # change with every update of a provider's servers
        "without_example",  # an outcome
        "scripts",  # of the data
        "recorded_in",
        "address",  # where a model answers does not change what it is
        "attempts",
        "max_tokens",
        "replicate",  # the same judge, asked again
    }
)
_OUTCOMES = frozenset({"models", "sent"})
"""Known from replies alone: a judge that was not asked yet has none."""
_PARTS = "parts"
_SHORT = 8  # characters of a hash that are shown


def identity(signature: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a signature that a calibration depends on, as plain JSON values."""
    found = {k: v for k, v in signature.items() if k not in _NOT_IDENTITY and not (k in _OUTCOMES and not v)}
    if found.get("examples") == "none":
        found.pop("seed", None)  # draws nothing
    if _PARTS in found:
        # Mean and Median of the same members differ in their spec alone.
        found["ensemble"] = str(signature.get("spec", "")).partition("(")[0]
        found[_PARTS] = [identity(part) for part in found[_PARTS].values()]
    plain: dict[str, Any] = json.loads(json.dumps(found, sort_keys=True, default=str))
    return plain


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return a phrase for each difference of two identities, such as ``the prompt changed (… → …)``."""
    found = []
    for key in sorted(before.keys() | now.keys(), key=_order):
        if key in _OUTCOMES and (key not in before or key not in now):
            continue
        one, other = before.get(key), now.get(key)
        if one == other:
            continue
        if key == _PARTS and isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            for i, (part, part_now) in enumerate(zip(one, other, strict=True), start=1):
                found += [f"in member {i}, {change}" for change in changes(part, part_now)]
            continue
        found.append(f"{_WORDS.get(key, f'its {key}')} changed ({_text(key, one)} → {_text(key, other)})")
    return found


def _order(key: str) -> tuple[int, str]:
    known = list(_WORDS)
    return (known.index(key) if key in known else len(known), key)


def _text(key: str, value: object) -> str:
    """Return a value as text: prompts and rubrics by name, version and the start of their hash."""
    match value:
        case None:
            text = "none"
        case list() if key == _PARTS:
            text = f"{len(value)} of them"
        case {"name": name, **rest}:
            words = [name, rest.get("version"), str(rest.get("sha256") or "")[:_SHORT]]
            text = " ".join(str(w) for w in words if w)
        case dict():
            text = json.dumps(value, sort_keys=True, ensure_ascii=False)
        case list():
            text = ", ".join(map(str, value))
        case _:
            text = str(value)[:_SHORT] if key == "sha256" else str(value)
    return text
