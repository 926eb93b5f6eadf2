from __future__ import annotations

import pytest

import metaeval as me
from metaeval.base.errors import SpecError
from metaeval.kinds.registry import build
from tests.evaluators.making import make_set, scores_of


def test_length_counts_what_a_reader_sees():
    texts = ["abc", "电影", "e\u0301", "👨‍👩‍👧", "한국", "a\r\nb", "", None]
    found = scores_of(me.score(make_set(texts), ["Length()"]), "Length()")
    assert [s for s, _ in found.values()][:6] == [3, 2, 1, 1, 2, 3]
    assert [t for _, t in found.values()][6:] == ["missing", "missing"]


def test_length_takes_no_argument():
    with pytest.raises(SpecError, match="too many positional"):
        build("Length(1)")
