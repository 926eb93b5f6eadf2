"""How scores agree with labels: how often they order two items of a user alike, and which are too high.

Penha et al. (2025, section 5.1) count pairs of a relevant and a non-relevant item (Tables 3 and 4), and pairs
by the gap between their labels (Figure 5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from metaeval.analysis.agreement.measures import are_ratings
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.figure import BLUE, GREY, VERMILION, Figure, first_choices, largest
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.order.paired_tests import Tests
from metaeval.engine.sheet import Column, Sheet, value_text
from metaeval.kinds.relevance.data.collection import RELEVANCE
from metaeval.kinds.relevance.scored import RelevanceScored
from metaeval.kinds.study import Ablation
from metaeval.kinds.table import INTERVALS, KindTable
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.ranking.orders import label_pairs
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap, each
from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of, ratio
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.significance import holm
from metaeval.stats.resampling.weights import Swaps

RELEVANT, ALL = "relevant", "all"
"""Pairs of a relevant and a non-relevant item, and all pairs of different labels; other gaps are numbers."""
SHARES = ("agreement", "tie", "disagreement")
_MOST_LABELS = 30  # a truth of more has no gaps that could be listed


def shares_of(counts: Floats) -> ClusterSums:
    """Return the shares of pairs that agree, tie and disagree.

    ``counts`` has shape (3, …, users): agreeing pairs, ties and all pairs, of one gap or several; the values
    are agreement at every gap, then ties, then disagreement.
    """
    return ClusterSums(counts, _shares)


def _shares(sums: Floats) -> Floats:
    agree, tie, pairs = sums
    shares = np.stack([ratio(agree, pairs), ratio(tie, pairs), ratio(pairs - agree - tie, pairs)])
    return shares.reshape(-1, shares.shape[-1])


def cells(statistic: ClusterSums, names: Sequence[str], resampler: Resampler | None) -> dict[str, float]:
    """Return the values of a statistic by name, with intervals if there is a resampler."""
    if resampler is None:
        values = statistic.at(np.ones((statistic.by_cluster.shape[-1], 1)))[:, 0]
        return dict(zip(names, values.tolist(), strict=True))
    rows = (one.row(name) for name, one in zip(names, each(bootstrap(statistic, resampler)), strict=True))
    return {name: value for row in rows for name, value in row.items()}


@dataclass(frozen=True, eq=False)
class PairAgreement:
    """Pairs of items of a user, by evaluator and gap between the two labels."""

    evaluators: tuple[str, ...]
    gaps: tuple[str, ...]
    counts: Floats
    """Shape (evaluators, gaps, 3, users): agreeing pairs, ties, all pairs."""

    @classmethod
    def of(cls, data: Prepared, relevant: float) -> PairAgreement | None:
        """Count pairs; None if the truth has one label alone, or very many.

        ``relevant`` is the lowest label that counts as relevant.
        """
        clusters = data.clusters(data.cluster_name())
        labels = np.unique(data.truth[0, data.entering[:, 0].any(axis=0)])
        if not 1 < len(labels) <= _MOST_LABELS:
            return None
        steps = sorted({float(high - low) for i, high in enumerate(labels) for low in labels[:i]})

        counts = np.zeros((len(data.evaluators), 2 + len(steps), 3, clusters.n))
        for e, gaps in enumerate(counts):
            units = np.flatnonzero(data.entering[e, 0])
            at, user = np.searchsorted(labels, data.truth[0, units]), clusters.of_unit[units]
            for two in label_pairs(data.scores[e, 0, units], at, len(labels), user, clusters.n):
                high, low = labels[two.high], labels[two.low]
                pairs = np.stack([two.agree, two.tie, two.pairs])
                gaps[0] += pairs * (low < relevant <= high)
                gaps[1] += pairs
                gaps[2 + steps.index(float(high - low))] += pairs
        return cls(tuple(data.evaluators), (RELEVANT, ALL, *(f"{step:g}" for step in steps)), counts)

    def shares(self, names: Sequence[str]) -> ClusterSums:
        """Return the shares of relevant and non-relevant pairs of all evaluators that are named, together."""
        at = [self.evaluators.index(name) for name in names]
        return shares_of(self.counts[at, self.gaps.index(RELEVANT)].sum(axis=0))

    def frame(self, options: Bootstrap | None) -> pd.DataFrame:
        """Return a row per evaluator and gap that has pairs: shares with intervals over users, and counts."""
        n_users = self.counts.shape[-1]
        resampler = options.resampler(n_users) if options else None
        rows: list[dict[str, Any]] = []
        for evaluator, counts in zip(self.evaluators, self.counts, strict=True):
            shares = shares_of(counts.swapaxes(0, 1))
            if resampler is None:
                ends = {"": shares.at(np.ones((n_users, 1)))[:, 0]}
            else:
                estimate = bootstrap(shares, resampler, bounds=(0.0, 1.0))
                ends = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
            names = [f"{name}{suffix}" for suffix in ends for name in SHARES]
            by_gap = np.concatenate([*ends.values()]).reshape(len(names), -1).T.tolist()
            for gap, values, (_, _, pairs) in zip(self.gaps, by_gap, counts, strict=True):
                if pairs.any():
                    row = {"evaluator": evaluator, "gap": gap, **dict(zip(names, values, strict=True))}
                    rows.append(row | {"n_pairs": int(pairs.sum()), "n_users": int((pairs > 0).sum())})
        return pd.DataFrame(rows)


def _chart(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    """Draw agreement, ties and disagreement as one bar per evaluator, for one gap at a time."""
    import altair as alt

    from metaeval.engine.charts import ROWS, layered, scale_of, tooltip

    frame = sheet.frame
    long = frame.melt(["evaluator", "gap", "n_pairs"], list(SHARES), var_name="outcome", value_name="share")
    long["place"] = long["outcome"].map({name: i for i, name in enumerate(SHARES)})
    relevant = frame[frame["gap"] == RELEVANT].sort_values("agreement", ascending=False)
    order = list(dict.fromkeys([*relevant["evaluator"], *frame["evaluator"].unique()]))
    colours = scale_of(SHARES, (BLUE, GREY, VERMILION))
    lines = tooltip(evaluator="evaluator", outcome="pairs", share=("share", ".1%"), n_pairs=("pairs", ","))
    bars = ROWS.mark_bar().encode(
        y=alt.Y("evaluator:N", title=None, sort=order),
        x=alt.X("share:Q", title="share of pairs", axis={"format": ".0%"}, scale={"domain": [0, 1]}),
        color=alt.Color("outcome:N", title=None, sort=list(SHARES), scale=colours),
        order=alt.Order("place:Q"),
        tooltip=lines,
    )
    description = "Shares of pairs that each evaluator orders as the labels do, ties, or the other way."
    columns = (
        Column("evaluator", "Evaluator"),
        Column("gap", "Gap"),
        Column("outcome", "Pairs"),
        Column("share", "Share", "share"),
    )
    drawn = replace(sheet, frame=long, columns=columns)
    chart = layered(description, bars, height=alt.Step(18))
    chosen = first_choices(long, {"gap": RELEVANT, **first}, ["gap"])
    return Figure(drawn, chart, chosen, finding=_most_alike)


def _most_alike(rows: pd.DataFrame) -> str:
    """Say which evaluator orders most pairs as the labels do, and how many it turns around."""
    shares = rows.pivot_table("share", "evaluator", "outcome", sort=False).reset_index()
    agreement, _, disagreement = SHARES
    best = largest(shares, agreement)
    right, wrong = (value_text(best[of], "share") for of in (agreement, disagreement))
    return f"{best['evaluator']} orders most pairs as the labels do, {right}, and {wrong} the other way"


_SHARE_COLUMNS = tuple(Column(n, n.capitalize(), "share", f"{n}_low", f"{n}_high") for n in SHARES)


def pairs_of(scored: RelevanceScored) -> PairAgreement | None:
    """Return how evaluators order pairs of a user's items; None if the truth has one label, or very many."""
    return PairAgreement.of(scored.matched.prepared, scored.data.relevant)


