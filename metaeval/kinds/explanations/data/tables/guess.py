"""What the columns of a table probably are, by their names and values.

A guess is a proposal: whoever has the table can say otherwise of any column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.records import USER_RATER
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.tables.grid import Cell, grid, is_tool, splits
from metaeval.kinds.explanations.data.tables.labels import MISSING, numbers_of
from metaeval.kinds.explanations.data.tables.names import (
    NTH,
    PATH,
    PERSON,
    QUESTION,
    SUFFIX,
    TOOL,
    VALUE,
    is_aspect,
    role_of,
    the_user,
    without_place,
)
from metaeval.kinds.explanations.data.tables.profiles import counts_rows, find_profiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.sources.tables.table import Table

_OWN = re.compile(r"(\w+\.)*((user|self|own)_?)?(rating|mark|answer)s?\.[^\W\d]\w*", re.IGNORECASE)
_PLACE = re.compile(r"((?:\w+\.)*)([^\W\d]\w*)\.(\d+)")
_DECIMAL = re.compile(r"-?\d+(\.\d+)?")
_NAME = 40  # characters of a name, at most
OVERALL = "overall"
"""The aspect of ratings that name none."""


@dataclass(slots=True)
class Guess:
    """What the columns of a table probably are."""

    roles: dict[str, str] = field(default_factory=dict)
    """Role of a key, text or selector → its column."""
    people: list[Cell] = field(default_factory=list)
    tools: list[Cell] = field(default_factory=list)
    profiles: list[str] = field(default_factory=list)
    """Columns that are the same in all rows of a user."""
    labels: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """Column → word → number, where people answered in words."""
    left: list[str] = field(default_factory=list)
    """Columns that are not used."""


def guess(table: Table, said: Mapping[str, str]) -> Guess:
    """Return what the columns of a flat table are; ``said`` has the roles that are known."""
    found = Guess()
    texts = texts_by_column(table.frame)
    names, rest = [*texts], []
    for column in names:
        numbers = numbers_of(texts[column])
        role = said.get(column) or role_of(
            column, texts[column], numeric=numbers is not None, taken=found.roles
        )
        if not role and numbers == {} and counts_rows(column, table):
            found.left.append(column)
        elif role in ("rating", "score") or (not role and numbers is not None):
            rest.append(column)
            if numbers:
                found.labels[column] = numbers
        elif role == "profile":
            found.profiles.append(column)
        elif role and role != "ignore" and role not in found.roles:
            found.roles[role] = column
        else:
            found.left.append(column)
    _find_texts(found, texts, len({*table.rows}), said)
    _find_raters(found, table, texts, said)
    find_profiles(found, table, rest, said.keys())
    _cross_numbers(found, rest, texts, said, sure="header of two rows" in table.read_as)
    _sort_numbers(found, rest, texts, said)
    used = {c.column for c in (*found.people, *found.tools)}
    found.labels = {c: words for c, words in found.labels.items() if c in used}
    return found


def texts_by_column(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Return the cells of each column that are not empty, as text."""
    named = [c for c in frame.columns if str(c).strip()]
    return {str(c): [str(v).strip() for v in frame[c] if not _is_empty(v)] for c in named}


def _is_empty(value: object) -> bool:
    if isinstance(value, list | dict | np.ndarray):
        return False
    return bool(pd.isna(value)) or not str(value).strip()  # type: ignore[call-overload]  # any object


def _find_texts(found: Guess, texts: Mapping[str, list[str]], rows: int, said: Mapping[str, str]) -> None:
    """Take the column of the longest texts for the explanations if none is called so."""
    long = {c: float(np.mean([len(t) for t in texts[c]])) for c in found.left if texts[c]}
    best = max(long, key=lambda c: long[c], default="")
    if "explanation" not in found.roles and best and long[best] > 30:
        found.roles["explanation"] = best
        found.left.remove(best)
    if "item_id" not in found.roles and "item_title" in found.roles:
        ids = [c for c in found.left if re.fullmatch(r"(.*\.)?id", c, re.IGNORECASE) and c not in said]
        own = next((c for c in ids if len({*texts[c]}) == rows and numbers_of(texts[c]) is None), None)
        found.roles["item_id"] = own or found.roles["item_title"]
        found.left = [c for c in found.left if c != own]
    form = r"id|" if "lastpage" in texts else ""  # of LimeSurvey
    response = next(
        (c for c in found.left if re.fullmatch(rf"{form}(response|antwort)\W*id", c, re.IGNORECASE)), None
    )
    if "user_id" not in found.roles and response:
        found.roles["user_id"] = response
        found.left.remove(response)


