"""A run → its report: everything that the page shows, put together once the run is scored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.analysis.agreement.by_group import KEYS_OF, bias_by_group, by_group
from metaeval.analysis.agreement.forest import CELL
from metaeval.analysis.agreement.measures import on_scale
from metaeval.base.records import Kind
from metaeval.engine.comparison import By, Tests, compare_prepared
from metaeval.engine.policy import Policy, Prepared, prepare
from metaeval.engine.ranking import ranking
from metaeval.llm.store.replies import Store, default_path
from metaeval.llm.store.tools import Conversation, conversations
from metaeval.reports.report.calls import Calls, calls_of
from metaeval.reports.report.model import Ranked, Report
from metaeval.reports.report.units import Sample, Units, sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from metaeval.analysis.agreement.by_group import Groups
    from metaeval.base.records import Correlations, ExplanationSet, ScoreTable
    from metaeval.engine.comparison import Comparisons
    from metaeval.engine.sheet import Sheet
    from metaeval.reports import Leaderboard
    from metaeval.reports.figures import Figure
    from metaeval.stats.coefficients.tables import Floats

_MOST_PERMUTATIONS = 10_000  # in columns other than the one that orders the leaderboard
_MOST_TESTED = 32  # evaluators, above which only that column is tested


def report_of(
    data: ExplanationSet,
    scores: ScoreTable,
    truth: pd.DataFrame,
    result: Correlations,
    record: Mapping[str, Any],
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
    data, scores, truth
        What was scored, with what, and the ratings: key columns, ``aspect``, ``rating``.
    result, board, tests, costs
        What was found out.
    record
        The content of ``run.json``.
    figures, sheets
        Further things to show.
    """
    study = record["study"]
    policy = Policy.of(
        study["levels"], study["coefficients"], study["missing"], study["undefined_groups"], study["units"]
    )
    prepared = prepare(scores.frame, truth, policy)
    groups = by_group(prepared)
    units = Units.of(data, scores, truth, study["aspects"])
    shown = sample(data)
    rated = [on_scale(grid.scores[~np.isnan(grid.scores)], data.scale) for grid in units.scores]
    keys = [_calls(scores, name, data, study["aspects"]) for name in scores.evaluators]
    return Report(
        record=record,
        statements=data.aspects,
        correlations=result.frame,
        policy=board.policy,
        lost=board.lost,
        costs=costs,
        ranked=list(_ranked(result, prepared, tests, study["tests"])),
        people=list(_people(figures)),
        simulated=scores.simulation,
        groups=groups,
        on_scale=rated,
        bias={g.level: _bias(units, g, rated) for g in groups},
        units=units,
        shown=shown,
        calls=Calls(_conversations(keys, shown, study["judging"]["store"])),
        keys=keys,
        figures=figures,
        sheets=sheets,
    )


def _ranked(
    result: Correlations, data: Prepared, tests: Comparisons | None, options: Mapping[str, Any] | None
) -> Iterator[Ranked]:
    """Test the columns of the leaderboard, but for ranks over all units, which take long."""
    if tests is None or options is None:
        return
    yield Ranked(tests, ranking(result, by=tests.by, tests=tests))
    if len(data.evaluators) > _MOST_TESTED:
        return
    given = {k: v for k, v in options.items() if k != "seed"}
    how = Tests.of({**given, "permutations": min(given["permutations"], _MOST_PERMUTATIONS)})
    for by in _columns(result):
        if by != tests.by and (by.coefficient == "pearson" or by.level != "dataset"):
            one = replace(data.policy, levels=(by.level,), coefficients=(by.coefficient,))
            found = compare_prepared(replace(data, policy=one), by, how, seed=options["seed"])
            yield Ranked(found, ranking(result, by=by, tests=found))


def _columns(result: Correlations) -> list[By]:
    frame = result.frame[["aspect", "level", "coefficient"]].drop_duplicates()
    return [By(*map(str, row)) for row in frame.itertuples(index=False)]


def _people(figures: Sequence[Figure]) -> Iterator[dict[str, Any]]:
    """Yield what people reach in each column: the line that the figure of the ranking has."""
    for sheet in (figure.sheet for figure in figures if figure.sheet.name == "ranking"):
        lines = sheet.frame.dropna(subset=["human"]).drop_duplicates(CELL)
        for line in lines.to_dict("records"):
            yield {
                "label": str(line["human_who"]),
                **{k: str(line[k]) for k in CELL},
                "estimate": line["human"],
            }


def _bias(units: Units, groups: Groups, rated: Sequence[bool]) -> list[Floats | None]:
    """Return the bias of the evaluators whose scores are on the scale of the truth."""
    of_unit = _group_of_unit(units.data, groups)
    there = of_unit >= 0
    return [
        bias_by_group(units.difference(e)[:, there], of_unit[there], len(groups.names)) if known else None
        for e, known in enumerate(rated)
    ]


def _group_of_unit(data: ExplanationSet, groups: Groups) -> Any:  # noqa: ANN401 - int64 of shape (units,)
    place = {names: i for i, names in enumerate(groups.names)}
    columns = [data.explanations[k].astype(str) for k in KEYS_OF[groups.level]]
    return np.array([place.get(names, -1) for names in zip(*columns, strict=True)], dtype=np.int64)


def _calls(scores: ScoreTable, name: str, data: ExplanationSet, aspects: Sequence[str]) -> Any:  # noqa: ANN401 - str of shape (aspects, units), or None
    frame = scores.frame
    if "call" not in frame or scores.kinds.get(name) != Kind.JUDGE:
        return None
    return calls_of(frame[frame["evaluator"] == name], data, aspects)


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
