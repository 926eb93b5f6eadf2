"""A table → the map that fits it, as text with comments; what cannot be known is asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from metaeval.base.errors import DataError, sound
from metaeval.base.records import AVERAGE, USER_RATER
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.tables.guess import OVERALL, guess, rated_by
from metaeval.kinds.explanations.data.tables.labels import scale_of_labels, scales_of
from metaeval.kinds.explanations.data.tables.names import TOOL, aspect_name, the_user
from metaeval.sources.tables.columns import text_column
from metaeval.sources.tables.nested import flattened, object_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metaeval.kinds.explanations.data.tables.guess import Cell, Guess
    from metaeval.sources.tables.table import Table

    Answer = TypeVar("Answer")

    class Ask(Protocol):
        """Puts a question."""

        def __call__(self, question: str, default: str, read: Callable[[str], Answer]) -> Answer:
            """Return what ``read`` makes of an answer; where it raises `DataError`, ask again."""


NONE = "none"
_LONGEST = 60  # characters of a question in a line
_HTML = r"</[a-zA-Z]+>|<br\s*/?>|&(?:nbsp|amp|quot|#\d+);"
_OTHER_KINDS = (
    ("slates", {"winner", "verdict", "first", "second", "left", "right"}, 2, "how-to/slates"),
    ("relevance", {"query", "qid", "query_id", "doc", "docid", "doc_id", "relevance"}, 2, "how-to/relevance"),
    ("exposure", {"propensity", "exposed", "clicked", "click", "policy"}, 2, "how-to/exposure"),
)  # fmt: skip


class ProposedAspect(NamedTuple):
    """An aspect of the map."""

    name: str
    text: str
    """As the columns, or the cells, name it."""
    scale: tuple[float, float]
    whole: bool


@dataclass(slots=True)
class Proposal:
    """What a table is taken for."""

    table: Table
    explode: list[str]
    guess: Guess
    users: list[str] = field(default_factory=list)
    """The raters who are users, as the table calls them: one word, or the identifier of each."""
    tools: list[str] = field(default_factory=list)
    """Raters of a long table who are models."""
    generator: str = ""
    aspects: list[ProposedAspect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return what each column is taken for, in words."""
        found, told = self.guess, [(role, column) for role, column in self.guess.roles.items()]
        told += [("ratings", self._values(found.people)), ("scores", self._values(found.tools))]
        told += [("profile", ", ".join(found.profiles)), ("not used", ", ".join(found.left))]
        return [f"  {name:<12}{what}" for name, what in told if what]

    def _values(self, cells: Sequence[Cell]) -> str:
        by: dict[str, list[str]] = {}
        for cell in cells:
            name = aspect_name(cell.aspect)
            asked = cell.column if len(cell.column) <= _LONGEST else f"…{cell.column[1 - _LONGEST :]}"
            told = cell.column if name == cell.aspect else f"{name} ({asked})"
            by.setdefault(cell.who or f"by {self.guess.roles['rater']}", []).append(told)
        return "; ".join(f"{who}: {', '.join(columns)}" for who, columns in by.items())


def propose(table: Table, said: Mapping[str, str], ask: Ask, tell: Callable[[str], None]) -> Proposal:
    """Return what a table is taken for.

    Parameters
    ----------
    table
        As read.
    said
        Column → role, as far as it is known.
    ask, tell
        For an answer, given a question, its default and how it is read; for a line to be shown.

    Raises
    ------
    DataError
        If the table has no column that looks like people's ratings, or is of another kind of study.
    """
    explode = object_lists(table)
    flat = flattened(table, explode)
    columns = [str(c) for c in flat.frame.columns]
    for column in said:
        if column not in columns:
            raise DataError(f"the table has no column {column!r}; it has {', '.join(columns)}")
    found = guess(flat, said)
    made = Proposal(flat, explode, found)
    _refuse(made, columns)
    for line in made.lines():
        tell(line)
    _ask_forraters_of(made, ask)
    if "generator" not in found.roles:
        made.generator = ask("No column says who wrote the texts. Which model or system did?", "model", str)
    _find_aspects(made, ask)
    _find_keys(made)
    return made


def _refuse(made: Proposal, columns: Sequence[str]) -> None:
    if made.guess.people:
        return
    names = {c.casefold() for c in columns}
    for kind, words, least, page in _OTHER_KINDS:
        if len(names & words) >= least:
            raise DataError(
                f"{made.table.name} looks like data of `kind: {kind}`; init makes studies of explanations "
                f"alone, and the page {page} of the documentation says how to bring it in"
            )
    raise DataError(
        f"no column of {made.table.name} looks like people's ratings ({', '.join(columns)}); name them, "
        "such as --column 'NAME=rating'"
    )


def _ask_forraters_of(made: Proposal, ask: Ask) -> None:
    found = made.guess
    rater = found.roles.get("rater")
    raters = list(rated_by(found.people))
    if rater is not None and any(not c.who for c in found.people):
        raters = raters_of(made)
        tools = [r for r in raters if TOOL.search(r)]
        if len(raters) > 1:
            question = f"Which raters are models or tools? ({', '.join(raters)})"
            made.tools = ask(question, ", ".join(tools) or NONE, lambda told: _listed(told, raters))
    people = [r for r in raters if r not in made.tools]
    if people == [USER_RATER] or (rater is not None and USER_RATER in rated_by(found.people)):
        made.users = [USER_RATER]
    elif people:
        question = f"Which rater is the person the item was recommended to? ({', '.join(people)}, or {NONE})"
        likely = the_user(people) or ", ".join(_rating_for_themselves(made)) or NONE
        made.users = ask(question, likely, lambda told: _listed(told, people))


