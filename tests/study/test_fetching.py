"""Released files come from a server on this machine; a download that is killed goes on where it stopped."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.study import published
from tests.conftest import ROOT

CONTENT = bytes(range(256)) * 2000
CHUNK, HALF = 1 << 14, len(CONTENT) // 2


class Server(ThreadingHTTPServer):
    ranges: list[str | None]
    """What each request asked for."""
    stalls: bool
    """Half of a file is sent, and then nothing."""
    knows_ranges: bool

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/at/abc1234"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if self.path != "/at/abc1234/sub/one.bin":
            self.send_error(404)
            return
        asked = self.headers["Range"]
        self.server.ranges.append(asked)
        begin = int(re.findall(r"\d+", asked)[0]) if asked and self.server.knows_ranges else 0
        if begin >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(CONTENT) - begin))
        self.end_headers()
        end = HALF if self.server.stalls else len(CONTENT)
        for at in range(begin, end, CHUNK):
            self.wfile.write(CONTENT[at : min(end, at + CHUNK)])
        while self.server.stalls:
            time.sleep(0.01)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server(("127.0.0.1", 0), Handler) as running:
        running.ranges, running.stalls, running.knows_ranges = [], False, True
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.stalls = False
        running.shutdown()
        thread.join()


@pytest.fixture
def studies(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "studies"
    write_study(folder / "far", server.url, hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(published, "bundled", lambda _: folder)
    monkeypatch.chdir(tmp_path)
    return folder


def write_study(folder: Path, address: str, digest: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "source.yaml").write_text(
        "title: Far\npaper: Nobody, 2026\nrepository: https://example.org\nlicence: none\n"
        f"commit: abc1234\naddress: '{address}'\nfiles: {{sub/one.bin: {digest}}}\n"
        "steps: [providers --out known.csv]\n",
        encoding="utf-8",
    )
    (folder / "published.csv").write_text(
        "table,cell,file,row,column,value,digits\n1,OpenAI,known.csv,name=openai,count(),1,0\n",
        encoding="utf-8",
    )


def killed_half_way(studies: Path, out: Path) -> None:
    code = (
        "import sys, pathlib; from metaeval.study import published; "
        "published.bundled = lambda _: pathlib.Path(sys.argv[1]); published.fetch('far', sys.argv[2])"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(studies), str(out)], cwd=ROOT)
    part, until = out / "sub" / ".one.bin.part", time.monotonic() + 60
    while not (part.is_file() and part.stat().st_size > HALF // 2):
        assert time.monotonic() < until
        assert child.poll() is None
        time.sleep(0.01)
    child.kill()
    child.wait()


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_a_download_that_was_killed_goes_on(
    server: Server, studies: Path, tmp_path: Path, knows_ranges: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    files = tmp_path / "results" / "published" / "far" / "files"
    server.stalls, server.knows_ranges = True, knows_ranges
    killed_half_way(studies, files)
    assert not (files / "sub" / "one.bin").exists()
    have = (files / "sub" / ".one.bin.part").stat().st_size
    server.stalls = False
    assert main(["data", "fetch", "far"]) == 0
    assert "metaeval reproduce far" in capsys.readouterr().out
    assert server.ranges == [None, f"bytes={have}-"]
    assert (files / "sub" / "one.bin").read_bytes() == CONTENT
    assert [p.name for p in files.rglob("*") if p.is_file()] == ["one.bin"]
    published.fetch("far", files)  # nothing is left to do
    assert len(server.ranges) == 2


def test_all_of_it_had_come_when_it_was_killed(server: Server, studies: Path, tmp_path: Path) -> None:
    part = tmp_path / "files" / "sub" / ".one.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT)
    published.fetch("far", tmp_path / "files")
    assert (part.parent / "one.bin").read_bytes() == CONTENT


def test_what_is_not_the_released_file_is_not_kept(server: Server, studies: Path, tmp_path: Path) -> None:
    write_study(studies / "far", server.url, "a" * 64)
    with pytest.raises(MetaevalError, match="is not the file that was released: its SHA-256 is not aaaa"):
        published.fetch("far", tmp_path / "files")
    assert [p for p in (tmp_path / "files").rglob("*") if p.is_file()] == []
    write_study(studies / "far", f"{server.url}/nowhere", "a" * 64)
    with pytest.raises(MetaevalError, match="cannot be downloaded; check the network"):
        published.fetch("far", tmp_path / "files")
    write_study(studies / "far", server.url.replace("abc1234", "main"), "a" * 64)
    with pytest.raises(MetaevalError, match="far has no pinned address"):
        published.fetch("far", tmp_path / "files")


def test_what_is_missing_is_said_with_the_command_that_gets_it(
    studies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "far"]) == 2
    assert "far: there is no sub/one.bin in results/published/far/files; metaeval data fetch far" in (
        " ".join(capsys.readouterr().err.split())
    )
    write_study(studies / "near", "", hashlib.sha256(b"near").hexdigest())
    shipped = studies / "near" / "files" / "sub" / "one.bin"
    shipped.parent.mkdir(parents=True)
    shipped.write_bytes(b"near")
    shutil.copytree(studies / "near", studies / "odd")
    with (studies / "odd" / "source.yaml").open("a", encoding="utf-8") as file:
        file.write("needs: {no_such_library: pairs}\n")
    assert main(["reproduce", "all"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "files or a library are not here: far, odd (pip install 'metaeval[pairs]')." in said
    assert "1 of 1 published cell is equal to the digits printed" in said
    shutil.rmtree(studies / "odd")
    assert main(["data", "fetch", "far"]) == 0
    assert main(["reproduce", "all", "--page", str(tmp_path / "ledger.md")]) == 0
    assert "Not made" not in (tmp_path / "ledger.md").read_text(encoding="utf-8")
    assert main(["reproduce", "all", "--from", str(tmp_path / "nowhere")]) == 2
    assert main(["data", "fetch", "near"]) == 2
