"""What columns that nobody named look like: proposed, and never taken for known."""

from __future__ import annotations

from metaeval.base.records import USER_RATER
from metaeval.data.origin import asks_people
from metaeval.data.proposals.proposal import Proposal, is_rating, two_words
from metaeval.data.proposals.roles import RATING, TOOL, Cell
from metaeval.data.tables.columns import NUMBER

WHETHER = {
    "rating": "people gave it",
    "tool": "a tool gave it",
    "explanation": "it is the text that was rated",
    "generator": "it names who wrote the text that was rated",
    "ignore": "nothing needs it",
}
"""Role that a column looks like → what has to be so, which nobody says."""


def likely_roles(made: Proposal) -> dict[str, str]:
    """Return what the columns that are not known look like; it is proposed, and decides nothing."""
    roles = dict.fromkeys(made.unknown, "ignore")
    judges = {c: order for c in roles if TOOL.search(c) and (order := two_words(made.texts[c]))}
    roles |= {c: f"tool:{c.rpartition('.')[2]}:{order}" for c, order in judges.items()}
    rows = len(made.table.frame)
    texts = {c for c in roles if len(made.texts[c]) == rows and " " in "".join(made.texts[c])}
    if "explanation" not in made.roles and texts:
        # The text that differs most, and of those the longest, is no input of the others.
        roles[max(texts, key=lambda c: (len({*made.texts[c]}), len("".join(made.texts[c]))))] = "explanation"
    keys = [made.texts[made.roles[key]] for key in ("user_id", "item_id") if key in made.roles]
    for column in made.unknown if "generator" not in made.roles else ():
        values = made.texts[column]
        if roles[column] == "ignore" and all(len(cells) == rows for cells in (*keys, values)):
            units, crossed = {*zip(*keys, strict=True)}, {*zip(*keys, values, strict=True)}
            if rows == len(crossed) == len(units) * len({*values}) > len(units):  # each once for every unit
                roles[column] = "generator"
    return roles | {cell.column: _as_it_looks(made, cell) for cell in made.undecided}


def _as_it_looks(made: Proposal, cell: Cell) -> str:
    """Return what a column of values probably is: what is beside it proposes, and decides nothing."""
    texts, name = made.texts[cell.column], cell.column.rpartition(".")[2]
    in_words, rating = bool(made.labels.get(cell.column)), is_rating(texts)
    survey = {"user_id", "rater"} & made.roles.keys() or made.row_is_user
    asked = "{who}" in cell.pattern or asks_people(cell.column) or RATING.fullmatch(cell.column)
    if survey and (rating or in_words) and asked and not TOOL.search(cell.column):
        return "rating"
    if not rating and any(not 0 <= float(t) <= 1 for t in texts if NUMBER.fullmatch(t)):
        return "ignore"
    if cell.aspect in {c.aspect for c in made.people}:
        return "tool:judge"
    return f"tool:{name if cell.who in ('', USER_RATER) else cell.who}"
