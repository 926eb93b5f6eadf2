"""``metaeval demo``, ``run`` and ``reparse``: a study, from its file to its run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.base.engines import DUCKDB, ENGINES, RAY
from metaeval.base.progress import progress
from metaeval.cli.group import (
    begin,
    end_lost,
    talk,
    tell,
    tell_json,
    tell_simulated,
    tell_uncalibrated,
)
from metaeval.cli.options import PATH, allow_failures, run_argument
from metaeval.cli.sheets import format_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.judging.estimate import CallEstimate
    from metaeval.runs.record import Record

_MUCH = 0.05  # of the ratings
_LINES = 60  # of a prompt, at its beginning and at its end, that a dry run prints


_DEMOS = {
    "explanations": "studies/demo.yaml",
    "relevance": "studies/relevance.yaml",
    "slates": "studies/slates.yaml",
    "exposure": "studies/exposure.yaml",
}
"""Kind of study → its bundled study."""


@click.command()
@click.option(
    "--kind", type=click.Choice([*_DEMOS]), default="explanations", help="Of study.", show_default=True
)
@click.option("--out", type=PATH, help="Run folder.  [default: results/NAME of the study]")
@format_option()
@talk
def demo(kind: str, out: Path | None, suffix: str) -> None:
    """Run the study of a bundled, simulated data set."""
    from metaeval.base.resources import bundled

    begin()
    with progress("metaeval demo"):
        folder, record, already = _run(bundled(_DEMOS[kind]), out)
        from metaeval.reports import FORMATS
        from metaeval.study.results import read_board

        board = read_board(folder, record.study.coefficients[:1])
        table = "" if suffix == "json" else FORMATS[suffix](board)
    tell(table)
    _tell_done(folder, record, already=already)


@click.command()
@click.argument("study", type=PATH)
@click.option("--out", type=PATH, help="Run folder.  [default: results/NAME of the study]")
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost; write and send nothing.")
@click.option("--offline", is_flag=True, help="Take all replies from the store; send nothing.")
@click.option(
    "--batch", is_flag=True, help="Ask judges by batches, at half the price; collect finished batches."
)
@click.option("--wait", is_flag=True, help="Wait for batches; do not exit with 3.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help="ray: workers ask judges. duckdb: recorded scores stay in their file. memory: they are read into "
    "memory.",
)
@click.option("--workers", type=click.IntRange(1), help="Number of workers.  [default: one per CPU]")
@click.option(
    "--address",
    metavar="HOST:PORT",
    help="Address of a Ray cluster.  [default: one on this machine, for this run]",
)
@allow_failures
@talk
def run(
    study: Path,
    out: Path | None,
    *,
    dry_run: bool,
    offline: bool,
    batch: bool,
    wait: bool,
    allow_failures: bool,
    **asking: Any,
) -> None:
    """Score, correlate, rank and report the study in the file STUDY.

    An interrupted run continues where it stopped when it is run again. A finished run is not repeated unless
    the study, the data, the code or the replies in the store have changed. A finished run of
    another study in the folder is replaced.
    """
    begin()
    if offline and (batch or wait or asking["engine"] == RAY):
        raise click.UsageError("--offline sends nothing; leave out --batch, --wait and --engine ray")
    if dry_run:
        _tell_plan(study, out, batch=batch, engine=asking)
        return
    with progress(f"metaeval run {study.name}"):
        folder, record, already = _run(study, out, offline=offline, batch=batch, wait=wait, **asking)
    _tell_done(folder, record, already=already, allow_failures=allow_failures)


@click.command()
@run_argument
@allow_failures
@talk
def reparse(run_folder: Path, allow_failures: bool) -> None:
    """Parse the stored replies of the run in the folder RUN again, without calls."""
    begin()
    with progress(f"metaeval reparse {run_folder}"):
        from metaeval.study.pipeline import rerun

        done = rerun(run_folder, offline=True)
    _tell_done(done.folder, done.facts, allow_failures=allow_failures)


def _run(
    study: Path,
    out: Path | None,
    *,
    offline: bool = False,
    batch: bool = False,
    wait: bool = False,
    engine: str | None = None,
    workers: int | None = None,
    address: str | None = None,
) -> tuple[Path, Record, bool]:
    """Run a study unless it is finished; return its folder, its record, and whether it was finished."""
    from metaeval.judging.workers.options import workers_of
    from metaeval.study.completion import finished, replaces
    from metaeval.study.pipeline import by_batch, carry_out
    from metaeval.study.plan import plan

    todo = plan(study, out, engine)
    todo = by_batch(todo) if batch else todo
    asking = workers_of(todo.study.judging, engine, workers, address)
    record = finished(todo, offline=offline)
    if record is not None:
        return todo.out, record, True
    if told := replaces(todo):
        tell(told)
    return todo.out, carry_out(todo, offline=offline, wait=wait, workers=asking).facts, False


def _tell_done(folder: Path, record: Record, *, already: bool = False, allow_failures: bool = False) -> None:
    from metaeval.runs.folder import REPORT

    if already:
        tell(f"Finished already, {record.finished}; nothing has changed since.")
    tell(
        f"{counted(len(record.evaluators), 'evaluator')} on {_units(record)}: "
        f"{folder / 'leaderboard.md'}\nReport: {folder / REPORT}"
    )
    from metaeval.engine.sentences import left_out_sentences

    for sentence in left_out_sentences(record.policy, least=_MUCH):
        tell(f"{sentence} To keep them, leave those evaluators out, fill in a score, or say units: own.")
    if record.policy.get("engine") == DUCKDB:
        from metaeval.study.recorded_files import LEFT_OUT

        tell(LEFT_OUT)
    tell_simulated(record.simulation)
    report = {"folder": str(folder), "report": str(folder / REPORT), "already_finished": already}
    tell_json({**report, **record.content()})
    tell_uncalibrated(folder)
    end_lost(record.lost_sentences, allowed=allow_failures)


def _units(record: Record) -> str:
    """Say on how many units evaluators were compared, where the truth has no value for the others."""
    units, rated = counted(record.data.units, "unit"), record.truth.units
    without = record.data.units - (record.data.units if rated is None else rated)
    if not without or record.study.missing.get("truth", "drop") != "drop":
        return units
    have = "has" if without == 1 else "have"
    return f"{rated:,} of {units} ({without:,} {have} no rating by {record.truth.spec})"


def _tell_plan(study: Path, out: Path | None, *, batch: bool, engine: dict[str, Any]) -> None:
    from dataclasses import asdict

    with progress(f"metaeval run {study.name} --dry-run"):
        from metaeval.judging.batches import places_of
        from metaeval.judging.estimate import estimates, total_of
        from metaeval.judging.workers.options import workers_of
        from metaeval.study.pipeline import by_batch
        from metaeval.study.plan import plan

        todo = plan(study, out, engine["engine"])
        workers_of((by_batch(todo) if batch else todo).study.judging, **engine)
        if batch or todo.study.judging.batch:
            places_of(todo.judges())
        asking = estimates(todo.judges(), todo.data, todo.aspects, todo.study.judging)
    lines = [
        f"study       {todo.study.name}",
        f"data        {todo.data.name}: {counted(len(todo.data), 'unit')}",
        f"truth       {todo.truth}",
        f"aspects     {', '.join(todo.aspects)}",
        *(f"{word:<12}{value}" for word, value in todo.study.facts.items()),
        f"out         {todo.out}",
        f"evaluators  {len(todo.evaluators)}",
        *(
            f"            {name}" + (f" = {s}" if str(s) != name else "")
            for name, s in todo.evaluators.items()
        ),
        *_estimate_lines(asking),
        *(["", "The first prompt:", "", _shortened(asking[0].prompt), ""] if asking else []),
        "Nothing was written.",
    ]
    tell("\n".join(lines))
    tell_simulated(todo.simulation)
    record = {"out": str(todo.out), "units": len(todo.data), "study": todo.study.model_dump(mode="json")}
    total = asdict(total_of(asking)) if asking else None
    tell_json({**record, "judges": [asdict(e) for e in asking], "total": total})


def _shortened(prompt: str) -> str:
    """Return a prompt without the middle of its lines, if they are many, such as those of a history."""
    lines = prompt.split("\n")
    left_out = len(lines) - 2 * _LINES
    if left_out <= _LINES:
        return prompt
    return "\n".join([*lines[:_LINES], f"[… {left_out:,} lines …]", *lines[-_LINES:]])


def _estimate_lines(asking: Sequence[CallEstimate]) -> Iterator[str]:
    from metaeval.judging.estimate import total_of

    for e in [*asking, *([total_of(asking)] if len(asking) > 1 else [])]:
        yield f"judge       {e.judge}"
        if e.model and e.model.split(" at ")[0] not in e.judge:
            yield f"            asks {e.model}"
        shared = f", {e.shared:,} of a judge above" if e.shared else ""
        yield f"            {counted(e.calls, 'call')} to make, {e.in_store:,} in the store{shared}"
        if e.calls:
            sent = f"about {counted(e.tokens, 'token')} to send, {e.reply_tokens:,} to receive"
            yield f"            {sent}, {_usd(e)}"
            if e.cached_tokens:
                yield f"            {e.cached_tokens:,} of those to send are likely from the provider's cache"
    open_ = [e for e in asking if e.calls]
    unknown = sum(e.usd_likely is None for e in open_)
    if unknown and len(open_) > 1:
        yield f"            The price of {unknown} of them is unknown; sums leave them out."
    if open_:
        guessed = any(e.basis == "guess" for e in open_)
        length = (
            "a guess for models without replies in the store" if guessed else "that of replies in the store"
        )
        yield f"            Likely: one attempt per call; the length of the replies is {length}."
        yield "            At most: one attempt per call; prompts and replies as long as they can be."


def _usd(e: CallEstimate) -> str:
    if e.usd_likely is None:
        return "price unknown"
    said = _amounts(e.usd_likely, e.usd)
    return (
        said
        if e.batch_usd_likely is None
        else f"{said}; by batch {_amounts(e.batch_usd_likely, e.batch_usd)}"
    )


def _amounts(likely: float, most: float | None) -> str:
    return f"likely {likely:.4g} USD" + ("" if most is None else f", at most {most:.4g} USD")
