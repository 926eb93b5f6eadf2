"""The scores of a run → all that its folder holds: correlated, tested, analysed, reported, written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.analysis.agreement.measures import are_ratings, bias_by_group
from metaeval.base.counts import counted, listed
from metaeval.base.errors import MetaevalError
from metaeval.base.formulas import to_csv
from metaeval.base.progress import progress
from metaeval.base.records import USER_RATER, DataSet, Kind, Scale, ScoreTable, Status
from metaeval.engine.drilldown import GroupColumn, Groups, UnitView
from metaeval.engine.order.ranking import Results
from metaeval.engine.passes import Loaded
from metaeval.engine.sheet import Sheet, said_by
from metaeval.evaluators.grid import Grid, grid_of, unit_positions
from metaeval.judging.cost import costs_of
from metaeval.kinds.kind import Scored
from metaeval.kinds.study import Study
from metaeval.llm.store.replies import Store, database_at
from metaeval.llm.store.tools import Conversation, conversations
from metaeval.reports.leaderboards import FORMATS, Leaderboard
from metaeval.reports.report_model import COSTS as SHOWN_COSTS
from metaeval.reports.report_model import ListedEvaluator, Report, report_page
from metaeval.reports.report_units import WHY_MISSING, Calls, Sample, Units, sample
from metaeval.reports.sheets import cost_table, notice, render, sheet_to_csv
from metaeval.runs.answer import RunAnswer, answer_of, kept_judges
from metaeval.runs.folder import (
    ANSWER,
    COST_TABLE,
    COSTS,
    DETAILS,
    RANKING,
    RATERS,
    REPEATS,
    REPORT,
    SCORES,
    SEALED,
    TESTS,
    TRUTH,
    VERDICTS,
    RunFolder,
)
from metaeval.runs.record import Record
from metaeval.stats.coefficients.tables import Floats
from metaeval.study.results import LEFT_OUT, Run, board_of, correlations_of
from metaeval.study.unread import bounded

if TYPE_CHECKING:
    from metaeval.study.plan import Plan


def write_outputs(
    todo: Plan,
    folder: RunFolder,
    record: Record,
    scores: ScoreTable,
    ratings: pd.DataFrame,
    *,
    loaded: Loaded | None = None,
    apart: tuple[ScoreTable, pd.DataFrame] | None = None,
) -> Run:
    """Make everything that a run finds out of its scores, and write it.

    ``record`` is what ``run.json`` says, but for what is found out here; ``ratings`` the truth (key columns,
    ``aspect``, ``rating``); ``loaded`` both scores and truth, if they do not fit in memory; ``apart`` the
    scores and the truth of what is sealed, of which nothing is estimated.
    """
    kind, data = todo.kind, todo.data
    people = data.ratings[~data.ratings["rater"].isin([USER_RATER, *getattr(data, "models", ())])]
    raters = people if len(people) else None
    repeats = _repeats(data)
    scored = kind.scored(
        *(kind, todo.study, data.scale, data.cluster, scores, ratings, raters, data, loaded),
        repeats=repeats,
    )
    results = kind.results(scored)
    # Scores that do not fit in memory have no tables of a kind's own.
    tables = [table for table in kind.tables if table.kept and loaded is None]
    with progress("details"):
        wanted = todo.study.details and loaded is None
        sheets = _named(kind.details(scored), record) if wanted else []
        views = {"generators": _named(kind.generators(scored), record), "details": sheets} if wanted else {}
    if record.unread:
        record = record.having(unread=[bounded(replies, kind, scored, results) for replies in record.unread])
    if apart is not None and record.sealed is not None:
        paid = costs_of(apart[0])
        usd = float(paid["usd"].sum(skipna=False)) if len(paid) else 0.0
        record = record.having(
            sealed=record.sealed.model_copy(update={"usd": None if np.isnan(usd) else usd})
        )
    table = results.board.frame if results.table is None else results.table
    record = record.having(
        policy=dict(results.policy),
        tests=dict(results.tests.policy) if results.tests else None,
        board=results.board.record(),
        board_file=kind.board_file,
        order=dict(results.order),
    )
    if todo.study.interval == "total":
        results = replace(results, board=scored.with_totals(results.board, results.order))
    costs = costs_of(scores)
    kept = kept_judges(todo.out, record, scores, ratings)
    answer = answer_of(
        results.board, results.order, record, tests=results.tests, people=results.people, kept=kept
    )
    board = board_of(results.board, record, answer, by=results.order, tests=results.tests, costs=costs)
    # Seconds differ from run to run; these files are to depend on the scores alone.
    # What a later command finds of a judge is not in them either.
    first = replace(board, answer={"lines": board.first[:1]})
    steady = replace(first, ranking=board.ranking and board.ranking.without("seconds_per_text"))
    with progress("report"):
        report = _report(todo, scored, results, record, board=board, costs=costs, views=views, answer=answer)
        page = report_page(report.payload(), static=first.to_html())
    said = said_by(sheets) or answer.lines[:1]
    details = notice(record.lost_sentences) + render(sheets, "md", first=said) if sheets else ""
    files: dict[str, pd.DataFrame | str | Loaded] = {
        SCORES: scores.frame if loaded is None else loaded,
        TRUTH: ratings,
        **({VERDICTS: scores.verdicts} if scores.verdicts is not None else {}),
        **({RATERS: raters} if raters is not None else {}),
        **({REPEATS: repeats} if repeats is not None else {}),
        kind.board_file: table,
        **{table.file: frame for table in tables if len(frame := scored.table(table))},
        **results.files,
        **({} if apart is None else _sealed_files(todo, *apart)),
        **({RANKING: sheet_to_csv(board.ranking)} if board.ranking else {}),
        **({TESTS: to_csv(results.tests.frame)} if results.tests else {}),
        **({COSTS: costs, COST_TABLE: cost_table(costs)} if len(costs) else {}),
        **({DETAILS: details} if details else {}),
        **{f"leaderboard.{suffix}": FORMATS[suffix](steady) for suffix in ("csv", "md", "tex")},
        ANSWER: answer.text,
        REPORT: page,
    }
    with progress("writing"):
        writers = {name: _writer(content, data.keys) for name, content in files.items()}
        done = folder.finish(writers, record)
        return Run(todo.out, done, scores, correlations_of(table, done), board)


def _repeats(data: DataSet) -> pd.DataFrame | None:
    """Return what people said when they were asked again, with their first ratings."""
    again: pd.DataFrame | None = getattr(data, "repeats", None)
    if again is None:
        return None
    by = [*data.keys, "rater", "aspect"]
    both = again.merge(data.ratings[[*by, "rating"]].rename(columns={"rating": "score"}), on=by)
    both = both[[*by, "rating", "score"]].dropna()
    return both if len(both) else None


def _sealed_files(todo: Plan, scores: ScoreTable, truth: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return scores and truth of what is sealed, with the tables that estimates of the kind read."""
    kind, data = todo.kind, todo.parts[-1]
    scored = kind.scored(kind, todo.study, data.scale, data.cluster, scores, truth, data=data)
    files = {SCORES: scores.frame, TRUTH: truth, **scored.read_by_cells()}
    if scores.verdicts is not None:
        files[VERDICTS] = scores.verdicts
    return {f"{SEALED}/{name}": frame for name, frame in files.items()}


