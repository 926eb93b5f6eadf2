"""The evaluators of a study: short names and ``Recorded('*')`` replaced, every spec checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from metaeval.base.errors import SpecError, nearest
from metaeval.base.records import DataSet
from metaeval.base.spec import EvaluatorSpec, parts_of
from metaeval.kinds.kind import Factory
from metaeval.kinds.registry import Given, build

if TYPE_CHECKING:
    from metaeval.kinds.study import Study


def resolve_evaluators(
    study: Study, data: DataSet, truth: EvaluatorSpec, known: Mapping[str, Factory]
) -> dict[str, EvaluatorSpec]:
    """Return the name and full spec of every evaluator of a study, in its order.

    ``Recorded('*')`` stands for every recorded evaluator of the data whose name fits and that the study does
    not name elsewhere, as evaluator or truth; each keeps its recorded name.
    """
    listed = study.evaluators
    items: list[tuple[str | int, str]] = (
        [*listed.items()] if isinstance(listed, dict) else [*enumerate(listed)]
    )
    specs: dict[str, EvaluatorSpec] = {}
    patterns: dict[str, list[str]] = {}
    names = recorded_names(data)
    for at, text in items:
        spec = _read(study, known, text, "evaluators", at)
        if why := holds_truth(spec, truth):
            raise study.error(why, "evaluators", at)
        name = at if isinstance(at, str) else str(spec)
        if (matching := _matching(spec, names)) is not None:
            patterns[name] = matching
            if not matching:
                hint = nearest(str(spec.args[0]), names)
                have = (
                    f" (recorded: {', '.join(names)})" if names else "; the data set has no recorded scores"
                )
                raise study.error(f"no recorded evaluator fits {spec}{hint}{have}", "evaluators", at)
        elif name in specs:
            message = f"{text!r} and an evaluator before it are both {name}; name it once"
            raise study.error(message, "evaluators", at)
        specs[name] = spec
    taken = {str(spec) for spec in specs.values()} | parts_of(truth)
    resolved: dict[str, EvaluatorSpec] = {}
    for name, spec in specs.items():
        if name not in patterns:
            resolved[name] = spec
        for recorded in patterns.get(name, ()):
            each = EvaluatorSpec("Recorded", (recorded,))
            if str(each) not in taken:
                taken.add(str(each))
                resolved[str(each) if recorded in specs or recorded in resolved else recorded] = each
    return resolved


def resolve_truth(study: Study, known: Mapping[str, Factory]) -> EvaluatorSpec:
    """Return the full spec of the truth."""
    return _read(study, known, study.truth, "truth")


def holds_truth(spec: EvaluatorSpec, truth: EvaluatorSpec) -> str:
    """Return a sentence if an evaluator is the truth, or made of it and others; else an empty text."""
    whole = parts_of(truth)
    if not whole <= parts_of(spec):
        return ""
    what = f"{spec} is" if parts_of(spec) == whole else f"{spec} holds"
    return (
        f"{what} the truth {truth}, and would agree with itself; leave it out of the evaluators, or choose "
        "another truth"
    )


def recorded_names(data: DataSet) -> list[str]:
    """Return the names of the recorded evaluators, in the order of the data."""
    return [] if data.scores is None else [str(n) for n in data.scores["evaluator"].unique()]


def _read(study: Study, known: Mapping[str, Factory], text: str, *where: str | int) -> EvaluatorSpec:
    short = study.evaluators if isinstance(study.evaluators, dict) else {}
    names: dict[str, Given] = {**short, **study.held.evaluators}
    try:
        return build(text, names, known, study.models).spec
    except SpecError as error:
        cut = text.count("(") != text.count(")") or text.count("'") % 2
        hint = "; put a spec that has a comma in quotes" if cut else ""
        raise study.error(f"{error}{hint}", *where) from error


def _matching(spec: EvaluatorSpec, names: list[str]) -> list[str] | None:
    """Return the recorded evaluators that a ``Recorded`` with a star stands for; None if it is no pattern."""
    match spec:
        case EvaluatorSpec(name="Recorded", args=(str() as text,)) if "*" in text and text not in names:
            pattern = re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)
            return [name for name in names if pattern.fullmatch(name)]
        case _:
            return None
