"""The order of evaluators by one column: interval, cluster of rank, what is missing, and what it costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.records import AVERAGE
from metaeval.engine.comparison import By
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.ranking.orders import rank_clusters
from metaeval.stats.regression.noisy_means import NoInterval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.base.records import Correlations
    from metaeval.engine.comparison import Comparisons

_COSTS = (
    Column("parse_rate", "parsed", "share"),
    Column("usd_per_text", "USD a text", "usd"),
    Column("seconds_per_text", "seconds a text", "number"),
    Column("tokens_per_text", "tokens a text", "number"),
)


def default_by(result: Correlations) -> By:
    """Return the column that orders evaluators if nobody says which: the average, the first level."""
    frame = result.frame
    aspects = [a for a in frame["aspect"].unique() if a != AVERAGE]
    aspect = aspects[0] if len(aspects) == 1 else AVERAGE
    return By(aspect, str(frame["level"].iloc[0]), str(frame["coefficient"].iloc[0]))


def check_by(by: By, result: Correlations) -> By:
    """See that a result has a column.

    Raises
    ------
    MetaevalError
        If it has not.
    """
    for field, value in by._asdict().items():
        known = [str(v) for v in result.frame[field].unique()]
        if value not in known:
            hint = nearest(value, known)
            raise MetaevalError(
                f"the result has no {field} {value!r} to order by{hint} (it has: {', '.join(known)})"
            )
    return by


def ranking(
    result: Correlations,
    *,
    by: By | None = None,
    tests: Comparisons | None = None,
    costs: pd.DataFrame | None = None,
) -> Sheet:
    """Order evaluators by one column.

    Parameters
    ----------
    result
        What `metaeval.correlate` returned.
    by
        Aspect, level and coefficient; that of the tests, or the average at the first level, if left out.
    tests
        What `metaeval.compare` returned for the same column. Evaluators that are not significantly different
        from the best share cluster 1; the best of the rest leads cluster 2, and so on.
    costs
        A row an evaluator: ``evaluator``, ``parse_rate``, ``usd_per_text``, ``seconds_per_text``,
        ``tokens_per_text``.

    Raises
    ------
    MetaevalError
        If the result has no such column, or the tests are of another one.
    """
    by = check_by(by or (tests.by if tests is not None else default_by(result)), result)
    if tests is not None and tests.by != by:
        raise MetaevalError(f"the tests are by {tests.by}, not by {by}; compare by the same column")
    frame = result.frame
    chosen = np.logical_and.reduce([frame[field] == value for field, value in by._asdict().items()])
    rows = frame[chosen].sort_values("estimate", ascending=False, kind="stable").reset_index(drop=True)
    places = rows["estimate"].rank(method="min", ascending=False)  # equals share a rank
    rows.insert(0, "rank", ["" if math.isnan(place) else f"{place:.0f}" for place in places])
    rows["label"] = [result.simulation.label(e) for e in rows["evaluator"]]
    columns = [Column("rank", "rank"), Column("label", "evaluator")]
    notes = [f"Ordered by {by.words}, × 100."]
    if by.level != "generator":
        columns.append(Column("estimate", by.coefficient, "hundred", "ci_low", "ci_high"))
        if rows["ci_low"].notna().any():
            notes.append(interval_sentence(result.policy.get("bootstrap", {})))
    else:
        columns.append(Column("estimate", by.coefficient, "hundred"))
        if result.policy.get("bootstrap"):
            columns.append(Column("corrected", "corrected", "hundred", "ci_low", "ci_high"))
            notes.append(true_means_sentence(result.policy["bootstrap"]))
            notes += no_interval_sentences(result.policy.get("no_interval", {}))
    if tests is not None:
        rows, more = _clusters(rows, tests)
        columns[1:1] = [Column("cluster", "cluster")]
        columns.append(Column("verdict", "against the best"))
        notes += more
    for name, title in (("n_undefined", "undefined groups"), ("n_missing", "missing scores")):
        if rows[name].any():
            columns.append(Column(name, title, "count"))
    if costs is not None and len(costs):
        rows = rows.merge(costs[["evaluator", *(c.name for c in _COSTS)]], how="left", on="evaluator")
        columns += _COSTS
    return Sheet("ranking", "Ranking", rows, tuple(columns), tuple(notes), result.simulation)


def _clusters(rows: pd.DataFrame, tests: Comparisons) -> tuple[pd.DataFrame, list[str]]:
    """Add each evaluator's cluster, and how it stands against the best."""
    place = [tests.evaluators.index(e) for e in rows["evaluator"]]
    p = tests.p_corrected[np.ix_(place, place)]
    alpha = tests.policy["alpha"]
    clusters = rank_clusters(rows["estimate"].to_numpy(), p, alpha)
    against_best = p[0]
    rows = rows.assign(
        cluster=[str(c) if c else "" for c in clusters],
        p_best=against_best,
        worse_than_best=against_best <= alpha,
        verdict=[
            "best" if place == 0 and cluster else _verdict(value, alpha)
            for place, (cluster, value) in enumerate(zip(clusters, against_best, strict=True))
        ],
    )
    sentence = (
        f"Whoever is not significantly different from a cluster's best (p > {alpha:g}) is in its cluster."
    )
    return rows, [sentence, tests_sentence(tests.policy)]


