"""Ablations: variants of a judge, one argument changed at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from metaeval.base.errors import SpecError, unknown
from metaeval.base.spec import EvaluatorSpec
from metaeval.base.validation import Line, Strict
from metaeval.kinds.registry import ShortNames
from metaeval.kinds.study import Study


class Ablation(Strict):
    """What is changed of a judge, and how often each variant is asked."""

    base: Line
    """The name of the judge among the evaluators."""
    vary: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    """Argument → the values that it takes in turn; all others stay as they are."""
    repeats: Annotated[int, Field(ge=1, description="1 or more")] = 1
    """How often each variant is asked; a repeat has replies of its own (the argument ``replicate``)."""

    def variants(self, spec: EvaluatorSpec) -> Iterator[Variant]:
        """Yield the judge itself, and then each variant of its spec.

        Raises `SpecError` if a value cannot stand in a spec.
        """
        yield Variant("", "", self._repeated(self.base, spec, {}))
        for argument, values in self.vary.items():
            for value in values:
                name = f"{self.base}, {argument} {_said(value)}"
                yield Variant(argument, _said(value), self._repeated(name, spec, {argument: value}))

    def _repeated(self, name: str, spec: EvaluatorSpec, changed: Mapping[str, Any]) -> dict[str, str]:
        found = {}
        for n in range(self.repeats):
            repeat = {"replicate": n} if n else {}
            of_repeat = EvaluatorSpec(spec.name, spec.args, {**spec.kwargs, **changed, **repeat})
            found[f"{name}, repeat {n + 1}" if n else name] = str(of_repeat)
        return found


@dataclass(frozen=True, slots=True)
class Variant:
    """A judge with one argument changed, or none."""

    argument: str
    value: str
    specs: Mapping[str, str]
    """Name of each repeat → its spec."""


def variants_of(study: Study, ablations: Sequence[Ablation]) -> Iterator[tuple[str, str]]:
    """Yield name and spec of every variant that the ablations add."""
    names = ShortNames(study.specs)
    for at, ablation in enumerate(ablations):
        if ablation.base not in study.specs:
            sentence = unknown("there is no evaluator", ablation.base, study.specs, "there are")
            raise study.error(sentence, "ablations", at, "base")
        try:
            for variant in ablation.variants(names[ablation.base]):
                yield from variant.specs.items()
        except SpecError as error:
            raise study.error(str(error), "ablations", at) from error


def _said(value: object) -> str:
    if isinstance(value, list | tuple):
        return " + ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
