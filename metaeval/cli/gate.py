"""``metaeval gate``: whether a system is still good enough, and no worse than when it was last accepted."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.cli.group import begin, is_on, talk, tell, tell_json, tell_lost, tell_simulated
from metaeval.cli.options import PATH, run_argument, several
from metaeval.cli.sheets import sheet_options, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.trust.gate.checks import GateResult

_EXIT = {"pass": 0, "fail": 1, "inconclusive": 4}


@click.command()
@run_argument
@click.option("--baseline", type=PATH, help="File or folder of the last accepted run.")
@several(
    "--min",
    "least",
    metavar="[ASPECT[/CATEGORY]=]SCORE",
    help="Lowest allowed mean score; give it once per aspect.",
)
@several(
    "--max-drop",
    "max_drop",
    metavar="[ASPECT[/CATEGORY]=]POINTS",
    help="Largest allowed drop of the mean below the baseline's; may be given again.",
)
@click.option(
    "--by", metavar="COLUMN", help="Also check each value of this column of the explanations or users."
)
@click.option(
    "--evaluator", metavar="NAME", help="Evaluator whose scores are checked.  [default: the run's only judge]"
)
@several(
    "--generator",
    "generators",
    metavar="NAME",
    help="Generator whose texts are checked; may be given again.  [default: all]",
)
@click.option(
    "--cluster",
    metavar="user|item|generator|unit",
    help="What is resampled: units in it are not independent.  [default: user; item without users]",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, True, True),
    help="Allowed error rate of the checks.  [default: 0.05]",
)
@click.option(
    "--max-missing",
    type=click.FloatRange(0, 1, max_open=True),
    help="Largest share of units without a score with which a check can pass.  [default: 0.05]",
)
@click.option("--data", type=PATH, help="Data-set folder, for --by.  [default: the study's]")
@click.option("--calibration", type=PATH, help="Calibration of the judge.  [default: the run's]")
@click.option("--accept-judge-change", is_flag=True, help="Compare even if the judge has changed.")
@click.option("--junit", type=PATH, metavar="FILE", help="Also write JUnit XML.")
@click.option("--summary", type=PATH, metavar="FILE", help="Also write Markdown for a pull request.")
@click.option(
    "--write-baseline", type=PATH, metavar="FILE.json", help="Accept RUN as the baseline; check nothing."
)
@sheet_options
@talk
def gate(
    run_folder: Path,
    *,
    baseline: Path | None,
    least: Sequence[str],
    max_drop: Sequence[str],
    accept_judge_change: bool,
    junit: Path | None,
    summary: Path | None,
    write_baseline: Path | None,
    suffix: str,
    out: Path | None,
    **options: Any,
) -> None:
    """Check the scores of the finished run in the folder RUN: pass, fail or inconclusive.

    Each aspect, and each category with --by, is compared with its lowest allowed mean (--min) and with the
    same units of the baseline (--max-drop). Exit code 0 if every check passes, 1 if any fails, 4 if the
    sample is too small to say. Thresholds in the baseline file also apply; options can only make them
    stricter.
    """
    from metaeval.study.commands.gate import GateRequest, baseline_of_run, gate_run
    from metaeval.trust.gate.rules import read_thresholds

    begin()
    asked = GateRequest(read_thresholds(least, "--min"), read_thresholds(max_drop, "--max-drop"), **options)
    if write_baseline is not None:
        if baseline is not None:
            raise click.UsageError("--write-baseline accepts RUN as it is; leave --baseline out")
        written, lowered = baseline_of_run(run_folder, asked, write_baseline)
        for line in [*(f"LOWERED: {sentence}" for sentence in lowered), *map(str, written)]:
            tell(line)
        tell_json({"files": [str(file) for file in written], "lowered": lowered})
        tell_lost(run_folder)
        return
    result = gate_run(run_folder, asked, baseline, accept_judge_change=accept_judge_change)
    _tell(result, suffix, out, junit=junit, summary=summary)
    tell_lost(run_folder)
    if _EXIT[result.verdict]:
        raise click.exceptions.Exit(_EXIT[result.verdict])


def _tell(
    result: GateResult, suffix: str, out: Path | None, *, junit: Path | None, summary: Path | None
) -> None:
    from metaeval.base.files import write_text
    from metaeval.reports.gate_summary import gate_markdown, gate_record
    from metaeval.reports.junit import junit_xml
    from metaeval.reports.sheets import files, render
    from metaeval.trust.gate.sheet import gate_sheet

    tell_simulated(result.simulated)
    sheet = gate_sheet(result)
    texts = {} if out is None else dict(written(out, lambda: gate_record(result), partial(files, [sheet])))
    texts |= {} if junit is None else {junit: junit_xml(result)}
    texts |= {} if summary is None else {summary: gate_markdown(result)}
    for path, text in texts.items():
        write_text(path, text)
    if is_on("json"):
        tell_json(gate_record(result))
    elif out is None:
        click.echo(render([sheet], suffix), nl=False)
    else:
        tell(f"{result.verdict}: {out}")
