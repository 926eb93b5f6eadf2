"""A bias of judges, declared once: what is measured, which numbers are tested, and its sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from metaeval.engine.sheet import Column, Form, Sheet
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import Estimate, Resampler, Statistic, bootstrap
from metaeval.stats.resampling.cluster_sums import WithAverage, with_average
from metaeval.stats.resampling.paired import sign_test
from metaeval.trust.bias.units import JudgedUnits, VerdictPairs


@dataclass(frozen=True, slots=True, eq=False)
class Measured(Estimate[Floats]):
    """Estimates of each aspect, then their mean (if there are several), shape (A + 1,), with p-values."""

    p: Floats
    """Two-sided; NaN where nothing is tested."""


def measured(
    statistic: Statistic,
    resampler: Resampler,
    contributions: Floats | None = None,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Measured:
    """Estimate a statistic with a value per aspect, and its mean over the aspects, and test them.

    ``contributions`` are what each cluster adds to the tested statistic, shape (A, n_clusters), zero in the
    mean without a bias; None for no test.
    """
    estimate = bootstrap(WithAverage(statistic), resampler, bounds=bounds)
    p = np.full(len(estimate.value), np.nan)
    if contributions is not None:
        p = sign_test(with_average(contributions), resampler.swaps)
    return Measured(estimate.value, estimate.low, estimate.high, estimate.n, p)


Source: TypeAlias = "Callable[[Any], object] | str"
"""Where the cells of a column come from: a function of a result, or one of its attributes."""
Part: TypeAlias = tuple[Column, Source]


class BiasQuestion(NamedTuple):
    """The number that is tested for a bias."""

    bias: str
    number: str
    above: str
    """The words for a number significantly above ``none``, and below it."""
    below: str
    none: float = 0.0
    """The number without the bias."""


class TestedNumber(NamedTuple):
    """A number to be tested; of pairwise verdicts, of an aspect."""

    judge: str
    aspect: str
    question: BiasQuestion
    numbers: Measured


@dataclass(frozen=True, eq=False)
class BiasData:
    """What biases are measured on."""

    units: JudgedUnits | None = None
    """Scores and truth; None if there are only verdicts."""
    pairs: tuple[VerdictPairs, ...] = ()
    """Verdicts of pairwise judges."""
    truth: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Of the texts of the verdicts: key columns, ``aspect`` and ``rating``."""
    length: pd.DataFrame | None = None
    """Of these texts: key columns and ``length``; None if lengths are not known."""
    generators: tuple[str, ...] = ()
    """Of these texts."""
    signatures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Judge → its signature: those that differ in ``prompt`` alone are wordings, those that differ in
    ``replicate`` alone are repetitions of one judge."""
    families: Mapping[str, str | None] = field(default_factory=dict)
    """Judge or generator → its family of models, or None."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Judge → rank on the leaderboard; empty without one."""
    clustered_by: str = "user"
    """The noun for a cluster."""
    resamples: int = 10_000
    """Of the bootstrap, and of the random signs of the tests."""
    seed: int = 0

    @cached_property
    def scored(self) -> Sequence[tuple[JudgedUnits, Resampler]]:
        """The units and the resampler of their clusters, if there are scores."""
        if self.units is None:
            return ()
        return ((self.units, Resampler(self.units.n_clusters, self.resamples, self.seed)),)

    @property
    def judges(self) -> Iterator[tuple[JudgedUnits, str, Resampler]]:
        """Each judge whose scores are measured, with what it is measured on."""
        for units, resampler in self.scored:
            yield from ((units, judge, resampler) for judge in units.judges)

    @property
    def draws(self) -> dict[str, int]:
        """The options of a resampler of the clusters of verdicts."""
        return {"resamples": self.resamples, "seed": self.seed}


class Test(NamedTuple):
    """One tested number of one judge."""

    judge: str
    bias: str
    number: str
    aspect: str
    """Of pairwise verdicts; empty for scores, whose mean over aspects is tested."""
    estimate: float
    ci_low: float
    ci_high: float
    p: float
    p_holm: float
    found: str
    """The result in words."""
    has_bias: bool


@dataclass(frozen=True, eq=False)
class Biases:
    """All that was measured."""

    data: BiasData
    results: Mapping[str, Sequence[Any]]
    """Name of a bias → its results; none where the data do not allow it."""
    tests: Sequence[Test] = ()


@dataclass(frozen=True, eq=False)
class Bias:
    """A bias; `metaeval.trust.bias.biases.BIASES` lists all."""

    name: str
    """Of its sheet."""
    title: str
    measure: Callable[[BiasData], Iterable[Any]]
    """The results: one per judge or pair of judges."""
    asked: Callable[[Sequence[Any]], Iterable[TestedNumber]]
    """The numbers of the results that are tested."""
    parts: Sequence[Part] | Callable[[BiasData], Sequence[Part]]
    """The columns of its sheet."""
    notes: Callable[[Biases, Sequence[Any]], Iterable[str]]
    beside: Callable[[Any], Iterable[tuple[str, str, Measured]]]
    """Judge, column and number beside the leaderboard (`metaeval.trust.bias.biases.BESIDE`)."""

    def sheet(self, found: Biases) -> Sheet | None:
        """Return its sheet; None without results. Columns without a value, or of one aspect, are not printed.

        A result with an ``aspect`` has one row; others have a row per aspect, and one of their mean.
        """
        data, results = found.data, found.results[self.name]
        parts = self.parts(data) if callable(self.parts) else self.parts
        aspects = data.units.rows if data.units else []
        rows = [
            (result, at, aspect)
            for result in results
            for at, aspect in enumerate([result.aspect] if hasattr(result, "aspect") else aspects)
        ]
        cells = [{k: v for part in parts for k, v in _cells(*row, *part).items()} for row in rows]
        if not cells:
            return None
        frame = pd.DataFrame(cells)
        shown = [c for c, _ in parts if c.title and frame[c.name].notna().any()]
        if len(set(frame["aspect"])) == 1:
            shown = [c for c in shown if c.name != "aspect"]
        return Sheet(self.name, self.title, frame, tuple(shown), tuple(self.notes(found, results)))


def part(name: str, title: str, form: Form = "text", source: Source = "") -> Part:
    """Return a column, by default of the attribute of its name; without a title it is not printed."""
    return Column(name, title, form), source or name


def number(name: str, title: str, form: Form = "number", source: Source = "") -> Part:
    """Return a column of numbers with intervals."""
    return Column(name, title, form, f"{name}_ci_low", f"{name}_ci_high"), source or name


JUDGE = part("judge", "Judge")
FIRST_JUDGE = part("judge", "Judge", source=lambda result: result.judges[0])
ASPECT = part("aspect", "Aspect")
UNITS = part("n_units", "Units", "count", lambda result: np.append(result.n_units, result.n_units.sum()))
PAIRS = part("n_pairs", "Pairs", "count")


def _cells(result: object, at: int, aspect: str, column: Column, source: Source) -> dict[str, object]:
    if column.name == "aspect":
        return {"aspect": aspect}
    value = source(result) if callable(source) else attrgetter(source)(result)
    if column.low:
        numbers = (value.value, value.low, value.high) if isinstance(value, Measured) else ()
        ends = [float(v[at]) for v in numbers] or [np.nan] * 3
        return dict(zip((column.name, column.low, column.high), ends, strict=True))
    if isinstance(value, np.ndarray):
        return {column.name: value[at].item() if at < len(value) else None}
    return {column.name: value}
