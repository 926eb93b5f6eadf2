"""A study → its run folder; what was scored is kept if it breaks off, what is finished is not done again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval import __version__
from metaeval.base.errors import StoppedError
from metaeval.base.progress import progress
from metaeval.base.records import ScoreTable, Status
from metaeval.judging.lost import lost_calls
from metaeval.judging.replies import calls_in, replies_state
from metaeval.judging.settings import judging_of
from metaeval.kinds.scoring import Scoring, joined, judges_of
from metaeval.kinds.study import Study, make_study
from metaeval.runs.folder import RECORD, RunFolder, read_record
from metaeval.runs.record import DataFacts, EvaluatorFacts, Record, StudyFacts, TruthFacts
from metaeval.study.completion import finished, inputs_of
from metaeval.study.plan import Plan, plan

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.base.records import DataSet
    from metaeval.study.results import Run


_LIBRARIES = ("numpy", "pandas", "pyarrow", "rouge-score", "sacrebleu", "scipy")


def run(
    study: Study | Mapping[str, Any] | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    offline: bool = False,
) -> Run:
    """Run a study: score, correlate, rank and report, into a run folder.

    A run that broke off goes on where it stopped when it is run again: scores of an evaluator whose
    signature and data are the same are not made anew. A finished run of the same study, data, code and
    replies is read back from its folder. What brought no reply from a model is asked again.

    Parameters
    ----------
    study
        The path of a study file, or its content.
    out
        The run folder; ``results/`` and the study's name, if left out.
    offline
        Take the replies of all judges from the store: no key, no network.

    Raises
    ------
    StudyError, SpecError, DataError, RunFolderError
        If the study, its data or the folder cannot be used.
    StoppedError
        If it was interrupted.
    """
    todo = plan(study, out)
    if finished(todo, offline=offline) is None:
        return carry_out(todo, offline=offline)
    from metaeval.study.results import read_back

    return read_back(todo.out)


def rerun(folder: str | os.PathLike[str], *, offline: bool = False) -> Run:
    """Run the study of a run folder again, into that folder, be it finished or not.

    Raises
    ------
    RunFolderError
        If it is no run folder.
    """
    path = Path(folder)
    record = read_record(path)
    return carry_out(plan(study_of(record), path), offline=offline, again=record.again)


def study_of(record: Record) -> Study:
    """Return the study that ``run.json`` holds."""
    return make_study(record.study.content())


def carry_out(todo: Plan, *, offline: bool = False, again: str = "") -> Run:
    """Run a study that was read, be it finished or not.

    Parameters
    ----------
    todo, offline
        As `run` makes them.
    again
        The command that runs it again, if the study is not from a file.
    """
    # Here, for it loads what takes a second, and a run that is finished needs nothing of it.
    from metaeval.study.outputs import write_outputs

    with RunFolder.claim(todo.out) as folder:
        record = Record(
            metaeval=__version__,
            status="running",
            study=StudyFacts(**todo.study.model_dump(mode="json")),
            data=_facts(todo.data),
            python=".".join(map(str, sys.version_info[:3])),
            libraries={name: metadata.version(name) for name in _LIBRARIES},
            started=_now(),
        )
        finished_before = (todo.out / RECORD).exists() and read_record(todo.out).is_done
        done: list[str] = []
        try:
            scoring = Scoring(todo.data, todo.study.specs, todo.aspects, todo.known)
            inputs = inputs_of(todo, scoring, offline=offline)
            of_truth = Scoring(todo.data, {"truth": str(todo.truth)}, todo.aspects, todo.known)
            with contextlib.ExitStack() as stack:
                if judges_of([*scoring.named.values(), *of_truth.named.values()]):
                    stack.enter_context(judging_of(todo.study.judging, offline=offline))
                truth = of_truth.table("truth")
                if not finished_before:
                    folder.write_record(record)
                scores = _score(folder, scoring, done)
            made = _made(todo, scores, truth) | _asked(todo, scoring, of_truth, scores, again)
            record = record.having(**made, inputs=inputs)
            return write_outputs(todo, folder, record, scores, truth_ratings(truth))
        except (KeyboardInterrupt, StoppedError) as error:
            if not finished_before:
                folder.write_record(record.having(status="stopped", stopped=_now()))
            why = str(error) or "interrupted"
            kept = f"{len(done)} of {len(todo.evaluators)} evaluators are kept in {todo.out}"
            raise StoppedError(f"{why}: the scores of {kept}; run the same command again to go on") from error


def counts_of(table: ScoreTable) -> dict[str, dict[str, int]]:
    """Return how many scores of each status every evaluator gave."""
    counts: dict[str, dict[str, int]] = {name: {} for name in table.evaluators}
    sizes = table.frame.groupby(["evaluator", "status"], sort=False, observed=True).size()
    for name, status, count in sizes.reset_index(name="n").itertuples(index=False, name=None):
        counts[str(name)][str(status)] = int(count)
    return counts


def truth_ratings(truth: ScoreTable) -> pd.DataFrame:
    """Return the scores of one evaluator as ratings of the truth; a question without an answer is NaN."""
    frame = truth.frame.drop(columns=["evaluator", "status"]).rename(columns={"score": "rating"})
    return frame[[*truth.keys, "aspect", "rating"]]


def _score(folder: RunFolder, scoring: Scoring, done: list[str]) -> ScoreTable:
    """Score with one evaluator after the other, keeping each one's scores in the run folder."""
    fingerprint = scoring.data.fingerprint
    tables: list[ScoreTable] = []
    with progress("scoring", len(scoring.named)) as advance:
        for name, evaluator in scoring.named.items():
            key = _key(fingerprint, name, scoring.aspects, scoring.signature(name))
            table = folder.part(key)
            if table is not None:
                scoring.remember(name, table)
            table = scoring.table(name)
            statuses = table.frame["status"]
            unsent = int((statuses == Status.BUDGET.value).sum())
            if unsent:
                # Tables of what happened to be affordable would look like a result.
                raise StoppedError(
                    f"the budget is used up and {unsent:,} scores of {name} were not asked for"
                )
            of_pairs = [] if table.verdicts is None else [table.verdicts["status"]]
            lost = any((s == Status.TRANSPORT.value).any() for s in (statuses, *of_pairs))
            # An ensemble of judges does not show what a judge in it lost, and is made again in no time.
            if not lost and judges_of([evaluator]) in ([], [evaluator]):
                folder.keep_part(key, table)
            tables.append(table)
            done.append(name)
            advance()
    return joined(tables, scoring.data)


