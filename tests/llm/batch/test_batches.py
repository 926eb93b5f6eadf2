from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.llm.calls.client import CallError
from metaeval.llm.calls.limits import Budget
from metaeval.llm.calls.price import Prices
from metaeval.llm.calls.request import Request
from metaeval.llm.store.replies import Store
from metaeval.llm.store.tools import prune
from tests.examples import examples
from tests.llm.asking import FAST, KEY, requests, running
from tests.llm.batch.asking import PRICES, address, replies, round_of
from tests.llm.batch.server import BatchServer, DiedError
from tests.llm.dialects import reasoning
from tests.llm.server import Act, Server, error

BOTH = pytest.mark.parametrize("provider", ["openai", "dashscope"])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[BatchServer]:
    with BatchServer(tmp_path / "server") as running:
        yield running


def asked(server: BatchServer, number: int, provider: str = "openai", **more: Any) -> list[Request]:
    return list(requests(number, address(provider, server), provider, **more))


def finish(store: Store, wanted: list[Request], **options: Any) -> int:
    """Send and collect until nothing is to come, and return how many rounds that took."""
    for number in range(1, 30):
        if not round_of(store, wanted, **options).to_come:
            return number
    raise AssertionError("it never ends")


@pytest.mark.slow
@BOTH
def test_what_is_missing_is_sent_once_and_collected_later(
    store: Store, server: BatchServer, provider: str
) -> None:
    wanted = asked(server, 10, provider)
    server.looks = 1
    assert round_of(store, wanted).outstanding() == "10 replies are outstanding from 1 batch, within 24 hours"
    assert len(round_of(store, wanted[:7]).to_come) == 7
    assert not round_of(store, wanted).to_come
    assert {answer.reply.text for answer in replies(store, wanted)} == {"Summary: 3"}
    assert len(server.made()) == 1
    assert server.sent() == dict.fromkeys((request.key for request in wanted), 1)
    assert server.keys == {f"Bearer {KEY}"}


@BOTH
def test_both_ways_share_a_store(store: Store, server: BatchServer, provider: str) -> None:
    wanted = asked(server, 6, provider)
    with Server(port=0) as ordinary:
        before = list(requests(3, address(provider, ordinary), provider))
        list(running(before, store, limits=FAST))
        assert not round_of(store, before).to_come
        assert not server.seen
    finish(store, wanted)
    run = running(wanted, store, limits=FAST)  # whose server takes no ordinary call
    assert [answer.from_store for answer in run] == [True] * 6
    assert run.tally.calls == 0


def test_a_reply_costs_half(store: Store, server: BatchServer) -> None:
    wanted = asked(server, 4)
    finish(store, wanted)
    with Server() as ordinary:
        paid = list(requests(1, ordinary.openai))
        whole = next(iter(running(paid, store, limits=FAST))).reply
    by_batch = store.get(wanted[0].key)
    assert by_batch is not None
    assert (by_batch.by_batch, whole.by_batch) == (True, False)
    usd = (100 * 2.0 + 10 * 8.0) / 1e6
    assert PRICES.cost(paid[0], whole) == pytest.approx(usd)
    assert PRICES.cost(wanted[0], by_batch) == pytest.approx(usd / 2)


@BOTH
@pytest.mark.parametrize("fate", ["expired", "cancelled"])
def test_a_batch_that_broke_off_gives_what_it_has(
    store: Store, server: BatchServer, provider: str, fate: str
) -> None:
    server.fate = lambda before: fate if before < 2 else "completed"
    wanted = asked(server, 9, provider)
    assert finish(store, wanted) == 4
    assert [len(batch["keys"]) for batch in server.made()] == [9, 4, 2]
    assert all(answer.reply.text for answer in replies(store, wanted))


def test_requests_that_no_batch_answers_are_given_up_and_asked_again_by_the_next_run(
    store: Store, server: BatchServer
) -> None:
    server.behave = lambda body, _: (
        error(500, "server_error") if "0?" in body["messages"][0]["content"] else Act()
    )
    wanted = asked(server, 3)
    limits = FAST.model_copy(update={"retries": 2})
    assert finish(store, wanted, limits=limits) == 4
    lost = [answer.reply.error for answer in replies(store, wanted)]
    assert [why and why.code for why in lost] == ["server_error", None, None]
    server.behave = lambda _body, _: Act()
    assert finish(store, wanted) == 2
    assert server.sent()[wanted[0].key] == 4


