"""What the columns of a table probably are, by their names and values.

A guess is a proposal: whoever has the table can say otherwise of any column.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.records import USER_RATER
from metaeval.kinds.explanations.data.tables.labels import MISSING, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.sources.tables.table import Table

_USER = r"user|participant|person|respondent|customer|subject|reader|member|uid|e.?mail.*|用户"
_ITEM = (
    r"item|movie|film|book|product|song|track|article|hotel|restaurant|story|place|game|asin|isbn"
    r"|物品|商品|电影"
)
_SYSTEM = (
    r"generator|system|model|method|algorithm|llm|condition|variant|version|arm|author|writer"
    r"|(written|generated)\W*by|模型|系统"
)
_REFERENCE = r"reference|review|own\W*words|ground\W*truth|gold\W*(text|standard)?|评论"
_TEXT = r"explanation|text|justification|rationale|output|response|message|解释"
_IGNORED = (
    r"time\W*stamp|date|time|start\w*|end\w*|duration|index|row|#|unnamed.*|ip\W*\w*|comments?|year|年份"
)
_ID = r"(\W*(id|name|nr|no|key|code|address))?"
_KEYS = (
    ("user_id", rf"({_USER}){_ID}"),
    ("item_id", rf"({_ITEM})(\W*(id|nr|no|key|code))?"),
    ("generator", rf"({_SYSTEM}){_ID}"),
    ("item_title", rf"(({_ITEM})\W*)?(title|name|标题)"),
    ("reference", rf"(user\W*)?({_REFERENCE})(\W*(text|\d+))?"),
    ("explanation", rf"(generated\W*|model\W*)?({_TEXT})(\W*(text|shown))?"),
    ("rater", rf"(rater|annotator|assessor|coder|who|rated\W*by|by|judge|evaluator|worker|labell?er){_ID}"),
    ("aspect", rf"(aspect|criterion|criteria|dimension|question|facet|attribute){_ID}"),
    ("profile", r"age|gender|sex|country|education|occupation|experience|年龄|性别"),
    ("ignore", rf"({_IGNORED})(\W.*)?"),
)  # fmt: skip
"""Role → what a column is called that has it; an earlier one goes first."""
_VALUE = r"(.*\W)?(rating|score|value|stars?|points?|label|answer|mark|评分)s?"
_SUFFIX = re.compile(r"(.+?)([\W_]+(?:score|rating|value|mark)s?)", re.IGNORECASE)
_PERSON = re.compile(
    rf"\(?({_USER}|me|self|own|human|people|annotator|rater|expert|coder|assessor|crowd|worker|labell?er|student"
    r"|[arh](?=\W?\d))[\W_]?(\d+|[a-z])?\)?",
    re.IGNORECASE,
)
_THE_USER = re.compile(rf"\(?({_USER}|me|self|own)(\W*(rating|self|id))?\)?", re.IGNORECASE)
TOOL = re.compile(
    r"gpt|llm|bleu|rouge|chr.?f|meteor|bert|comet|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|judge"
    r"|metric|eval|length|perplex|ppl|cosine|similar|readab|flesch|distinct|nli|\bmodel\b|\bauto",
    re.IGNORECASE,
)
_ASPECTS = (
    ("trust", r"trust"),
    ("persuasiveness", r"persua|convinc"),
    ("transparency", r"transparen|why .*recommend"),
    ("satisfaction", r"satisf|enjoy"),
    ("accuracy", r"accura|correct|factual"),
    ("usefulness", r"useful|help"),
    ("clarity", r"clear|clarity|easy|understand|comprehen"),
    ("relevance", r"relevan|fit"),
    ("fluency", r"fluen|natural"),
    ("effectiveness", r"effective"),
    ("efficiency", r"efficien"),
    ("scrutability", r"scrutab"),
    ("fun", r"\bfun"),
    ("readability", r"readab"),
    ("informativeness", r"informati"),
    ("coherence", r"coheren"),
    ("quality", r"quality"),
)
"""Name of an aspect → what its column or question says."""
_SPLIT = re.compile(r"\s+by\s+|\s*[_.:/|-]\s*|\s+|(?<=[a-z])(?=[A-Z])")
_PATH = re.compile(r"(\w+\.)+\w*[^\W\d]\w*")
_PLACE = re.compile(r"((?:\w+\.)*)([^\W\d]\w*)\.(\d+)")
OVERALL = "overall"
"""The aspect of ratings that name none."""
_QUESTION = 4  # words from which a name is a question


class Cell(NamedTuple):
    """What a column of numbers holds: by whom, and of which aspect, as the column's name says it."""

    column: str
    who: str
    """A rater or evaluator; empty if a column says it row by row."""
    aspect: str
    """The aspect, as in the column's name; empty if it holds for all, or a column says it."""
    pattern: str
    """The name of the column with ``{who}`` and ``{aspect}`` in their places."""


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
    names = [str(c) for c in table.frame.columns]
    texts = {c: [str(v).strip() for v in table.frame[c] if not _is_empty(v)] for c in names}
    rest = []
    for column in names:
        numbers = numbers_of(texts[column])
        role = said.get(column) or _role(
            column, texts[column], numeric=numbers is not None, taken=found.roles
        )
        if role in ("rating", "score") or (not role and numbers is not None):
            rest.append(column)
            if numbers:
                found.labels[column] = numbers
        elif role == "profile":
            found.profiles.append(column)
        elif role and role != "ignore" and role not in found.roles:
            found.roles[role] = column
        else:
            found.left.append(column)
    _find_texts(found, texts)
    _sort_numbers(found, rest, texts, said)
    _find_profiles(found, table.frame, said)
    used = {c.column for c in (*found.people, *found.tools)}
    found.labels = {c: words for c, words in found.labels.items() if c in used}
    return found


