"""Whether people agree, and what each rater adds to it: what any judge is to be measured by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import noun
from metaeval.base.records import USER_RATER, Kind, Scale, Status
from metaeval.engine.sheet import Column, Sheet, table
from metaeval.kinds.details import made_of
from metaeval.runs.command import aspects_in
from metaeval.stats.agreement.raters import alpha_sums
from metaeval.stats.coefficients.grouped import pearson
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap, each
from metaeval.stats.resampling.cluster_sums import mean_of_defined, ratio
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, TOO_FEW
from metaeval.stats.weighted.sums import Clusters, Matrix, by_cluster, dense, in_blocks
from metaeval.trust.escalation import confidence_of, unlike

if TYPE_CHECKING:
    from metaeval.kinds.kind import Scored


_TENTATIVE, _RELIABLE = 0.667, 0.8
NOT_SHOWN = "are not shown to agree on single units"
CONTRADICT = "contradict each other, as if rows or raters were mixed up"
"""What is said of people who agree no more, or less, than by chance."""
"""The alphas from which on conclusions are tentative, and reliable (Krippendorff 2004)."""
_RESAMPLES = 2_000


class _Gain:
    """Alpha without a rater, less alpha of all."""

    def __init__(self, ratings: Floats, panel: Panel, left_out: int) -> None:
        labels = len(panel.scale.labels)
        rest = np.delete(ratings, left_out, axis=0)
        self.all = alpha_sums(ratings, panel.cluster, panel.n_clusters, labels)
        self.rest = alpha_sums(rest, panel.cluster, panel.n_clusters, labels)

    def at(self, weights: Floats) -> Floats:
        """Return the difference under columns of weights, shape (1, columns)."""
        return self.rest.at(weights) - self.all.at(weights)


def raters_sheets(panels: Iterable[Panel], resampler: Resampler) -> list[Sheet | None]:
    """Say for each aspect whether people agree, and what each rater adds.

    Parameters
    ----------
    panels
        Of several evaluators; the people of one aspect are looked at once, in the panel that has most.
    """
    most: dict[str, Panel] = {}
    for panel in panels:
        if panel.aspect not in most or len(panel.people) > len(most[panel.aspect].people):
            most[panel.aspect] = panel
    fewer = resampler.at_most(_RESAMPLES)
    agree = [_agreement(panel, fewer) for panel in most.values()]
    rows = [row for panel in most.values() if len(panel.people) > 2 for row in _rows(panel, fewer)]
    return [
        table("people-agree", "Do people agree?", agree, several(_AGREE, agree), *_ALPHA, about=()),
        table("raters", "What each rater adds", rows, several(_RATERS, rows), *_NOTES, about=()),
    ]


_AGREE = (
    Column("aspect", "Aspect"),
    Column("verdict", "Verdict", keep=True),
    Column("alpha", "α", "hundredths", "alpha_low", "alpha_high"),
    Column("people", "People", "count"),
    Column("n_units", "Units", "count"),
)
_RATERS = (
    Column("aspect", "Aspect"),
    Column("rater", "Rater"),
    Column("with_others", "With the others", "hundredths"),
    Column("gain", "α gains without", "decimal", "gain_low", "gain_high"),
    Column("n_units", "Units", "count"),
)
_ALPHA = (
    "α: Krippendorff's, of intervals, or nominal for words; `metaeval details` has the ordinal one, × 100.",
    f"By its lower end, people agree well from {_RELIABLE:g} on, enough to conclude from {_TENTATIVE:g} on.",
)
_NOTES = (
    "With the others: Pearson's r with their mean; for words, the share of their labels that are equal.",
    "A rater without whom α gains, with an interval above 0, lowers the truth.",
)


def several(columns: Sequence[Column], rows: Sequence[dict[str, Any]]) -> tuple[Column, ...]:
    """Return columns without the aspect, if all rows are of one."""
    one = len({row["aspect"] for row in rows}) == 1
    return tuple(c for c in columns if not (one and c.name == "aspect"))


def _agreement(panel: Panel, resampler: Resampler) -> dict[str, Any]:
    statistic = alpha_sums(panel.ratings, panel.cluster, panel.n_clusters, len(panel.scale.labels))
    [found] = each(bootstrap(statistic, resampler.of(panel.n_clusters), bounds=(-1.0, 1.0)))
    several = (~np.isnan(panel.ratings)).sum(axis=0) > 1
    if not np.isfinite(found.value):
        said = "cannot be compared: their ratings do not differ"
    elif not np.isfinite(found.low):
        said = f"{TOO_FEW}: they rated units of fewer than {FEWEST_CLUSTERS} clusters"
    elif found.low >= _RELIABLE:
        said = "agree well enough to measure a judge by"
    elif found.low >= _TENTATIVE:
        said = "agree enough for tentative conclusions"
    elif found.value >= _TENTATIVE:
        said = f"may agree enough, but there are too few labels to tell: α may be {found.low:.2f}"
    elif found.low > 0:
        said = "agree little, and more than by chance: a unit needs many labels"
    elif found.high >= 0:
        said = f"{NOT_SHOWN}: only means of many can measure a judge"
    else:
        said = CONTRADICT
    counts = {"people": len(panel.people), "n_units": int(several.sum())}
    return {"aspect": panel.aspect, "verdict": said, **found.row("alpha"), **counts}


def _rows(panel: Panel, resampler: Resampler) -> list[dict[str, Any]]:
    rows = []
    for j, rater in enumerate(panel.people):
        own, others = panel.ratings[j], np.delete(panel.ratings, j, axis=0)
        middle = mean_of_defined(others)
        both = ~np.isnan(own + middle)
        if panel.scale.labels:
            equal = np.where(np.isnan(others), np.nan, others == own)
            shared = float(mean_of_defined(mean_of_defined(equal)[both])) if both.any() else np.nan
        else:
            shared = float(pearson(own[both], middle[both])) if both.sum() > 1 else np.nan
        [gain] = each(bootstrap(_Gain(panel.ratings, panel, j), resampler.of(panel.n_clusters)))
        row = {"aspect": panel.aspect, "rater": rater, "with_others": shared, **gain.row("gain")}
        rows.append({**row, "n_units": int((~np.isnan(own)).sum())})
    return rows


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """An evaluator and the people who rated the same units, by one aspect."""

    evaluator: str
    aspect: str
    scale: Scale
    people: tuple[str, ...]
    ratings: Floats
    """Shape (people, units); NaN for none."""
    scores: Floats
    """Shape (units,); NaN for none."""
    cluster: Ints
    """Shape (units,), in ``range(n_clusters)``."""
    n_clusters: int
    unlike: str = ""
    """Why these units do not stand for all that the evaluator scored; empty if they do."""

    @property
    def on_scale(self) -> bool:
        """Whether the scores can be held against ratings one by one."""
        given = self.scores[~np.isnan(self.scores)]
        ends = given.size and given.min() >= self.scale.min and given.max() <= self.scale.max
        return bool(ends) and (not self.scale.labels or not (given % 1).any())


def panels(
    scored: Scored[Any],
    evaluators: Sequence[str] = (),
    aspects: Sequence[str] = (),
    cluster: str | None = None,
) -> Iterator[Panel]:
    """Yield each evaluator with all people whose ratings it does not hold, by aspect.

    Parameters
    ----------
    scored
        Of a finished run. People are its annotators, and the users where they are the truth.
    evaluators, aspects
        Those of the run that are wanted. If left out: the judges, or all but baselines and people where there
        are none; all aspects.
    cluster
        What units are clustered by, such as ``item``; the run's cluster, if left out.

    Raises
    ------
    MetaevalError
        For an unknown name, and if no unit has ratings of two people.
    """
    keys = [c for c in scored.truth.columns if c not in ("aspect", "rating")]
    by = {noun(key): key for key in keys}
    name = one_of(cluster or noun(scored.cluster), list(by), "units cannot be clustered by", "but by")
    rated = ratings_of_people(scored, keys)
    wanted = aspects_in(rated, aspects)
    raters = rated.groupby([*keys, "aspect"], observed=True)["rater"].nunique()
    if not (raters > 1).any():
        raise MetaevalError(
            "no unit of the run has ratings of two people, so nobody says how well people agree; a judge is "
            "held against one person's ratings by: metaeval calibrate RUN"
        )
    scores = scored.scores.frame
    scores = scores[scores["status"].eq(Status.OK.value) & scores["score"].notna()]
    for evaluator in _chosen(scored, evaluators):
        within = made_of(scored.study.specs[evaluator]).annotators
        own = scores[scores["evaluator"] == evaluator]
        for aspect in wanted:
            of_people = rated[(rated["aspect"] == aspect) & ~rated["rater"].isin(within)]
            table = of_people.pivot_table("rating", keys, "rater", observed=True, sort=False)
            here = own[own["aspect"] == aspect]
            given = here.set_index(keys)["score"].reindex(table.index)
            codes, found = pd.factorize(table.index.get_level_values(by[name]))
            every = pd.MultiIndex.from_frame(here[keys])
            sure, source = confidence_of(scored, evaluator, scores[scores["aspect"] == aspect], keys, every)
            of_all, clusters = pd.factorize(here[by[name]])
            yield Panel(
                evaluator,
                aspect,
                scored.scale.of(aspect),
                tuple(map(str, table.columns)),
                table.to_numpy(dtype=np.float64).T,
                given.to_numpy(dtype=np.float64),
                codes.astype(np.int64),
                len(found),
                unlike(
                    every.isin(table.index[table.notna().sum(axis=1) > 1]),
                    sure if source else here["score"].to_numpy(dtype=np.float64),
                    Clusters(of_all.astype(np.int64), len(clusters)),
                ),
            )


def ratings_of_people(scored: Scored[Any], keys: Sequence[str]) -> pd.DataFrame:
    """Return all ratings of people, with the users' where these are the truth."""
    columns = [*keys, "aspect", "rater", "rating"]
    tables = [] if scored.raters is None else [scored.raters[columns]]
    if scored.study.truth == "User()":
        tables.append(scored.truth.assign(rater=USER_RATER)[columns])
    found = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
    return found[found["rating"].notna()].drop_duplicates([*keys, "aspect", "rater"])


