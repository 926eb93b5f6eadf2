"""Ask what the columns of a table do not say."""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem, nearest, one_of
from metaeval.base.records import AVERAGE, USER_RATER
from metaeval.data.origin import looks_like, people_among
from metaeval.data.proposals.likely import WHETHER, likely_roles
from metaeval.data.proposals.pairs import refuse_pairs
from metaeval.data.proposals.proposal import (
    SCALES,
    Proposal,
    ProposedAspect,
    by_names,
    has_number,
    numbers_of,
    refuse_dates,
    scale_of_labels,
    scales_of,
    shortened,
    texts_of,
)
from metaeval.data.proposals.roles import (
    NTH,
    OVERALL,
    PLACE,
    ROLES,
    TOOL,
    Cell,
    aspect_name,
    read_roles,
    repeated,
    roles_of,
    the_user,
)
from metaeval.data.tables.columns import NUMBER
from metaeval.data.tables.maps import KEYS, few
from metaeval.data.tables.nested import flattened, object_lists
from metaeval.data.tables.table import Table

Answer = TypeVar("Answer")


class Ask(Protocol):
    """Puts a question."""

    def __call__(
        self, question: str, default: str, read: Callable[[str], Answer], proposal: str = ""
    ) -> Answer:
        """Return what ``read`` makes of an answer; where it raises `DataError`, ask again.

        A ``default`` may be taken unasked; a ``proposal`` only by whoever sees it.
        """


NONE = "none"
_ELSE = "Is a column something else, such as 'my text=explanation'? (or no)"
_FEW = 3  # columns in a question
_CODED = 0.25  # share of ratings up to which those far from the scale of the others may be codes
_ODD = 0.1  # share of scores up to which those outside the scale of the others are odd
_MANY = 9  # names in a question
_HTML = r"</[a-zA-Z]+>|<br\s*/?>|&(?:nbsp|amp|quot|#\d+);"


def propose(
    table: Table,
    said: Mapping[str, str],
    ask: Ask,
    tell: Callable[[str], None],
    unrated: list[ProposedAspect],
) -> Proposal:
    """Return what a table, as read, is taken for.

    ``said`` are the roles of columns, as far as they are known. ``ask`` returns an answer, given a question,
    its default and how it is read; ``tell`` shows a line. ``unrated`` are the aspects of a table that nobody
    has rated yet. `DataError` is raised if the table has no column that looks like people's ratings, or has
    one though it is ``unrated``; and where nobody is asked, for columns that are not known.
    """
    place: dict[str, str] = {}
    where: dict[str, list[str]] = {}
    if not (explode := object_lists(table)):
        explode, place, where = _ask_for_repeated(table, said, ask)
    flat = flattened(table, explode, where)
    texts = texts_of(flat)
    column = next((c for c, role in roles_of([*texts], (), said).items() if role == "rater"), "")
    names = {*texts.get(column, ())} - {*texts}
    raters = {name: role for name, role in said.items() if name in names}
    said = place | _matching({n: r for n, r in said.items() if n not in raters}, [*texts])
    read_as = f" ({table.read_as})" if table.read_as else ""
    tell(f"{table.name}: {counted(len(table.frame), 'row')}{read_as}. Its columns:")
    while True:
        made = by_names(Proposal(flat, explode, texts), said)
        for line in made.lines():
            tell(line)
        refuse_pairs(made)
        if made.unknown or (made.undecided and not unrated):
            said = said | ask(_what_are(made), "", partial(_known, made), proposal="yes")
        elif not made.people and not unrated:
            raise DataError(_nobody(made))
        elif unrated and (rated := [*made.people, *made.undecided]):
            raise DataError(
                f"--aspect is for a table that nobody has rated, and {rated[0].column!r} of "
                f"{table.name} looks like ratings; leave --aspect out, or add --column 'NAME=ignore'"
            )
        elif more := ask(_ELSE, "", lambda answer: _matching(read_roles(answer), [*texts])):
            said = said | more
        else:
            break
    refuse_dates(made)
    if "generator" not in made.roles:
        made.generator = ask("No column names the generator. Which model or system was it?", "model", str)
    made.aspects += unrated
    if made.people:
        _ask_for_raters(made, ask, raters)
        _ask_for_aspects(made, ask)
        _ask_for_direction(made, ask)
    _find_units(made)
    return made


