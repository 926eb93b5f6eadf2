"""The server of the page to label on: real requests, those of somebody who means harm among them."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.runs.server import LocalServer
from metaeval.trust.labelling.pages import label_server, label_set
from tests.runs.serving import serving
from tests.tiny import write_tiny

LABEL = {"do": "label", "at": 0, "aspect": "clear", "label": 4}


class Site:
    """A page to label on, and the requests that it gets."""

    def __init__(self, server: LocalServer, path: str, folder: Path) -> None:
        self.server, self.path, self.folder = server, path, folder
        self.host = f"127.0.0.1:{server.server_port}"

    def ask(
        self,
        method: str = "POST",
        path: str | None = None,
        body: bytes = json.dumps(LABEL).encode(),
        **headers: str,
    ) -> tuple[int, str, str]:
        """Return status, policy and body of the answer to one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=120)
        given = {"Host": self.host, "Origin": f"http://{self.host}", "Content-Length": str(len(body))}
        with contextlib.closing(connection):
            connection.putrequest(method, self.path if path is None else path, skip_host=True)
            for name, value in {**given, **{n.replace("_", "-"): v for n, v in headers.items()}}.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders(body if method == "POST" else None)
            answer = connection.getresponse()
            return answer.status, answer.headers["Content-Security-Policy"], answer.read().decode()

    def labelled(self) -> int:
        return int((me.load(self.folder).ratings["rater"] == "anna").sum())


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    folder = write_tiny(tmp_path / "set")
    with serving(label_server(label_set(folder, rater="anna"))) as server:
        secret, _ = server.sites
        yield Site(server, f"/{secret}/", folder)


def test_the_page_posts_and_may_ask_its_own_server_alone(site: Site) -> None:
    status, policy, page = site.ask("GET")
    assert (status, "<h1" in page) == (200, True)
    assert "connect-src 'self'" in policy
    assert "default-src 'none'" in policy
    status, _, answer = site.ask()
    assert (status, json.loads(answer)["unit"]["aspects"][0]["label"]) == (200, 4)
    assert site.labelled() == 1


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://{host}", "http://127.0.0.1:1", "http://{host}.evil.example"],
)
def test_a_page_from_elsewhere_may_not_post(site: Site, origin: str) -> None:
    status, _, _ = site.ask(Origin=origin.format(host=site.host))
    assert (status, site.labelled()) == (403, 0)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/", "/wrong/", "{path}x", "//", "/%C3%A9/"])
def test_nothing_is_shown_or_changed_without_the_token(site: Site, method: str, path: str) -> None:
    status, _, body = site.ask(method, path.format(path=site.path))
    assert (status, site.labelled()) == (403, 0)
    assert body == "Open the whole address that the terminal shows."


def test_another_name_of_this_computer_is_refused(site: Site) -> None:
    host = f"rebound.example:{site.server.server_port}"
    assert site.ask(Host=host, Origin=f"http://{host}")[0] == 421
    assert site.ask("GET", Host=host)[0] == 421
    assert site.labelled() == 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content_Length": ""}, 411),
        ({"Content_Length": "-1"}, 411),
        ({"Content_Length": "²"}, 411),
        ({"Content_Length": "9999999999"}, 413),
        ({"Content_Length": "9" * 5000}, 413),
    ],
)
def test_a_body_has_a_length_that_is_small(site: Site, headers: dict[str, str], status: int) -> None:
    assert site.ask(**headers)[0] == status
    assert site.labelled() == 0


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"[1]", "must be a JSON object"),
        (b"", "Expecting value"),
        (b"[" * 90_000, "recursion"),
        (b'{"a":' * 15_000, "recursion"),
        (b'{"do": "label", "at": 0, "aspect": "clear", "label": NaN}', "not on the scale"),
        (b'{"do": "label", "at": 0, "aspect": "clear", "label": 1' + b"0" * 400 + b"}", "not on the scale"),
        (b'{"do": "label", "at": 0, "aspect": "clear", "label": 1' + b"0" * 5000 + b"}", "4300 digits"),
        (b'{"do": "label", "at": 0, "aspect": "clear", "label": 1e999}', "not on the scale"),
        (b'{"do": "label", "at": 0, "aspect": ["clear"], "label": 4}', "there is no aspect"),
        (b'{"do": ["label"]}', "must be show"),
    ],
)
def test_what_makes_no_sense_is_answered_with_a_sentence(site: Site, body: bytes, sentence: str) -> None:
    status, _, answer = site.ask(body=body)
    assert (status, site.labelled()) == (400, 0)
    assert sentence in json.loads(answer)["error"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=9), inside, max_size=3),
    max_leaves=6,
)
NAMES = ("do", "at", "aspect", "label", "was", "text")