def _chosen(scored: Scored[Any], wanted: Sequence[str]) -> list[str]:
    known, kinds = list(scored.scores.evaluators), scored.scores.kinds
    if wanted:
        return [one_of(name, known, "the run has no evaluator") for name in wanted]
    judges = [name for name in known if kinds.get(name) == Kind.JUDGE]
    people: Collection[Kind] = (Kind.BASELINE, Kind.ANNOTATOR)
    return judges or [name for name in known if kinds.get(name) not in people]


_LEAST = 10
"""Units that two must have in common to be compared."""
_MOST = 2**24
"""Numbers by pair and cluster; more people than this allows are not compared in pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class PanelAgreement:
    """Mean agreement of a judge with people, of people among themselves, and the difference.

    The agreement of two is Pearson's r, or Cohen's κ of words, from sums by cluster of the units that both
    rated. Each person's agreement is the mean over the others; people's is the mean over persons.
    """

    by_cluster: Matrix
    """Shape (sums · pairs, clusters)."""
    pairs: Ints
    """Shape (pairs, 2): positions among the people; -1 is the judge."""
    labels: int
    """Number of words; 0 for numbers."""

    def at(self, weights: Floats) -> Floats:
        """Return judge, people, and judge − people under columns of weights, shape (3, columns)."""
        return in_blocks(self._at, weights, self.by_cluster.shape[0])

    def _at(self, weights: Floats) -> Floats:
        of_judge, of_people = self.by_person(weights)
        judge, people = mean_of_defined(of_judge), mean_of_defined(of_people)
        return np.stack([judge, people, judge - people])

    def by_person(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return each person's agreement with the judge, and with the others, shape (people, columns)."""
        pairs = len(self.pairs)
        sums = dense(self.by_cluster @ weights).reshape(-1, pairs, weights.shape[1])
        of_pair = _kappa(sums, self.labels) if self.labels else _pearson(sums)
        n = self.pairs.max() + 1
        found = np.full((2, n, weights.shape[1]), np.nan)
        judged = self.pairs[:, 0] < 0
        found[0, self.pairs[judged, 1]] = of_pair[judged]
        for j in range(n):
            found[1, j] = mean_of_defined(of_pair[~judged & (self.pairs == j).any(axis=1)])
        return found[0], found[1]


