"""The link from a judge's scores of recommenders to their Recall: rank correlations and a monotone map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import DataError, one_of, sound
from metaeval.base.progress import progress
from metaeval.base.records import FIRST, SECOND
from metaeval.base.spec import EvaluatorSpec
from metaeval.data.tables.columns import number_column
from metaeval.data.tables.table import read_table
from metaeval.engine.sheet import Column, columns
from metaeval.kinds.exposure.data.log_set import ITEM, KEYS, MATCHING, USER, WEIGHT
from metaeval.kinds.exposure.propensity.tables import intervals_sentence
from metaeval.kinds.exposure.recommenders.sums import Recommended, some
from metaeval.kinds.exposure.recommenders.values import RECOMMENDERS
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.kind import CONTRARY, SEEN, Ordering
from metaeval.kinds.table import KindTable
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.off_policy.estimators import Estimator
from metaeval.stats.regression.isotonic import isotonic, left_out, r_squared
from metaeval.stats.resampling.bootstrap import NOTHING, Estimate, Resampler, each, estimated
from metaeval.stats.resampling.cluster_sums import ClusterSums, Statistic, mean_of
from metaeval.stats.resampling.significance import holm
from metaeval.stats.resampling.weights import one_thread
from metaeval.stats.weighted.statistic import coefficients_of_means

ONLINE = "online"
"""What stands for the estimator of values that were measured online."""
LEAST = 5
"""Recommenders from which a map is fitted."""
_FITTED = 500  # resamples at most in which maps are fitted again
_CEILING = 0.99  # of a target that is at most 1
_EQUAL = 1e-12
_LEVEL = 0.05
NoLink: TypeAlias = Literal["few_systems", "saturated_target", "flat_target", "flat_score"]
"""Why there is no map."""
BY = columns("text", evaluator="Evaluator", measure="Measure", estimator="Estimator")
POINTS = KindTable(
    "calibration_points.csv",
    "",
    (*BY, *columns("text", system="", outside="", reason="")),
    lambda scored: scored.once(fit_links)[1],
)


def preferences(runs: pd.DataFrame, system: str, units: pd.DataFrame) -> Floats:
    """Return which item of each unit a recommender ranks higher: 1 the first, -1 the second, 0 neither.

    What a list does not have ranks below all that it has.
    """
    ranks = runs[runs["system"].astype("str") == system].set_index([USER, ITEM])["rank"].astype(np.float64)
    first, second = (
        ranks.reindex(pd.MultiIndex.from_frame(units[[USER, side]])).fillna(np.inf).to_numpy()
        for side in (FIRST, SECOND)
    )
    return (first < second).astype(np.float64) - (first > second)


@dataclass(frozen=True, slots=True, eq=False)
class JudgeScores:
    """Verdicts of pairs by a judge and by every recommender, and the RJS that comes of them.

    A recommender's score is its RJS with the judge, Σ w s j / Σ w over the judge's verdicts: w is the weight
    of the pair, s and j are 1, -1 or 0 as each prefers the item shown first, the other, or neither. It is
    2 · PairAUC - 1, where a tie counts as half right.
    """

    verdicts: Floats
    """Of the judge, by unit: 1, -1, 0; NaN where there is none."""
    systems: Floats
    """Of the recommenders, shape (systems, units)."""
    weight: Floats
    user: Ints
    """The place of each unit's user among those of `Recommended.users`; -1 for a user without a list."""
    n_users: int

    def statistic(self, units: NDArray[np.bool_] | None = None) -> ClusterSums:
        """Return the score of each recommender, as a function of user weights; of some units, if named."""
        used = ~np.isnan(self.verdicts) & (self.user >= 0)
        if units is not None:
            used &= units
        at, w = self.user[used], self.weight[used]
        agreed = w * self.verdicts[used] * self.systems[:, used]
        above = np.stack([np.bincount(at, one, self.n_users) for one in agreed]).astype(np.float64)
        below = np.bincount(at, w, self.n_users).astype(np.float64)
        return mean_of(above, np.broadcast_to(below, above.shape))


def judge_scores(recommended: Recommended, scores: pd.DataFrame) -> dict[str, JudgeScores]:
    """Return the verdicts of every evaluator, in the order of ``scores``, beside those of recommenders.

    ``scores`` has key columns, ``evaluator`` and ``score``, whose sign is the verdict.
    """
    units, runs = recommended.data.table, recommended.runs
    weight = units[WEIGHT].to_numpy(np.float64)
    if np.isnan(weight).any():  # pairs that came without weights count alike
        weight = np.ones(len(units))
    names = recommended.log.users[recommended.users]
    user = names.get_indexer(pd.Index(units[USER].astype("str")))
    systems = np.stack([preferences(runs, system, units) for system in recommended.systems])
    # Pairs that ablations match otherwise are not of the study's own.
    own = (units[MATCHING] == "").to_numpy() if MATCHING in units else np.ones(len(units), dtype=bool)
    keys = pd.MultiIndex.from_frame(units[[*KEYS]])
    judges = {}
    for name, rows in scores.groupby("evaluator", sort=False, observed=True):
        verdicts = np.sign(rows.set_index([*KEYS])["score"].reindex(keys).to_numpy(np.float64))
        judges[str(name)] = JudgeScores(np.where(own, verdicts, np.nan), systems, weight, user, len(names))
    return judges


