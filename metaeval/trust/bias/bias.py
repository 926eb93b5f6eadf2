"""A bias of judges, declared once: what is measured, which numbers are tested, and its sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from metaeval.base.keys import author_key, key_columns, nouns_of
from metaeval.base.records import AVERAGE, FIRST, SECOND, TIE, Scale, Status
from metaeval.engine.alignment.aligned import Aligned, Bools, align
from metaeval.engine.sheet import Column, Form, Sheet
from metaeval.evaluators.verdicts import NO_VERDICT, WINNERS, comparisons_of, pair_keys
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Estimate, Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import Statistic, WithAverage, summed, with_average
from metaeval.stats.resampling.paired import sign_test
from metaeval.stats.weighted.sums import Clusters


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
        return Sheet(
            self.name, self.title, frame, tuple(shown), tuple(self.notes(found, results)), about=ABOUT
        )


ABOUT = ("judge", "other")
"""The columns of sheets that name judges."""


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


_OTHERS = "\x00others"  # no evaluator has this name
_MOST = 0.8  # share of the units that further people must have rated
_VALUES = np.array([{TIE: 0.5, FIRST: 1.0, SECOND: 0.0, "": np.nan}[winner] for winner in WINNERS])
"""The points of a pair's first text, by the code of the winner."""
SHOWN = ["shown_first", "shown_second"]
"""The columns with the points of a pair's first text in either order."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedUnits:
    """Scores of E judges and the truth, for A aspects and U units; missing values stay NaN."""

    judges: tuple[str, ...]
    aspects: tuple[str, ...]
    scores: Floats
    """Shape (E, A, U)."""
    truth: Floats
    """Shape (A, U)."""
    cluster: Ints
    """Shape (U,): the cluster of each unit, numbered by name."""
    n_clusters: int
    generator: Ints
    """Shape (U,): position of the unit's generator; 0 if generators are not known."""
    generators: tuple[str, ...]
    """Empty if they are not known."""
    length: Floats | None = None
    """Shape (U,): characters of the text; NaN without a text. None if lengths are not known."""
    second: Floats | None = None
    """Shape (A, U): mean rating of people who are in neither the truth nor the judges. None if too few units
    have one."""
    scale: Scale | None = None
    rates: frozenset[str] = field(default_factory=frozenset)
    """Judges whose scores are ratings on the truth's scale."""

    @classmethod
    def matched(
        cls,
        scores: pd.DataFrame,
        truth: pd.DataFrame,
        judges: Sequence[str],
        *,
        cluster: str = "",
        called: Mapping[str, str] | None = None,
        length: pd.DataFrame | None = None,
        second: pd.DataFrame | None = None,
        scale: Scale | None = None,
        rates: frozenset[str] = frozenset(),
    ) -> JudgedUnits:
        """Match scores (key columns, ``evaluator``, ``aspect``, ``score``) with the truth; else `DataError`.

        The rows of the truth (key columns, ``aspect``, ``rating``) say which units and aspects there are.
        ``cluster`` is the key column whose values are resampled whole (the first, if left out); ``called``
        maps key columns to nouns; ``length`` has key columns and ``length``, ``second`` the ratings of
        further people, which are averaged by unit and aspect. The others are as the fields.
        """
        asked = scores[scores["evaluator"].isin(list(judges))]
        if second is not None:
            # Aligned as if they were the scores of one more judge.
            by = [*key_columns(asked), "aspect"]
            means = second.groupby(by, sort=False, observed=True)["rating"].mean().reset_index(name="score")
            ok = {"status": Status.OK.value} if "status" in asked else {}
            asked = pd.concat([asked, means.assign(evaluator=_OTHERS, **ok)], ignore_index=True)
        found = align(asked, truth, [])
        by_name = {k: _numbered(found.labels[k], found.keys[k]) for k in found.keys}
        who = cluster or next(iter(by_name))
        clusters, names = by_name[who]
        generator, generators = by_name.get(
            author_key(called or nouns_of(by_name)), (np.zeros_like(clusters), ())
        )
        places = [found.evaluators.index(name) for name in judges]
        return cls(
            tuple(judges),
            tuple(found.aspects),
            found.scores[places],
            found.truth,
            clusters,
            len(names),
            generator,
            generators,
            None if length is None else _lengths(length, by_name),
            _covering(found, places) if _OTHERS in found.evaluators else None,
            scale,
            rates,
        )

    @property
    def rows(self) -> list[str]:
        """The aspects, then the average if there are two or more."""
        return [*self.aspects, AVERAGE] if len(self.aspects) > 1 else list(self.aspects)

    @property
    def doublings(self) -> Floats | None:
        """The binary logarithm of each text's length, shape (U,); None if lengths are not known."""
        return None if self.length is None else np.log2(np.where(self.length > 0, self.length, np.nan))

    def of(self, judge: str) -> Floats:
        """Return the scores of a judge, shape (A, U)."""
        scores: Floats = self.scores[self.judges.index(judge)]
        return scores

    def rated(self, judge: str) -> Bools:
        """Return which units have a score of the judge and a rating of the truth, shape (A, U)."""
        both: Bools = ~np.isnan(self.of(judge) + self.truth)
        return both

    def by_cluster(self, values: Floats, use: Bools) -> Floats:
        """Sum values over the units in use, both of shape (A, U), to shape (A, n_clusters)."""
        return summed(values, use, self.cluster, self.n_clusters)


