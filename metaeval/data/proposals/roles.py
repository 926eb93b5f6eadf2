"""What columns of a table are called: one table of roles and patterns, and forms of names of ratings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from metaeval.base.errors import DataError
from metaeval.base.records import USER_RATER

ROLES = (
    *("user_id", "item_id", "generator", "explanation", "reference", "item_title"),
    *("rater", "aspect", "rating", "score", "tool", "profile", "ignore"),
)
"""What a column may be said to be; ``tool:NAME`` and ``rating:NAME`` also say whose its values are."""
WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
_CALLED = {name: "|".join(words) for name, words in WORDS["called"].items()}
_USER, _ITEM, _SYSTEM, _TEXT = (_CALLED[name] for name in ("user", "item", "system", "text"))
_ID = r"(\W*(p?id|name|nr|no|key|code|address))?"
_WHICH = r"(what|which|welche[rs]?|quel(le)?)\b.*"
_PATTERNS = tuple(
    (role, re.compile(pattern, re.IGNORECASE))
    for role, pattern in (
        ("user_id", rf"(.*\byour\W+)?(id\W+)?({_USER}){_ID}|token(\W+(zugangscode|access code))?"),
        (
            "item_id",
            rf"(id\W+)?({_ITEM})(\W*(id|nr|no|key|code)|\W+(recommended|propos|recom|empf|consigl)\w*)?",
        ),
        ("generator", rf"({_SYSTEM}){_ID}|(explanation|text)\W*(type|source|version)"),
        ("item_title", rf"(({_ITEM})\W*)?(title|titel|name|标题)"),
        ("reference", rf"((user|gold|human)\W*)?({_CALLED['reference']})(\W*(text|\d+))?"),
        ("explanation", rf"(generated\W*|model\W*)?({_TEXT})(\W*(text|shown|{_SYSTEM}))?"),
        ("rater", rf"({_CALLED['rater']}){_ID}"),
        ("aspect", rf"({_CALLED['aspect']}){_ID}"),
        ("profile", rf"(.*\byour\W+)?({_CALLED['profile']})|(how\W+old|wie\W+alt)\W.*"),
        ("item_id", rf"{_WHICH}\b({_ITEM}).*"),  # questions of a form that were answered with a key
        ("generator", rf"{_WHICH}\b({_SYSTEM}).*"),
        ("explanation", r".*\b(copy|paste)\b.*\b(explanation|text)\b.*"),
        ("user_id", r"(response|antwort)\W*id"),  # the row of a form
        ("ignore", rf"({_CALLED['ignored']})(\W.*)?"),
    )
)
"""Role → what a column is called that has it; of two columns, that of the earlier pattern has it."""
_NO_NUMBERS = ("explanation", "reference", "item_title")
VALUE = re.compile(
    r"(.*\W)?(rating|score|value|stars?|points?|label|answer|mark|评分|note|nota)s?", re.IGNORECASE
)
"""What the column of the values in a long table is called."""
RATING = re.compile(r"(.*\W)?(rating|stars?|points?|评分|note|nota|bewertung|sterne)s?", re.IGNORECASE)
"""What it is called if they are ratings and nothing else."""
PEOPLE = rf"(?:{_CALLED['people']})"
"""What is named for people and nothing else, beside the user."""
PERSON = rf"(?:{_USER}|{_CALLED['me']}|{PEOPLE})"
_PERSON = rf"(?:{PERSON}|[arh](?=\W?\d))(?:[\W_]?(?:\d+|[a-z]))?(?:\Wrating)?"
_THE_USER = re.compile(rf"\(?({_USER}|{_CALLED['me']})(\W*(rating|self|id))?\)?", re.IGNORECASE)
TOOL = re.compile(_CALLED["tool"], re.IGNORECASE)
OVERALL = "overall"
"""The aspect of ratings that name none."""
PLACE = "n"
"""The column of the number or letter of one of several explanations."""
NTH = f"{{{PLACE}}}"
"""Stands in a column's name for that number or letter."""
_NUMBERED = re.compile(
    rf"({_TEXT}|recommendation|empfehlung|(?!item)(?P<item>{_ITEM})|(?P<system>{_SYSTEM}))s?\W*\{{n\}}",
    re.IGNORECASE,
)
_PLACES = re.compile(r"(?<![\d.])\d{1,2}(?![\d.])|(?<![^\W_])[A-Z](?![^\W_])|(?<=_)[a-z](?![^\W_])")
_PATH = re.compile(r"(\w+\.)+\w*[^\W\d]\w*")
_LISTED = re.compile(r"(?:\w+\.)*(?P<aspect>[^\W\d]\w*)\.(?P<who>\d+)")
_BETWEEN = r"(?:\s+by\s+|\s*\(|\s*[_.:/|-]\s*|\s+|(?-i:(?<=[a-z])(?=[A-Z])))"
_END = r"\)?(?:[\W_]+(?:score|rating|value|mark)s?)?(?:\s+-\s+\{n\})?"
_CLEAR = rf"(?P<aspect>[^(){{}}]+?)(?:\s*\(|\s+[-|]\s+)(?P<who>[^\W\d][^(){{}}]*?){_END}"


