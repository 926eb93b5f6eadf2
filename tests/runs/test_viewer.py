"""Runs in a browser: real requests to a real server, those of somebody who means harm among them."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import shutil
import socket
from typing import TYPE_CHECKING, NamedTuple

import pytest

from metaeval.base.errors import MetaevalError, RunFolderError
from metaeval.runs.folder import RECORD
from metaeval.runs.server import LocalServer
from metaeval.runs.viewer import ViewedRuns, view_runs
from tests.runs.serving import serving
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> str:
        return self.content.decode("utf-8", "replace")


def ask(server: LocalServer, path: str, method: str = "GET", host: str | None = None) -> Answer:
    """Send one request as it stands: no path is tidied up on the way."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    with contextlib.closing(connection):
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
        connection.endheaders()
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read())


def viewing(*folders: Path) -> AbstractContextManager[LocalServer]:
    return serving(LocalServer(ViewedRuns.of(folders).page))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of two runs, of which one has a name that needs care, and of something beside them."""
    folder = tmp_path_factory.mktemp("viewing")
    write_tiny(folder / "tiny")
    (folder / "secret.txt").write_text("secret", encoding="utf-8")
    tiny_run(folder, "one", title='"<b>Title</b> & more"')
    shutil.copytree(tiny_run(folder, "second"), folder / 'two "&" <i>é #?%2F')
    return folder


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[LocalServer]:
    with viewing(runs / "one", runs / 'two "&" <i>é #?%2F') as server:
        yield server


def test_the_list_leads_to_every_file_that_the_runs_wrote(server: LocalServer, runs: Path) -> None:
    page = ask(server, "/").body
    assert "&lt;b&gt;Title&lt;/b&gt; &amp; more" in page
    assert "<b>" not in page
    assert "<i>" not in page
    links = [part.partition('"')[0] for part in page.split('href="')[1:]]
    assert {"/compare", "/side-by-side", "/one/report.html"} <= set(links)
    files = [link for link in links if link.count("/") == 2]
    record = json.loads((runs / "one" / RECORD).read_text(encoding="utf-8"))
    assert len(files) == 2 * (len(record["outputs"]) + 1)
    for link in files:
        assert ask(server, link).status == 200, link
    assert "SIMULATED" in page.upper()


def test_a_file_is_sent_as_it_is(server: LocalServer, runs: Path) -> None:
    for name, kind in (
        ("report.html", "text/html; charset=utf-8"),
        ("tests.csv", "text/csv; charset=utf-8"),
        ("leaderboard.tex", "text/plain; charset=utf-8"),
        ("scores.parquet", "application/vnd.apache.parquet"),
    ):
        answer = ask(server, f"/one/{name}?a=b")
        assert answer.content == (runs / "one" / name).read_bytes()
        assert answer.headers["Content-Type"] == kind


def test_the_runs_side_by_side(server: LocalServer) -> None:
    page = ask(server, "/side-by-side").body
    assert page.count("<iframe ") == 2
    assert 'src="/one/report.html"' in page
    assert 'title="Report of one: &lt;b&gt;Title&lt;/b&gt; &amp; more"' in page


def test_the_runs_compared(server: LocalServer) -> None:
    page = ask(server, "/compare").body
    assert "What changed between the runs" in page
    assert "Evaluators in each run" in page
    assert "SIMULATED DATA" in page


def test_a_link_out_of_the_folder_is_not_followed(runs: Path, tmp_path: Path) -> None:
    """Its digest is that of the file it leads to, as whoever makes a folder for others can write it."""
    folder = tmp_path / "run"
    shutil.copytree(runs / "one", folder)
    secret = b"secret"
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.csv").write_bytes(secret)
    (folder / "secret.csv").symlink_to(tmp_path / "outside" / "secret.csv")
    (folder / "far").symlink_to(tmp_path / "outside")
    (folder / "inside.csv").symlink_to(folder / "tests.csv")
    os.mkfifo(folder / "pipe.csv")
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    sealed = hashlib.sha256(secret).hexdigest()
    record["outputs"] |= {"secret.csv": sealed, "far/secret.csv": sealed, "pipe.csv": sealed}
    record["outputs"]["inside.csv"] = record["outputs"]["tests.csv"]
    (folder / RECORD).write_text(json.dumps(record), encoding="utf-8")
    with viewing(folder) as server:
        for name in ("secret.csv", "far/secret.csv", "pipe.csv"):
            answer = ask(server, f"/run/{name}")
            assert answer.status in {403, 503}, name
            assert secret not in answer.content
        assert ask(server, "/run/inside.csv").content == (folder / "tests.csv").read_bytes()
        assert ask(server, "/run/tests.csv").status == 200


def test_why_runs_are_not_compared(runs: Path) -> None:
    other = tiny_run(runs, "other", missing="{truth: drop}")
    with viewing(runs / "one", other) as server:
        answer = ask(server, "/compare")
    assert answer.status == 200
    assert "one and other were run under different policies" in answer.body


def test_a_single_run_is_compared_with_nothing(runs: Path) -> None:
    with viewing(runs / "one") as server:
        assert "/compare" not in ask(server, "/").body
        assert ask(server, "/compare").status == 404
        assert ask(server, "/side-by-side").status == 404


@pytest.mark.parametrize(
    "path",
    [
        "/one",
        "/one/",
        "/one/run.json",
        "/one/.lock",
        "/one/../secret.txt",
        "/../secret.txt",
        "/one/%2e%2e/secret.txt",
        "/one/..%2fsecret.txt",
        "/one/..%5csecret.txt",
        "/%2e%2e/secret.txt",
        "/..%2Fsecret.txt",
        "//etc/passwd",
        "/etc/passwd",
        "/one//etc/passwd",
        "/one/report.html/",
        "/one/./report.html",
        "/one/report.html%00",
        "/one/report.html/../../secret.txt",
        "/%FF",
        "one/report.html",
        "http://127.0.0.1/secret.txt",
    ],
)
def test_nothing_else_is_sent(server: LocalServer, path: str) -> None:
    answer = ask(server, path)
    assert answer.status == 404
    assert "secret" not in answer.body.replace(path, "")
    assert "root:" not in answer.body


@pytest.mark.parametrize("listed", ["../secret.txt", "link.txt", "{folder}/secret.txt"])
def test_a_record_that_lists_other_files_does_not_open_them(runs: Path, tmp_path: Path, listed: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(runs / "one", folder)
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    name = listed.format(folder=tmp_path)
    record["outputs"][name] = hashlib.sha256(b"secret").hexdigest()
    (folder / RECORD).write_text(json.dumps(record), encoding="utf-8")
    with viewing(folder) as server:
        answer = ask(server, f"/run/{name}")
        assert answer.status == (403 if name == "link.txt" else 404)
        assert answer.body.count("secret") == answer.body.count("secret.txt")


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "a b"]
)
def test_a_page_that_comes_by_another_name_is_turned_away(server: LocalServer, host: str) -> None:
    answer = ask(server, "/one/report.html", host=host)
    assert answer.status == 421
    assert "Annotator" not in answer.body


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9999", "LOCALHOST", "[::1]:80"])
def test_this_computer_goes_by_several_names(server: LocalServer, host: str) -> None:
    assert ask(server, "/", host=host).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_nothing_can_be_changed(server: LocalServer, method: str) -> None:
    answer = ask(server, "/", method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_a_head_has_no_body(server: LocalServer) -> None:
    head, whole = ask(server, "/one/report.html", "HEAD"), ask(server, "/one/report.html")
    assert (head.status, head.body) == (200, "")
    assert int(head.headers["Content-Length"]) == len(whole.content) > 1000


@pytest.mark.parametrize("path", ["/", "/one/report.html", "/compare", "/none"])
def test_headers_keep_others_out(server: LocalServer, path: str) -> None:
    headers = ask(server, path, "HEAD").headers
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "Python" not in headers["Server"]


def test_what_is_no_request_is_answered_and_forgotten(
    server: LocalServer, capfd: pytest.CaptureFixture[str]
) -> None:
    for sent, said in (
        (b"\x16\x03\x01 hello\r\n\r\n", b"Bad request"),
        (b"GET / HTTP/9.9\r\n\r\n", b"Version Not Supported"),
        (b"GET /" + b"a" * 65_536, b" 414 "),
    ):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
            connection.sendall(sent)
            assert said in b"".join(iter(lambda: connection.recv(4096), b""))
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(b"GET /one/report.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert ask(server, "/").status == 200
    assert capfd.readouterr() == ("", "")


def test_only_this_computer_is_answered(server: LocalServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/"


def test_a_run_that_is_run_again_is_shown_anew(runs: Path, tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    run = tiny_run(tmp_path, "again", title="Before")
    with viewing(run, runs / "one") as server:
        assert "Before" in ask(server, "/again/report.html").body
        before = ask(server, "/compare").body
        assert "Random(seed=5)" not in before
        evaluators = '["Length()", "Random(seed=5)"]'
        tiny_run(tmp_path, "again", title="After", evaluators=evaluators)
        assert "After" in ask(server, "/").body
        assert "After" in ask(server, "/again/report.html").body
        assert "Random(seed=5)" in ask(server, "/compare").body
        shutil.rmtree(run)
        assert ask(server, "/again/report.html").status == 503
        assert "there is no run folder" in ask(server, "/").body
        assert "there is no run folder" in ask(server, "/side-by-side").body
        assert "there is no run folder" in ask(server, "/compare").body
        assert ask(server, "/one/report.html").status == 200


def test_a_file_that_was_touched_is_not_shown(runs: Path, tmp_path: Path) -> None:
    run = tmp_path / "touched"
    shutil.copytree(runs / "one", run)
    with viewing(run) as server:
        (run / "report.html").write_text("<p>mine", encoding="utf-8")
        answer = ask(server, "/touched/report.html")
        assert answer.status == 503
        assert "is not the file that the run wrote" in answer.body
        assert "mine" not in answer.body


def test_no_run_is_refused_before_anything_is_served(runs: Path, tmp_path: Path) -> None:
    told: list[str] = []
    for folder, message in ((tmp_path / "none", "no run folder"), (runs / "tiny", "not a run folder")):
        with pytest.raises(RunFolderError, match=message):
            view_runs([runs / "one", folder], browser=False, ready=told.append)
    with pytest.raises(MetaevalError, match="nothing to show"):
        view_runs([], browser=False, ready=told.append)
    assert told == []


def test_a_port_that_is_in_use(server: LocalServer, runs: Path) -> None:
    port = server.server_port
    with pytest.raises(
        MetaevalError, match=rf"port {port} cannot be used \(Address already in use\); give another"
    ):
        view_runs([runs / "one"], port=port, browser=False)
    with pytest.raises(MetaevalError, match="port 70000 cannot be used"):
        view_runs([runs / "one"], port=70000, browser=False)