def _covering(found: Aligned, places: Sequence[int]) -> Floats | None:
    """Return the ratings of other people, if most units that are scored and rated have them."""
    ratings = found.scores[found.evaluators.index(_OTHERS)]
    used = ~np.isnan(found.truth) & ~np.isnan(found.scores[list(places)]).all(axis=0)
    enough = (~np.isnan(ratings) & used).sum(axis=1) >= _MOST * used.sum(axis=1)
    return ratings if enough.all() and used.any() else None


def _numbered(labels: pd.Index[Any], codes: Ints) -> tuple[Ints, tuple[str, ...]]:
    """Return numbers by name, so that draws do not depend on the order of rows, and the names."""
    names, of_unit = np.unique(labels.astype(str).to_numpy(dtype=object)[codes], return_inverse=True)
    return of_unit, tuple(map(str, names))


def _lengths(length: pd.DataFrame, by_name: Mapping[str, tuple[Ints, tuple[str, ...]]]) -> Floats:
    named = list(by_name)
    units = pd.DataFrame({k: np.array(names, dtype=object)[codes] for k, (codes, names) in by_name.items()})
    known = length[[*named, "length"]].astype(dict.fromkeys(named, str)).drop_duplicates(named)
    return units.astype(str).merge(known, on=named, how="left")["length"].to_numpy(dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class VerdictPairs:
    """The verdicts of one judge on one aspect, one row per pair with an answer in both orders."""

    judge: str
    aspect: str
    frame: pd.DataFrame
    """Key columns of the pair, and the points of its first text when ``shown_first`` and ``shown_second``."""
    n_left_out: int
    """Pairs without an answer in both orders."""
    cluster: str = ""
    """The key column whose values are resampled whole; default: the first."""

    def clusters(self) -> Clusters:
        """Return the cluster of each pair, numbered by name."""
        column = self.frame[self.cluster or self.frame.columns[0]]
        names, codes = np.unique(column.astype(str).to_numpy(dtype=object), return_inverse=True)
        return Clusters(codes, len(names))


def pairs_of(verdicts: pd.DataFrame, cluster: str = "") -> list[VerdictPairs]:
    """Match the two orders of each pair, by evaluator and aspect; `DataError` if verdicts are not valid.

    ``verdicts`` are described in `metaeval.evaluators.verdicts`; ``cluster`` is the key column whose values
    are resampled whole (the first, if left out).
    """
    both = comparisons_of(verdicts)
    keys = [*pair_keys(verdicts), "first", "second"]
    answered = (both[SHOWN] != NO_VERDICT).all(axis=1)
    for column in SHOWN:
        both[column] = _VALUES[both[column].to_numpy()]
    found = []
    for (judge, aspect), own in both.groupby(["evaluator", "aspect"], sort=False, observed=True):
        usable = own[answered[own.index]]
        frame = usable.sort_values(keys, kind="stable", ignore_index=True)[[*keys, *SHOWN]]
        left_out = len(own) - len(usable)
        found.append(VerdictPairs(str(judge), str(aspect), frame, left_out, cluster))
    return found


def totals(values: Sequence[ArrayLike], clusters: Clusters) -> Floats:
    """Sum values of pairs by cluster, each to shape (1, n_clusters)."""
    rows = np.asarray(values, dtype=np.float64)
    return summed(rows, np.ones(rows.shape, dtype=bool), clusters.of_unit, clusters.n)[:, None]
