"""What labels say of systems: all tables of a study, by the names of their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.kinds.relevance.files import (
    CURVE,
    DECISIONS,
    FAMILIES,
    JUDGED,
    LEFT_OUT,
    NOTES,
    POPULARITY,
    SELECTION,
    SYSTEM_AGREEMENT,
    SYSTEMS,
    UNJUDGED,
)
from metaeval.kinds.relevance.systems.agreement import MeasurePair, system_agreement
from metaeval.kinds.relevance.systems.completeness import judged_shares, left_out, twins
from metaeval.kinds.relevance.systems.curve import label_curve
from metaeval.kinds.relevance.systems.decisions import (
    clusters,
    decisions,
    favours_popular,
    rank_gains,
    system_popularity,
)
from metaeval.kinds.relevance.systems.effectiveness import RankedRuns, by_evaluator, systems_frame
from metaeval.kinds.relevance.systems.holes import holes
from metaeval.kinds.relevance.systems.measures import measure_named
from metaeval.kinds.relevance.systems.selection import FAMILIES as KNOWN_FAMILIES
from metaeval.kinds.relevance.systems.selection import by_history, selection, shared_families

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.relevance.data.collection import Collection
    from metaeval.kinds.relevance.systems.labels import Judgements

POOL = 10
"""The first items of a list: the depth of the pool and of popularity, if the collection has no depth."""


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """How systems are measured and compared."""

    measures: Sequence[str]
    pairs: Sequence[MeasurePair]
    bootstrap: Bootstrap | None
    alpha: float = 0.05
    details: bool = True
    """Whether completeness, the curve of labels and left-out systems are computed too."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Evaluator → whatever names its model, such as its spec and model."""
    families: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Family of models → words in names; they override the known ones."""
    judges: Sequence[str] = ()
    """Evaluators whose labels of unjudged items are written as files."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """Evaluator → a digest of its signature."""


def systems_found(
    data: Collection, judgements: Judgements, truth: str, options: SystemOptions
) -> dict[str, pd.DataFrame | str]:
    """Measure the systems of a collection by every evaluator's labels, and compare their orders.

    Parameters
    ----------
    judgements
        Labels of the truth and the evaluators.
    truth
        Which of them is the truth.

    Returns
    -------
    dict
        Name of a file → its table, or its text (of TREC's format). Empty if there is no run, or no label of
        the truth.

    Raises
    ------
    MetaevalError
        If a measure is not known, or the truth is not on the scale of the labels.
    """
    if data.runs.empty:
        return {}
    if truth not in judgements.labels:
        raise MetaevalError(f"systems cannot be measured by the truth: {' '.join(judgements.notes)}")
    names = dict.fromkeys([*options.measures, *(name for pair in options.pairs for name in pair)])
    measures = {name: measure_named(name, relevant=data.relevant) for name in names}
    every = list(measures.values())
    runs = RankedRuns.of(data.runs, judgements.units)
    found = by_evaluator(runs, judgements.labels, every)
    resampler = options.bootstrap.resampler(len(runs.users)) if options.bootstrap else None
    pairs, alpha = list(options.pairs), options.alpha
    systems = systems_frame(runs, found, list(names), resampler)
    systems["cluster"] = [
        c for of in found.values() for name in names for c in clusters(of, name, alpha=alpha)
    ]
    agreement = system_agreement(found, truth, pairs, resampler)
    labelled = ~np.isnan(judgements.labels[truth])
    coverage = {name: float((~np.isnan(of[labelled])).mean()) for name, of in judgements.labels.items()}
    tables: dict[str, pd.DataFrame | str] = {
        SYSTEMS: systems,
        SYSTEM_AGREEMENT: agreement.assign(coverage=agreement["evaluator"].map(coverage)),
        DECISIONS: decisions(found, truth, pairs, alpha=alpha),
    }
    depth = data.depth or POOL
    if len(found) > 1:
        history = None
        if data.histories is not None:
            history = by_history(data.runs, runs.systems, data.histories, measures[pairs[0].truth])
            popularity = system_popularity(data.runs, data.histories, runs.systems, depth)
            tables[POPULARITY] = favours_popular(found, truth, pairs, popularity, resampler)
        tables[SELECTION] = selection(runs.systems, found, truth, pairs[0], history)
        families = shared_families(
            runs.systems,
            rank_gains(found, truth, pairs[0]),
            options.models,
            resampler,
            {**options.families, **{k: v for k, v in KNOWN_FAMILIES.items() if k not in options.families}},
        )
        if len(families):
            tables[FAMILIES] = families
    if options.details:
        tables[JUDGED] = judged_shares(runs, judgements.labels)
        tables[UNJUDGED] = twins(runs, judgements.labels, every, relevant=data.relevant)
        tables[LEFT_OUT] = left_out(runs, judgements.labels[truth], every, depth=depth)
        seed = options.bootstrap.seed if options.bootstrap else 0
        tables[CURVE] = label_curve(runs, judgements, truth, pairs[0], measures, seed=seed)
    if judgements.notes:
        tables[NOTES] = pd.DataFrame({"note": judgements.notes})
    judges = [name for name in options.judges if name in judgements.labels and name != truth]
    return tables | holes(judgements, truth, options.signatures, judges)
