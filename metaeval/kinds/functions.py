"""Python functions as evaluators: of a unit, or of the table of all units."""

from __future__ import annotations

import hashlib
import logging
import numbers
import runpy
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from metaeval.base.errors import FOREIGN, DataError, SpecError, shown
from metaeval.base.frames import row_text
from metaeval.base.records import DataOfKind, Kind
from metaeval.base.spec import EvaluatorSpec
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.grid import Grid, rows_of
from metaeval.kinds.index import kind_named

PYTHON = "python"
"""What names a function in a file, in a study."""


@dataclass(frozen=True, slots=True)
class OfFrame:
    """A function of the table of all units; see `of_frame`."""

    function: Callable[[pd.DataFrame], Any]


def of_frame(function: Callable[[pd.DataFrame], Any]) -> OfFrame:
    """Mark a function as one of the table of all units, so that it can be given as an evaluator.

    Parameters
    ----------
    function
        Takes a DataFrame with one row per unit and returns one number per row. The columns are the fields
        that a function of a unit finds by name.

    Examples
    --------
    >>> import metaeval as me
    >>> words = me.of_frame(lambda frame: frame["explanation"].str.split().str.len())
    >>> me.score(me.load("data/sample"), {"words": words}).evaluators
    ('words',)
    """
    return OfFrame(function)


@dataclass(frozen=True, repr=False)
class Function(BaseEvaluator):
    """A Python function: one number per unit, the same for each aspect.

    It is called ``name`` in specs and messages. The function is of a unit (an object with the fields of the
    unit by name) and returns a number, or None for no score; or it is what `of_frame` returned.
    """

    kind: ClassVar[Kind] = Kind.FUNCTION

    name: str
    function: Callable[[Any], Any] | OfFrame
    _identity: str = field(default_factory=lambda: secrets.token_hex(16), init=False)
    """A random number: it is not known what a function names, so its scores are never taken up again."""

    @property
    def spec(self) -> EvaluatorSpec:
        """Its name; the function itself has no text."""
        return EvaluatorSpec("Function", (self.name,))

    @property
    def _called(self) -> Callable[[Any], Any]:
        return self.function.function if isinstance(self.function, OfFrame) else self.function

    def signature(self, data: DataOfKind) -> Mapping[str, Any]:
        """Return where the function is from, and a random number in place of its code."""
        where = getattr(self._called, "__module__", ""), getattr(self._called, "__qualname__", "")
        of = "all units" if isinstance(self.function, OfFrame) else "a unit"
        return {"function": ".".join(filter(None, where)), "of": of, "code": self._identity}

    def grid(self, data: DataOfKind, aspects: Sequence[str]) -> Grid:
        """Return what the function returns; None is no score."""
        frame = units_frame(data)
        values = self._of_frame(frame) if isinstance(self.function, OfFrame) else self._of_units(frame, data)
        scores = np.array([self._number(value, frame, row, data) for row, value in enumerate(values)])
        return Grid.repeated(scores.astype(np.float64), len(aspects))

    def _of_units(self, frame: pd.DataFrame, data: DataOfKind) -> Iterator[Any]:
        names = [str(c) for c in frame.columns]
        for row, values in enumerate(rows_of(frame, list(frame.columns))):
            unit = SimpleNamespace()
            unit.__dict__.update(zip(names, values, strict=True))
            try:
                yield self._called(unit)
            except FOREIGN as error:
                have = f"; a unit has {', '.join(names)}" if isinstance(error, AttributeError) else ""
                raise DataError(
                    f"the function {self.name!r} failed at the unit with {row_text(frame, row, data.keys)}: "
                    f"{_said(error)}{have}"
                ) from error

    def _of_frame(self, frame: pd.DataFrame) -> list[Any]:
        try:
            found = self._called(frame.copy())
        except FOREIGN as error:
            have = f"; the columns are {', '.join(frame.columns)}" if isinstance(error, KeyError) else ""
            raise DataError(f"the function {self.name!r} failed: {_said(error)}{have}") from error
        if isinstance(found, pd.Series) and found.index.is_unique and set(found.index) == set(frame.index):
            found = found.reindex(frame.index)  # it may have sorted the rows
        values = list(found) if hasattr(found, "__len__") and not isinstance(found, str) else None
        if values is None or len(values) != len(frame):
            what = f"a value of type {type(found).__name__}" if values is None else f"{len(values):,} values"
            raise DataError(
                f"the function {self.name!r} returns {what} for a frame of {len(frame):,} units; "
                "it must return one number per row"
            )
        return values

    def _number(self, value: Any, frame: pd.DataFrame, row: int, data: DataOfKind) -> float:  # noqa: ANN401
        if value is None or value is pd.NA:
            return np.nan
        if isinstance(value, numbers.Real | np.bool_) and np.isfinite(number := float(value)):
            return number
        raise DataError(
            f"the function {self.name!r} returns {shown(value)} for the unit with "
            f"{row_text(frame, row, data.keys)}; it must return a finite number, or None for no score"
        )


