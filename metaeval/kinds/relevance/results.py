"""What a study of relevance finds out beside correlations: its own tables, laid out as sheets and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from metaeval.analysis.agreement.labels import agreements
from metaeval.analysis.agreement.labels_sheet import label_sheet
from metaeval.base.errors import one_of
from metaeval.base.progress import progress
from metaeval.engine.sentences import interval_sentence
from metaeval.kinds.relevance.ablations import ablation_frame
from metaeval.kinds.relevance.agreement import PairAgreement
from metaeval.kinds.relevance.agreement_figure import agreement_figure
from metaeval.kinds.relevance.agreement_sheet import ablation_sheets, agreement_sheet
from metaeval.kinds.relevance.overrating import overrating

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.engine.board import Board
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.relevance.study import RelevanceStudy
    from metaeval.kinds.scored import Scored

AGREEMENT, ABLATIONS = "agreement.csv", "ablations.csv"


def own_tables(scored: Scored[RelevanceStudy]) -> dict[str, pd.DataFrame]:
    """Return the tables that only this kind has: file name → frame."""
    study, found = scored.study, {}
    with progress("pairs"):
        pairs = PairAgreement.of(scored.matched.prepared, scored.data.relevant)
        if pairs:
            found[AGREEMENT] = pairs.frame(study.bootstrap)
            frames = [
                ablation_frame(ablation, pairs, study.specs, study.bootstrap, study.tests)
                for ablation in study.ablations
            ]
            if frames:
                found[ABLATIONS] = pd.concat(frames, ignore_index=True)
    return found


def sheets(scored: Scored[RelevanceStudy]) -> Iterator[Sheet]:
    """Yield pairs by gap, ablations, labels and what is rated too high or too low."""
    study, simulated, data = scored.study, scored.scores.simulation, scored.matched.prepared
    options = study.bootstrap
    intervals = interval_sentence(options.record(data)) if options else ""
    if AGREEMENT in scored.own:
        yield agreement_sheet(scored.own[AGREEMENT], intervals, simulated)
    if ABLATIONS in scored.own:
        yield from ablation_sheets(scored.own[ABLATIONS], intervals, simulated)
    if options:
        found = agreements(data, scored.scores.frame, scored.truth, scale=scored.scale, bootstrap=options)
        labels = label_sheet(found, simulated=simulated)
        if labels:
            yield labels
    over = overrating(data, scored.scale, options, simulated)
    if over:
        yield over


def figures(
    scored: Scored[RelevanceStudy],
    board: Board,
    names: Sequence[str] = (),
    first: Mapping[str, str] | None = None,
) -> list[Figure]:
    """Draw pairs by gap."""
    for name in names:
        one_of(name, ["agreement"], "there is no figure", "there are")
    if AGREEMENT not in scored.own:
        return []
    sheet = agreement_sheet(scored.own[AGREEMENT], board.intervals, board.simulated)
    return [agreement_figure(sheet, first or {})]
