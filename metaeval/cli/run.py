"""``metaeval demo``, ``run`` and ``leaderboard``: a study, and the table that it makes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metaeval.cli.group import begin, talk, tell, tell_json, tell_uncalibrated

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
    from metaeval.study.steps import leaderboard_text

    begin()
    done = run_study(bundled("studies/demo.yaml"), out)
    tell(leaderboard_text(done.folder, "md", done.record["study"]["coefficients"][:1]))
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


@click.command()
@click.argument("run_folder", metavar="RUN", type=_PATH)
@click.option("--coefficient", multiple=True, help="Show this one only; may be given again.")
@click.option(
    "--by", "order", metavar="ASPECT,LEVEL,COEFFICIENT", help="The column that orders and is tested."
)
@click.option("--format", "suffix", type=click.Choice(["md", "csv", "tex", "html"]), default="md")
@talk
def leaderboard(run_folder: Path, coefficient: tuple[str, ...], order: str | None, suffix: str) -> None:
    """Print the leaderboard of the finished run in the folder RUN."""
    from metaeval.cli.group import is_on
    from metaeval.study.steps import leaderboard_records, leaderboard_text

    if is_on("json"):
        tell_json(leaderboard_records(run_folder, coefficient, order))
    else:
        click.echo(leaderboard_text(run_folder, suffix, coefficient, order), nl=False)
    tell_uncalibrated(run_folder)


def _tell_done(done: Run) -> None:
    from metaeval.study.folder import REPORT

    simulated = " on SIMULATED data" if done.record["data"]["simulated"] else ""
    tell(
        f"{len(done.record['evaluators'])} evaluators on {done.record['data']['units']:,} units{simulated}: "
        f"{done.folder / 'leaderboard.md'}\nReport: {done.folder / REPORT}"
    )
    tell_json({"folder": str(done.folder), "report": str(done.folder / REPORT), **done.record})
    tell_uncalibrated(done.folder)


def _tell_plan(todo: Plan) -> None:
    from dataclasses import asdict

    from metaeval.study.asking import estimates

    asking = estimates(todo)
    simulated = ", SIMULATED" if todo.data.simulated else ""
    lines = [
        f"study       {todo.study.name}",
        f"data        {todo.data.name}: {len(todo.data):,} units{simulated}",
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
    record = {"out": str(todo.out), "units": len(todo.data), "study": todo.as_record()}
    tell_json({**record, "judges": [asdict(e) for e in asking]})


def _estimate_lines(e: Estimate) -> list[str]:
    usd = "price unknown" if e.usd is None else f"at most {e.usd:.4g} USD"
    calls = f"{e.requests - e.in_store:,} calls to make, {e.in_store:,} in the store"
    return [f"judge       {e.judge}", f"            {calls}, about {e.tokens:,} tokens to send, {usd}"]
