"""The words around a table, the same in every format; each format escapes them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.records import Kind, Status
from metaeval.engine.correlation_board import COEFFICIENT_NAMES
from metaeval.reports.escapes import markdown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from metaeval.engine.standings import Standings, StandingsTable

BLOCKS = {
    Kind.BASELINE: "Baselines",
    Kind.REFERENCE: "Reference-based",
    Kind.RECORDED: "Recorded",
    Kind.ANNOTATOR: "Annotators",
    Kind.JUDGE: "Judges",
    Kind.ENSEMBLE: "Ensembles",
}

STATUSES: Mapping[str, str] = {
    Status.MISSING: "the source has none",
    Status.UNTOKENIZABLE: "no words to compare in the text",
    Status.EXAMPLE: "shown to the judge as an example, so not scored",
    Status.REFUSED: "the judge would not answer",
    Status.UNPARSED: "no score to be found in the reply",
    Status.OUT_OF_RANGE: "what the judge gave is not on the scale",
    Status.TRUNCATED: "the reply breaks off",
    Status.TRANSPORT: "no reply came",
    Status.BUDGET: "not asked: the budget was spent",
}
"""Why there is no score."""

NOTHING = "—"
"""What stands for a value that is undefined."""


LOST = "CALLS WITHOUT A REPLY."
"""What stands before the sentences on calls that brought no reply."""


def notice(lost: Sequence[str]) -> str:
    """Return what a Markdown text begins with if calls brought no reply; empty if none did."""
    return f"> **{LOST}** {' '.join(map(markdown, lost))}\n\n" if lost else ""


def meanings(of: Mapping[str, str], words: Collection[str]) -> str:
    """Return what some words mean, in the order of the meanings: "word: meaning; …"."""
    return "; ".join(f"{word}: {meaning}" for word, meaning in of.items() if word in words)


def heading(board: Standings) -> str:
    """Return the title of a leaderboard."""
    return board.title or (f"Evaluators on {board.dataset}" if board.dataset else "Evaluators")


def coefficient(table: StandingsTable) -> str:
    """Return the name of a table's coefficient, as it is written in a text."""
    return COEFFICIENT_NAMES.get(table.coefficient, table.coefficient)


def levels(table: StandingsTable) -> str:
    """Return the levels of a cell, in order."""
    return " / ".join(table.levels)


def caption(board: Standings, table: StandingsTable) -> list[str]:
    """Return the sentences below a table; the simulation is not among them, it is said louder."""
    of = f" with the truth {board.truth}" if board.truth else ""
    on = f" on {board.dataset}" if board.dataset else ""
    cell = f"A cell holds the {levels(table)} level, × 100." if len(table.levels) > 1 else ""
    where = "" if cell else f" at {levels(table)} level, × 100"
    first = f"{coefficient(table)} of each evaluator{of}{on}{where}."
    each = "for each level on its own" if cell else "in each column"
    marks = f"The best value is bold, the second is underlined, {each}."
    undefined = f"{NOTHING} is undefined." if _has_undefined(table) else ""
    return [s for s in (first, cell, marks, undefined, *table.counts, *board.policy) if s]


def _has_undefined(table: StandingsTable) -> bool:
    return any(not value.text for row in table.rows for cell in row.cells for value in cell)