@dataclass(frozen=True, slots=True, eq=False)
class OfBoth:
    """A number of a judge's scores of S recommenders and of their targets, both functions of user weights."""

    score: Statistic
    target: Statistic
    of: Callable[[Floats, Floats], Floats]
    """Scores and targets, shape (S, columns) each → values, shape (values, columns)."""
    smooth: ClassVar = False

    def at(self, weights: Floats) -> Floats:
        """Return the values under each column of weights, shape (values, columns)."""
        return self.of(self.score.at(weights), self.target.at(weights))


def orders_kept(x: Floats, y: Floats) -> Floats:
    """Return Spearman's ρ and Kendall's τ-b of each column, shape (2, columns)."""
    there = ~np.isnan(x + y)
    x, y = np.where(there, x, 0.0), np.where(there, y, 0.0)
    slack = (_EQUAL * float(np.abs(x).max(initial=0)), _EQUAL * float(np.abs(y).max(initial=0)))
    return coefficients_of_means(x, y, there, slack, ["spearman", "kendall"])


def out_of_fold(x: Floats, y: Floats) -> Floats:
    """Return R² of the map, each recommender predicted by a map of the others, shape (1, columns)."""
    return r_squared(y, left_out(x, y))[None]


@dataclass(frozen=True, slots=True, eq=False)
class Online:
    """What recommenders reached online: values that no user of the log changes."""

    values: Floats
    """Shape (systems,)."""
    smooth: ClassVar = True

    def at(self, weights: Floats) -> Floats:
        """Return the values, shape (systems, columns)."""
        return np.broadcast_to(self.values[:, None], (len(self.values), weights.shape[1]))


def online_values(path: Path, systems: Sequence[str]) -> pd.DataFrame:
    """Read one's own online values: a row per recommender, ``system``, and a column per number.

    `DataError` is raised if a recommender is unknown or comes twice, or a cell is no number.
    """
    table = sound(read_table(path))
    if "system" not in table.frame or len(table.frame.columns) < 2:
        raise DataError(f"{path.name} needs a column 'system' and one or more columns of numbers")
    names, named = table.frame["system"].astype(str), [str(c) for c in table.frame if c != "system"]
    for name in names[names.duplicated()]:
        raise DataError(f"{path.name} has {name!r} twice; give one row per recommender")
    for name in names:
        one_of(name, systems, f"{path.name}: no recommender that can be measured is called")
    numbers = {c: sound(number_column(table, c)) for c in named}
    return pd.DataFrame(numbers, index=pd.Index(names))


class Link(NamedTuple):
    """What a judge's scores say of a target; coefficients are undefined where there is no map."""

    x: Floats
    y: Floats
    predicted: Floats
    """Predicted by the others; NaN for a score out of their range."""
    fitted: Floats
    """By the map of all; NaN if there is none."""
    spearman: Estimate[float] = NOTHING
    kendall: Estimate[float] = NOTHING
    r2: Estimate[float] = NOTHING
    reason: NoLink | Literal[""] = ""
    detail: str = ""
    """A sentence on the reason, with its numbers."""


@one_thread()
def link(score: Statistic, target: Statistic, n_users: int, resampler: Resampler | None) -> Link:
    """Fit targets on scores, of the same recommenders and users, shape (systems,) each.

    The resampler draws users, for both at once; None for no intervals.
    """
    ones = np.ones((n_users, 1))
    x, y = score.at(ones)[:, 0], target.at(ones)[:, 0]
    if why := _why_not(x, y, score, target, resampler):
        nothing = np.full(len(x), np.nan)
        return Link(x, y, nothing, nothing, reason=why[0], detail=why[1])
    there = ~np.isnan(x + y)
    fitted = np.where(there, isotonic(x[there], y[there])(np.nan_to_num(x)), np.nan)
    fewer = resampler.at_most(_FITTED) if resampler else None
    orders, r2 = (
        estimated(OfBoth(score, target, of), n_users, how, bounds=(least, 1.0), stretch=False)
        for of, how, least in ((orders_kept, resampler, -1.0), (out_of_fold, fewer, -np.inf))
    )
    spearman, kendall, fit = *each(orders), *each(r2)
    return Link(x, y, left_out(x[:, None], y[:, None])[:, 0], fitted, spearman, kendall, fit)


