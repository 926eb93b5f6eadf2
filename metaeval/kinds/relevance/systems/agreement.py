"""Agreement on the order of systems when an evaluator's labels replace those of the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.counts import few_of
from metaeval.base.spec import EvaluatorSpec, printed_name
from metaeval.engine.figure import BLUE, Figure, first_choices, largest
from metaeval.engine.sheet import Column, Sheet, interval_text
from metaeval.kinds.relevance.measures import MeasurePair
from metaeval.kinds.relevance.scored import RelevanceScored
from metaeval.kinds.relevance.systems.decisions import SYSTEMS
from metaeval.kinds.relevance.systems.effectiveness import Effectiveness
from metaeval.kinds.relevance.systems.systems import EVALUATOR, NOTES, PAIR, Orders, Systems, of_systems
from metaeval.kinds.table import KindTable
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.ranking.orders import (
    rank_biased_overlap,
    tau_ap,
    tau_ap_b,
    tau_of,
    tau_of_means,
    top_tau,
    weighted_kendall,
)
from metaeval.stats.regression.true_means import NoInterval, NoisyMeans, Normals, draw, interval_of_draws
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import ClusterSums
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.significance import holm
from metaeval.stats.resampling.weights import in_threads, one_thread

TOP = 10
"""τ among the top is that of so many systems, the best by the truth."""


LOW_COVERAGE, UNDEFINED = "low_coverage", "undefined"
"""Why there is no τ: the evaluator lacks labels of what the systems rank first, or all means are equal."""


def system_agreement(systems: Systems) -> pd.DataFrame:
    """Compare the order of the systems by each evaluator with that by the truth: see `agreement_of`."""
    return agreement_of(systems.orders)


@one_thread()
def agreement_of(orders: Orders) -> pd.DataFrame:
    """Compare the order of the systems by each evaluator, and by the truth itself, with that by the truth.

    The interval is that of τ between the means that very many users would give, as noise in means lowers τ:
    see `metaeval.stats.regression.true_means`. So τ itself can lie outside.
    ``n_users`` counts those labelled by both, ``n_own`` those by the evaluator; if none is labelled by both,
    the systems are ordered on other users. ``no_tau`` and ``no_interval`` say why there is none.
    """
    truth = orders.by_evaluator[orders.truth]
    parts = []
    for pair in orders.pairs:
        y, coverage = truth.means(pair.truth), orders.coverage.get(pair, {})

        def row(
            name: str, pair: MeasurePair = pair, y: Floats = y, coverage: Mapping[str, float] = coverage
        ) -> dict[str, object]:
            judge, covered = orders.by_evaluator[name], coverage.get(name, np.nan)
            x = judge.means(pair.judge)
            low, tau = covered < orders.least, tau_of(x, y)
            interval = TauInterval() if low else tau_interval(judge, truth, pair, orders.resampler)
            values = {
                "tau_corrected": interval.corrected,
                "ci_low": interval.low,
                "ci_high": interval.high,
                "tau": tau,
                "weighted_tau": weighted_kendall(x, y),
                "tau_ap": tau_ap(x, y),
                "tau_ap_b": tau_ap_b(x, y),
                "rbo": rank_biased_overlap(x, y),
                "tau_top": top_tau(x, y, TOP),
            }
            return {
                "evaluator": name,
                "measure": pair.judge,
                "truth_measure": pair.truth,
                **(dict.fromkeys(values, np.nan) if low else values),
                "no_tau": LOW_COVERAGE if low else UNDEFINED if np.isnan(tau) else "",
                "n_systems": len(x),
                "top": min(TOP, len(x)),
                "n_users": int((judge.users & truth.users).sum()),
                "n_own": int(judge.users.sum()),
                "coverage": covered,
                "no_interval": interval.reason,
            }

        frame = pd.DataFrame(list(in_threads(row, [orders.truth, *orders.others])))
        parts.append(frame.assign(p_best=_tests(orders, pair, frame)))
    return pd.concat(parts, ignore_index=True)


class TauInterval(NamedTuple):
    """τ between the means that very many users would give."""

    low: float = np.nan
    corrected: float = np.nan
    high: float = np.nan
    reason: str = ""
    """Why there is none; a `NoInterval`."""


def tau_interval(
    judge: Effectiveness, truth: Effectiveness, pair: MeasurePair, resampler: Resampler | None
) -> TauInterval:
    """Return the interval of one evaluator's τ, from as many draws as there are to be resamples."""
    if resampler is None:
        return TauInterval()
    noisy = _noisy_means(judge, truth, pair)
    normals = Normals.of(1, noisy.means.shape[1], resampler.resamples, resampler.seed)
    drawn = draw([noisy], normals)[0]
    if drawn.reason is not None:
        return TauInterval(reason=drawn.reason.value)
    taus = drawn.coefficients(["kendall"], normals.n)
    low, corrected, high = (float(v[0]) for v in interval_of_draws(taus, resampler.confidence))
    return TauInterval(low, corrected, high)


