"""Synthetic interactions with each constraint off: how plausible sequences are, and what Recall gains.

This is ablation (iv) of the source's section 7. Each row draws the chains anew, all else being as in the
study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.base.simulation import Simulation
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Column, Sheet, columns
from metaeval.kinds.exposure.data.log_set import LogSet
from metaeval.kinds.exposure.propensity.propensities import Propensities
from metaeval.kinds.exposure.study import Constraint, SynthesisOptions
from metaeval.kinds.exposure.synthesis_rounds import (
    distances_of,
    downstream,
    measures,
    nearest_of,
    shares_by_bin,
    tail_share,
)
from metaeval.kinds.exposure.synthesizer import KnownInteractions, Synthesis, synthesize
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import each, estimated
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio

_WITHOUT: Mapping[Constraint, Mapping[str, Constraint]] = {
    "either": {"transition": "similarity", "similarity": "transition", "both": "none"},
    "both": {"transition": "similarity", "similarity": "transition", "both": "none"},
    "transition": {"transition": "none"},
    "similarity": {"similarity": "none"},
    "none": {},
}
"""Constraint of the study → what is off in turn → the constraint that is left."""


def ablation_rows(
    data: LogSet,
    made: Synthesis,
    gained: Floats,
    propensities: Propensities,
    options: SynthesisOptions,
    *,
    intervals: Bootstrap | None,
    floor: float,
) -> Iterator[dict[str, Any]]:
    """Yield a row with all constraints of the study, and one for each that is off.

    ``made`` are the last interactions of the study, ``gained`` what `downstream` gives for them. ``change``
    is the IPS-Recall of item-kNN with synthetic interactions less that without; ``difference`` is the change
    less that of the first row, on the same resamples of users.
    """
    known, rounds = made.known, len(gained) - 1
    yield _row(("", options.constraint), made, gained, gained, intervals)
    for off, constraint in _WITHOUT[options.constraint].items():
        how = options.model_copy(update={"constraint": constraint})
        try:
            drawn = _last(known, how, rounds)
            own = downstream(data, propensities, how, floor=floor, rounds=rounds)
        except MetaevalError as error:  # nothing passes what is left
            yield {"off": off, "constraint": constraint, "reason": str(error)}
            continue
        yield _row((off, constraint), drawn, own, gained, intervals)


def _last(known: KnownInteractions, options: SynthesisOptions, rounds: int) -> Synthesis:
    made = synthesize(known, options)
    for _ in range(1, rounds):
        made = synthesize(known, options, made)
    return made


def _row(
    named: tuple[str, str], made: Synthesis, own: Floats, base: Floats, intervals: Bootstrap | None
) -> dict[str, Any]:
    (off, constraint), (distance, halves) = named, distances_of(made)
    nearest, _ = nearest_of(made)
    row: dict[str, Any] = {
        "off": off,
        "constraint": constraint,
        "interactions": len(made.item),
        "accepted": made.accepted,
        "tail": tail_share(shares_by_bin(made.item, made.bins)),
        "transitions": distance.total_variation,
        "halves": halves.total_variation,
        "nearest": float(np.median(nearest.cosine)),
    }
    # The first measure is IPS-Recall: before, after, and after with all constraints.
    sums = np.stack([own[0, 0], own[-1, 0], base[-1, 0]])

    def changed(of: Floats) -> Floats:
        before, after, with_all = ratio(of[:, 0], of[:, 1])
        return np.stack([after, after - before, after - with_all])

    resampler = intervals.resampler() if intervals else None
    bounds = [(0.0, 1.0), (-1.0, 1.0), (-1.0, 1.0)]
    found = each(estimated(ClusterSums(sums, changed), sums.shape[-1], resampler, bounds=bounds))
    for name, estimate in zip(("recall", "change", "difference"), found, strict=True):
        row |= estimate.row(name) if off or name != "difference" else {}
    return {**row, "reason": ""}


def ablation_sheet(rows: Sequence[Mapping[str, Any]], k: int, *, simulated: bool) -> Sheet:
    """Lay out `ablation_rows`."""
    frame = pd.DataFrame(rows)
    frame["off"] = frame["off"].replace("", "nothing")
    recall = measures(k)[0]
    shown = (
        *columns("text", off="Off", constraint="A step passes by"),
        Column("interactions", "Interactions", "count"),
        *columns("share", accepted="Accepted", tail="Tail"),
        *columns("decimal", transitions="Transitions", halves="Two halves", nearest="Nearest user"),
        Column("recall", recall, "decimal", "recall_low", "recall_high"),
        Column("change", "Change", "decimal", "change_low", "change_high"),
        Column("difference", "Less the first row", "decimal", "difference_low", "difference_high"),
        Column("reason", "Note", optional=True),
    )
    notes = (
        (
            "One constraint is off at a time, then both; all else is as in the first row. Transitions: how "
            "far the genres that follow a genre are from the real ones (total variation), beside two halves "
            "of the real users. Nearest user: the median cosine of a sequence with the most similar other "
            "real user."
        ),
        f"Change: {recall} of item-kNN with the synthetic interactions less that without, by the same users.",
    )
    return Sheet("ablation", "With each constraint off", frame, shown, notes, Simulation(simulated))
