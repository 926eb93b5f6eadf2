"""A web server for this computer alone, on which runs are viewed and units labelled."""

from __future__ import annotations

import contextlib
import re
import socketserver
import sys
import tempfile
import threading
import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from metaeval.base.errors import MetaevalError
from metaeval.reports.view_pages import message_page

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOPBACK = "127.0.0.1"
_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
"""Allowed Host headers: another name that leads here (DNS rebinding) is refused. Any port is allowed, so that
one can be forwarded."""
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
_LONGEST = 100_000  # bytes of a post
_SECONDS = 30  # after which a silent connection is closed


class Page(NamedTuple):
    """An answer."""

    body: bytes
    type: str = "text/html; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK

    @classmethod
    def of(cls, html: str) -> Page:
        """Make a page of HTML."""
        return cls(html.encode("utf-8", "replace"))

    @classmethod
    def message(cls, status: HTTPStatus, sentence: str) -> Page:
        """Make a page with the reason why something is not shown."""
        return cls.of(message_page(status.phrase, sentence))._replace(status=status)


class LocalServer(ThreadingHTTPServer):
    """Sends the pages of a site to browsers on this computer.

    Parameters
    ----------
    site
        Path as asked for (percent-encoded, without the query) → page. It is called from several threads.
    port
        0 for any free one.
    post
        Path and body of what a page of the site posts → answer; without it the site can only be read. Posts
        of pages from elsewhere are refused.

    Raises
    ------
    MetaevalError
        If the port cannot be used.
    """

    def __init__(
        self,
        site: Callable[[str], Page],
        port: int = 0,
        post: Callable[[str, bytes], Page] | None = None,
    ) -> None:
        self.site, self.post = site, post
        try:
            super().__init__((_LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise MetaevalError(
                f"port {port} cannot be used ({why}); give another --port, or leave it out for a free one"
            ) from error

    @property
    def address(self) -> str:
        """Where a browser finds the site."""
        return f"http://{_LOOPBACK}:{self.server_address[1]}/"

    def show(self, *, path: str = "", browser: bool, ready: Callable[[str], object]) -> None:
        """Serve until it is interrupted (Ctrl-C).

        Parameters
        ----------
        path
            Of the first page. It is secret: other users of this computer see what a browser was started with,
            so the browser is given a file that leads there, which they cannot read.
        browser
            Whether to open a browser.
        ready
            Called with the address once the server answers.
        """
        with (
            contextlib.suppress(KeyboardInterrupt),
            tempfile.TemporaryDirectory(prefix="metaeval-") as folder,
        ):
            address = self.address + path
            ready(address)
            if browser:
                if path:
                    address = _leading_to(address, Path(folder))
                # In a thread: a browser in the terminal would keep the server from answering it.
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            self.serve_forever(poll_interval=0.1)

    def server_bind(self) -> None:
        """Bind without looking up the name of this computer."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = _LOOPBACK, int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in the base class
        """Ignore a browser that went away."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def _leading_to(address: str, folder: Path) -> str:
    """Return the address of a file, in a folder that nobody else can read, which leads to an address."""
    file = folder / "open.html"
    file.write_text(f'<meta http-equiv="refresh" content="0; url={address}">', encoding="utf-8")
    return file.as_uri()


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    timeout: ClassVar[int] = _SECONDS

    def do_GET(self) -> None:
        self._answer(self._page())

    def do_HEAD(self) -> None:
        self._answer(self._page())

    def do_POST(self) -> None:
        if self.server.post is None:
            self.send_error(HTTPStatus.NOT_IMPLEMENTED)
        else:
            self._answer(self._posted(self.server.post))

    def _page(self) -> Page:
        return self._misdirected() or self.server.site(self.path.partition("?")[0])

    def _posted(self, post: Callable[[str, bytes], Page]) -> Page:
        origins = self.headers.get_all("Origin") or []
        length = self.headers.get("Content-Length", "")
        if refused := self._misdirected():
            return refused
        if origins and origins != [f"http://{self.headers['Host'].strip()}"]:
            return Page.message(HTTPStatus.FORBIDDEN, "Pages of other sites may not change anything here.")
        if not (length.isascii() and length.isdigit()):
            return Page.message(HTTPStatus.LENGTH_REQUIRED, "The length of the request is not known.")
        if int(length) > _LONGEST:
            return Page.message(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too long.")
        return post(self.path.partition("?")[0], self.rfile.read(int(length)))

    def _misdirected(self) -> Page | None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) == 1 and _HOST.fullmatch(hosts[0].strip()):
            return None
        return Page.message(
            HTTPStatus.MISDIRECTED_REQUEST,
            f"These pages are shown only at {self.server.address}.",
        )

    def _answer(self, page: Page, **headers: str) -> None:
        self.send_response(page.status)
        length = {"Content-Type": page.type, "Content-Length": str(len(page.body))}
        allowed = dict(_HEADERS)
        if self.server.post:
            allowed["Content-Security-Policy"] += _POSTING
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
