"""A static site of finished runs: pages and files for any web host, written whole or not at all."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pandas as pd
from ruamel.yaml import YAML

from metaeval import __version__
from metaeval.base.errors import MetaevalError
from metaeval.base.files import replacing_folder, write_text
from metaeval.base.formulas import to_csv
from metaeval.base.progress import progress
from metaeval.reports.latex import label_of
from metaeval.runs.folder import LEADERBOARDS, REPORT, read_output, read_record
from metaeval.runs.joint import run_names
from metaeval.study.commands.site_pages import SitePage, site_index, site_study
from metaeval.study.results import read_board
from metaeval.study.steps import leaderboard_records, records

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.runs.record import Record

MARK = "site.json"
"""What tells a site from any other folder."""
_INDEX, _STUDIES, _CSV, _JSON = "index.html", "studies", "leaderboard.csv", "leaderboard.json"
_MADE = ("metaeval", "python", "libraries", "started", "finished", "data", "truth", "evaluators", "policy")
_SHOWN = ("label", "printed", "printed_usd")
_OWN = ("store", "study_id")  # options of judging that are about the computer, not the study


def write_site(
    folders: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], *, title: str = "Leaderboards"
) -> Path:
    """Write a static site of finished runs; return the path of its first page.

    Parameters
    ----------
    folders
        Of the runs.
    out
        The folder of the site: new, empty, or a site that was written here before, which is replaced. What
        others put beside it, such as ``CNAME`` or ``.git``, stays.
    title
        Of the first page.

    Raises
    ------
    MetaevalError
        If there is no run, one is not finished or was changed since, or ``out`` holds anything else.
    """
    target = Path(out)
    _check(target)
    if not folders:
        raise MetaevalError("there is nothing to publish; give one or more run folders")
    ours = {_INDEX, _STUDIES, _CSV, _JSON, MARK}
    with replacing_folder(target, ours) as site, progress("site", len(folders)) as advance:
        pages: list[SitePage] = []
        for name, folder in run_names(folders).items():
            page = _page(_short(name, [p.name for p in pages]), folder)
            _write_study(site / _STUDIES / page.name, page, folder)
            pages.append(page)
            advance()
        rows = [row for page in pages for row in page.rows]
        table = pd.DataFrame([{k: v for k, v in row.items() if k not in _SHOWN} for row in rows])
        write_text(site / _INDEX, site_index(title, pages, rows))
        write_text(site / _CSV, to_csv(table))
        write_text(site / _JSON, _json(records(table)))
        write_text(site / MARK, _json({"metaeval": __version__, "studies": [page.name for page in pages]}))
    return target / _INDEX


def _check(site: Path) -> None:
    """Refuse a folder that holds anything but a site."""
    if site.exists() and not site.is_dir():
        raise MetaevalError(f"{site} is a file; give a folder with --out")
    if Path.cwd().is_relative_to(site.resolve()):
        raise MetaevalError(f"{site} is replaced as a whole; change to another directory first")
    if site.is_dir() and any(site.iterdir()) and not (site / MARK).is_file():
        raise MetaevalError(
            f"{site} is not empty and is not a site of metaeval; give an empty or a new folder with --out"
        )


def _short(name: str, taken: Sequence[str]) -> str:
    """Return a name that any web host and file system takes."""
    plain = label_of(name).replace(":", "-").lstrip(".") or "study"
    return plain if plain not in taken else f"{plain}-{len(taken) + 1}"


def _page(name: str, folder: Path) -> SitePage:
    """Read a run, and see that it is as it was written."""
    record = read_record(folder)
    names = [PurePosixPath(n) for n in record.outputs]
    tables = {str(n) for n in names if n.suffix == ".csv" and len(n.parts) == 1 and not n.drive}
    kept = sorted({REPORT, *LEADERBOARDS, *tables} & {*record.outputs}, key=[*record.outputs].index)
    for file in (REPORT, *kept):
        read_output(folder, file, record)
    return SitePage(name, record, read_board(folder), _study_file(record), tuple(kept))


def _write_study(to: Path, page: SitePage, folder: Path) -> None:
    to.mkdir(parents=True)
    for file in page.copied:
        shutil.copyfile(folder / file, to / file)
    made = {key: value for key, value in page.record.content().items() if key in _MADE}
    write_text(to / _INDEX, site_study(page))
    write_text(to / _JSON, _json(leaderboard_records(page.board)))
    write_text(to / "study.yaml", page.study_file)
    write_text(
        to / "record.json", _json({**made, "outputs": {f: page.record.outputs[f] for f in page.copied}})
    )
    write_text(to / "citation.bib", page.citation)


def _study_file(record: Record) -> str:
    """Return the study as a file to run again, without what is about a computer."""
    given = record.study.content()
    study = _said(given) | {key: None for key in ("bootstrap", "tests") if given.get(key, "") is None}
    study["judging"] = {k: v for k, v in study.get("judging", {}).items() if k not in _OWN and v != {}}
    if Path(record.study.dataset).is_absolute():
        study["dataset"] = record.data.name
    stream = io.StringIO()
    yaml = YAML()
    yaml.width = 1000
    yaml.dump({key: value for key, value in study.items() if value not in ({}, [])}, stream)
    return stream.getvalue()


def _said(value: Any) -> Any:  # noqa: ANN401 - any part of a study file
    if isinstance(value, dict):
        return {key: _said(one) for key, one in value.items() if one is not None}
    return [*map(_said, value)] if isinstance(value, list) else value


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
