"""``metaeval generators``: which generator writes the best explanations, by people and by evaluators."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, talk
from metaeval.cli.sheets import sheet_options, tell_sheets


@click.command()
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--evaluators",
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
def generators(  # noqa: PLR0917  # click passes its options by name
    run_folder: Path,
    evaluators: tuple[str, ...],
    aspect: str | None,
    labelled: int | None,
    resamples: int,
    seed: int,
    suffix: str,
    out: Path | None,
) -> None:
    """Rank the generators of the finished run in the folder RUN by ratings and by evaluators."""
    import pandas as pd

    from metaeval.analysis.generator_estimates import estimates_sheet
    from metaeval.analysis.generator_ranking import rank_generators
    from metaeval.analysis.generators import best_evaluator, ranking_sheets, trusted
    from metaeval.intervals import Bootstrap
    from metaeval.study.folder import CORRELATIONS, read_output
    from metaeval.study.opened import open_run

    begin()
    options = Bootstrap.of({"resamples": resamples, "seed": seed})
    run = open_run(run_folder)
    names = trusted(run.scores, evaluators)
    data = run.prepared(levels=["dataset"], evaluators=names)
    chosen = data.aspects if aspect is None else [aspect]
    found = rank_generators(data, aspects=chosen, bootstrap=options)
    sheets = ranking_sheets(
        found,
        data,
        truth=run.record["truth"]["spec"],
        simulated=run.scores.simulated,
        simulated_evaluators=run.scores.simulated_evaluators,
    )
    judge = (
        names[0]
        if evaluators
        else best_evaluator(pd.read_csv(read_output(run.folder, CORRELATIONS)), names, aspect)
    )
    powered = estimates_sheet(
        run.scores.frame,
        run.truth,
        judge,
        aspects=chosen,
        labelled=labelled,
        seed=seed,
        simulated=run.scores.simulated or judge in run.scores.simulated_evaluators,
    )
    tell_sheets([*sheets, powered] if powered else sheets, suffix, out)
