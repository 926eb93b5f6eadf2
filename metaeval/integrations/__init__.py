"""What other tools call: the `evaluate` library, whose modules are folders, and pytest."""

from __future__ import annotations

from pathlib import Path


def evaluate_module() -> str:
    """Return the path of the module that correlates predictions with references at several levels.

    ``evaluate.load(metaeval.evaluate_module())`` loads it, without a network; its ``compute`` takes
    ``predictions`` and ``references`` and, for the levels that need them, ``users`` and ``items``.
    """
    return str(Path(__file__).parent / "level_correlation")