def nested(name: str, depth: int) -> bytes:
    """Return a request of which one value is nested."""
    return json.dumps({**LABEL, "do": "note", name: "x"}).replace('"x"', "[" * depth + "]" * depth).encode()


CHANGED = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, VALUES))
BODIES = (
    st.binary(max_size=50)
    | st.builds(bytes.__mul__, st.sampled_from([b"[", b'{"a":']), st.integers(1, 15_000))
    | st.builds(nested, st.sampled_from(NAMES), st.integers(1, 1500))
    | CHANGED.map(lambda more: json.dumps({**LABEL, **more}).encode())
)


def test_whatever_is_posted_is_answered_in_one_line(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    @given(body=BODIES)
    def check(body: bytes) -> None:
        status, _, answer = site.ask(body=body)
        assert status in (200, 400)
        said = json.loads(answer)
        assert ("error" in said) == (status == 400)
        assert "\n" not in said.get("error", "")

    check()
    assert capfd.readouterr().err == ""


def test_a_line_of_the_log_that_is_nested_too_deep_is_left_out(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "set")
    session = label_set(folder, rater="anna")
    session.answer({**LABEL})
    with (folder / "labelling.jsonl").open("ab") as log:
        log.write(b"[" * 90_000 + b"\n")
    assert label_set(folder, rater="anna").n_labels == 1


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_other_computers_are_served_by_tls_alone(tmp_path: Path) -> None:
    pem, session = tmp_path / "lab.pem", label_set(write_tiny(tmp_path / "set"), rater="anna")
    make = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=lab -addext subjectAltName=DNS:localhost"
    subprocess.run([*make.split(), "-keyout", pem, "-out", pem], check=True, capture_output=True)
    trusted = ssl.create_default_context(cafile=pem)
    with serving(label_server(session, host="localhost", certificate=pem)) as server:
        origin, path = server.address.removesuffix("/").rsplit("/", 1)
        port = server.server_port
        # One who says nothing holds up nobody.
        with socket.create_connection(("localhost", port)):
            safe = http.client.HTTPSConnection("localhost", port, context=trusted, timeout=60)
            with contextlib.closing(safe):
                safe.request("POST", f"/{path}/", json.dumps(LABEL).encode(), {"Origin": origin})
                assert json.load(safe.getresponse())["undo"]
        plain = http.client.HTTPConnection("localhost", port, timeout=60)
        with contextlib.closing(plain):
            plain.request("GET", f"/{path}/")
            with pytest.raises((ConnectionError, http.client.HTTPException)):
                plain.getresponse()
    for host, certificate, wrong in (
        ("localhost", None, "--host and --certificate go together"),
        (None, pem, "--host and --certificate go together"),
        ("localhost", tmp_path / "set" / "dataset.yaml", "is no PEM file"),
        ("localhost", tmp_path / "none.pem", "is no PEM file"),
        ("192.0.2.1", pem, "of 192.0.2.1 cannot be used"),
    ):
        with pytest.raises(MetaevalError, match=wrong):
            label_server(session, host=host, certificate=certificate)


def test_labels_at_once_are_all_kept(site: Site) -> None:
    def label(at: int) -> None:
        said: dict[str, Any] = {**LABEL, "at": at}
        assert site.ask(body=json.dumps(said).encode())[0] == 200

    threads = [threading.Thread(target=label, args=(at,)) for at in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert site.labelled() == 12
