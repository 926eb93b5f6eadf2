"""Paired tests of every two evaluators, by any statistic and by their correlation with the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import one_of
from metaeval.base.frames import html_heading, html_table
from metaeval.base.records import AVERAGE
from metaeval.base.validation import ByKey, Count, Line, Options, Seed, Share
from metaeval.engine.alignment.policy import Coefficient
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.board import Cell
from metaeval.engine.order.ranks import Ranks, ranks_of
from metaeval.stats.coefficients.grouped import pearson
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.coefficients.tables import Floats, GroupSums, squarable
from metaeval.stats.resampling.cluster_sums import Stack, WithAverage
from metaeval.stats.resampling.paired import AspectScores, Paired, paired_permutation
from metaeval.stats.resampling.significance import benjamini_hochberg, holm, williams
from metaeval.stats.resampling.weights import Swaps
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from metaeval.base.records import ScoreTable
    from metaeval.stats.resampling.cluster_sums import Statistic

_MOST = 200_000  # permutations at most, however many pairs there are


class Tests(Options):
    """How evaluators are tested against each other: swapped scores, corrected p-values."""

    permutations: Count = 10_000
    swap: ByKey = None
    correction: Literal["holm", "bh", "none"] = "holm"
    alpha: Share = 0.05
    seed: Seed = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparisons:
    """Paired tests of E evaluators against each other, for one cell of a board.

    Matrices have shape (E, E): a row's evaluator against a column's, NaN where there is nothing to test.
    """

    by: Cell
    evaluators: tuple[str, ...]
    difference: Floats
    p: Floats
    """Two-sided p-values of single tests."""
    p_greater: Floats
    """One-sided: that the row's evaluator is the better."""
    p_corrected: Floats
    """Two-sided, corrected over all pairs."""
    p_williams: Floats
    """Williams' test, two-sided, which takes units as independent; NaN where it does not apply."""
    half: Floats
    """Half the width of the difference's interval at 1 − alpha, by the jackknife; symmetric."""
    policy: Mapping[str, Any]
    """What was swapped, how often, and the correction; ``higher_is_better``, if it is not; ``ranks``."""

    NUMBERS: ClassVar = ("difference", "p", "p_greater", "p_holm", "p_bh", "p_williams", "ci_low", "ci_high")
    """The columns of `frame` that hold numbers."""

    @property
    def ranks(self) -> Ranks:
        """The ranks that evaluators may have, and who may be the best."""
        return Ranks.of_record(self.policy["ranks"])

    @property
    def higher_is_better(self) -> bool:
        """Whether higher estimates are better."""
        return bool(self.policy.get("higher_is_better", True))

    @property
    def frame(self) -> pd.DataFrame:
        """A row per pair, the better evaluator first; p-values single and corrected by both methods."""
        first, second = np.triu_indices(len(self.evaluators), 1)
        better = 1 if self.higher_is_better else -1
        swap = better * self.difference[first, second] < 0
        first, second = np.where(swap, second, first), np.where(swap, first, second)
        p, difference, half = (m[first, second] for m in (self.p, self.difference, self.half))
        names = np.array(self.evaluators, dtype=object)
        return pd.DataFrame(
            {
                "first": names[first],
                "second": names[second],
                **self.by,
                "difference": difference,
                "p": p,
                "p_greater": self.p_greater[first, second],
                "p_holm": holm(p),
                "p_bh": benjamini_hochberg(p),
                "p_williams": self.p_williams[first, second],
                "ci_low": difference - half,
                "ci_high": difference + half,
            }
        )

    def __repr__(self) -> str:
        pairs = counted(len(self.evaluators) * (len(self.evaluators) - 1) // 2, "pair")
        return f"<Comparisons by {', '.join(self.by.values())}: {pairs} of evaluators>"

    def _repr_html_(self) -> str:
        """Show a notebook the first pairs."""
        facts = {
            "by": ", ".join(self.by.values()),
            "evaluators": len(self.evaluators),
            "correction": self.policy["correction"],
        }
        return html_heading("Paired tests", facts) + html_table(self.frame)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame, policy: Mapping[str, Any]) -> Comparisons:
        """Make what gave a `frame` of it again; ``policy`` is what was done to get it."""
        names = tuple(policy["evaluators"])
        at = {name: i for i, name in enumerate(names)}
        first, second = (frame[c].map(at).to_numpy(dtype=np.int64) for c in ("first", "second"))

        def matrix(column: str, mirrored: Callable[[Floats], Floats] = lambda values: values) -> Floats:
            found = np.full((len(names), len(names)), np.nan)
            values = frame[column].to_numpy(dtype=np.float64)
            found[first, second], found[second, first] = values, mirrored(values)
            return found

        corrected = {"holm": "p_holm", "bh": "p_bh", "none": "p"}[policy["correction"]]
        return cls(
            policy["by"],
            names,
            matrix("difference", np.negative),
            matrix("p"),
            matrix("p_greater", lambda p: np.full_like(p, np.nan)),  # of the worse it was not kept
            matrix(corrected),
            matrix("p_williams"),
            (matrix("ci_high") - matrix("ci_low")) / 2,
            policy,
        )


