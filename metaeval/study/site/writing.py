"""A static site of finished runs: pages and files for any web host, written whole or not at all."""

from __future__ import annotations

import io
import itertools
import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pandas as pd
from ruamel.yaml import YAML

from metaeval import __version__
from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.files import replacing_folder, write_text
from metaeval.base.formulas import to_csv
from metaeval.base.progress import progress
from metaeval.reports import escapes
from metaeval.reports.latex import label_of
from metaeval.reports.report.page import payload_of, with_payload
from metaeval.runs.folder import LEADERBOARDS, REPORT, digest_of, read_output, read_record
from metaeval.study.results import read_board
from metaeval.study.site.pages import SitePage, site_index, site_study
from metaeval.study.site.people import Pseudonyms, addresses_in
from metaeval.study.steps import leaderboard_records, records

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Sequence

    from metaeval.runs.record import Record

MARK = "site.json"
"""What tells a site from any other folder."""
_INDEX, _STUDIES, _CSV, _JSON = "index.html", "studies", "leaderboard.csv", "leaderboard.json"
_MADE = ("metaeval", "python", "libraries", "started", "finished", "data", "truth", "evaluators", "policy")
_SHOWN = ("label", "printed", "printed_usd")
_OWN = ("store", "study_id")  # options of judging that are about the computer, not the study


def write_site(
    folders: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    title: str = "Leaderboards",
    pseudonyms: bool = False,
    with_addresses: bool = False,
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
    pseudonyms
        Whether to write u1, u2, … for the ids of users.
    with_addresses
        Whether e-mail addresses may be published; those in the source and the licence of the data always may.

    Raises
    ------
    MetaevalError
        If there is no run, one is not finished or was changed since, a file shows e-mail addresses, or
        ``out`` holds anything else.
    """
    target = Path(out)
    _check(target)
    if not folders:
        raise MetaevalError("there is nothing to publish; give one or more run folders")
    ours = {_INDEX, _STUDIES, _CSV, _JSON, MARK}
    names = Pseudonyms() if pseudonyms else None
    with replacing_folder(target, ours) as site, progress("site", len(folders)) as advance:
        pages: list[SitePage] = []
        for folder in folders:
            pages.append(_page(Path(folder), pages, names))
        titles = Counter(page.title for page in pages)
        pages = [replace(p, title=f"{p.title} ({p.name})") if titles[p.title] > 1 else p for p in pages]
        for page in pages:
            _write_study(site / _STUDIES / page.name, page, names, with_addresses=with_addresses)
            advance()
        rows = [row for page in pages for row in page.rows]
        table = pd.DataFrame([{k: v for k, v in row.items() if k not in _SHOWN} for row in rows])
        write_text(site / _INDEX, site_index(title, pages, rows))
        write_text(site / _CSV, to_csv(table))
        write_text(site / _JSON, _json(records(table)))
        write_text(site / MARK, _json({"metaeval": __version__, "studies": [page.name for page in pages]}))
        if names:
            names.files(site)
    return target / _INDEX


def studies_of(site: Path) -> list[str]:
    """Return the names of the studies of a site that is there; none if there is no site."""
    try:
        return list(json.loads((site / MARK).read_text(encoding="utf-8"))["studies"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


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


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name, with the first number from 2 on that makes it another than those taken."""
    numbered = (f"{name}-{n}" for n in itertools.count(2))
    return next(one for one in itertools.chain([name], numbered) if one not in taken)


def _page(folder: Path, before: Sequence[SitePage], names: Pseudonyms | None) -> SitePage:
    """Read a run, and see that it is as it was written."""
    record = read_record(folder)
    files = [PurePosixPath(n) for n in record.outputs]
    tables = {str(n) for n in files if n.suffix == ".csv" and len(n.parts) == 1 and not n.drive}
    kept = sorted({REPORT, *LEADERBOARDS, *tables} & {*record.outputs}, key=[*record.outputs].index)
    for file in (REPORT, *kept):
        read_output(folder, file, record)
    # Names that any web host and file system takes, and that stay when other runs are added.
    plain = label_of(folder.resolve().name).replace(":", "-").lstrip(".") or "study"
    name = _free(plain, {page.name for page in before})
    return SitePage(
        name, record.title, record, read_board(folder), _study_file(record, names), tuple(kept), folder
    )


def _write_study(to: Path, page: SitePage, names: Pseudonyms | None, *, with_addresses: bool) -> None:
    to.mkdir(parents=True)
    for file in page.copied:
        shutil.copyfile(page.folder / file, to / file)
    report = (to / REPORT).read_text(encoding="utf-8")
    payload = payload_of(report)
    if names:
        payload = names.payload(payload)
        write_text(to / REPORT, with_payload(report, payload))
    write_text(to / _INDEX, site_study(page))
    write_text(to / _JSON, _json(leaderboard_records(page.board)))
    write_text(to / "study.yaml", page.study_file)
    write_text(to / "citation.bib", page.citation)
    if names:
        names.files(to)
    made = {key: value for key, value in page.record.content().items() if key in _MADE}
    facts = _json({**made, "outputs": {f: digest_of(to / f) for f in page.copied}})
    write_text(to / "record.json", names.text(facts) if names else facts)
    data = page.record.data
    forms = (str, _json, escapes.latex)  # in which it is written
    of_authors = addresses_in(form(said) for said in (data.source, data.licence) for form in forms)
    texts = [_json(payload), *(file.read_text(encoding="utf-8") for file in sorted(to.iterdir()))]
    found = [address for address in addresses_in(texts) if address not in of_authors]
    if found and not with_addresses:
        how = "take them out of the data" if names else "replace ids of users with --pseudonyms"
        raise MetaevalError(
            f"the run {page.folder} shows {counted(len(found), 'e-mail address', 'e-mail addresses')}, "
            f"such as {found[0]}: {how}, or publish them with --with-addresses"
        )


def _study_file(record: Record, names: Pseudonyms | None) -> str:
    """Return the study as a file to run again, without what is about a computer."""
    given = names.study(record.study.content()) if names else record.study.content()
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
