"""Finished runs in a browser: their list, reports and tests, and only files that they wrote."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from metaeval.base.errors import MetaevalError
from metaeval.reports.view_pages import Card, compare_page, index_page, message_page, side_by_side_page
from metaeval.runs.comparison import compare_runs
from metaeval.runs.folder import RECORD, REPORT, read_output, read_record
from metaeval.runs.joint import run_names
from metaeval.runs.server import LocalServer, Page

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from metaeval.runs.record import Record

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".tex": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".pdf": "application/pdf",
}
_ANY_TYPE = "application/octet-stream"


def view_runs(
    folders: Sequence[str | os.PathLike[str]],
    *,
    port: int = 0,
    browser: bool = True,
    ready: Callable[[str], object] = print,
) -> None:
    """Show finished runs on this computer until it is interrupted (Ctrl-C).

    Parameters
    ----------
    folders
        Of the runs.
    port
        On 127.0.0.1; 0 for any free one.
    browser
        Whether to open a browser.
    ready
        Called with the address once the server answers.

    Raises
    ------
    RunFolderError
        If a folder holds no finished run; nothing is served then.
    MetaevalError
        If there is no folder, or the port cannot be used.
    """
    runs = ViewedRuns.of(folders)
    with LocalServer(runs.page, port) as server:
        server.show(browser=browser, ready=ready)


@dataclass(frozen=True, slots=True, eq=False)
class ViewedRuns:
    """Runs as pages, read from their folders when they are asked for."""

    folders: Mapping[str, Path]
    """Short name → folder."""
    _compared: dict[tuple[bytes, ...], str] = field(default_factory=dict)
    """The records of the runs → their comparison; only the last one is kept."""
    _comparing: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, folders: Sequence[str | os.PathLike[str]]) -> ViewedRuns:
        """Take finished runs; raise `MetaevalError` if there is none, or one is not finished."""
        if not folders:
            raise MetaevalError("there is nothing to show; give one or more run folders")
        named = run_names(folders)
        for path in named.values():
            read_output(path, REPORT)
        return cls(named)

    def page(self, path: str) -> Page:
        """Return the page at a path, which is percent-encoded."""
        several = len(self.folders) > 1
        match path:
            case "/":
                return Page.of(index_page(self._cards()))
            case "/side-by-side" if several:
                return Page.of(side_by_side_page(self._cards()))
            case "/compare" if several:
                return Page.of(self._comparison())
        # Split before it is decoded: the name of a run may have a slash in it.
        root, _, rest = path.partition("/")
        run, _, file = rest.partition("/")
        folder = self.folders.get(unquote(run))
        if root or folder is None:
            return Page.message(HTTPStatus.NOT_FOUND, "This page does not exist.")
        return _file(folder, unquote(file))

    def _cards(self) -> list[Card]:
        return [_card(name, folder) for name, folder in self.folders.items()]

    def _comparison(self) -> str:
        """Compare the runs, unless that was done and none was run again since."""
        with self._comparing:
            key = tuple(_bytes(folder / RECORD) for folder in self.folders.values())
            if key not in self._compared:
                self._compared.clear()
                try:
                    self._compared[key] = compare_page(compare_runs([*self.folders.values()]))
                except MetaevalError as error:
                    self._compared[key] = message_page("These runs are not compared", str(error))
            return self._compared[key]


def _file(folder: Path, name: str) -> Page:
    """Return a file of a run, unless it changed since the run wrote it."""
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
    return Page(body, _TYPES.get(PurePosixPath(name).suffix, _ANY_TYPE))


def _written(record: Record) -> list[str]:
    """Return the outputs that lie in the run's folder: a record from elsewhere may name any path."""
    names = [PurePosixPath(name) for name in record.outputs]
    return [str(n) for n in names if not n.is_absolute() and ".." not in n.parts and "\\" not in str(n)]


def _card(name: str, folder: Path) -> Card:
    root = f"/{quote(name, safe='')}/"
    try:
        read_output(folder, REPORT)
        record = read_record(folder)
    except (MetaevalError, OSError) as error:
        return Card(name, root + REPORT, problem=str(error))
    return Card(
        name,
        root + REPORT,
        title=record.title,
        dataset=record.data.name,
        units=record.data.units,
        evaluators=len(record.evaluators),
        finished=record.finished,
        simulated=record.simulation,
        files={file: root + quote(file) for file in _written(record)},
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
