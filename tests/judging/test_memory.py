"""While a judge asks, memory does not grow with the number of questions."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from metaeval.base.records import Scale, Status
from metaeval.judging.outcome import Question
from metaeval.judging.settings import judging
from metaeval.kinds.explanations.judge.judge import Judge
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import Request
from metaeval.llm.replies.fields import Number

pytestmark = pytest.mark.slow

LENGTH = 4_000  # characters of a prompt


def peak(store: Path, number: int, judges: int = 1) -> int:
    """Ask so many questions, and return the most memory that was in use, in characters of ASCII."""
    judge, fields = Judge("simulated/m"), (Number("clarity", Scale(1, 5)),)

    def asked(replicate: int) -> int:
        bare = Request("simulated", "m", (), replicate=replicate)

        def questions() -> Iterator[Question]:
            for i in range(number // judges):
                told = "The profile of a user.\n" * (LENGTH // 23) + f"\nText {i} is good."
                yield Question((i,), (0,), fields, bare.asking([("user", told)]))

        with closing(judge.ask(questions(), settings, total=number)) as answers:
            return sum(found.status is Status.OK for _, found in answers)

    tracemalloc.start()
    with judging(store, limits=Limits(concurrency=2)) as settings, ThreadPoolExecutor(judges) as pool:
        assert sum(pool.map(asked, range(judges))) == number
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used


def test_memory_does_not_grow_with_the_questions(tmp_path: Path) -> None:
    peak(tmp_path / "warm.sqlite", 5)
    few, many = (peak(tmp_path / f"{n}.sqlite", n) for n in (1_500, 4_500))  # 1,000 wait at most
    assert many < 1.4 * few
    assert peak(tmp_path / "4500.sqlite", 4_500) < 1.4 * few  # all from the store
    assert peak(tmp_path / "several.sqlite", 4_500, judges=2) < 2.8 * few