@BOTH
def test_the_error_file_alone_is_understood(store: Store, server: BatchServer, provider: str) -> None:
    server.behave = lambda _body, _: error(400, "invalid_prompt", "this prompt will not do")
    wanted = asked(server, 3, provider)
    assert finish(store, wanted) == 2
    (batch,) = server.made()
    assert "output_file_id" not in batch
    kinds = [answer.reply.error and answer.reply.error.kind for answer in replies(store, wanted)]
    assert kinds == ["rejected"] * 3


@BOTH
def test_refused_parameters_are_learnt_from_rows(
    store: Store, server: BatchServer, provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.behave = reasoning
    wanted = asked(server, 3, provider)
    assert finish(store, wanted) == 4  # each with what was learnt, in a process of its own
    bodies = [json.loads(_input(server, batch)[0])["body"] for batch in server.made()]
    sent = [sorted(body.keys() - {"messages", "model"}) for body in bodies]
    assert sent == [
        ["max_tokens", "temperature"],
        ["max_completion_tokens", "temperature"],
        ["max_completion_tokens"],
    ]
    assert [message for message in caplog.messages if "temperature" in message]
    found = store.get(wanted[0].key)
    assert found is not None
    assert json.loads(found.sent) == {
        "max_tokens": "max_completion_tokens",
        "service_tier": "batch",
        "temperature": None,
    }


def test_a_refused_setting_that_is_stated_stops(store: Store, server: BatchServer) -> None:
    server.behave = reasoning
    wanted = asked(server, 2, stated=frozenset({"temperature"}))
    with pytest.raises(MetaevalError, match="does not take temperature=0"):
        finish(store, wanted)
    assert len(server.made()) == 2


def test_files_keep_to_what_a_provider_takes(
    store: Store, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metaeval.llm import providers

    entry = providers.PROVIDERS["openai"]
    assert entry.batching is not None
    small = entry.batching._replace(requests=4, file_bytes=800, line_bytes=400)
    monkeypatch.setitem(providers.PROVIDERS, "openai", entry._replace(batching=small))
    wanted = asked(server, 10)
    wanted.append(wanted[0].asking([("user", "long " * 100)]))
    finish(store, wanted)
    sizes = [sum(len(line) + 1 for line in _input(server, batch)) for batch in server.made()]
    assert all(size <= 800 for size in sizes)
    assert all(len(batch["keys"]) <= 4 for batch in server.made())
    assert len(sizes) >= 3
    lost = [a.reply.error.message for a in replies(store, wanted) if a.reply.error]
    assert len(lost) == 1
    assert "MB per request" in lost[0]


def test_each_model_has_a_file_of_its_own(store: Store, server: BatchServer) -> None:
    wanted = asked(server, 4)
    other = [type(one)("openai", "other", one.messages, one.parameters, one.base_url) for one in wanted]
    finish(store, [*wanted, *other, *wanted])
    assert [len(batch["keys"]) for batch in server.made()] == [4, 4]


@pytest.mark.slow
def test_where_there_is_no_room_smaller_batches_are_sent_later(store: Store, server: BatchServer) -> None:
    server.room, server.looks = 3, 1
    wanted = asked(server, 10)
    finish(store, wanted)
    assert all(answer.reply.text for answer in replies(store, wanted))
    assert server.sent("completed") == dict.fromkeys((request.key for request in wanted), 1)


def test_a_full_endpoint_that_says_so_at_once_is_sent_to_later(store: Store, server: BatchServer) -> None:
    wanted = asked(server, 4)
    server.refuse = lambda: len(server.made()) == 0 and server.seen.count("create") < 2
    left = round_of(store, wanted)
    assert left.outstanding() == "4 calls are not sent yet: the provider takes no more now"
    finish(store, wanted)
    assert [len(batch["keys"]) for batch in server.made()] == [4]
    assert len(server.uploads()) == 1


def test_a_batch_that_fails_as_a_whole_stops_with_the_reason_and_is_sent_again(
    store: Store, server: BatchServer
) -> None:
    server.fate = lambda before: f"model_not_found for {KEY}" if before == 0 else "completed"
    wanted = asked(server, 2)
    round_of(store, wanted)
    with pytest.raises(
        StoppedError, match=r"a batch to openai/m failed: it failed: model_not_found for \[key\]"
    ):
        round_of(store, wanted)
    finish(store, wanted)
    assert all(answer.reply.text for answer in replies(store, wanted))


def test_a_batch_is_sent_only_if_the_most_that_it_costs_is_left(store: Store, server: BatchServer) -> None:
    wanted = asked(server, 10)
    most = PRICES.at_most(wanted[0])
    assert most is not None
    budget = Budget(max_usd=most / 2 * 4.5)  # four calls at half the price
    left = round_of(store, wanted, budget=budget)
    assert (len(left.to_come), left.unsent, left.stuck) == (10, 6, False)
    left = round_of(store, wanted, budget=budget)  # they cost less than the most: one more has room
    assert (len(left.to_come), left.unsent) == (6, 5)
    left = round_of(store, wanted, budget=budget)
    assert left.stuck
    assert "USD does not cover them; raise `judging.max_usd`" in left.outstanding()
    assert [len(batch["keys"]) for batch in server.made()] == [4, 1]
    assert round_of(store, wanted, budget=Budget(max_usd=1)).unsent == 0


def test_calls_of_all_batches_of_a_run_count(store: Store, server: BatchServer) -> None:
    wanted = asked(server, 5)
    budget = Budget(max_calls=3)
    assert round_of(store, wanted, budget=budget).unsent == 2
    left = round_of(store, wanted, budget=budget)
    assert left.stuck
    assert (
        left.outstanding()
        == "2 calls are not sent yet: the budget of 3 calls does not cover them; raise `judging.max_calls`"
    )
    assert round_of(store, wanted, budget=budget, run="another").unsent == 0


def test_a_budget_needs_a_price(store: Store, server: BatchServer) -> None:
    with pytest.raises(
        MetaevalError, match="max_usd` cannot be kept for openai/m, since its price is unknown"
    ):
        round_of(store, asked(server, 1), budget=Budget(max_usd=1), prices=Prices())


def test_replies_that_cannot_be_used_are_asked_for_again(store: Store, server: BatchServer) -> None:
    wanted = asked(server, 3)
    finish(store, wanted, attempts=2, usable=lambda _, reply: False)
    assert [len(batch["keys"]) for batch in server.made()] == [3, 3]
    assert len({key for batch in server.made() for key in batch["keys"]}) == 6


def test_a_key_in_a_result_is_nowhere_in_the_store(store: Store, server: BatchServer, tmp_path: Path) -> None:
    server.behave = lambda _body, _: Act(text=f"Summary: 3, says {KEY}")
    wanted = asked(server, 2)
    finish(store, wanted)
    store.close()
    found = b"".join(file.read_bytes() for file in tmp_path.glob("replies.sqlite*"))
    assert KEY.encode() not in found


def test_prompts_of_batches_under_way_outlive_a_prune(store: Store, server: BatchServer) -> None:
    server.looks = 1
    wanted = asked(server, 3)
    round_of(store, wanted)
    prune(store, everything=True)
    finish(store, wanted)
    assert all(answer.reply.text for answer in replies(store, wanted))


def test_a_reply_is_kept_though_no_run_asks_for_it_any_more(store: Store, server: BatchServer) -> None:
    wanted = asked(server, 3)
    round_of(store, wanted)
    round_of(store, wanted[:1])
    assert all(answer.reply.text for answer in replies(store, wanted))


@pytest.mark.parametrize(
    "change",
    [
        lambda body: {**body, "errors": [], "request_counts": None, "metadata": None},
        lambda body: {**body, "errors": {"data": None}, "request_counts": {}},
        lambda body: {**body, "status": "unheard of"},
        lambda body: {k: v for k, v in body.items() if k != "id"},
        lambda body: [body],
        lambda _body: "no batch",
        lambda body: {**body, "errors": "no", "status": ["failed"]},
    ],
)
def test_a_server_that_says_it_otherwise_loses_nothing(
    store: Store, server: BatchServer, change: Callable[[dict[str, Any]], Any]
) -> None:
    wanted = asked(server, 3)
    server.change = change
    for _ in range(3):
        with contextlib.suppress(CallError):
            round_of(store, wanted)
    server.change = lambda body: body
    finish(store, wanted)
    assert server.paid() == dict.fromkeys((request.key for request in wanted), 1)


@pytest.mark.parametrize("step", ["upload", "create", "look", "content", "batches", "files"])
def test_a_server_that_drips_is_not_waited_for(
    store: Store, server: BatchServer, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaeval.base.parallel._LOOK_AGAIN", 0.05)
    limits = FAST.model_copy(update={"reply_seconds": 0.3})
    wanted = asked(server, 3)
    if step in ("look", "content"):
        round_of(store, wanted)
    elif step in ("batches", "files"):  # a run was killed before it made the batch
        server.drips = "create"
        with pytest.raises(CallError):
            round_of(store, wanted, limits=limits)
    server.drips = step
    started = time.monotonic()
    with pytest.raises(CallError, match="brings nothing to an end"):
        round_of(store, wanted, limits=limits)
    assert time.monotonic() - started < 30
    server.drips = ""
    finish(store, wanted)
    assert server.paid() == dict.fromkeys((request.key for request in wanted), 1)


@pytest.mark.slow
def test_ctrl_c_ends_the_wait_for_a_server_that_drips(tmp_path: Path, server: BatchServer) -> None:
    server.drips = "upload"
    program = (
        f"from tests.llm.batch.asking import main; main({str(tmp_path / 's.sqlite')!r}, {server.port}, 3)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    while "upload" not in server.seen:
        assert process.poll() is None
        time.sleep(0.01)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert time.monotonic() - started < 60
    assert said.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize(
    "cut", [lambda _: b"", lambda content: content[: len(content) // 2], lambda content: content[:-9]]
)
def test_a_result_file_that_is_cut_off_is_fetched_again(
    store: Store, server: BatchServer, cut: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    wanted = asked(server, 12)
    round_of(store, wanted)
    server.cut = cut
    for number in (1, 2):
        assert round_of(store, wanted).to_come
        said = rf"lacks \d+ of 12 rows \(try {number} of 3\); they are looked for again by the same command"
        assert re.search(said, caplog.messages[-1])
    server.cut = lambda content: "\ufeff".encode() + content.rstrip()
    finish(store, wanted)
    assert len(server.made()) == 1
    assert {answer.reply.text for answer in replies(store, wanted)} == {"Summary: 3"}


def test_lost_rows_do_not_hold_up_another_batch(store: Store, server: BatchServer) -> None:
    wanted = asked(server, 4)
    round_of(store, wanted[:2])
    lost = wanted[0].key.encode()
    server.cut = lambda content: _without(content, lost)
    left = round_of(store, wanted)
    assert left.outstanding() == "3 replies are outstanding from 2 batches, within 24 hours"


def test_rows_that_stay_lost_are_sent_again_after_three_tries(store: Store, server: BatchServer) -> None:
    wanted = asked(server, 6)
    lost = [request.key.encode() for request in wanted[:2]]
    server.cut = lambda content: _without(content, *lost) if len(server.made()) == 1 else content
    budget = Budget(max_calls=8)  # what was lost is paid for, too
    assert finish(store, wanted, budget=budget) == 5  # sent, read three times, collected
    assert [len(batch["keys"]) for batch in server.made()] == [6, 2]
    assert {answer.reply.text for answer in replies(store, wanted)} == {"Summary: 3"}


def test_the_budget_counts_what_was_lost_at_the_most_that_it_costs(store: Store, server: BatchServer) -> None:
    wanted = asked(server, 2)
    most = PRICES.at_most(wanted[0])
    assert most is not None
    budget = Budget(max_usd=most / 2 * 2.9)
    lost = [request.key.encode() for request in wanted]
    server.cut = lambda content: _without(content, *lost)
    for _ in range(4):
        left = round_of(store, wanted, budget=budget)
    assert (left.unsent, left.stuck, len(server.made())) == (2, True, 1)


def test_rows_that_are_lost_each_time_are_given_up_and_the_others_are_there(
    store: Store, server: BatchServer
) -> None:
    wanted = asked(server, 3)
    lost = wanted[0].key.encode()
    server.cut = lambda content: _without(content, lost)
    assert finish(store, wanted, limits=FAST.model_copy(update={"retries": 1})) == 7
    why = [answer.reply.error and answer.reply.error.code for answer in replies(store, wanted)]
    assert why == ["batch_completed", None, None]
    assert server.sent()[wanted[0].key] == 2


@settings(max_examples=examples(50))
@given(lines=st.lists(st.integers(0, 9), max_size=12))
def test_whatever_a_file_lacks_or_has_twice_each_request_ends_with_a_reply_to_it(lines: list[int]) -> None:
    def damaged(content: bytes) -> bytes:
        rows = content.splitlines(keepends=True)
        alien = rows[0].replace(b'"custom_id": "', b'"custom_id": "of-somebody-else-')
        noise = [b"\n", b"no JSON\n", b'{"custom_id": 4}\n', b"[" * 5000 + b"\n", alien, rows[0][:-9] + b"\n"]
        first = len(server.made()) == 1
        return b"".join([*rows, *noise][at] for at in lines) if first else content

    def echo(body: dict[str, Any], _: int) -> Act:
        return Act(text=body["messages"][-1]["content"])

    with (
        tempfile.TemporaryDirectory() as folder,
        BatchServer(Path(folder) / "server", echo) as server,
        Store(Path(folder) / "s.sqlite") as store,
    ):
        server.cut = damaged
        wanted, lost = asked(server, 4), {0, 1, 2, 3} - {*lines}
        assert finish(store, wanted) == (5 if lost else 2)
        assert all(a.reply.text == a.request.messages[-1].content for a in replies(store, wanted))
        again = {request.key for request in wanted if server.sent()[request.key] > 1}
        assert len(again) == len(lost)


@pytest.mark.parametrize("apart", [1, 300])
def test_different_replies_to_one_request_are_said_and_the_first_counts(
    store: Store, server: BatchServer, apart: int, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = asked(server, apart)
    server.cut = lambda content: content + content.splitlines()[0].replace(b": 3", b": 1") + b"\n"
    finish(store, wanted)
    assert {answer.reply.text for answer in replies(store, wanted)} == {"Summary: 3"}
    twice = json.loads(server.content(server.made()[0]["output_file_id"])[0])["custom_id"]
    replied = f"several different replies to 1 request, such as {twice}"
    assert caplog.messages == [f"metaeval: a batch to m has {replied}; the first of them counts"]


def test_the_same_reply_twice_and_an_error_beside_a_reply_are_nothing(
    store: Store, server: BatchServer, caplog: pytest.LogCaptureFixture
) -> None:
    def both(content: bytes) -> bytes:
        row = json.loads(content.splitlines()[0])
        failed = {"custom_id": row["custom_id"], "response": None, "error": {"code": "batch_expired"}}
        wrong = json.dumps(failed).encode() + b"\n"
        return wrong + content + content + wrong

    wanted = asked(server, 3)
    server.cut = both
    assert finish(store, wanted) == 2
    assert {answer.reply.text for answer in replies(store, wanted)} == {"Summary: 3"}
    assert not caplog.messages


@pytest.mark.parametrize(
    "answer",
    [
        lambda: None,
        lambda: web.Response(status=500),
        lambda: web.Response(status=502, text="<html>Bad Gateway</html>"),
        lambda: web.Response(status=408),
        lambda: web.Response(status=429, text="{}"),
        lambda: web.Response(text="OK"),
        lambda: web.json_response({}),
    ],
    ids=["connection", "500", "502", "408", "429", "text", "empty"],
)
def test_a_batch_whose_making_was_not_answered_is_paid_once(
    store: Store, server: BatchServer, answer: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaeval.llm.batch.batches._LISTED", 60.0)
    monkeypatch.setattr("metaeval.llm.batch.batches._POLL_SECONDS", 0.1)
    wanted = asked(server, 4)
    server.loses, server.hides = answer, 1.5
    with contextlib.suppress(CallError):
        round_of(store, wanted)
    server.loses = None
    finish(store, wanted)  # at once, while the list does not have it
    assert server.paid() == dict.fromkeys((request.key for request in wanted), 1)
    assert len(server.made()) == 1
    assert server.seen.count("batches") > 5


def test_a_batch_that_is_not_in_the_list_in_time_is_sent_again(
    store: Store, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaeval.llm.batch.batches._LISTED", 1.0)
    monkeypatch.setattr("metaeval.llm.batch.batches._POLL_SECONDS", 0.1)

    def before(step: str) -> None:
        if step == "create before" and server.seen.count("create") == 1:
            raise DiedError

    server.at, server.loses = before, lambda: None
    wanted = asked(server, 4)
    with pytest.raises(CallError):
        round_of(store, wanted)
    server.loses = None
    started = time.monotonic()
    finish(store, wanted)
    assert time.monotonic() - started > 0.5
    assert [len(batch["keys"]) for batch in server.made()] == [4]
    assert len(server.uploads()) == 1


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refused_batch_is_not_looked_for(
    store: Store, server: BatchServer, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaeval.llm.batch.batches._LISTED", 60.0)
    server.refuse = lambda: server.seen.count("create") == 1
    server.refusal = status
    wanted = asked(server, 4)
    with pytest.raises(CallError):
        round_of(store, wanted)
    started = time.monotonic()
    finish(store, wanted)
    assert time.monotonic() - started < 30
    assert [len(batch["keys"]) for batch in server.made()] == [4]


def _without(content: bytes, *keys: bytes) -> bytes:
    rows = content.splitlines(keepends=True)
    return b"".join(row for row in rows if not any(key in row for key in keys))


def test_providers_without_batches_are_named(store: Store) -> None:
    wanted = list(requests(1, "http://127.0.0.1:9/v1", "groq"))
    with pytest.raises(MetaevalError, match="provider 'groq' takes no batches, which openai, dashscope"):
        round_of(store, wanted)


def _input(server: BatchServer, batch: dict[str, Any]) -> list[str]:
    return (server.folder / "files" / f"{batch['input_file_id']}.jsonl").read_text().splitlines()
