"""A study → its run folder; a run that broke off goes on, and a finished one is not made again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from metaeval.base import __version__
from metaeval.base.errors import KEPT, MetaevalError, StoppedError
from metaeval.base.records import ScoreTable, Status
from metaeval.engine.files import Parquet
from metaeval.engine.passes import Loaded, load
from metaeval.evaluators.recorded import Recorded
from metaeval.judging.asking import ask_by_batches, ask_by_workers
from metaeval.judging.cost import calls_in, lost_calls, replies_state
from metaeval.judging.settings import judging_of, with_settings
from metaeval.kinds.scoring import Scoring, joined, judges_of
from metaeval.kinds.study import Study
from metaeval.runs.folder import RECORD, RunFolder, digest_of, read_record
from metaeval.runs.record import DataFacts, EvaluatorFacts, Record, StudyFacts, TruthFacts
from metaeval.study.plan import Plan, code, libraries, plan, study_of
from metaeval.study.unread import unread_of

if TYPE_CHECKING:
    from metaeval.study.results import Run


_log = logging.getLogger("metaeval")


def run(
    study: Study | Mapping[str, Any] | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    offline: bool = False,
    batch: bool = False,
    wait: bool = False,
    engine: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    max_usd: float | None = None,
    study_id: str | None = None,
) -> Run:
    """Run a study: score, correlate, rank and report, into a run folder.

    A run that broke off keeps the scores of the evaluators that were done, and goes on from there. A finished
    run of the same study, data, code and replies is read back from its folder, and one of another study is
    replaced, which a warning of the logger ``metaeval`` says. Calls without a reply are made
    again.

    Parameters
    ----------
    study
        The path of a study file, or its content.
    out
        The run folder; ``results/`` and the study's name, if left out.
    offline
        Take all replies of judges from the store: no key, no network.
    batch
        Ask judges by batches, at the price of batches, as the study's ``judging: {batch: true}`` does.
    wait
        Wait for batches, instead of stopping while one is under way.
    engine, workers, address
        ``"ray"``: have processes of Ray ask judges, so many, in the cluster at an address; as many as there
        are CPUs, in a cluster that is started on this machine, if left out.
        Recorded scores that would take more than half of the available memory stay in their file, as with
        ``"duckdb"``, and ``"memory"`` reads them whole (`metaeval.correlate`).
    max_usd, study_id
        The budget, and who shares it, in place of the study's own (``judging``).

    Raises
    ------
    StudyError, SpecError, DataError, RunFolderError
        If the study, its data or the folder cannot be used.
    StoppedError
        If it was interrupted, or a batch is under way.
    """
    asking: dict[str, Any] = {"batch": batch, "workers": workers, "address": address}
    todo = plan(study, out, engine, **asking, max_usd=max_usd, study_id=study_id)
    from metaeval.study.results import read_back

    return run_unless_finished(todo, offline=offline, wait=wait, tell=_log.warning) or read_back(todo.out)


def run_unless_finished(
    todo: Plan, *, offline: bool, wait: bool, tell: Callable[[str], object]
) -> Run | None:
    """Carry a plan out, and tell which other run it replaces; None if its run is finished already."""
    if todo.finished(offline=offline) is not None:
        return None
    if message := todo.replaces():
        tell(message)
    return carry_out(todo, offline=offline, wait=wait)


def rerun(folder: str | os.PathLike[str], *, offline: bool = False) -> Run:
    """Run the study of a run folder again, into that folder, finished or not."""
    path = Path(folder)
    record = read_record(path)
    return carry_out(plan(study_of(path, record), path), offline=offline, again=record.again)


def carry_out(todo: Plan, *, offline: bool = False, wait: bool = False, again: str = "") -> Run:
    """Run a planned study, finished or not.

    ``wait``: for batches; ``again`` is the command that runs it again, if the study is not from a file.
    """
    # It takes a second to load, and a finished run does not need it.
    from metaeval.study.outputs import write_outputs

    if wait and not todo.study.judging.batch:
        raise MetaevalError("wait is for batches; add batch, or --batch")
    with RunFolder.claim(todo.out) as folder:
        record = Record(
            layout=1,
            metaeval=__version__,
            status="running",
            study=StudyFacts(**todo.study.model_dump(mode="json")),
            data=_facts(todo),
            python=".".join(map(str, sys.version_info[:3])),
            libraries=libraries(),
            started=_now(),
        )
        before = read_record(todo.out) if (todo.out / RECORD).exists() else record
        if todo.sealed is not None:
            # Once in this folder, whatever is run in it again.
            record = record.having(sealed=todo.sealed.facts.model_copy(update={"opened": before.opened}))
        kept = before.is_done  # until this run is finished, too
        done: list[str] = []
        try:
            scoring, inputs = todo.scoring, todo.inputs(offline=offline)
            known = {} if kept else before.prices
            with asking_of(todo, known, offline=offline, wait=wait) as prices:
                record = record if prices is None else record.having(prices=prices)
                truth = todo.truth.whole()
                if not kept:
                    folder.write_record(record)
                ratings, loaded, apart = truth_ratings(truth), None, None
                if todo.in_file is None:
                    scores = _score(folder, scoring, todo.fingerprint, done)
                    counts = counts_of(scores)
                else:
                    scores, loaded = _recorded(todo.in_file, scoring, ratings, todo.study)
                    counts = loaded.status_counts()
                if (sealed := todo.sealed) is not None:
                    truth_apart = truth_ratings(sealed.truth.whole())
                    apart = _score(folder, sealed.scoring, sealed.facts.fingerprint, []), truth_apart
            facts = _made(todo, scores, counts, truth)
            facts |= _reply_facts(todo, scores, ratings, apart and apart[0], again)
            return write_outputs(
                *(todo, folder, record.having(**facts, inputs=inputs), scores, ratings),
                loaded=loaded,
                apart=apart,
            )
        except (KeyboardInterrupt, StoppedError) as error:
            if not kept:
                folder.write_record(record.having(status="stopped", stopped=_now()))
            why = str(error) or "interrupted"
            count = f"{len(done)} of {len(todo.scoring.named)} evaluators are kept in {todo.out}"
            raise StoppedError(
                f"{why}: the scores of {count}; run the same command again to go on"
            ) from error


@contextlib.contextmanager
def asking_of(
    todo: Plan, prices: Mapping[str, dict[str, str]], *, offline: bool, wait: bool
) -> Iterator[dict[str, dict[str, str]] | None]:
    """Let the judges of a plan ask, by batches or workers if it says so.

    Yielded are the prices that are used; None if there is no judge.
    """
    options, aspects, workers = todo.study.judging, todo.scoring.aspects, None if offline else todo.workers
    judges = judges_of([*todo.scoring.named.values(), *todo.truth.named.values()])
    if not judges:
        yield None
        return
    by_batch = options.batch and not offline
    # What came by batches or by workers is read from the store.
    with judging_of(options, offline=offline or by_batch or workers is not None) as shared:
        shared.prices.used.update(prices)
        settings, models = shared, todo.study.models
        if workers is not None:
            settings = ask_by_workers(
                judges, todo.parts, aspects, shared, options=options, models=models, workers=workers
            )
        with with_settings(settings):
            finish = None
            if by_batch:
                finish = ask_by_batches(judges, todo.parts, aspects, shared, todo.out, wait=wait)
            yield shared.prices.used
            if finish:
                finish()


def counts_of(table: ScoreTable) -> dict[str, dict[str, int]]:
    """Return evaluator → status → how many scores have it."""
    counts: dict[str, dict[str, int]] = {name: {} for name in table.evaluators}
    sizes = table.frame.groupby(["evaluator", "status"], sort=False, observed=True).size()
    for name, status, count in sizes.reset_index(name="n").itertuples(index=False, name=None):
        counts[str(name)][str(status)] = int(count)
    return counts


def truth_ratings(truth: ScoreTable) -> pd.DataFrame:
    """Return the scores of one evaluator as ratings of the truth; NaN where there is none."""
    frame = truth.frame.drop(columns=["evaluator", "status"]).rename(columns={"score": "rating"})
    return frame[[*truth.keys, "aspect", "rating"]]


def _score(folder: RunFolder, scoring: Scoring, fingerprint: str, done: list[str]) -> ScoreTable:
    """Score, and keep the scores of each evaluator in the run folder as they come."""
    keys = {
        name: _key(fingerprint, name, scoring.aspects, scoring.signature(name), source_of(evaluator))
        for name, evaluator in scoring.named.items()
    }
    for name, key in keys.items():
        table = folder.part(key)
        if table is not None:
            scoring.remember(name, table)
    tables: dict[str, ScoreTable] = {}
    stopped: list[str] = []
    try:
        with contextlib.closing(scoring.tables()) as scored:
            for name, table in scored:
                tables[name] = table
                if _count(table.frame, Status.BUDGET):
                    continue
                evaluator = scoring.named[name]
                # An ensemble does not show the lost calls of its judges, and is quickly made again.
                lost = any(_count(f, Status.TRANSPORT) for f in (table.frame, table.verdicts))
                if not lost and judges_of([evaluator]) in ([], [evaluator]):
                    folder.keep_part(keys[name], table)
                done.append(name)
    except StoppedError as error:
        stopped.append(str(error).removesuffix(KEPT))
    unsent = {name: _count(table.frame, Status.BUDGET) for name, table in scoring.asked().items()}
    if any(unsent.values()):
        # Tables of what happened to be affordable would look like a result.
        which = " and ".join(f"{count:,} scores of {name}" for name, count in unsent.items() if count)
        stopped.append(f"the budget is used up and {which} were not asked for")
    if stopped:
        raise StoppedError("; ".join(stopped))
    return joined([tables[name] for name in scoring.named], scoring.data)


def _recorded(
    file: Parquet,
    scoring: Scoring,
    ratings: pd.DataFrame,
    study: Any,  # noqa: ANN401 - of a kind with levels
) -> tuple[ScoreTable, Loaded]:
    """Match the recorded scores in a file with the truth; return what is known of them, and both."""
    data, named = scoring.data, {name: cast("Recorded", e) for name, e in scoring.named.items()}
    for evaluator in named.values():
        evaluator.rows(data, scoring.aspects)
    in_file = {name: evaluator.name for name, evaluator in named.items()}
    loaded = load(file, ratings, study.policy.levels, text_keys=True, named=in_file)
    signatures = {name: scoring.signature(name) for name in named}
    kinds = {name: evaluator.kind for name, evaluator in named.items()}
    none = pd.DataFrame(columns=[*data.keys, "evaluator", "aspect", "score", "status"])
    return ScoreTable(none, signatures, kinds, data.simulated), loaded


def _count(frame: pd.DataFrame | None, status: Status) -> int:
    return 0 if frame is None else int((frame["status"] == status.value).sum())


def _facts(todo: Plan) -> DataFacts:
    """Return the facts of the data set for the record."""
    data = todo.data
    as_they_are = ("name", "simulated", "licence", "source", "scale", "cluster")
    facts = {name: getattr(data, name) for name in as_they_are}
    return DataFacts(
        **facts,
        fingerprint=todo.fingerprint,
        units=len(data),
        keys=list(data.keys),
        nouns=dict(data.nouns),
        place=os.path.relpath(lay, todo.out) if (lay := Path(todo.study.place)).is_dir() else "",
    )


def _made(
    todo: Plan, scores: ScoreTable, counts: Mapping[str, dict[str, int]], truth: ScoreTable
) -> dict[str, Any]:
    """Return the facts of the scores for the record."""
    (truth_signature,) = truth.signatures.values()
    rated = truth.frame.loc[truth.frame["score"].notna(), list(truth.keys)].drop_duplicates()
    return {
        "status": "done",
        "finished": _now(),
        "truth": TruthFacts(spec=todo.study.truth, signature=dict(truth_signature), units=len(rated)),
        "evaluators": {
            name: EvaluatorFacts(
                spec=spec,
                kind=scores.kinds[name],
                signature=dict(scores.signatures[name]),
                scores=counts[name],
            )
            for name, spec in todo.study.specs.items()
        },
    }


def _reply_facts(
    todo: Plan, scores: ScoreTable, ratings: pd.DataFrame, apart: ScoreTable | None, again: str
) -> dict[str, Any]:
    """Return the facts of all calls of judges for the record, those of the truth and of ensembles too.

    ``apart`` has the scores of the sealed clusters.
    """
    judge_tables = todo.truth.asked() | todo.scoring.asked()
    if not judge_tables:
        return {}
    store = todo.study.judging.place
    unread = unread_of(judge_tables, ratings, store)
    facts: dict[str, Any] = {"unread": unread} if unread else {}
    kept = [scores.frame, scores.verdicts]
    if todo.sealed is not None and apart is not None:
        of_sealed = todo.sealed.truth.asked() | todo.sealed.scoring.asked()
        judge_tables = {n: joined([table, of_sealed[n]], todo.data) for n, table in judge_tables.items()}
        kept += [apart.frame, apart.verdicts]
    lost = lost_calls(judge_tables, store)
    if lost:
        if todo.study.file:
            flags = todo.workers.flags if todo.workers else ["--batch"] * todo.study.judging.batch
            again = shlex.join(["metaeval", "run", str(todo.study.file), "--out", str(todo.out), *flags])
        return {**facts, "lost": lost, "again": again}
    return {**facts, "replies": replies_state(store, calls_in(kept), judge_tables.values())}


def source_of(evaluator: object) -> str:
    """Return the SHA-256 of the file that an evaluator's class stands in, which may be the user's own."""
    file = Path(getattr(sys.modules.get(type(evaluator).__module__), "__file__", None) or "")
    return digest_of(file) if file.is_file() else ""


def _key(*parts: object) -> str:
    text = json.dumps([code(), *parts], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
