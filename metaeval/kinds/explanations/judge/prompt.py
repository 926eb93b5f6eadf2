"""The prompts on one explanation and on two, and the names that a reply may use for an aspect."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metaeval.base.errors import DataError, PromptError, nearest, unknown
from metaeval.base.records import DataSet, Scale
from metaeval.judging.prompts import JudgePrompt
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.llm.prompts.file import Rubric
from metaeval.llm.prompts.template import PromptTemplate
from metaeval.llm.replies.fields import ASPECT_ALIASES

PLACEHOLDERS: tuple[str, ...] = (
    *("aspects", "aspect", "scale_min", "scale_max", "integer", "reply_form"),
    *("example", "profile", "item_title", "explanation", "reference", "language"),
)
"""Placeholders of a judge's prompt. ``aspects`` is a list of name and statement, ``aspect`` one of them (one
call per aspect); where the prompt has a rubric, each has ``question`` and ``anchors`` (a list of level and
text) too. ``reference`` is a text that is known to be good. ``example`` has ``item_title``, ``explanation``,
``ratings`` (a list of name and rating) and ``own``; ``profile`` is a list of name and value."""

NEEDED: tuple[str, ...] = ("scale_min", "scale_max", "explanation")
"""Placeholders that it must use, beside ``aspects`` or ``aspect``."""

PAIR_PLACEHOLDERS: tuple[str, ...] = (
    *("aspects", "aspect", "reply_form", "first", "second", "item_title", "profile", "language"),
)
"""Placeholders of a pairwise prompt: ``first`` and ``second`` are the texts."""

PAIR_NEEDED: tuple[str, ...] = ("first", "second")
"""Placeholders that a pairwise prompt must use, beside ``aspects`` or ``aspect``."""


@dataclass(frozen=True, slots=True)
class Example:
    """An explanation with a person's ratings of it, shown to a judge."""

    explanation: str
    ratings: Mapping[str, float] = field(hash=False)
    """Aspect → rating, of all aspects that are asked for."""
    item_title: str | None = None
    own: bool = False
    """Whether it is presented as a rating of the user whose place the judge takes."""


class UnitPrompt:
    """A judge's prompt, to be filled for units of a data set.

    ``aspects`` are those to ask for, in the order of the reply; `PromptError` is raised if the prompt cannot
    ask for them, or for this form of reply.
    """

    def __init__(
        self, template: PromptTemplate, data: ExplanationSet, aspects: Sequence[str], reply: str = "auto"
    ) -> None:
        scale = Scale.over({a: data.scale.of(a) for a in aspects})
        if scale.own:
            raise DataError(
                f"{', '.join(aspects)} have different scales in data set {data.name!r}; ask for one aspect"
            )
        if template.rubric is not None:
            check_rubric(template, template.rubric, data, aspects)
        self._data, self._aspects = data, tuple(aspects)
        self._prompt = JudgePrompt(
            template,
            [_with_rubric(template.rubric, a, statement_of(data, a)) for a in aspects],
            {
                "scale_min": f"{scale.min:g}",
                "scale_max": f"{scale.max:g}",
                "integer": scale.integer,
                "language": one_line(data.language) or None,
            },
            known=PLACEHOLDERS,
            reply=reply,
        )

    def messages(
        self,
        row: Mapping[str, Any],
        *,
        example: Example | None = None,
        profile: Mapping[str, str] | None = None,
    ) -> list[tuple[str, str]]:
        """Return role and text of each message about a unit: a row of ``data.explanations`` as a mapping.

        ``profile`` is the user's, as `profiles_of` returns it. `PromptError` is raised if the prompt cannot
        show the example or the profile, `DataError` if the unit has no text.
        """
        text = text_of(row.get("explanation"))
        if text is None:
            unit = ", ".join(str(row.get(k)) for k in self._data.keys)
            raise DataError(f"unit ({unit}) of data set {self._data.name!r} has no explanation text to judge")
        values = {"item_title": title_of(row.get("item_title")), "explanation": text}
        values["reference"] = text_of(row.get("reference"))
        shown = _shown_example(example, self._aspects) if example else None
        return self._prompt.messages(values, {"example": shown, "profile": _entries_of(profile)})


def pair_messages(
    template: PromptTemplate,
    data: ExplanationSet,
    texts: tuple[str, str],
    aspects: Sequence[str],
    *,
    item_title: object = None,
    profile: Mapping[str, str] | None = None,
    reply: str = "auto",
) -> list[tuple[str, str]]:
    """Fill a pairwise prompt with two texts, in this order; return role and text of each message.

    An absent or blank title of their item is not shown. `PromptError` is raised if the prompt is not a
    pairwise one, or cannot ask for the aspects or show the profile.
    """
    if not {*PAIR_NEEDED} <= {*template.placeholders}:
        raise PromptError(
            f"prompt {template.name!r} does not compare two texts: it must use 'first' and 'second'; "
            "take 'pairwise', or a file of your own that does"
        )
    named = [{"name": one_line(a), "statement": statement_of(data, a)} for a in aspects]
    prompt = JudgePrompt(template, named, {}, known=PAIR_PLACEHOLDERS, reply=reply)
    values = {
        "first": texts[0],
        "second": texts[1],
        "item_title": title_of(item_title),
        "language": one_line(data.language) or None,
    }
    return prompt.messages(values, {"profile": _entries_of(profile)})


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


def _entries_of(profile: Mapping[str, str] | None) -> list[dict[str, str]] | None:
    """Return a profile as a list of names and values, each on one line; None if there is none."""
    return [{"name": one_line(n), "value": _line(v)} for n, v in profile.items()] if profile else None


def _with_rubric(rubric: Rubric | None, aspect: str, statement: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": one_line(aspect), "statement": statement}
    dimension = None if rubric is None else rubric.dimension(aspect)
    if dimension is not None:
        entry["question"] = dimension.question or statement
        entry["anchors"] = [{"level": f"{a.level:g}", "text": a.text} for a in dimension.anchors]
    return entry


@functools.lru_cache(1024)  # one is shown with many units
def _shown_example(example: Example, aspects: tuple[str, ...]) -> dict[str, object]:
    return {
        "item_title": title_of(example.item_title),
        "explanation": example.explanation,
        "ratings": [{"name": one_line(a), "rating": f"{example.ratings[a]:g}"} for a in aspects],
        "own": example.own,
    }
