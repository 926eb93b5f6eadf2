"""Runs in a browser: real requests to a real server, those of somebody who means harm among them."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from metaeval.base.errors import MetaevalError, RunFolderError
from metaeval.runs.folder import RECORD
from metaeval.runs.server import LocalServer
from metaeval.runs.site import site_server, view_runs, write_site
from tests.runs.serving import serving
from tests.study.runs import tiny_run
from tests.tiny import write_tiny


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> str:
        return self.content.decode("utf-8", "replace")


def ask(
    server: LocalServer, path: str, method: str = "GET", host: str | None = None, *, secret: bool = True
) -> Answer:
    """Send one request as it stands, behind the secret: no path is tidied up on the way."""
    known = next(iter(server.sites)) if secret and path.startswith("/") else ""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    with contextlib.closing(connection):
        connection.putrequest(method, f"/{known}{path}" if known else path, skip_host=True)
        if host != "":
            connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
        connection.endheaders()
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read())


@contextlib.contextmanager
def viewing(site: Path, *folders: Path) -> Iterator[LocalServer]:
    """Serve the site of some runs, which is written into a folder, for the length of a block."""
    write_site(folders, site, with_addresses=True)
    with serving(site_server(site)) as server:
        yield server


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
    with viewing(runs / "site", runs / "one", runs / 'two "&" <i>é #?%2F') as server:
        yield server


def test_the_index_leads_to_the_reports_and_tables_of_every_run(server: LocalServer, runs: Path) -> None:
    page = ask(server, "/").body
    assert page == ask(server, "/index.html").body
    assert "&lt;b&gt;Title&lt;/b&gt; &amp; more" in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "SIMULATED DATA." in page
    links = re.findall(r'href="([^"]+)"', page)
    assert "studies/one/report.html" in links
    assert len({link for link in links if link.endswith("/report.html")}) == 2
    for link in links:
        assert ask(server, f"/{link}").status == 200, link


def test_a_file_is_sent_as_it_is(server: LocalServer, runs: Path) -> None:
    for name, kind in (
        ("report.html", "text/html; charset=utf-8"),
        ("tests.csv", "text/csv; charset=utf-8"),
        ("leaderboard.md", "text/markdown; charset=utf-8"),
        ("leaderboard.tex", "text/plain; charset=utf-8"),
    ):
        answer = ask(server, f"/studies/one/{name}?a=b")
        assert answer.content == (runs / "one" / name).read_bytes()
        assert answer.headers["Content-Type"] == kind
    assert ask(server, "/leaderboard.json").headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("name", ["secret.csv", "report.html", "pipe.csv"])
def test_a_link_out_of_the_folder_is_not_followed(runs: Path, tmp_path: Path, name: str) -> None:
    """Its digest is that of the file it leads to, as whoever makes a folder for others can write it."""
    folder = tmp_path / "run"
    shutil.copytree(runs / "one", folder)
    secret = b"secret"
    (tmp_path / "secret").write_bytes(secret)
    (folder / name).unlink(missing_ok=True)
    if name == "pipe.csv":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(tmp_path / "secret")
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    record["outputs"][name] = hashlib.sha256(secret).hexdigest()
    (folder / RECORD).write_text(json.dumps(record), encoding="utf-8")
    why = "is not the file that the run wrote" if name == "pipe.csv" else "leads out of the run's folder"
    with pytest.raises(MetaevalError, match=why):
        view_runs([folder], browser=False)


def test_a_link_within_the_folder_is_followed(runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(runs / "one", folder)
    (folder / "tests.csv").rename(folder / "same.csv")
    (folder / "tests.csv").symlink_to(folder / "same.csv")
    with viewing(tmp_path / "site", folder) as server:
        assert ask(server, "/studies/run/tests.csv").content == (folder / "same.csv").read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/studies/one",
        "/studies/one/",
        "/studies/one/run.json",
        "/studies/one/scores.parquet",
        "/studies/one/../../../secret.txt",
        "/../secret.txt",
        "/studies/one/%2e%2e/secret.txt",
        "/studies/one/..%2fsecret.txt",
        "/studies/one/..%5csecret.txt",
        "/%2e%2e/secret.txt",
        "/..%2Fsecret.txt",
        "//etc/passwd",
        "/etc/passwd",
        "/studies/one//etc/passwd",
        "/studies/one/report.html/",
        "/studies/one/./report.html",
        "/studies/one/report.html%00",
        "/studies/one/report.html/../../secret.txt",
        "/%FF",
        "studies/one/report.html",
        "http://127.0.0.1/secret.txt",
    ],
)
def test_nothing_else_is_sent(server: LocalServer, path: str) -> None:
    answer = ask(server, path)
    assert answer.status in {403, 404}
    assert "secret" not in answer.body.replace(path, "")
    assert "root:" not in answer.body


@pytest.mark.parametrize("listed", ["../secret.csv", "below/secret.csv", "{folder}/secret.csv"])
def test_a_record_that_lists_other_files_does_not_open_them(runs: Path, tmp_path: Path, listed: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(runs / "one", folder)
    (folder / "below").symlink_to(tmp_path)
    (tmp_path / "secret.csv").write_text("secret", encoding="utf-8")
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    record["outputs"][listed.format(folder=tmp_path)] = hashlib.sha256(b"secret").hexdigest()
    (folder / RECORD).write_text(json.dumps(record), encoding="utf-8")
    with viewing(tmp_path / "site", folder):
        copies = [p.name for p in (tmp_path / "site").rglob("*") if p.is_file()]
    assert "report.html" in copies
    assert "secret.csv" not in copies


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "a b"]
)
def test_a_page_that_comes_by_another_name_is_turned_away(server: LocalServer, host: str) -> None:
    answer = ask(server, "/studies/one/report.html", host=host)
    assert answer.status == 421
    assert "Annotator" not in answer.body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_nothing_can_be_changed(server: LocalServer, method: str) -> None:
    answer = ask(server, "/", method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/", "/studies/one/report.html", "/none"])
def test_headers_keep_others_out(server: LocalServer, path: str) -> None:
    headers = ask(server, path, "HEAD").headers
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "Python" not in headers["Server"]


@pytest.mark.parametrize(
    "path", ["/", "/studies/one/report.html", "/wrong/", "/wrong/studies/one/report.html", "//"]
)
def test_without_the_secret_nothing_is_shown(server: LocalServer, path: str) -> None:
    answer = ask(server, path, secret=False)
    assert (answer.status, answer.body) == (403, "Open the whole address that the terminal shows.")


def test_what_others_may_have_made_has_an_origin_of_its_own(server: LocalServer) -> None:
    for path, foreign in (
        ("/studies/one/report.html", True),
        ("/studies/one/tests%2ecsv", True),
        ("/", False),
        ("/leaderboard.csv", False),
    ):
        answer = ask(server, path, "HEAD")
        assert answer.status == 200
        policy = answer.headers["Content-Security-Policy"]
        assert ("sandbox allow-scripts allow-downloads" in policy) is foreign


def test_a_name_that_needs_care_has_an_address(server: LocalServer, runs: Path) -> None:
    (runs / "site" / "studies" / "one" / "é #?%2F.csv").write_text("a\n", encoding="utf-8")
    with serving(site_server(runs / "site")) as again:
        assert ask(again, f"/studies/one/{quote('é #?%2F.csv')}").body == "a\n"
    assert ask(server, f"/studies/one/{quote('é #?%2F.csv')}").status == 404  # it came later


def test_no_run_is_refused_before_anything_is_served(runs: Path, tmp_path: Path) -> None:
    addresses: list[str] = []
    touched = tmp_path / "touched"
    shutil.copytree(runs / "one", touched)
    (touched / "report.html").write_text("<p>mine", encoding="utf-8")
    for folder, message in (
        (tmp_path / "none", "no run folder"),
        (runs / "tiny", "not a run folder"),
        (touched, "is not the file that the run wrote"),
    ):
        with pytest.raises(RunFolderError, match=message):
            view_runs([runs / "one", folder], browser=False, ready=addresses.append)
    with pytest.raises(MetaevalError, match="give one or more run folders"):
        view_runs([], browser=False, ready=addresses.append)
    assert addresses == []


def test_a_port_that_is_in_use(server: LocalServer, runs: Path) -> None:
    port = server.server_port
    with pytest.raises(
        MetaevalError, match=rf"port {port} cannot be used \(Address already in use\); give another"
    ):
        view_runs([runs / "one"], port=port, browser=False)
    with pytest.raises(MetaevalError, match="port 70000 cannot be used"):
        view_runs([runs / "one"], port=70000, browser=False)
