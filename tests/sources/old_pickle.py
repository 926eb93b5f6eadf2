"""Writes pickles in the layout of pandas 1.x, opcode by opcode: no pandas of today does."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

STOP = b"."


def name(path: str) -> bytes:
    module, _, attribute = path.rpartition(".")
    return b"c" + module.encode() + b"\n" + attribute.encode() + b"\n"


def value(plain: Any) -> bytes:
    """A value without the head and the stop of its pickle."""
    return pickle.dumps(plain, protocol=2)[2:-1]


def group(parts: list[bytes], end: bytes) -> bytes:
    return b"(" + b"".join(parts) + end


def call(function: str, *arguments: bytes, state: bytes = b"") -> bytes:
    made = name(function) + group(list(arguments), b"t") + b"R"
    return made + (state + b"b" if state else b"")


def array(values: np.ndarray, module: str = "numpy.core.multiarray") -> bytes:
    kind = "O8" if values.dtype == object else values.dtype.str[1:]
    order = "|" if values.dtype == object else "<"
    dtype = call(
        "numpy.dtype",
        value(kind),
        value(False),
        value(True),
        state=value((3, order, None, None, None, -1, -1, 0)),
    )
    data = value(values.ravel().tolist()) if values.dtype == object else b"B" + _sized(values.tobytes())
    state = group([value(1), value(values.shape), dtype, value(False), data], b"t")
    return call(f"{module}._reconstruct", name("numpy.ndarray"), value((0,)), b"C\x01b", state=state)


def _sized(content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + content


def index(kind: str, values: np.ndarray) -> bytes:
    fields = b"}" + group([value("data"), array(values), value("name"), value(None)], b"u")
    return call("pandas.core.indexes.base._new_Index", name(kind), fields)


def frame(columns: dict[str, list[Any]], module: str = "numpy.core.multiarray") -> bytes:
    """Columns of text, whole numbers and floats, a block each type."""
    blocks: dict[str, list[int]] = {}
    for i, cells in enumerate(columns.values()):
        kinds = {type(c) for c in cells}
        blocks.setdefault("O" if str in kinds else "f8" if float in kinds else "i8", []).append(i)
    made = []
    for dtype, places in blocks.items():
        cells = [list(columns.values())[i] for i in places]
        table = np.empty((len(places), len(cells[0])), dtype=dtype)
        for row, c in enumerate(cells):
            table[row, :] = c
        steps = {b - a for a, b in pairwise(places)} or {1}
        if len(steps) == 1:
            step = steps.pop()
            where = call("builtins.slice", value(places[0]), value(places[-1] + 1), value(step))
        else:
            where = array(np.array(places, dtype="i8"), module)
        block = [array(table, module), where, value(2)]
        made.append(call("pandas._libs.internals._unpickle_block", *block))
    length = len(next(iter(columns.values())))
    axes = [
        index("pandas.core.indexes.base.Index", np.array(list(columns), dtype=object)),
        index("pandas.core.indexes.numeric.Int64Index", np.arange(length, dtype="i8")),
    ]
    manager = call("pandas.core.internals.managers.BlockManager", group(made, b"t"), group(axes, b"l"))
    state = b"}" + group([value("_mgr"), manager, value("_typ"), value("dataframe")], b"u")
    return b"\x80\x04" + name("pandas.core.frame.DataFrame") + b")\x81" + state + b"b" + STOP


def write(path: Path, columns: dict[str, list[Any]]) -> None:
    path.write_bytes(frame(columns))
