"""What a table is taken for, by the names of its columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from metaeval.base.errors import DataError, sound
from metaeval.base.records import USER_RATER
from metaeval.data.origin import is_counter, named_for_people, rated_beside
from metaeval.data.proposals.roles import (
    NTH,
    OVERALL,
    ROLES,
    TOOL,
    VALUE,
    WORDS,
    Cell,
    aspect_name,
    cells_of,
    order_in,
    roles_of,
    whole,
)
from metaeval.data.tables.columns import DATE, NUMBER, SERIAL, date_problems, text_column
from metaeval.data.tables.maps import few
from metaeval.data.tables.table import Table

MISSING = frozenset(WORDS["no_answer"])
_NUMBERED = re.compile(
    r"\(?(-?\d+)\)?\s*[-\u2013\u2014:.=)]\s*\D.*|(\d+)\s+(?:stars?|points?)|(\d+)\s*\(\D.*\)|\D.*\((-?\d{1,3})\)"
    r"|(\d+)\s*(?:/|out of|von)\s*\d+|AO?(\d{1,2})",  # A1 and AO01 are codes of LimeSurvey
    re.IGNORECASE,
)
_OF = re.compile(r"(\d+)\s*(?:/|out of|von)\s*(\d+)", re.IGNORECASE)
_CLEAR, _MOSTLY = 10, 0.9  # numbers, and share of numbers, from which a column is one of numbers
_MOST = 15  # different answers
SCALES = (
    *((0, 1), (1, 3), (1, 5), (0, 5), (1, 7), (0, 7), (1, 10), (0, 10)),
    *((-2, 2), (-3, 3), (0, 100)),
)
_NO_SLIDER = 10  # the top of scales that are not drawn as sliders
_LIKERT = 5  # labels of a survey
_FRACTION = re.compile(r"[+-]?\d*[.,]\d*[1-9]\d*")
_ID = re.compile(r"(.*[\W_])?id|.*Id")
_SURE = 30  # ratings from which a shorter scale that is used whole is one of its own


def numbers_of(texts: Sequence[str]) -> dict[str, int | None] | None:
    """Return the number of each answer in words, and None for a word that is no answer.

    Nothing if all are numbers, apart from words for no answer and dates, which are wrong; None if they are no
    answers at all.
    """
    words: dict[str, int | None] = {t: None for t in texts if t.casefold() in MISSING}
    answers = [t for t in dict.fromkeys(texts) if t not in words]
    if not answers:
        return None
    if len(others := [t for t in texts if not DATE.fullmatch(t)]) < len(texts):
        return None if numbers_of(others) is None else {}
    numbers = sum(bool(NUMBER.fullmatch(t)) for t in texts)
    if all(NUMBER.fullmatch(t) for t in answers) or numbers >= max(_CLEAR, _MOSTLY * len(texts)):
        return {}  # whoever reads the numbers says which cells hold none
    if len(answers) <= _MOST and all(NUMBER.fullmatch(t) or _NUMBERED.fullmatch(t) for t in answers):
        matches = {t: match for t in answers if (match := _NUMBERED.fullmatch(t))}
        return words | {t: int(next(filter(None, m.groups()))) for t, m in matches.items()}
    if all(set(t) <= {"★", "*", "☆"} for t in answers):
        return words | {t: len(t) - t.count("☆") for t in answers}
    rungs, n = _rungs(answers)
    return words | {t: at + (n > 2) for t, at in rungs.items()} if rungs else None


def has_number(label: str) -> bool:
    """Say whether a label has its number in it, such as ``4 - Agree``; a code may run either way."""
    return bool(re.search(r"\d|★|\*", label)) and not re.fullmatch(r"AO?\d+", label)


def _rungs(texts: Sequence[str]) -> tuple[dict[str, int], int]:
    """Return each label's place from the lowest, and how many a questionnaire has with these; or nothing.

    What all labels share may be left out: ``not useful at all``, ``very useful``.
    """
    plain = {t: _plain(t) for t in texts}
    shared = set.intersection(*(set(p.split()) for p in plain.values())) if plain else set()
    short = {t: " ".join(w for w in p.split() if w not in shared) for t, p in plain.items()}
    for named in (plain, short):
        for ladder in (text.split("|") for text in WORDS["ladders"]):
            if named and {*named.values()} <= {*ladder}:
                return {t: ladder.index(v) for t, v in named.items()}, len(ladder)
    return {}, 0


def _plain(text: str) -> str:
    plain = re.sub(r"[^\w ]", "", text.casefold()).strip()
    for pattern, same in WORDS["same"].items():
        if match := re.fullmatch(pattern, plain):
            return match.expand(same)
    return plain


def scale_of_labels(words: Sequence[str]) -> tuple[float, float] | None:
    """Return the scale of labels of a questionnaire, or such as ``4/5``; None if they have other numbers.

    Raises `DataError` for such as ``4/5`` beside ``3/10``.
    """
    parts = [match for w in words if (match := _OF.fullmatch(w))]
    if parts:
        tops = {int(m[2]): m[0] for m in parts}
        if len(tops) > 1:
            one, other, *_ = tops.values()
            raise DataError(f"{one!r} and {other!r} are on different scales; write all answers on one")
        low, top = min(1, *(int(m[1]) for m in parts)), next(iter(tops))
        return next((s for s in SCALES if s[0] <= low and s[1] == top), (low, top))
    _, n = _rungs(words)
    return None if not n else (0, 1) if n == 2 else (1, n)


def two_words(texts: Sequence[str]) -> str:
    """Return ``LOW<HIGH`` of texts that are all one of two words, as a ladder has them; empty of others."""
    words = sorted({*texts})
    rungs, _ = _rungs(words)
    two = len(words) == 2 and all(w.isalpha() and not TOOL.search(w) for w in words)
    return "<".join(sorted(words, key=lambda w: rungs.get(w, 0))) if two else ""


def is_rating(texts: Sequence[str]) -> bool:
    """Say whether numbers look like ratings: whole ones from -3 to 100, or halves up to 10, beside dates."""
    numbers = [float(t) for t in texts if NUMBER.fullmatch(t) and not SERIAL.fullmatch(t)]
    steps = 2 if max(numbers, default=0) <= _NO_SLIDER else 1
    return bool(numbers) and all((steps * n).is_integer() and -3 <= n <= 100 for n in numbers)


def scale_of(numbers: Sequence[float]) -> tuple[float, float]:
    """Return the usual scale that holds numbers, or their ends."""
    low, high = min(numbers), max(numbers)
    return next((s for s in SCALES if s[0] <= low and high <= s[1]), (low, high if high > low else low + 1))


def scales_of(ratings: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    """Return the scale of each aspect: that of all, unless an aspect clearly has its own."""
    counts = Counter(scale_of(v) for v in ratings.values())
    common = max(counts, key=lambda s: (s[1] - s[0], counts[s]))
    scales = {}
    for aspect, values in ratings.items():
        own = scale_of(values)
        whole = set(values) >= {float(n) for n in range(int(own[0]), int(own[1]) + 1)}
        outside = not common[0] <= min(values) <= max(values) <= common[1]
        slider = common[1] > _NO_SLIDER >= own[1]
        scales[aspect] = own if outside or slider or (whole and len(values) >= _SURE) else common
    return scales


_LONGEST = 60  # characters of a question in a line


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
    texts: Mapping[str, list[str]]
    """Column → its cells that are not empty."""
    roles: dict[str, str] = field(default_factory=dict)
    """Role of a key, text or selector → its column."""
    people: list[Cell] = field(default_factory=list)
    tools: list[Cell] = field(default_factory=list)
    profiles: list[str] = field(default_factory=list)
    labels: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """Column → word → number, where people answered in words."""
    unused: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    """Columns of whole numbers that are no opinions: rows, usage, what is the same everywhere."""
    unknown: list[str] = field(default_factory=list)
    undecided: list[Cell] = field(default_factory=list)
    """Columns of values that nobody is named for."""
    users: list[str] = field(default_factory=list)
    """The raters who are users, as the table calls them: one word, or the identifier of each."""
    models: list[str] = field(default_factory=list)
    """Raters of a long table who are models."""
    generator: str = ""
    aspects: list[ProposedAspect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def row_is_user(self) -> bool:
        """Whether people have a row each and no name: their columns repeat for several explanations."""
        return NTH in "".join(self.explode) and "user_id" not in self.roles

    @property
    def columns(self) -> dict[str, str]:
        """Column → its role; of values also whose they are."""
        roles = {column: role for role, column in self.roles.items()}
        roles |= dict.fromkeys(self.profiles, "profile") | dict.fromkeys(
            (*self.unused, *self.counters), "ignore"
        )
        roles |= {c.column: f"rating:{c.who or self.roles['rater']}" for c in self.people}
        return roles | {c.column: f"tool:{c.who or self.roles['rater']}" for c in self.tools}

    @property
    def raters(self) -> list[str]:
        """The raters that a column of a long table names."""
        return sorted({*self.cells(self.roles["rater"])} - {""})

    def cells(self, column: str) -> list[str]:
        """Return the cells of a column as text."""
        return [str(t).strip() for t in sound(text_column(self.table, column))]

    def lines(self) -> list[str]:
        """Return what each column is taken for, in words."""
        lines = [(role, self.roles[role]) for role in ROLES if role in self.roles]
        lines += [("ratings", self._values(self.people)), ("scores", self._values(self.tools))]
        rest = {"profile": self.profiles, "not used": self.unused, "counters, not used": self.counters}
        rest |= {"unknown": self.unknown, "nobody named": [cell.column for cell in self.undecided]}
        lines += [(name, ", ".join(columns)) for name, columns in rest.items()]
        width = max((len(name) for name, columns in lines if columns), default=0) + 2
        return [f"  {name:<{width}}{columns}" for name, columns in lines if columns]

    def _values(self, cells: Sequence[Cell]) -> str:
        by: dict[str, list[str]] = {}
        for cell in cells:
            name = aspect_name(cell.aspect)
            text = cell.column if name == cell.aspect else f"{name} ({shortened(cell.column)})"
            by.setdefault(cell.who or f"by {self.roles['rater']}", []).append(text)
        return "; ".join(f"{who}: {few(columns)}" for who, columns in by.items())


def refuse_dates(made: Proposal) -> None:
    """Raise `DataError` if ratings or scores hold dates."""
    for cell in (*made.people, *made.tools):
        serials = cell in made.people and is_rating(made.texts[cell.column])
        sound(([], date_problems(made.table, cell.column, serials=serials)))


def texts_of(table: Table) -> dict[str, list[str]]:
    """Return the cells of each column that are not empty, as text."""
    named = [c for c in table.frame.columns if str(c).strip()]
    cells = {str(c): table.frame[c].dropna().map(_as_text).str.strip() for c in named}
    return {c: values[values != ""].tolist() for c, values in cells.items()}


def _as_text(cell: object) -> str:
    return str(cell).lower() if isinstance(cell, bool) else str(cell)  # as `text_column` has it


def shortened(name: str) -> str:
    """Return a name of a column, without its beginning if it is a long question."""
    return name if len(name) <= _LONGEST else f"… {name[2 - _LONGEST :].partition(' ')[2]}"


def by_names(made: Proposal, said: Mapping[str, str]) -> Proposal:
    """Say what the columns are, by their names; and which hold values, of whom."""
    numbers = _numbers(made, said)
    parts = {c: [part for part in role.split(":") if "<" not in part] for c, role in said.items()}
    named = {c: ":".join(who) for c, (_, *who) in parts.items() if who}
    said = {c: role for c, (role, *_) in parts.items()}
    roles = roles_of([*made.texts], numbers.keys(), said)
    _inputs(made, roles, said)
    _writers(made, roles, said)
    values = [c for c in made.texts if roles.get(c, "rating" if c in numbers else "") in ("rating", "score")]
    for column in (c for c in made.texts if c not in values):
        role = roles.get(column, "" if made.texts[column] else "ignore")
        if role in made.roles or not role:
            made.unknown.append(column)
        elif role == "profile" and "user_id" in roles.values():
            made.profiles.append(column)
        elif role in ("profile", "ignore"):
            made.unused.append(column)
        else:
            made.roles[role] = column
    if "item_title" in made.roles:
        made.roles.setdefault("item_id", made.roles["item_title"])
    free = [c for c in values if c not in said and not numbers[c]]
    made.counters = [c for c in free if not named_for_people(c) and is_counter(made.texts[c])]
    values = [c for c in values if c not in made.counters]
    tools = [c for c in values if roles.get(c) == "score" or (c not in roles and TOOL.search(c))]
    people = [c for c in values if c not in tools]
    rater, beside = made.roles.get("rater"), made.roles.get("rater", "").rpartition(".")[0]
    long = [c for c in people if VALUE.fullmatch(c) or roles.get(c) == "rating"] or people
    if "aspect" in made.roles:
        made.people = [Cell(long[0], "" if rater else USER_RATER, "", long[0])] if long else []
        made.undecided = [whole(c, USER_RATER) for c in people if c not in long[:1]]
        people = []
    elif rater:  # ratings that do not stand beside the rater are of the user
        own = [] if named_for_people(rater) else [c for c in people if named_for_people(c)]
        given = [c for c in people if c not in own]
        made.people = [whole(c, "" if c.startswith(beside) else USER_RATER) for c in given]
        if len(given) == 1 and VALUE.fullmatch(given[0]):
            made.people = [made.people[0]._replace(aspect=OVERALL, pattern=given[0])]
        people = own
    cells = cells_of([*people, *tools], tools)
    made.people += [cells[c] for c in people]
    made.people = [_by(cell, named) for cell in made.people]
    made.labels = {c: found for c in values if (found := numbers.get(c))}
    shared = Counter(c.aspect for c in (*made.people, *(cells[t] for t in tools)))
    sure = [c for c in made.people if said.get(c.column) == "rating" or _is_person(made, c, shared)]
    rated = {cell.aspect for cell in sure}
    made.tools = [_by(_of_aspect(cells[c], rated), named) for c in tools]
    made.undecided += [c for c in made.people if c not in sure]
    made.people = sure
    _leave_out(made)
    return made


def _numbers(made: Proposal, said: Mapping[str, str]) -> dict[str, dict[str, int | None]]:
    """Return the columns that may hold values, with the numbers of their words; see `numbers_of`."""
    numbers = {c: n for c, texts in made.texts.items() if (n := numbers_of(texts)) is not None}
    for column, texts in made.texts.items():
        if order := order_in(role := said.get(column, "")):
            if role.startswith("words"):
                raise DataError(f"say whose {column!r} is: '{column}={role.replace('words', 'tool:NAME')}'")
            numbers[column] = {t: int(order[t]) if t in order else None for t in texts}
        elif texts and VALUE.fullmatch(column) and all(map(DATE.fullmatch, texts)):
            numbers[column] = {}
    return numbers


def _leave_out(made: Proposal) -> None:
    """Leave out the columns that are not known and can be no key and no text."""
    frame, units = made.table.frame.astype(str), {"item_id", "generator", "explanation"}
    judges = [c for c in made.unknown if TOOL.search(c) and two_words(made.texts[c])]
    may_be = [c for c in made.unknown if made.texts[c] and (c in judges or not units <= made.roles.keys())]
    if "explanation" in made.roles:
        may_be = [c for c in may_be if 1 < frame[c].nunique() < len(frame)]
    made.unused += [c for c in made.unknown if c not in may_be]
    made.unknown = may_be


def _is_person(made: Proposal, cell: Cell, shared: Mapping[str, int]) -> bool:
    """Say whether a column states that its values are people's.

    ``shared`` says how many columns are of an aspect: one alone, as in `human_likeness`, is none.
    """
    texts = made.texts[cell.column]
    if not cell.who:  # of whom, a column says row by row
        return bool(made.labels.get(cell.column)) or bool(VALUE.fullmatch(cell.column)) or is_rating(texts)
    if "{who}" in cell.pattern or cell.who != USER_RATER:  # its name says of whom
        return named_for_people(cell.who) and (cell.aspect == OVERALL or shared[cell.aspect] > 1)
    beside = [made.roles[role] for role in ("user_id", "rater") if role in made.roles]
    words = [re.sub(r"^\W*\d+\W*", "", w) for w, n in (numbers_of(texts) or {}).items() if n is not None]
    return rated_beside(cell.column, beside) or _rungs(words)[1] >= _LIKERT


def _by(cell: Cell, named: Mapping[str, str]) -> Cell:
    """Return a cell with the name that the user gave whoever said its values."""
    if (who := named.get(cell.column)) is None:
        return cell
    return cell._replace(who=who, pattern=cell.pattern.replace("{who}", cell.who))


def _of_aspect(cell: Cell, rated: Collection[str]) -> Cell:
    """Return a tool's cell, as one of the aspect that it is named for, if people rated that."""
    if cell.aspect or cell.column not in rated:
        return cell
    return cell._replace(aspect=cell.column, pattern="{aspect}")


