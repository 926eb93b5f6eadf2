"""``metaeval demo``, ``run``, ``reparse`` and ``loop``: a study, from its file to its run folder."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.base.keys import noun
from metaeval.base.parallel import DUCKDB, ENGINES, RAY
from metaeval.base.progress import progress
from metaeval.base.spec import short_names
from metaeval.cli.messages import (
    begin,
    end_lost,
    is_on,
    talk,
    tell,
    tell_json,
    tell_simulated,
    tell_uncalibrated,
)
from metaeval.cli.options import PATH, allow_failures, flag, option, run_argument
from metaeval.cli.sheets import format_option, tell_sheets

if TYPE_CHECKING:
    from metaeval.judging.estimate import CallEstimate
    from metaeval.judging.model_evaluator import ModelEvaluator
    from metaeval.runs.record import Record, SealedFacts
    from metaeval.study.plan import Plan

_MUCH = 0.05  # of the ratings
_LINES = 60  # of a prompt, at its beginning and at its end, that a dry run prints


_DEMOS = {
    "explanations": "studies/demo.yaml",
    "relevance": "studies/relevance.yaml",
    "slates": "studies/slates.yaml",
    "exposure": "studies/exposure.yaml",
}
"""Kind of study → its bundled study."""


_out = option("--out", "Run folder.  [default: results/NAME of the study]", PATH)
_offline = flag("--offline", "Take all replies from the store; send nothing.")


@click.command()
@option("--kind", "Of study.", [*_DEMOS], default="explanations")
@_out
@format_option()
@talk
def demo(kind: str, out: Path | None, suffix: str) -> None:
    """Run the study of a bundled, simulated data set."""
    from metaeval.base.files import bundled

    begin()
    with progress("metaeval demo"):
        from metaeval.study.plan import plan

        folder, record, already = _completed(plan(bundled(_DEMOS[kind]), out))
        from metaeval.reports.leaderboards import FORMATS
        from metaeval.study.results import read_board

        board = read_board(folder, record.study.coefficients[:1])
        table = "" if suffix == "json" else FORMATS[suffix](board)
    if not (is_on("quiet") or is_on("json")):
        click.echo(table)
    _tell_done(folder, record, already=already, printed=True)


@click.command()
@click.argument("study", type=PATH)
@_out
@flag("--dry-run", "Print the plan and its cost; write and send nothing.")
@_offline
@flag("--batch", "Ask judges by batches, at half the price; collect finished batches.")
@flag("--wait", "Wait for batches; do not exit with 3.")
@option(
    "--engine",
    "ray: workers ask judges. duckdb: recorded scores stay in their file. memory: they are read into memory.",
    ENGINES,
)
@option("--workers", "Number of workers.  [default: one per CPU]", click.IntRange(1))
@option(
    "--address",
    "Address of a Ray cluster.  [default: one on this machine, for this run]",
    metavar="HOST:PORT",
)
@option("--max-usd", "Budget of all judges together.  [default: the study's]", click.FloatRange(min=0))
@option("--study-id", "Share the budget with all runs of this name.  [default: the study's]", metavar="NAME")
@allow_failures
@talk
def run(
    study: Path,
    out: Path | None,
    *,
    dry_run: bool,
    offline: bool,
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
    if offline and (asking["batch"] or wait or asking["engine"] == RAY):
        raise click.UsageError("--offline sends nothing; leave out --batch, --wait and --engine ray")
    with progress(f"metaeval run {study.name}{' --dry-run' * dry_run}"):
        from metaeval.study.plan import plan

        todo = plan(study, out, **asking)
        if dry_run:
            dry = plan_text(todo)
        else:
            folder, record, already = _completed(todo, offline=offline, wait=wait)
    if dry_run:
        text, facts, due = dry
        tell(text)
        tell_simulated(todo.simulation.named(short_names(todo.study.specs)))
        tell_json(facts)
        for judge in () if offline else due:
            from metaeval.llm.providers import address_of, key_for

            key_for(judge.provider, address_of(judge.provider, judge.base_url))  # refused as in the run
    else:
        _tell_done(folder, record, already=already, allow_failures=allow_failures)


@click.command()
@run_argument
@allow_failures
@talk
def reparse(folder: Path, allow_failures: bool) -> None:
    """Parse the stored replies of the run in the folder RUN again, without calls."""
    begin()
    with progress(f"metaeval reparse {folder}"):
        from metaeval.study.pipeline import rerun

        done = rerun(folder, offline=True)
    _tell_done(done.folder, done.facts, allow_failures=allow_failures)


@click.command()
@click.argument("study", type=PATH)
@option(
    "--rounds",
    "Number of rounds: make interactions, ask evaluators again.",
    click.IntRange(1, 100),
    default=1,
)
@option("--out", "Folder to write.  [default: results/NAME-loop]", PATH)
@_offline
@allow_failures
@format_option()
@talk
def loop(study: Path, *, suffix: str, **options: Any) -> None:
    """Evaluate the study of exposure in the file STUDY, add synthetic interactions, and evaluate again.

    Makes synthetic interactions of users by the study's option synthesis, runs the study again on pairs that
    follow their exposure, and reports what changed. An interrupted loop continues when it is run again.
    """
    begin()
    with progress(f"metaeval loop {study.name}"):
        from metaeval.study.loop import LOOP
        from metaeval.study.loop import loop as run_loop

        done = run_loop(study, **options)
    tell_sheets(done.sheets, suffix, lines=done.lines, answer={**done.answer.record, "lines": done.lines})
    tell(str(done.folder / LOOP))


def _completed(todo: Plan, *, offline: bool = False, wait: bool = False) -> tuple[Path, Record, bool]:
    """Carry out a plan unless its run is finished; return its folder, its record, and whether it was."""
    from metaeval.runs.folder import read_record
    from metaeval.study.pipeline import run_unless_finished

    done = run_unless_finished(todo, offline=offline, wait=wait, tell=tell)
    return todo.out, done.facts if done else read_record(todo.out), done is None


def _tell_done(
    folder: Path,
    record: Record,
    *,
    already: bool = False,
    allow_failures: bool = False,
    printed: bool = False,
) -> None:
    """Say what a run found, unless that was ``printed``, and where it lies."""
    from metaeval.runs.answer import read_answer
    from metaeval.runs.folder import REPORT

    answer = read_answer(folder, record)
    if not printed:
        tell("\n".join(answer.lines))
    if already:
        tell(f"Finished already, {record.finished}; nothing has changed since.")
    tell(
        f"{counted(len(record.evaluators), 'evaluator')} on {_units(record)}: "
        f"{folder / 'leaderboard.md'}\nReport: {folder / REPORT}"
    )
    from metaeval.engine.sentences import left_out_sentences

    for sentence in left_out_sentences(record.policy, least=_MUCH):
        keep = " To keep them, leave those evaluators out, fill in a score, or say units: own."
        tell(sentence + keep * sentence.startswith("Left out"))
    for note in record.notes:
        tell(note)
    if record.policy.get("engine") == DUCKDB:
        from metaeval.study.results import LEFT_OUT

        tell(LEFT_OUT)
    tell_simulated(record.simulation.named(record.names))
    report = {
        "folder": str(folder),
        "report": str(folder / REPORT),
        "already_finished": already,
        "answer": answer.record,
    }
    tell_json({**report, **record.content()})
    if sys.stdout.isatty():
        run = shlex.quote(str(folder))
        tell(f"Next: metaeval leaderboard {run}\n      metaeval view {run}")
    tell_uncalibrated(folder)
    end_lost(record.lost_sentences, allowed=allow_failures)


def _units(record: Record) -> str:
    """Say on how many units evaluators were compared, where the truth has no value for the others."""
    units, rated = counted(record.data.units, "unit"), record.truth.units
    without = record.data.units - rated
    if not without or record.study.missing.get("truth", "drop") != "drop":
        return units
    have = "has" if without == 1 else "have"
    strict = record.truth.signature.get("skip_missing") is False
    keep = "; with skip_missing=True one rating is enough" if strict else ""
    return f"{rated:,} of {units} ({without:,} {have} no rating by {record.truth.spec}{keep})"


def plan_text(todo: Plan) -> tuple[str, dict[str, Any], list[ModelEvaluator]]:
    """Return what a dry run says of a plan, its facts, and the judges that have calls to make."""
    from metaeval.judging.asking import places_of
    from metaeval.judging.estimate import estimates, total_of

    study, judges, aspects = todo.study, todo.scoring.judges, todo.scoring.aspects
    if study.judging.batch:
        places_of(judges)
    asking = estimates(judges, todo.parts, aspects, study.judging)
    named = list(study.specs.items())
    lines = [
        f"study       {study.name}",
        f"data        {todo.data.name}: {counted(len(todo.data), 'unit')}",
        *([f"sealed      {_sealed_text(todo.sealed.facts)}"] if todo.sealed else []),
        f"truth       {study.truth}",
        f"aspects     {', '.join(aspects)}",
        *(f"{word:<12}{value}" for word, value in study.facts.items()),
        f"out         {todo.out}",
        f"evaluators  {len(named)}",
        *(f"            {name}{f' = {spec}' if spec != name else ''}" for name, spec in named),
        *_estimate_lines(asking),
        *(["", "The first prompt:", "", _shortened(asking[0].prompt), ""] if asking else []),
        "Nothing was written.",
    ]
    facts = {"out": str(todo.out), "units": len(todo.data), "study": study.model_dump(mode="json")}
    facts["judges"] = [asdict(estimate) for estimate in asking]
    facts["total"] = asdict(total_of(asking)) if asking else None
    return "\n".join(lines), facts, [j for j, e in zip(judges, asking, strict=True) if e.calls]


def _sealed_text(facts: SealedFacts) -> str:
    return f"{counted(facts.clusters, noun(facts.column))}, {counted(facts.units, 'unit')}"


def _shortened(prompt: str) -> str:
    """Return a prompt without the middle of its lines, if they are many, such as those of a history."""
    lines = prompt.split("\n")
    if (left_out := len(lines) - 2 * _LINES) > _LINES:
        lines = [*lines[:_LINES], f"[… {left_out:,} lines …]", *lines[-_LINES:]]
    return "\n".join(lines)


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
    to_make = [e for e in asking if e.calls]
    unknown = sum(e.usd_likely is None for e in to_make)
    if unknown and len(to_make) > 1:
        yield f"            {unknown} of them have no known price: set `judging.prices`; sums leave them out."
    if to_make:
        guessed = any(e.basis == "guess" for e in to_make)
        length = "a guess for models without replies" if guessed else "that of replies"
        yield f"            Likely: one attempt per call; the length of the replies is {length} in the store."
        yield "            At most: one attempt per call; prompts and replies as long as they can be."


def _usd(e: CallEstimate) -> str:
    if e.usd_likely is None:
        return "price unknown"
    by_batch = e.batch_usd_likely
    batch = "" if by_batch is None else f"; by batch {_amounts(by_batch, e.batch_usd)}"
    return f"{_amounts(e.usd_likely, e.usd)}{batch}"


def _amounts(likely: float, most: float | None) -> str:
    return f"likely {likely:.4g} USD" + ("" if most is None else f", at most {most:.4g} USD")
