"""A pickled frame is read without running anything; any other pickle is refused."""

from __future__ import annotations

import math
import pickle

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.sources.tables.pickles import read_frame
from tests.sources import old_pickle

COLUMNS = {
    "a": ["x", "字", math.nan],
    "n": [1, 2, 3],
    "b": ["1", "2", "3"],
    "f": [0.5, math.nan, 2.0],
    "m": [4, 5, 6],
}


@pytest.mark.parametrize("module", ["numpy.core.multiarray", "numpy._core.multiarray"])
def test_the_old_layout_is_read(tmp_path, module):
    path = tmp_path / "old.pkl"
    path.write_bytes(old_pickle.frame(COLUMNS, module))
    frame = read_frame(path)
    assert list(frame) == list(COLUMNS)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(COLUMNS), check_dtype=False)


class Runs:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


EVIL = {
    "open": lambda p: pickle.dumps(Runs(p)),
    "system": lambda p: (
        b"cos\nsystem\n(X" + len(f"touch {p}").to_bytes(4, "little") + f"touch {p}".encode() + b"tR."
    ),
    "eval": lambda p: (
        b"\x80\x04" + old_pickle.call("builtins.eval", old_pickle.value(f"open({str(p)!r}, 'w')")) + b"."
    ),
    "inside a frame": lambda p: (
        old_pickle.frame({"a": ["x"]})[:-1] + old_pickle.call("os.mkdir", old_pickle.value(str(p))) + b"."
    ),
    "a method of an allowed class": lambda p: b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93.",
    "getattr": lambda p: b"\x80\x04" + old_pickle.name("builtins.getattr") + b".",
    "partial": lambda p: b"\x80\x04" + old_pickle.name("functools.partial") + b".",
}


@pytest.mark.parametrize("kind", EVIL)
def test_any_other_name_is_refused_and_nothing_runs(tmp_path, kind):
    trace = tmp_path / "trace"
    path = tmp_path / "evil.pkl"
    path.write_bytes(EVIL[kind](trace))
    with pytest.raises(DataError, match=r"^evil\.pkl asks for '.*nothing of it was run") as caught:
        read_frame(path)
    assert "\n" not in str(caught.value)
    assert not trace.exists()


def test_the_frame_class_is_never_called(tmp_path, monkeypatch):
    """Even allowed names are records only: what they name in pandas and numpy stays untouched."""
    monkeypatch.setattr("pandas.core.internals.managers.BlockManager.__new__", lambda *_: 1 / 0)
    path = tmp_path / "x.pkl"
    path.write_bytes(b"\x80\x04" + old_pickle.call("pandas.core.internals.managers.BlockManager") + b".")
    with pytest.raises(DataError, match="not a pickled DataFrame"):
        read_frame(path)


BROKEN = {
    "empty": b"",
    "text": b"a,b\n1,2\n",
    "cut off": old_pickle.frame(COLUMNS)[:-40],
    "a number": pickle.dumps(7),
    "a frame without state": b"\x80\x04" + old_pickle.name("pandas.core.frame.DataFrame") + b")\x81.",
    "state set on the class": b"\x80\x04" + old_pickle.name("pandas.core.frame.DataFrame") + b"}b.",
    "persistent id": b"Pthing\n.",
    "huge": b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
    "other dtype": old_pickle.frame(COLUMNS).replace(b"f8", b"f4"),
    "shape": old_pickle.frame({"n": [1, 2, 3]}).replace(
        old_pickle.value((1, 3))[:4], old_pickle.value((1, 4))[:4]
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_pickle_is_one_sentence(tmp_path, kind):
    path = tmp_path / "x.pkl"
    path.write_bytes(BROKEN[kind])
    with pytest.raises(DataError) as caught:
        read_frame(path)
    assert str(caught.value).startswith("x.pkl is not a pickled DataFrame of the expected layout")


@given(st.integers(0, 2**30), st.integers(0, 255))
def test_a_flipped_byte_never_escapes(tmp_path_factory, position, byte):
    content = bytearray(old_pickle.frame(COLUMNS))
    content[position % len(content)] = byte
    path = tmp_path_factory.getbasetemp() / "flipped.pkl"
    path.write_bytes(bytes(content))
    try:
        found = read_frame(path)
    except DataError as error:
        assert str(error).startswith("flipped.pkl")  # noqa: PT017 both outcomes are right
    else:
        assert isinstance(found, pd.DataFrame)


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_frame(tmp_path / "none.pkl")