def _inputs(made: Proposal, roles: dict[str, str], said: Mapping[str, str]) -> None:
    """Take back the role of an aspect, item or rater that the cells do not bear out.

    An aspect differs between rows of one text, else it is the input; an item is not the same in every row,
    unless its column has the name of the role itself; nobody is called by a fraction.
    """
    by = {role: column for column, role in roles.items()}
    text, frame = by.get("explanation"), made.table.frame.astype(str)
    column = by.get("aspect")
    if column and column not in said and text and frame.groupby(text)[column].nunique().max() <= 1:
        roles[column] = "ignore" if "item_title" in by else "item_title"
    for role in ("item_id", "item_title"):
        column = by.get(role)
        if column and column not in {*said, role} and len(frame) > 1 and frame[column].nunique() == 1:
            roles[column] = "ignore"
    rater = by.get("rater", "")
    if rater not in said and any(map(_FRACTION.fullmatch, made.texts.get(rater, ()))):
        del roles[rater]
    if "item_id" in roles.values() or "item_title" in roles.values():
        return
    free = [c for c in made.texts if roles.get(c, "ignore") == "ignore" and c not in said]
    ids = [c for c in free if _ID.fullmatch(c)]
    repeat = [c for c in ids if 1 < frame[c].nunique() < len(frame)]
    if text:
        repeat.sort(key=lambda c: frame.groupby(c)[text].nunique().mean())
    if repeat:
        roles[repeat[0]] = "item_id"


def _writers(made: Proposal, roles: dict[str, str], said: Mapping[str, str]) -> None:
    """Take back the role of a generator that stands beside the same text for every item, as a judge does."""
    by = {role: column for column, role in roles.items()}
    wrote, text, item = by.get("generator"), by.get("explanation"), by.get("item_id", by.get("item_title"))
    if wrote and text and item and wrote not in said:
        of_item = made.table.frame.astype(str).groupby(item)
        if (of_item[text].nunique() == 1).all() and (of_item[wrote].nunique() > 1).all():
            del roles[wrote]