def _rating_for_themselves(made: Proposal) -> list[str]:
    """Return the raters of a long table whose name is the user in all rows that they rated."""
    roles = made.guess.roles
    if not {"rater", "user_id"} <= roles.keys():
        return []
    pairs = {*zip(texts_of(made, roles["rater"]), texts_of(made, roles["user_id"]), strict=True)}
    return sorted({r for r, _ in pairs} - {r for r, user in pairs if r != user} - {""})


def _listed(answer: str, known: Sequence[str]) -> list[str]:
    """Return the names in an answer; raise `DataError` if one is not known."""
    names = [n.strip() for n in answer.split(",") if n.strip() and n.strip() != NONE]
    for name in names:
        if name not in known:
            raise DataError(f"there is no rater {name!r}; there are {', '.join(known)}")
    return names


def _find_aspects(made: Proposal, ask: Ask) -> None:
    found, frame = made.guess, made.table.frame
    numbers: dict[str, list[float]] = {}
    words: dict[str, dict[str, int | None]] = {}
    column = found.roles.get("aspect")
    for cell in found.people:
        labels = found.labels.get(cell.column, {})
        values = [labels.get(t, t) for t in map(str.strip, map(str, frame[cell.column]))]
        of = [cell.aspect] * len(values) if column is None else texts_of(made, column)
        by = texts_of(made, found.roles["rater"]) if made.tools else [""] * len(values)
        for aspect, value, who in zip(of, values, by, strict=True):
            if value is not None and who not in made.tools and re.fullmatch(r"[+-]?\d+(\.\d+)?", str(value)):
                numbers.setdefault(aspect, []).append(float(value))
            words.setdefault(aspect, {}).update(labels)
    if not numbers:
        raise DataError(f"{made.table.name} has no rating in its columns of ratings")
    scales: dict[str, tuple[float, float]] = scales_of(numbers)
    for aspect in numbers:
        of_words = scale_of_labels([w for w, n in words[aspect].items() if n is not None])
        if words[aspect] and of_words:
            scales[aspect] = of_words
    names: dict[str, str] = {}
    for text in numbers:
        name = aspect_name(text)
        name = OVERALL if name.casefold() == AVERAGE else name
        same = sum(n == name or n.startswith(f"{name} ") for n in names.values())
        names[text] = f"{name} {same + 1}" if same else name
    if again := [n for n in names.values() if n[-2:] == " 2" and n not in names]:
        made.notes.append(
            f"Several columns ask of {again[0][:-2]}; if they are about several explanations, give each "
            "explanation a row of its own."
        )
    for scale in dict.fromkeys(scales.values()):
        on = [names[a] for a in scales if scales[a] == scale]
        ends = ask(f"The scale of {', '.join(on)}?", f"{scale[0]:g} to {scale[1]:g}", _scale)
        for text in (a for a in names if scales[a] == scale):
            whole = all(n.is_integer() for n in numbers[text])
            made.aspects.append(ProposedAspect(names[text], text, ends, whole))
    order = list(names)
    made.aspects.sort(key=lambda a: order.index(a.text))


def _scale(answer: str) -> tuple[float, float]:
    """Return the ends of a scale: ``1 to 5``, ``1-5``; raise `DataError` if they are none."""
    ends = [float(n) for n in re.findall(r"(?<!\d)-?\d+(?:\.\d+)?", answer)]
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise DataError(f"{answer!r} is no scale; give its ends, such as 1 to 5")
    return ends[0], ends[1]


def _find_keys(made: Proposal) -> None:
    """Name a unit by its row if the keys do not."""
    roles, frame = made.guess.roles, made.table.frame
    keys = [roles[k] for k in KEYS if k in roles]
    selected = {"rater", "aspect"} & roles.keys() or made.explode
    if "item_id" not in roles:
        made.notes.append("No column names the item: each row is an item of its own.")
    elif not selected and frame.duplicated(subset=list(dict.fromkeys(keys))).any():
        told = ", ".join(map(repr, dict.fromkeys(keys)))
        made.notes.append(f"Rows come again with the same {told}: each row is an item of its own.")
        del roles["item_id"]
    user = roles.get("user_id")
    if user is not None and frame[user].astype(str).str.contains("@").any():
        made.notes.append(f"{user!r} holds e-mail addresses: replace them before you share the data.")
    text = roles.get("explanation")
    if text is not None and frame[text].astype(str).str.contains(_HTML).any():
        made.notes.append(f"{text!r} holds HTML, which evaluators read as text: take it out first.")


def raters_of(made: Proposal) -> list[str]:
    """Return the raters that a column of a long table names."""
    return sorted({*texts_of(made, made.guess.roles["rater"])} - {""})


def texts_of(made: Proposal, column: str) -> list[str]:
    """Return the cells of a column as text."""
    return [str(t).strip() for t in sound(text_column(made.table, column))]
