"""A static site of finished runs, for a web host or served on this computer: an index of their reports."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd

from metaeval.base import __version__
from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.files import write_text
from metaeval.base.formulas import to_csv
from metaeval.base.frames import json_rows
from metaeval.base.progress import progress
from metaeval.engine.sheet import Sheet, value_text
from metaeval.reports import template
from metaeval.reports.cells import cells
from metaeval.reports.latex import label_of
from metaeval.reports.report_model import payload_of
from metaeval.reports.sheets import render
from metaeval.runs.answer import read_answer
from metaeval.runs.finished import open_run
from metaeval.runs.folder import LEADERBOARDS, REPORT, read_output, read_record
from metaeval.runs.record import Record
from metaeval.runs.server import LocalServer, Page, new_secret

_INDEX, _STUDIES, _CSV, _JSON = "index.html", "studies", "leaderboard.csv", "leaderboard.json"
_MARK = "site.json"  # tells a site from any other folder
_LEDGER = "ledger.html"
_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".tex": "text/plain; charset=utf-8",
}
_SHOWN = ("label", "printed", "printed_usd")  # in the index, not in its files
# The last label of a domain has letters alone, or is "xn--" and their code; `sacrebleu@2.4.0` is no address.
# No match begins within a word, which keeps the search linear.
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.(?:xn--[\w-]+|[^\W\d_]{2,})")


@dataclass(frozen=True, slots=True, eq=False)
class SiteStudy:
    """A study of the site."""

    name: str
    """Of its folder there."""
    title: str
    folder: Path
    """Of the run."""
    record: Record
    answer: Sequence[str]
    """What it found, and of each judge."""
    ranking: Sheet
    files: Sequence[str]
    """The outputs of the run that are copied."""


def write_site(
    folders: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    title: str = "Leaderboards",
    with_addresses: bool = False,
    ledger: Sequence[Sheet] = (),
) -> Path:
    """Write a static site of finished runs; return the path of its first page.

    A site that is there is replaced; what others put beside it, such as ``CNAME`` or ``.git``, stays.
    ``with_addresses`` publishes e-mail addresses; those in the source and the licence of the data always are.
    ``ledger`` are the sheets of a page of its own.
    """
    target = Path(out)
    _check(target)
    if not folders:
        raise MetaevalError("there is nothing to publish; give one or more run folders")
    target.resolve().parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.resolve().parent) as place,
        progress("site", len(folders)) as advance,
    ):
        studies: list[SiteStudy] = []
        for folder in folders:
            studies.append(_study(Path(folder), [s.name for s in studies]))
            if not with_addresses:
                _refuse_addresses(studies[-1])
        titles = Counter(study.title for study in studies)
        studies = [replace(s, title=f"{s.title} ({s.name})") if titles[s.title] > 1 else s for s in studies]
        for study in studies:
            (copies := Path(place) / _STUDIES / study.name).mkdir(parents=True)
            for file in study.files:
                shutil.copyfile(study.folder / file, copies / file)
            advance()
        rows = [row for study in studies for row in _rows(study)]
        table = pd.DataFrame([{k: v for k, v in row.items() if k not in _SHOWN} for row in rows])
        mark = {"metaeval": __version__, "studies": [s.name for s in studies]}
        pages = {
            _INDEX: template("site.html").render(
                title=title, studies=studies, rows=rows, ledger=_LEDGER if ledger else ""
            ),
            _CSV: to_csv(table),
            _JSON: _json(json_rows(table)),
            _MARK: _json(mark),
            **({_LEDGER: render(ledger, "html")} if ledger else {}),
        }
        for name, text in pages.items():
            write_text(Path(place) / name, text)
        target.mkdir(exist_ok=True)
        shutil.rmtree(target / _STUDIES, ignore_errors=True)
        for name in (_STUDIES, *pages):
            (Path(place) / name).replace(target / name)
    return target / _INDEX


def studies_of(site: Path) -> list[str]:
    """Return the names of the studies of a site that is there; none if there is no site."""
    file = site / _MARK
    return json.loads(file.read_text(encoding="utf-8"))["studies"] if file.is_file() else []


def _check(site: Path) -> None:
    """Refuse a folder that holds anything but a site."""
    if site.exists() and not site.is_dir():
        raise MetaevalError(f"{site} is a file; give a folder with --out")
    if site.is_dir() and any(site.iterdir()) and not (site / _MARK).is_file():
        raise MetaevalError(
            f"{site} is not empty and is not a site of metaeval; give an empty or a new folder with --out"
        )


def view_runs(
    folders: Sequence[str | os.PathLike[str]],
    *,
    port: int = 0,
    browser: bool = True,
    ready: Callable[[str], object] = print,
) -> None:
    """Show the site of finished runs on this computer until it is interrupted (Ctrl-C).

    Port 0 is any free one; ``ready`` is called with the address once the server answers.
    """
    with tempfile.TemporaryDirectory(prefix="metaeval-") as site:
        write_site(folders, site, title="Runs", with_addresses=True)
        with site_server(Path(site), port) as server:
            server.show(browser=browser, ready=ready)


def site_server(site: Path, port: int = 0) -> LocalServer:
    """Return a server of the files that a site has now, and of no others."""
    files = {f"/{f.relative_to(site).as_posix()}": f for f in site.rglob("*") if f.is_file()}
    files["/"] = site / _INDEX

    def page(path: str) -> Page:
        if (file := files.get(unquote(path))) is None:
            return Page.message(HTTPStatus.NOT_FOUND, "This page does not exist.")
        return Page(file.read_bytes(), _TYPES[file.suffix], foreign=site / _STUDIES in file.parents)

    return LocalServer({new_secret(): page}, port)


def _study(folder: Path, names: Collection[str]) -> SiteStudy:
    """Open a run that is as it was written; its name is none of ``names``."""
    record = read_record(folder)
    tables = (n for n in record.outputs if n in LEADERBOARDS or (n.endswith(".csv") and Path(n).name == n))
    files = [REPORT, *tables]
    for file in files:
        if not read_output(folder, file, record).resolve().is_relative_to(folder.resolve()):
            raise MetaevalError(f"{folder / file} is a link that leads out of the run's folder")
    # Names that any web host and file system takes, and that stay when other runs are added.
    short = label_of(folder.resolve().name).replace(":", "-").lstrip(".") or "study"
    possible = itertools.chain([short], (f"{short}-{i}" for i in itertools.count(2)))
    name = next(n for n in possible if n not in names)
    answer = read_answer(folder, record).lines
    ranking = open_run(folder, scores=False).ranking
    return SiteStudy(name, record.title, folder, record, answer, ranking, files)


def _rows(study: SiteStudy) -> Iterator[dict[str, Any]]:
    """Yield a row per evaluator, the best first: what the index and its files hold."""
    ranking, record = study.ranking, study.record
    (at,) = (i for i, c in enumerate(ranking.columns) if c.name == "estimate")
    for row, printed in zip(ranking.frame.to_dict("records"), cells(ranking), strict=True):
        yield {
            "study": study.title,
            "kind": record.study.kind,
            "dataset": record.data.name,
            "evaluator": row["evaluator"],
            "label": row["label"],
            "block": str(record.kinds[row["evaluator"]]),
            "measure": ranking.columns[at].title,
            "ordered_by": ", ".join(record.order.values()),
            "rank": row["rank"],
            "rank_range": row.get("rank_range", ""),
            **{name: row[name] for name in ("estimate", "ci_low", "ci_high")},
            "printed": printed[at],
            "usd_per_text": (usd := row.get("usd_per_text")),
            "printed_usd": value_text(usd, "usd"),
            "units": record.data.units,
            "simulated": record.simulation.among([row["evaluator"]]).what,
            "page": f"{_STUDIES}/{study.name}/{REPORT}",
        }


def _refuse_addresses(study: SiteStudy) -> None:
    """Refuse a study whose files show e-mail addresses that are not in the source or licence of its data."""
    data = study.record.data
    texts = [(study.folder / file).read_text(encoding="utf-8") for file in study.files]
    texts.append(_json(payload_of(texts[0])))
    public = {*_ADDRESS.findall(f"{data.source} {data.licence} {_json([data.source, data.licence])}")}
    if private := [a for a in dict.fromkeys(_ADDRESS.findall("\n".join(texts))) if a not in public]:
        raise MetaevalError(
            f"the run {study.folder} shows {counted(len(private), 'e-mail address', 'e-mail addresses')}, "
            f"such as {private[0]}: take them out of the data, or publish them with --with-addresses"
        )


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
