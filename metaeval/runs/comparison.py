"""Finished runs → sheets: what changed between them, and paired tests of their evaluators."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.records import Scale
from metaeval.base.simulation import MARK
from metaeval.engine.board import ESTIMATES, Board, Cell
from metaeval.engine.cells import Cells
from metaeval.engine.order.paired_tests import Comparisons, Tests
from metaeval.engine.order.ranking import ranking
from metaeval.engine.sentences import tests_sentence
from metaeval.engine.sheet import Column, Sheet
from metaeval.runs.joint import JoinedRuns, evaluators_of, join_runs
from metaeval.runs.record import Record
from metaeval.stats.resampling.significance import benjamini_hochberg, holm

Changes: TypeAlias = dict[str, dict[str, str]]
"""Key → run → its value there; a run without the key is left out."""
_Row: TypeAlias = tuple[str, str, str, Mapping[str, str]]
"""Part, evaluator, key, and run → value."""

NOTHING = "nothing changed"
_DIGITS = 12  # of a hash that are shown
_HASH = re.compile(rf"([0-9a-f]{{{_DIGITS}}})[0-9a-f]{{20,}}")


def compare_runs(
    folders: Sequence[str | os.PathLike[str]],
    *,
    by: str | Cell | None = None,
    correction: str | None = None,
    permutations: int | None = None,
    seed: int | None = None,
    all_pairs: bool = False,
    policy_of: str | os.PathLike[str] | None = None,
) -> list[Sheet]:
    """Compare the evaluators of one finished run, or several runs, the oldest first, by paired tests.

    Runs are compared on the units that all of them have, under one policy; each run's scores are those that
    it wrote. The run ``policy_of`` rules: its policy, intervals and tests hold for all. If None, it is the
    first run, and all policies must be the same.

    Returns
    -------
    list of Sheet
        Of one run ``tests``, of every two evaluators. Of several runs ``changes`` (see `run_changes`) and
        ``runs`` (see `side_by_side`); with ``all_pairs`` also ``ranking``, with rank clusters, and ``tests``.
    """
    joined = join_runs(folders, policy_of=policy_of)
    options = {"correction": correction, "permutations": permutations, "seed": seed}
    stated = {k: v for k, v in options.items() if v is not None}
    tests = Tests.model_validate({**(joined.study.tests or {}), **stated})
    cell, cells = joined.cell(by), joined.cells
    sheets: list[Sheet] = []
    several = len(joined.runs) > 1
    board = cells.board(cell, intervals=several or all_pairs)
    if several:
        records = joined.records
        changed = {
            name: list(dict.fromkeys(key.partition(".")[0] for key in evaluator_changes(records, name)))
            for name in joined.columns
        }
        sheets.append(run_changes(records, joined.notes))
        sheets.append(side_by_side(cells, board, joined.columns, tests, changed=changed, notes=joined.notes))
    else:
        board = next(iter(joined.records.values())).named(board)
    if not several or all_pairs:
        pairs = _kept_tests(joined, cell, tests) or cells.compare(cell, tests)
        sheets += [ranking(board, tests=pairs)] if all_pairs else []
        sheets.append(pairs_sheet(pairs, board))
    return sheets


def _kept_tests(joined: JoinedRuns, cell: Cell, tests: Tests) -> Comparisons | None:
    """Return the tests that a single run wrote, if they are those that are asked for."""
    if len(joined.runs) > 1:
        return None
    (run,) = joined.runs.values()
    options = run.record.study.tests
    same = options is not None and Tests(**options) == tests
    return run.tests() if same and cell == run.record.order else None


def run_changes(records: Mapping[str, Record], notes: tuple[str, ...] = ()) -> Sheet:
    """Return the sheet ``changes``: what runs depend on, by name of the run.

    Its columns are ``part``, ``evaluator`` (empty unless it is an evaluator that changed), ``key``, and
    ``value @ RUN`` per run; a row per key that differs, or one that says that nothing of a part changed.
    """
    rows: list[_Row] = []
    for part, read in _PARTS.items():
        changed = _changed({run: _flat(read(record)) for run, record in records.items()})
        rows += [(part, "", key, values) for key, values in changed.items()] or [(part, "", NOTHING, {})]
    rows += _evaluator_rows(records)
    titles = {name: name for name in ("part", "evaluator", "key")} | {f"value @ {r}": r for r in records}
    frame = pd.DataFrame([[*row, *map(values.get, records)] for *row, values in rows], columns=[*titles])
    if any(0 < len(values) < len(records) for *_, values in rows):
        notes += ("— : the run does not have this key.",)
    if any("…" in value for *_, values in rows for value in values.values()):
        notes += (f"Hashes are cut to {_DIGITS} digits.",)
    columns = tuple(Column(name, title) for name, title in titles.items())
    simulated = reduce(or_, (record.simulation for record in records.values()))
    return Sheet("changes", "What changed between the runs", frame, columns, notes, simulated)


def evaluator_changes(records: Mapping[str, Record], evaluator: str) -> Changes:
    """Return what differs between the runs that have an evaluator: its spec, signature, counts by status.

    Keys of nested mappings are joined by dots, such as ``prompt.sha256``.
    """
    having = {run: r.evaluators[evaluator] for run, r in records.items() if evaluator in r.evaluators}
    own = ("spec", "kind", "scores")
    return _changed({run: _flat({**e.signature, **e.content(own)}) for run, e in having.items()})


def _evaluator_rows(records: Mapping[str, Record]) -> list[_Row]:
    rows: list[_Row] = []
    shared, same = 0, 0
    for name, runs in evaluators_of(records).items():
        if len(runs) < len(records):
            having = {run: "yes" if run in runs else "no" for run in records}
            rows.append(("evaluators", name, "in the run", having))
        changed = evaluator_changes(records, name)
        rows += [("evaluators", name, key, values) for key, values in changed.items()]
        shared += len(runs) > 1
        same += len(runs) > 1 and not changed
    if same:
        rows.append(("evaluators", "", f"{NOTHING} in {same} of {shared}" if rows else NOTHING, {}))
    return rows


def _changed(of_runs: Mapping[str, Mapping[str, str]]) -> Changes:
    """Return the keys whose values differ between runs; hashes are cut once they have been compared."""
    keys = dict.fromkeys(key for values in of_runs.values() for key in values)
    changed: Changes = {}
    for key in keys:
        values = {run: facts[key] for run, facts in of_runs.items() if key in facts}
        if len(values) < len(of_runs) or len(set(values.values())) > 1:
            changed[key] = {run: _HASH.sub(r"\1…", value) for run, value in values.items()}
    return changed


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return nested mappings as one from dotted keys to texts."""
    flat: dict[str, str] = {}
    for key, inner in value.items():
        whole = f"{prefix}{key}"
        flat |= _flat(inner, f"{whole}.") if isinstance(inner, Mapping) else {whole: _text(inner)}
    return flat


