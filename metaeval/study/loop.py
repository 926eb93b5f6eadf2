"""Evaluate, synthesize, evaluate again: the rounds of a study of exposure, and what changes between them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.errors import MissingExtraError, RunFolderError, StoppedError
from metaeval.base.files import replacing, write_text
from metaeval.base.progress import progress
from metaeval.engine.sheet import Sheet
from metaeval.kinds.exposure.charts import exposure_figure
from metaeval.kinds.exposure.data.loading import save
from metaeval.kinds.exposure.data.log_set import USER, LogSet
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.study import ExposureStudy
from metaeval.kinds.exposure.synthesis_ablation import ablation_rows, ablation_sheet
from metaeval.kinds.exposure.synthesis_rounds import (
    AGREEMENT,
    NAME,
    agreement_sums,
    change_rows,
    changes_sentence,
    changes_sheet,
    curve_frame,
    downstream,
    measures,
    own_pairs,
    synthesis_frame,
    synthesis_sheets,
    with_synthetic,
)
from metaeval.kinds.exposure.synthesizer import KnownInteractions, synthesize
from metaeval.kinds.reading import read_study
from metaeval.reports.drawing import draw
from metaeval.reports.sheets import files
from metaeval.runs.answer import RunAnswer, read_answer
from metaeval.runs.finished import open_run
from metaeval.study.pipeline import run
from metaeval.study.plan import Plan, plan

if TYPE_CHECKING:
    from metaeval.study.results import Run

LOOP = "loop.csv"
_PARTS = ("round-", "synthetic", "loop")
"""How the names of what a loop writes begin."""


class Loop(NamedTuple):
    """What a loop found out, and where it lies."""

    folder: Path
    runs: list[Run]
    sheets: list[Sheet]
    lines: list[str]
    """What is said first: what the last round is shown to change, and what it found."""
    answer: RunAnswer
    """That of the last round."""


def loop(
    study: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    rounds: int = 1,
    offline: bool = False,
    allow_failures: bool = False,
) -> Loop:
    """Run a study, draw synthetic interactions, and run it again on pairs that follow their exposure.

    Runs go on where they stopped, and are not made again if nothing has changed. Writes ``round-0``,
    ``synthetic`` (a data set), ``round-1`` and so on, and ``loop.csv``, ``.md`` and ``.html`` beside them.
    The options are those of `metaeval loop`; each round goes on with the users' chains.
    """
    first = _planned(study, out)
    folder, exposure = first.out.parent, first.study
    assert isinstance(exposure, ExposureStudy)  # noqa: S101 - `_planned` has seen to it
    how = exposure.propensity
    data: LogSet = own_pairs(first.data)
    known = KnownInteractions.of_log(data)
    made = [synthesize(known, exposure.synthesis)]  # before anything is asked: what it lacks is said now
    runs = [_run(exposure, first.out, offline=offline, allowed=allow_failures)]
    with progress("propensities"):
        propensities = propensities_of(data, how)
    sets = [data]
    for number in range(1, rounds + 1):
        with progress("synthetic interactions"):
            if number > 1:
                made.append(synthesize(known, exposure.synthesis, made[-1]))
            name = folder / ("synthetic" if number == 1 else f"synthetic-{number}")
            floor, seed = how.least, exposure.synthesis.seed
            sets.append(with_synthetic(data, made, propensities, floor=floor, seed=seed))
            save(sets[-1], name, force=True)
        again = exposure.model_copy(update={"dataset": str(name), "exclude": {}}).found_at(name)
        runs.append(_run(again, folder / f"round-{number}", offline=offline, allowed=allow_failures))
    with progress("item-knn"):
        options = exposure.synthesis
        gained = downstream(data, propensities, options, floor=how.least, rounds=rounds)
        drawn = data, made[-1], gained, propensities, options
        ablation = [*ablation_rows(*drawn, intervals=exposure.bootstrap, floor=how.least)]
    changes = pd.DataFrame(
        [
            *_agreements(runs, exposure),
            *change_rows("recommender", NAME, measures(exposure.synthesis.k), gained, exposure.bootstrap),
        ]
    )
    sheets = [
        changes_sheet(changes, first.simulation, exposure.bootstrap),
        *synthesis_sheets(
            synthesis_frame(made[-1], data, sets[-1]), curve_frame(made[-1]), simulated=data.simulated
        ),
        ablation_sheet(ablation, options.k, simulated=data.simulated),
    ]
    last = read_answer(runs[-1].folder)
    lines = [changes_sentence(changes), f"In round {rounds}: {last.lines[0]}"]
    for suffix in (".csv", ".md", ".html"):
        for path, text in files(sheets, folder / f"loop{suffix}", first=lines).items():
            write_text(path, text)
    _draw(sheets[-2], folder)
    return Loop(folder, runs, sheets, lines, last)


def _planned(study: str | os.PathLike[str], out: str | os.PathLike[str] | None) -> Plan:
    """Return the plan of round 0; refuse what no later round could be made of, before anything is asked."""
    read = read_study(study)
    if not isinstance(read, ExposureStudy):
        raise read.error(f"the study is of kind {read.kind!r}; a loop takes one of kind 'exposure'", "kind")
    folder = Path("results") / f"{read.name}-loop" if out is None else Path(out)
    strange = [p.name for p in folder.iterdir() if not p.name.startswith(_PARTS)] if folder.is_dir() else []
    if strange:
        raise RunFolderError(f"{folder} holds {min(strange)!r}, which no loop writes; give another --out")
    todo = plan(read, folder / "round-0")
    exposure, data = todo.study, todo.data
    if isinstance(data, LogSet) and data.synthetic is not None:
        raise exposure.error(
            f"{exposure.dataset} has synthetic rows; begin with the data set without them", "dataset"
        )
    if exposure.sealed is not None:
        raise exposure.error("a loop has no sealed test; leave sealed out", "sealed")
    if exposure.truth != "User()":
        wrong = f"the truth of a loop is User(), the user's own log, not {exposure.truth}"
        raise exposure.error(wrong, "truth")
    for name, spec in exposure.specs.items():
        if "Recorded(" in spec:
            message = "recorded verdicts do not cover the new pairs of a loop; leave"
            raise exposure.error(f"{message} {name} out", "evaluators")
    return todo


def _run(study: ExposureStudy, out: Path, *, offline: bool, allowed: bool) -> Run:
    done = run(study, out, offline=offline)
    lost = " ".join(done.facts.lost_sentences)
    if lost and not allowed:
        raise StoppedError(f"{lost} The loop stops after {out.name}; run the same command again to go on")
    return done


def _agreements(runs: Sequence[Run], study: ExposureStudy) -> list[dict[str, object]]:
    cells = [open_run(done.folder).scored.cells for done in runs]
    users = pd.Index(sorted(set().union(*(one.table[USER] for one in cells))))
    sums = [agreement_sums(one, users) for one in cells]
    rows: list[dict[str, object]] = []
    for name in sums[0]:
        rows += change_rows("evaluator", name, AGREEMENT, np.stack([s[name] for s in sums]), study.bootstrap)
    return rows


def _draw(curve: Sheet, folder: Path) -> None:
    """Draw the exposure curve, if the optional library that draws is there."""
    try:
        content = draw(exposure_figure(curve), "svg")
    except MissingExtraError:
        return
    with replacing(folder / "loop-exposure_curve.svg") as temporary:
        temporary.write_bytes(content)
