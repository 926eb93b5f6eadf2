"""A report's payload → one HTML page that works from disk, fetches nothing and trusts no text."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from metaeval.base.errors import MetaevalError

_ASSETS = Path(__file__).parent / "assets"

APP = (
    *("ui", "format", "data", "board", "route", "theme", "controls", "download", "table"),
    *("data_table", "axis", "chart_look", "chart", "glossary", "leaderboard", "one_column"),
    *("all_cells", "groups", "group_summary", "unit_list", "calls", "unit", "figures", "details"),
    *("about", "shell", "start"),
)
"""The files of the app, in the order in which they stand in its one script."""

_PAYLOAD = re.compile(r'(?<=id="payload">)[^<]+')
_MARK = "document.documentElement.classList.add('js')"
"""Hides the plain tables before they are painted; the app takes the mark away where it cannot start."""


def report_page(payload: Mapping[str, Any], *, static: str = "") -> str:
    """Return a page that shows what `metaeval.reports.report.model.Report.payload` returned.

    Nothing in it is fetched, and its content security policy lets only its own scripts run, so that a script
    in a text or a reply would stay text even if it were put into the page as markup. The same payload gives
    the same bytes. ``static`` is HTML, escaped already, for readers whose browser runs no scripts.
    `ValueError` is raised if the payload holds NaN or an infinity, which JSON does not have.
    """
    vendor, app = _asset("vendor/vendor.min.js"), _app()
    return Template(_asset("page.html")).substitute(
        policy=_policy(_MARK, vendor, f"\n{app}"),
        title=html.escape(str(payload["title"])),
        style=_asset("app.css"),
        mark=_MARK,
        static=static,
        payload=_packed(payload),
        licences=_asset("vendor/LICENSES.txt"),
        vendor=vendor,
        app=app,
    )


def with_sheets(
    page: str,
    view: str,
    sheets: Sequence[Mapping[str, Any]],
    figures: Sequence[Mapping[str, Any]] = (),
    within: Mapping[str, Mapping[str, float]] | None = None,
) -> str:
    """Return a page with other sheets in a view; what it shows without scripts stays.

    ``sheets`` are what `metaeval.reports.report.model.sheets_payload` returned, ``figures`` take the place of
    those of the same name. ``within`` (evaluator → what is rated → half-width) is shown with each unit.
    """
    payload = payload_of(page)
    payload["sheets"] = [s for s in payload["sheets"] if s.get("view") != view] + [*sheets]
    payload["figures"] = [f for f in payload["figures"] if f["name"] not in {g["name"] for g in figures}]
    payload["figures"] += figures
    if within is not None:
        payload["within"] = within
    packed = _packed(payload)
    return _PAYLOAD.sub(lambda _: packed, page, count=1)


def payload_of(page: str) -> dict[str, Any]:
    """Return the payload of a page that `report_page` returned; raise `MetaevalError` if it is none."""
    payload = _PAYLOAD.search(page)
    if payload is None:
        raise MetaevalError("the page is not a report of metaeval; run the study again to write one")
    return dict(json.loads(gzip.decompress(base64.b64decode(payload[0]))))


def _packed(payload: Mapping[str, Any]) -> str:
    """Return JSON, compressed, as characters that mean nothing in HTML."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone surrogate, which JSON texts may hold, is no UTF-8.
    packed = gzip.compress(text.encode("utf-8", errors="replace"), compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode("ascii")


def _policy(*scripts: str) -> str:
    """Return a content security policy under which these inline scripts run and nothing else."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@functools.cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


@functools.cache
def _app() -> str:
    return "\n".join(_asset(f"app/{name}.js") for name in APP)
