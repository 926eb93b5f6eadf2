"""The download is tested against a server on this machine; no test uses the network."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data import loading
from metaeval.kinds.explanations.data.imports.recexp import DIGESTS, fetch_recexp
from tests.kinds.explanations.data import released


class Server(ThreadingHTTPServer):
    files: dict[str, bytes]
    cut: set[str]
    asked: list[str]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        name = self.path.lstrip("/")
        self.server.asked.append(name)
        content = self.server.files.get(name)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if name in self.server.cut else content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder = released.write(tmp_path / "released")
    with Server(("127.0.0.1", 0), Handler) as running:
        running.files = {p.name: p.read_bytes() for p in folder.iterdir()}
        running.cut, running.asked = set(), []
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def digests(server):
    return {name: hashlib.sha256(content).hexdigest() for name, content in server.files.items()}


def test_the_files_are_fetched_and_imported(server, digests, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    made = fetch_recexp(tmp_path / "out", base_url=server.url, digests=digests)
    assert loading.load(tmp_path / "out").fingerprint == made.fingerprint
    assert sorted(server.asked) == sorted(digests)
    assert list((tmp_path / "tmp").iterdir()) == []  # the pickle with the raw ids is gone


def spoil(server, digests, kind):
    name = "third_party.csv"
    if kind == "wrong digest":
        digests[name] = "0" * 64
    elif kind == "broken off":
        server.cut.add(name)
    elif kind == "not there":
        del server.files[name]


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        (
            "wrong digest",
            "third_party.csv is not the file that was released: its SHA-256 is not 000000000000",
        ),
        ("broken off", "cannot be downloaded; check the network"),
        ("not there", "third_party.csv cannot be downloaded"),
    ],
)
def test_a_failed_download_leaves_nothing(server, digests, tmp_path, kind, part, capfd):
    spoil(server, digests, kind)
    with pytest.raises(DataError) as caught:
        fetch_recexp(tmp_path / "out", base_url=server.url, digests=digests)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["released"]
    assert capfd.readouterr() == ("", "")


def test_a_target_in_the_way_is_refused_before_any_download(server, digests, tmp_path):
    with pytest.raises(DataError, match="not part of a data set"):
        fetch_recexp(tmp_path / "released", base_url=server.url, digests=digests)
    assert server.asked == []


def test_the_pinned_digests_are_those_of_the_release(real_data):
    for name in DIGESTS.keys() - {"df_explanation.pkl"}:
        content = (real_data / "recexp" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == DIGESTS[name]
    assert all(len(d) == 64 for d in DIGESTS.values())
