"""A run → its report: everything that the page shows, put together once the run is scored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.analysis.agreement.by_group import bias_by_group, by_group
from metaeval.analysis.agreement.forest import CELL
from metaeval.analysis.agreement.measures import on_scale
from metaeval.base.records import Kind, Status
from metaeval.engine.comparison import Tests, compare_prepared
from metaeval.engine.correlation_board import correlation_board
from metaeval.engine.drilldown import GroupColumn
from metaeval.engine.ranking import ranking
from metaeval.engine.results import PeopleLine, RankedCell
from metaeval.engine.sentences import tests_sentence
from metaeval.evaluators.grid import grid_of, unit_positions
from metaeval.kinds.explanations.reading import LEVEL_MEANINGS, clusters, size_text, unit_view
from metaeval.llm.store.replies import Store, default_path
from metaeval.llm.store.tools import Conversation, conversations
from metaeval.reports import words
from metaeval.reports.report.calls import Calls
from metaeval.reports.report.model import COSTS, ListedEvaluator, Report
from metaeval.reports.report.units import Sample, Units, sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from metaeval.base.records import Correlations, ExplanationSet, ScoreTable
    from metaeval.engine.board import Board
    from metaeval.engine.comparison import Comparisons
    from metaeval.engine.drilldown import Groups
    from metaeval.engine.matched import Matched
    from metaeval.engine.policy import Prepared
    from metaeval.engine.sheet import Sheet
    from metaeval.reports import Leaderboard
    from metaeval.reports.figures import Figure
    from metaeval.runs.record import Record

_MOST_PERMUTATIONS = 10_000  # in columns other than the one that orders the leaderboard
_MOST_TESTED = 32  # evaluators, above which only that column is tested


def report_of(
    data: ExplanationSet,
    matched: Matched,
    result: Correlations,
    record: Record,
    *,
    board: Leaderboard,
    tests: Comparisons | None,
    costs: pd.DataFrame,
    figures: Sequence[Figure] = (),
    sheets: Sequence[Sheet] = (),
) -> Report:
    """Put together what the page of a run shows.

    Parameters
    ----------
    data, matched
        What was scored; with what, and the truth.
    result, board, tests, costs
        What was found out.
    record
        What ``run.json`` says.
    figures, sheets
        Further things to show.
    """
    study, scores, prepared = record.study, matched.scores, matched.prepared
    cells = correlation_board(result, study.order_by)
    units = units_of(data, scores, matched.truth, study.aspects)
    shown = sample(*clusters(data))
    entries = list(_entries(data, scores, units, record))
    keys = [_calls(scores, name, data, study.aspects) for name in scores.evaluators]
    return Report(
        title=record.title,
        dataset=record.data.name,
        simulated=scores.simulation,
        truth=record.truth.spec,
        version=record.metaeval,
        facts=list(_facts(data, record)),
        glossary=_glossary(entries, study.levels, costs),
        policy=board.policy,
        lost=board.lost,
        evaluators=entries,
        board=cells,
        costs=costs,
        ranked=list(_ranked(cells, prepared, tests, study.tests)),
        people=list(_people(figures)),
        groups=[_with_bias(g, units, entries) for g in by_group(prepared)],
        units=units,
        shown=shown,
        calls=Calls(_conversations(keys, shown, study.judging.get("store"))),
        keys=keys,
        figures=figures,
        sheets=sheets,
    )


def units_of(data: ExplanationSet, scores: ScoreTable, truth: pd.DataFrame, aspects: Sequence[str]) -> Units:
    """Lay scores and truth out over the units of the data.

    Raises
    ------
    DataError
        If a row is about a unit that the data do not have.
    """
    frames = dict(iter(scores.frame.groupby("evaluator", sort=False, observed=True)))
    return Units(
        unit_view(data, aspects),
        grid_of(truth.rename(columns={"rating": "score"}), data, aspects, "the truth"),
        tuple(grid_of(frames[name], data, aspects, name) for name in scores.evaluators),
    )


def _entries(
    data: ExplanationSet, scores: ScoreTable, units: Units, record: Record
) -> Iterator[ListedEvaluator]:
    for (name, evaluator), grid in zip(record.evaluators.items(), units.scores, strict=True):
        yield ListedEvaluator(
            name,
            evaluator.spec,
            evaluator.kind,
            on_scale(grid.scores[~np.isnan(grid.scores)], data.scale),
            evaluator.scores,
            evaluator.signature,
        )


def _facts(data: ExplanationSet, record: Record) -> Iterator[tuple[str, str]]:
    scale = data.scale
    yield "Data set", data.name
    yield "Size", size_text(data)
    yield "Truth", record.truth.spec
    yield "Scale", f"{scale.min:g} to {scale.max:g}{', whole numbers' if scale.integer else ''}"
    yield "Source", data.source
    yield "Licence", data.licence
    yield "Fingerprint of the data", record.data.fingerprint


def _glossary(
    entries: Sequence[ListedEvaluator], levels: Sequence[str], costs: pd.DataFrame
) -> list[tuple[str, str]]:
    failures = {status for e in entries for status, n in e.statuses.items() if n and status != Status.OK}
    priced = len(costs) and costs[[c.name for c in COSTS]].notna().to_numpy().any()
    return [
        ("truth", "the ratings that scores are compared with"),
        ("level", words.meanings(LEVEL_MEANINGS, levels)),
        (
            "undefined groups",
            "groups of a level where truth or scores are all equal, so without a coefficient",
        ),
        ("missing scores", "what the evaluator should have scored in this column and did not"),
        (
            "not scored",
            f"over all aspects, and why. {words.meanings(words.STATUSES, failures)}" if failures else "",
        ),
        (
            "USD, tokens, seconds",
            "what one explanation costs on average, all aspects together" if priced else "",
        ),
    ]


def _ranked(
    board: Board,
    data: Prepared,
    tests: Comparisons | None,
    options: Mapping[str, Any] | None,
) -> Iterator[RankedCell]:
    """Test the columns of the leaderboard, but for ranks over all units, which take long."""
    if tests is None or options is None:
        return
    yield _tested(board, tests)
    if len(data.evaluators) > _MOST_TESTED:
        return
    how = Tests(**{**options, "permutations": min(options["permutations"], _MOST_PERMUTATIONS)})
    for row in board.frame[CELL].drop_duplicates().itertuples(index=False):
        by = dict(zip(CELL, map(str, row), strict=True))
        if by != tests.by and (by["coefficient"] == "pearson" or by["level"] != "dataset"):
            yield _tested(board, compare_prepared(data, by, how))


def _tested(board: Board, tests: Comparisons) -> RankedCell:
    sheet = ranking(board, tests=tests)
    return RankedCell(tests.by, sheet, tests.policy["alpha"], tests_sentence(tests.policy))


def _people(figures: Sequence[Figure]) -> Iterator[PeopleLine]:
    """Yield what people reach in each column: the line that the figure of the ranking has."""
    for sheet in (figure.sheet for figure in figures if figure.sheet.name == "ranking"):
        lines = sheet.frame.dropna(subset=["human"]).drop_duplicates(CELL)
        for line in lines.to_dict("records"):
            yield PeopleLine(str(line["human_who"]), {k: str(line[k]) for k in CELL}, line["human"])


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


def _calls(scores: ScoreTable, name: str, data: ExplanationSet, aspects: Sequence[str]) -> Any:  # noqa: ANN401 - str of shape (aspects, units), or None
    """Return the key of the call behind each score of a judge; None for an evaluator that asks nobody."""
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
        key for found in keys if found is not None for key in found[:, shown.at].T.flat if key
    )
    path = Path(store) if store else default_path()
    if not wanted or not path.is_file():
        return {}
    with Store(path, create=False) as opened:
        return conversations(opened, wanted)
