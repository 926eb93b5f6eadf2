"""``metaeval biases``: what sways a judge beside the quality of a text."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, resampled, talk, tell_lost, tell_uncalibrated
from metaeval.cli.sheets import sheet_options, tell_sheets


@click.command()
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="An evaluator to look at; give it again for each.  [default: the run's judges]",
)
@click.option(
    "--family",
    "families",
    multiple=True,
    metavar="NAME=FAMILY",
    help="The family of models of a generator or judge ('none' for none); may be given again.  [default: by "
    "its name]",
)
@click.option(
    "--families",
    "families_file",
    type=click.Path(path_type=Path),
    help="A YAML file of lines 'name: family'; --family goes before it.",
)
@click.option("--length", metavar="NAME", help="The evaluator that tells the lengths.  [default: Length()]")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Where the data set lies, to count lengths.  [default: where the study says]",
)
@resampled()
@sheet_options
@talk
def biases(
    run_folder: Path,
    *,
    judges: tuple[str, ...],
    families: tuple[str, ...],
    families_file: Path | None,
    length: str | None,
    data: Path | None,
    resamples: int,
    seed: int,
    suffix: str,
    out: Path | None,
) -> None:
    """Measure and test the biases of the judges of the finished run in the folder RUN.

    Position (of pairwise judges), verbosity, self-preference, leniency, range use, central tendency,
    sensitivity to the wording of the prompt, and repeatability: each a number with an interval and a test.
    """
    from metaeval.study.commands.biases import biases_of, said_families

    begin()
    found = biases_of(
        run_folder,
        judges,
        families=said_families(families, families_file),
        length=length,
        data=data,
        resamples=resamples,
        seed=seed,
    )
    tell_sheets(found, suffix, out)
    tell_uncalibrated(run_folder)
    tell_lost(run_folder)
