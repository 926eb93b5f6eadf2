"""``metaeval generators``: which generator writes the best explanations, by people and by evaluators."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, talk, tell_lost
from metaeval.cli.sheets import sheet_options, tell_sheets


@click.command()
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--evaluator",
    "evaluators",
    metavar="NAME",
    multiple=True,
    help="A trusted evaluator; may be given again.  [default: all but baselines]",
)
@click.option("--aspect", help="This aspect only.  [default: all, and their average]")
@click.option(
    "--labelled", type=int, metavar="N", help="Estimate from the ratings of N users and all scores."
)
@click.option("--resamples", type=int, default=10_000, show_default=True, help="Of the users.")
@click.option("--seed", type=int, default=0, show_default=True)
@sheet_options
@talk
def generators(
    run_folder: Path,
    *,
    evaluators: tuple[str, ...],
    aspect: str | None,
    labelled: int | None,
    resamples: int,
    seed: int,
    suffix: str,
    out: Path | None,
) -> None:
    """Rank the generators of the finished run in the folder RUN by ratings and by evaluators."""
    from metaeval.study.commands.analyses import generators_of

    begin()
    found = generators_of(
        run_folder, evaluators, aspect=aspect, labelled=labelled, resamples=resamples, seed=seed
    )
    tell_sheets(found, suffix, out)
    tell_lost(run_folder)
