"""A rubric in the header of a prompt file: what is judged, and what each level of the scale means.

::

    scale: {min: 1, max: 5}
    dimensions:
      faithfulness:
        question: Is every claim supported by what is known of the item?
        anchors:
          5: Every claim is supported; nothing is added.
          3: Mostly supported; one plausible detail is not.
          1: A claim is contradicted, or made up.

Two people who apply a rubric should choose the same level; `vague` says where they may not.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from metaeval.base.errors import exact
from metaeval.base.validation import Filled, ScaleEnds, Strict

_FEWEST = 2  # anchors that make a direction


@dataclass(frozen=True, slots=True)
class Anchor:
    """A level, and what a text at that level is like."""

    level: float
    text: str


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that is judged."""

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
        """Return the dimension of that name, if any."""
        return next((d for d in self.dimensions if d.name == name), None)

    @property
    def hash(self) -> str:
        """SHA-256 of the scale and the dimensions, as 64 hex digits; how they are written does not matter."""
        content = [
            [self.scale_min, self.scale_max],
            [[d.name, d.question, [[a.level, a.text] for a in d.anchors]] for d in self.dimensions],
        ]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


class _DimensionModel(Strict):
    question: str = ""
    anchors: dict[Annotated[float, Field(allow_inf_nan=False)], str | None] | None = None

    def named(self, name: str) -> Dimension:
        anchors = [Anchor(at, " ".join((text or "").split())) for at, text in (self.anchors or {}).items()]
        anchors.sort(key=lambda anchor: -anchor.level)
        return Dimension(name.strip(), " ".join(self.question.split()), tuple(anchors))


class RubricModel(Strict):
    """The keys of a header that make a rubric."""

    scale: ScaleEnds | None = None
    dimensions: (
        Annotated[
            dict[
                Filled,
                Annotated[_DimensionModel, BeforeValidator(lambda value: {} if value is None else value)],
            ],
            Field(min_length=1),
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _on_the_scale(self) -> Self:
        if self.dimensions is None and self.scale is not None:
            raise ValueError("has a scale and no dimensions; name the dimensions that are judged on it")
        if self.dimensions is not None and self.scale is None:
            raise ValueError("dimensions need a scale, such as `scale: {min: 1, max: 5}`")
        for name, dimension in (self.dimensions or {}).items():
            for level in dimension.anchors or {}:
                if self.scale is not None and not self.scale.min <= level <= self.scale.max:
                    raise ValueError(
                        f"dimension {name!r} has an anchor at {exact(level)}, off the scale from "
                        f"{self.scale.min:g} to {self.scale.max:g}"
                    )
        return self

    @property
    def rubric(self) -> Rubric | None:
        """The rubric, if there is one."""
        if self.scale is None or self.dimensions is None:
            return None
        return Rubric(
            self.scale.min, self.scale.max, tuple(d.named(name) for name, d in self.dimensions.items())
        )


def vague(rubric: Rubric) -> list[str]:
    """Return where two people may apply the rubric differently; an empty list if nowhere.

    The rules: each dimension has two anchors or more, and their texts differ.
    """
    problems = []
    for dimension in rubric.dimensions:
        name, anchors = dimension.name, dimension.anchors
        if not anchors:
            problems.append(
                f"dimension {name!r} has no anchors; say what a text at the best and worst level is like"
            )
        elif len(anchors) < _FEWEST:
            problems.append(
                f"dimension {name!r} has one anchor, at {anchors[0].level:g}; say what another level is like"
            )
        first: dict[str, float] = {}
        for anchor in anchors:
            text = " ".join(anchor.text.split()).casefold().rstrip(" .。")
            if not text:
                problems.append(f"dimension {name!r}: the anchor at {anchor.level:g} has no text")
            elif text in first:
                problems.append(
                    f"dimension {name!r}: the anchors at {first[text]:g} and {anchor.level:g} say the same; "
                    "say how the levels differ"
                )
            first.setdefault(text, anchor.level)
    return problems
