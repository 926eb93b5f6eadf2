"""The tables of recommenders and of the calibration link of a study, by the names of their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.spec import EvaluatorSpec
from metaeval.kinds.exposure.calibration.groups import LogGroup, groups_of
from metaeval.kinds.exposure.calibration.link import link
from metaeval.kinds.exposure.calibration.scores import judge_scores
from metaeval.kinds.exposure.calibration.transport import TransportErrors, audit
from metaeval.kinds.exposure.files import CALIBRATION, POINTS, RECOMMENDERS, TRANSPORT
from metaeval.kinds.exposure.recommenders.sums import LogPart, Recommended
from metaeval.kinds.exposure.recommenders.values import recommenders_frame
from metaeval.stats.off_policy.terms import Estimator
from metaeval.stats.resampling.bootstrap import bootstrap
from metaeval.stats.resampling.cluster_sums import ClusterSums
from metaeval.stats.resampling.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.exposure.calibration.scores import JudgeScores
    from metaeval.kinds.exposure.propensity.propensities import Propensities
    from metaeval.kinds.exposure.study import ExposureStudy
    from metaeval.kinds.scored import Scored
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Resampler

_HITS = 5  # hits of a recommender in a group, below which its target there says nothing
_NAIVE = Estimator("naive")


@one_thread()
def calibration_tables(scored: Scored[ExposureStudy], given: Propensities) -> dict[str, pd.DataFrame]:
    """Measure recommenders, map every judge's scores of them to that, and audit the maps.

    Returns
    -------
    dict
        Name of a file → its table; empty if the data set has no lists of recommenders.
    """
    study, data = scored.study, scored.data
    of = Recommended.of(data, given, study.recommenders, study.propensity.least)
    if of is None or not of.systems:
        return {}
    how = study.bootstrap
    values = recommenders_frame(of, how, refits=study.propensity.refits, tests=study.tests is not None)
    judges = {
        name: scores
        for name, scores in judge_scores(of, scored.scores.frame).items()
        if EvaluatorSpec.parse(study.specs[name]).name != "System"  # it would be mapped to itself
    }
    links, points = _links(of, judges, values, how)
    tables = {RECOMMENDERS: values, CALIBRATION: links, POINTS: points}
    if study.margin is not None and how is not None:
        tables[TRANSPORT] = _audits(of, judges, values, study, how)
    return {name: table for name, table in tables.items() if len(table)}


def _targets(of: Recommended, values: pd.DataFrame) -> Iterator[tuple[str, Estimator, Ints]]:
    """Yield the measures and estimators that judges are mapped to, and which systems are not refused."""
    plain = values[values["clip"].isna() & values["trim"].isna()]
    for measure in of.options.measures:
        for estimator in of.options.every:
            if estimator.name != "naive" and estimator == Estimator(estimator.name):
                own = plain[
                    (plain["measure"] == f"{measure}@{of.options.k}") & (plain["estimator"] == estimator.name)
                ]
                known = own["value"].notna().to_numpy()
                yield measure, estimator, np.flatnonzero(known)


def _some(statistic: ClusterSums, systems: Ints) -> ClusterSums:
    return ClusterSums(statistic.by_cluster[:, systems], statistic.of_sums)


def _links(
    of: Recommended, judges: Mapping[str, JudgeScores], values: pd.DataFrame, how: Bootstrap | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    n = len(of.users)
    resampler = how.resampler(n) if how else None
    rows: list[dict[str, Any]] = []
    points = []
    for measure, estimator, systems in _targets(of, values):
        target = _some(of.statistic(measure, estimator), systems)
        target_ends = _ends(target, resampler)
        for name, scores in judges.items():
            score = _some(scores.statistic(), systems)
            found = link(score, target, n, resampler)
            about = {"evaluator": name, "measure": f"{measure}@{of.options.k}", "estimator": estimator.name}
            rows.append(
                {
                    **about,
                    **found.spearman.row("spearman"),
                    **found.kendall.row("kendall"),
                    **found.r2.row("r2"),
                    "n_systems": int((~np.isnan(found.x + found.y)).sum()),
                    "n_refused": len(of.systems) - len(systems),
                    "n_outside": found.outside if found.why is None else np.nan,
                    "reason": found.why.reason.value if found.why else "",
                    "detail": found.why.text if found.why else "",
                }
            )
            score_ends = _ends(score, resampler)
            frame = {
                "system": [of.systems[s] for s in systems],
                "score": found.x,
                "score_low": score_ends[0],
                "score_high": score_ends[1],
                "target": found.y,
                "target_low": target_ends[0],
                "target_high": target_ends[1],
                "fitted": found.fitted,
                "predicted": found.predicted,
                "outside": np.isnan(found.predicted) & ~np.isnan(found.fitted),
                "reason": found.why.reason.value if found.why else "",
            }
            points.append(pd.DataFrame(frame).assign(**about))
    both = pd.concat(points, ignore_index=True) if points else pd.DataFrame()
    return pd.DataFrame(rows), both


def _ends(statistic: ClusterSums, resampler: Resampler | None) -> tuple[Floats, Floats]:
    n = statistic.by_cluster.shape[1]
    if resampler is None or not n:
        return np.full(n, np.nan), np.full(n, np.nan)
    found = bootstrap(statistic, resampler, stretch=False)
    return found.low, found.high


def _audits(
    of: Recommended,
    judges: Mapping[str, JudgeScores],
    values: pd.DataFrame,
    study: ExposureStudy,
    how: Bootstrap,
) -> pd.DataFrame:
    """Audit the maps to the first measure, group by group."""
    resampler, margin = how.resampler(len(of.users)), study.margin
    groups = [g for by in study.transport for g in groups_of(of.data, of.given.of, by)]
    rows = []
    for measure, estimator, systems in _targets(of, values):
        if measure != of.options.measures[0] or margin is None:
            continue
        for group in groups:
            rest = _target(of, measure, estimator, systems, group.within.others)
            own = _target(of, measure, estimator, systems, group.within)
            for name, scores in judges.items():
                errors = TransportErrors(
                    _some(scores.statistic(~group.units), systems),
                    rest,
                    _some(scores.statistic(group.units), systems),
                    own,
                )
                rows.append(
                    _audit_row(of, errors, group, margin, resampler, systems)
                    | {"evaluator": name, "measure": f"{measure}@{of.options.k}", "estimator": estimator.name}
                )
    frame = pd.DataFrame(rows)
    first = ["evaluator", "measure", "estimator"]
    return frame[[*first, *(c for c in frame if c not in first)]] if len(frame) else frame


def _target(
    of: Recommended, measure: str, estimator: Estimator, systems: Ints, within: LogPart
) -> ClusterSums:
    """Return targets within a group, undefined for a recommender with hardly any hit there."""
    found = _some(of.statistic(measure, estimator, within), systems)
    hits = of.by_user(of.given, "Recall", _NAIVE, within)[0, systems].sum(axis=1)
    blank = np.where(hits >= _HITS, 0.0, np.nan)[:, None]
    return ClusterSums(found.by_cluster, lambda sums: found.of_sums(sums) + blank)


def _audit_row(  # noqa: PLR0917 - one group of `_audits`
    of: Recommended,
    errors: TransportErrors,
    group: LogGroup,
    margin: float,
    resampler: Resampler,
    systems: Ints,
) -> dict[str, Any]:
    found = audit(errors, margin, resampler)
    return {
        "by": group.by,
        "group": group.name,
        "outcome": found.outcome.value,
        "system": of.systems[systems[found.system]] if found.system >= 0 else "",
        "error": found.error,
        "error_low": found.low,
        "error_high": found.high,
        "margin": margin,
        "n_systems": found.n_systems,
        "n_outside": found.n_outside,
        "reason": found.reason,
    }
