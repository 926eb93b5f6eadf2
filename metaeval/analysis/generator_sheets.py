"""Sheets of generators ranked by the ratings and by evaluators, and of how the rankings agree."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metaeval.analysis.generator_ranking import GeneratorRankings, Ranking
from metaeval.base.counts import few_of, listed, plural_of
from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.records import AVERAGE, Kind, Scale, ScoreTable
from metaeval.base.simulation import REAL, Simulation
from metaeval.base.spec import USERS, EvaluatorSpec
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.sheet import Column, Sheet, interval_text
from metaeval.stats.regression.true_means import NoInterval
from metaeval.stats.resampling.rank_ranges import range_text


def trusted(table: ScoreTable, names: Sequence[str] = ()) -> list[str]:
    """Return the evaluators that are named, each once; if none is, all but the baselines.

    Raises `MetaevalError` if a name is unknown, or none is given and there are only baselines.
    """
    known = table.evaluators
    for name in names:
        if name not in known:
            raise MetaevalError(
                f"the run has no evaluator {name!r} (it has: {', '.join(known)}){nearest(name, known)}"
            )
    chosen = list(dict.fromkeys(names)) or [n for n in known if table.kinds.get(n) != Kind.BASELINE]
    if not chosen:
        raise MetaevalError(
            f"the run has only baselines, which are left out unless named: {', '.join(known)}"
        )
    return chosen


def best_evaluator(table: pd.DataFrame, among: Sequence[str], aspect: str | None = None) -> str:
    """Return the evaluator with the highest estimate of a board, at dataset level, by the first coefficient.

    The first value of a dimension is used where it has no dataset level, or no average (``aspect``, if
    given). The first of ``among`` if no estimate is defined.
    """
    wanted = {"level": "dataset", "aspect": aspect or AVERAGE}
    columns = [str(c) for c in table]
    for dimension in columns[1 : columns.index("estimate")]:
        values = table[dimension]
        value = wanted.get(dimension)
        table = table[values == (value if (values == value).any() else values.iloc[0])]
    known = table[table["evaluator"].isin(among) & table["estimate"].notna()]
    return str(known["evaluator"].iloc[known["estimate"].argmax()]) if len(known) else among[0]


def ranking_sheets(
    found: GeneratorRankings,
    data: Prepared,
    *,
    truth: str = "User()",
    scale: Scale | None = None,
    simulated: Simulation = REAL,
) -> list[Sheet]:
    """Return the sheets ``ratings``, ``evaluators`` and ``agreement`` of a ranking of ``data``.

    ``truth`` is the evaluator spec of the ratings, ``scale`` theirs if it is known.
    """
    averaged = scale.averaged if scale and found.aspects[0] == AVERAGE else []
    short = EvaluatorSpec.parse(truth).short
    whose = "the users' ratings" if short == USERS else short
    shown = simulated.among(c.evaluator for c in found.evaluators)
    return [
        _ratings_sheet(found, data, whose, averaged, simulated.among(())),
        _evaluators_sheet(found, data, whose, shown),
        _agreement_sheet(found, whose, shown),
    ]


def _sampling(found: GeneratorRankings) -> str:
    b = found.bootstrap
    return (
        f"{100 * b.confidence:g} % percentile intervals from {b.resamples:,} bootstrap resamples of the "
        f"{found.n_clusters} {plural_of(b.cluster or '')} (seed {b.seed})"
    )


def _testing(found: GeneratorRankings) -> list[str]:
    return [
        "A rank range has the ranks that the data allow; all of a column hold at once.",
        (
            f"One-sided tests at {100 * found.alpha:g} %: Student's t with standard errors from the same "
            "resamples, Holm over ordered pairs."
        ),
    ]


def _truth_policy(data: Prepared, found: GeneratorRankings) -> list[str]:
    told = []
    missing = sum(int(n) for a, n in zip(data.aspects, data.truth_missing, strict=True) if a in found.aspects)
    if missing:
        what = "question is" if missing == 1 else "questions are"
        told.append(f"{missing:,} unanswered {what} {_done(data.policy.truth)}.")
    if data.mask is not None and len(data.evaluators) > 1:
        which = "all evaluators" if data.policy.common else "any of the evaluators"
        told.append(f"Ratings are those of the units that {which} below scored.")
    elif data.mask is not None:
        told.append("Ratings are those of the units that the evaluator below scored.")
    return told


def _score_policy(data: Prepared, found: GeneratorRankings) -> list[str]:
    shown = [i for i, a in enumerate(data.aspects) if a in found.aspects]
    missing = int(data.n_missing[:, shown].sum())
    what = "score is" if missing == 1 else "scores are"
    return [f"{missing:,} missing {what} {_done(data.policy.score)}."] if missing else []


def _done(fill: float | str) -> str:
    return "left out" if isinstance(fill, str) else f"counted as {fill:g}"


def _ranked(ranking: Ranking, found: GeneratorRankings, aspect: int, prefix: str = "") -> dict[str, Any]:
    return {
        f"{prefix}mean": ranking.mean[aspect],
        f"{prefix}ci_low": ranking.low[aspect],
        f"{prefix}ci_high": ranking.high[aspect],
        f"{prefix}rank": pd.Series(-ranking.mean[aspect]).rank(method="min"),
        f"{prefix}rank_range": [
            *map(range_text, ranking.rank_low[aspect].tolist(), ranking.rank_high[aspect].tolist())
        ],
        f"{prefix}n_units": ranking.n_units[aspect],
        f"{prefix}n_{found.bootstrap.cluster}s": ranking.n_clusters[aspect],
    }


def _ratings_sheet(
    found: GeneratorRankings, data: Prepared, whose: str, averaged: Sequence[str], simulated: Simulation
) -> Sheet:
    cluster = found.bootstrap.cluster or ""
    many = plural_of(cluster)
    columns: dict[str, Any] = {"generator": found.generators}
    shown = [Column("generator", "Generator")]
    for a, aspect in enumerate(found.aspects):
        columns |= _ranked(found.ratings, found, a, f"{aspect}_")
        if a == 0:
            shown.append(Column(f"{aspect}_n_units", "Units", "count"))
            if data.has_users:
                shown.append(Column(f"{aspect}_n_{cluster}s", many.capitalize(), "count"))
        shown.append(
            Column(f"{aspect}_mean", aspect, "number", f"{aspect}_ci_low", f"{aspect}_ci_high"),
        )
        shown.append(Column(f"{aspect}_rank_range", "Rank range", keep=a == 0))
    first = f"{found.aspects[0]}_mean"
    frame = pd.DataFrame(columns).sort_values(first, ascending=False, kind="stable", ignore_index=True)
    if data.has_users:
        how = [
            f"Mean rating, with the effects of {many} removed (least squares), and {_sampling(found)}.",
            f"The general level of the drawn {many} widens all intervals alike, but not the differences.",
        ]
    else:
        how = [
            f"Mean rating and {_sampling(found)}.",
            "The data set has no users, so no effects of users are removed and items are resampled.",
        ]
    notes = (*how, *averaged, *_testing(found), *_truth_policy(data, found))
    title = f"Generators by {whose}"
    said = _first_generators(found, whose)
    return Sheet("ratings", title, frame, tuple(shown), notes, simulated, finding=lambda _: said)


def _first_generators(found: GeneratorRankings, whose: str) -> str:
    """Say which generator is first, on average and for each aspect, and whether that is shown.

    It is shown if no other has a rank range that begins at 1.
    """
    ratings, leads = found.ratings, dict[str, tuple[str, list[str]]]()
    for a, aspect in enumerate(found.aspects):
        if not np.isnan(ratings.mean[a]).all():
            best = int(np.nanargmax(ratings.mean[a]))
            may_be = (ratings.rank_low[a] == 1) & ~np.isnan(ratings.mean[a])
            may = [found.generators[i] for i in np.flatnonzero(may_be) if i != best]
            leads[aspect] = found.generators[best], may
    if not leads:
        return ""
    (first, (best_of_all, may)), *others = leads.items()
    at = found.aspects.index(first), found.generators.index(best_of_all)
    mean = interval_text((of[at] for of in (ratings.mean, ratings.low, ratings.high)), "number")
    shown = f"but no lead over {few_of(may)} is shown" if may else "and is shown to be better than any other"
    where = "on average over aspects" if first == AVERAGE else f"for {first}"
    told = (
        f"By {whose}, of {len(found.generators)} generators, {best_of_all} is first {where} ({mean}), {shown}"
    )
    if not others:
        return f"{told}."
    by_generator: dict[str, list[str]] = {}
    for aspect, (best_of_aspect, _) in others:
        by_generator.setdefault(best_of_aspect, []).append(aspect)
    clear = [aspect for aspect, (_, may) in others if not may]
    which = f"those for {listed(clear)} alone are shown" if clear else "none is shown"
    which = "all are shown" if len(clear) == len(others) else which
    named = ", ".join(f"{generator} for {listed(of)}" for generator, of in by_generator.items())
    return f"{told}; by aspect, first are {named}: of these leads {which}."


def _evaluators_sheet(found: GeneratorRankings, data: Prepared, whose: str, simulated: Simulation) -> Sheet:
    blocks = []
    for a, compared in itertools.product(range(len(found.aspects)), found.evaluators):
        block = pd.DataFrame(
            {
                "aspect": found.aspects[a],
                "evaluator": compared.evaluator,
                "generator": found.generators,
                **_ranked(compared.ranking, found, a),
            }
        )
        of_ratings = _ranked(compared.ratings, found, a, "ratings_")
        block = block.assign(**{k: v for k, v in of_ratings.items() if "_n_" not in k})
        blocks.append(block.sort_values("mean", ascending=False, kind="stable"))
    columns = (
        *([Column("aspect", "Aspect")] if len(found.aspects) > 1 else []),
        Column("evaluator", "Evaluator"),
        Column("generator", "Generator"),
        Column("mean", "Mean score", "number", "ci_low", "ci_high"),
        Column("rank_range", "Rank range", keep=True),
        Column("ratings_mean", "Mean rating", "number"),
        Column("ratings_rank_range", "Rank range by ratings"),
    )
    notes = (
        "Scores are on the scale of each evaluator, ratings on that of the raters; compare the rank ranges.",
        "Both use the same units; means and tests are those of the table by ratings.",
        *_score_policy(data, found),
    )
    named = "" if len(found.aspects) > 1 else f": {found.aspects[0]}"
    title = f"Generators by each evaluator, beside {whose}{named}"
    return Sheet("evaluators", title, pd.concat(blocks, ignore_index=True), columns, notes, simulated)


def _without_interval(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    told = []
    for reason in NoInterval:
        names = dict.fromkeys(str(row["evaluator"]) for row in rows if row["no_interval"] == reason)
        if names:
            told.append(f"No interval where {reason.words}: {', '.join(names)}.")
    return told


def _agreement_sheet(found: GeneratorRankings, whose: str, simulated: Simulation) -> Sheet:
    rows = [
        {
            "aspect": aspect,
            "evaluator": compared.evaluator,
            **compared.agreement[a]._asdict(),
            "no_interval": compared.agreement[a].no_interval or "",
            "n_generators": int((~np.isnan(compared.ranking.mean[a] + compared.ratings.mean[a])).sum()),
        }
        for a, aspect in enumerate(found.aspects)
        for compared in found.evaluators
    ]
    columns = (
        *([Column("aspect", "Aspect")] if len(found.aspects) > 1 else []),
        Column("evaluator", "Evaluator"),
        Column("tau", "Kendall's τ-b", "hundred"),
        Column("tau_corrected", "τ-b, corrected", "hundred", "tau_ci_low", "tau_ci_high"),
        Column("weighted_tau", "Weighted τ", "hundred"),
        Column("soft_pairwise_accuracy", "Soft pairwise accuracy", "hundred"),
        Column("soft_corrected", "Soft, corrected", "hundred", "soft_ci_low", "soft_ci_high"),
        Column("same_top", "Same best"),
        Column("top_agreement", "Chance of the same best", "share"),
    )
    n = len(found.generators)
    notes = (
        f"Agreement between the means of {n} generators by {whose} and by the evaluator.",
        (
            f"Corrected: for the means over very many {plural_of(found.bootstrap.cluster or '')}, with "
            f"{100 * found.bootstrap.confidence:g} % intervals; soft pairwise accuracy uses the p-values "
            "that these means would have in a study of this size."
        ),
        *_without_interval(rows),
        "Coefficients and accuracy × 100; a random order has about 0, and 50 or a little more.",
        "Weighted τ counts the upper ranks more (hyperbolic weights).",
        "Soft pairwise accuracy compares one-sided p-values of pairs: an undecided pair costs little.",
        "Chance of the same best: the share of resamples with the same generator on top of both.",
    )
    named = "" if len(found.aspects) > 1 else f": {found.aspects[0]}"
    title = f"Agreement with the ranking by {whose}{named}"
    return Sheet("agreement", title, pd.DataFrame(rows), columns, notes, simulated)
