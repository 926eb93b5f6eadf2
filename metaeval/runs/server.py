"""A web server for runs and for labels: for this computer alone, or with TLS for others too."""

from __future__ import annotations

import contextlib
import re
import secrets
import socketserver
import ssl
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from metaeval.base.errors import MetaevalError
from metaeval.reports import template

_LOOPBACK = "127.0.0.1"
_HOST = r"(127\.0\.0\.1|localhost|\[::1\]|{})(:[0-9]{{1,5}})?"
"""Allowed Host headers, with the host: another name that leads here (DNS rebinding) is refused. Any
port is allowed, so that one can be forwarded."""
_HEADERS = {
    # A report is self-contained: it may load nothing, and only these pages may frame it.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
        "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_POSTING = "; connect-src 'self'"
"""A page that posts may ask its own server, and no one else."""
_FOREIGN = "; sandbox allow-scripts allow-downloads"
"""What others may have made has an origin of its own: it can read and frame no other page."""
_LONGEST = 100_000  # bytes of a post
_SECONDS = 30  # after which a silent connection is closed


class Page(NamedTuple):
    """An answer."""

    body: bytes
    type: str = "text/html; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK
    foreign: bool = False
    """Whether others may have made it, such as the report of a run."""

    @classmethod
    def of(cls, html: str) -> Page:
        """Make a page of HTML."""
        return cls(html.encode("utf-8", "replace"))

    @classmethod
    def message(cls, status: HTTPStatus, sentence: str) -> Page:
        """Make a page with the reason why something is not shown."""
        html = template("view_message.html").render(title=status.phrase, sentence=sentence)
        return cls.of(html)._replace(status=status)


REFUSED = Page(
    b"Open the whole address that the terminal shows.", "text/plain; charset=utf-8", HTTPStatus.FORBIDDEN
)


def new_secret() -> str:
    """Return a part of an address that nobody guesses."""
    return secrets.token_urlsafe(24)


class LocalServer(ThreadingHTTPServer):
    """Sends the pages of a site to browsers on this computer.

    Parameters
    ----------
    sites
        Secret (see `new_secret`) → what shows the pages whose paths begin with it: the rest of the path
        (percent-encoded, without the query) → page. It is called from several threads. Other paths are
        refused, as other users of this computer can ask for them. The first is the one to open.
    post
        Secret → what answers the posts of its page; without it the sites can only be read.
    host, certificate
        The name or address at which other computers reach this one, and the file with the certificate and
        its key (PEM), without which it is not served to them.
    """

    def __init__(
        self,
        sites: Mapping[str, Callable[[str], Page]],
        port: int = 0,
        post: Mapping[str, Callable[[bytes], Page]] | None = None,
        *,
        host: str | None = None,
        certificate: Path | None = None,
    ) -> None:
        self.sites, self.post, self.host = sites, post or {}, host or _LOOPBACK
        self.scheme = "https" if certificate else "http"
        if bool(host) != bool(certificate):
            raise MetaevalError("--host and --certificate go together, so that nobody on the way reads along")
        try:
            super().__init__((self.host, port), _Handler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            at = f" of {host}" if host else ""
            raise MetaevalError(
                f"port {port}{at} cannot be used ({why}); give another --port, or leave it out for a free one"
            ) from error
        if certificate:
            try:
                context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
                context.load_cert_chain(certificate)
            except OSError as error:
                self.server_close()
                raise MetaevalError(f"{certificate} is no PEM file of a certificate and its key") from error
            # The handshake is left to the thread of the request, so that nobody holds up the others.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def address(self) -> str:
        """Where a browser finds the first site."""
        return self.addresses[0]

    @property
    def addresses(self) -> list[str]:
        """Where a browser finds each site."""
        return [f"{self.scheme}://{self.host}:{self.server_port}/{secret}/" for secret in self.sites]

    def show(self, *, browser: bool, ready: Callable[[str], object]) -> None:
        """Serve until it is interrupted (Ctrl-C); ``ready`` is called with the address before that.

        Other users of this computer see what a browser was started with, so it is given a file that leads to
        the address, which they cannot read.
        """
        with (
            contextlib.suppress(KeyboardInterrupt),
            tempfile.TemporaryDirectory(prefix="metaeval-") as folder,
        ):
            ready(self.address)
            if browser:
                file = Path(folder) / "open.html"
                to = f'<meta http-equiv="refresh" content="0; url={self.address}">'
                file.write_text(to, encoding="utf-8")
                # In a thread: a browser in the terminal would keep the server from answering it.
                threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
            self.serve_forever(poll_interval=0.1)

    def server_bind(self) -> None:
        """Bind without looking up the name of this computer."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.host, int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in the base class
        """Ignore a browser that went away."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError | ssl.SSLError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    timeout: ClassVar[int] = _SECONDS

    def do_GET(self) -> None:
        self._answer(self._page())

    def do_HEAD(self) -> None:
        self._answer(self._page())

    def do_POST(self) -> None:
        if not self.server.post:
            self.send_error(HTTPStatus.NOT_IMPLEMENTED)
        else:
            self._answer(self._posted())

    def _page(self) -> Page:
        if refused := self._misdirected():
            return refused
        root, _, rest = self.path.partition("?")[0].partition("/")
        secret, slash, rest = rest.partition("/")
        site = self.server.sites.get(secret) if slash and not root else None
        return site(slash + rest) if site else REFUSED

    def _posted(self) -> Page:
        origins = self.headers.get_all("Origin") or []
        length = self.headers.get("Content-Length", "")
        if refused := self._misdirected():
            return refused
        post = self.server.post.get(self.path[1:-1]) if self.path.endswith("/") else None
        if post is None:
            return REFUSED
        if origins and origins != [f"{self.server.scheme}://{self.headers['Host'].strip()}"]:
            return Page.message(HTTPStatus.FORBIDDEN, "Pages of other sites may not change anything here.")
        if not (length.isascii() and length.isdigit()):
            return Page.message(HTTPStatus.LENGTH_REQUIRED, "The length of the request is not known.")
        if len(length) > len(str(_LONGEST)) or int(length) > _LONGEST:
            return Page.message(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too long.")
        return post(self.rfile.read(int(length)))

    def _misdirected(self) -> Page | None:
        hosts = self.headers.get_all("Host") or []
        host = self.server.host
        if len(hosts) == 1 and re.fullmatch(_HOST.format(re.escape(host)), hosts[0].strip(), re.IGNORECASE):
            return None
        return Page.message(HTTPStatus.MISDIRECTED_REQUEST, f"These pages are shown only at {host}.")

    def _answer(self, page: Page, **headers: str) -> None:
        self.send_response(page.status)
        length = {"Content-Type": page.type, "Content-Length": str(len(page.body))}
        allowed = dict(_HEADERS)
        if self.server.post:
            allowed["Content-Security-Policy"] += _POSTING
        if page.foreign:
            allowed["Content-Security-Policy"] += _FOREIGN
            del allowed["Cross-Origin-Opener-Policy"]  # browsers show no page that has both
        for name, value in {**length, **allowed, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer bad requests, and methods without a ``do_…``."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            refused = Page.message(HTTPStatus.METHOD_NOT_ALLOWED, "Runs can be read here, not changed.")
            self._answer(refused, Allow="GET, HEAD")
        else:
            status = HTTPStatus(code)
            self._answer(Page.message(status, explain or status.description or status.phrase))

    def version_string(self) -> str:
        """Return the name of the server, without versions."""
        return "metaeval"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Print nothing: the terminal has the address."""
