"""The pages of ``metaeval site``: all evaluators of all studies, and a page per study."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metaeval.engine.sheet import value_text
from metaeval.reports import escapes
from metaeval.reports.sheets import cells
from metaeval.reports.templates import template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from metaeval.reports.leaderboards import Leaderboard
    from metaeval.runs.record import Record

_WHAT = {
    "leaderboard.json": "the ranking and all estimates",
    "study.yaml": "the study, to run again",
    "record.json": "versions, fingerprints, signatures and options",
    "citation.bib": "how to cite it",
}
"""Each file that the site adds to those of the run → what it holds."""


@dataclass(frozen=True, slots=True, eq=False)
class SitePage:
    """A study of the site."""

    name: str
    """Of its folder."""
    title: str
    """That of no other study of the site."""
    record: Record
    board: Leaderboard
    study_file: str
    copied: Sequence[str]
    """Names of the run's files that are part of the site."""
    folder: Path
    """Of the run."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row per evaluator, the best first: what the index and its files hold."""
        ranking, record = self.board.ranking, self.record
        if ranking is None:
            return []
        (at,) = (i for i, c in enumerate(ranking.columns) if c.name == "estimate")
        printed = [row[at] for row in cells(ranking)]
        simulated = record.simulation
        return [
            {
                "study": self.title,
                "kind": record.study.kind,
                "dataset": record.data.name,
                "evaluator": row["evaluator"],
                "label": row["label"],
                "block": str(record.kinds[row["evaluator"]]),
                "measure": ranking.columns[at].title,
                "ordered_by": ", ".join(record.order.values()),
                "rank": row["rank"],
                "cluster": row.get("cluster", ""),
                "estimate": row["estimate"],
                "ci_low": row["ci_low"],
                "ci_high": row["ci_high"],
                "printed": shown,
                "usd_per_text": (usd := row.get("usd_per_text")),
                "printed_usd": value_text(usd, "usd"),
                "units": record.data.units,
                "simulated": simulated.among([row["evaluator"]]).what,
                "page": f"studies/{self.name}/index.html",
            }
            for row, shown in zip(ranking.frame.to_dict("records"), printed, strict=True)
        ]

    @property
    def ordered(self) -> str:
        """What orders the evaluators."""
        return self.board.ranking.notes[0] if self.board.ranking else ""

    @property
    def files(self) -> list[tuple[str, str]]:
        """Each file to download, and what it holds, where its name does not say it."""
        return [*((name, "") for name in self.copied), *_WHAT.items()]

    @property
    def signatures(self) -> dict[str, str]:
        """Each evaluator, and what its scores depend on."""
        return {
            name: json.dumps(dict(known), ensure_ascii=False, sort_keys=True, default=str)
            for name, known in self.record.signatures.items()
        }

    @property
    def citation(self) -> str:
        """The run as an entry of BibTeX, with the source and the licence of its data set."""
        data, record = self.record.data, self.record
        source = f" Source: {data.source.rstrip('.')}." if data.source else ""
        licence = f" Licence: {data.licence}." if data.licence else ""
        fields = {
            "title": f"{{{escapes.latex(self.title)}}}",
            "year": record.finished[:4],
            "howpublished": f"Made with metaeval {record.metaeval}",
            "note": escapes.latex(
                f"{record.simulation.warning} Data set: {data.name}, SHA-256 {data.fingerprint[:16]}."
                f"{source}{licence}".strip()
            ),
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
        return "\n".join([f"@misc{{{self.name},", *lines, "}"]) + "\n"


def site_index(title: str, pages: Sequence[SitePage], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the list of studies and the table of all evaluators, to search, filter and sort."""
    return template("site_index.html").render(title=title, pages=pages, rows=rows)


def site_study(page: SitePage) -> str:
    """Return the page of a study: its tables, files, how it was made, and how to cite it."""
    return template("site_study.html").render(page=page, record=page.record, tables=page.board.to_html())
