"""What tests of data sets that are saved and loaded share, whatever the kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5).filter(str.strip)
nasty = names | st.sampled_from(["007", "1.0", "NaN", "null", '"', "a,b", "a\rb", "\u2028x", "=1+1", "\\N"])


def assert_same(one: object, two: object, frames: Sequence[str], others: Sequence[str]) -> None:
    """See that two data sets have the same fingerprint, frames (or tables with one), and other fields."""
    for name in frames:
        left, right = (getattr(frame := getattr(data, name), "frame", frame) for data in (one, two))
        if left is None:
            assert right is None
        else:
            assert_frame_equal(left, right, check_exact=True)
    for name in ("fingerprint", "name", "simulated", "extra", *others):
        assert getattr(one, name) == getattr(two, name)


def replace(path: Path, old: str, new: str) -> None:
    """Change the first place of a file that holds a text."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