def _named(sheets: Sequence[Sheet], record: Record) -> list[Sheet]:
    """Return sheets that print the short names of evaluators."""
    return [replace(sheet, names=record.names) for sheet in sheets]


def _report(
    todo: Plan,
    scored: Scored[Study],
    results: Results,
    record: Record,
    *,
    board: Leaderboard,
    costs: pd.DataFrame,
    views: Mapping[str, Sequence[Sheet]],
    answer: RunAnswer,
) -> Report:
    """Put together what the page of a run shows: what was scored, and what was found out."""
    data, scores, aspects = todo.data, scored.scores, record.study.aspects
    view = todo.kind.unit_view(data, aspects)
    if scored.loaded is None:
        units = units_of(view, data, scores, scored.truth, aspects)
        clusters = data.units[data.cluster].astype(str).tolist()
        shown = sample(clusters, f"{data.nouns[data.cluster]}s")
    else:
        none = Grid.empty(0, len(aspects))
        units = Units(view, none, (none,) * len(record.evaluators))
        shown = Sample(np.arange(0), len(data), LEFT_OUT)
    scales = [data.scale.of(aspect) for aspect in aspects or data.aspects]
    entries = [
        ListedEvaluator(name, e.spec, e.kind, _rates(grid.scores, scales), e.scores, e.signature)
        for (name, e), grid in zip(record.evaluators.items(), units.scores, strict=True)
    ]
    keys = [_calls(scores, name, data, aspects) for name in record.evaluators]
    rated_by_aspect = any(d.name == "aspect" for d in results.board.dimensions)
    return Report(
        title=record.title,
        answer=answer.record,
        dataset=record.data.name,
        clusters=counted(data.units[data.cluster].nunique(), data.nouns[data.cluster]),
        simulated=scores.simulation,
        truth=record.truth.short,
        version=record.metaeval,
        facts=list(_facts(data, record)),
        glossary=_glossary(record, data, results, costs),
        words=todo.kind.words(scored),
        policy=[*board.policy, *record.notes],
        lost=board.lost,
        evaluators=entries,
        board=record.named(results.board),
        costs=costs,
        ranked=results.ranked,
        people=results.people,
        groups=[_with_bias(g, units, entries) if rated_by_aspect else g for g in results.groups],
        units=units,
        shown=shown,
        calls=Calls(_conversations(keys, shown, record.study.judging.get("store"))),
        keys=keys,
        figures=results.figures,
        views=views,
    )