def _matching(said: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Return what each column is said to be, where a name with stars may stand for several."""
    roles: dict[str, str] = {}
    for name, role in said.items():
        fits = [name] if name in columns else fnmatch.filter(columns, name.replace("[", "[[]"))
        if not fits:
            near = nearest(name, columns)
            raise DataError(f"the table has no column {name!r}{near}; it has {few(columns)}")
        roles |= dict.fromkeys(fits, role)
    return roles


def _what_are(made: Proposal) -> str:
    roles = likely_roles(made)
    shown = [f"{shortened(c)!r} = {role} ({looks_like(made.texts[c])})" for c, role in roles.items()]
    return f"What are these columns, as they look: {'; '.join(shown)}? (yes, 'NAME=ROLE', …, or ignore)"


def _known(made: Proposal, answer: str) -> dict[str, str]:
    """Return what columns are; raise `DataError`, with a line to add for each, if nobody says so."""
    values, columns = {cell.column for cell in made.undecided}, likely_roles(made)
    if answer.strip() == "ignore":
        return dict.fromkeys(columns, "ignore")
    if answer.strip() == "yes":
        return columns
    if said := _matching(read_roles(answer), [*columns]):
        return said
    problems = []
    for column, role in columns.items():
        what = "nobody is named for its values" if column in values else "it is not known what it is"
        line = f"--column {shlex.quote(f'{column}={role}')}"
        whether = WHETHER[role.partition(":")[0]]
        message = f"{what} ({looks_like(made.texts[column])}); if {whether}, add {line}"
        problems.append(Problem(made.table.name, None, column, message))
    roles = ", ".join(ROLES) if made.unknown else "rating (people's), tool:NAME, or ignore"
    every = " ".join(f"--column {shlex.quote(f'{c}={role}')}" for c, role in columns.items())
    message = (
        f"this is how they look, and each may be {roles}; change what is wrong, and add all of it: {every}"
    )
    raise DataError([*problems, Problem(made.table.name, None, None, message)])


def _nobody(made: Proposal) -> list[Problem]:
    """Return what to add to a table that names no person for any of its values."""
    name = made.table.name
    problems = []
    for column in dict.fromkeys([*(cell.column for cell in made.tools), *made.counters]):
        line = f"--column {shlex.quote(f'{column}=rating')}"
        message = f"is taken for a tool's ({looks_like(made.texts[column])}); if people gave it, add {line}"
        problems.append(Problem(name, None, column, message))
    message = (
        f"no column looks like people's ratings ({few([*made.texts])}); name them, such as --column "
        "'NAME=rating', or if nobody has rated yet, name what people are to rate, such as --aspect clarity"
    )
    return [*problems, Problem(name, None, None, message)]


def _ask_for_repeated(
    table: Table, said: Mapping[str, str], ask: Ask
) -> tuple[list[str], dict[str, str], dict[str, list[str]]]:
    """Return the patterns of columns that stand once per explanation, what a place is, and all places."""
    flat = flattened(table)
    texts = texts_of(flat)
    families, likely = repeated([*texts])
    columns = {c for places in families.values() for c in places.values()}
    if PLACE in texts or columns & said.keys() or all(numbers_of(texts[c]) is None for c in columns):
        return [], {}, {}
    patterns, values = [*families], dict.fromkeys(v for places in families.values() for v in places)
    roles = roles_of([c for c in (*texts, *patterns) if c not in columns], (), {}).values()
    free = [key for key in (likely, "item_id", "generator") if key not in roles]
    words = {"item": "item_id", "generator": "generator", "other": "ignore", "no": ""}
    usual = (
        "other"
        if "item_id" in roles_of(patterns, (), {}).values() or not free
        else free[0].removesuffix("_id")
    )

    def read(answer: str) -> str:
        return words[one_of(answer.strip().casefold(), words, "it cannot be", "it may be", error=DataError)]

    shown = ", ".join([*map(shortened, patterns[:_FEW]), *["…"] * (len(patterns) > _FEW)])
    question = (
        f"Columns repeat for {', '.join(values)}: {shown}. What does {NTH} stand for? (item, generator, "
        "other, or no if each row is about one explanation)"
    )
    role = ask(question, usual, read)
    return (patterns, {PLACE: role}, {PLACE: [*values]}) if role else ([], {}, {})


def _ask_for_raters(made: Proposal, ask: Ask, said: Mapping[str, str]) -> None:
    """Ask which raters are models, and which is the user."""
    in_people = [*dict.fromkeys(c.who for c in made.people if c.who)]
    long = "rater" in made.roles and any(not c.who for c in made.people)
    raters = made.raters if long else in_people
    if long:
        people = people_among(raters, made.roles["rater"])
        known = dict.fromkeys(people, "rating") | {r: "score" for r in raters if TOOL.search(r)} | dict(said)
        models = [r for r in raters if known.get(r) == "score"]

        if len(models) == len(raters) and not in_people:
            column = f"{made.roles['rater']!r} of {made.table.name}"
            raise DataError(
                f"{column} names models alone ({_shown(raters)}), and the truth is what people said; if one "
                "is a person, add --column 'NAME=rating'"
            )

        def read(answer: str) -> list[str]:
            if answer:
                return _listed(answer, raters, most=len(raters) - (not in_people))
            words = {"score": "tool", "rating": "rating"}
            options = [shlex.quote(f"{r}={words[known.get(r, 'rating')]}") for r in raters]
            unknown = [r for r in raters if r not in known]
            raise DataError(
                f"{made.roles['rater']!r} of {made.table.name} may name people and models; nobody says what "
                f"{few(unknown)} {'is' if len(unknown) == 1 else 'are'}; add, changed where it is wrong: "
                f"{' '.join(f'--column {o}' for o in options)}"
            )

        question = f"Which raters are models or tools? ({_shown(raters)}, or {NONE})"
        likely, sure = ", ".join(models) or NONE, len(known) == len(raters)
        models = ask(question, likely if sure else "", read, proposal=likely)
        made.models = models
        made.tools += [c for c in made.people if c.who in models]
        raters = [*in_people, *(r for r in raters if r not in models)]
    if raters == [USER_RATER] or (long and USER_RATER in in_people):
        made.users = [USER_RATER]
    else:
        truth = f"or {NONE}: then the truth is {'their mean' if len(raters) > 1 else 'what they said'}"
        question = f"Which rater is the person the item was recommended to? ({_shown(raters)}, {truth})"
        made.users = ask(question, the_user(raters) or NONE, lambda answer: _listed(answer, raters))
    if not made.users:
        mean = f"the mean of {', '.join(raters)}" if len(raters) > 1 else f"what {raters[0]} said"
        advice = "and who is part of it is not compared; change `truth` in the study to compare them"
        made.notes.append(f"No rater is the user. The truth is {mean}, {advice}.")


def _shown(raters: Sequence[str]) -> str:
    """Return the names for a question; the answer to ``?`` has all of many."""
    more = [f"… ({len(raters)} in all; ? lists them)"] if len(raters) > _MANY else []
    return ", ".join([*raters[:_MANY], *more])


def _listed(answer: str, known: Sequence[str], most: int | None = None) -> list[str]:
    """Return the names in an answer; raise `DataError` if one is not known, or if they are too many."""
    names = [n.strip() for n in answer.split(",") if n.strip() and n.strip() != NONE]
    exact = {k.casefold(): k for k in known} | {k: k for k in known}
    for name in names:
        if name.casefold() not in exact:
            raise DataError(f"there is no rater {name!r}; there are {', '.join(known)}")
    if most is not None and len(names) > most:
        raise DataError("the ratings of people are the truth, so one of the raters is none of these")
    return [exact.get(name) or exact[name.casefold()] for name in names]


def _ask_for_aspects(made: Proposal, ask: Ask) -> None:
    """Name the aspects that people rated, and ask for their scales; raise `DataError` without a rating."""
    numbers, words = _ratings(made)
    if not numbers:
        raise DataError(f"{made.table.name} has no rating in its columns of ratings")
    scales = scales_of(numbers) | {a: s for a in numbers if words[a] and (s := scale_of_labels(words[a]))}
    for cell in made.tools:
        scale_of_labels([*made.labels.get(cell.column, {})])  # refuses numbers of different scales
    names: dict[str, str] = {}
    for text in numbers:
        name = aspect_name(text)
        name = OVERALL if name.casefold() == AVERAGE else name
        same = sum(n == name or n.startswith(f"{name} (") for n in names.values())
        names[text] = f"{name} ({same + 1})" if same else name
    ends = {
        scale: ask(
            f"The scale of {few([names[a] for a in scales if scales[a] == scale])}?",
            f"{scale[0]:g} to {scale[1]:g}",
            _scale,
        )
        for scale in dict.fromkeys(scales.values())
    }
    for text, name in names.items():
        whole_numbers = all(n.is_integer() for n in numbers[text])
        made.aspects.append(ProposedAspect(name, text, ends[scales[text]], whole_numbers))
    _note_outside(made)
    _note_codes(made, numbers)


def _note_outside(made: Proposal) -> None:
    """Note the few scores of a tool outside the scale of the others, which may mean that there is none."""
    scales = {aspect.text: aspect.scale for aspect in made.aspects}
    for cell in made.tools:
        low, high = scales.get(cell.aspect, made.aspects[0].scale)
        numbers = [float(t) for t in made.texts[cell.column] if NUMBER.fullmatch(t)]
        outside = [number for number in numbers if not low <= number <= high]
        if 0 < len(outside) <= _ODD * len(numbers):
            made.notes.append(
                f"{cell.column!r} has {len(outside):,} of {len(numbers):,} scores outside {low:g} to "
                f"{high:g}, such as {outside[0]:g}: they count as scores; if they mean none, write "
                f"missing: ['{outside[0]:g}'] in map.yaml."
            )


def _note_codes(made: Proposal, numbers: Mapping[str, Sequence[float]]) -> None:
    """Note the few ratings apart from a usual scale whose ends were used, such as 99 beside 1 to 5."""
    for aspect in made.aspects:
        values, (least, most) = numbers[aspect.text], aspect.scale
        for low, high in SCALES:
            codes = [v for v in values if not low - 1 <= v <= high + 1 and least <= v <= most]
            rest = {v for v in values if v not in codes}
            if 0 < len(codes) <= _CODED * len(values) and (min(rest), max(rest)) == (low, high):
                made.notes.append(
                    f"{len(codes):,} of {len(values):,} ratings of {aspect.name!r} are far from {low} to "
                    f"{high}, such as {codes[0]:g}: they count as ratings; if they mean no answer, write "
                    f"missing: ['{codes[0]:g}'] and the scale in map.yaml."
                )
                break


def _ratings(made: Proposal) -> tuple[dict[str, list[float]], dict[str, list[str]]]:
    """Return the numbers that people gave each aspect, and the words of the answers that have a number."""
    numbers: dict[str, list[float]] = {}
    words: dict[str, list[str]] = {}
    by = made.cells(made.roles["rater"]) if made.models else None
    for cell in made.people:
        labels = made.labels.get(cell.column, {})
        values = [labels.get(t, t) for t in made.cells(cell.column)]
        column = made.roles.get("aspect")
        aspects = [cell.aspect] * len(values) if column is None else made.cells(column)
        for at, (aspect, value) in enumerate(zip(aspects, values, strict=True)):
            number = value is not None and re.fullmatch(r"[+-]?\d+(\.\d+)?", str(value))
            if number and (cell.who or by is None or by[at] not in made.models):
                numbers.setdefault(aspect, []).append(float(str(value)))
        for aspect in {*aspects}:
            words.setdefault(aspect, []).extend(w for w, n in labels.items() if n is not None)
    return numbers, words


def _scale(answer: str) -> tuple[float, float]:
    """Return the ends of a scale: ``1 to 5``, ``1-5``; raise `DataError` if they are none."""
    ends = [float(n) for n in re.findall(r"(?<!\d)-?\d+(?:\.\d+)?", answer)]
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise DataError(f"{answer!r} is no scale; give its ends, such as 1 to 5")
    return ends[0], ends[1]


def _ask_for_direction(made: Proposal, ask: Ask) -> None:
    """Ask whether answers in words rise as they were taken to; codes such as A1 may as well fall."""
    groups: dict[frozenset[str], list[Cell]] = {}
    for cell in made.people:
        labels = made.labels.get(cell.column, {})
        if any(n is not None and not has_number(w) for w, n in labels.items()):
            groups.setdefault(frozenset(labels), []).append(cell)
    ends = {a.text: a.scale for a in made.aspects}
    for cells in groups.values():
        words = {w: n for w, n in made.labels[cells[0].column].items() if n is not None}
        shown = ", ".join(f"{w} = {words[w]}" for w in sorted(words, key=lambda w: words[w]))
        if ask(f"The answers: {shown}. Right? (yes, or reversed)", "yes", _is_reversed):
            for cell in cells:
                both = int(sum(ends.get(cell.aspect, made.aspects[0].scale)))
                numbers = made.labels[cell.column].items()
                made.labels[cell.column] = {w: None if n is None else both - n for w, n in numbers}


def _is_reversed(answer: str) -> bool:
    one_of(answer.strip(), ("yes", "reversed"), "it cannot be", "it may be", error=DataError)
    return answer.strip() == "reversed"


def _find_units(made: Proposal) -> None:
    """Take each row for an item where no column names it, or where the keys name several rows."""
    roles, frame = made.roles, made.table.frame.astype(str)
    text, user = roles.get("explanation"), roles.get("user_id")
    if text is None:
        made.notes.append("No column holds the texts: only evaluators that need none can be used.")
    if made.row_is_user:
        made.notes.append("No column names the user: each row is a user of its own.")
    if "item_id" not in roles:
        n = len(frame) if text is None or made.explode else frame[text].nunique()
        though = f", though {len(frame):,} rows hold {n:,} different texts" if 2 * n <= len(frame) else ""
        made.notes.append(f"No column names the item: each row is an item of its own{though}.")
    elif not made.row_is_user and (made.explode or not {"rater", "aspect"} & roles.keys()):
        _find_doubles(made)
    if user is not None and frame[user].str.contains("@").any():
        made.notes.append(f"{user!r} holds e-mail addresses: replace them before you share the data.")
    if text is not None and frame[text].str.contains(_HTML).any():
        made.notes.append(f"{text!r} holds HTML, which evaluators read as text: take it out first.")


def _find_doubles(made: Proposal) -> None:
    repeats = NTH in "".join(made.explode)
    rows = pd.Series(made.table.rows, made.table.frame.index)
    keys = [*dict.fromkeys(made.roles[k] for k in (*KEYS, "rater", "aspect") if k in made.roles)]
    units = rows.groupby([made.table.frame[k].astype(str) for k in keys], sort=False)
    twice = units.transform("nunique" if made.explode and not repeats else "size") > 1
    if twice.any():
        first = units.ngroup()[twice].iloc[0]
        like = rows[units.ngroup() == first].unique()
        of_place = repeats and made.roles.get("generator") != PLACE
        made.notes.append(
            f"{rows[twice].nunique():,} of {rows.nunique():,} rows have the same "
            f"{', '.join(map(repr, keys))} as another, such as row{'s' * (len(like) > 1)} "
            f"{' and '.join(map(str, like[:2]))}: each {NTH if of_place else 'row'} is an item of its own."
        )
        made.roles.pop("item_id")
        made.roles |= {"item_id": PLACE} if of_place else {}
