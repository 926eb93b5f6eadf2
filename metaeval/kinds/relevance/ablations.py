"""Variants of a judge, each compared with the judge as it is, on pairs of items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from metaeval.base.spec import EvaluatorSpec
from metaeval.kinds.relevance.agreement import SHARES, Shares
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.stats.resampling.multiplicity import holm
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.weights import Swaps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.engine.intervals import Bootstrap
    from metaeval.engine.paired_tests import Tests
    from metaeval.kinds.ablations import Ablation
    from metaeval.kinds.relevance.agreement import PairAgreement


def ablation_frame(
    ablation: Ablation,
    of: PairAgreement,
    specs: Mapping[str, str],
    intervals: Bootstrap | None,
    tests: Tests | None,
) -> pd.DataFrame:
    """Compare variants of a judge with the judge itself, on pairs of relevant and non-relevant items.

    Returns
    -------
    DataFrame
        A row per variant, the judge itself first: ``base``, ``evaluator``, ``argument``, ``value_of``; the
        shares of pairs, all repeats together, and their ``…_change`` against the judge, with intervals;
        ``p`` of the change of agreement (paired tests that swap users, corrected by Holm);
        ``repeats_low`` and ``repeats_high``, the 95 % interval of their mean agreement (Student's t).
    """
    variants = list(ablation.variants(EvaluatorSpec.parse(specs[ablation.base])))
    shares = [of.shares(list(variant.specs)) for variant in variants]
    p = np.full(len(variants), np.nan)
    if tests and len(variants) > 1:
        sums = (one.by_cluster for one in shares)
        agreement = [mean_of(agree[None], pairs[None]) for agree, _, pairs in sums]
        p[1:] = holm(paired_test([agreement], Swaps(of.n_users, tests.permutations, tests.seed)).p[0, 1:])
    resampler = intervals.resampler(of.n_users) if intervals else None
    rows = []
    for variant, found, p_value in zip(variants, shares, p.tolist(), strict=True):
        row: dict[str, Any] = {"base": ablation.base, "evaluator": next(iter(variant.specs))}
        row |= {"argument": variant.argument, "value_of": variant.value}
        row |= found.cells(SHARES, resampler)
        row |= found.less(shares[0]).cells([f"{name}_change" for name in SHARES], resampler)
        rows.append(row | {"p": p_value} | _spread([of.shares([name]) for name in variant.specs]))
    return pd.DataFrame(rows)


def _spread(repeats: Sequence[Shares]) -> dict[str, float]:
    """Return the interval of the mean agreement of repeats; NaN of one alone."""
    n = len(repeats)
    values = np.array([one.cells(SHARES, None)[SHARES[0]] for one in repeats])
    half = float(stdtrit(n - 1, 0.975) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return {"repeats_low": float(values.mean()) - half, "repeats_high": float(values.mean()) + half}
