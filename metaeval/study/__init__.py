"""A study file → a run folder; and the same in single steps, from file to file."""

from metaeval.study.pipeline import Run, board_of, read_run, rerun, run
from metaeval.study.plan import Plan, plan

__all__ = ["Plan", "Run", "board_of", "plan", "read_run", "rerun", "run"]