def _why_not(
    x: Floats, y: Floats, score: Statistic, target: Statistic, resampler: Resampler | None
) -> tuple[NoLink, str] | None:
    there = ~np.isnan(x + y)
    n = int(there.sum())
    if n < LEAST:
        return "few_systems", f"{n} recommenders have a score and a target (at least {LEAST})"
    full = 0 if isinstance(target, Online) else int((y[there] >= _CEILING).sum())
    if full and 2 * full >= n:
        return "saturated_target", f"{full} of {n} targets are {_CEILING:g} or more"
    flat: tuple[tuple[NoLink, str, Floats, Statistic], ...] = (
        ("flat_target", "targets", y, target),
        ("flat_score", "the judge's scores", x, score),
    )
    for reason, what, values, statistic in flat:
        low, high = values[there].min(), values[there].max()
        if high - low <= _EQUAL or (resampler and not _differ(values, there, statistic, resampler)):
            return reason, f"{what} from {low:.4f} to {high:.4f} do not differ significantly"
    return None


def _differ(y: Floats, there: NDArray[np.bool_], statistic: Statistic, resampler: Resampler) -> bool:
    """Say whether the values of any two recommenders differ: z tests of bootstrap deviations, Holm."""
    from scipy.special import ndtr

    drawn = resampler.at_most(_FITTED).replicates(statistic)
    p = []
    for a, b in combinations(np.flatnonzero(there), 2):
        spread = float(np.nanstd(drawn[a] - drawn[b]))
        p.append(float(2 * ndtr(-abs(y[a] - y[b]) / spread)) if spread > 0 else float(y[a] == y[b]))
    return bool((holm(p) < _LEVEL).any())


def judged_scores(scored: ExposureScored) -> dict[str, JudgeScores]:
    """Return the scores of recommenders by each evaluator; not by one that is a recommender itself."""
    if scored.recommended is None:
        return {}
    specs, scores = scored.study.specs, judge_scores(scored.recommended, scored.scores.frame)
    return {e: own for e, own in scores.items() if EvaluatorSpec.parse(specs[e]).name != "System"}


def targets(recommended: Recommended, values: pd.DataFrame) -> Iterator[tuple[str, Estimator, Ints]]:
    """Yield the measures and estimators that judges are mapped to, and which systems are not refused."""
    plain = values[values["clip"].isna() & values["trim"].isna()]
    for measure, estimator in recommended.every:
        if estimator.name != "naive" and estimator == Estimator(estimator.name):
            named = plain["measure"] == f"{measure}@{recommended.options.k}"
            own = plain[named & (plain["estimator"] == estimator.name)]
            yield measure, estimator, np.flatnonzero(own["value"].notna().to_numpy())


def _goals(scored: ExposureScored, of: Recommended) -> Iterator[tuple[str, str, Ints, ClusterSums | Online]]:
    """Yield what judges are mapped to: the measure, the estimator, systems that have it, and their values."""
    for measure, estimator, systems in targets(of, scored.table(RECOMMENDERS)):
        target = some(of.statistic(measure, estimator), systems)
        yield f"{measure}@{of.options.k}", estimator.name, systems, target
    if (file := of.options.online) is not None:
        known = online_values(Path(file), of.systems).reindex(list(of.systems))
        for name, values in known.items():
            there = np.flatnonzero(values.notna().to_numpy())
            yield str(name), ONLINE, there, Online(values.to_numpy(np.float64)[there])


def fit_links(scored: ExposureScored) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Map every judge's scores of recommenders to each measure: a row per map, and one per recommender."""
    recommended, options = scored.recommended, scored.study.bootstrap
    rows: list[dict[str, Any]] = []
    points = [pd.DataFrame()]
    if recommended is None:
        return points[0], points[0]
    n, every = len(recommended.users), len(recommended.systems)
    resampler = options.resampler(n) if options else None
    with progress("recommenders"):
        for measure, estimator, systems, target in _goals(scored, recommended):
            target_ends = _ends(target, n, resampler)
            for name, judge in scored.once(judged_scores).items():
                score = some(judge.statistic(), systems)
                fit = link(score, target, n, resampler)
                outside = np.isnan(fit.predicted) & ~np.isnan(fit.fitted)
                about = {
                    "evaluator": name,
                    "measure": measure,
                    "estimator": estimator,
                }
                rows.append(
                    {
                        **about,
                        **fit.spearman.row("spearman"),
                        **fit.kendall.row("kendall"),
                        **fit.r2.row("r2"),
                        "n_systems": int((~np.isnan(fit.x + fit.y)).sum()),
                        "n_refused": 0 if estimator == ONLINE else every - len(systems),
                        "n_outside": np.nan if fit.reason else int(outside.sum()),
                        "reason": fit.reason,
                        "detail": fit.detail,
                    }
                )
                low, high = _ends(score, n, resampler)
                frame = {
                    "system": [recommended.systems[s] for s in systems],
                    "score": fit.x,
                    "score_low": low,
                    "score_high": high,
                    "target": fit.y,
                    "target_low": target_ends[0],
                    "target_high": target_ends[1],
                    "fitted": fit.fitted,
                    "predicted": fit.predicted,
                    "outside": outside,
                    "reason": fit.reason,
                }
                points.append(pd.DataFrame(frame).assign(**about))
    return pd.DataFrame(rows), pd.concat(points, ignore_index=True)


