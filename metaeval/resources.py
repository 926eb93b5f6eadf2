"""Where the files that ship with the package lie: in the wheel, or in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def bundled(relative: str) -> Path:
    """Return the path of a shipped file or folder, such as ``"data/sample"`` or ``"studies/demo.yaml"``."""
    in_wheel = _PACKAGE / "_bundled" / relative
    return in_wheel if in_wheel.exists() else _PACKAGE.parent / relative
