"""Finished runs in a browser: their list, reports and tests, and only files that they wrote."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote

from metaeval.base.errors import MetaevalError
from metaeval.reports.sheets import sheet_to_html
from metaeval.reports.templates import template
from metaeval.runs.comparison import compare_runs
from metaeval.runs.folder import REPORT, read_output, read_record
from metaeval.runs.joint import run_names
from metaeval.runs.record import Record
from metaeval.runs.server import LocalServer, Page, new_secret

_TEXTS = {".html": "html", ".csv": "csv", ".md": "markdown", ".tex": "plain"}
_TYPES = {
    **{suffix: f"text/{kind}; charset=utf-8" for suffix, kind in _TEXTS.items()},
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".parquet": "application/vnd.apache.parquet",
}


def view_runs(
    folders: Sequence[str | os.PathLike[str]],
    *,
    port: int = 0,
    browser: bool = True,
    ready: Callable[[str], object] = print,
) -> None:
    """Show finished runs on this computer until it is interrupted (Ctrl-C).

    Port 0 is any free one; ``ready`` is called with the address once the server answers.
    """
    runs = ViewedRuns.of(folders)
    with LocalServer(runs.sites, port) as server:
        server.show(browser=browser, ready=ready)


@dataclass(frozen=True, slots=True)
class Card:
    """What the list says of a run."""

    name: str
    report: str
    """Address of its report."""
    record: Record | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Name of each file that the run wrote → its address."""
    problem: str = ""
    """Why the run cannot be shown; then nothing else is known of it."""


@dataclass(frozen=True, slots=True, eq=False)
class ViewedRuns:
    """Runs as pages, read from their folders when they are asked for."""

    folders: Mapping[str, Path]
    """Short name → folder."""
    _secrets: Mapping[str, str]
    """Short name → what addresses of its files begin with: a report cannot tell those of other runs."""

    @classmethod
    def of(cls, folders: Sequence[str | os.PathLike[str]]) -> ViewedRuns:
        """Take finished runs; raise `MetaevalError` if there is none, or one is not finished."""
        if not folders:
            raise MetaevalError("there is nothing to show; give one or more run folders")
        named = run_names(folders)
        for path in named.values():
            read_output(path, REPORT)
        return cls(named, {name: new_secret() for name in named})

    @property
    def sites(self) -> dict[str, Callable[[str], Page]]:
        """The pages around the runs, and the files of each run, by a secret."""
        files = {self._secrets[name]: partial(_file, folder) for name, folder in self.folders.items()}
        return {new_secret(): self.page, **files}

    def page(self, path: str) -> Page:
        """Return the page at a path, which is percent-encoded."""
        several = len(self.folders) > 1
        match path:
            case "/":
                return Page.of(template("view_index.html").render(cards=self._cards()))
            case "/side-by-side" if several:
                return Page.of(template("view_side_by_side.html").render(cards=self._cards()))
            case "/compare" if several:
                return Page.of(self._comparison())
        return Page.message(HTTPStatus.NOT_FOUND, "This page does not exist.")

    def _cards(self) -> list[Card]:
        return [_card(name, folder, self._secrets[name]) for name, folder in self.folders.items()]

    def _comparison(self) -> str:
        try:
            sections = [sheet_to_html(sheet) for sheet in compare_runs([*self.folders.values()])]
        except MetaevalError as error:
            title = "These runs are not compared"
            return template("view_message.html").render(title=title, sentence=str(error))
        return template("view_compare.html").render(sections=sections)


def _file(folder: Path, path: str) -> Page:
    """Return a file of a run, unless it changed since the run wrote it."""
    name = unquote(path[1:])
    try:
        if name not in _written(read_record(folder)):
            return Page.message(HTTPStatus.NOT_FOUND, "The run has no such file.")
        if not (folder / name).resolve().is_relative_to(folder.resolve()):
            return Page.message(
                HTTPStatus.FORBIDDEN, "This link leads out of the run's folder; it is not followed."
            )
        body = read_output(folder, name).read_bytes()
    except (MetaevalError, OSError) as error:
        return Page.message(HTTPStatus.SERVICE_UNAVAILABLE, f"The run cannot be shown: {error}.")
    return Page(body, _TYPES.get(PurePosixPath(name).suffix, "application/octet-stream"), foreign=True)


def _written(record: Record) -> list[str]:
    """Return the outputs that lie in the run's folder: a record from elsewhere may name any path."""
    names = [PurePosixPath(name) for name in record.outputs]
    return [str(n) for n in names if not n.is_absolute() and ".." not in n.parts and "\\" not in str(n)]


def _card(name: str, folder: Path, secret: str) -> Card:
    root = f"/{secret}/"
    try:
        read_output(folder, REPORT)
        record = read_record(folder)
    except (MetaevalError, OSError) as error:
        return Card(name, root + REPORT, problem=str(error))
    return Card(name, root + REPORT, record, {file: root + quote(file) for file in _written(record)})
