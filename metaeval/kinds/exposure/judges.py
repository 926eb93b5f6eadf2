"""What judges quote and invent, and what it changes to change one thing of a judge or of how it is measured.

Ablations are the source's section 7: weights, evidence, matching, temperature and more judges. Each row is
compared with the judge as it is, weighted and on the pairs of the data set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.records import FIRST, SECOND, Status
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.alignment.aligned import Bools
from metaeval.engine.sheet import Column, columns
from metaeval.kinds.exposure.data.log_set import KEYS, ORDER, PAIR, USER
from metaeval.kinds.exposure.judge import DISCARD, EVIDENCE, INVENTED
from metaeval.kinds.exposure.measures import ALL, NONE, PAIRS, PairCells
from metaeval.kinds.exposure.pairs import matching_name
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.exposure.study import ExposureAblation
from metaeval.kinds.table import INTERVALS, KindTable
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import each
from metaeval.stats.resampling.cluster_sums import ClusterSums, Stack, mean_of
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.significance import holm
from metaeval.stats.resampling.weights import Swaps
from metaeval.stats.weighted.sums import Clusters

BOTH = "both"
_SHARES = ("found", "complete", "same")
_SHOWN = 50  # pieces of invented evidence that are printed


def evidence_table(scored: ExposureScored) -> pd.DataFrame:
    """Return a row per judge and order of showing, both orders first; none without judges that quote.

    With intervals over users: ``complete`` (the share of readable verdicts all of whose evidence was found),
    ``found`` (the mean share of a verdict's evidence) and ``same`` (of pairs with a valid verdict in both
    orders those for the same item, or ties).
    """
    return pd.DataFrame(_audited(scored.cells)) if EVIDENCE in scored.scores.frame else pd.DataFrame()


def _audited(cells: PairCells) -> Iterator[dict[str, Any]]:
    shares, statuses = cells.laid_out(EVIDENCE).astype(float), cells.laid_out("status")
    order = cells.table[ORDER].to_numpy(dtype=str)
    pairs = cells.table.groupby([USER, PAIR], sort=False).ngroup().to_numpy()
    for e, name in enumerate(cells.evaluators):
        if np.isnan(shares[e]).all():
            continue
        same, paired = _in_both(cells.verdicts[e], ~cells.invalid[e], order == FIRST, pairs)
        for shown, use in {BOTH: order != "", FIRST: order == FIRST, SECOND: order == SECOND}.items():
            read = use & ~np.isnan(shares[e])
            counted = np.stack([read, read, paired if shown == BOTH else np.zeros_like(read)]).astype(float)
            values = np.stack([np.nan_to_num(shares[e]), shares[e] == 1, same]) * counted
            clusters = cells.users(read).take(read)
            sums = [
                np.stack([np.bincount(clusters.of_unit, v[read], clusters.n) for v in part]).astype(float)
                for part in (values, counted)
            ]
            estimates = each(cells.estimate(mean_of(*sums), clusters.n))
            row: dict[str, Any] = {"evaluator": name, "order": shown}
            for column, estimate in zip(_SHARES, estimates, strict=True):
                row |= estimate.row(column)
            yield row | {
                "n_verdicts": int(read.sum()),
                "n_invented": int((shares[e][read] < 1).sum()),
                "n_discarded": int((statuses[e][read] == Status.INVENTED).sum()),
                "rule": str(cells.matched.scores.signatures[name].get(EVIDENCE, DISCARD)),
            }


def _in_both(verdicts: Floats, readable: Bools, first: Bools, pairs: Ints) -> tuple[Bools, Bools]:
    """Say of the first showing of each pair whether both verdicts agree, and whether there are both."""
    valid = ~np.isnan(verdicts) & readable
    turned = np.where(first, verdicts, -verdicts)
    frame = pd.DataFrame({"pair": pairs, "verdict": turned, "valid": valid}).groupby("pair")
    there = frame["valid"].transform("all").to_numpy() & (frame["valid"].transform("size") == 2).to_numpy()
    same = (frame["verdict"].transform("min") == frame["verdict"].transform("max")).to_numpy()
    return same & there & first, there & first


EVIDENCE_TABLE = KindTable(
    "evidence.csv",
    "Evidence quoted by judges",
    (
        *columns("text", evaluator="Judge", order="Order"),
        Column("complete", "All found", "share", "complete_low", "complete_high"),
        Column("found", "Found", "share", "found_low", "found_high"),
        Column("same", "Same in both orders", "share", "same_low", "same_high"),
        *columns("count", n_verdicts="Verdicts", n_invented="With invented", n_discarded="Discarded"),
        Column("rule", "Rule"),
    ),
    evidence_table,
    (
        (
            "All found: the share of readable verdicts with all evidence found, word for word, in the "
            "prompt's text on user or items; found: the mean share of a verdict's evidence. Case matters; "
            "white space, Unicode forms, and the forms of quotation marks and dashes do not."
        ),
        INTERVALS,
    ),
)


def invented_table(scored: ExposureScored) -> pd.DataFrame | None:
    """Return a row per piece of invented evidence: ``evaluator``, key columns and the ``text``."""
    frame = scored.scores.frame
    if INVENTED not in frame:
        return None
    planted = frame[frame[INVENTED].fillna("") != ""]
    texts = planted[["evaluator", *KEYS]].assign(text=planted[INVENTED].str.split("\n"))
    return texts.explode("text", ignore_index=True)


INVENTED_TABLE = KindTable(
    "invented.csv",
    "Invented evidence",
    columns("text", evaluator="Judge", user_id="User", pair="Pair", order="Order", text="Evidence"),
    invented_table,
    (f"The first {_SHOWN}; invented.csv has all.",),
    shown=lambda frame: frame.head(_SHOWN),
)


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


def ablation_table(scored: ExposureScored) -> pd.DataFrame:
    """Return a row per change, the judge as it is first, one ablation after the other.

    PairAUC is the ``estimate``, its ``difference`` that from the first row, with intervals over users; ``p``
    is of paired tests that swap verdicts by user, corrected by Holm, where pairs and weights are the same.
    """
    return pd.DataFrame([row for ablation in scored.study.ablations for row in _compared(ablation, scored)])


def _compared(ablation: ExposureAblation, scored: ExposureScored) -> Iterator[dict[str, Any]]:
    cells, tests = scored.cells, scored.study.tests
    rows = list(_changes(ablation, cells, scored.study.specs))
    users = cells.users(np.any([row.use for row in rows], axis=0))
    own, n = [_sums(row, cells, users) for row in rows], users.n
    auc = next(iter(cells.measures.values())).of_sums
    statistics = [ClusterSums(sums, lambda s: auc(s)[None]) for sums in own]
    differences = [
        ClusterSums(np.stack([sums, own[0]]), lambda s: (auc(s[0]) - auc(s[1]))[None]) for sums in own
    ]
    bounds = [*[(0.0, 1.0)] * len(rows), *[(-1.0, 1.0)] * len(rows)]
    estimates = each(cells.estimate(Stack([*statistics, *differences]), n, bounds))
    p = np.full(len(rows), np.nan)
    swapped = [i for i, row in enumerate(rows) if row.paired]
    if tests and len(swapped) > 1:
        together = [[statistics[i] for i in swapped]]
        p[swapped[1:]] = holm(paired_test(together, Swaps(n, tests.permutations, tests.seed)).p[0, 1:])
    for i, row in enumerate(rows):
        estimate, difference = estimates[i], estimates[len(rows) + i]
        yield {
            "base": ablation.base,
            "evaluator": row.names[0],
            "argument": row.argument,
            "value_of": row.value,
            "estimate": estimate.value,
            "ci_low": estimate.low,
            "ci_high": estimate.high,
            **difference.row("difference"),
            "p": p[i],
            "n_pairs": len(cells.table.loc[row.use, [USER, PAIR]].drop_duplicates()),
        }


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
    of_unit, parts = users.of_unit[row.use], units.by_unit(measure)
    summed = [[np.bincount(of_unit, v, users.n) for v in parts[e]] for e in at]
    return np.asarray(np.sum(summed, axis=0), dtype=np.float64)


ABLATIONS = KindTable(
    "ablations.csv",
    "Effect of weights, evidence, matching and judges",
    (
        *columns("text", evaluator="Evaluator", base="", argument="Changed", value_of="To"),
        Column("estimate", "PairAUC", "decimal", "ci_low", "ci_high"),
        Column("difference", "Difference", "decimal", "difference_low", "difference_high"),
        Column("p", "p", "p"),
        PAIRS,
    ),
    ablation_table,
    (
        (
            "One thing changes at a time; the first row of a judge is the unchanged judge. p: in tests that"
            " swap verdicts by user, corrected by Holm; no test if pairs or weights differ."
        ),
        INTERVALS,
    ),
)
