"""A server of files and batches, for both providers, whose state is on the disk: it may die at any moment.

Its batches are done by whoever looks at them: after a number of looks, their results are there.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import Counter
from collections.abc import Callable
from email import message_from_bytes
from email.policy import HTTP
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.llm.server import ANSWER, Behave, Threaded, always, openai_body

PATHS = {"openai": "/v1", "dashscope": "/compatible-mode/v1"}
FULL = "token_limit_exceeded"


class DiedError(Exception):
    """The server died."""


class BatchServer(Threaded):
    """Answers each request of a batch as it is told to.

    Parameters
    ----------
    folder
        Where files and batches are kept.
    behave
        What is answered to a request.
    looks
        How often a batch is looked at before it is over.
    fate
        Status of a batch, by how many were made before it; ``expired`` and ``cancelled`` ones have an answer
        to every second request. ``token_limit_exceeded`` and other words: it failed for that.
    room
        Requests that may be under way at once.
    at
        Called with each step, before and after it is made: ``create before``, ``create after``; it may kill
        the client, or raise `DiedError`: then nothing is answered any more, and it is called with ``dead``.
    """

    def __init__(
        self,
        folder: Path,
        behave: Behave | None = None,
        *,
        looks: int = 0,
        fate: Callable[[int], str] = lambda _: "completed",
        room: int = 10**9,
        most: int = 50_000,
        at: Callable[[str], None] = lambda _: None,
        port: int = 0,
    ) -> None:
        super().__init__(port)
        self.folder, self.behave, self.looks, self.fate = folder, behave or always(ANSWER), looks, fate
        self.room, self.most, self.at = room, most, at
        self.dead = False
        self.refuse: Callable[[], bool] = lambda: False
        """Whether no batch is made, for want of room or with another status."""
        self.refusal = 429
        self.change: Callable[[dict[str, Any]], Any] = lambda body: body
        """Makes what is said of a batch into something else."""
        self.loses: Callable[[], web.Response | None] | None = None
        """Answers what has made a batch, instead of with the batch; None: the connection is closed."""
        self.hides = 0.0
        """Seconds until a batch is in the list."""
        self.drips = ""
        """The step whose answer begins, and never ends."""
        self.cut: Callable[[bytes], bytes] = lambda content: content
        """Makes what is sent of a file of results into something else."""
        self.key = ""
        """The only key that is let in; empty for any."""
        self.seen: list[str] = []
        self.keys: set[str] = set()
        for name in ("files", "batches"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    async def open(self) -> int:
        app = web.Application(client_max_size=2**31)
        for path in PATHS.values():
            app.router.add_post(f"{path}/files", self._step("upload", self._upload))
            app.router.add_get(f"{path}/files", self._step("files", self._files))
            app.router.add_delete(f"{path}/files/{{id}}", self._step("delete", self._delete))
            app.router.add_get(f"{path}/files/{{id}}/content", self._step("content", self._content))
            app.router.add_post(f"{path}/batches", self._step("create", self._create))
            app.router.add_get(f"{path}/batches", self._step("batches", self._batches))
            app.router.add_get(f"{path}/batches/{{id}}", self._step("look", self._look))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        await self._runner.cleanup()

    def made(self) -> list[dict[str, Any]]:
        """Return all batches, in the order in which they were made."""
        found = [json.loads(file.read_text()) for file in (self.folder / "batches").iterdir()]
        return sorted(found, key=lambda batch: int(batch["number"]))

    def sent(self, *status: str) -> Counter[str]:
        """Return how often each request is in a batch, or in one of some status."""
        chosen = [b for b in self.made() if not status or b["status"] in status]
        return Counter(key for batch in chosen for key in batch["keys"])

    def paid(self) -> Counter[str]:
        """Return how often each request was answered."""
        outputs = [batch["output_file_id"] for batch in self.made() if batch.get("output_file_id")]
        lines = [line for name in outputs for line in self.content(name)]
        return Counter(json.loads(line)["custom_id"] for line in lines)

    def uploads(self) -> list[dict[str, Any]]:
        """Return the files that are there and that a client sent."""
        files = [json.loads(f.read_text()) for f in (self.folder / "files").glob("*.json")]
        return [file for file in files if file["purpose"] == "batch"]

    def _step(self, name: str, handle: Any) -> Any:
        async def handled(request: web.Request) -> web.StreamResponse:
            given = request.headers.get("Authorization", "")
            self.keys.add(given)
            if self.key not in given:
                return _error(401, "invalid_api_key", f"wrong: {given}")
            try:
                self.seen.append(name)
                self.at("dead" if self.dead else f"{name} before")
                if name == self.drips:
                    dripping = web.StreamResponse(headers={"Content-Type": "application/json"})
                    await dripping.prepare(request)
                    while True:
                        await dripping.write(b" ")
                        await asyncio.sleep(0.02)
                answer: web.StreamResponse = await handle(request)
                self.at(f"{name} after")
            except DiedError:
                self.dead = self.loses is None
                if request.transport is not None:
                    request.transport.abort()
                return web.Response(status=500)
            return answer

        return handled

    async def _upload(self, request: web.Request) -> web.Response:
        # aiohttp's own reader warns wherever a part ends in another chunk than it began.
        head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
        form = message_from_bytes(head + await request.read(), policy=HTTP)
        parts = {part.get_param("name", header="Content-Disposition"): part for part in form.iter_parts()}
        name, content = parts["file"].get_filename(), parts["file"].get_payload(decode=True)
        return web.json_response(self._keep(name, parts["purpose"].get_payload(), content))

    async def _files(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": self.uploads(), "has_more": False})

    async def _delete(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        if not (self.folder / "files" / f"{name}.json").exists():
            return _error(404, "not_found", "no such file")
        for suffix in ("json", "jsonl"):
            (self.folder / "files" / f"{name}.{suffix}").unlink()
        return web.json_response({"id": name, "object": "file", "deleted": True})

    async def _content(self, request: web.Request) -> web.StreamResponse:
        data = self.cut((self.folder / "files" / f"{request.match_info['id']}.jsonl").read_bytes())
        response = web.StreamResponse(headers={"Content-Length": str(len(data))})
        await response.prepare(request)
        await response.write(data[: len(data) // 2])
        await asyncio.sleep(0.02)  # the client reads it
        self.at("content halfway")
        await response.write(data[len(data) // 2 :])
        await response.write_eof()
        return response

    async def _create(self, request: web.Request) -> web.Response:
        if self.refuse():
            return _error(self.refusal, "batch_limit", "no room")
        body = await request.json()
        file = self.folder / "files" / f"{body['input_file_id']}.jsonl"
        if not file.exists():
            return _error(404, "not_found", "no such file")
        with file.open(encoding="utf-8") as lines:
            rows = [(row["custom_id"], row["url"], row["body"]["model"]) for row in map(json.loads, lines)]
        keys = [key for key, _, _ in rows]
        assert len(set(keys)) == len(keys) <= self.most
        assert {url for _, url, _ in rows} == {body["endpoint"]} == {"/v1/chat/completions"}
        assert len({model for _, _, model in rows}) == 1
        assert body["completion_window"] == "24h"
        before = self.made()
        going = [key for b in before if b["status"] == "in_progress" for key in b["keys"]]
        assert not set(keys) & set(going), "a request is in two batches at once"
        fate = FULL if len(going) + len(keys) > self.room else self.fate(len(before))
        batch = {
            "id": f"batch_{uuid.uuid4().hex}",
            "object": "batch",
            "endpoint": body["endpoint"],
            "completion_window": "24h",
            "input_file_id": body["input_file_id"],
            "created_at": 1,
            "status": "validating" if fate == FULL else "in_progress",
            "metadata": body.get("metadata"),
            "request_counts": {"total": len(keys), "completed": 0, "failed": 0},
            "number": len(before),
            "made": time.time(),
            "fate": fate,
            "looks": 0,
            "keys": keys,
        }
        self._save(batch)
        if self.loses is not None:
            answer = self.loses()
            if answer is None:
                raise DiedError
            return answer
        return web.json_response(self.change(_shown(batch)))

    async def _batches(self, request: web.Request) -> web.Response:
        """List batches page by page, the newest first."""
        old = time.time() - self.hides
        batches = [_shown(batch) for batch in reversed(self.made()) if batch["made"] <= old]
        after = request.query.get("after")
        start = 1 + [b["id"] for b in batches].index(after) if after else 0
        page = batches[start : start + 2]
        return web.json_response({"object": "list", "data": page, "has_more": start + 2 < len(batches)})

    async def _look(self, request: web.Request) -> web.Response:
        batch = json.loads((self.folder / "batches" / f"{request.match_info['id']}.json").read_text())
        batch["looks"] += 1
        if batch["status"] in ("in_progress", "validating") and batch["looks"] > self.looks:
            self._finish(batch, dashscope=request.path.startswith(PATHS["dashscope"]))
        self._save(batch)
        return web.json_response(self.change(_shown(batch)))

    def _finish(self, batch: dict[str, Any], *, dashscope: bool) -> None:
        fate = batch["fate"]
        if fate not in ("completed", "expired", "cancelled"):
            batch["status"] = "failed"
            said = {"code": fate, "message": f"it failed: {fate}", "param": None, "line": None}
            batch["errors"] = {"object": "list", "data": [said]}
            return
        good, bad = [], []
        lines = self.content(batch["input_file_id"])
        for number, line in enumerate(lines):
            row = json.loads(line)
            head = {"id": f"batch_req_{number}", "custom_id": row["custom_id"]}
            if fate != "completed" and number % 2:
                if number % 4 == 3:  # some are in no file at all
                    error = {"code": f"batch_{fate}", "message": "This request could not be executed."}
                    bad.append({**head, "response": None, "error": error})
                continue
            act = self.behave(row["body"], 0)
            if act.status == 200:
                response = {"status_code": 200, "request_id": "r", "body": openai_body(act, row["body"])}
                good.append({**head, "response": response, "error": None})
            elif dashscope:
                error = {"code": "invalid_parameter_error", "message": act.body["error"]["message"]}
                bad.append({**head, "response": None, "error": error})
            else:
                response = {"status_code": act.status, "request_id": "r", "body": act.body}
                bad.append({**head, "response": response, "error": None})
        batch["status"] = fate
        batch["request_counts"] = {"total": len(lines), "completed": len(good), "failed": len(bad)}
        for name, rows in (("output_file_id", good), ("error_file_id", bad)):
            if rows:
                text = "".join(json.dumps(row) + "\n" for row in reversed(rows))  # in any order
                batch[name] = self._keep(f"{name}.jsonl", "batch_output", text.encode())["id"]

    def content(self, name: str) -> list[str]:
        """Return the lines of a file."""
        return (self.folder / "files" / f"{name}.jsonl").read_text().splitlines()

    def _keep(self, filename: str, purpose: str, content: bytes) -> dict[str, Any]:
        name = f"file-{uuid.uuid4().hex}"
        place = self.folder / "files" / name
        place.with_suffix(".jsonl").write_bytes(content)
        facts = {"id": name, "object": "file", "bytes": len(content), "created_at": 1}
        facts |= {"filename": filename, "purpose": purpose, "status": "processed"}
        place.with_suffix(".json").write_text(json.dumps(facts))
        return facts

    def _save(self, batch: dict[str, Any]) -> None:
        place = self.folder / "batches" / f"{batch['id']}.json"
        new = self.folder / f"{batch['id']}.new"
        new.write_text(json.dumps(batch))
        new.replace(place)


def _shown(batch: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in batch.items() if k not in ("number", "made", "fate", "looks", "keys")}


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status)
