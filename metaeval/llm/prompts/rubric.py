"""A rubric in the header of a prompt file: what is judged, and what each level of the scale looks like.

::

    scale: {min: 1, max: 5}
    dimensions:
      faithfulness:
        question: Is every claim supported by what is known of the item?
        anchors:
          5: Every claim is supported; nothing is added.
          3: Mostly supported; one plausible detail is not.
          1: A claim is contradicted, or made up.

Two people who apply a rubric must come to the same level; `vague` says where they could hardly.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from metaeval.base.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Wrong = Callable[[str], None]

_DIMENSION_KEYS = ("question", "anchors")
_SCALE_KEYS = ("min", "max")
_FEWEST = 2  # anchors that make a direction
_BLANKET = re.compile(
    r"(?:overall|general|total)?[ _-]*(?:quality|goodness|overall|score|rating)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """What a text is like that gets a level."""

    level: float
    text: str


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that is judged, by itself."""

    name: str
    question: str
    """What it asks; may be empty."""
    anchors: tuple[Anchor, ...]
    """From the highest level to the lowest."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """Named dimensions with anchored levels."""

    scale_min: float
    scale_max: float
    dimensions: tuple[Dimension, ...]

    def dimension(self, name: str) -> Dimension | None:
        """Return the dimension of that name, if there is one."""
        return next((d for d in self.dimensions if d.name == name), None)

    @property
    def hash(self) -> str:
        """SHA-256 of the scale and the dimensions, as 64 hex digits; how they are written does not matter."""
        content = [
            [self.scale_min, self.scale_max],
            [[d.name, d.question, [[a.level, a.text] for a in d.anchors]] for d in self.dimensions],
        ]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def read_rubric(tree: Mapping[object, object], wrong: Wrong) -> Rubric | None:
    """Read ``scale`` and ``dimensions`` of a header, and tell ``wrong`` what cannot be used.

    None if the header has neither, or they cannot be used.
    """
    if "dimensions" not in tree:
        if "scale" in tree:
            wrong("has a scale and no dimensions; name the dimensions that are judged on it")
        return None
    scale = _scale(tree.get("scale"), wrong)
    given = tree["dimensions"]
    if not isinstance(given, dict) or not given:
        wrong("dimensions must hold a name and its anchors each, such as `clarity: {anchors: {5: …, 1: …}}`")
        return None
    dimensions = [_dimension(name, content, wrong) for name, content in given.items()]
    whole = [d for d in dimensions if d is not None]
    if scale is None or len(whole) < len(dimensions):
        return None
    low, high = scale
    for dimension in whole:
        for anchor in dimension.anchors:
            if not low <= anchor.level <= high:
                wrong(
                    f"dimension {dimension.name!r} has an anchor at {anchor.level:g}, off the scale from "
                    f"{low:g} to {high:g}"
                )
    return Rubric(low, high, tuple(whole))


def vague(rubric: Rubric) -> list[str]:
    """Return what two people who apply the rubric could take differently; an empty list if nothing is seen.

    The rules: each dimension has two anchors or more, their texts differ, and one that is named after
    quality or the whole says in a question what is meant.
    """
    found = []
    for dimension in rubric.dimensions:
        name, anchors = dimension.name, dimension.anchors
        if not anchors:
            found.append(
                f"dimension {name!r} has no anchors; say what a text at the best and worst level is like"
            )
        elif len(anchors) < _FEWEST:
            found.append(
                f"dimension {name!r} has one anchor, at {anchors[0].level:g}; say what another level is like"
            )
        first: dict[str, float] = {}
        for anchor in anchors:
            text = " ".join(anchor.text.split()).casefold().rstrip(" .。")
            if not text:
                found.append(f"dimension {name!r}: the anchor at {anchor.level:g} has no text")
            elif text in first:
                found.append(
                    f"dimension {name!r}: the anchors at {first[text]:g} and {anchor.level:g} say the same; "
                    "say what sets the levels apart"
                )
            first.setdefault(text, anchor.level)
        if not dimension.question and _BLANKET.fullmatch(name.strip()):
            found.append(
                f"dimension {name!r} can mean anything; ask a question that says what is meant, or judge its "
                "parts by themselves"
            )
    return found


def _scale(given: object, wrong: Wrong) -> tuple[float, float] | None:
    if not isinstance(given, dict):
        wrong("dimensions need a scale, such as `scale: {min: 1, max: 5}`")
        return None
    for key in given:
        if key not in _SCALE_KEYS:
            wrong(f"unknown key {str(key)!r} under scale{nearest(str(key), _SCALE_KEYS)}; allowed: min, max")
    low, high = given.get("min"), given.get("max")
    if not (_is_number(low) and _is_number(high) and cast("float", low) < cast("float", high)):
        wrong(f"scale must have a number min below a number max, not min {low!r} and max {high!r}")
        return None
    return float(cast("float", low)), float(cast("float", high))


def _dimension(name: object, content: object, wrong: Wrong) -> Dimension | None:
    if not isinstance(name, str) or not name.strip():
        wrong(f"the dimension {name!r} is no text; put it in quotes")
        return None
    given = {} if content is None else content
    if not isinstance(given, dict):
        wrong(f"dimension {name!r} must hold a question and anchors, not {str(content)[:40]!r}")
        return None
    for key in given:
        if key not in _DIMENSION_KEYS:
            wrong(
                f"unknown key {str(key)!r} under dimension {name!r}{nearest(str(key), _DIMENSION_KEYS)}; "
                f"allowed: {', '.join(_DIMENSION_KEYS)}"
            )
    question = given.get("question", "")
    if not isinstance(question, str):
        wrong(f"dimension {name!r}: the question {question!r} is no text; put it in quotes")
        return None
    anchors = given.get("anchors") or {}
    if not isinstance(anchors, dict):
        wrong(
            f"dimension {name!r}: anchors must hold levels with their texts, such as `5: Every claim holds.`"
        )
        return None
    read = [_anchor(name, level, text, wrong) for level, text in anchors.items()]
    whole = [a for a in read if a is not None]
    if len(whole) < len(read):
        return None
    return Dimension(name.strip(), " ".join(question.split()), tuple(sorted(whole, key=lambda a: -a.level)))


def _anchor(name: str, level: object, text: object, wrong: Wrong) -> Anchor | None:
    if not _is_number(level):
        wrong(f"dimension {name!r}: the level {level!r} of an anchor is no number")
        return None
    if text is not None and not isinstance(text, str):
        wrong(f"dimension {name!r}: the anchor at {level} is {text!r}, which is no text; put it in quotes")
        return None
    return Anchor(float(cast("float", level)), " ".join((text or "").split()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
