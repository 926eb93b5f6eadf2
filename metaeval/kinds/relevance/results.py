"""What a study of relevance finds out beside correlations: its own tables, laid out as sheets and figures."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.analysis.agreement.labels import agreements
from metaeval.analysis.agreement.labels_sheet import label_sheet
from metaeval.base.errors import one_of
from metaeval.base.progress import progress
from metaeval.base.records import Kind
from metaeval.engine.sentences import interval_sentence
from metaeval.kinds.relevance.ablations import ablation_frame
from metaeval.kinds.relevance.agreement import PairAgreement
from metaeval.kinds.relevance.agreement_figure import agreement_figure
from metaeval.kinds.relevance.agreement_sheet import ablation_sheets, agreement_sheet
from metaeval.kinds.relevance.files import ABLATIONS, AGREEMENT
from metaeval.kinds.relevance.overrating import overrating
from metaeval.kinds.relevance.scales import on_label_scale
from metaeval.kinds.relevance.systems.agreement import MeasurePair
from metaeval.kinds.relevance.systems.figures import FIGURES as SYSTEM_FIGURES
from metaeval.kinds.relevance.systems.figures import system_figures
from metaeval.kinds.relevance.systems.labels import Judgements
from metaeval.kinds.relevance.systems.results import SystemOptions, systems_found
from metaeval.kinds.relevance.systems.sheets import system_sheets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.engine.board import Board
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.relevance.study import RelevanceStudy
    from metaeval.kinds.scored import Scored

FIGURES = ("agreement", *SYSTEM_FIGURES)
_DIGITS = 12  # of a signature


def own_tables(scored: Scored[RelevanceStudy]) -> dict[str, pd.DataFrame | str]:
    """Return the tables that only this kind has: file name → frame, or text in TREC's format."""
    study = scored.study
    found: dict[str, pd.DataFrame | str] = {}
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
    with progress("systems"):
        return found | _of_systems(scored)


def _of_systems(scored: Scored[RelevanceStudy]) -> dict[str, pd.DataFrame | str]:
    study, scores, data = scored.study, scored.scores, scored.data
    frame = on_label_scale(scores, scored.scale)
    judgements = Judgements.of_study(data.units, frame, scored.truth, study.truth, scored.scale)
    models = {f"Labels({rater!r})" for rater in data.models}
    options = SystemOptions(
        study.measures,
        [MeasurePair(pair.judge, pair.truth) for pair in study.pairs],
        study.bootstrap,
        alpha=study.tests.alpha if study.tests else 0.05,
        details=study.details,
        models={
            name: f"{spec} {scores.signatures[name].get('model', '')}" for name, spec in study.specs.items()
        },
        families=study.families,
        judges=[
            name for name, spec in study.specs.items() if scores.kinds[name] == Kind.JUDGE or spec in models
        ],
        signatures={name: _digest(signature) for name, signature in scores.signatures.items()},
    )
    return systems_found(data, judgements, study.truth, options)


def _digest(signature: Mapping[str, object]) -> str:
    text = json.dumps(signature, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def sheets(scored: Scored[RelevanceStudy]) -> Iterator[Sheet]:
    """Yield systems, pairs by gap, ablations, labels and what is rated too high or too low."""
    study, simulated, data = scored.study, scored.scores.simulation, scored.matched.prepared
    options = study.bootstrap
    intervals = interval_sentence(options.record(data)) if options else ""
    yield from system_sheets(scored.own, intervals, simulated)
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
    """Draw systems, τ by labels per user, and pairs by gap."""
    for name in names:
        one_of(name, FIGURES, "there is no figure", "there are")
    drawn = list(system_figures(scored.own, scored.study.truth, board.simulated, first or {}))
    if AGREEMENT in scored.own:
        sheet = agreement_sheet(scored.own[AGREEMENT], board.intervals, board.simulated)
        drawn.append(agreement_figure(sheet, first or {}))
    return [figure for figure in drawn if not names or figure.sheet.name in names]
