"""Several finished runs, checked to be comparable and joined on the units that all have."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pandas as pd

from metaeval.base.counts import counted, listed
from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.keys import key_columns
from metaeval.base.records import AVERAGE, Kind, ScoreTable
from metaeval.engine.board import Board, BoardDimension, Cell, read_cell
from metaeval.engine.cells import Cells
from metaeval.runs.finished import OpenRun, open_run
from metaeval.runs.record import Record, StudyFacts

_DATASET = "dataset"
_POLICY = ("missing", "undefined_groups", "units")
_SAME: dict[str, Callable[[OpenRun], str]] = {
    "the truth": lambda run: run.record.truth.spec,
    "the scale": lambda run: str(run.record.data.scale),
    "what names a unit": lambda run: ", ".join(key_columns(run.truth)),
}
"""What all runs must have alike, as text."""


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRuns:
    """Runs that can be compared."""

    runs: Mapping[str, OpenRun]
    """Short name → run."""
    ruling: str
    """The run whose policy, intervals and tests hold for all."""
    aspects: tuple[str, ...]
    """Those that all runs have."""
    scores: ScoreTable
    """Of all runs; evaluators are named as in ``columns``."""
    truth: pd.DataFrame
    """Of the units and aspects that all runs have."""
    columns: Mapping[str, Mapping[str, str]]
    """Evaluator → run that has it → ``evaluator @ run``."""
    notes: tuple[str, ...]
    """What was compared, and what was left out."""

    @property
    def records(self) -> dict[str, Record]:
        """What each ``run.json`` says."""
        return {name: run.record for name, run in self.runs.items()}

    @property
    def study(self) -> StudyFacts:
        """The study that rules, as resolved."""
        return self.runs[self.ruling].record.study

    @property
    def cells(self) -> Cells:
        """The scores of all runs, estimated and tested as the study that rules says."""
        cells: Cells = replace(self.runs[self.ruling].scored, scores=self.scores, truth=self.truth).cells
        return cells

    def cell(self, wanted: str | Cell | None) -> Cell:
        """Read a cell; a dimension that is left out is as in the study, if all runs have it."""
        known = [*self.aspects, AVERAGE]
        standard = dict(self.runs[self.ruling].record.order)
        if standard.get("aspect", known[0]) not in known:
            standard["aspect"] = known[0] if len(self.aspects) == 1 else AVERAGE
        cell = read_cell(wanted, standard)
        aspect = cell.get("aspect", known[0])
        if aspect not in known:
            raise MetaevalError(
                f"no aspect {aspect!r} is in all runs{nearest(aspect, known)} (in all: {', '.join(known)})"
            )
        return cell


def evaluators_of(records: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return every evaluator of any run, in the runs' order, and the runs that have it."""
    names = dict.fromkeys(name for record in records.values() for name in record.evaluators)
    return {name: [run for run, record in records.items() if name in record.evaluators] for name in names}


def run_names(folders: Sequence[str | os.PathLike[str]]) -> dict[str, Path]:
    """Name run folders by the shortest ends of their paths that differ; repeated ones get a number."""
    paths = [Path(folder).resolve() for folder in folders]
    named: dict[str, Path] = {}
    for i, (path, folder) in enumerate(zip(paths, folders, strict=True)):
        others = {str(other) for other in paths if other != path}
        tails = ("/".join(path.parts[-depth:]) for depth in range(1, len(path.parts)))
        name = next((t for t in tails if not any(o.endswith(f"/{t}") for o in others)), str(path))
        times = paths[:i].count(path)
        named[f"{name} ({times + 1})" if times else name] = Path(folder)
    return named


