"""A run → its report: everything that the page shows, put together once the run is scored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.analysis.agreement.by_group import bias_by_group
from metaeval.analysis.agreement.measures import on_scale
from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.records import Kind, Status
from metaeval.engine.drilldown import GroupColumn
from metaeval.evaluators.grid import Grid, grid_of, unit_positions
from metaeval.llm.store.database import database_at
from metaeval.llm.store.replies import Store
from metaeval.llm.store.tools import Conversation, conversations
from metaeval.reports import words
from metaeval.reports.report.calls import Calls
from metaeval.reports.report.model import COSTS, ListedEvaluator, Report
from metaeval.reports.report.units import Sample, Units, sample
from metaeval.study.recorded_files import LEFT_OUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from metaeval.base.records import DataOfKind, DataSet, Scale, ScoreTable
    from metaeval.engine.drilldown import Groups, UnitView
    from metaeval.engine.results import Results
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.kind import StudyKind
    from metaeval.kinds.scored import Scored
    from metaeval.kinds.study import Study
    from metaeval.reports import Leaderboard
    from metaeval.runs.record import Record
    from metaeval.stats.coefficients.tables import Floats


def report_of(
    kind: StudyKind,
    data: DataOfKind,
    scored: Scored[Study],
    found: Results,
    record: Record,
    *,
    board: Leaderboard,
    costs: pd.DataFrame,
    views: Mapping[str, Sequence[Sheet]],
) -> Report:
    """Put together what the page of a run shows.

    Parameters
    ----------
    kind, data, scored
        What was scored.
    found, board, costs, views
        What was found out.
    record
        What ``run.json`` says.
    """
    scores, aspects = scored.scores, record.study.aspects
    view = kind.unit_view(data, aspects)
    if scored.loaded is None:
        units = units_of(view, data, scores, scored.truth, aspects)
        clusters = data.units[data.cluster].astype(str).tolist()
        shown = sample(clusters, f"{data.nouns[data.cluster]}s")
    else:
        none = Grid.empty(0, len(aspects))
        units = Units(view, none, (none,) * len(record.evaluators))
        shown = Sample(np.arange(0), len(data), LEFT_OUT)
    entries = list(_entries(data, scores, units, record))
    keys = [_calls(scores, name, data, aspects) for name in record.evaluators]
    rated_by_aspect = any(d.name == "aspect" for d in found.board.dimensions)
    return Report(
        title=record.title,
        dataset=record.data.name,
        simulated=scores.simulation,
        truth=record.truth.spec,
        version=record.metaeval,
        facts=list(_facts(data, record)),
        glossary=_glossary(entries, found, costs, view.texts[0].title),
        policy=board.policy,
        lost=board.lost,
        evaluators=entries,
        board=found.board,
        costs=costs,
        ranked=found.ranked,
        people=found.people,
        groups=[_with_bias(g, units, entries) if rated_by_aspect else g for g in found.groups],
        units=units,
        shown=shown,
        calls=Calls(_conversations(keys, shown, record.study.judging.get("store"))),
        keys=keys,
        figures=found.figures,
        views=views,
    )


def units_of(
    view: UnitView, data: DataSet, scores: ScoreTable, truth: pd.DataFrame, aspects: Sequence[str]
) -> Units:
    """Lay scores and truth out over the units of the data.

    Raises
    ------
    DataError
        If a row is about a unit that the data do not have.
    """
    frames = dict(iter(scores.frame.groupby("evaluator", sort=False, observed=True)))
    return Units(
        view,
        grid_of(truth.rename(columns={"rating": "score"}), data, aspects, "the truth"),
        tuple(grid_of(frames[name], data, aspects, name) for name in scores.evaluators),
    )


def _entries(data: DataSet, scores: ScoreTable, units: Units, record: Record) -> Iterator[ListedEvaluator]:
    for (name, evaluator), grid in zip(record.evaluators.items(), units.scores, strict=True):
        yield ListedEvaluator(
            name,
            evaluator.spec,
            evaluator.kind,
            _rates(grid.scores, [data.scale.of(aspect) for aspect in record.study.aspects or data.aspects]),
            evaluator.scores,
            evaluator.signature,
        )


def _rates(scores: Floats, scales: Sequence[Scale]) -> bool:
    """Say whether scores, shape (U, A), are ratings on the scales of the aspects."""
    given = {scale: scores[:, [s == scale for s in scales]] for scale in scales}
    return all(on_scale(values[~np.isnan(values)], scale) for scale, values in given.items())


def _facts(data: DataSet, record: Record) -> Iterator[tuple[str, str]]:
    yield "Data set", data.name
    yield "Size", _size_text(data)
    yield "Truth", record.truth.spec
    yield "Scale", _scale_text(data.scale)
    yield "Source", data.source
    yield "Licence", data.licence
    yield "Fingerprint of the data", record.data.fingerprint


def _scale_text(scale: Scale) -> str:
    if scale.own:
        return "; ".join(f"{aspect}: {_scale_text(own)}" for aspect, own in scale.own)
    return f"{scale.min:g} to {scale.max:g}{', whole numbers' if scale.integer else ''}"


def _size_text(data: DataSet) -> str:
    """Return how many units there are, and how many of each key."""
    counts = [(len(data), "unit"), *((data.units[k].nunique(), data.nouns[k]) for k in data.keys)]
    *most, last = [counted(n, noun) for n, noun in counts if n]
    return f"{', '.join(most)} and {last}" if most else last


def _glossary(
    entries: Sequence[ListedEvaluator], found: Results, costs: pd.DataFrame, text: str
) -> list[tuple[str, str]]:
    failures = {status for e in entries for status, n in e.statuses.items() if n and status != Status.OK}
    priced = len(costs) and costs.filter([c.name for c in COSTS]).notna().to_numpy().any()
    return [
        ("truth", "people's ratings, with which scores are compared"),
        *found.glossary,
        (
            "cluster",
            "the evaluators not significantly worse than the cluster's best; the best of the rest begins "
            "the next cluster"
            if found.ranked
            else "",
        ),
        ("missing scores", "units without a score of the evaluator in this column"),
        (
            "not scored",
            f"over all aspects, and why. {words.meanings(words.STATUSES, failures)}" if failures else "",
        ),
        (
            "USD, tokens, time",
            f"the average cost of one {text}, all aspects together; tokens include reasoning tokens"
            if priced
            else "",
        ),
    ]


def _with_bias(groups: Groups, units: Units, entries: Sequence[ListedEvaluator]) -> Groups:
    """Add the bias of the evaluators whose scores are on the scale of the truth."""
    texts = {c.name: c.texts for c in units.view.columns}
    place = {ids: i for i, ids in enumerate(groups.ids)}
    of_unit = np.array([place.get(ids, -1) for ids in zip(*(texts[k] for k in groups.keys), strict=True)])
    there = of_unit >= 0
    bias = [
        bias_by_group((grid.scores - units.truth.scores).T[:, there], of_unit[there], len(place))
        for grid in units.scores
    ]
    known = np.array([e.on_scale for e in entries])[:, None, None]
    column = GroupColumn(
        np.where(known, np.stack(bias), np.nan),
        ("aspect",),
        "score \N{MINUS SIGN} truth",
        "hundredths",
        "Mean of score minus truth",
    )
    return replace(groups, columns=(*groups.columns, column))


def _calls(scores: ScoreTable, name: str, data: DataSet, aspects: Sequence[str]) -> Any:  # noqa: ANN401 - str of shape (aspects, units), or None
    """Return the key of the call behind each score of a judge; None for an evaluator that asks no one."""
    if "call" not in scores.frame or scores.kinds.get(name) != Kind.JUDGE:
        return None
    frame = scores.frame[scores.frame["evaluator"] == name]
    found = np.full((len(aspects), len(data)), "", dtype=object)
    aspect = frame["aspect"].map({a: i for i, a in enumerate(aspects)}).to_numpy(dtype=np.int64)
    found[aspect, unit_positions(frame, data)] = frame["call"].fillna("").to_numpy(dtype=object)
    return found


def _conversations(keys: Sequence[Any], shown: Sample, store: str | None) -> dict[str, Conversation]:
    """Read the calls behind the shown units from the store, as far as it is there."""
    wanted = dict.fromkeys(
        key
        for found in keys
        if found is not None
        for call in found[:, shown.at].T.flat
        for key in call.split()
    )
    if not wanted:
        return {}
    try:
        place = database_at(store)
        there = place.exists()
    except MetaevalError:  # whoever looks at a run need not reach the database of those who made it
        there = False
    if not there:
        return {}
    with Store(place, create=False) as opened:
        return conversations(opened, wanted)