def _text(value: object) -> str:
    match value:
        case str():
            return value or "(empty)"
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list() | tuple() if all(isinstance(v, str) for v in value):
            return ", ".join(value) or "none"
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return json.dumps(value, ensure_ascii=False)


def side_by_side(
    cells: Cells,
    board: Board,
    columns: Mapping[str, Mapping[str, str]],
    tests: Tests,
    *,
    changed: Mapping[str, Sequence[str]] | None = None,
    notes: Sequence[str] = (),
) -> Sheet:
    """Put the evaluators of several runs side by side, and test each against itself in another run.

    Parameters
    ----------
    cells, board
        Scores of all runs and one truth, and their estimates in the cell that the board shows first.
    columns
        Evaluator → run that has it → its name in ``cells``; all in the order to be shown.
    tests
        Options; p-values are corrected over the evaluators whose scores differ between their two runs.
    changed
        Evaluator → what differs between its runs.

    Returns
    -------
    Sheet
        ``runs``: a row per evaluator, with ``estimate``, ``ci_low``, ``ci_high`` and counts ``@ RUN`` for
        each run; ``difference``: the ``last`` run that has it less the ``first``; ``p``, ``p_corrected``.
    """
    cell = board.cell()
    runs = list(dict.fromkeys(run for of_run in columns.values() for run in of_run))
    numbers = board.of(cell).set_index("evaluator")
    counts = dict.fromkeys(("n_units", *board.counts))
    fields = [*ESTIMATES, *(c for c in counts if c in numbers)]
    together = sum(len(of_run) > 1 for of_run in columns.values())
    tested = {e: _tested(cells, cell, [*of_run.values()], tests, together) for e, of_run in columns.items()}
    rows: list[dict[str, Any]] = []
    for evaluator, of_run in columns.items():
        in_runs = list(of_run)
        defined = bool(numbers.loc[[*of_run.values()], "estimate"].notna().all())
        row: dict[str, Any] = {
            "evaluator": evaluator,
            "label": f"{evaluator}{MARK}" if board.simulated.among(of_run.values()).evaluators else evaluator,
            "first": in_runs[0],
            "last": in_runs[-1],
            "difference": tested[evaluator].difference if defined else math.nan,
            "p": tested[evaluator].p,
            "changed": ", ".join((changed or {}).get(evaluator, ())),
        }
        for run, name in of_run.items():
            row |= {f"{field} @ {run}": numbers.loc[name, field] for field in fields}
        rows.append(row)
    of_runs = [f"{field} @ {run}" for run in runs for field in fields]
    names = ["evaluator", "label", *of_runs, "first", "last", "difference", "p", "p_corrected", "changed"]
    frame = pd.DataFrame(rows, columns=names)
    corrected = {"holm": holm, "bh": benjamini_hochberg}.get(tests.correction)
    frame["p_corrected"] = corrected(frame["p"].to_numpy()) if corrected else frame["p"]
    return Sheet(
        "runs",
        "Evaluators in each run",
        frame,
        _columns(frame, runs, tests, board),
        (*notes, *_sentences(board, cells, cell, [*tested.values()]), *_unpaired(columns, runs)),
        board.simulated,
    )


