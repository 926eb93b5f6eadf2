"""Where the files that ship with the package lie: in the wheel, or in a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

_PACKAGE = Path(__file__).parents[1]


def bundled(relative: str) -> Path:
    """Return the path of a shipped file or folder, such as ``"data/sample"`` or ``"studies/demo.yaml"``."""
    in_wheel = _PACKAGE / "_bundled" / relative
    return in_wheel if in_wheel.exists() else _PACKAGE.parent / relative


def to_read(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return where to read ``path``: there, or the shipped file of that name if there is none.

    So ``data/sample`` and ``studies/demo.yaml`` can be read in every folder. What is written goes to the path
    as it was given.
    """
    given = Path(path)
    if given.is_absolute() or given.exists() or not given.parts or ".." in given.parts:
        return path
    shipped = bundled(given.as_posix())
    study = given.parts[0] == "studies" and shipped.is_file()
    return shipped if study or (shipped / "dataset.yaml").is_file() else path