def _noisy_means(judge: Effectiveness, truth: Effectiveness, pair: MeasurePair) -> NoisyMeans:
    """Return the means of the systems by both, with the errors that users bring to both."""
    means, errors = [], []
    for side, measure in ((judge, pair.judge), (truth, pair.truth)):
        n, mean = side.counted.sum(axis=1), side.means(measure)
        apart = np.where(side.counted, side.of_user[measure] - mean[:, None], 0.0)
        means.append(mean)
        errors.append(apart / np.sqrt(np.maximum(1, n * (n - 1)))[:, None])
    n_clusters = min(int(side.users.sum()) for side in (judge, truth))
    return NoisyMeans.of_errors(np.stack(means), np.stack(errors), n_clusters)


def _tests(orders: Orders, pair: MeasurePair, frame: pd.DataFrame) -> Floats:
    """Test every evaluator against the one that keeps the order best: values are swapped user by user.

    They are swapped where both have labels: of the users that the truth judged or, of evaluators that order
    systems on others, of those.
    """
    taus, p = frame["tau"].where(frame["evaluator"] != orders.truth), np.full(len(frame), np.nan)
    if orders.resampler is None or taus.isna().all():
        return p
    truth, best = orders.by_evaluator[orders.truth], int(taus.argmax())
    judges, resampler = [orders.by_evaluator[name] for name in frame["evaluator"]], orders.resampler

    def test(i: int) -> float:
        both = judges[best].users & judges[i].users
        among = both & truth.users if (both & truth.users).any() else both
        if not among.any():
            return np.nan
        statistics = [_scaled_tau(judges[at], pair, truth.means(pair.truth), among) for at in (best, i)]
        return float(paired_test([statistics], resampler.of(int(among.sum())).swaps).p[0, 1])

    others = [i for i in np.flatnonzero(taus.notna()).tolist() if i != best]
    p[others] = holm(list(in_threads(test, others)))
    return p


def _scaled_tau(
    judge: Effectiveness, pair: MeasurePair, truth: Floats, among: NDArray[np.bool_]
) -> ClusterSums:
    """Return τ with the truth's means as a function of weights of the users ``among``.

    The judge's means are in units of their spread, so that the values of two evaluators can be swapped.
    """
    sums = judge.sums(pair.judge, among)
    by_cluster = sums.by_cluster.copy()
    by_cluster[: len(truth)] /= float(judge.means(pair.judge, among).std()) or 1.0

    def fixed(sums: Floats) -> Floats:
        return np.broadcast_to(truth[:, None], (len(truth), sums.shape[-1]))

    return tau_of_means(ClusterSums(by_cluster, sums.of_sums), ClusterSums(np.zeros_like(by_cluster), fixed))


def by_both(scored: RelevanceScored) -> pd.DataFrame:
    """Return a row per evaluator, pair of measures and system, with its mean by both."""
    systems, agreement, truth = scored.table(SYSTEMS), scored.table(AGREEMENT), scored.study.truth
    if systems.empty:
        return systems
    own = systems[["evaluator", "measure", "system", "value", "ci_low", "ci_high"]]
    true = own[own["evaluator"] == truth].drop(columns="evaluator").add_prefix("truth_")
    pairs = agreement.loc[agreement["evaluator"] != truth, ["evaluator", "measure", "truth_measure", "tau"]]
    both: pd.DataFrame = pairs.merge(own, on=["evaluator", "measure"])
    both = both.merge(true, left_on=["truth_measure", "system"], right_on=["truth_measure", "truth_system"])
    both["pair"] = both["measure"].where(
        both["measure"] == both["truth_measure"], both["measure"] + " against " + both["truth_measure"]
    )
    return both.drop(columns="truth_system").assign(truth=EvaluatorSpec.parse(truth).short)


