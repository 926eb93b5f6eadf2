"""``metaeval demo``, ``run`` and ``reparse``: a study, from its file to its run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.cli.group import begin, talk, tell, tell_json, tell_simulated, tell_uncalibrated
from metaeval.counts import counted
from metaeval.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.study.estimating import Estimate

_PATH = click.Path(path_type=Path)


@click.command()
@click.option("--out", type=_PATH, help="The run folder.  [default: results/demo]")
@talk
def demo(out: Path | None) -> None:
    """Run the study of the bundled, simulated sample."""
    from metaeval.resources import bundled
    from metaeval.study import run as run_study
    from metaeval.study.steps import leaderboard_of

    begin()
    done = run_study(bundled("studies/demo.yaml"), out)
    tell(leaderboard_of(done.folder, done.record["study"]["coefficients"][:1]).to_markdown())
    _tell_done(done)


@click.command()
@click.argument("study", type=_PATH)
@click.option("--out", type=_PATH, help="The run folder.  [default: results/ and the study's name]")
@click.option("--dry-run", is_flag=True, help="Say what would be done and cost; write and send nothing.")
@click.option("--offline", is_flag=True, help="Take all replies of judges from the store.")
@allow_failures
@talk
def run(study: Path, out: Path | None, *, dry_run: bool, offline: bool, allow_failures: bool) -> None:
    """Score, correlate, rank and report the study in the file STUDY.

    A run that broke off goes on where it stopped when it is run again. One that is finished is not made
    again, unless the study, the data, the code or the replies in the store have changed.
    """
    begin()
    if dry_run:
        _tell_plan(study, out)
        return
    with progress(f"metaeval run {study.name}"):
        folder, record, already = _run(study, out, offline=offline)
    _tell_done(folder, record, already=already, allow_failures=allow_failures)


@click.command()
@click.argument("run_folder", metavar="RUN", type=_PATH)
@allow_failures
@talk
def reparse(run_folder: Path, allow_failures: bool) -> None:
    """Read the stored replies of the run in the folder RUN again, without a call."""
    begin()
    with progress(f"metaeval reparse {run_folder}"):
        from metaeval.study import rerun

        done = rerun(run_folder, offline=True)
    _tell_done(done.folder, done.record, allow_failures=allow_failures)


def _tell_done(done: Run) -> None:
    from metaeval.study.folder import REPORT
    from metaeval.study.lost import lost_sentences

    tell(
        f"{counted(len(done.record['evaluators']), 'evaluator')} on "
        f"{counted(done.record['data']['units'], 'unit')}: "
        f"{done.folder / 'leaderboard.md'}\nReport: {done.folder / REPORT}"
    )
    tell_simulated(Simulation.of_record(done.record))
    tell_json({"folder": str(done.folder), "report": str(done.folder / REPORT), **done.record})
    tell_uncalibrated(done.folder)


def _tell_plan(study: Path, out: Path | None) -> None:
    from dataclasses import asdict

    with progress(f"metaeval run {study.name} --dry-run"):
        from metaeval.study.estimating import estimates, total_of
        from metaeval.study.plan import plan

    asking = estimates(todo)
    lines = [
        f"study       {todo.study.name}",
        f"data        {todo.data.name}: {counted(len(todo.data), 'unit')}",
        f"truth       {todo.truth}",
        f"aspects     {', '.join(todo.aspects)}",
        f"levels      {', '.join(todo.levels)}",
        f"out         {todo.out}",
        f"evaluators  {len(todo.evaluators)}",
        *(
            f"            {name}" + (f" = {s}" if str(s) != name else "")
            for name, s in todo.evaluators.items()
        ),
        *_estimate_lines(asking),
        *(["", "The first prompt:", "", asking[0].prompt, ""] if asking else []),
        "Nothing was written.",
    ]
    tell("\n".join(lines))
    tell_simulated(Simulation.of(todo.data.simulated, {n: str(s) for n, s in todo.evaluators.items()}))
    record = {"out": str(todo.out), "units": len(todo.data), "study": todo.as_record()}
    total = asdict(total_of(asking)) if asking else None
    tell_json({**record, "judges": [asdict(e) for e in asking], "total": total})


def _estimate_lines(e: Estimate) -> list[str]:
    usd = "price unknown" if e.usd is None else f"at most {e.usd:.4g} USD"
    calls = f"{e.requests - e.in_store:,} calls to make, {e.in_store:,} in the store"
    return [
        f"judge       {e.judge}",
        f"            {calls}, about {counted(e.tokens, 'token')} to send, {usd}",
    ]
