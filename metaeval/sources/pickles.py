"""Read a pickled DataFrame without running any of it.

A pickle is a program: it names functions and has them called. Here every name it may say stands for a record
that only keeps what it was given, and any other name ends the reading. The layout is that of pandas 1.x
(``BlockManager`` of blocks and axes), which later versions no longer load by themselves.
"""

from __future__ import annotations

import io
import math
import pickle
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from metaeval.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_FRAME = "pandas.core.frame.DataFrame"
_MANAGER = "pandas.core.internals.managers.BlockManager"
_BLOCK = "pandas._libs.internals._unpickle_block"
_NEW_INDEX = "pandas.core.indexes.base._new_Index"
_ARRAY = ("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct")
_DTYPE = "numpy.dtype"
_SLICE = "builtins.slice"

_ALLOWED = frozenset(
    {
        _FRAME,
        _MANAGER,
        _BLOCK,
        _NEW_INDEX,
        *_ARRAY,
        _DTYPE,
        _SLICE,
        "numpy.ndarray",
        "pandas.core.indexes.base.Index",
        "pandas.core.indexes.numeric.Int64Index",
        "pandas.core.indexes.range.RangeIndex",
    }
)
_DTYPES = {"O8": "O", "f8": "f8", "i8": "i8"}
_BROKEN = (
    pickle.UnpicklingError,
    EOFError,
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
)


class _Record:
    """Stands for whatever a pickle names: keeps the arguments and the state, does nothing."""

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


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(io.BytesIO(content))
        self._name = name
        self._records: dict[str, type[_Record]] = {}

    def find_class(self, module: str, name: str) -> type[_Record]:
        path = f"{module}.{name}"
        if path not in _ALLOWED:
            raise DataError(
                f"{self._name} asks for {path!r}, which a table of numbers and texts does not need; "
                "nothing of it was run, get the file anew from where it was released"
            )
        # A class of its own for each file: a pickle may set attributes on what it names.
        return self._records.setdefault(path, type(name, (_Record,), {"path": path}))


def read_frame(path: Path) -> pd.DataFrame:
    """Return the DataFrame pickled in ``path``; its row labels are dropped.

    Raises
    ------
    DataError
        If the file is no such pickle, or asks for a name that a DataFrame does not need.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror}") from error
    try:
        root = _Unpickler(content, path.name).load()
        manager = _expect(_expect(root, _FRAME).state["_mgr"], _MANAGER)
        blocks, axes = manager.given[:2]
        names = _array(_expect(axes[0], _NEW_INDEX).given[1]["data"])
        columns: dict[str, NDArray[Any]] = {}
        for block in blocks:
            values, placement = _expect(block, _BLOCK).given[:2]
            table = _array(values)
            for position, row in zip(_positions(placement), table, strict=True):
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


def _array(value: object) -> NDArray[Any]:
    _, shape, dtype, by_column, data = _expect(value, *_ARRAY).state
    record = _expect(dtype, _DTYPE)
    kind = _DTYPES[record.given[0]]
    if kind == "O":
        if len(data) != math.prod(shape):
            raise ValueError("shape")
        flat = np.empty(len(data), dtype=object)
        flat[:] = data
    else:
        flat = np.frombuffer(data, dtype=np.dtype(kind).newbyteorder(record.state[1]))
        flat = flat.astype(kind)
    return flat.reshape(tuple(shape), order="F" if by_column else "C")


def _positions(placement: object) -> list[int]:
    if isinstance(placement, _Record) and placement.path == _SLICE:
        return list(range(*placement.given))
    return [int(i) for i in _array(placement)]
