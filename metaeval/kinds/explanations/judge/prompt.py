"""The prompts on one explanation and on two, and the names that a reply may use for an aspect."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metaeval.base.errors import DataError, PromptError, nearest, unknown
from metaeval.base.records import DataSet
from metaeval.data.replies import ASPECT_ALIASES
from metaeval.judging.prompts import Asks
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.llm.prompts.file import Rubric, vague
from metaeval.llm.prompts.template import PromptTemplate

_ANCHOR = "The text of an anchor."
_ASPECT = {"name": "clarity", "statement": "I understand it."}
_WITH_RUBRIC = {**_ASPECT, "question": "Is it clear?", "anchors": [{"level": "5", "text": _ANCHOR}]}
_RATED: Mapping[str, object] = {
    "explanation": "A text.",
    "item_title": "A title",
    "ratings": [{"name": "clarity", "rating": "4"}],
    "own": True,
}
_PROFILE = [{"name": "age", "value": "30"}]


class _AsksToRate(Asks):
    """What a prompt on one explanation may show; of aspects that the prompt has a rubric for, that too."""

    def tried(self, template: PromptTemplate) -> Mapping[str, object]:
        """Return the examples, of aspects with their dimension of a rubric."""
        if template.rubric is None:
            return self.sample
        return {**self.sample, "aspects": [_WITH_RUBRIC], "aspect": _WITH_RUBRIC}

    def wrong(self, template: PromptTemplate) -> list[str]:
        """Return what is wrong with a rubric: people may apply it differently, or it is not shown."""
        if template.rubric is None:
            return []
        values = {**self.tried(template), "integer": True, "reply_form": "json"}
        for name in self.optional:
            del values[name]
        filled = template.render({n: values[n] for n in template.placeholders if n in values})
        unshown = "has dimensions but shows no anchors; print the question and anchors of each aspect"
        return [*vague(template.rubric), *([] if _ANCHOR in filled else [unshown])]


RATING = _AsksToRate(
    sample={
        "aspects": [_ASPECT],
        "aspect": _ASPECT,
        "scale_min": "1",
        "scale_max": "5",
        "integer": (True, False),
        "reply_form": "json",
        "example": _RATED,
        "profile": _PROFILE,
        "item_title": "A title",
        "explanation": "A text.",
        "reference": "A good text.",
        "language": "en",
    },
    optional=("example", "profile", "item_title", "language"),
    needed=("scale_min", "scale_max", "explanation"),
    insisted=("example", "profile"),
)
"""Of a prompt on one explanation. ``aspects`` is a list of name and statement, ``aspect`` one of them (one
call per aspect); where the prompt has a rubric, each has ``question`` and ``anchors`` (a list of level and
text) too. ``reference`` is a text that is known to be good. ``example`` has ``item_title``, ``explanation``,
``ratings`` (a list of name and rating) and ``own``; ``profile`` is a list of name and value."""

COMPARING = Asks(
    sample={
        "aspects": [_ASPECT],
        "aspect": _ASPECT,
        "reply_form": "json",
        "first": "A text.",
        "second": "Another.",
        "item_title": "A title",
        "profile": _PROFILE,
        "language": "en",
    },
    optional=("item_title", "profile", "language"),
    needed=("first", "second"),
    insisted=("profile",),
)
"""Of a pairwise prompt: ``first`` and ``second`` are the texts."""


@dataclass(frozen=True, slots=True)
class Example:
    """An explanation with a person's ratings of it, shown to a judge."""

    explanation: str
    ratings: Mapping[str, float] = field(hash=False)
    """Aspect → rating, of all aspects that are asked for."""
    item_title: str | None = None
    own: bool = False
    """Whether it is presented as a rating of the user whose place the judge takes."""


def aspects_shown(
    template: PromptTemplate, data: ExplanationSet, aspects: Sequence[str]
) -> list[dict[str, Any]]:
    """Return what a prompt says of each aspect: name and statement, and its dimension of a rubric."""
    found = []
    for aspect in aspects:
        entry: dict[str, Any] = {"name": one_line(aspect), "statement": statement_of(data, aspect)}
        if template.rubric and (dimension := template.rubric.dimension(aspect)):
            entry["question"] = dimension.question or entry["statement"]
            entry["anchors"] = [{"level": f"{a.level:g}", "text": a.text} for a in dimension.anchors]
        found.append(entry)
    return found


