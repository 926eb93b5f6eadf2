"""The check of any judge's prompt; its placeholders tell the kind of judge."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from metaeval.llm.prompts.file import read_prompt_file

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from metaeval.base.errors import Problem

_CHECKS: Mapping[str, str] = {
    "outcome": "metaeval.kinds.exposure.judge.prompt:check_pairs_prompt",
    "first_tag": "metaeval.kinds.slates.judge.prompt:check_slates_prompt",
    "slate": "metaeval.kinds.slates.judge.prompt:check_rating_prompt",
    "history": "metaeval.kinds.relevance.judge.prompt:check_relevance_prompt",
    "first": "metaeval.kinds.explanations.pairwise.prompt:check_pairwise_prompt",
}
"""Placeholder → the check of a prompt that has it; the first that is there tells."""
_USUAL = "metaeval.kinds.explanations.prompt_tools:check_rating_prompt"


def check_judge_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a judge's prompt; an empty list if it can be used.

    One with an ``outcome`` is checked as a prompt of `MatchedPairs`, one with a ``first_tag`` as one of
    `Slates`, one with a ``slate`` as one of `SlateRating`. One that shows a ``history`` is checked as a
    prompt of `Relevance`, one with a ``first`` text as one of `Pairwise`, any other as one of `Judge`.
    """
    placeholders = read_prompt_file(Path(path)).header.placeholders
    names = {*placeholders.required, *placeholders.optional}
    found = next((check for name, check in _CHECKS.items() if name in names), _USUAL)
    check: Callable[[str | os.PathLike[str]], list[Problem]] = resolve_name(found)
    return check(path)
