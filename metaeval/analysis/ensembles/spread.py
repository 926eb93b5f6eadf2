"""The distribution of the accuracy of ensembles, by the number of judges.

This is Figure 4 of the study of LLM judges of explanations at RecSys 2024.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.analysis.ensembles.frontier import Choosing
from metaeval.analysis.ensembles.subsets import ensembles
from metaeval.base.errors import MetaevalError
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.base.simulation import Simulation
    from metaeval.engine.alignment.policy import Prepared
    from metaeval.stats.coefficients.tables import Floats

MOST_COMBINED = 12
"""Judges whose subsets are all computed: 4,095 take a fraction of a second."""


def judges_to_combine(judges: Sequence[str], signatures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the judges of a figure: all, or of more than 12 the first 12, those without examples first."""
    if len(judges) <= MOST_COMBINED:
        return list(judges)
    plain = [j for j in judges if signatures.get(j, {}).get("examples", "none") == "none"]
    return (plain if len(plain) > 1 else list(judges))[:MOST_COMBINED]


def ensemble_spread(
    data: Prepared, *, n_judges: int | None = None, simulated: Simulation = REAL
) -> Sheet | None:
    """Sum up Pearson's r of the means of all subsets of the judges, by the number of judges.

    Parameters
    ----------
    data
        The judges' scores and the truth; every evaluator in it is a judge.
    n_judges
        How many judges the run has, if these are not all.

    Returns
    -------
    Sheet or None
        A row per level, aspect and number of judges: ``n_subsets`` with a defined accuracy, and their
        ``mean, minimum, q1, median, q3, maximum``. None where ensembles cannot be compared: fewer than two
        judges, no unit that all have, or a single user.
    """
    if not 2 <= len(data.evaluators) <= MOST_COMBINED:
        return None
    try:
        # Intervals and choices are not used here: one resample is enough.
        found = ensembles(data, how=Choosing(resamples=1, resamples_in_fold=1, folds=2, repeats=1))
    except MetaevalError:
        return None
    size = found.members.sum(axis=1)
    rows = [
        {"level": level, "aspect": aspect, "n_judges": k, **_summed_up(found.accuracy[v, a, size == k])}
        for v, level in enumerate(found.levels)
        for a, aspect in enumerate(found.aspects)
        for k in range(1, len(found.judges) + 1)
    ]
    some = f"Of the run's {n_judges} judges, {len(found.judges)} are combined: {', '.join(found.judges)}."
    return Sheet(
        "ensembles",
        "How well several judges together agree with the truth",
        pd.DataFrame(rows),
        (
            Column("level", "Level"),
            Column("aspect", "Aspect"),
            Column("n_judges", "Judges", "count"),
            Column("n_subsets", "Subsets", "count"),
            *(Column(n, n, "hundred") for n in ("mean", "minimum", "q1", "median", "q3", "maximum")),
        ),
        (
            f"Pearson's r × 100 of the mean score of every subset of {len(found.judges)} judges.",
            "A box spans the middle half of the subsets, the line in it is their median, the dot their mean.",
            "Whiskers reach the worst and the best.",
            *([some] if n_judges is not None and n_judges > len(found.judges) else []),
        ),
        simulated,
    )


def _summed_up(values: Floats) -> dict[str, float]:
    defined = values[~np.isnan(values)]
    names = ("minimum", "q1", "median", "q3", "maximum")
    if not len(defined):
        return {"n_subsets": 0, "mean": np.nan, **dict.fromkeys(names, np.nan)}
    quartiles = np.quantile(defined, [0, 0.25, 0.5, 0.75, 1])
    return {
        "n_subsets": len(defined),
        "mean": float(defined.mean()),
        **dict(zip(names, map(float, quartiles), strict=True)),
    }