class Tested(NamedTuple):
    """What is known of evaluators before it is corrected for the number of tests."""

    paired: Paired
    p_williams: Floats
    means: Sequence[Statistic | None]
    """The last value of each is what evaluators are ranked by; None for one that is not compared."""


def comparisons(
    by: Cell,
    evaluators: Sequence[str],
    test: Callable[[Swaps], Tested],
    tests: Tests,
    *,
    swap: str,
    n_clusters: int,
    corrected_with: int = 0,
    swapped: str = "",
    about: ScoreTable | None = None,
    higher_is_better: bool = True,
) -> Comparisons:
    """Choose the permutations of paired tests, test, correct for the number of tests, and rank.

    Parameters
    ----------
    swap, n_clusters
        What is swapped, and how many of them there are.
    swapped
        What changes places within them; standardized scores, if left out.
    about
        Scores, which say what each evaluator is; without, none is the baseline.
    """
    n = len(evaluators)
    pairs = n * (n - 1) // 2
    # With Holm's correction no pair of many is significant if p cannot be small enough. Few clusters can be
    # swapped in so few ways that more permutations do not help.
    least = 2.0 ** (1 - n_clusters)
    together = max(pairs, corrected_with)
    useful = tests.correction == "holm" and together * least <= tests.alpha
    needed = math.ceil(2 * together / tests.alpha) if useful else 0
    swaps = Swaps(n_clusters, max(tests.permutations, min(_MOST, needed)), tests.seed)
    found, p_williams, means = test(swaps)
    made: dict[str, Any] = {"permutations": swaps.n, "least_p": max(1 / (swaps.n + 1), least)}
    if found.made_by != "permutations":
        made = {"made_by": found.made_by, "least_p": 0.0}
    facts = {"alpha": tests.alpha, "cluster": swap, "n_clusters": n_clusters, "seed": tests.seed}
    ranks, half = ranks_of(
        *(evaluators, means, _corrected(found.p, "holm"), facts),
        about=about,
        higher_is_better=higher_is_better,
    )
    return Comparisons(
        by,
        tuple(evaluators),
        found.difference,
        found.p,
        found.p_greater if higher_is_better else found.p_greater.T,
        _corrected(found.p, tests.correction),
        p_williams,
        half,
        {
            "swap": swap,
            **({"swapped": swapped} if swapped else {}),
            **made,
            "correction": tests.correction,
            "alpha": tests.alpha,
            "pairs": int((~np.isnan(found.p[np.triu_indices(n, 1)])).sum()) or pairs,
            "n_clusters": n_clusters,
            "seed": tests.seed,
            "by": dict(by),
            "evaluators": list(evaluators),
            "ranks": ranks.record(),
            **({} if higher_is_better else {"higher_is_better": False}),
        },
    )


def _corrected(p: Floats, correction: str) -> Floats:
    """Correct the p-values of pairs, each of which stands in a symmetric matrix twice."""
    if correction == "none":
        return p
    upper = np.triu_indices(len(p), 1)
    found = np.full_like(p, np.nan)
    found[upper] = (holm if correction == "holm" else benjamini_hochberg)(p[upper])
    found.T[upper] = found[upper]
    return found


class OrderBy(Options):
    """The column that orders the leaderboard and is tested; the average at the first level, if left out."""

    called = "order_by"
    aspect: Line | None = None
    level: Line | None = None
    coefficient: Coefficient | None = None


def correlation_cell(aspect: str = AVERAGE, level: str = "dataset", coefficient: str = "pearson") -> Cell:
    """Return a cell of correlations."""
    return {"aspect": aspect, "level": level, "coefficient": coefficient}


def compare_prepared(
    data: Prepared,
    by: Cell,
    tests: Tests,
    *,
    corrected_with: int = 0,
    about: ScoreTable | None = None,
) -> Comparisons:
    """Test the evaluators of aligned data by one column of a leaderboard.

    ``corrected_with`` says of how many tests these are a part, if the p-values are to be corrected with those
    of others: so many permutations are made that the correction leaves something.

    Raises `MetaevalError` if the data have no such aspect or level, or nothing to swap by.
    """
    places = aspects_of(by, data.aspects)
    swap = data.cluster_name(tests.swap)
    clusters = data.clusters(swap)
    return comparisons(
        by,
        data.evaluators,
        lambda swaps: _tested(data, by, places, clusters, swaps),
        tests,
        swap=swap,
        n_clusters=clusters.n,
        corrected_with=corrected_with,
        about=about,
    )