def _pearson(sums: Floats) -> Floats:
    n, x, y, xx, yy, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        r = (n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y))
    return np.where(np.isfinite(r), r, np.nan)


def _kappa(sums: Floats, k: int) -> Floats:
    table = sums.reshape(k, k, *sums.shape[1:])
    n = table.sum(axis=(0, 1))
    same = np.einsum("ii...->...", table)
    crossed = (table.sum(axis=0) * table.sum(axis=1)).sum(axis=0)
    return 1.0 - ratio((n - same) * n, n * n - crossed)


def agreement_of(panel: Panel, resampler: Resampler, margin: float) -> dict[str, Any] | None:
    """Return a row on the agreement of a judge and people; None if it cannot be measured."""
    found = _panel_agreement(panel)
    if found is None:
        return None
    values = bootstrap(
        found, resampler.at_most(_RESAMPLES).of(panel.n_clusters), bounds=((-1, 1), (-1, 1), (-2, 2))
    )
    judge, people, difference = each(values)
    of_people = found.by_person(np.ones((panel.n_clusters, 1)))[1][:, 0]
    of_people = of_people[~np.isnan(of_people)]
    decided = "yes" if difference.low > -margin else "no" if difference.high < -margin else "undecided"
    spread = float(of_people.std(ddof=1)) if of_people.size > 2 else 0.0
    return {
        "measure": "κ" if found.labels else "r",
        **judge.row("judge"),
        **people.row("people"),
        **difference.row("difference"),
        "z": difference.value / spread if spread > 0 else np.nan,
        "non_inferior": decided,
    }


