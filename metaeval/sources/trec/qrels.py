"""Relevance labels in TREC's qrels format: a line is ``query iteration document label``."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, Problem
from metaeval.sources.trec.fields import read_fields

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas as pd

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
    frame, problems = read_fields(path, _FIELDS, "qrels file")
    frame = frame.drop(columns="iteration")
    if not problems and frame.empty:
        problems.append(Problem(path.name, None, None, "has no labels"))
    again = frame.loc[frame.duplicated(KEYS), ["line", *KEYS]]
    problems += [
        Problem(path.name, n, None, f"query {q!r} and document {d!r} are in an earlier line, too; keep one")
        for n, q, d in again.itertuples(index=False)
    ]
    return frame, problems


def judge_files(patterns: Sequence[str | os.PathLike[str]], people: Path | None = None) -> dict[str, Path]:
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
            if people is not None and path.resolve() == people.resolve():
                continue
            other = found.setdefault(path.stem, path)
            if other.resolve() != path.resolve():
                raise DataError(
                    f"{str(other)!r} and {str(path)!r} would both be the judge {path.stem!r}; rename one"
                )
    return dict(sorted(found.items()))
