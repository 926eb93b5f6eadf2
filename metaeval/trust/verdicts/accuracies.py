"""Accuracies of verdicts as functions of cluster weights: judges to choose from, and families of judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from metaeval.analysis.families import Family, family_sheets
from metaeval.base.errors import MetaevalError, unknown
from metaeval.base.keys import noun
from metaeval.base.simulation import REAL
from metaeval.engine.cells import Estimated
from metaeval.engine.sheet import Sheet
from metaeval.evaluators.verdicts import Orders, pair_keys, votes_of
from metaeval.kinds.family_members import few_members
from metaeval.kinds.registry import fitting
from metaeval.stats.regression.generalizability import FEWEST_MEMBERS
from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of
from metaeval.stats.weighted.sums import Clusters, by_cluster, dense


def accuracies(known: pd.DataFrame, orders: Orders) -> Estimated:
    """Return the accuracy of each judge, with what both orders of a pair come to.

    ``known`` are comparisons with a gold preference (`metaeval.trust.verdicts.accuracy.with_gold`).
    """
    votes = votes_of(known, orders)
    return _estimated(votes, votes["code"] == votes["gold"])


def _estimated(rows: pd.DataFrame, right: pd.Series[bool]) -> Estimated:
    """Return the share of right rows of each judge; a missing verdict is wrong."""
    cluster = pair_keys(rows)[0]
    codes, names = pd.factorize(rows[cluster].astype(str), sort=True)  # alike for each order
    judge, judges = pd.factorize(rows["evaluator"].astype(str))
    clusters = Clusters(codes.astype(np.int64), len(names))
    counted = np.stack([right.to_numpy(dtype=np.float64), np.ones(len(rows))])
    hits, of = (dense(by_cluster(values, judge, len(judges), clusters)) for values in counted)
    each: dict[str, ClusterSums] = {str(name): mean_of(hits[[i]], of[[i]]) for i, name in enumerate(judges)}
    return Estimated(each, noun(cluster), len(names), share=True)


def verdict_families(known: pd.DataFrame, orders: Orders, families: Sequence[str]) -> list[Sheet]:
    """Return the sheets of families of judges: of the accuracy, with the two orders as replies.

    Each of ``families`` is ``NAME=PATTERN``; one NAME may have several patterns. `MetaevalError` is raised
    for a pattern that fits none, a family of fewer than three, and verdicts on several aspects.
    """
    if not families:
        return []
    refuse_several_aspects(known)
    estimated = accuracies(known, orders)
    by_order = [_estimated(known, known[shown] == known["gold"]) for shown in ("shown_first", "shown_second")]
    twice = known["due"].groupby(known["evaluator"].astype(str)).min() == 2
    found = []
    for name, members in members_of(families, list(estimated.statistics)).items():
        both = orders == "each" and all(twice[member] for member in members)
        left = [[of.statistics[m] for m in members] for of in by_order[::-1]] if both else []
        by = [([estimated.statistics[m] for m in members], estimated.n_clusters)]
        found.append(Family.of(name, members, by, left_out=left))
    return family_sheets(found, "accuracy", "share", cluster=estimated.cluster, simulated=REAL)


def members_of(families: Sequence[str], names: Sequence[str]) -> Mapping[str, list[str]]:
    """Read families from texts such as ``gpt=GPT-4 *``."""
    found: dict[str, dict[str, None]] = {}
    for text in families:
        family, _, pattern = (part.strip() for part in text.partition("="))
        if not (family and pattern):
            raise MetaevalError(f"--family {text!r} is no name with a pattern, such as gpt='GPT-4 *'")
        if not (named := fitting(pattern, names)):
            raise MetaevalError(unknown("there is no evaluator", pattern, names, "there are"))
        found.setdefault(family, {}).update(dict.fromkeys(named))
    for family, members in found.items():
        if len(members) < FEWEST_MEMBERS:
            raise MetaevalError(few_members(family, members))
    return {family: list(members) for family, members in found.items()}


def refuse_several_aspects(known: pd.DataFrame) -> None:
    """Raise `MetaevalError` if verdicts are on several aspects, whose accuracies are no one number."""
    aspects = known["aspect"].astype(str).unique()
    if len(aspects) > 1:
        raise MetaevalError(f"the verdicts are on several aspects ({', '.join(aspects)}); give those on one")
