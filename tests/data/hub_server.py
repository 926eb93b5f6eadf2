"""A hub on this machine: the part of its HTTP interface that downloads of data sets use."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Hub(ThreadingHTTPServer):
    """Serves data sets: name → revision → folder; the commit of a revision is made of its name."""

    daemon_threads = True

    def __init__(self, repositories: Mapping[str, Mapping[str, Path]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories = repositories
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def folder(self, name: str, revision: str) -> tuple[Path, str] | None:
        for known, folder in self.repositories.get(name, {}).items():
            if revision in (known, commit(known)):
                return folder, commit(known)
        return None


def commit(revision: str) -> str:
    return hashlib.sha1(revision.encode(), usedforsecurity=False).hexdigest()


@contextlib.contextmanager
def serving(repositories: Mapping[str, Mapping[str, Path]]) -> Iterator[Hub]:
    hub = Hub(repositories)
    thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path).strip("/")
        self.server.asked.append(f"{self.command} {path}")
        match path.split("/"):
            case ["api", "datasets", owner, name, "revision", revision]:
                self._info(f"{owner}/{name}", revision)
            case ["api", "datasets", owner, name]:
                self._info(f"{owner}/{name}", "main")
            case ["api", "datasets", owner, name, "tree" | "paths-info" as what, revision, *below]:
                self._tree(f"{owner}/{name}", revision, "/".join(below), what)
            case ["datasets", owner, name, "resolve", revision, *file]:
                self._file(f"{owner}/{name}", revision, "/".join(file))
            case _:
                self._send(404, b'{"error": "not found"}')

    do_HEAD = do_POST = do_GET  # noqa: N815 - as the base class calls them

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _info(self, name: str, revision: str) -> None:
        found = self.server.folder(name, revision)
        if found is None:
            known = name in self.server.repositories
            self._send(
                404,
                b'{"error": "not found"}',
                {"X-Error-Code": "RevisionNotFound" if known else "RepoNotFound"},
            )
            return
        folder, sha = found
        siblings = [{"rfilename": p.relative_to(folder).as_posix()} for p in _files(folder)]
        info = {"id": name, "sha": sha, "private": False, "gated": False, "disabled": False, "tags": []}
        self._json({**info, "downloads": 0, "likes": 0, "siblings": siblings})

    def _tree(self, name: str, revision: str, below: str, what: str) -> None:
        body = self._body()
        found = self.server.folder(name, revision)
        if found is None:
            self._send(404, b'{"error": "not found"}', {"X-Error-Code": "RepoNotFound"})
            return
        folder, _ = found
        entries = [
            {
                "type": "file",
                "path": p.relative_to(folder).as_posix(),
                "size": p.stat().st_size,
                "oid": _etag(p),
            }
            for p in _files(folder)
        ]
        if what == "paths-info":
            wanted = json.loads(body)["paths"] if body.startswith(b"{") else []
            entries = [e for e in entries if e["path"] in wanted]
        elif below:
            entries = [e for e in entries if str(e["path"]).startswith(f"{below}/")]
        self._json(entries)

    def _file(self, name: str, revision: str, file: str) -> None:
        found = self.server.folder(name, revision)
        if found is None or not (found[0] / file).is_file():
            self._send(
                404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": found[1] if found else ""}
            )
            return
        path = found[0] / file
        self._send(200, path.read_bytes(), {"ETag": f'"{_etag(path)}"', "X-Repo-Commit": found[1]})

    def _json(self, content: object) -> None:
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def _etag(path: Path) -> str:
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