def pairs_sheet(tests: Comparisons, board: Board) -> Sheet:
    """Return the tests of every two evaluators: sheet ``tests``, with the columns of `Comparisons.frame`.

    The title counts the pairs that differ significantly; these stand first.
    """
    frame = tests.frame
    for side in ("first", "second"):
        frame[f"{side}_label"] = [board.label(name) for name in frame[side]]
    corrected = {"holm": "p_holm", "bh": "p_bh"}.get(tests.policy["correction"])
    frame = frame.sort_values([corrected or "p", "p"], kind="stable", ignore_index=True)
    differ, pairs = int((frame[corrected or "p"] <= tests.policy["alpha"]).sum()), counted(len(frame), "pair")
    columns = [
        Column("first_label", "evaluator"),
        Column("second_label", "against"),
        Column("difference", "difference", board.form),
        Column("p", "p", "p"),
    ]
    if corrected:
        columns.append(Column(corrected, "corrected p", "p"))
    if frame["p_williams"].notna().any():
        columns.append(Column("p_williams", "Williams' p", "p"))
    measure = board.words(board.cell(tests.by))
    notes = [f"Differences of {measure}; the better of the two stands first."]
    if len(frame):
        notes.append(tests_sentence(tests.policy))
    title = f"Paired tests: {differ:,} of {pairs} {'differs' if differ == 1 else 'differ'} significantly"
    simulated, names = board.simulated, board.names
    return Sheet("tests", title, frame, tuple(columns), tuple(notes), simulated, names=names)


class _Tested(NamedTuple):
    """An evaluator of the last run against itself in the first; NaN and None if not tested."""

    difference: float = math.nan
    p: float = math.nan
    policy: Mapping[str, Any] | None = None


def _tested(cells: Cells, cell: Cell, names: Sequence[str], tests: Tests, together: int) -> _Tested:
    if len(names) < 2:
        return _Tested()
    last, first = names[-1], names[0]
    if cells.same(cell, last, first):
        # Not tested, so p-values are not corrected for it.
        return _Tested(difference=0.0)
    pair = cells.compare(cell, tests, evaluators=[last, first], corrected_with=together)
    return _Tested(float(pair.difference[0, 1]), float(pair.p[0, 1]), pair.policy)


