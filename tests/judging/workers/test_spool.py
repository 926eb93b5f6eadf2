"""Requests in shards: each once, those of a prefix together."""

from __future__ import annotations

import itertools
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from metaeval.judging.workers.spool import Spool, addressee
from metaeval.llm.calls.request import Message, Request

FIRST = Request("openai", "m", (), {"temperature": 0}, base_url="http://127.0.0.1:9/v1")
OTHER = Request("openai", "n", (), {"temperature": 0}, base_url="http://127.0.0.1:9/v1")


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=300), st.integers(1, 20))
def test_every_request_comes_once_and_prefixes_stay_together(
    given: list[tuple[bool, int]], least: int
) -> None:
    requests = [
        (FIRST if first else OTHER).asking([("system", f"user {user}"), ("user", f"text {i}")], shares=True)
        for i, (first, user) in enumerate(given)
    ]
    with Spool() as spool:
        for request in requests:
            spool.add(request)
        shards = list(spool.shards(least))
        assert spool.total == len(requests)
    dealt = [request for shard in shards for request in shard]
    assert sorted(r.key for r in dealt) == sorted(r.key for r in requests)
    assert all(len({addressee(request) for request in shard}) == 1 for shard in shards)
    last = {addressee(shard[0]): number for number, shard in enumerate(shards)}
    assert all(len(s) <= 2 * least + 64 for s in shards)
    assert all(least <= len(s) or last[addressee(s[0])] == number for number, s in enumerate(shards))
    where, sizes = defaultdict(set), defaultdict(int)
    for number, shard in enumerate(shards):
        for request in shard:
            where[request.group].add(number)
            sizes[request.group] += 1
    # A prefix lies in one shard, unless it fills several or begins in one that others have filled.
    assert all(len(of) <= 2 + sizes[group] // (2 * least) for group, of in where.items())
    groups = [request.group for request in dealt]
    assert len(set(groups)) == 1 + sum(a != b for a, b in itertools.pairwise(groups)) or not groups


def test_more_requests_than_stay_in_memory_come_back() -> None:
    with Spool() as spool:
        for i in range(10_000):
            spool.add(FIRST.asking([Message("system", f"user {i // 2}"), Message("user", f"text {i}")]))
        shards = list(spool.shards(100))
    assert {len(shard) for shard in shards} == {100}
    assert len({r.key for shard in shards for r in shard}) == 10_000