def unit_shown(
    row: Mapping[str, Any],
    aspects: Sequence[str],
    example: Example | None,
    profile: Mapping[str, str] | None,
) -> dict[str, object]:
    """Return what is shown of a unit, a row of ``data.explanations``, with example and profile."""
    return {
        "item_title": title_of(row.get("item_title")),
        "explanation": text_of(row["explanation"]),
        "reference": text_of(row.get("reference")),
        "example": _shown_example(example, tuple(aspects)) if example else None,
        "profile": entries_of(profile),
    }


def check_references(template: PromptTemplate, data: ExplanationSet) -> None:
    """Raise `DataError` if a prompt shows a reference beside every text, and a unit of the data has none."""
    if "reference" not in template.required:
        return
    shown = f"prompt {template.name!r} shows a good reference beside every explanation"
    if "reference" not in data.explanations:
        raise DataError(f"{shown}, and data set {data.name!r} has no column 'reference'; add it")
    absent = [i for i, text in enumerate(data.explanations["reference"]) if text_of(text) is None]
    if absent:
        unit = ", ".join(str(data.explanations[k].iloc[absent[0]]) for k in data.keys)
        raise DataError(
            f"{shown}, and {len(absent):,} of {len(data):,} units of data set {data.name!r} have no "
            f"'reference', such as ({unit}); add them"
        )


def check_rubric(template: PromptTemplate, rubric: Rubric, data: DataSet, aspects: Sequence[str]) -> None:
    """Raise `PromptError` if a rubric lacks a dimension of the name of an aspect, or has another scale."""
    names = [d.name for d in rubric.dimensions]
    for aspect in aspects:
        if aspect in data.aspects and aspect not in names:
            raise PromptError(
                f"prompt {template.name!r} has no dimension {aspect!r}{nearest(aspect, names)} (it has: "
                f"{', '.join(names)}); write a rubric of your own, with `base: rubric` and its dimensions"
            )
        scale = data.scale.of(aspect)
        if (rubric.scale_min, rubric.scale_max) != (scale.min, scale.max):
            raise PromptError(
                f"prompt {template.name!r} has anchors on a scale from {rubric.scale_min:g} to "
                f"{rubric.scale_max:g}, and the ratings of data set {data.name!r} are {scale}; "
                "anchor the levels of that scale"
            )


def profiles_of(data: ExplanationSet) -> dict[str, dict[str, str]]:
    """Return user → field → text, without empty fields; raise `DataError` if no user has a profile."""
    if data.users is None:
        raise DataError(f"data set {data.name!r} has no users file, so there are no profiles to show")
    return {
        row["user_id"]: {str(k): _line(v) for k, v in row.items() if k != "user_id" and text_of(v)}
        for row in data.users.to_dict("records")
    }


def aliases_of(data: ExplanationSet, aspects: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return aspect → its other names in a reply: known ones, and its statement."""
    shown = {a: (one_line(a),) if one_line(a) != a else () for a in aspects}
    return {a: (*ASPECT_ALIASES.get(a.casefold(), ()), *shown[a], statement_of(data, a)) for a in aspects}


def statement_of(data: ExplanationSet, aspect: str) -> str:
    """Return the statement of an aspect that raters saw, on one line."""
    if aspect not in data.aspects:
        raise DataError(unknown(f"data set {data.name!r} has no aspect", aspect, data.aspects))
    return _line(data.aspects[aspect])


def title_of(value: object) -> str | None:
    """Return the title of an item on one line; None for an absent or blank one."""
    text = text_of(value)
    return None if text is None else one_line(text)


def text_of(value: object) -> str | None:
    """Return a text as it is; None for an absent or blank one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    text = str(value)
    return text if text.strip() and text != "<NA>" else None


def one_line(text: str) -> str:
    """Return a text without line breaks: in a list, a second line could pass for the prompt's own."""
    return " ".join(text.splitlines())


def _line(value: object) -> str:
    """Return a value on one line: it stands in a list, and must not begin a new part."""
    return " ".join((f"{value:g}" if isinstance(value, float) else str(value)).split())


def entries_of(profile: Mapping[str, str] | None) -> list[dict[str, str]] | None:
    """Return a profile as a list of names and values, each on one line; None if there is none."""
    return [{"name": one_line(n), "value": _line(v)} for n, v in profile.items()] if profile else None


@functools.lru_cache(1024)  # one is shown with many units
def _shown_example(example: Example, aspects: tuple[str, ...]) -> dict[str, object]:
    return {
        "item_title": title_of(example.item_title),
        "explanation": example.explanation,
        "ratings": [{"name": one_line(a), "rating": f"{example.ratings[a]:g}"} for a in aspects],
        "own": example.own,
    }
