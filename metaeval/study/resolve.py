"""The evaluators of a study: short names put in, ``Recorded('*')`` spelt out, every spec built once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from metaeval import evaluators
from metaeval.errors import SpecError, nearest
from metaeval.spec import EvaluatorSpec

if TYPE_CHECKING:
    from metaeval.study.file import Study
    from metaeval.types import ExplanationSet


def resolve_evaluators(study: Study, data: ExplanationSet) -> dict[str, EvaluatorSpec]:
    """Return the name and full spec of every evaluator of a study, in its order.

    ``Recorded('*')`` stands for every recorded evaluator of the data whose name fits and that is not
    named elsewhere in the study; each goes by its recorded name.

    Raises
    ------
    StudyError
        If a spec cannot be read or built, or a pattern fits nothing; with its line.
    """
    listed = study.evaluators
    items: list[tuple[str | int, str]] = (
        [*listed.items()] if isinstance(listed, dict) else [*enumerate(listed)]
    )
    found: dict[str, EvaluatorSpec] = {}
    patterns: dict[str, EvaluatorSpec] = {}
    for at, text in items:
        spec = _read(study, text, "evaluators", at)
        name = at if isinstance(at, str) else str(spec)
        if _pattern(spec, data) is not None:
            patterns[name] = spec
        elif name in found:
            raise study.error(
                f"{text!r} and an evaluator before it are both {name}; name it once", "evaluators", at
            )
        found[name] = spec
    taken = {str(spec) for spec in found.values()}
    out: dict[str, EvaluatorSpec] = {}
    for (at, _), (name, spec) in zip(items, found.items(), strict=True):
        if name not in patterns:
            out[name] = spec
            continue
        matching = _matching(spec, data)
        if not matching:
            known = recorded_names(data)
            hint = nearest(str(spec.args[0]), known)
            have = (
                f" (recorded: {', '.join(known[:12])})" if known else "; the data set has no recorded scores"
            )
            raise study.error(f"no recorded evaluator fits {spec}{hint}{have}", "evaluators", at)
        for recorded in matching:
            each = EvaluatorSpec("Recorded", (recorded,))
            if str(each) not in taken:
                taken.add(str(each))
                out[str(each) if recorded in found or recorded in out else recorded] = each
    return out


def resolve_truth(study: Study) -> EvaluatorSpec:
    """Return the full spec of the truth.

    Raises
    ------
    StudyError
        If it cannot be read or built.
    """
    return _read(study, study.truth, "truth")


def recorded_names(data: ExplanationSet) -> list[str]:
    """Return the names of the recorded evaluators, in the order of the data."""
    return [] if data.scores is None else [str(n) for n in data.scores["evaluator"].unique()]


def _read(study: Study, text: str, *where: str | int) -> EvaluatorSpec:
    names = study.evaluators if isinstance(study.evaluators, dict) else {}
    try:
        return evaluators.build(text, names).spec
    except SpecError as error:
        cut = text.count("(") != text.count(")") or text.count("'") % 2
        hint = "; put a spec that has a comma in quotes" if cut else ""
        raise study.error(f"{error}{hint}", *where) from error


def _pattern(spec: EvaluatorSpec, data: ExplanationSet) -> re.Pattern[str] | None:
    """Return what a ``Recorded`` with a star fits, unless the star is in the name of a recorded evaluator."""
    match spec:
        case EvaluatorSpec(name="Recorded", args=(str() as text,)) if "*" in text:
            if text in recorded_names(data):
                return None
            return re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)
        case _:
            return None


def _matching(spec: EvaluatorSpec, data: ExplanationSet) -> list[str]:
    pattern = _pattern(spec, data)
    return [n for n in recorded_names(data) if pattern is not None and pattern.fullmatch(n)]


def unknown_word(what: str, word: str, known: list[str]) -> str:
    """Return the sentence for a word that the data set does not know."""
    return f"the data set has no {what} {word!r}{nearest(word, known)} (it has: {', '.join(known[:12])})"
