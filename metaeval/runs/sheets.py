"""Evaluators of several runs side by side, each tested against itself; and every two evaluators."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.records import AVERAGE
from metaeval.base.simulation import MARK
from metaeval.engine.comparison import compare_prepared
from metaeval.engine.ranking import interval_sentence, tests_sentence
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.resampling.multiplicity import benjamini_hochberg, holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.base.records import Correlations
    from metaeval.base.simulation import Simulation
    from metaeval.engine.comparison import By, Comparisons, Tests
    from metaeval.engine.policy import Prepared
    from metaeval.stats.coefficients.tables import Floats

_ESTIMATE = ("estimate", "ci_low", "ci_high")
_COUNTS = {"n_units": "", "n_undefined": "undefined groups", "n_missing": "missing scores"}
"""Counts of a run → how they are titled where there are any; those without a title are not printed."""


def side_by_side(
    data: Prepared,
    result: Correlations,
    columns: Mapping[str, Mapping[str, str]],
    by: By,
    tests: Tests,
    *,
    changed: Mapping[str, Sequence[str]] | None = None,
    notes: Sequence[str] = (),
) -> Sheet:
    """Put the evaluators of several runs side by side, and test each against itself in another run.

    Parameters
    ----------
    data
        Scores of all runs, aligned with one truth; an evaluator of a run goes by a name of its own.
    result
        Their correlations by the same column and under the same policy.
    columns
        Evaluator → run → its name in ``data``, of those runs that have it; all in the order to be shown.
    by
        The column of a leaderboard that is shown and tested.
    tests
        How is tested; p-values are corrected over the evaluators whose scores are not the same in both runs.
    changed
        Evaluator → what is not the same in the runs that have it.
    notes
        What else is to be said below the sheet.

    Returns
    -------
    Sheet
        ``runs``: a row an evaluator, with ``estimate``, ``ci_low``, ``ci_high``, ``n_units``, ``n_undefined``
        and ``n_missing`` ``@ RUN`` for each run; ``difference`` of the ``last`` run that has it less the
        ``first``, ``p`` and ``p_corrected``.
    """
    runs = list(dict.fromkeys(run for of_run in columns.values() for run in of_run))
    cells = [f"{field} @ {run}" for run in runs for field in (*_ESTIMATE, *_COUNTS)]
    chosen = np.logical_and.reduce([result.frame[field] == value for field, value in by._asdict().items()])
    numbers = result.frame[chosen].set_index("evaluator")
    together = sum(len(of_run) > 1 for of_run in columns.values())
    tested = {e: _tested(data, [*of_run.values()], by, tests, together) for e, of_run in columns.items()}
    rows: list[dict[str, Any]] = []
    for evaluator, of_run in columns.items():
        in_runs = list(of_run)
        defined = bool(numbers.loc[[*of_run.values()], "estimate"].notna().all())
        row: dict[str, Any] = {
            "evaluator": evaluator,
            "label": f"{evaluator}{MARK}"
            if result.simulation.among(of_run.values()).evaluators
            else evaluator,
            "first": in_runs[0],
            "last": in_runs[-1],
            "difference": tested[evaluator].difference if defined else math.nan,
            "p": tested[evaluator].p,
            "changed": ", ".join((changed or {}).get(evaluator, ())),
        }
        for run, name in of_run.items():
            row |= {f"{field} @ {run}": numbers.loc[name, field] for field in (*_ESTIMATE, *_COUNTS)}
        rows.append(row)
    names = ["evaluator", "label", *cells, "first", "last", "difference", "p", "p_corrected", "changed"]
    frame = pd.DataFrame(rows, columns=names)
    frame["p_corrected"] = _corrected(frame["p"].to_numpy(), tests)
    return Sheet(
        "runs",
        "Evaluators in each run",
        frame,
        _columns(frame, runs, tests),
        (*notes, *_said(result, by, data, [*tested.values()]), *_unpaired(columns, runs)),
        result.simulation,
    )


def pairs_sheet(tests: Comparisons, *, simulated: Simulation) -> Sheet:
    """Return the tests of every two evaluators: sheet ``tests``, with the columns of `Comparisons.frame`."""
    frame = tests.frame
    for side in ("first", "second"):
        frame[f"{side}_label"] = [simulated.label(name) for name in frame[side]]
    corrected = {"holm": "p_holm", "bh": "p_bh"}.get(tests.policy["correction"])
    columns = [
        Column("first_label", "evaluator"),
        Column("second_label", "against"),
        Column("difference", "difference", "hundred"),
        Column("p", "p", "p"),
    ]
    if corrected:
        columns.append(Column(corrected, "corrected p", "p"))
    if frame["p_williams"].notna().any():
        columns.append(Column("p_williams", "Williams' p", "p"))
    notes = [f"Differences of {tests.by.words}, × 100; the better of the two stands first."]
    if len(frame):
        notes.append(tests_sentence(tests.policy))
    return Sheet("tests", "Paired tests", frame, tuple(columns), tuple(notes), simulated)


class _Tested(NamedTuple):
    """An evaluator of the last run against itself in the first; NaN and None where nothing was tested."""

    difference: float = math.nan
    p: float = math.nan
    policy: Mapping[str, Any] | None = None


def _tested(data: Prepared, names: Sequence[str], by: By, tests: Tests, together: int) -> _Tested:
    if len(names) < 2:
        return _Tested()
    at = [data.evaluators.index(name) for name in (names[-1], names[0])]
    if _same_scores(data, at, by):
        # No test, and so none to correct the others for.
        return _Tested(difference=0.0)
    both = replace(
        data,
        evaluators=[data.evaluators[i] for i in at],
        scores=data.scores[at],
        mask=None if data.mask is None else data.mask[at],
        n_missing=data.n_missing[at],
    )
    found = compare_prepared(both, by, tests, corrected_with=together)
    return _Tested(float(found.difference[0, 1]), float(found.p[0, 1]), found.policy)


def _same_scores(data: Prepared, at: Sequence[int], by: By) -> bool:
    """Say whether two evaluators gave the same score to every unit that enters for both."""
    aspects = _aspects(data, by)
    one, other = (data.scores[i, aspects] for i in at)
    differs = one != other
    if data.mask is not None:
        differs &= data.mask[at[0], aspects] & data.mask[at[1], aspects]
    return not differs.any()


def _aspects(data: Prepared, by: By) -> slice | list[int]:
    """Return an index of the aspects that a column of a leaderboard is made of."""
    return slice(None) if by.aspect == AVERAGE else [data.aspects.index(by.aspect)]


def _corrected(p: Floats, tests: Tests) -> Floats:
    if tests.correction == "none":
        return p
    return (holm if tests.correction == "holm" else benjamini_hochberg)(p)


def _columns(frame: pd.DataFrame, runs: Sequence[str], tests: Tests) -> tuple[Column, ...]:
    columns = [Column("label", "evaluator")]
    columns += [
        Column(f"estimate @ {run}", run, "hundred", f"ci_low @ {run}", f"ci_high @ {run}") for run in runs
    ]
    if frame["difference"].notna().any():
        columns.append(Column("difference", "difference", "hundred"))
    if frame["p"].notna().any():
        columns.append(Column("p", "p", "p"))
        if tests.correction != "none":
            columns.append(Column("p_corrected", "corrected p", "p"))
    if frame["changed"].any():
        columns.append(Column("changed", "what changed"))
    for count, title in _COUNTS.items():
        for run in runs:
            if title and frame[f"{count} @ {run}"].fillna(0).any():
                columns.append(Column(f"{count} @ {run}", f"{title}, {run}", "count"))
    return tuple(columns)


def _said(result: Correlations, by: By, data: Prepared, tested: Sequence[_Tested]) -> list[str]:
    said = [f"Cells hold {by.words}, × 100."]
    if data.policy.common and data.mask is not None:
        entering = int(data.mask[:, _aspects(data, by)].any(axis=(0, 1)).sum())
        said.append(f"{entering:,} units enter: those that all evaluators of all runs scored.")
    if result.frame["ci_low"].notna().any():
        said.append(interval_sentence(result.policy["bootstrap"], [by.level]))
    if any(not math.isnan(test.difference) for test in tested):
        units = "" if data.policy.common else ", on the units that it scored in both"
        said.append(
            f"The difference is that of the last run that has the evaluator less the first{units}; one that "
            "gave the same scores in both is not tested."
        )
    policies = [test.policy for test in tested if test.policy is not None]
    if policies:
        least = max(policy["least_p"] for policy in policies)
        n = sum(not math.isnan(test.p) for test in tested)
        said.append(tests_sentence({**policies[0], "least_p": least, "pairs": n}))
    return said


def _unpaired(columns: Mapping[str, Mapping[str, str]], runs: Sequence[str]) -> list[str]:
    """Say what to do where a judge took the place of another: without a short name it goes by its spec."""
    alone = sum(len(of_run) == 1 for of_run in columns.values())
    if len(runs) < 2 or not alone:
        return []
    matched = f"Evaluators are matched by name; {alone:,} of {len(columns):,} are in one run only"
    way = "give them the same short name in the studies, or use metaeval compare --all-pairs"
    return [f"{matched}, and so not tested: {way}."]
