"""Leaderboards: the ranking and the tables of a board, and what is said around them, in each format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.formulas import to_csv
from metaeval.base.frames import html_heading
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.sheet import NOTHING, Sheet, value_text
from metaeval.reports import escapes, latex, plain
from metaeval.reports.sheets import latex_tables, sheet_to_html, sheet_to_markdown, sheet_to_text
from metaeval.reports.templates import template

ROWS = 60
"""Rows that a notebook shows at most, over all tables."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leaderboard:
    """Evaluators in order, and side by side, which can be written in each format."""

    tables: tuple[Sheet, ...]
    """All evaluators in all cells: what ``metaeval.engine.standings`` made."""
    frame: pd.DataFrame
    """A row per evaluator and cell, with ``block``, ``mark`` and ``printed``."""
    ranking: Sheet | None = None
    """The order by one cell, with intervals, rank clusters and costs."""
    policy: tuple[str, ...] = ()
    """Sentences on what was done with missing values, undefined groups and differing units."""
    title: str = ""
    dataset: str = ""
    truth: str = ""
    simulated: Simulation = REAL
    signatures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    """Sentences on calls of judges that brought no reply, which are said in capitals."""
    name: str = ""
    """Of the study or run; LaTeX labels begin with it, or with that of the data set."""

    @property
    def heading(self) -> str:
        """The title, or one that names the data set."""
        return self.title or (f"Evaluators on {self.dataset}" if self.dataset else "Evaluators")

    @property
    def _quiet(self) -> tuple[Sheet | None, list[Sheet]]:
        """The ranking and the tables with what was done, where it has been said what is simulated."""
        ranking = self.ranking and replace(self.ranking, simulated=REAL)
        return ranking, [replace(t, notes=(*t.notes, *self.policy), simulated=REAL) for t in self.tables]

    def __repr__(self) -> str:
        evaluators = self.frame["evaluator"].nunique() if len(self.frame) else 0
        of = counted(evaluators, "evaluator"), counted(len(self.tables), "table")
        return f"<Leaderboard {self.heading!r}: {', '.join(of)}>"

    def to_text(self) -> str:
        """Return plain text that fits the terminal: the ranking, and a section per table."""
        width, (ranking, tables) = plain.room(), self._quiet
        said = [
            self.heading,
            self.simulated.warning,
            " ".join([escapes.LOST, *self.lost] if self.lost else []),
        ]
        parts = [plain.prose(sentence, width) + "\n" for sentence in said if sentence]
        return "\n".join([*parts, *map(sheet_to_text, [*([ranking] if ranking else []), *tables])])

    def to_markdown(self) -> str:
        """Return Markdown: the ranking, and a section per table."""
        parts = [f"# {escapes.markdown(self.heading)}\n"]
        if self.simulated:
            parts.append(f"> **{self.simulated.loud}** {escapes.markdown(self.simulated.sentence)}\n")
        if self.lost:
            parts.append(escapes.notice(self.lost).rstrip() + "\n")
        ranking, tables = self._quiet
        return "\n".join([*parts, *map(sheet_to_markdown, [*([ranking] if ranking else []), *tables])])

    def to_latex(self) -> str:
        """Return LaTeX tables to put into a paper; they need the packages booktabs and graphicx."""
        lines = [*latex.HEAD]
        if self.simulated:
            lines.append(f"% {self.simulated.loud}")
        if self.lost:
            lines.append(f"% {escapes.LOST}")
        ranked = [self.ranking] if self.ranking else []
        of = self.name or self.dataset
        labels = latex.labels(of, [sheet.name for sheet in (*ranked, *self.tables)])
        for table, label in zip(ranked, labels, strict=False):
            lines += latex_tables(table, label)
        for table, label in zip(self.tables, labels[len(ranked) :], strict=True):
            told = replace(table, notes=(*table.notes, *self.policy), simulated=self.simulated)
            lines += latex_tables(told, label, self.lost, comment=False)
        return latex.paper(lines)

    def to_csv(self) -> str:
        """Return one CSV table, the numbers as printed, a row per evaluator and table."""
        counts = {c.name: None for table in self.tables for c in table.columns if c.form == "counts"}
        frames = []
        for table in self.tables:
            frame = table.frame.drop(columns=["heads", "label"])
            for column in table.columns:
                for name in (column.name, *column.beside) if column.form not in ("text", "counts") else ():
                    printed = [value_text(v, column.form) for v in frame[name]]
                    frame[name] = [text.replace(NOTHING, "") for text in printed]
            frames.append(frame)
        whole = pd.concat(frames, ignore_index=True).fillna("") if frames else pd.DataFrame()
        whole = whole[[*(c for c in whole if c not in counts), *counts]]
        if self.simulated:
            whole["simulated"] = [self.simulated.among([e]).what for e in whole["evaluator"]]
        return to_csv(whole)

    def to_html(self) -> str:
        """Return HTML tables, without a page around them."""
        ranking, tables = self._quiet
        return template("tables.html").render(
            board=self,
            lost=escapes.LOST,
            ranking=sheet_to_html(ranking) if ranking else "",
            tables=[sheet_to_html(table) for table in tables],
        )

    def to_page(self) -> str:
        """Return one HTML page that needs no other file, with each evaluator's signature."""
        signatures = {
            name: json.dumps(dict(signature), ensure_ascii=False, sort_keys=True, default=str)
            for name, signature in self.signatures.items()
        }
        return template("page.html").render(tables=self.to_html(), board=self, signatures=signatures)

    def _repr_html_(self) -> str:
        """Show a notebook the ranking and as many tables as a screen or two hold; say what is left out."""
        left, kept, out = ROWS, [], []
        named = [("the ranking", self.ranking)] if self.ranking else []
        for name, sheet in [*named, *((f"the table of {t.title}", t) for t in self.tables)]:
            shown = replace(sheet, frame=sheet.frame.head(left))
            left -= len(shown.frame)
            if missing := len(sheet.frame) - len(shown.frame):
                rows = counted(missing, "evaluator")
                out.append(f"{rows} of {name}" if len(shown.frame) else name)
            kept.append(shown)
        tables = tuple(sheet for sheet in kept[len(named) :] if len(sheet.frame))
        html = replace(self, ranking=kept[0] if named else None, tables=tables).to_html()
        said = "" if tables else "".join(f"<p>{escape(sentence)}</p>" for sentence in self.policy)
        more = f"<p>Not shown here: {'; '.join(out)}. <code>.to_html()</code> has all.</p>" if out else ""
        return f"{html_heading(self.heading, {})}{html}{said}{more}"


FORMATS = {
    "txt": Leaderboard.to_text,
    "md": Leaderboard.to_markdown,
    "tex": Leaderboard.to_latex,
    "csv": Leaderboard.to_csv,
    "html": Leaderboard.to_html,
}
"""The suffix of a file → what makes its content."""
