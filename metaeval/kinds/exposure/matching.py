"""The pairs of a study: those of the data set, weighted as the study says, and those matched otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.kinds.exposure.data.log_set import MATCHING, PAIR, preferences_of, units_of
from metaeval.kinds.exposure.pairs import matched_pairs, matching_name, reweighted, weighted_anew
from metaeval.kinds.exposure.propensity.propensities import propensities_of

if TYPE_CHECKING:
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.study import ExposureStudy


def pairs_of_study(study: ExposureStudy, data: LogSet) -> LogSet:
    """Return the log with the weights of the study, and the further pairs that its ablations ask for.

    Raises
    ------
    MetaevalError
        If propensities cannot be had, or there is nothing for a bin.
    """
    matchings = {matching_name(m): m for ablation in study.ablations for m in ablation.matching}
    options, table = study.propensity, data.table
    anew = options.own and data.synthetic is None  # the weights of these know how synthetic rows were drawn
    if options.floor is not None and not anew:
        table = reweighted(table, options.floor)
    if anew or matchings:
        given = propensities_of(data, options)
    if anew:
        table = weighted_anew(table, given, options.least)
    parts = [table.assign(**{MATCHING: ""})] if matchings else [table]
    for name, match in matchings.items():
        found = matched_pairs(given, match=match, seed=options.seed, floor=options.least).frame
        found[PAIR] = f"matched on {name}: " + found[PAIR]
        parts.append(units_of(found).assign(**{MATCHING: name}))
    units = pd.concat(parts, ignore_index=True) if matchings else table
    return replace(data, table=units, ratings=preferences_of(units, data.log))
