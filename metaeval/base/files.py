"""Files that are whole or not there, and those that ship with the package."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from metaeval.base.errors import MetaevalError, shown

_PACKAGE = Path(__file__).parents[1]


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``path``; rename it to ``path`` if the block succeeds.

    On any exception ``path`` stays as it was. The temporary name keeps its suffix, by which writers choose
    the format. A link is followed; the path of a device or a pipe, which cannot be replaced, is yielded.

    Raises `MetaevalError` if nothing can be written there.
    """
    target = Path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):
        yield target
        return
    target = Path(os.path.realpath(path)) if target.is_symlink() else target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        above = next(p for p in target.parents if p.exists())
        raise MetaevalError(f"{target} cannot be written: {above} is a file, not a folder") from None
    if not os.access(target.parent, os.W_OK):
        raise MetaevalError(f"{target} cannot be written: {target.parent} may not be written to")
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.tmp{target.suffix}")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text atomically, with Unix line ends on every platform."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def path_of(given: object, what: str) -> Path:
    """Return a path that Python gave; raise `MetaevalError` if it is none."""
    if not isinstance(given, str | os.PathLike) or not str(given) or "\0" in str(given):
        raise MetaevalError(f"{what} is given by its path, not by {shown(given)}")
    return Path(given)


def unusable(path: Path) -> str:
    """Say why something new cannot be written to a path; empty if it can."""
    above = next(p for p in path.absolute().parents if p.exists())
    why = "cannot be written to" if above.is_dir() else "is a file"
    return "" if above.is_dir() and os.access(above, os.W_OK) else f"{above.name or above} {why}"


def bundled(relative: str) -> Path:
    """Return the path of a shipped file or folder, such as ``"data/sample"`` or ``"studies/demo.yaml"``."""
    in_wheel = _PACKAGE / "_bundled" / relative
    return in_wheel if in_wheel.exists() else _PACKAGE.parent / relative


def to_read(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return where to read ``path``: there, or the shipped file of that name if there is none.

    So ``data/sample`` and ``studies/demo.yaml`` can be read in every folder. What is written goes to the path
    as it was given.
    """
    relative = Path(path)
    if relative.is_absolute() or relative.exists() or not relative.parts or ".." in relative.parts:
        return path
    shipped = bundled(relative.as_posix())
    study = relative.parts[0] == "studies" and shipped.is_file()
    return shipped if study or (shipped / "dataset.yaml").is_file() else path