def _verdict(p: float, alpha: float) -> str:
    if math.isnan(p):
        return ""
    text = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return f"worse, {text}" if p <= alpha else text


def interval_sentence(options: Mapping[str, Any], levels: Sequence[str] = ()) -> str:
    """Say how intervals were made, those at generator level too if it is one of the levels."""
    if not options:
        return ""
    how = "bias-corrected and accelerated" if options["method"] == "bca" else "percentiles"
    how += ", widened for few clusters" if options["expand"] else ""
    drawn = f"{options['resamples']:,} resamples of {options['n_clusters']:,} {options['cluster']}s"
    confidence = f"{100 * options['confidence']:g} %"
    told = f"Brackets hold {confidence} bootstrap intervals ({how}; {drawn}, seed {options['seed']})."
    return f"{told} {GENERATOR_INTERVALS}" if "generator" in levels else told


GENERATOR_INTERVALS = (
    "At generator level they are intervals of the correlation that very many would give, corrected for the "
    "noise of the means, so that the plain estimate can lie outside."
)


NO_BOOTSTRAP = (
    "At generator level there are no intervals here: resampled means are noisier than means, so that those "
    "of a bootstrap lie too low."
)


def true_means_sentence(options: Mapping[str, Any]) -> str:
    """Say what is corrected at generator level."""
    return (
        "Corrected: the correlation of the means that very many "
        f"{options['cluster']}s would give, as noise in the means lowers the plain one. Brackets hold "
        f"{100 * options['confidence']:g} % intervals of it ({options['resamples']:,} draws of the true "
        f"means, {options['n_clusters']:,} {options['cluster']}s, seed {options['seed']})."
    )


def no_interval_sentences(found: Mapping[str, Mapping[str, Sequence[str]]]) -> list[str]:
    """Say what has no interval at generator level, and why: reason → evaluator → aspects."""
    told = []
    for reason, by_name in found.items():
        listed = "; ".join(f"{name} ({', '.join(aspects)})" for name, aspects in by_name.items())
        told.append(f"No interval at generator level where {NoInterval(reason).words}: {listed}.")
    return told


def tests_sentence(policy: Mapping[str, Any]) -> str:
    """Say how evaluators were tested against each other."""
    names = {
        "holm": "Holm's correction",
        "bh": "Benjamini and Hochberg's correction",
        "none": "no correction",
    }
    swapped = f"{policy['permutations']:,} swaps of standardized scores by {policy['swap']}"
    pairs = "1 pair" if policy["pairs"] == 1 else f"{policy['pairs']:,} pairs"
    corrected = f"{names[policy['correction']]} over {pairs}"
    least = min(1.0, policy["least_p"] * (policy["pairs"] if policy["correction"] == "holm" else 1))
    floor = f" No p can be below {least:.3f} here." if least >= 0.01 else ""
    if least > policy["alpha"]:
        # n clusters can be swapped in 2^n ways, of which half are the others with the sides exchanged.
        of_clusters = 2.0 ** (1 - policy.get("n_clusters", 0)) * policy["pairs"]
        floor = (
            f" There are too few {policy['swap']}s to tell anybody apart: no p can be far below {least:.3f}."
            if min(1.0, of_clusters) > policy["alpha"] or policy["correction"] != "holm"
            else f" There are too few permutations for so many pairs: no p can be below {least:.3f}. Set "
            f"permutations to {math.ceil(2 * policy['pairs'] / policy['alpha']):,} or more."
        )
    return f"p: two-sided paired permutation tests ({swapped}, {corrected}, seed {policy['seed']}).{floor}"
