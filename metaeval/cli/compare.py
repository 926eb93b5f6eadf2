"""``metaeval compare``: evaluators of one run, or of several, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.cli.options import PATH
from metaeval.cli.sheets import Sheets, prints_sheets


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=PATH)
@click.option("--by", metavar="ASPECT,LEVEL,COEFFICIENT", help="Column to test.")
@click.option(
    "--correction",
    type=click.Choice(["holm", "bh", "none"]),
    help="Correction of p-values.  [default: the study's]",
)
@click.option("--permutations", type=click.IntRange(1), help="Permutations per test.  [default: the study's]")
@click.option("--seed", type=click.IntRange(0), help="Seed of the permutations.  [default: the study's]")
@click.option("--all-pairs", is_flag=True, help="Test every two evaluators of all runs, and rank them.")
@click.option(
    "--policy-of",
    metavar="RUN",
    help="RUN whose policy, intervals and tests are used, if they differ.  [default: the first]",
)
@prints_sheets()
def compare(runs: tuple[Path, ...], **options: Any) -> Sheets:
    """Compare evaluators of the finished run in the folder RUN, or of several runs, by paired tests.

    One run: every pair of evaluators is tested. Several runs: what changed between them (data, prompts,
    models, policy, versions), and the results of each evaluator in every run, on their common units. Runs
    that cannot be compared are refused.
    """
    from metaeval.runs.comparison import compare_runs

    return compare_runs(runs, **options)
