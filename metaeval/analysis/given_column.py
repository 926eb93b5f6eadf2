"""Correlations by a column of the units, and given it: a table per value, and what is within its values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from metaeval.base.counts import plural_of
from metaeval.base.progress import progress
from metaeval.base.records import AVERAGE
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.correlation import BY
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.coefficients.given import GIVEN, given_group_estimates
from metaeval.stats.weighted.sums import Clusters


def by_sheet(
    frame: pd.DataFrame, column: str, cell: Mapping[str, str], simulated: Simulation = REAL
) -> Sheet:
    """Return correlations by a column (`metaeval.engine.correlation.correlated_by`), printed in one cell."""
    shown = frame
    for name, value in cell.items():
        shown = shown[shown[name] == value]
    columns = (
        Column(BY, column),
        Column("evaluator", "Evaluator"),
        Column("estimate", f"{cell['coefficient'].capitalize()} × 100", "hundred", "ci_low", "ci_high"),
        Column("n_units", "Ratings", "count"),
    )
    of = "averaged over aspects" if cell["aspect"] == AVERAGE else cell["aspect"]
    notes = (
        f"Each {column} on its own: {cell['level']} level, {of}. Intervals: as of the leaderboard.",
        f"A run's {BY}.csv and `metaeval correlate --by` have every aspect, level and coefficient.",
    )
    return Sheet(BY, f"Correlations by {column}", shown.reset_index(drop=True), columns, notes, simulated)


def given_sheet(
    data: Prepared,
    categories: pd.DataFrame,
    column: str,
    threshold: float = 0.0,
    *,
    cluster: str | None = None,
) -> Sheet:
    """Return what is left of correlations given a column of the units, such as the system that wrote them.

    ``categories`` are as of `metaeval.engine.correlation.correlated_by`; ``threshold`` is that of
    `metaeval.stats.coefficients.given.given_group`; ``cluster`` names what the jackknife leaves out.
    """
    keys = [c for c in categories.columns if c != "category"]
    units = pd.DataFrame({k: data.labels[k].astype(str).take(data.keys[k]) for k in keys})
    named = units.merge(categories.drop_duplicates(keys), on=keys, how="left", validate="many_to_one")
    group = pd.factorize(named["category"])[0].astype(np.int64)
    who = data.cluster_name(cluster)
    clusters = data.clusters(who)
    rows = []
    with progress("given", len(data.evaluators) * len(data.aspects)) as advance:
        for e, evaluator in enumerate(data.evaluators):
            for a, aspect in enumerate(data.aspects):
                use = np.flatnonzero(data.entering[e, a] & (group >= 0))
                _, of_unit = np.unique(clusters.of_unit[use], return_inverse=True)
                there = Clusters(of_unit.astype(np.int64), int(of_unit.max(initial=-1)) + 1)
                x, y = data.scores[e, a, use], data.truth[a, use]
                found = given_group_estimates(x, y, group[use], there, threshold=threshold)
                row = {"evaluator": evaluator, "aspect": aspect, "n_units": len(use)}
                row["n_groups"] = len(np.unique(group[use]))
                for i, name in enumerate(GIVEN):
                    ends = found.value[i], found.low[i], found.high[i]
                    row |= dict(zip((name, f"{name}_low", f"{name}_high"), map(float, ends), strict=True))
                rows.append(row)
                advance()
    titles = {
        "partial_pearson": "Partial r",
        "partial_spearman": "Partial ρ",
        "fisher_pearson": "Mean r (z)",
        "fisher_spearman": "Mean ρ (z)",
        "differences": "r of differences",
        "clear_pairs": "τ of clear pairs",
        "tau_c": "τ-c",
    }
    columns = (
        Column("evaluator", "Evaluator"),
        *((Column("aspect", "Aspect"),) if len(data.aspects) > 1 else ()),
        *(Column(n, title, "hundred", f"{n}_low", f"{n}_high") for n, title in titles.items()),
        Column("n_units", "Units", "count"),
        Column("n_groups", "Groups", "count"),
    )
    apart = f"{threshold:g} points or more apart" if threshold else "not equal"
    notes = (
        f"Partial: of deviations from the means of each {column} (ρ: of ranks), pooled. × 100.",
        f"Mean (z): tanh of the mean of artanh r over each {column} that has one below 1.",
        f"Differences: r of the differences of every two units of one {column}.",
        f"Clear pairs: of one {column}, their truths {apart}: those ordered alike less all others, a share.",
        f"τ-c: of all units, whatever their {column}.",
        f"95 % intervals: the jackknife over {plural_of(who)}, on Fisher's z.",
    )
    title = f"Correlations given {column}"
    return Sheet("given", title, pd.DataFrame(rows), columns, notes)
