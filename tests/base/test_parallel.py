"""Work on many items gives the same, in the same order, however many processes do it."""

from __future__ import annotations

import os

import joblib
import pytest

from metaeval.base import parallel


def roots(items: list[float]) -> list[tuple[float, int]]:
    return [(item**0.5, os.getpid()) for item in items]


@pytest.mark.parametrize(("cores", "elsewhere"), [(1, False), (2, True)])
def test_each_item_gets_its_result(cores: int, elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joblib, "cpu_count", lambda: cores)
    monkeypatch.setattr(parallel, "PARALLEL_FROM", 20)
    monkeypatch.setattr(parallel, "_CHUNK", 8)
    few, many = ([float(i) for i in range(n)] for n in (19, 45))
    assert parallel.spread(roots, few, "few") == roots(few)
    found = parallel.spread(roots, many, "many")
    assert [root for root, _ in found] == [root for root, _ in roots(many)]
    assert (os.getpid() not in {process for _, process in found}) is elsewhere
    assert parallel.spread(roots, [], "none") == []