def _facts(data: DataSet) -> DataFacts:
    """Return what ``run.json`` says of the data."""
    return DataFacts(
        name=data.name,
        fingerprint=data.fingerprint,
        simulated=data.simulated,
        licence=data.licence,
        source=data.source,
        units=len(data),
        scale=data.scale,
        keys=list(data.keys),
        cluster=data.cluster,
        nouns=dict(data.nouns),
    )


def _made(todo: Plan, scores: ScoreTable, truth: ScoreTable) -> dict[str, Any]:
    """Return what ``run.json`` says of the scores."""
    (truth_signature,) = truth.signatures.values()
    counts = counts_of(scores)
    return {
        "status": "done",
        "finished": _now(),
        "truth": TruthFacts(spec=str(todo.truth), signature=dict(truth_signature)),
        "evaluators": {
            name: EvaluatorFacts(
                spec=str(spec),
                kind=scores.kinds[name],
                signature=dict(scores.signatures[name]),
                scores=counts[name],
            )
            for name, spec in todo.evaluators.items()
        },
    }


def _asked(todo: Plan, scoring: Scoring, of_truth: Scoring, scores: ScoreTable, again: str) -> dict[str, Any]:
    """Return what ``run.json`` says of the calls of judges, also of those whose scores it does not hold."""
    asked = of_truth.asked() | scoring.asked()
    if not asked:
        return {}
    store = todo.study.judging.path
    lost = lost_calls(asked, store)
    if lost:
        return {"lost": lost, "again": _command(todo) or again}
    return {"replies": replies_state(store, calls_in([scores.frame, scores.verdicts]), asked.values())}


def _command(todo: Plan) -> str:
    """Return the command that runs a study again; empty if the study is not from a file."""
    file = todo.study.file
    return shlex.join(["metaeval", "run", str(file), "--out", str(todo.out)]) if file else ""


def _key(*parts: object) -> str:
    text = json.dumps([__version__, *parts], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
