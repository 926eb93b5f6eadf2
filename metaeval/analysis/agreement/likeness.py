"""Correlations between the scores of all evaluators, and with the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.records import AVERAGE
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.coefficients.matrix import correlation_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.base.simulation import Simulation
    from metaeval.engine.alignment.aligned import Aligned
    from metaeval.stats.coefficients.tables import Floats, Ints

MOST_ROWS = 20_000
"""Rows of the sheet at most; with more, only the first coefficient or aspect is shown."""


def likeness(
    data: Aligned,
    *,
    aspects: Sequence[str],
    coefficients: Sequence[str],
    truth_name: str = "truth",
    simulated: Simulation = REAL,
) -> Sheet | None:
    """Correlate the scores of every two evaluators over all units that both scored, and with the truth.

    Missing scores are not filled. Evaluators are ordered by hierarchical clustering (average linkage of
    1 − r), so that similar ones are neighbours; the truth is last.

    Parameters
    ----------
    aspects
        Aspects, the most important first; ``average`` is the mean over all of them.
    coefficients
        Coefficients, the most important first.

    Returns
    -------
    Sheet or None
        A row per pair, aspect and coefficient: ``first`` and ``second`` (evaluators) with their
        ``first_place`` and ``second_place`` in the order, ``r`` and ``n_units``. Where all wanted aspects and
        coefficients take more than `MOST_ROWS` rows, only the first coefficient, and then the first aspect,
        are there. None for fewer than two evaluators with scores.
    """
    aspects = [a for a in aspects if a in (*data.aspects, AVERAGE)]  # one that the truth lacks has no values
    scored = [e for e in range(len(data.evaluators)) if not np.isnan(data.scores[e]).all()]
    if len(scored) < 2 or not aspects:
        return None
    names = [*(data.evaluators[e] for e in scored), truth_name]
    values = np.concatenate([data.scores[scored], data.truth[None]])
    n_pairs = len(names) * (len(names) - 1) // 2
    fitting = max(1, MOST_ROWS // n_pairs)
    of_coefficients = list(coefficients if len(coefficients) * len(aspects) <= fitting else coefficients[:1])
    of_aspects = list(aspects if len(of_coefficients) * len(aspects) <= fitting else aspects[:1])
    parts = []
    for coefficient in of_coefficients:
        found = _by_aspect(values, data.aspects, of_aspects, coefficient)
        parts += [
            _rows(*found[aspect], names).assign(aspect=aspect, coefficient=coefficient)
            for aspect in of_aspects
        ]
    left_out = len(of_coefficients) < len(coefficients) or len(of_aspects) < len(aspects)
    return Sheet(
        "likeness",
        "Which evaluators score alike",
        pd.concat(parts, ignore_index=True),
        (
            Column("first", "Evaluator"),
            Column("second", "and evaluator"),
            Column("aspect", "Aspect"),
            Column("coefficient", "Coefficient"),
            Column("r", "Correlation", "hundred"),
            Column("n_units", "Units", "count"),
        ),
        tuple(_notes(data.evaluators, scored, truth_name, left_out=left_out)),
        simulated,
    )


def _by_aspect(
    values: Floats, known: Sequence[str], wanted: Sequence[str], coefficient: str
) -> dict[str, tuple[Floats, Ints]]:
    """Return the matrices of r and of the number of units for the aspects that are wanted."""
    needed = known if AVERAGE in wanted else wanted
    found = {a: correlation_matrix(values[:, known.index(a)], coefficient) for a in needed}
    if AVERAGE in wanted:
        r, n = zip(*found.values(), strict=True)
        found[AVERAGE] = np.mean(r, axis=0), np.sum(n, axis=0)
    return found


def _rows(r: Floats, n: Ints, names: Sequence[str]) -> pd.DataFrame:
    order = [*_clustered(r), len(names) - 1]
    second, first = np.tril_indices(len(names), k=-1)  # the places of each pair, the later one second
    at = np.array(order)
    columns: dict[str, Any] = {
        "first": [names[order[i]] for i in first],
        "second": [names[order[i]] for i in second],
        "first_place": first + 1,
        "second_place": second + 1,
        "r": r[at[first], at[second]],
        "n_units": n[at[first], at[second]],
    }
    return pd.DataFrame(columns)


def _clustered(r: Floats) -> list[int]:
    """Order all rows but the last, the truth: similar ones together, those nearer to the truth later."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = 1 - np.where(np.isnan(r), 0.0, r)[:-1, :-1]
    np.fill_diagonal(distance, 0.0)
    near = squareform(np.clip((distance + distance.T) / 2, 0.0, 2.0), checks=False)
    order = [int(leaf) for leaf in leaves_list(linkage(near, "average", optimal_ordering=True))]
    with_truth = np.nan_to_num(r[-1, order])
    middle = len(order) // 2
    return order if with_truth[:middle].sum() <= with_truth[-middle:].sum() else order[::-1]


def _notes(evaluators: Sequence[str], scored: Sequence[int], truth_name: str, *, left_out: bool) -> list[str]:
    unscored = [name for e, name in enumerate(evaluators) if e not in scored]
    return [
        "Correlations over all units that both scored; nothing is filled in for missing scores.",
        (
            "Evaluators that score alike stand together (hierarchical clustering, average linkage of 1 − r); "
            f"the last row is the {truth_name}."
        ),
        *([f"Without any score, and left out: {', '.join(unscored)}."] if unscored else []),
        *(["`metaeval figures` draws the other aspects and coefficients."] if left_out else []),
    ]
