"""Which labels evaluators rate too high or too low."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.analysis.agreement.measures import on_scale
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.resampling.bootstrap import bootstrap, each
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio

if TYPE_CHECKING:
    from metaeval.base.records import Scale
    from metaeval.base.simulation import Simulation
    from metaeval.engine.alignment.policy import Prepared
    from metaeval.engine.intervals import Bootstrap

_VALUES = ("bias", "over", "under")


def overrating(
    data: Prepared, scale: Scale, intervals: Bootstrap | None, simulated: Simulation
) -> Sheet | None:
    """Compare scores with the label, label by label: the mean difference, and how often it is above or below.

    Parameters
    ----------
    data
        Scores and truth of one aspect.

    Returns
    -------
    Sheet or None
        A row per evaluator on the scale and label; None if no evaluator is on the scale.
    """
    clusters = data.clusters(data.cluster_name())
    resampler = intervals.resampler(clusters.n) if intervals else None
    rows = []
    for e, evaluator in enumerate(data.evaluators):
        units = np.flatnonzero(data.entering[e, 0])
        scores, truth, user = data.scores[e, 0, units], data.truth[0, units], clusters.of_unit[units]
        if not on_scale(scores, scale):
            continue
        for label in np.unique(truth).tolist():
            of_label = truth == label
            apart = scores[of_label] - label
            sums = [apart, apart > 0, apart < 0, np.ones(len(apart))]
            by_user = np.stack([np.bincount(user[of_label], s, clusters.n) for s in sums]).astype(np.float64)
            found = ClusterSums(by_user, lambda of: ratio(of[:3], of[3]))
            row: dict[str, Any] = {"evaluator": evaluator, "label": f"{label:g}"}
            if resampler:
                for name, one in zip(_VALUES, each(bootstrap(found, resampler)), strict=True):
                    row |= one.row(name)
            else:
                row |= zip(_VALUES, found.at(np.ones((clusters.n, 1)))[:, 0].tolist(), strict=True)
            rows.append(row | {"n_units": len(apart)})
    if not rows:
        return None
    return Sheet(
        "overrating",
        "Bias by label: scores too high or too low",
        pd.DataFrame(rows),
        (
            Column("evaluator", "Evaluator"),
            Column("label", "Label"),
            Column("bias", "Mean of score − label", "hundredths", "bias_low", "bias_high"),
            Column("over", "Too high", "share"),
            Column("under", "Too low", "share"),
            Column("n_units", "Units", "count"),
        ),
        ("Scores of the units to which people gave each label; evaluators off the scale are left out.",),
        simulated,
    )
