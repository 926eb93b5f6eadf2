"""Ablations: variants of a judge, one argument changed at a time, each compared with the judge as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.special import stdtrit

from metaeval.base.spec import EvaluatorSpec
from metaeval.base.validation import Line, Strict
from metaeval.kinds.relevance.agreement import SHARES, Shares
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.stats.resampling.multiplicity import holm
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.weights import Swaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.engine.comparison import Tests
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.relevance.agreement import PairAgreement


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


def ablation_frame(
    ablation: Ablation,
    of: PairAgreement,
    specs: Mapping[str, str],
    intervals: Bootstrap | None,
    tests: Tests | None,
) -> pd.DataFrame:
    """Compare variants of a judge with the judge itself, on pairs of relevant and non-relevant items.

    Returns
    -------
    DataFrame
        A row per variant, the judge itself first: ``base``, ``evaluator``, ``argument``, ``value_of``; the
        shares of pairs, all repeats together, and their ``…_change`` against the judge, with intervals;
        ``p`` of the change of agreement (paired tests that swap users, corrected by Holm);
        ``repeats_low`` and ``repeats_high``, the 95 % interval of their mean agreement (Student's t).
    """
    variants = list(ablation.variants(EvaluatorSpec.parse(specs[ablation.base])))
    shares = [of.shares(list(variant.specs)) for variant in variants]
    p = np.full(len(variants), np.nan)
    if tests and len(variants) > 1:
        sums = (one.by_cluster for one in shares)
        agreement = [mean_of(agree[None], pairs[None]) for agree, _, pairs in sums]
        p[1:] = holm(paired_test([agreement], Swaps(of.n_users, tests.permutations, tests.seed)).p[0, 1:])
    resampler = intervals.resampler(of.n_users) if intervals else None
    rows = []
    for variant, found, p_value in zip(variants, shares, p.tolist(), strict=True):
        row: dict[str, Any] = {"base": ablation.base, "evaluator": next(iter(variant.specs))}
        row |= {"argument": variant.argument, "value_of": variant.value}
        row |= found.cells(SHARES, resampler)
        row |= found.less(shares[0]).cells([f"{name}_change" for name in SHARES], resampler)
        rows.append(row | {"p": p_value} | _spread([of.shares([name]) for name in variant.specs]))
    return pd.DataFrame(rows)


def _said(value: object) -> str:
    if isinstance(value, list | tuple):
        return " + ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _spread(repeats: Sequence[Shares]) -> dict[str, float]:
    """Return the interval of the mean agreement of repeats; NaN of one alone."""
    n = len(repeats)
    values = np.array([one.cells(SHARES, None)[SHARES[0]] for one in repeats])
    half = float(stdtrit(n - 1, 0.975) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return {"repeats_low": float(values.mean()) - half, "repeats_high": float(values.mean()) + half}