def aspect_name(text: str) -> str:
    """Return a short name for what a column's name or a question says of an aspect."""
    if bracket := re.search(r"\[(.+)\]\s*$", text):  # a row of a form's grid
        return aspect_name(bracket[1].strip())
    if len(text.split()) < _QUESTION and len(text) < 30:
        return text
    known = (name for name, words in _ASPECTS if re.search(words, text, re.IGNORECASE))
    return next(known, " ".join(re.findall(r"\w+", text)[:_QUESTION]))


def _is_empty(value: object) -> bool:
    if isinstance(value, list | dict | np.ndarray):
        return False
    return bool(pd.isna(value)) or not str(value).strip()  # type: ignore[call-overload]  # any object


def _role(column: str, texts: Sequence[str], *, numeric: bool, taken: Mapping[str, str]) -> str:
    """Return the role of a column by its name; empty if its name says nothing."""
    plain = re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column)).strip()
    # Of a path into JSON, such as explanations.model, the last part may say it alone.
    names = [plain, *([column.rpartition(".")[2]] if _PATH.fullmatch(column) else [])]
    for name, (role, pattern) in itertools.product(names, _KEYS):
        if role not in taken and re.fullmatch(pattern, name, re.IGNORECASE):
            return "" if numeric and role in ("explanation", "reference", "item_title") else role
    if not numeric and len(plain.split()) >= _QUESTION - 1 and len(set(texts)) > 1:
        # A question of a form that was answered with a key, such as "Which film did you see?"
        words = (("item_id", _ITEM), ("generator", _SYSTEM), ("explanation", r"explanation|text"))
        return next(
            (r for r, w in words if r not in taken and re.search(rf"\b({w})", plain, re.IGNORECASE)), ""
        )
    return ""


def _find_texts(found: Guess, texts: Mapping[str, list[str]]) -> None:
    """Take the column of the longest texts for the explanations if none is called so."""
    long = {c: float(np.mean([len(t) for t in texts[c]])) for c in found.left if texts[c]}
    best = max(long, key=lambda c: long[c], default="")
    if "explanation" not in found.roles and best and long[best] > 30:
        found.roles["explanation"] = best
        found.left.remove(best)
    if "item_id" not in found.roles and "item_title" in found.roles:
        found.roles["item_id"] = found.roles["item_title"]


