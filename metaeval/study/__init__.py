"""A study file → a run folder; and the same in single steps, from file to file."""

from metaeval.study.pipeline import Run, rerun, run
from metaeval.study.plan import Plan, plan
from metaeval.study.results import board_of, read_run

__all__ = ["Plan", "Run", "board_of", "plan", "read_run", "rerun", "run"]
