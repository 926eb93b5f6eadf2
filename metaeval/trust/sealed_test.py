"""The sealed test: the one evaluator that was chosen, on clusters that nothing has seen, once."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.counts import plural_of
from metaeval.base.errors import MetaevalError
from metaeval.base.keys import noun
from metaeval.runs.finished import OpenRun, open_sealed
from metaeval.runs.folder import RunFolder, read_record
from metaeval.runs.record import OpenedFacts
from metaeval.stats.resampling.choice import half_width
from metaeval.stats.resampling.rank_ranges import contributions
from metaeval.stats.resampling.significance import few_note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.engine.board import Cell
    from metaeval.runs.joint import JoinedRuns


def opened_before(runs: Mapping[str, OpenRun]) -> OpenedFacts | None:
    """Return what the sealed clusters of the runs said when they were opened; None if they are sealed."""
    return next(filter(None, (run.record.opened for run in runs.values())), None)


def open_for(joined: JoinedRuns, candidate: str, cell: Cell, *, alpha: float) -> OpenedFacts:
    """Evaluate the chosen one on the sealed clusters, and write into the run folders that they are open.

    Parameters
    ----------
    candidate
        Its name in ``joined``.
    cell
        What it was chosen by.

    Returns
    -------
    OpenedFacts
        What they said when they were opened, if that was for the same one and the same cell.

    Raises
    ------
    MetaevalError
        If a run sealed nothing or other clusters, so that they were seen; if they were opened for another
        one; or if they are too few.
    RunFolderError
        If a run is under way in a folder.
    """
    _check_sealed(joined.runs)
    name, run = next(
        (evaluator, run)
        for evaluator, of_run in joined.columns.items()
        for run, label in of_run.items()
        if label == candidate
    )
    signature = joined.runs[run].record.signatures[name]
    folders = {opened.folder.resolve(): opened.folder for opened in joined.runs.values()}
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(RunFolder.claim(folder)) for folder in folders.values()]
        records = [read_record(folder.path) for folder in held]
        before = next(filter(None, (record.opened for record in records)), None)
        if before is not None:
            if (before.signature, before.cell) == (signature, dict(cell)):
                return before
            raise MetaevalError(
                f"the sealed test was opened on {before.date} for {before.evaluator} ({before.of}), and can "
                "be opened for nothing else: what it said may have led to this choice"
            )
        facts = _evaluated(joined, name, run, cell, alpha)
        for folder, record in zip(held, records, strict=True):
            assert record.sealed is not None  # noqa: S101 - it was checked
            sealed = record.sealed.model_copy(update={"opened": facts})
            folder.write_record(record.having(sealed=sealed))
    return facts


def _check_sealed(runs: Mapping[str, OpenRun]) -> None:
    """Raise `MetaevalError` if a run has seen what is to be opened."""
    (first, one), *_ = runs.items()
    for name, run in runs.items():
        if run.record.sealed is None:
            raise MetaevalError(
                f"nothing is sealed in {name}, and a finished run cannot be sealed: all of its "
                f"{plural_of(noun(run.cluster))} were seen; say `sealed: 0.3` in a study before its first run"
            )
        if one.record.sealed and run.record.sealed.names != one.record.sealed.names:
            raise MetaevalError(
                f"{first} and {name} sealed other {plural_of(noun(run.cluster))}, so each has seen what the "
                "other sealed: no sealed test is left"
            )


def _evaluated(joined: JoinedRuns, name: str, run: str, cell: Cell, alpha: float) -> OpenedFacts:
    """Estimate one evaluator of a run on its sealed clusters, under the policy of the runs."""
    own = open_sealed(joined.runs[run])
    scored = own.scored
    if run != joined.ruling:
        scored = replace(open_sealed(joined.runs[joined.ruling]).scored, scores=own.scores, truth=own.truth)
    estimated = scored.cells.estimated(cell)
    n = estimated.n_clusters
    if few := few_note(n, noun(estimated.cluster)):
        raise MetaevalError(f"the sealed test cannot be opened: {few}")
    value, psi = np.nan, np.full(n, np.nan)
    if name in estimated.statistics:
        statistic = estimated.statistics[name]
        value, psi = float(statistic.at(np.ones((n, 1)))[-1, 0]), contributions(statistic, n)[-1]
    if not (np.isfinite(value) and np.isfinite(psi).all()):
        raise MetaevalError(f"the sealed test cannot be opened: {name} has no value there")
    half = half_width(psi - psi.mean(), value, alpha=alpha, share=estimated.share)
    return OpenedFacts(
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        evaluator=name,
        signature=joined.runs[run].record.signatures[name],
        cell=dict(cell),
        n=n,
        estimate=value,
        low=value - half,
        high=value + half,
    )
