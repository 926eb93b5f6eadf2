"""A study file → a run folder; and the same in single steps, from file to file.

The names are loaded on first use: what a finished run needs is less than what making one needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaeval.study.pipeline import rerun, run
    from metaeval.study.results import Run, board_of, read_run

__all__ = ["Run", "board_of", "read_run", "rerun", "run"]

_HOME = {
    "Run": "results",
    "board_of": "results",
    "read_run": "results",
    "rerun": "pipeline",
    "run": "pipeline",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"metaeval.study.{_HOME[name]}"), name)
    raise AttributeError(f"module 'metaeval.study' has no attribute {name!r}")
