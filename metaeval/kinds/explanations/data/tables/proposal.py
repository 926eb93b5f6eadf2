"""A table → the map that fits it, as text with comments; what cannot be known is asked for."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from metaeval.base.errors import DataError, sound
from metaeval.base.records import AVERAGE, USER_RATER
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.tables.guess import (
    OVERALL,
    TOOL,
    aspect_name,
    guess,
    missing_words,
    rated_by,
    scales_of,
    the_user,
)
from metaeval.kinds.explanations.data.tables.labels import scale_of_labels
from metaeval.sources.tables.columns import text_column
from metaeval.sources.tables.nested import flattened, object_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metaeval.kinds.explanations.data.tables.guess import Cell, Guess
    from metaeval.sources.tables.table import Table

    Ask = Callable[[str, str], str]
    """A question and its default → the answer."""

NONE = "none"
_PLAIN = re.compile(r"[^\W\d][\w.-]*(?: \w[\w.-]*)*")
_RESERVED = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"])
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
    user: str = ""
    """The rater who is the user, as the table calls it."""
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
            told = cell.column if name == cell.aspect else f"{name} ({cell.column})"
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
        For an answer, given a question and its default; for a line to be shown.

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
    _ask_for_raters(made, ask)
    if "generator" not in found.roles:
        made.generator = ask("No column says who wrote the texts. Which model or system did?", "model")
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


def _ask_for_raters(made: Proposal, ask: Ask) -> None:
    found = made.guess
    rater = found.roles.get("rater")
    raters = list(rated_by(found.people))
    if rater is not None and any(not c.who for c in found.people):
        raters = _raters(made)
        tools = [r for r in raters if TOOL.search(r)]
        if len(raters) > 1:
            told = ask(f"Which raters are models or tools? ({', '.join(raters)})", ", ".join(tools) or NONE)
            made.tools = _listed(told, raters)
    people = [r for r in raters if r not in made.tools]
    if people == [USER_RATER]:
        made.user = USER_RATER
    elif people:
        question = f"Which rater is the person the item was recommended to? ({', '.join(people)}, or {NONE})"
        (made.user,) = _listed(ask(question, the_user(people) or NONE), people) or [""]


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
        of = [cell.aspect] * len(values) if column is None else _texts(made, column)
        by = _texts(made, found.roles["rater"]) if made.tools else [""] * len(values)
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
    for scale in dict.fromkeys(scales.values()):
        on = [names[a] for a in scales if scales[a] == scale]
        given = ask(f"The scale of {', '.join(on)}?", f"{scale[0]:g} to {scale[1]:g}")
        ends = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", given)]
        if len(ends) != 2 or ends[0] >= ends[1]:
            raise DataError(f"{given!r} is no scale; give its ends, such as 1 to 5")
        for text in (a for a in names if scales[a] == scale):
            whole = all(n.is_integer() for n in numbers[text])
            made.aspects.append(ProposedAspect(names[text], text, (ends[0], ends[1]), whole))
    order = list(names)
    made.aspects.sort(key=lambda a: order.index(a.text))


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


def map_text(made: Proposal, file: str, split: str | None, folder: str, name: str) -> str:
    """Return the text of the map file."""
    again = (
        f"{shlex.quote(file)} --map {shlex.quote(f'{folder}/map.yaml')} --out {shlex.quote(f'{folder}/data')}"
    )
    found, one = made.guess, len({(a.scale, a.whole) for a in made.aspects}) == 1
    lines = [
        f"# Which column of {file} is what. Change it, and import the table again:",
        f"#   metaeval data import table {again} --force",
        f"name: {quoted(name)}",
        "aspects:                    # name → what raters were asked (judges are told it), and its columns",
    ]
    for aspect in made.aspects:
        keys = {"statement": quoted(aspect.text if len(aspect.text.split()) > 1 else aspect.name)}
        keys |= {"code": quoted(aspect.text)} if aspect.text != aspect.name else {}
        keys |= {} if one else {"scale": _scale(aspect)}
        lines.append(f"  {quoted(aspect.name)}: {{{', '.join(f'{k}: {v}' for k, v in keys.items())}}}")
    lines += [f"scale: {_scale(made.aspects[0])}"] if one else []
    lines += [f"split: {quoted(split)}"] if split is not None else []
    if made.explode:
        lists = ", ".join(map(quoted, made.explode))
        lines.append(f"explode: [{lists}]   # a row for each element of these lists")
    entries = _entries(made, found.people, "rater")
    tools = _entries(made, found.tools, "evaluator")
    renames = _renames(made, [*entries, *tools])
    if made.tools:
        tools += _entries(made, [c for c in found.people if not c.who], "evaluator", tools=True)
    lines += renames
    words = sorted({w for c in (*found.people, *found.tools) for w in _missing(made, c.column)})
    if words:
        lines.append(f"missing: [{', '.join(map(quoted, words))}]   # words that stand for no answer")
    lines.append("units:                      # what names an explanation, and its texts: ours ← the table's")
    for key in (*KEYS, "explanation", "item_title", "reference"):
        if key in found.roles:
            lines.append(f"  {key}: {quoted(found.roles[key])}")
        elif key == "item_id":
            lines.append("  item_id: {row: true}          # the number of the row")
        elif key == "generator":
            lines.append(f"  generator: {{constant: {quoted(made.generator)}}}   # who wrote the texts")
    if found.profiles:
        lines.append("users:                      # what is known of users; judges may be told it")
        lines += [f"  {quoted(c.rpartition('.')[2] or c)}: {quoted(c)}" for c in found.profiles]
    lines += ["ratings:                    # of people; `user` is the person the item was recommended to"]
    lines += [line for entry in entries for line in entry.lines]
    if tools:
        lines += ["scores:                     # of tools; each evaluator is Recorded('name')"]
        lines += [line for entry in tools for line in entry.lines]
    left = [c for c in found.left if c not in made.explode]
    lines += [f"# Not used: {', '.join(left)}".replace("\n", " ")] if left else []
    return "\n".join(lines) + "\n"


class _Entry(NamedTuple):
    columns: str
    """A column or pattern, quoted."""
    cells: list[Cell]
    lines: list[str]


def _entries(made: Proposal, cells: Sequence[Cell], who_is: str, *, tools: bool = False) -> list[_Entry]:
    """Return the entries of a map, one for all columns of one pattern.

    ``tools`` says that of a long table the rows of tools are meant.
    """
    known = {a.text: a for a in made.aspects}
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        aspect = known.get(cell.aspect)
        place = "" if aspect is None else "{aspect}" if aspect.name == aspect.text else "{code}"
        pattern = cell.pattern.replace("{aspect}", place) if place else cell.column
        fixed = cell.who == made.user and who_is == "rater"
        pattern = pattern.replace("{who}", cell.who if fixed else f"{{{who_is}}}") if place else pattern
        groups.setdefault((pattern, made.user if fixed else ""), []).append(cell)
    found = []
    for (pattern, user), of in groups.items():
        keys = []
        if f"{{{who_is}}}" in pattern:
            keys.append(f"where: {{{who_is}: [{', '.join(quoted(w) for w in rated_by(of))}]}}")
            if all(c.who.isdecimal() for c in of):  # places in a list
                keys.append('rater: "rater {rater}"')
        elif of[0].who and (user or of[0].who != of[0].column):
            keys.append(f"{who_is}: {USER_RATER if user else quoted(of[0].who)}")
        elif not of[0].who:
            keys.append(f"{who_is}: {{column: {quoted(made.guess.roles['rater'])}}}")
            keys += _where(made, tools=tools)
        if "{aspect}" not in pattern and "{code}" not in pattern and (who_is == "rater" or tools):
            column = made.guess.roles.get("aspect")
            keys.append(f"aspect: {{column: {quoted(column)}}}" if column else f"aspect: {OVERALL}")
        lines = [f"  - columns: {quoted(pattern)}", *(f"    {key}" for key in keys)]
        found.append(_Entry(quoted(pattern), of, lines))
    return found


def _where(made: Proposal, *, tools: bool) -> list[str]:
    """Return the filter of a long table's rows, if some of its raters are tools."""
    if not made.tools:
        return []
    rater = made.guess.roles["rater"]
    names = [USER_RATER if r == made.user else r for r in _raters(made) if (r in made.tools) == tools]
    return [f"where: {{{quoted(rater)}: [{', '.join(map(quoted, names))}]}}"]


