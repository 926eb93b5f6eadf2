"""Correlations corrected for attenuation, where reliabilities are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet, by_aspect
from metaeval.stats.agreement.raters import disattenuate
from metaeval.stats.coefficients.levels import Grouping, estimate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from metaeval.base.simulation import Simulation
    from metaeval.engine.alignment.policy import Prepared
    from metaeval.stats.coefficients.tables import Floats


def attenuation(
    data: Prepared,
    of_evaluators: Mapping[str, Floats],
    of_truth: Floats | None,
    *,
    parts: Collection[str] = (),
    truth_name: str = "User()",
    simulated: Simulation = REAL,
) -> Sheet:
    """Divide correlations by the root of the known reliabilities (Spearman 1904), by aspect.

    Parameters
    ----------
    data
        Aligned scores and truth; Pearson's r at dataset level is corrected, whatever its levels.
    of_evaluators
        Name → reliability, shape (A,). An evaluator without one is not corrected for its own.
    of_truth
        Shape (A,); None if unknown. Then evaluators without a reliability are left out.
    parts
        Evaluators that share ratings, and so errors, with the truth. They are not corrected.

    Returns
    -------
    Sheet
        A row per evaluator: ``correlation``, ``reliability``, ``truth_reliability``, ``corrected``, averaged
        over aspects; the frame has every aspect too (``corrected: accuracy``), and these are printed where an
        aspect without a corrected value leaves no average.
    """
    unknown = np.full(len(data.aspects), np.nan)
    rows = []
    for e, name in enumerate(data.evaluators):
        own = of_evaluators.get(name)
        if own is None and of_truth is None:
            continue
        r = _pearson(data, e)
        corrected = disattenuate(r, 1.0 if own is None else own, 1.0 if of_truth is None else of_truth)
        columns = {
            "correlation": r,
            "reliability": unknown if own is None else own,
            "truth_reliability": unknown if of_truth is None else of_truth,
            "corrected": unknown if name in parts else corrected,
        }
        rows.append({"evaluator": name, **by_aspect(columns, data.aspects)})
    frame = pd.DataFrame(rows)
    shown = (
        Column("evaluator", "Evaluator"),
        Column("correlation", "Pearson's r", "hundred"),
        Column("reliability", "Reliability of the evaluator", "hundred"),
        Column("truth_reliability", "Reliability of the truth", "hundred"),
        Column("corrected", "Corrected r", "hundred"),
        *(Column(f"corrected: {a}", f"Corrected, {a}", "hundred") for a in _corrected_aspects(data, frame)),
    )
    notes = tuple(_notes(data, frame, truth_known=of_truth is not None, parts=parts, truth_name=truth_name))
    return Sheet("attenuation", "Correlations corrected for attenuation", frame, shown, notes, simulated)


def _corrected_aspects(data: Prepared, frame: pd.DataFrame) -> list[str]:
    """Return the aspects to print: the corrected ones, if an evaluator is corrected in only some."""
    defined = frame[[f"corrected: {a}" for a in data.aspects]].notna().to_numpy()
    lacking = (defined.any(axis=1) & ~defined.all(axis=1)).any()
    return [a for i, a in enumerate(data.aspects) if lacking and defined[:, i].any()]


def _pearson(data: Prepared, e: int) -> Floats:
    """Return an evaluator's Pearson's r with the truth at dataset level, shape (A,)."""
    everything = Grouping(np.zeros(data.truth.shape[1], dtype=np.int64), 1)
    mask = None if data.mask is None else data.mask[e]
    found = estimate(data.scores[e], data.truth, {"dataset": everything}, ["pearson"], mask=mask)
    return found["dataset", "pearson"].estimate


def _notes(
    data: Prepared, frame: pd.DataFrame, *, truth_known: bool, parts: Collection[str], truth_name: str
) -> Iterator[str]:
    n = len(data.aspects)
    over = f", aspect by aspect and then averaged over {n}" if n > 1 else ""
    yield (
        "Pearson's r at dataset level, plain and corrected to r / √(reliability of the evaluator · "
        f"reliability of the truth){over}; × 100. Reliabilities are estimates, too; corrected values have no "
        "intervals."
    )
    own = frame["reliability"].notna().any()
    if not truth_known:
        why = " (each user rated once)" if truth_name == "User()" else ""
        yield (
            f"The reliability of the truth {truth_name} is unknown{why}, so nothing is corrected for it; "
            "evaluators without a known reliability are not listed."
        )
    else:
        yield "The reliability of the truth is that of its annotators, ICC(3, ·)."
        if frame["reliability"].isna().any():
            yield "A dash means that the evaluator's reliability is unknown; nothing is corrected for it."
    if own:
        yield (
            "The reliability of a judge is Pearson's r between its replicates; that of an annotator is "
            "ICC(3, 1) of all annotators, and that of a mean of k of them follows from it (Spearman-Brown), "
            "assuming equal annotators."
        )
    if set(parts) & set(frame["evaluator"]):
        yield "An evaluator that shares annotators with the truth shares their errors, and is not corrected."
    low = [
        a
        for a in data.aspects
        if (frame[[f"reliability: {a}", f"truth_reliability: {a}"]] <= 0).any(axis=None)
    ]
    if low:
        yield (
            f"Where a reliability is not above zero ({', '.join(low)}), nothing can be corrected, and there "
            "is no average."
        )
    if (frame.filter(regex="^corrected: ").abs() > 1).any(axis=None):
        yield "A corrected value above 100 means that a reliability was estimated too low."