def join_runs(
    folders: Sequence[str | os.PathLike[str]], *, policy_of: str | os.PathLike[str] | None = None
) -> JoinedRuns:
    """Open finished runs and check that their numbers can be compared.

    ``policy_of`` is the run whose policy holds for all, by its folder or short name; the first, if left out.
    """
    if not folders:
        raise MetaevalError("there is nothing to compare; give one or more run folders")
    named = run_names(folders)
    runs = {name: open_run(path) for name, path in named.items()}
    ruling = _ruling(named, policy_of)
    _check_studies(runs, policy_given=policy_of is not None)
    aspects = _common_aspects(runs)
    truth = _common_truth(runs, aspects)
    columns = {
        evaluator: {run: f"{evaluator} @ {run}" if len(runs) > 1 else evaluator for run in having}
        for evaluator, having in evaluators_of({n: r.record for n, r in runs.items()}).items()
    }
    notes = _notes(runs, ruling, aspects, truth) if len(runs) > 1 else []
    return JoinedRuns(runs, ruling, aspects, _joined_scores(runs, columns), truth, columns, tuple(notes))


def _ruling(named: Mapping[str, Path], wanted: str | os.PathLike[str] | None) -> str:
    if wanted is None:
        return next(iter(named))
    for name, path in named.items():
        if str(wanted) == name or Path(wanted).resolve() == path.resolve():
            return name
    raise MetaevalError(
        f"there is no run {str(wanted)!r} to take the policy from{nearest(str(wanted), named)} "
        f"(runs: {', '.join(named)})"
    )


def _check_studies(runs: Mapping[str, OpenRun], *, policy_given: bool) -> None:
    """Check that truth, scale, key columns and policy are the same."""
    (first, one), *others = runs.items()
    for name, other in others:
        for what, of in _SAME.items():
            a, b = of(one), of(other)
            if a != b:
                raise MetaevalError(
                    f"{first} and {name} cannot be compared: {what} is {a} in {first} and {b} in {name}"
                )
        for key in _POLICY:
            a, b = (getattr(run.record.study, key) for run in (one, other))
            if a != b and not policy_given:
                raise MetaevalError(
                    f"{first} and {name} were run under different policies ({key} is {_policy_text(a)!r} in "
                    f"{first} and {_policy_text(b)!r} in {name}); choose one for all runs with: metaeval "
                    "compare --policy-of RUN"
                )


def _policy_text(value: object) -> str:
    return ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)


def _common_aspects(runs: Mapping[str, OpenRun]) -> tuple[str, ...]:
    """Return the aspects of the first run that all have."""
    of_run = {name: run.record.study.aspects for name, run in runs.items()}
    first, *others = of_run.values()
    common = tuple(a for a in first if all(a in other for other in others))
    if not common:
        have = "; ".join(f"{name}: {', '.join(aspects)}" for name, aspects in of_run.items())
        raise MetaevalError(f"the runs cannot be compared: they have no aspect in common ({have})")
    return common


def _common_truth(runs: Mapping[str, OpenRun], aspects: Sequence[str]) -> pd.DataFrame:
    """Return the truth of the units that all runs have, checked to be the same in all."""
    (first, one), *others = runs.items()
    keys = list(key_columns(one.truth))
    truth = one.truth[one.truth["aspect"].isin(list(aspects))].reset_index(drop=True)
    for name, other in others:
        both = truth.merge(other.truth, on=[*keys, "aspect"], suffixes=("", "_other"))
        if both.empty:
            raise MetaevalError(
                f"{first} and {name} cannot be compared: they have no unit in common (the first is "
                f"{_unit(one.truth, keys)} in {first} and {_unit(other.truth, keys)} in {name})"
            )
        a, b = both["rating"], both["rating_other"]
        differs = (a != b) & ~(a.isna() & b.isna())
        if differs.any():
            units, wrong = (len(frame[keys].drop_duplicates()) for frame in (both, both[differs]))
            raise MetaevalError(
                f"{first} and {name} cannot be compared: their truth differs on {wrong:,} of the {units:,} "
                "units that both have"
            )
        truth = both[[*keys, "aspect", "rating"]]
    return truth


def _unit(truth: pd.DataFrame, keys: Sequence[str]) -> str:
    return " / ".join(str(truth[k].iloc[0]) for k in keys)