AGREEMENT = KindTable(
    "agreement.csv",
    "Agreement on pairs of items",
    (
        Column("evaluator", "Evaluator"),
        Column("gap", "Gap"),
        *_SHARE_COLUMNS,
        Column("n_pairs", "Pairs", "count"),
        Column("n_users", "Users", "count"),
    ),
    lambda scored: (pairs := scored.once(pairs_of)) and pairs.frame(scored.study.bootstrap),
    (
        (
            "Pairs of two items of one user with different labels. Agreement: the scores order them as the "
            "labels do; tie: the scores are equal; disagreement: they order them the other way."
        ),
        (
            f"Gap: the difference of the two labels; '{RELEVANT}' are pairs of a relevant and a non-relevant "
            f"item, '{ALL}' all pairs."
        ),
        INTERVALS,
    ),
    _chart,
)


def ablation_frame(
    ablation: Ablation,
    agreement: PairAgreement,
    specs: Mapping[str, str],
    intervals: Bootstrap | None,
    tests: Tests | None,
) -> pd.DataFrame:
    """Compare variants of a judge with the judge itself, on pairs of relevant and non-relevant items.

    A row per variant, the judge itself first, has the shares of pairs, all repeats together, and their
    ``…_change`` against the judge.
    """
    variants = list(ablation.variants(EvaluatorSpec.parse(specs[ablation.base])))
    shares = [agreement.shares(list(variant.specs)) for variant in variants]
    n_users = agreement.counts.shape[-1]
    p = np.full(len(variants), np.nan)
    if tests and len(variants) > 1:
        sums = (one.by_cluster for one in shares)
        agreeing = [mean_of(agree[None], pairs[None]) for agree, _, pairs in sums]
        p[1:] = holm(paired_test([agreeing], Swaps(n_users, tests.permutations, tests.seed)).p[0, 1:])
    resampler = intervals.resampler(n_users) if intervals else None
    rows = []
    for variant, own, p_value in zip(variants, shares, p.tolist(), strict=True):
        both = np.stack([own.by_cluster, shares[0].by_cluster])
        change = ClusterSums(both, lambda sums: _shares(sums[0]) - _shares(sums[1]))
        row: dict[str, Any] = {"base": ablation.base, "evaluator": next(iter(variant.specs))}
        row |= {"argument": variant.argument, "value_of": variant.value}
        row |= cells(own, SHARES, resampler)
        row |= cells(change, [f"{name}_change" for name in SHARES], resampler)
        rows.append(row | {"p": p_value} | _spread([agreement.shares([name]) for name in variant.specs]))
    return pd.DataFrame(rows)