def _columns(frame: pd.DataFrame, runs: Sequence[str], tests: Tests, board: Board) -> tuple[Column, ...]:
    columns = [Column("label", "evaluator")]
    low, high = ("ci_low @ {}", "ci_high @ {}") if board.intervals else ("", "")
    columns += [
        Column(f"estimate @ {run}", run, board.form, low.format(run), high.format(run)) for run in runs
    ]
    if frame["difference"].notna().any():
        columns.append(Column("difference", "difference", board.form))
    if frame["p"].notna().any():
        columns.append(Column("p", "p", "p"))
        if tests.correction != "none":
            columns.append(Column("p_corrected", "corrected p", "p"))
    if frame["changed"].any():
        columns.append(Column("changed", "what changed"))
    for count, title in board.counts.items():
        for run in runs:
            if frame[f"{count} @ {run}"].fillna(0).any():
                columns.append(Column(f"{count} @ {run}", f"{title}, {run}", "count"))
    return tuple(columns)


def _sentences(board: Board, cells: Cells, cell: Cell, tested: Sequence[_Tested]) -> list[str]:
    notes = [f"Cells hold {board.words(cell)}."]
    if (entering := cells.entering(cell)) is not None:
        notes.append(f"{entering:,} units: those that all evaluators of all runs scored.")
    second = board.second_of(cell) if board.frame["ci_low"].notna().any() else None
    notes += filter(None, [board.intervals, second.intervals if second else ""])
    if any(not math.isnan(test.difference) for test in tested):
        units = "" if cells.common else ", on the units that it scored in both"
        notes.append(
            f"The difference is the last run with the evaluator minus the first{units}; an evaluator with "
            "the same scores in both is not tested."
        )
    policies = [test.policy for test in tested if test.policy is not None]
    if policies:
        least = max(policy["least_p"] for policy in policies)
        n = sum(not math.isnan(test.p) for test in tested)
        notes.append(tests_sentence({**policies[0], "least_p": least, "pairs": n}))
    return notes


def _unpaired(columns: Mapping[str, Mapping[str, str]], runs: Sequence[str]) -> list[str]:
    """Say what to do where one judge replaced another: without a short name it is named by its spec."""
    alone = sum(len(of_run) == 1 for of_run in columns.values())
    if len(runs) < 2 or not alone:
        return []
    matched = f"Evaluators are matched by name; {alone:,} of {len(columns):,} are in one run only"
    way = "give them the same short name in the studies, or use metaeval compare --all-pairs"
    return [f"{matched}, and so not tested: {way}."]


def _truth(record: Record) -> dict[str, Any]:
    unanswered = {k: v for k, v in record.policy.get("n_truth_missing", {}).items() if v}
    return {**record.truth.signature, "spec": record.truth.spec, "unanswered": unanswered}


def _of_scale(scale: Scale) -> dict[str, Any]:
    own: dict[str, Any] = {aspect: _of_scale(own) for aspect, own in scale.own}
    return own or {"min": scale.min, "max": scale.max, "integer": scale.integer}


def _study(*keys: str) -> Callable[[Record], dict[str, Any]]:
    return lambda record: record.study.content(keys)


_OF_DATA = ("name", "fingerprint", "units", "simulated", "licence", "source")
_PARTS: dict[str, Callable[[Record], dict[str, Any]]] = {
    "data": lambda record: record.data.content(_OF_DATA),
    "scale": lambda record: _of_scale(record.data.scale),
    "truth": _truth,
    "aspects": _study("aspects"),
    "policy": _study("missing", "undefined_groups", "units", "exclude"),
    "study": _study("levels", "coefficients", "order_by", "bootstrap", "tests"),
    "versions": lambda record: record.content(("metaeval", "python", "libraries")),
}
"""Part of a run → its facts in the record."""