def _sort_numbers(
    found: Guess, columns: Sequence[str], texts: Mapping[str, list[str]], said: Mapping[str, str]
) -> None:
    """Sort columns of numbers into people's ratings and scores of tools."""
    whose, what = "rater" in found.roles, "aspect" in found.roles
    if what:
        values = [c for c in columns if said.get(c) == "rating" or re.fullmatch(_VALUE, c, re.IGNORECASE)]
        for column in values[:1]:
            found.people.append(Cell(column, "" if whose else USER_RATER, "", column))
        columns = [c for c in columns if c not in values[:1]]
    cells: dict[str, Cell | None] = dict.fromkeys(columns)
    is_tool = {
        c: said.get(c) == "score" or (bool(TOOL.search(c)) and said.get(c) != "rating") for c in columns
    }
    for column in columns:
        if is_tool[column]:
            continue
        if whose and not what:
            cells[column] = _whole(column, "")
        else:
            cells[column] = _alone(column, "" if what else OVERALL) or _split(
                column, lambda side, _: bool(_PERSON.fullmatch(side))
            )
    by_people = {c.aspect.casefold() for c in cells.values() if c}
    known = by_people | {c.casefold() for c in columns if _is_small(texts[c]) and not TOOL.search(c)}
    # People first: a tool's score is of an aspect that people rated.
    for column in sorted((c for c in columns if cells[c] is None), key=lambda c: is_tool[c]):
        tool = is_tool[column]
        cell = _split(column, lambda _, other: other.casefold() in known) or (
            None if tool or by_people else _split(column, lambda _, other: _is_aspect(other))
        )
        small = _is_small(texts[column]) or column in found.labels
        if cell is None and (tool or not small or what):
            tool, cell = (
                True,
                Cell(column, (m[1] if (m := _SUFFIX.fullmatch(column)) else column), "", column),
            )
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
    if _PATH.fullmatch(column):
        return Cell(column, who, name, f"{path}.{{aspect}}")
    return Cell(column, who, column, "{aspect}")


def _is_aspect(text: str) -> bool:
    return any(re.search(words, text, re.IGNORECASE) for _, words in _ASPECTS)


def _is_small(texts: Sequence[str]) -> bool:
    """Say whether numbers look like ratings: few whole numbers, from 0 to 10 or to 100 in round steps."""
    numbers = {float(t) for t in texts if re.fullmatch(r"-?\d+(\.\d+)?", t)}
    whole = all(n.is_integer() for n in numbers)
    return bool(numbers) and whole and min(numbers) >= 0 and max(numbers) <= 10


def _split(column: str, fits: Any) -> Cell | None:  # noqa: ANN401 - (side, other side) → whether the side says who
    """Split a column's name into who and aspect, where a side fits; the longest name of who wins."""
    found: list[Cell] = []
    suffix = _SUFFIX.fullmatch(column)
    core, end = (suffix[1], suffix[2]) if suffix else (column, "")
    if len(core.split()) > _QUESTION or core.endswith(("?", "]", ".", "!")):
        return None  # a question
    for at in _SPLIT.finditer(core):
        left, right = core[: at.start()], core[at.end() :]
        if left and right and fits(left, right):
            found.append(Cell(column, left, right, f"{{who}}{at[0]}{{aspect}}{end}"))
        if left and right and fits(right, left):
            found.append(Cell(column, right, left, f"{{aspect}}{at[0]}{{who}}{end}"))
    return max(found, key=lambda c: len(c.who), default=None)


def _alone(column: str, aspect: str) -> Cell | None:
    """Return the cell of a column that names no aspect but a rater, or of a place in a list of ratings."""
    if listed := _PLACE.fullmatch(column):
        return Cell(column, listed[3], listed[2], f"{listed[1]}{{aspect}}.{{who}}")
    suffix = _SUFFIX.fullmatch(column)
    core, end = (suffix[1], suffix[2]) if suffix else (column, "")
    return Cell(column, core, aspect, f"{{who}}{end}") if _PERSON.fullmatch(core) else None


def _find_profiles(found: Guess, frame: pd.DataFrame, said: Mapping[str, str]) -> None:
    """Take for a user's profile what is the same in all rows of each of several users."""
    user = found.roles.get("user_id")
    if user is None or frame[user].nunique() == len(frame):
        return
    for column in [c for c in found.left if c not in said]:
        by_user = frame[column].astype(str).groupby(frame[user].astype(str)).nunique()
        if by_user.max() == 1 and len(set(frame[column].astype(str))) > 1:
            found.profiles.append(column)
            found.left.remove(column)


def the_user(raters: Sequence[str]) -> str:
    """Return the rater that is probably the user; empty if none is."""
    return next((r for r in raters if _THE_USER.fullmatch(r)), "")


def rated_by(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield who rated, each once, in the order of the columns."""
    yield from dict.fromkeys(c.who for c in cells if c.who)


def missing_words(texts: Sequence[str]) -> list[str]:
    """Return the words in a column that stand for no answer."""
    return sorted({t for t in texts if t.casefold() in MISSING})
