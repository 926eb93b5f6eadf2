"""Families of evaluators in a study: a judge with several prompts, and evaluators by patterns of names."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path

from metaeval.base.counts import counted
from metaeval.base.errors import SpecError, unknown
from metaeval.base.spec import EvaluatorSpec
from metaeval.kinds.registry import ShortNames, fitting
from metaeval.kinds.study import Study
from metaeval.llm.prompts.template import bundled_prompts
from metaeval.stats.regression.generalizability import FEWEST_MEMBERS


def with_prompts(study: Study) -> Study:
    """Return a study in which a judge with several prompts is a judge for each, and these are a family.

    ``prompt=['a', 'b', 'c']`` lists them; ``prompt='aspects-*'`` stands for the bundled prompts, or else the
    files, whose names fit. `StudyError` is raised if none do.
    """
    named, short = isinstance(study.evaluators, dict), ShortNames(study.specs)
    found: dict[str, str] = {}
    families: dict[str, list[str]] = {}
    for at, (name, text) in enumerate(study.specs.items()):
        prompts: list[str] | None = []
        with contextlib.suppress(SpecError):  # it is said when the evaluator is built
            spec = EvaluatorSpec.parse(text, short)
            prompts = _prompts(spec.kwargs.get("prompt"))
        if prompts is None:
            sentence = f"no prompt fits {text}; bundled are {', '.join(bundled_prompts())}"
            raise study.error(sentence, "evaluators", name if named else at)
        for prompt in prompts:
            each = EvaluatorSpec(spec.name, spec.args, {**spec.kwargs, "prompt": prompt})
            own = f"{name}, prompt {prompt}" if named else str(each)
            families.setdefault(name, []).append(own)
            found[own] = str(each)
        if not prompts:
            found[name] = text
    if not families:
        return study
    return study.model_copy(update={"evaluators": found, "family": {**families, **study.family}})


def _prompts(given: object) -> list[str] | None:
    """Return the prompts that an argument stands for if they are several, else none; None if none fit."""
    listed = [*map(str, given)] if isinstance(given, tuple) else [given] if "*" in str(given) else []
    found: dict[str, None] = {}
    for text in map(str, listed):
        path = Path(text)
        of_files = sorted(map(str, path.parent.glob(path.name))) if "*" in text else [text]
        named = fitting(text, bundled_prompts()) or of_files
        if not named:
            return None
        found |= dict.fromkeys(named)
    return list(found)


def families_of(study: Study, names: Collection[str]) -> dict[str, list[str]]:
    """Return the members of each family of a study, by the names of its evaluators.

    `StudyError` is raised for a pattern that fits none, and for a family of fewer than three.
    """
    found = {}
    for family, patterns in study.family.items():
        members: dict[str, None] = {}
        for at, pattern in enumerate(patterns):
            named = fitting(pattern, names)
            if not named:
                sentence = unknown("there is no evaluator", pattern, names, "there are")
                raise study.error(sentence, "family", family, at)
            members |= dict.fromkeys(named)
        if len(members) < FEWEST_MEMBERS:
            raise study.error(few_members(family, members), "family", family)
        found[family] = list(members)
    if study.interval == "total" and not found:
        raise study.error("members of families have total intervals, and there is no family", "interval")
    return found


def few_members(family: str, members: Collection[str]) -> str:
    """Return the sentence that refuses a family of fewer than `FEWEST_MEMBERS`."""
    return (
        f"the family {family!r} has {counted(len(members), 'member')} ({', '.join(members)}); it takes "
        f"{FEWEST_MEMBERS}, as fewer do not say how far others would differ: add one, or leave the family out"
    )