class Cell(NamedTuple):
    """What a column of numbers holds: by whom, and of which aspect, as the column's name says it."""

    column: str
    who: str
    """A rater or evaluator; empty if a column says it row by row."""
    aspect: str
    """The aspect, as in the column's name; empty if it holds for all, or a column says it."""
    pattern: str
    """The name of the column with ``{who}`` and ``{aspect}`` in their places."""


def roles_of(columns: Sequence[str], numeric: Collection[str], known: Mapping[str, str]) -> dict[str, str]:
    """Return column → role, as far as names say it; ``known`` are said already."""
    roles = dict(known)
    for role, pattern in _PATTERNS:
        for column in columns:
            free = role in ("ignore", "profile") or role not in roles.values()
            if column in roles or not free or (column in numeric and role in _NO_NUMBERS):
                continue
            if any(pattern.fullmatch(name) for name in _names(column)):
                roles[column] = role
    return roles


def _names(column: str) -> list[str]:
    """Return what a column may be called: its name, without a note, or the last parts of a path."""
    parts = column.split(".") if _PATH.fullmatch(column) else [column]
    names = [without_place(column), *(".".join(parts[-n:]) for n in (2, 1) if n < len(parts))]
    names.append(re.sub(r"\([^)]*\)\s*$", "", column))
    return [*map(plain, names)]


def plain(name: str) -> str:
    """Return the words of a name, with blanks between them: of `WorkerId`, `Worker Id`."""
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip()


def read_roles(answer: str) -> dict[str, str]:
    """Return what columns are said to be: ``NAME=ROLE``, several with commas; raise `DataError` if not so.

    A tool's column has the role ``score``; ``:WHO`` after a role stays, and the order of words, ``bad<good``.
    """
    role = rf"(?:{'|'.join(ROLES)})|(?:rating|score|tool|words):[^,'\"]+?"
    one = rf"\s*(?:--column\s)?(.+?)\s*=\s*({role})['\"\s]*(?:,|$)"
    if (rest := re.sub(one, "", answer).strip()) not in ("", "no"):
        raise DataError(
            f"{rest!r} is not a column and what it is, such as 'my text=explanation'; it may be "
            f"{', '.join(ROLES)}"
        )
    return {c.strip("'\" "): re.sub(r"^tool\b", "score", role) for c, role in re.findall(one, answer)}


def order_in(role: str) -> dict[str, float]:
    """Return the numbers of the words that a role has from the lowest on: 0 and 1, or from 1 on, of more."""
    words = [w.strip() for w in role.rpartition(":")[2].split("<")]
    return {w: float(n) for n, w in enumerate(words, start=len(words) > 2)} if len(words) > 1 else {}


def cells_of(columns: Sequence[str], tools: Collection[str]) -> dict[str, Cell]:
    """Return what each column of numbers holds, by its name; ``tools`` are those that are scores.

    Its name has a word for a person; or a word for an aspect, or one that a person rated; or two parts, one
    of them in brackets, that are in other names too.
    """
    people = [rf"(?P<who>{_PERSON}){_BETWEEN}(?P<aspect>.+?){_END}"]
    people += [rf"(?P<aspect>.+?){_BETWEEN}(?P<who>{_PERSON}){_END}"]
    cells: dict[str, Cell] = {}
    for column in columns:
        if listed := _LISTED.fullmatch(column):  # a place in a list of ratings
            cells[column] = _cell(listed)
        elif column not in tools and (alone := re.fullmatch(rf"(?P<who>{_PERSON}){_END}", column, re.I)):
            cells[column] = Cell(column, alone["who"], OVERALL, column.replace(alone["who"], "{who}", 1))
        elif column not in tools and not _PATH.fullmatch(column) and (match := _first(people, column)):
            cells[column] = _cell(match)
    clear = [match for c in columns if (match := re.fullmatch(_CLEAR, c))]
    sides = [match[side] for match in clear for side in ("who", "aspect")]
    plain = {cell.aspect for cell in cells.values()} | {c for c in columns if c not in tools}
    words = [rf"[^\W_]*(?:{words})[^\W_]*" for words in WORDS["aspects"].values() if "." not in words]
    aspects = "|".join([*map(re.escape, sorted(plain - {""}, key=len, reverse=True)), *words])
    crossed = [rf"(?P<who>[^\W\d].*?){_BETWEEN}(?P<aspect>{aspects}){_END}"]
    crossed += [rf"(?P<aspect>{aspects}){_BETWEEN}(?P<who>[^\W\d].*?){_END}"]
    for column in (c for c in columns if c not in cells):
        match = None if _PATH.fullmatch(column) else _first(crossed, column)
        match = match or next((m for m in clear if m[0] == column and _repeats(m, sides)), None)
        if match:
            cells[column] = _cell(match)
        elif column in tools:
            name = re.fullmatch(
                rf"(.+?){_END}", column.rpartition(".")[2] if _PATH.fullmatch(column) else column
            )
            cells[column] = Cell(column, without_place(name[1] if name else column), "", column)
        else:
            cells[column] = whole(column, USER_RATER)
    return cells


