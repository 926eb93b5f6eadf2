"""Read a pickled DataFrame without running any of it.

A pickle is a program that calls functions by name. Here every allowed name stands for a record that only
stores its arguments, and any other name is an error. The layout is that of pandas 1.x (``BlockManager`` of
blocks and axes), which later versions no longer load.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

_FRAME = "pandas.core.frame.DataFrame"
_MANAGER = "pandas.core.internals.managers.BlockManager"
_BLOCK = "pandas._libs.internals._unpickle_block"
_NEW_INDEX = "pandas.core.indexes.base._new_Index"
_ARRAY = ("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct")
_DTYPE = "numpy.dtype"
_SLICE = "builtins.slice"

_INDEXES = [
    f"pandas.core.indexes.{name}" for name in ("base.Index", "numeric.Int64Index", "range.RangeIndex")
]
_ALLOWED = {_FRAME, _MANAGER, _BLOCK, _NEW_INDEX, *_ARRAY, _DTYPE, _SLICE, "numpy.ndarray", *_INDEXES}
# fmt: off
_OPCODES = frozenset({
    "PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1",
    "BINFLOAT", "SHORT_BINUNICODE", "BINUNICODE", "SHORT_BINBYTES", "BINBYTES", "EMPTY_TUPLE", "TUPLE1",
    "TUPLE2", "TUPLE3", "TUPLE", "EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_DICT", "SETITEM",
    "SETITEMS", "BINPUT", "LONG_BINPUT", "MEMOIZE", "BINGET", "LONG_BINGET", "GLOBAL", "STACK_GLOBAL",
    "REDUCE", "NEWOBJ", "BUILD",
})
# fmt: on
_MOST_REPEATED = 100  # characters of cells per byte of the file: a repeated text stands there once
_DTYPES = {"O8": "O", "f8": "f8", "i8": "i8"}
_BROKEN = (
    *(pickle.UnpicklingError, EOFError, AttributeError, LookupError),
    *(MemoryError, OverflowError, TypeError, ValueError),
)


class _Record:
    """Stands for an object of the pickle: stores arguments and state, does nothing."""

    path: ClassVar[str] = ""
    given: tuple[Any, ...]
    state: Any

    def __new__(cls, *given: object) -> _Record:
        self = object.__new__(cls)
        self.given = given
        self.state = None
        return self

    def __setstate__(self, state: object) -> None:
        self.state = state


def _check_name(path: str, file: str) -> None:
    if path not in _ALLOWED:
        raise DataError(
            f"{file} asks for {path!r}, which a table of numbers and texts does not need; "
            "nothing of it was run, get the file anew from where it was released"
        )


def _check_steps(content: bytes, name: str) -> None:
    """Check the opcodes of a pickle before it is loaded: some use much more memory than the file has.

    A FRAME allocates the size that it states, and a PUT makes the memo as long as its index.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of texts with escapes, which are refused
        steps = list(pickletools.genops(content))
    for count, (step, argument, _) in enumerate(steps):
        if step.name == "GLOBAL":
            _check_name(str(argument).replace(" ", "."), name)
        largest = {"FRAME": len(content), "BINPUT": count, "LONG_BINPUT": count}.get(step.name)
        if step.name not in _OPCODES or (largest is not None and int(argument or 0) > largest):
            raise pickle.UnpicklingError(step.name)


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(io.BytesIO(content))
        self._name = name
        self._records: dict[str, type[_Record]] = {}

    def find_class(self, module: str, name: str) -> type[_Record]:
        path = f"{module}.{name}"
        _check_name(path, self._name)
        # A class of its own for each file: a pickle may set attributes on what it names.
        return self._records.setdefault(path, type(name, (_Record,), {"path": path}))


def read_frame(path: Path) -> pd.DataFrame:
    """Return the DataFrame pickled in ``path``; its row labels are dropped."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror}") from error
    try:
        _check_steps(content, path.name)
        root = _Unpickler(content, path.name).load()
        tables = _Tables(len(content))
        manager = _expect(_expect(root, _FRAME).state["_mgr"], _MANAGER)
        blocks, axes = manager.given[:2]
        names = tables.array(_expect(axes[0], _NEW_INDEX).given[1]["data"])
        columns: dict[str, NDArray[Any]] = {}
        for block in blocks:
            values, placement = _expect(block, _BLOCK).given[:2]
            table = tables.array(values)
            for position, row in zip(tables.positions(placement), table, strict=True):
                columns[str(names[position])] = row
        return pd.DataFrame({str(n): columns[str(n)] for n in names})
    except _BROKEN as error:
        # The text of the error may quote the file, so only its kind is passed on.
        raise DataError(
            f"{path.name} is not a pickled DataFrame of the expected layout ({type(error).__name__})"
        ) from None


def _expect(value: object, *paths: str) -> _Record:
    if not isinstance(value, _Record) or value.path not in paths:
        raise ValueError(paths[0])
    return value


class _Tables:
    """Makes arrays of records, as long as their total size is plausible for the size of the file."""

    def __init__(self, size: int) -> None:
        self._cells = size  # each takes a byte of the file, or more
        self._characters = size * _MOST_REPEATED

    def array(self, value: object) -> NDArray[Any]:
        _, shape, dtype, by_column, data = _expect(value, *_ARRAY).state
        record = _expect(dtype, _DTYPE)
        kind = _DTYPES[record.given[0]]
        self._cells -= math.prod(shape)
        if self._cells < 0 or min(shape, default=0) < 0:
            raise ValueError("cells")
        if kind == "O":
            if len(data) != math.prod(shape):
                raise ValueError("shape")
            self._characters -= sum(len(v) for v in data if isinstance(v, str))
            if self._characters < 0:
                raise ValueError("characters")
            flat = np.empty(len(data), dtype=object)
            flat[:] = data
        else:
            flat = np.frombuffer(data, dtype=np.dtype(kind).newbyteorder(record.state[1]))
            flat = flat.astype(kind)
        return flat.reshape(tuple(shape), order="F" if by_column else "C")

    def positions(self, placement: object) -> Iterable[int]:
        if isinstance(placement, _Record) and placement.path == _SLICE:
            return range(*placement.given)
        return (int(i) for i in self.array(placement))
