"""Runs in a browser: real requests to a real server, those of somebody who means harm among them."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import pytest

from metaeval.base.errors import MetaevalError, RunFolderError
from metaeval.runs.folder import RECORD
from metaeval.runs.server import LocalServer
from metaeval.runs.viewer import ViewedRuns, view_runs
from tests.runs.serving import serving
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> str:
        return self.content.decode("utf-8", "replace")


class Viewer(LocalServer):
    """A server of runs that knows what its secrets stand for."""

    def __init__(self, *folders: Path) -> None:
        runs = ViewedRuns.of(folders)
        super().__init__(runs.sites)
        self.names = ("", *(f"/{quote(name, safe='')}" for name in runs.folders))

    def whole(self, path: str) -> str:
        """Return a path, in which the name of a run stands for its secret."""
        known = dict(zip(self.names, self.sites, strict=True))
        name = next((n for n in self.names[1:] if path == n or path.startswith(f"{n}/")), "")
        return f"/{known[name]}{path[len(name) :]}" if path.startswith("/") else path


def ask(
    server: LocalServer, path: str, method: str = "GET", host: str | None = None, *, whole: bool = False
) -> Answer:
    """Send one request as it stands: no path is tidied up on the way."""
    path = server.whole(path) if isinstance(server, Viewer) and not whole else path
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    with contextlib.closing(connection):
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
        connection.endheaders()
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read())


def viewing(*folders: Path) -> AbstractContextManager[Viewer]:
    return serving(Viewer(*folders))


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
def server(runs: Path) -> Iterator[Viewer]:
    with viewing(runs / "one", runs / 'two "&" <i>é #?%2F') as server:
        yield server


@pytest.mark.slow
def test_the_list_leads_to_every_file_that_the_runs_wrote(server: Viewer, runs: Path) -> None:
    page = ask(server, "/").body
    assert "&lt;b&gt;Title&lt;/b&gt; &amp; more" in page
    assert "<b>" not in page
    assert "<i>" not in page
    links = [part.partition('"')[0] for part in page.split('href="')[1:]]
    assert {"compare", "side-by-side", server.whole("/one/report.html")} <= set(links)
    files = [link for link in links if link.count("/") == 2]
    record = json.loads((runs / "one" / RECORD).read_text(encoding="utf-8"))
    assert len(files) == 2 * (len(record["outputs"]) + 1)
    for link in files:
        assert ask(server, link, whole=True).status == 200, link
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


def test_the_runs_side_by_side(server: Viewer) -> None:
    page = ask(server, "/side-by-side").body
    assert page.count("<iframe ") == 2
    assert f'src="{server.whole("/one/report.html")}"' in page
    assert 'title="Report of one: &lt;b&gt;Title&lt;/b&gt; &amp; more"' in page


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
    assert answer.status in {403, 404}
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


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_nothing_can_be_changed(server: LocalServer, method: str) -> None:
    answer = ask(server, "/", method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/", "/one/report.html", "/compare", "/none"])
def test_headers_keep_others_out(server: LocalServer, path: str) -> None:
    headers = ask(server, path, "HEAD").headers
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "Python" not in headers["Server"]


@pytest.mark.parametrize("path", ["/", "/one/report.html", "/compare", "/wrong/", "/wrong/report.html", "//"])
def test_without_the_secret_nothing_is_shown(server: LocalServer, path: str) -> None:
    answer = ask(server, path, whole=True)
    assert (answer.status, answer.body) == (403, "Open the whole address that the terminal shows.")


def test_what_others_may_have_made_has_an_origin_and_a_secret_of_its_own(server: LocalServer) -> None:
    assert len(set(server.sites)) == 3
    for path, foreign in (("/one/report.html", True), ("/one/tests.csv", True), ("/", False)):
        policy = ask(server, path, "HEAD").headers["Content-Security-Policy"]
        assert ("sandbox allow-scripts allow-downloads" in policy) is foreign
    assert all(ask(server, "/one/report.html").body.count(secret) == 0 for secret in server.sites)


@pytest.mark.slow
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