def _first(patterns: Sequence[str], column: str) -> re.Match[str] | None:
    if column.endswith(("?", "]", ".", "!")):  # a question
        return None
    return next((m for p in patterns if (m := re.fullmatch(p, column, re.IGNORECASE))), None)


def _repeats(match: re.Match[str], sides: Sequence[str]) -> bool:
    return sides.count(match["who"]) > 1 or sides.count(match["aspect"]) > 1


def _cell(match: re.Match[str]) -> Cell:
    pattern = match[0]
    for side in sorted(("who", "aspect"), key=match.start, reverse=True):
        pattern = f"{pattern[: match.start(side)]}{{{side}}}{pattern[match.end(side) :]}"
    return Cell(match[0], match["who"], match["aspect"], pattern)


def whole(column: str, who: str) -> Cell:
    """Return the cell of a column whose name is the aspect, or the path to it."""
    path, _, name = column.rpartition(".")
    if _PATH.fullmatch(column):
        return Cell(column, who, name, f"{path}.{{aspect}}")
    return Cell(column, who, column, "{aspect}")


def the_user(raters: Sequence[str]) -> str:
    """Return the rater that is probably the user; empty if none is."""
    return next((r for r in raters if _THE_USER.fullmatch(r)), "")


def aspect_name(text: str) -> str:
    """Return a short name for what a column's name or a question says of an aspect."""
    text = without_place(text)
    if legend := re.fullmatch(r"(.*\S)\s*[\[(][^\[(]*\d\s*[=:–-][^\[(]*[\])]\s*", text):  # [1 = no, 5 = very]
        return aspect_name(legend[1])
    if row := re.search(r"(?:\[| - )([^\[\]]+)\]?\s*$", text):  # a row of a form's grid
        coded = re.fullmatch(r"[A-Z]+\d+", row[1].strip()) and row.start()  # trust[SQ001]
        return aspect_name(text[: row.start()] if coded else row[1].strip())
    if len(text.split()) < 4 and len(text) < 30:
        return text
    known = (name for name, words in WORDS["aspects"].items() if re.search(words, text, re.IGNORECASE))
    return next(known, " ".join(re.findall(r"\w+", text)[:4]))


def without_place(text: str) -> str:
    """Return a question, or a column's name, without the explanation that it is of: ``[Explanation {n}]``."""
    if NTH not in text:
        return text
    alone = r"(\w+\W+)?\{n\}"  # [Explanation {n}] and the like, at an end
    short = re.sub(rf"\s*\[{alone}\]\s*$|\s+[-–]\s+{alone}\s*$|^{alone}\s+[-–]\s+", "", text)
    short = re.sub(r"\s*[\[(]\s*[\])]", "", re.sub(r"[^\W_]*\{n\}", "", short))
    return " ".join(short.split()).strip(" _-.:/|") or text


def repeated(columns: Sequence[str]) -> tuple[dict[str, dict[str, str]], str]:
    """Return the columns that stand once per explanation: pattern, such as ``text_{n}`` → ``n`` → column.

    There are some if a text or an item repeats, or the names number explanations, items or systems. Also
    returns the key that ``n`` probably is: ``item_id`` or ``generator``.
    """
    families: dict[str, dict[str, str]] = {}
    for column in columns:
        for place in _PLACES.finditer(column):
            before, after = column[: place.start()], column[place.end() :]
            if not re.search(rf"(?:^|[\s_(])(?:{_PERSON})[\s_-]*$", before, re.IGNORECASE):
                families.setdefault(f"{before}{NTH}{after}", {})[place[0]] = column
    families = {p: places for p, places in families.items() if len(places) > 1}
    roles = roles_of([*families], (), {})
    anchors = [p for p in families if roles.get(p) in ("explanation", "item_id") or _NUMBERED.search(p)]
    if not anchors:
        return {}, ""
    kept: dict[str, dict[str, str]] = {}
    for pattern in sorted(families, key=lambda p: p not in anchors):
        places = families[pattern]
        used = {c for others in kept.values() for c in others.values()}
        if places.keys() <= families[anchors[0]].keys() and not used & {*places.values()}:
            kept[pattern] = places
    order = [*columns]
    kept = dict(sorted(kept.items(), key=lambda item: order.index(next(iter(item[1].values())))))
    numbered = _NUMBERED.search(anchors[0])
    if numbered and numbered["system"]:
        return kept, "generator"
    return kept, "item_id" if anchors[0] in roles or (numbered and numbered["item"]) else "generator"