def units_of(
    view: UnitView, data: DataSet, scores: ScoreTable, truth: pd.DataFrame, aspects: Sequence[str]
) -> Units:
    """Lay scores and truth out over the units of the data."""
    frames = dict(iter(scores.frame.groupby("evaluator", sort=False, observed=True)))
    people = grid_of(truth.rename(columns={"rating": "score"}), data, aspects, "the truth")
    return Units(
        view, people, tuple(grid_of(frames[name], data, aspects, name) for name in scores.evaluators)
    )


def _rates(scores: Floats, scales: Sequence[Scale]) -> bool:
    """Say whether scores, shape (U, A), are ratings on the scales of the aspects."""
    by_scale = {scale: scores[:, [s == scale for s in scales]] for scale in scales}
    return all(are_ratings(values[~np.isnan(values)], scale) for scale, values in by_scale.items())


def _facts(data: DataSet, record: Record) -> Iterator[tuple[str, str]]:
    yield "Data set", data.name
    yield "Size", _size_text(data)
    yield "Truth", record.truth.spec
    if left_out := [aspect for aspect in data.aspects if aspect not in record.study.aspects]:
        yield "Aspects left out", ", ".join(left_out)
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
    return listed([counted(n, noun) for n, noun in counts if n])


def _glossary(record: Record, data: DataSet, results: Results, costs: pd.DataFrame) -> list[tuple[str, str]]:
    ranks, failed, priced, unread = "", "", "", ""
    if results.ranked:
        ranks = "those the data allow: from one more than are shown better to all but those shown worse"
    if failures := {
        s
        for e in record.evaluators.values()
        for s, n in e.scores.items()
        if n and s not in (Status.OK, Status.EXAMPLE)
    }:
        failed = "; ".join(f"{why}: {words}" for why, words in WHY_MISSING.items() if why in failures)
    if len(costs) and costs.filter([c.name for c in SHOWN_COSTS]).notna().to_numpy().any():
        priced = "means per unit, all aspects together; tokens include reasoning tokens"
        unread = "the share of replies that came and cannot be read"
    return [
        ("truth", "people's ratings, with which scores are compared"),
        (
            "part of the truth",
            "has people or scores of it, which raises estimates" if record.in_truth else "",
        ),
        ("unit", f"what a score is about, named by {', '.join(data.nouns[key] for key in data.keys)}"),
        ("rank range", ranks),
        ("interval, [low, high]", "values that fit the data, the estimate being one; a wide one: few data"),
        ("p", "how probable a difference this large is if there is none; small: not by chance alone"),
        ("missing scores", "scores not given, one per unit and aspect, among the units that people rated"),
        ("why missing", failed),
        ("USD, tokens, time", priced),
        ("unread", unread),
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
    calls = np.full((len(aspects), len(data)), "", dtype=object)
    aspect = frame["aspect"].map({a: i for i, a in enumerate(aspects)}).to_numpy(dtype=np.int64)
    calls[aspect, unit_positions(frame, data)] = frame["call"].fillna("").to_numpy(dtype=object)
    return calls


def _conversations(keys: Sequence[Any], shown: Sample, store: str | None) -> dict[str, Conversation]:
    """Read the calls behind the shown units from the store, as far as it is there."""
    calls = [call for of_judge in keys if of_judge is not None for call in of_judge[:, shown.at].T.flat]
    with contextlib.suppress(MetaevalError):  # the database of those who made a run need not be reached
        if (wanted := dict.fromkeys(" ".join(calls).split())) and (place := database_at(store)).exists():
            with Store(place, create=False) as opened:
                return conversations(opened, wanted)
    return {}


def _writer(content: pd.DataFrame | str | Loaded, keys: Sequence[str]) -> Callable[[Path], object]:
    def write(file: Path) -> None:
        if isinstance(content, Loaded):
            content.write_scores(keys, file)
        elif isinstance(content, str):
            file.write_text(content, encoding="utf-8", newline="\n")
        elif file.suffix == ".parquet":
            content.to_parquet(file, index=False)
        else:
            to_csv(content, file)

    return write
