"""The source's section 7 as one table: what weights, evidence, matching, temperature and more judges change.

One thing at a time is changed of a judge, or of how it is measured; each row is compared with the judge as it
is, weighted and on the pairs of the data set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.spec import EvaluatorSpec
from metaeval.kinds.exposure.pair_auc import ALL, NONE
from metaeval.kinds.exposure.pairs import matching_name
from metaeval.stats.resampling.bootstrap import each
from metaeval.stats.resampling.cluster_sums import ClusterSums, Stack
from metaeval.stats.resampling.multiplicity import holm
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.weights import Swaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metaeval.engine.alignment.aligned import Bools
    from metaeval.engine.paired_tests import Tests
    from metaeval.kinds.exposure.pair_auc import PairCells
    from metaeval.kinds.exposure.study import ExposureAblation
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.weighted.sums import Clusters


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """One thing that was changed."""

    argument: str
    value: str
    names: list[str]
    """Evaluators whose verdicts are taken together: repeats."""
    use: Bools
    """Shape (units,)."""
    weighting: str
    paired: bool
    """Whether it has the units and weights of the judge as it is, so that verdicts can be swapped."""


def ablation_table(
    ablation: ExposureAblation, cells: PairCells, specs: Mapping[str, str], tests: Tests | None
) -> pd.DataFrame:
    """Return a row per change, the judge as it is first.

    Returns
    -------
    DataFrame
        ``base``, ``evaluator``, ``argument``, ``value_of``; PairAUC as ``estimate`` and its ``difference``
        from the first row, with intervals over users; ``p`` of paired tests that swap verdicts by user,
        corrected by Holm, where pairs and weights are the same; ``n_pairs``.
    """
    rows = list(_changes(ablation, cells, specs))
    users = cells.users(np.any([row.use for row in rows], axis=0))
    own, n = [_sums(row, cells, users) for row in rows], users.n
    of_sums = next(iter(cells.measures.values())).of_sums
    statistics = [ClusterSums(sums, lambda of: of_sums(of)[None]) for sums in own]
    differences = [
        ClusterSums(np.stack([sums, own[0]]), lambda of: (of_sums(of[0]) - of_sums(of[1]))[None])
        for sums in own
    ]
    bounds = [*[(0.0, 1.0)] * len(rows), *[(-1.0, 1.0)] * len(rows)]
    found = each(cells.over_clusters(Stack([*statistics, *differences]), n, bounds))
    p = np.full(len(rows), np.nan)
    swapped = [i for i, row in enumerate(rows) if row.paired]
    if tests and len(swapped) > 1:
        together = [[statistics[i] for i in swapped]]
        p[swapped[1:]] = holm(paired_test(together, Swaps(n, tests.permutations, tests.seed)).p[0, 1:])
    made = []
    for i, row in enumerate(rows):
        pairs = cells.table.loc[row.use, ["user_id", "pair"]].drop_duplicates()
        made.append(
            {
                "base": ablation.base,
                "evaluator": row.names[0],
                "argument": row.argument,
                "value_of": row.value,
                **_cut(found[i].row("estimate")),
                **found[len(rows) + i].row("difference"),
                "p": p[i],
                "n_pairs": len(pairs),
            }
        )
    return pd.DataFrame(made)


def _changes(ablation: ExposureAblation, cells: PairCells, specs: Mapping[str, str]) -> Iterator[_Row]:
    weighting, base = cells.weightings[0], [ablation.base]
    use = cells.use(f"{ALL}, {weighting}")
    for variant in ablation.variants(EvaluatorSpec.parse(specs[ablation.base])):
        yield _Row(variant.argument, variant.value, list(variant.specs), use, weighting, paired=True)
        base = base if variant.argument else list(variant.specs)
    for name in ablation.against:
        yield _Row("evaluator", name, [name], use, weighting, paired=True)
    if weighting != NONE:
        yield _Row("weights", NONE, base, use, NONE, paired=False)
    for bins in ablation.matching:
        name = matching_name(bins)
        yield _Row("matched on", name, base, cells.matched_on(name), weighting, paired=False)


def _sums(row: _Row, cells: PairCells, users: Clusters) -> Floats:
    """Return what PairAUC sums up of all users, shape (2, users)."""
    units, measure = cells.weighed(row.use, row.weighting), next(iter(cells.measures.values()))
    at = [cells.evaluators.index(name) for name in row.names]
    of_unit, found = users.of_unit[row.use], units.by_unit(measure)
    summed = [[np.bincount(of_unit, v, users.n) for v in found[e]] for e in at]
    return np.asarray(np.sum(summed, axis=0), dtype=np.float64)


def _cut(row: Mapping[str, Any]) -> dict[str, Any]:
    """Name the ends of an estimate as every table does."""
    return {"estimate": row["estimate"], "ci_low": row["estimate_low"], "ci_high": row["estimate_high"]}
