"""A small run that has something for every figure."""

from __future__ import annotations

from pathlib import Path

import metaeval as me
from tests.tiny import write_study, write_tiny

LONG = "a_judge_with_a_name_of_200_characters_" + "x" * 162
EVALUATORS = f"""\
evaluators:
  people: "Mean(Annotator('1'), Annotator('2'))"
  zero: "Judge('simulated/one,noise=0.2')"
  one: "Judge('simulated/one,noise=0.2', examples='one-shot')"
  {LONG}: "Judge('simulated/two,noise=0.4')"
  length: "Length()"
  recorded: "Recorded('S* star')"
bootstrap: {{resamples: 30}}
tests: null
details: false
"""


def drawn_run(folder: Path) -> Path:
    """Run a study of judges, people and others on the tiny data, and return the run folder."""
    write_tiny(folder / "tiny")
    study = write_study(
        folder / "s.yaml",
        EVALUATORS + f"judging: {{store: '{folder / 'replies.sqlite'}'}}",
        evaluators="",
        missing="{truth: drop, score: 0}",
    )
    return me.run(study, folder / "out").folder