def _spread(repeats: Sequence[ClusterSums]) -> dict[str, float]:
    """Return the interval of the mean agreement of repeats; NaN of one alone."""
    from scipy.special import stdtrit

    n = len(repeats)
    values = np.array([cells(one, SHARES, None)[SHARES[0]] for one in repeats])
    half = float(stdtrit(n - 1, 0.975) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return {"repeats_low": float(values.mean()) - half, "repeats_high": float(values.mean()) + half}


def _ablations(scored: RelevanceScored) -> pd.DataFrame | None:
    study, pairs = scored.study, scored.once(pairs_of)
    if not study.ablations or pairs is None:
        return None
    frames = [ablation_frame(a, pairs, study.specs, study.bootstrap, study.tests) for a in study.ablations]
    return pd.concat(frames, ignore_index=True)


def _ablation_sheets(scored: RelevanceScored, frame: pd.DataFrame) -> Iterator[Sheet]:
    """Yield a sheet per judge: its variants, each against the judge as it is."""
    for base, rows in frame.groupby("base", sort=False):
        repeated = rows["repeats_low"].notna().any()
        columns = (c for c in ABLATIONS.columns if c.title and (repeated or not c.optional))
        notes = (
            "Pairs of a relevant and a non-relevant item of one user.",
            (
                "Change and p: agreement against the first row, in paired tests that swap users, corrected "
                "by Holm for the number of variants."
            ),
            scored.intervals,
            "Repeats: the 95 % interval of their mean agreement (Student's t), with the users fixed.",
        )
        yield Sheet(
            f"ablation-{base}",
            f"Variants of {base}",
            rows.reset_index(drop=True),
            tuple(columns),
            notes if repeated else notes[:-1],
            scored.scores.simulation,
        )


ABLATIONS = KindTable(
    "ablations.csv",
    "",
    (
        Column("evaluator", "Variant"),
        *_SHARE_COLUMNS,
        Column("agreement_change", "Change", "share", "agreement_change_low", "agreement_change_high"),
        Column("p", "p", "p"),
        Column("repeats_low", "Repeats from", "share", optional=True),
        Column("repeats_high", "to", "share", optional=True),
        *(Column(name, "") for name in ("base", "argument", "value_of")),
    ),
    _ablations,
    layout=_ablation_sheets,
)


def overrating(scored: RelevanceScored) -> pd.DataFrame:
    """Compare scores with the label, label by label: the mean difference, and how often it is above or below.

    There is a row per label and evaluator whose scores are on the scale.
    """
    data, intervals = scored.matched.prepared, scored.study.bootstrap
    clusters = data.clusters(data.cluster_name())
    resampler = intervals.resampler(clusters.n) if intervals else None
    rows = []
    for e, evaluator in enumerate(data.evaluators):
        units = np.flatnonzero(data.entering[e, 0])
        scores, truth, user = data.scores[e, 0, units], data.truth[0, units], clusters.of_unit[units]
        if not are_ratings(scores, scored.scale.of(RELEVANCE)):
            continue
        for label in np.unique(truth).tolist():
            of_label = truth == label
            apart = scores[of_label] - label
            sums = [apart, apart > 0, apart < 0, np.ones(len(apart))]
            by_user = np.stack([np.bincount(user[of_label], s, clusters.n) for s in sums]).astype(np.float64)
            statistic = ClusterSums(by_user, lambda totals: ratio(totals[:3], totals[3]))
            row: dict[str, Any] = {"evaluator": evaluator, "label": f"{label:g}"}
            row |= cells(statistic, ("bias", "over", "under"), resampler)
            rows.append(row | {"n_units": len(apart)})
    return pd.DataFrame(rows)


def _overrating(scored: RelevanceScored) -> pd.DataFrame:
    """Leave out evaluators on a scale of their own, and all if the truth is."""
    frame, own = overrating(scored), scored.own_scales
    return frame if frame.empty else frame[~frame["evaluator"].isin(own) & (scored.study.truth not in own)]


OVERRATING = KindTable(
    "overrating",
    "Bias by label: scores too high or too low",
    (
        Column("evaluator", "Evaluator"),
        Column("label", "Label"),
        Column("bias", "Mean of score − label", "hundredths", "bias_low", "bias_high"),
        Column("over", "Too high", "share"),
        Column("under", "Too low", "share"),
        Column("n_units", "Units", "count"),
    ),
    _overrating,
    ("Scores of the units to which people gave each label; evaluators off the scale are left out.",),
)
