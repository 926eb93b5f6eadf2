"""Files that are whole or not there: write beside the target, then rename."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_MARK_BYTES = 4


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``path``; rename it to ``path`` if the block succeeds.

    On any exception the temporary file is removed and ``path`` stays as it was.
    The temporary name keeps the suffix of ``path``, because writers choose the format by it.

    Raises `MetaevalError` if nothing can be written there.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        above = next(p for p in target.parents if p.exists())
        raise MetaevalError(f"{target} cannot be written: {above} is a file, not a folder") from None
    if not os.access(target.parent, os.W_OK):
        raise MetaevalError(f"{target} cannot be written: {target.parent} may not be written to")
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(_MARK_BYTES)}.tmp{target.suffix}")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_folder(path: str | os.PathLike[str], ours: Collection[str]) -> Iterator[Path]:
    """Yield a folder beside ``path`` that takes its place if the block succeeds; else ``path`` stays.

    Of what ``path`` holds, only the entries that are ``ours`` are replaced; copies of all others are kept.
    Of several processes that replace it, the last one to finish has its way.
    """
    target = Path(path).resolve()
    mark = secrets.token_hex(_MARK_BYTES)
    temporary, old = (target.with_name(f".{target.name}.{mark}.{end}") for end in ("tmp", "old"))
    temporary.mkdir(parents=True)
    try:
        with _alone(target):
            _recover(target)
        yield temporary
        with _alone(target):
            for other in target.iterdir() if target.is_dir() else ():
                if other.name not in ours:
                    copy = shutil.copytree if other.is_dir() and not other.is_symlink() else _copy
                    copy(other, temporary / other.name)
            try:
                if target.exists():
                    target.rename(old)
                temporary.rename(target)
            finally:
                if old.exists() and not target.exists():
                    old.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Wait until no other process moves a folder, and keep others from it; a killed process holds nothing."""
    from filelock import FileLock

    held = target.with_name(f".{target.name}.lock")
    with FileLock(held):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # Windows removes it on release
                held.unlink()


def _recover(target: Path) -> None:
    """Clear up after processes that were killed in the swap."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 2 * _MARK_BYTES}.old"):
        new = left.with_suffix(".tmp")
        if new.exists() and not target.exists():  # killed between the two renames, not after them
            left.rename(target)
        for folder in (new, left):
            shutil.rmtree(folder, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    shutil.copy2(source, target, follow_symlinks=False)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text atomically, with Unix line ends on every platform."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