def _raters(made: Proposal) -> list[str]:
    """Return the raters that a column of a long table names."""
    return sorted({*_texts(made, made.guess.roles["rater"])} - {""})


def _texts(made: Proposal, column: str) -> list[str]:
    return [str(t).strip() for t in sound(text_column(made.table, column))]


def _renames(made: Proposal, entries: Sequence[_Entry]) -> list[str]:
    """Return the words of answers and their numbers, and the user's name among raters."""
    lines = []
    for entry in entries:
        labels = [made.guess.labels.get(c.column, {}) for c in entry.cells]
        words = {w: n for of in labels for w, n in of.items()}
        if all(words[w] == n for of in labels for w, n in of.items()):
            parts = [(entry.columns, words)]
        else:
            parts = [(quoted(c.column), made.guess.labels.get(c.column, {})) for c in entry.cells]
        for columns, of in parts:
            told = ", ".join(f"{quoted(w)}: {'null' if n is None else n}" for w, n in of.items())
            lines += [f"  {columns}: {{{told}}}"] if any(n is not None for n in of.values()) else []
    if "rater" in made.guess.roles and made.user not in ("", USER_RATER):
        lines.append(f"  {quoted(made.guess.roles['rater'])}: {{{quoted(made.user)}: {USER_RATER}}}")
    return ["rename:                     # cells, before they are read", *lines] if lines else []


def _missing(made: Proposal, column: str) -> list[str]:
    """Return the words for no answer that `_renames` does not have."""
    words = missing_words([str(v).strip() for v in made.table.frame[column].dropna()])
    return words if not any(made.guess.labels.get(column, {}).values()) else []


def _scale(aspect: ProposedAspect) -> str:
    return (
        f"{{min: {aspect.scale[0]:g}, max: {aspect.scale[1]:g}{'' if aspect.whole else ', integer: false'}}}"
    )


def quoted(text: str) -> str:
    """Return a text as YAML takes it for one."""
    plain = _PLAIN.fullmatch(text) and text.isascii() and text.casefold() not in _RESERVED
    return text if plain else json.dumps(text, ensure_ascii=bool(re.search("[\x7f-\x9f\u2028\u2029]", text)))
