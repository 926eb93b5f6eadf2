"""The audit of evidence: how much of what judges quote stands in the prompt, and what they invent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.records import FIRST, SECOND, Status
from metaeval.kinds.exposure.data.log_set import KEYS, ORDER, PAIR, USER
from metaeval.kinds.exposure.judge.judge import DISCARD, EVIDENCE, INVENTED
from metaeval.stats.resampling.bootstrap import each
from metaeval.stats.resampling.cluster_sums import mean_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.kinds.exposure.pair_auc import PairCells
    from metaeval.stats.coefficients.tables import Floats

BOTH = "both"
_SHARES = ("found", "complete", "same")


def evidence_table(cells: PairCells) -> pd.DataFrame:
    """Return a row per judge and order of showing, both orders first.

    Returns
    -------
    DataFrame
        ``evaluator``, ``order``; with intervals over users ``complete`` (the share of readable verdicts all
        of whose evidence was found), ``found`` (the mean share of a verdict's evidence) and ``same`` (of
        pairs with a valid verdict in both orders those for the same item, or ties); ``n_verdicts``,
        ``n_invented`` (verdicts with invented evidence), ``n_discarded`` and the ``rule``. Empty without a
        judge that quotes evidence.
    """
    return pd.DataFrame(_rows(cells)) if EVIDENCE in cells.matched.scores.frame else pd.DataFrame()


def _rows(cells: PairCells) -> Iterator[dict[str, Any]]:
    shares, statuses = cells.laid_out(EVIDENCE).astype(float), cells.laid_out("status")
    order = cells.table[ORDER].to_numpy(dtype=str)
    pairs = cells.table.groupby([USER, PAIR], sort=False).ngroup().to_numpy()
    for e, name in enumerate(cells.evaluators):
        signature = cells.matched.scores.signatures[name]
        if np.isnan(shares[e]).all():
            continue
        same, paired = _in_both(cells.verdicts[e], cells.invalid[e], order == FIRST, pairs)
        for shown, use in {BOTH: order != "", FIRST: order == FIRST, SECOND: order == SECOND}.items():
            said = use & ~np.isnan(shares[e])
            of = np.stack([said, said, paired if shown == BOTH else np.zeros_like(said)]).astype(float)
            found = np.stack([np.nan_to_num(shares[e]), shares[e] == 1, same]) * of
            clusters = cells.users(said).take(said)
            sums = [
                np.stack([np.bincount(clusters.of_unit, v[said], clusters.n) for v in values]).astype(float)
                for values in (found, of)
            ]
            estimates = each(cells.over_clusters(mean_of(*sums), clusters.n))
            counts = {
                "n_verdicts": int(said.sum()),
                "n_invented": int((shares[e][said] < 1).sum()),
                "n_discarded": int((statuses[e][said] == Status.INVENTED).sum()),
            }
            rows = (one.row(of_what) for of_what, one in zip(_SHARES, estimates, strict=True))
            cut = {key: value for row in rows for key, value in row.items()}
            rule = str(signature.get(EVIDENCE, DISCARD))
            yield {"evaluator": name, "order": shown, **cut, **counts, "rule": rule}


def _in_both(verdicts: Floats, invalid: Any, first: Any, pairs: Any) -> tuple[Any, Any]:  # noqa: ANN401 - arrays (n,)
    """Say of the first showing of each pair whether both verdicts agree, and whether there are both."""
    valid = ~np.isnan(verdicts) & ~invalid
    turned = np.where(first, verdicts, -verdicts)
    frame = pd.DataFrame({"pair": pairs, "verdict": turned, "valid": valid}).groupby("pair")
    there = frame["valid"].transform("all").to_numpy() & (frame["valid"].transform("size") == 2).to_numpy()
    same = (frame["verdict"].transform("min") == frame["verdict"].transform("max")).to_numpy()
    return same & there & first, there & first


def invented_table(cells: PairCells) -> pd.DataFrame:
    """Return a row per piece of invented evidence: ``evaluator``, key columns and the ``text``."""
    frame = cells.matched.scores.frame
    if INVENTED not in frame:
        return pd.DataFrame()
    planted = frame[frame[INVENTED].fillna("") != ""]
    texts = planted[["evaluator", *KEYS]].assign(text=planted[INVENTED].str.split("\n"))
    return texts.explode("text", ignore_index=True)