def _find_raters(found: Guess, table: Table, texts: Mapping[str, list[str]], said: Mapping[str, str]) -> None:
    """Of several columns of raters, take one that names the user or a tool; another is the user.

    Without one, take a column that names people and tools, several of them for one text.
    """
    if "rater" not in found.roles and "explanation" in found.roles:
        for column in [c for c in found.left if c not in said]:
            tools = {t for t in texts[column] if TOOL.search(t)}
            if tools and {*texts[column]} - tools and varies(column, found, table):
                found.roles["rater"] = column
                found.left.remove(column)
                break
    taken = found.roles.get("rater", "")
    others = [
        c for c in found.left if c not in said and role_of(c, texts[c], numeric=False, taken={}) == "rater"
    ]
    if not taken or not others:
        return

    def names_them(column: str) -> bool:
        return any(the_user([t]) or TOOL.search(t) for t in {*texts[column]})

    best = max((taken, *others), key=lambda c: c == said.get("rater") or names_them(c))
    if best != taken and taken not in said:
        found.roles["rater"] = best
        found.left[found.left.index(best)] = others[others.index(best)] = taken
    if "user_id" not in found.roles:
        found.roles["user_id"] = others[0]
        found.left.remove(others[0])


def varies(column: str, found: Guess, table: Table) -> bool:
    """Say whether a column of short words has several of them for one unit, as one of raters has."""
    keys = [found.roles[k] for k in (*KEYS, "explanation") if k in found.roles]
    cells = table.frame[column].astype(str)
    by = cells.groupby([table.frame[k].astype(str) for k in keys]).nunique()
    return cells.str.len().max() <= _NAME and 2 * cells.nunique() <= len(cells) and by.median() > 1


def _cross_numbers(
    found: Guess, columns: list[str], texts: Mapping[str, list[str]], said: Mapping[str, str], *, sure: bool
) -> None:
    """Take the columns that cross aspects with raters; all of one rater are of a person, or of a tool."""
    if found.roles.keys() & {"rater", "aspect"}:
        return
    cells = grid(columns, sure=sure)
    whole = {c for c in cells if c in found.labels or is_rating(texts[c], 100)}
    for who in rated_by([*cells.values()]):
        of = [c for c in cells.values() if c.who == who]
        told = {said.get(c.column) for c in of}
        tool = is_tool(who) or (bool(whole) and whole.isdisjoint(c.column for c in of))
        (found.tools if "score" in told or (tool and "rating" not in told) else found.people).extend(of)
    columns[:] = [c for c in columns if c not in cells]