def aspects_of(by: Cell, aspects: Sequence[str]) -> list[int]:
    """Return the places of the aspects that a cell is made of; `MetaevalError` if there is no such aspect."""
    one_of(by["aspect"], [*aspects, AVERAGE], "there is no aspect", "aspects")
    return [*range(len(aspects))] if by["aspect"] == AVERAGE else [aspects.index(by["aspect"])]


def _tested(data: Prepared, by: Cell, aspects: list[int], clusters: Clusters, swaps: Swaps) -> Tested:
    """Test all pairs at once if all scored the same units, else each pair on the units that both have."""
    n = len(data.evaluators)
    some = [e for e, name in enumerate(data.evaluators) if name not in data.apart]
    masks = None if data.mask is None else data.mask[np.ix_(some, aspects)]
    if masks is None or (masks == masks[:1]).all():
        groups = [some]
    else:
        groups = [[i, j] for i in some for j in some if j < i]
    found = Paired.empty(n)
    p_williams = np.full((n, n), np.nan)
    for group in groups:
        scored = [scored_alike(data, group, a, by["level"], clusters) for a in aspects]
        tested = paired_permutation(scored, by["coefficient"], swaps, undefined=data.policy.undefined)
        at = np.ix_(group, group)
        for whole, part in (
            (found.difference, tested.difference),
            (found.p, tested.p),
            (found.p_greater, tested.p_greater),
        ):
            whole[at] = part
        found = replace(found, made_by=tested.made_by)
        if len(scored) == 1:
            p_williams[at] = _williams(scored[0], by, len(group))

    means = [mean_of(data, by, [e], clusters) if e in some else None for e in range(n)]
    return Tested(found, p_williams, means)


def mean_of(data: Prepared, by: Cell, evaluators: Sequence[int], clusters: Clusters) -> Statistic:
    """Return a statistic whose last value is the cell of an evaluator, or of the mean of several.

    The scores of several are standardised first, on the units that all of them have.
    """
    statistics = []
    for a in aspects_of(by, data.aspects):
        scored = scored_alike(data, evaluators, a, by["level"], clusters)
        if len(scored) > 1:
            scores = np.stack([s.x for s in scored])
            spread = scores.std(axis=1, keepdims=True)
            standard = (scores - scores.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
            scored = [replace(scored[0], x=standard.mean(axis=0))]
        statistics.append(scored[0].comparable(by["coefficient"], data.policy.undefined))
    return averaged(statistics)


def averaged(of_aspects: Sequence[Statistic]) -> Statistic:
    """Return a statistic whose last value is the mean over aspects."""
    return WithAverage(Stack(of_aspects))


def scored_alike(
    data: Prepared, evaluators: Sequence[int], aspect: int, level: str, clusters: Clusters
) -> list[AspectScores]:
    """Return the scores of evaluators on the units that all of them have, for one aspect and level."""
    units = slice(None) if data.mask is None else data.mask[evaluators, aspect].all(axis=0)
    g = data.groupings[level]
    grouping = Grouping(g.group[units].astype(np.int64), g.n_groups, g.between)
    of_units = Clusters(clusters.of_unit[units], clusters.n)
    truth = squarable(data.truth[aspect])
    y = ((truth - truth.mean()) / (truth.std() or 1.0))[units]
    return [AspectScores(squarable(data.scores[e, aspect, units]), y, grouping, of_units) for e in evaluators]


def _williams(scored: Sequence[AspectScores], by: Cell, n: int) -> Floats:
    """Return Williams' p-values of Pearson's r over all units, or of the means of generators."""
    found = np.full((n, n), np.nan)
    if by["coefficient"] != "pearson" or by["level"] not in ("dataset", "generator") or not scored:
        return found
    columns = [_points(s) for s in scored]
    own = [pearson(x, y) for x, y in columns]
    for i, (x, y) in enumerate(columns):
        for j, (z, other) in enumerate(columns[:i]):
            if len(x) == len(z) and np.array_equal(y, other):
                test = williams(own[i], own[j], pearson(x, z), len(x))
                found[i, j] = found[j, i] = float(test.p)
    return found


def _points(s: AspectScores) -> tuple[Floats, Floats]:
    """Return what is correlated: the units, or the means of groups."""
    if not s.grouping.between:
        return s.x, s.y
    x, y = (GroupSums.of(v, s.grouping.group, s.grouping.n_groups).means() for v in (s.x, s.y))
    there = ~np.isnan(x)
    return x[there], y[there]