def is_function(given: object) -> bool:
    """Say whether an evaluator is given as a function."""
    return isinstance(given, OfFrame) or (
        callable(given) and not isinstance(given, type) and not hasattr(given, "spec")
    )


def function_named(name: str | None, function: Any) -> Function:  # noqa: ANN401 - what `is_function` said
    """Return a function as an evaluator, under its own name if none is given.

    `SpecError` is raised if it has none: a lambda.
    """
    if name is None:
        called = function.function if isinstance(function, OfFrame) else function
        name = getattr(called, "__name__", "<lambda>")
        if not name.isidentifier():
            raise SpecError("a function without a name is given; name it: {'mine': lambda unit: …}")
    return Function(name, function)


def units_frame(data: DataOfKind) -> pd.DataFrame:
    """Return all known fields of each unit, one row per unit.

    Texts that are missing are None.
    """
    frame: pd.DataFrame = getattr(data, data.frames[0]).reset_index(drop=True)
    if hasattr(data, "kind"):
        view = kind_named(data.kind).unit_view(data, ())
        shows = {of.title.replace(" ", "_"): of.texts for of in view.texts}
        shows |= {column.name: column.texts for column in view.columns}
        further: dict[str, Any] = {name: list(of) for name, of in shows.items() if name not in frame}
        frame = frame.assign(**further)
    texts = [c for c in frame.columns if frame[c].dtype.kind not in "iufb"]
    return frame.assign(**{c: frame[c].astype(object).where(frame[c].notna(), None) for c in texts})


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


@dataclass(frozen=True, repr=False)
class FileFunction(Function):
    """A function in a file: ``python('mine.py:readable')``. Its scores are made again if the file changes."""

    @property
    def spec(self) -> EvaluatorSpec:
        """The file and the function."""
        return EvaluatorSpec(PYTHON, (self.name,))

    def signature(self, data: DataOfKind) -> Mapping[str, Any]:
        """Return the file and the function, and the SHA-256 of the file."""
        return {**super().signature(data), "function": self.name}


def with_files(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the keys of a study with the function in place of each ``python('FILE:FUNCTION')``.

    Files are relative to ``folder``. Their code is run, which is told. `SpecError` is raised if there is no
    such function.
    """

    def loaded(value: object) -> object:
        return file_function(value, folder) or value

    match content.get("evaluators"):
        case dict() as named:
            return {**content, "evaluators": {name: loaded(spec) for name, spec in named.items()}}
        case list() as listed:
            return {**content, "evaluators": [loaded(spec) for spec in listed]}
    return dict(content)


def file_function(value: object, folder: Path) -> FileFunction | None:
    """Return the function that ``python('FILE:FUNCTION')`` names, its file relative to a folder.

    None for any other value; `SpecError` is raised if there is no such function.
    """
    if not isinstance(value, str) or not value.startswith(f"{PYTHON}("):
        return None
    spec = EvaluatorSpec.parse(value)
    if len(spec.args) != 1 or not isinstance(spec.args[0], str) or spec.kwargs:
        raise SpecError(f"{value}: give a file and a function, such as {PYTHON}('mine.py:readable')")
    return _function(spec.args[0], folder)


def _function(place: str, folder: Path) -> FileFunction:
    file, _, name = place.rpartition(":")
    path = folder / file
    if not name.isidentifier() or path.suffix != ".py" or not path.is_file():
        raise SpecError(
            f"{PYTHON}({place!r}): there is no file {str(path)!r}; give a file beside the study and a "
            f"function in it, such as {PYTHON}('mine.py:readable')"
        )
    logging.getLogger("metaeval").warning("metaeval: %s is run: it is code of this study", path)
    try:
        found = runpy.run_path(str(path)).get(name)
    except FOREIGN as error:
        raise SpecError(f"{PYTHON}({place!r}): {path} cannot be run: {_said(error)}") from error
    if not callable(found) and not isinstance(found, OfFrame):
        raise SpecError(f"{PYTHON}({place!r}): {path} has no function {name!r}")
    made = FileFunction(place, found)
    object.__setattr__(made, "_identity", hashlib.sha256(path.read_bytes()).hexdigest())
    return made
