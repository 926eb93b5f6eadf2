"""``metaeval demo``, ``run`` and ``reparse``: a study, from its file to its run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metaeval.cli.group import begin, talk, tell, tell_json, tell_simulated, tell_uncalibrated
from metaeval.counts import counted
from metaeval.simulation import Simulation

if TYPE_CHECKING:
    from metaeval.study import Run
    from metaeval.study.asking import Estimate
    from metaeval.study.plan import Plan

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
@talk
def run(study: Path, out: Path | None, dry_run: bool, offline: bool) -> None:
    """Score, correlate, rank and report the study in the file STUDY.

    A run that broke off goes on where it stopped when it is run again.
    """
    from metaeval.study import run as run_study
    from metaeval.study.plan import plan

    begin()
    if dry_run:
        _tell_plan(plan(study, out))
    else:
        _tell_done(run_study(study, out, offline=offline))


@click.command()
@click.argument("run_folder", metavar="RUN", type=_PATH)
@talk
def reparse(run_folder: Path) -> None:
    """Read the stored replies of the run in the folder RUN again, without a call."""
    from metaeval.study import rerun

    begin()
    _tell_done(rerun(run_folder, offline=True))


def _tell_done(done: Run) -> None:
    from metaeval.study.folder import REPORT

    tell(
        f"{counted(len(done.record['evaluators']), 'evaluator')} on "
        f"{counted(done.record['data']['units'], 'unit')}: "
        f"{done.folder / 'leaderboard.md'}\nReport: {done.folder / REPORT}"
    )
    tell_simulated(Simulation.of_record(done.record))
    tell_json({"folder": str(done.folder), "report": str(done.folder / REPORT), **done.record})
    tell_uncalibrated(done.folder)


def _tell_plan(todo: Plan) -> None:
    from dataclasses import asdict

    from metaeval.study.asking import estimates

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
        *(line for e in asking for line in _estimate_lines(e)),
        *(["", "The first prompt:", "", asking[0].prompt, ""] if asking else []),
        "Nothing was written.",
    ]
    tell("\n".join(lines))
    tell_simulated(Simulation.of(todo.data.simulated, {n: str(s) for n, s in todo.evaluators.items()}))
    record = {"out": str(todo.out), "units": len(todo.data), "study": todo.as_record()}
    tell_json({**record, "judges": [asdict(e) for e in asking]})


def _estimate_lines(e: Estimate) -> list[str]:
    usd = "price unknown" if e.usd is None else f"at most {e.usd:.4g} USD"
    calls = f"{e.requests - e.in_store:,} calls to make, {e.in_store:,} in the store"
    return [
        f"judge       {e.judge}",
        f"            {calls}, about {counted(e.tokens, 'token')} to send, {usd}",
    ]
