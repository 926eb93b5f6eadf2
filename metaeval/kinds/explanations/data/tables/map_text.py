"""A proposal as the text of a map file, with comments for whoever changes it."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from metaeval.base.records import USER_RATER
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.tables.guess import OVERALL, missing_words, rated_by, texts_by_column
from metaeval.kinds.explanations.data.tables.names import NTH, without_place
from metaeval.kinds.explanations.data.tables.proposal import raters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.kinds.explanations.data.tables.grid import Cell
    from metaeval.kinds.explanations.data.tables.proposal import Proposal, ProposedAspect

_PLAIN = re.compile(r"[^\W\d][\w.-]*(?: \w[\w.-]*)*")
_RESERVED = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"])


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
        "aspects:                    # name → the question (judges are told it), and its columns",
    ]
    for aspect in made.aspects:
        asked = without_place(aspect.text)
        keys = {"statement": quoted(asked if len(asked.split()) > 1 else aspect.name)}
        keys |= {"code": quoted(aspect.text)} if aspect.text != aspect.name else {}
        keys |= {} if one else {"scale": _scale(aspect)}
        lines.append(f"  {quoted(aspect.name)}: {{{', '.join(f'{k}: {v}' for k, v in keys.items())}}}")
    lines += [f"scale: {_scale(made.aspects[0])}"] if one else []
    lines += [f"split: {quoted(split)}"] if split is not None else []
    if made.explode:
        lists = ", ".join(map(quoted, made.explode))
        what = "value of {n} in these columns" if NTH in lists else "element of these lists"
        lines.append(f"explode: [{lists}]   # a row for each {what}")
    entries = _entries(made, found.people, "rater")
    tools = _entries(made, found.tools, "evaluator")
    renames = _renames(made, [*entries, *tools])
    if made.tools:
        tools += _entries(made, [c for c in found.people if not c.who], "evaluator", tools=True)
    lines += renames
    words = words_for_none(made)
    if words:
        lines.append(f"missing: [{', '.join(map(quoted, words))}]   # words that stand for no answer")
    lines.append("units:                      # what names an explanation, and its texts: ours ← the table's")
    for key in (*KEYS, "explanation", "item_title", "reference"):
        if key in found.roles:
            lines.append(f"  {key}: {quoted(found.roles[key])}")
        elif key == "item_id" or (key == "user_id" and made.row_is_user):
            lines.append(f"  {key}: {{row: true}}          # the number of the row")
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
    groups: dict[tuple[str, bool], list[Cell]] = {}
    for cell in cells:
        aspect = known.get(cell.aspect)
        place = "" if aspect is None else "{aspect}" if aspect.name == aspect.text else "{code}"
        pattern = cell.pattern.replace("{aspect}", place) if place else cell.column
        fixed = cell.who in made.users and who_is == "rater"
        pattern = pattern.replace("{who}", cell.who if fixed else f"{{{who_is}}}") if place else pattern
        groups.setdefault((pattern, fixed), []).append(cell)
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
    raters = [r for r in raters_of(made) if (r in made.tools) == tools]
    names = dict.fromkeys(USER_RATER if r in made.users else r for r in raters)
    return [f"where: {{{quoted(rater)}: [{', '.join(map(quoted, names))}]}}"]


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
    if "rater" in made.guess.roles and (users := [u for u in made.users if u != USER_RATER]):
        names = ", ".join(f"{quoted(u)}: {USER_RATER}" for u in users)
        lines.append(f"  {quoted(made.guess.roles['rater'])}: {{{names}}}")
    return ["rename:                     # cells, before they are read", *lines] if lines else []


def words_for_none(made: Proposal) -> list[str]:
    """Return the words for no answer that `_renames` does not have."""
    cells = (*made.guess.people, *made.guess.tools)
    columns = [c.column for c in cells if not any(made.guess.labels.get(c.column, {}).values())]
    cells_of = texts_by_column(made.table.frame)
    return sorted({w for c in columns for w in missing_words(cells_of[c])})


def _scale(aspect: ProposedAspect) -> str:
    return (
        f"{{min: {aspect.scale[0]:g}, max: {aspect.scale[1]:g}{'' if aspect.whole else ', integer: false'}}}"
    )


def quoted(text: str) -> str:
    """Return a text as YAML takes it for one."""
    plain = _PLAIN.fullmatch(text) and text.isascii() and text.casefold() not in _RESERVED
    return text if plain else json.dumps(text, ensure_ascii=bool(re.search("[\x7f-\x9f\u2028\u2029]", text)))
