"""Judges' prompts for people: check a file, see what a judge would be told of a unit."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from metaeval.base.errors import DataError, Problem, PromptError, nearest
from metaeval.judging.prompts import check_file
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.judge.judge import rated_units
from metaeval.kinds.explanations.judge.prompt import (
    NEEDED,
    PAIR_NEEDED,
    PAIR_PLACEHOLDERS,
    PLACEHOLDERS,
    UnitPrompt,
    profiles_of,
)
from metaeval.llm.prompts.file import read_prompt_file, vague
from metaeval.llm.prompts.template import PromptTemplate, joined, load_prompt

_ANCHOR = "The text of an anchor."
_ASPECT = {"name": "clarity", "statement": "I understand it."}
_WITH_RUBRIC = {
    **_ASPECT,
    "question": "Is it clear?",
    "anchors": [{"level": "5", "text": _ANCHOR}],
}
_UNIT: dict[str, object] = {
    "scale_min": "1",
    "scale_max": "5",
    "integer": True,
    "explanation": "A text.",
    "reference": "A good text.",
}
_OPTIONAL: dict[str, object] = {
    "item_title": "A title",
    "profile": [{"name": "age", "value": "30"}],
    "language": "en",
}
_EXAMPLE = {
    "item_title": "A title",
    "explanation": "A text.",
    "ratings": [{"name": "clarity", "rating": "4"}],
    "own": True,
}


def check_rating_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a prompt of `Judge`; an empty list if it can be used.

    A rubric that two people may apply differently is wrong, too; see `metaeval.llm.prompts.file.vague`.
    """
    aspect = _ASPECT if read_prompt_file(Path(path)).header.rubric is None else _WITH_RUBRIC
    least = {**_UNIT, "aspects": [aspect], "aspect": aspect}
    samples = (least, {**least, **_OPTIONAL, "example": _EXAMPLE})
    return check_file(path, needed=NEEDED, known=PLACEHOLDERS, samples=samples, more=_wrong_rubric)


def check_pairwise_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a pairwise prompt; an empty list if it can be used."""
    least: dict[str, object] = {"first": "A text.", "second": "Another."}
    samples = (least, least | _OPTIONAL)
    return check_file(path, needed=PAIR_NEEDED, known=PAIR_PLACEHOLDERS, samples=samples)


def _wrong_rubric(template: PromptTemplate) -> list[str]:
    if template.rubric is None:
        return []
    values = {**_UNIT, "aspects": [_WITH_RUBRIC], "aspect": _WITH_RUBRIC, "reply_form": "json"}
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
    """Return what a judge would be told of a unit, as for `find_unit`.

    ``example`` is another unit, to be shown with its user's ratings; ``profile`` says whether the user's
    profile is shown. `MetaevalError` is raised if there is no such prompt or unit, or the prompt cannot show
    what is asked for.
    """
    template = load_prompt(prompt)
    row = find_unit(data, unit)
    aspects = list(aspects) or list(data.aspects)
    if "aspect" in template.placeholders and len(aspects) != 1:
        raise PromptError(
            f"prompt {template.name!r} asks for one aspect per call; "
            f"choose one with --aspect: {', '.join(aspects)}"
        )
    shown = None
    if example is not None:
        other = find_unit(data, example)
        shown = rated_units(data, aspects).get(tuple(other[k] for k in data.keys))
        if shown is None:
            raise DataError(
                f"unit {example!r} has no rating by its user of {', '.join(aspects)}; choose another"
            )
        shown = replace(shown, own="user_id" in data.keys and other["user_id"] == row["user_id"])
    known = profiles_of(data).get(str(row.get("user_id"))) if profile else None
    return joined(UnitPrompt(template, data, aspects, reply).messages(row, example=shown, profile=known))


def find_unit(data: ExplanationSet, unit: str) -> Mapping[str, Any]:
    """Return the row of a unit; raise `DataError` if there is none.

    A unit is written as its keys in their order, such as ``u1,i1,popular``; a value with a comma stands in
    quotes.
    """
    values = [value.strip() for value in next(csv.reader([unit], skipinitialspace=True), [])]
    first = ",".join(f'"{v}"' if "," in v else v for v in map(str, data.units.iloc[0]))
    if len(values) != len(data.keys):
        raise DataError(
            f"{unit!r} is not a unit of data set {data.name!r}; write it as {','.join(data.keys)}, "
            f"such as {first}"
        )
    rows = data.explanations
    for key, value in zip(data.keys, values, strict=True):
        known = rows[key].unique().tolist()
        rows = rows[rows[key] == value]
        if rows.empty:
            raise DataError(
                f"data set {data.name!r} has no unit {unit!r}: nothing has the {key} {value!r}"
                f"{nearest(value, known)} (an existing unit: {first})"
            )
    return {str(k): v for k, v in rows.iloc[0].items()}