def _ends(
    statistic: ClusterSums | Online, n_users: int, resampler: Resampler | None
) -> tuple[Floats, Floats]:
    if isinstance(statistic, Online):
        nothing = np.full(len(statistic.values), np.nan)
        return nothing, nothing
    if not statistic.by_cluster.shape[1]:
        return np.empty(0), np.empty(0)
    estimate = estimated(statistic, n_users, resampler, stretch=False)
    return estimate.low, estimate.high


def _notes(scored: ExposureScored, frame: pd.DataFrame) -> Iterator[str]:
    yield (
        "A judge's score of a recommender is its RJS with the judge: the weighted share of pairs on which "
        "the two prefer the same item, minus the share on which they do not; ties count as half. R²: of "
        "isotonic regression, each recommender predicted by a map fitted to the others. Outside: "
        "recommenders with a score outside the range of the others; R² leaves them out."
    )
    yield "Propensities are fixed while users are resampled."
    if (frame["estimator"] == ONLINE).any():
        yield "Online: your own values, which are fixed, too: intervals are of the judges' scores alone."
    reasons = []
    for text, rows in frame[frame["detail"] != ""].groupby("detail", sort=False):
        judges = [str(judge) for judge in rows["evaluator"].unique()]
        of_all = len(judges) == frame["evaluator"].nunique()
        reasons.append(str(text) if of_all else f"{', '.join(judges)}: {text}")
    if reasons:
        yield f"No map: {'; '.join(reasons)}."
    yield intervals_sentence(scored.study, fitted=False)


CALIBRATION = KindTable(
    "calibration.csv",
    "From judges' scores of recommenders to their Recall and nDCG",
    (
        *BY,
        *(
            Column(name, title, "decimal", f"{name}_low", f"{name}_high")
            for name, title in (("spearman", "Spearman's ρ"), ("kendall", "Kendall's τ"), ("r2", "R²"))
        ),
        *columns("count", n_systems="Recommenders", n_refused="Refused", n_outside="Outside"),
        Column("reason", "No map because", "code"),
        Column("detail", ""),
    ),
    lambda scored: scored.once(fit_links)[0],
    _notes,
)


def ordering(scored: ExposureScored, names: Sequence[str]) -> Iterator[tuple[str, Ordering]]:
    """Yield how judges order recommenders: of the first measure, the values that are best known.

    Two are told apart by users, or by a judge, if the intervals of their values do not meet.
    """
    points = scored.table(POINTS)
    if points.empty:
        return
    first = points["measure"] == points["measure"].iloc[0]
    first &= points["estimator"] == points["estimator"].iloc[0]
    for name, own in points[first & points["evaluator"].isin(names)].groupby("evaluator", sort=False):
        one, other = np.triu_indices(len(own), 1)
        people, judge = (_apart(own, what)[one, other] for what in ("target", "score"))
        alike, contrary = int(((people == judge) & (people != 0)).sum()), int((people * judge < 0).sum())
        told = int((people != 0).sum())
        by = f"{own['measure'].iloc[0]}, {own['estimator'].iloc[0]}"
        usable: Literal["yes", "no", "unknown"] = "unknown"
        if told and contrary > CONTRARY * (alike + contrary):
            usable = "no"
        elif told and alike >= SEEN * told:
            usable = "yes"
        decides = f"it decides {alike} alike, {contrary} the other way"
        answer = f"of {told} pairs that users tell apart ({by}), {decides}"
        ranks = own.assign(rank=(_apart(own, "score") < 0).sum(axis=1) + 1).sort_values("rank")
        top = ", ".join(ranks.loc[ranks["rank"] == 1, "system"].astype(str))
        effect = f"by its verdicts the best may be {top}"
        yield str(name), Ordering("Does it order recommenders as users do?", answer, effect, usable)


def _apart(points: pd.DataFrame, what: str) -> Floats:
    """Return 1 where a row's interval lies above a column's, -1 where below, shape (systems, systems)."""
    low, high = (points[f"{what}_{end}"].to_numpy(np.float64)[:, None] for end in ("low", "high"))
    return np.asarray((low > high.T).astype(np.float64) - (high < low.T))