def _chart(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    import altair as alt

    from metaeval.engine.charts import ROWS, layered, tooltip, whiskers

    frame, truth = sheet.frame, sheet.frame["truth"].iloc[0]
    x = alt.X("truth_value:Q", title=f"mean by {truth}", scale={"zero": False})
    y = alt.Y("value:Q", title="mean by the evaluator", scale={"zero": False})
    lines = tooltip(
        system="system",
        truth_value=(f"by {truth}", ".4f"),
        value=("by the evaluator", ".4f"),
        tau=("τ of all systems", ".3f"),
    )
    chart = layered(
        f"{frame['system'].nunique()} systems: the mean by the truth's labels on the horizontal axis, "
        "by an evaluator's on the vertical one, with intervals.",
        *whiskers(x, y, ("truth_ci_low", "truth_ci_high"), ("ci_low", "ci_high")),
        ROWS.mark_point(filled=True, size=60, color=BLUE, opacity=1).encode(x=x, y=y, tooltip=lines),
    )
    best = str(frame.sort_values("tau", ascending=False)["evaluator"].iloc[0])
    chosen = first_choices(frame, {"evaluator": best, **first}, ["evaluator", "pair"])
    return Figure(sheet, chart, chosen, finding=_ordered_alike)


def _ordered_alike(rows: pd.DataFrame) -> str:
    """Say how alike the orders of the systems are, and whether both have the same best one."""
    tau, (evaluator, truth) = rows["tau"].iloc[0], rows[["evaluator", "truth"]].iloc[0]
    if np.isnan(tau):
        return ""
    best, by_truth = (largest(rows, column)["system"] for column in ("value", "truth_value"))
    top = f"both have {best} first" if best == by_truth else f"{best} is first, not {by_truth}"
    return f"{evaluator} orders {len(rows)} systems as {truth} does with τ {tau:.2f}: {top}"


def _most_as_truth(scored: RelevanceScored, sheet: Sheet) -> str:
    """Say whose labels order the systems most as the truth's do, by the first measure, and what is shown."""
    rows, truth = sheet.frame, scored.study.truth
    measure = rows["measure"].iloc[0]
    rows = rows[(rows["measure"] == measure) & (rows["evaluator"] != truth) & rows["tau"].notna()]
    if rows.empty:
        return ""
    best = rows.nlargest(1, "tau").iloc[0]
    others = rows[rows["evaluator"] != best["evaluator"]]
    alpha = scored.study.tests.alpha if scored.study.tests else 0.05
    may = [printed_name(str(n), sheet.names) for n in others.loc[~(others["p_best"] <= alpha), "evaluator"]]
    name, of = printed_name(str(best["evaluator"]), sheet.names), f"{best['n_systems']:.0f} systems"
    tau = interval_text(best[["tau_corrected", "ci_low", "ci_high"]], "decimal")
    shown = f"but no lead over {few_of(may)} is shown" if may else "and is shown to be better than any other"
    as_whom = f"as {EvaluatorSpec.parse(truth).short} does by {measure} (Kendall's τ, corrected = {tau})"
    if others.empty:
        return f"{name} orders {of} {as_whom}."
    return f"Of {len(rows)} evaluators, {name} orders {of} most {as_whom}, {shown}."


def _notes(scored: RelevanceScored, frame: pd.DataFrame) -> Iterator[str]:
    yield (
        "τ, corrected: Kendall's τ-b between the means of the systems by an evaluator's labels and by the "
        "truth's over very many users, with its interval. Noise in the means over these users lowers the "
        "plain τ; the interval is not about that one, which can lie outside."
    )
    yield (
        "Weighted τ: hyperbolic weights, the mean over the ranks by both. τ_AP,a: errors at the top of the "
        "evaluator's order weigh most; τ_AP,b: of either order. RBO: rank-biased overlap, p = 0.9. τ of the "
        "top: among the best systems by the truth."
    )
    yield "Coverage: of the truth's labels among the systems' first items, the share that the evaluator has."
    if (frame["no_tau"] == LOW_COVERAGE).any():
        least = scored.study.least_coverage
        yield f"low_coverage: no τ, as the coverage is below {least:.0%} (least_coverage in the study file)."
    apart = frame[(frame["n_users"] == 0) & (frame["n_own"] > 0)]
    for row in apart.drop_duplicates("evaluator").itertuples():
        yield f"{row.evaluator} orders the systems on {row.n_own:,} other users than the truth."
    yield "p: paired tests against the evaluator with the highest τ, swapping users of the truth (Holm)."
    for reason in sorted({r for r in frame["no_interval"].dropna() if r}):
        words = NoInterval(reason).words.replace("generators", "systems")
        yield f"There is no interval where {words}."
    notes = scored.table(NOTES)
    yield from notes["note"] if len(notes) else ()


AGREEMENT = KindTable(
    "system_agreement.csv",
    "Agreement on the order of systems",
    (
        *PAIR,
        Column("tau_corrected", "τ, corrected", "decimal", "ci_low", "ci_high"),
        Column("p_best", "p", "p"),
        Column("no_tau", "No τ", optional=True),
        Column("tau", "Plain τ", "decimal"),
        Column("weighted_tau", "Weighted τ", "decimal"),
        Column("tau_ap", "τ_AP,a", "decimal"),
        Column("tau_ap_b", "τ_AP,b", "decimal"),
        Column("rbo", "RBO", "decimal"),
        Column("tau_top", "τ of the top", "decimal"),
        Column("top", "Top", "count"),
        Column("n_systems", "Systems", "count"),
        Column("n_users", "Users", "count"),
        Column("n_own", "By the evaluator", "count"),
        Column("coverage", "Coverage", "share"),
        Column("no_interval", ""),
    ),
    of_systems(system_agreement),
    _notes,
    finding=_most_as_truth,
)
VALUES = KindTable(
    "system_values",
    "Systems by the evaluator and by the truth",
    (
        EVALUATOR,
        Column("pair", "Measure"),
        Column("system", "System"),
        Column("truth_value", "By the truth", "decimal", "truth_ci_low", "truth_ci_high"),
        Column("value", "By the evaluator", "decimal", "ci_low", "ci_high"),
    ),
    by_both,
    ("Every dot is a system. If the dots rise from left to right, the evaluator keeps the order.",),
    _chart,
)
