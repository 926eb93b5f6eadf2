"""A page in a browser on which one person labels units."""

from __future__ import annotations

import hmac
import json
import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import DataError, MetaevalError
from metaeval.reports.view_pages import label_page
from metaeval.runs.server import LocalServer, Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.trust.labelling.label_session import LabelSession


def label_units(
    session: LabelSession, *, port: int = 0, browser: bool = True, ready: Callable[[str], object] = print
) -> None:
    """Let a person label units in a browser on this computer until it is interrupted (Ctrl-C).

    The address has a token, without which nothing is shown or changed.

    Parameters
    ----------
    session
        What is labelled, and by whom.
    port, browser, ready
        As of `metaeval.runs.viewer.view_runs`.

    Raises
    ------
    MetaevalError
        If the port cannot be used.
    """
    site = LabelSite(session)
    with LocalServer(site.page, port, site.post) as server:
        server.show(path=site.path[1:], browser=browser, ready=ready)


class LabelSite:
    """The one page of a session, and what it posts."""

    def __init__(self, session: LabelSession) -> None:
        self._session = session
        self.path = f"/{secrets.token_urlsafe(24)}/"

    def page(self, path: str) -> Page:
        """Return the page, at its own path only."""
        session = self._session
        return self._refused(path) or Page.of(label_page(session.data.name, session.rater))

    def post(self, path: str, body: bytes) -> Page:
        """Do what the page asks for; answer with what it shows next, or why it cannot be done."""
        if refused := self._refused(path):
            return refused
        try:
            return _json(self._session.answer(_request(body)))
        except (MetaevalError, OSError) as error:
            return _json({"error": str(error)})._replace(status=HTTPStatus.BAD_REQUEST)

    def _refused(self, path: str) -> Page | None:
        if hmac.compare_digest(path.encode(), self.path.encode()):
            return None
        sentence = b"Open the whole address that the terminal shows."
        return Page(sentence, "text/plain; charset=utf-8", HTTPStatus.FORBIDDEN)


def _request(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
    except ValueError:
        request = None
    if not isinstance(request, dict):
        raise DataError("the request must be a JSON object")
    return request


def _json(answer: object) -> Page:
    return Page(json.dumps(answer, allow_nan=False).encode(), "application/json")