def _joined_scores(runs: Mapping[str, OpenRun], columns: Mapping[str, Mapping[str, str]]) -> ScoreTable:
    """Return the scores of all runs in one table, each evaluator under its name for the run."""
    frames = []
    signatures: dict[str, Mapping[str, Any]] = {}
    kinds: dict[str, Kind] = {}
    for run, opened in runs.items():
        label = {evaluator: of_run[run] for evaluator, of_run in columns.items() if run in of_run}
        frame = opened.scores.frame
        frames.append(frame.assign(evaluator=frame["evaluator"].map(label)))
        signatures |= {label[e]: s for e, s in opened.scores.signatures.items()}
        kinds |= {label[e]: k for e, k in opened.scores.kinds.items()}
    simulated = any(run.scores.simulated for run in runs.values())
    return ScoreTable(pd.concat(frames, ignore_index=True), signatures, kinds, simulated)


def _notes(
    runs: Mapping[str, OpenRun], ruling: str, aspects: Sequence[str], truth: pd.DataFrame
) -> list[str]:
    keys = list(key_columns(truth))
    common = len(truth[keys].drop_duplicates())
    notes = [f"Compared on the {counted(common, 'unit')} that all runs have."]
    own = {n: len(r.truth[keys].drop_duplicates()) for n, r in runs.items()}
    left_out = [f"{total - common:,} of the {total:,} of {n}" for n, total in own.items() if total > common]
    if left_out:
        notes.append(f"Left out are {listed(left_out)}.")
    if any(set(r.record.study.aspects) != set(aspects) for r in runs.values()):
        notes.append(f"Only the aspects of all runs are compared: {', '.join(aspects)}.")
    studies = [r.record.study for r in runs.values()]
    if any(getattr(study, key) != getattr(studies[0], key) for study in studies for key in _POLICY):
        rules = runs[ruling].record.study
        policy = "; ".join(f"{key}: {_policy_text(getattr(rules, key))}" for key in _POLICY)
        notes.append(f"The runs' policies differ; all use that of {ruling} ({policy}).")
    if len({r.record.data.fingerprint for r in runs.values()}) > 1:
        notes.append(
            "The runs' data differ. Units are matched by their keys; run folders do not hold texts, so "
            "texts may differ."
        )
    simulated = [name for name, run in runs.items() if run.scores.simulated]
    real = [name for name in runs if name not in simulated]
    if simulated and real:
        which = f"{listed(simulated)} simulated, {listed(real)} not"
        notes.insert(0, f"SIMULATED AND REAL DATA ARE COMPARED: {which}.")
    return notes


def board_of_runs(folders: Sequence[str | os.PathLike[str]]) -> Board:
    """Return what several runs found, with the data set (or the folder) as a further dimension."""
    runs = {name: open_run(path, scores=False) for name, path in run_names(folders).items()}
    (first, one), *others = ((name, run.board) for name, run in runs.items())
    for name, board in others:
        if [d.name for d in board.dimensions] != [d.name for d in one.dimensions]:
            by = " and by ".join(", ".join(d.name for d in b.dimensions) for b in (one, board))
            raise MetaevalError(f"{first} and {name} cannot stand side by side: their numbers are by {by}")
    boards = [run.board for run in runs.values()]
    names = [run.record.data.name for run in runs.values()]
    called = names if len({*names}) == len(names) else list(runs)
    dimensions = [
        replace(d, choices=reduce(or_, (dict(b.dimensions[i].choices) for b in boards)))
        for i, d in enumerate(one.dimensions)
    ]
    data_sets = BoardDimension(_DATASET, {name: name for name in called}, "data set")
    return replace(
        one,
        frame=pd.concat([b.frame.assign(**{_DATASET: n}) for n, b in zip(called, boards, strict=True)]),
        dimensions=(data_sets, *dimensions),
        columns=(_DATASET, *one.columns[-1:]),
        intervals="",
        notes=tuple(note for note in one.notes if all(note in b.notes for b in boards)),
        kinds=reduce(or_, (dict(b.kinds) for b in reversed(boards))),
        simulated=reduce(or_, (b.simulated for b in boards)),
    )
