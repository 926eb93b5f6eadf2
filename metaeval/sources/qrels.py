"""Relevance labels in TREC's qrels format: a line is ``query iteration document label``."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.base.errors import DataError, Problem

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

KEYS = ["query", "document"]
_FIELDS = ["query", "iteration", "document", "label"]


def read_qrels(path: Path) -> tuple[pd.DataFrame, list[Problem]]:
    """Return ``line``, ``query``, ``document`` and ``label``, all but the line as text, and every problem.

    Labels stay text, so that a report can show what a judge wrote in place of a label.

    Raises
    ------
    DataError
        If there is no such file, or it is no text.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise DataError(f"there is no qrels file {str(path)!r}") from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path.name} is not UTF-8 text; a qrels file has lines such as 'q1 0 d7 2'"
        ) from error
    numbered = [(n, fields) for n, line in enumerate(lines, start=1) if (fields := line.split())]
    problems = [
        Problem(path.name, n, None, f"has {len(fields)} fields; a line is: {' '.join(_FIELDS)}")
        for n, fields in numbered
        if len(fields) != len(_FIELDS)
    ]
    whole = [(n, *fields) for n, fields in numbered if len(fields) == len(_FIELDS)]
    frame = pd.DataFrame(whole, columns=["line", *_FIELDS]).drop(columns="iteration")
    if not problems and frame.empty:
        problems.append(Problem(path.name, None, None, "has no labels"))
    again = frame.loc[frame.duplicated(KEYS), ["line", *KEYS]]
    problems += [
        Problem(path.name, n, None, f"query {q!r} and document {d!r} stand in an earlier line too; keep one")
        for n, q, d in again.itertuples(index=False)
    ]
    return frame, problems


def judge_files(patterns: Sequence[str | os.PathLike[str]], people: Path) -> dict[str, Path]:
    """Return the files that names and patterns mean, without the people's: stem → path, in order of stems."""
    found: dict[str, Path] = {}
    for pattern in map(str, patterns):
        # A file that is there may have a bracket or a star in its name.
        paths = [pattern] if Path(pattern).is_file() else glob.glob(pattern)  # noqa: PTH207 - patterns may be absolute
        matching = sorted(Path(p) for p in paths if Path(p).is_file())
        if not matching:
            raise DataError(
                f"no file fits {pattern!r}; give a judge's file, or a pattern such as 'runs/*.txt'"
            )
        for path in matching:
            if path.resolve() == people.resolve():
                continue
            other = found.setdefault(path.stem, path)
            if other.resolve() != path.resolve():
                raise DataError(
                    f"{str(other)!r} and {str(path)!r} would both be the judge {path.stem!r}; rename one"
                )
    return dict(sorted(found.items()))
