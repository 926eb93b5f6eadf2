"""Judges' prompts for people: check a file, see what a judge would be told of a unit."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import DataError, PromptError, nearest
from metaeval.judging.prompts import check_file
from metaeval.kinds.explanations.judge.prompt import (
    NEEDED,
    PLACEHOLDERS,
    example_of,
    messages,
    profile_of,
)
from metaeval.llm.prompts.file import read_prompt_file
from metaeval.llm.prompts.rubric import vague
from metaeval.llm.prompts.template import joined, load_prompt

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.base.errors import Problem
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.llm.prompts.template import PromptTemplate


def check_rating_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a prompt of `Judge`; an empty list if it can be used.

    A rubric that two people may apply differently is wrong, too; see `metaeval.llm.prompts.rubric.vague`.
    """
    samples = _samples(read_prompt_file(Path(path)).header.rubric is not None)
    return check_file(path, needed=NEEDED, known=PLACEHOLDERS, samples=samples, more=_wrong_rubric)


def _wrong_rubric(template: PromptTemplate) -> list[str]:
    if template.rubric is None:
        return []
    values = {**_samples(rubric=True)[0], "reply_form": "json"}
    filled = template.render({n: values[n] for n in template.placeholders if n in values})
    unshown = "has dimensions but shows no anchors; print the question and anchors of each aspect"
    return [*vague(template.rubric), *([] if _ANCHOR in filled else [unshown])]


def preview(
    prompt: str,
    data: ExplanationSet,
    unit: str,
    aspects: Sequence[str] = (),
    *,
    example: str | None = None,
    profile: bool = False,
    reply: str = "auto",
) -> str:
    """Return what a judge would be told of a unit.

    Parameters
    ----------
    prompt
        Name or path of a prompt.
    data
        The data set.
    unit
        The unit, as for `find_unit`.
    aspects
        Aspects to ask for; all, if empty.
    example
        Another unit, to be shown with its user's ratings.
    profile
        Whether to show the user's profile.
    reply
        ``json``, ``text`` or ``auto``.

    Raises
    ------
    MetaevalError
        If there is no such prompt or unit, or the prompt cannot show what is asked for.
    """
    template = load_prompt(prompt)
    row = find_unit(data, unit)
    asked = list(aspects) or list(data.aspects)
    if "aspect" in template.placeholders and len(asked) != 1:
        raise PromptError(
            f"prompt {template.name!r} asks for one aspect per call; "
            f"choose one with --aspect: {', '.join(asked)}"
        )
    shown = None
    if example is not None:
        other = find_unit(data, example)
        own = "user_id" in data.keys and other["user_id"] == row["user_id"]
        shown = example_of(data, other, asked, own=own)
        if shown is None:
            raise DataError(
                f"unit {example!r} has no rating by its user of {', '.join(asked)}; choose another"
            )
    told = profile_of(data, str(row.get("user_id"))) if profile else None
    return joined(messages(template, data, row, asked, example=shown, profile=told, reply=reply))


def find_unit(data: ExplanationSet, unit: str) -> Mapping[str, Any]:
    """Return the row of a unit; raise `DataError` if there is none.

    A unit is written as its keys in their order, such as ``u1,i1,popular``; a value with a comma stands in
    quotes.
    """
    values = [value.strip() for value in next(csv.reader([unit], skipinitialspace=True), [])]
    if len(values) != len(data.keys):
        raise DataError(
            f"{unit!r} is not a unit of data set {data.name!r}; write it as {','.join(data.keys)}, "
            f"such as {_first(data)}"
        )
    found = data.explanations
    for key, value in zip(data.keys, values, strict=True):
        known = found[key].unique().tolist()
        found = found[found[key] == value]
        if found.empty:
            raise DataError(
                f"data set {data.name!r} has no unit {unit!r}: nothing has the {key} {value!r}"
                f"{nearest(value, known)} (an existing unit: {_first(data)})"
            )
    return {str(k): v for k, v in found.iloc[0].items()}


def _first(data: ExplanationSet) -> str:
    values = [str(data.explanations[k].iloc[0]) for k in data.keys]
    return ",".join(f'"{v}"' if "," in v else v for v in values)


_ANCHOR = "The text of an anchor."


def _samples(rubric: bool) -> list[dict[str, object]]:
    """Return values with and without what is optional."""
    aspect: dict[str, object] = {"name": "clarity", "statement": "I understand it."}
    if rubric:
        aspect |= {"question": "Is it clear?", "anchors": [{"level": "5", "text": _ANCHOR}]}
    example = {
        "item_title": "A title",
        "explanation": "A text.",
        "ratings": [{"name": "clarity", "rating": "4"}],
        "own": True,
    }
    least: dict[str, object] = {
        "aspects": [aspect],
        "aspect": aspect,
        "scale_min": "1",
        "scale_max": "5",
        "integer": True,
        "explanation": "A text.",
        "reference": "A good text.",
    }
    most = {
        "example": example,
        "profile": [{"name": "age", "value": "30"}],
        "item_title": "A title",
        "language": "en",
    }
    return [least, least | most]
