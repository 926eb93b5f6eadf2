"""``metaeval gate``, ``improve`` and ``disagreements``, which do more than print sheets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from metaeval.base.counts import counted
from metaeval.base.files import write_text
from metaeval.cli.frame import options_of
from metaeval.cli.messages import begin, is_on, talk, tell, tell_json, tell_lost, tell_pages, tell_simulated
from metaeval.cli.options import PATH, flag, option, run_argument, served, several
from metaeval.cli.run import plan_text
from metaeval.cli.sheets import (
    format_option,
    prints_sheets,
    sheet_options,
    tell_sheets,
    written,
)
from metaeval.reports.sheets import files, render
from metaeval.runs.command import Printed
from metaeval.trust import disagreements as panel
from metaeval.trust import improvement
from metaeval.trust.gate.checks import GateResult, gate_sheet
from metaeval.trust.gate.report import gate_markdown, gate_record, junit_xml
from metaeval.trust.gate.rules import read_thresholds
from metaeval.trust.gate.run import GateRequest, baseline_of_run, gate_run
from metaeval.trust.labelling.pages import label_units

_EXIT = {"pass": 0, "fail": 1, "inconclusive": 4}


@click.command()
@click.argument("folder", metavar="RUN|FILE", type=PATH)
@option("--baseline", "File or folder of the last accepted run.", PATH)
@several(
    "--min least", "Lowest allowed mean score; give it once per aspect.", metavar="[ASPECT[/CATEGORY]=]SCORE"
)
@several(
    "--max-drop max_drop",
    "Largest allowed drop of the mean below the baseline's; may be given again.",
    metavar="[ASPECT[/CATEGORY]=]POINTS",
)
@options_of(GateRequest, *[name for name in GateRequest.model_fields if name not in ("least", "max_drop")])
@flag("--accept-judge-change", "Compare even if the judge has changed.")
@option("--junit", "Also write JUnit XML.", PATH, metavar="FILE")
@option("--summary", "Also write Markdown for a pull request.", PATH, metavar="FILE")
@option("--write-baseline", "Accept RUN as the baseline; check nothing.", PATH, metavar="FILE.json")
@sheet_options
@talk
def gate(
    folder: Path,
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
    In place of RUN, it takes a FILE of verdicts on pairs, made by `metaeval verdicts import`: checked is the
    judge's accuracy against gold preferences, or the win rate of a --generator --against another.
    """
    begin()
    options |= {"max_drop": read_thresholds(max_drop, "--max-drop")}
    request = GateRequest(least=read_thresholds(least, "--min"), **options)
    if write_baseline is not None:
        if baseline is not None:
            raise click.UsageError("--write-baseline accepts RUN as it is; leave --baseline out")
        written, lowered = baseline_of_run(folder, request, write_baseline)
        for line in [*(f"LOWERED: {sentence}" for sentence in lowered), *map(str, written)]:
            tell(line)
        tell_json({"files": [str(file) for file in written], "lowered": lowered})
        tell_lost(folder)
        return
    result = gate_run(folder, request, baseline, accept_judge_change=accept_judge_change)
    _tell(result, suffix, out, junit=junit, summary=summary)
    tell_lost(folder)
    if _EXIT[result.verdict]:
        raise click.exceptions.Exit(_EXIT[result.verdict])


def _first(result: GateResult) -> list[str]:
    return [f"{result.verdict.capitalize()}. {' '.join(result.first)}".rstrip()]


def _tell(
    result: GateResult, suffix: str, out: Path | None, *, junit: Path | None, summary: Path | None
) -> None:
    sheet = gate_sheet(result)
    printed = "" if out is not None or is_on("json") else render([sheet], suffix, first=_first(result))
    tell_simulated(result.simulated, printed)
    texts = (
        {}
        if out is None
        else dict(written(out, lambda: gate_record(result), partial(files, [sheet], first=_first(result))))
    )
    texts |= {} if junit is None else {junit: junit_xml(result)}
    texts |= {} if summary is None else {summary: gate_markdown(result)}
    for path, text in texts.items():
        write_text(path, text)
    if is_on("json"):
        tell_json(gate_record(result))
    elif out is None:
        click.echo(printed, nl=False)
    else:
        tell(f"{result.verdict}: {out}")


@click.command(help=panel.disagreements_of.__doc__)
@run_argument
@options_of(panel.PanelOptions, "judges", "n", "aspects", "levels")
@option("--labels", "Also write these units to a table for people to label.", PATH, metavar="FILE.csv")
@option("--data", "Data-set folder, for people's labels.  [default: the study's]", PATH)
@flag("--label", "Label these units in a browser instead.")
@option("--rater", "Name of the person who labels, with --label.", metavar="NAME", default="")
@served
@options_of(panel.PanelOptions, "resamples", "seed")
@prints_sheets(uncalibrated=True)
def disagreements(
    folder: Path,
    *,
    aspects: tuple[str, ...],
    labels: Path | None,
    data: Path | None,
    label: bool,
    rater: str,
    port: int,
    no_browser: bool,
    **options: Any,
) -> Printed:
    """Print the tables, or have people label."""
    if label:
        session = panel.session_of_disagreements(
            folder, options["judges"], rater=rater, aspects=aspects, n=options["n"], data=data
        )
        label_units(session, port=port, browser=not no_browser, ready=partial(tell_pages, folder, [rater]))
        tell(session.line())
        click.get_current_context().exit()
    made = panel.disagreements_of.made(folder, aspects=aspects, **options)
    if labels is not None:
        units, *_ = filter(None, made.sheets)
        panel.labels_of_disagreements(folder, units, labels, aspects=aspects, data=data)
        tell(str(labels))
    return made


@click.command(help=improvement.improve.__doc__)
@click.argument("study", type=PATH)
@options_of(improvement.ImproveOptions)
@option("--out", "Run folder.  [default: results/NAME-improve]", PATH)
@flag("--dry-run", "Print the plan and its cost; write and send nothing.")
@format_option()
@talk
def improve(study: Path, *, out: Path | None, dry_run: bool, suffix: str, **options: Any) -> None:
    """Search, or say what it would take."""
    begin()
    search = improvement.PromptSearch(study, out, improvement.ImproveOptions(**options))
    if not dry_run:
        tell_sheets(search.found(), suffix)
        tell(f"\n{search.whole.out}")
        return
    text, facts, _ = plan_text(search.todo)
    one, times = search.of_candidate(), options["rounds"] * options["candidates"]
    likely = "price unknown" if one.usd_likely is None else f"likely {one.usd_likely * times:.4g} USD"
    tell(
        f"{text}\nsearch      {counted(times, 'other prompt')} at most, written by {search.writer}\n"
        f"            {counted(times * one.calls, 'call')} of the judge, {likely}"
    )
    tell_json({**facts, "prompts": times, "prompt": asdict(one)})