def _panel_agreement(panel: Panel) -> PanelAgreement | None:
    values = np.vstack([panel.ratings, panel.scores])
    there = ~np.isnan(values)
    n, judge = len(panel.ratings), len(panel.ratings)
    labels = len(panel.scale.labels)
    if labels and not panel.on_scale:
        return None
    pairs = [(a, b) for a, b in combinations(range(n + 1), 2) if (there[a] & there[b]).sum() >= _LEAST]
    of_judge = sum(b == judge for _, b in pairs)
    size = max(labels * labels, 6) * len(pairs) * panel.n_clusters
    if not of_judge or of_judge == len(pairs) or size > _MOST * 8:
        return None
    clusters = Clusters(panel.cluster, panel.n_clusters)
    parts = [_sums(values[a], values[b], there[a] & there[b], labels, clusters) for a, b in pairs]
    ordered = np.array([(-1, a) if b == judge else (a, b) for a, b in pairs])
    return PanelAgreement(np.stack(parts, axis=1).reshape(-1, panel.n_clusters), ordered, labels)


def _sums(x: Floats, y: Floats, use: NDArray[np.bool_], labels: int, clusters: Clusters) -> Floats:
    """Return the sums of two by cluster, shape (sums, clusters)."""
    some = clusters.take(use)
    a, b = x[use], y[use]
    if labels:
        return dense(by_cluster(np.ones(len(a)), (a * labels + b).astype(np.int64), labels**2, some))
    a, b = a - a.mean(), b - b.mean()
    moments = np.stack([np.ones(len(a)), a, b, a * a, b * b, a * b])
    return dense(by_cluster(moments, np.zeros(len(a), dtype=np.int64), 1, some))