def _sort_numbers(
    found: Guess, columns: Sequence[str], texts: Mapping[str, list[str]], said: Mapping[str, str]
) -> None:
    """Sort columns of numbers into people's ratings and scores of tools."""
    whose, what = "rater" in found.roles, "aspect" in found.roles
    beside = found.roles.get("rater", "").rpartition(".")[0]
    if what:
        values = [c for c in columns if said.get(c) == "rating" or re.fullmatch(VALUE, c, re.IGNORECASE)]
        for column in values[:1]:
            found.people.append(Cell(column, "" if whose else USER_RATER, "", column))
        columns = [c for c in columns if c not in values[:1]]
    cells: dict[str, Cell | None] = dict.fromkeys(columns)
    tools = {c: said.get(c) == "score" or (bool(TOOL.search(c)) and said.get(c) != "rating") for c in columns}
    for column in columns:
        if tools[column]:
            continue
        if whose and not what:  # ratings that do not stand beside the rater are of the user
            cells[column] = _whole(column, "" if column.rpartition(".")[0].startswith(beside) else USER_RATER)
        elif _OWN.fullmatch(column):
            cells[column] = _whole(column, USER_RATER)
        else:
            cells[column] = _alone(column, "" if what else OVERALL) or _split(
                column, lambda side, _: bool(PERSON.fullmatch(side))
            )
    by_people = {c.aspect.casefold() for c in (*found.people, *cells.values()) if c}
    rated = {c for c in columns if said.get(c) == "rating" or c in found.labels or is_rating(texts[c], 10)}
    short = any(not tools[c] for c in rated)  # else people rated on sliders
    rated |= {c for c in columns if is_rating(texts[c], 100) and (is_aspect(c) or not short)}
    known = by_people | {c.casefold() for c in rated if not TOOL.search(c)}
    # People first: a tool's score is of an aspect that people rated.
    for column in sorted((c for c in columns if cells[c] is None), key=lambda c: tools[c]):
        cell = _split(column, lambda _, other: other.casefold() in known) or (
            None if tools[column] or by_people else _split(column, lambda _, other: is_aspect(other))
        )
        # Beside ratings, fractions are of tools, whosever name stands there.
        tool = tools[column] or (column not in rated and (short or cell is None)) or (what and cell is None)
        if tool and cell is None:
            name = without_place(column.rpartition(".")[2] if PATH.fullmatch(column) else column)
            cell = Cell(column, m[1] if (m := SUFFIX.fullmatch(name)) else name, "", column)
        cell = cell or _whole(column, USER_RATER)
        known.add(cell.aspect.casefold())
        if tool:
            found.tools.append(cell)
        else:
            cells[column] = cell
    found.people += [c for c in cells.values() if c]


def _whole(column: str, who: str) -> Cell:
    """Return the cell of a column whose name is the aspect, or the path to it."""
    path, _, name = column.rpartition(".")
    if PATH.fullmatch(column):
        return Cell(column, who, name, f"{path}.{{aspect}}")
    return Cell(column, who, column, "{aspect}")


def is_rating(texts: Sequence[str], most: int) -> bool:
    """Say whether numbers look like ratings: from -3 to ``most``, whole ones, or halves on a short scale."""
    numbers = [float(t) for t in texts if _DECIMAL.fullmatch(t)]
    steps = 2 if most <= 10 else 1
    return bool(numbers) and all((steps * n).is_integer() and -3 <= n <= most for n in numbers)


def _split(column: str, fits: Any) -> Cell | None:  # noqa: ANN401 - (side, other side) → whether the side says who
    """Split a column's name into who and aspect, where a side fits; the longest name of who wins."""
    found: list[Cell] = []
    for left, between, right, end in splits(column):
        if len(f"{left}{between}{right}".split()) > QUESTION:
            continue
        if NTH not in left and fits(left, right):
            found.append(Cell(column, left, right, f"{{who}}{between}{{aspect}}{end}"))
        if NTH not in right and fits(right, left):
            found.append(Cell(column, right, left, f"{{aspect}}{between}{{who}}{end}"))
    return max(found, key=lambda c: len(c.who), default=None)


def _alone(column: str, aspect: str) -> Cell | None:
    """Return the cell of a column that names no aspect but a rater, or of a place in a list of ratings."""
    if listed := _PLACE.fullmatch(column):
        return Cell(column, listed[3], listed[2], f"{listed[1]}{{aspect}}.{{who}}")
    suffix = SUFFIX.fullmatch(column)
    core, end = (suffix[1], suffix[2]) if suffix else (column, "")
    return Cell(column, core, aspect, f"{{who}}{end}") if PERSON.fullmatch(core) else None


def rated_by(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield who rated, each once, in the order of the columns."""
    yield from dict.fromkeys(c.who for c in cells if c.who)


def missing_words(texts: Sequence[str]) -> list[str]:
    """Return the words in a column that stand for no answer; among numbers, one word alone does."""
    known = {t for t in texts if t.casefold() in MISSING}
    other = {t for t in texts if t not in known and not _DECIMAL.fullmatch(t)}
    alone = len(other) == 1 and not any(re.search(r"\d", t) for t in other) and numbers_of(texts) == {}
    return sorted(known | other if alone else known)
