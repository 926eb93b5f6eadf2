"""Look at a table, and ask what cannot be known of it."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, nearest, one_of
from metaeval.base.records import USER_RATER
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.tables.aspects import find_aspects
from metaeval.kinds.explanations.data.tables.guess import guess, rated_by, texts_by_column, varies
from metaeval.kinds.explanations.data.tables.labels import MISSING
from metaeval.kinds.explanations.data.tables.map_text import words_for_none
from metaeval.kinds.explanations.data.tables.names import NTH, PLACE, ROLES, TOOL, role_of, the_user
from metaeval.kinds.explanations.data.tables.prepare import few
from metaeval.kinds.explanations.data.tables.proposal import Proposal, cut, raters_of, texts_of
from metaeval.kinds.explanations.data.tables.repeated import repeated
from metaeval.sources.tables.nested import flattened, object_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metaeval.kinds.explanations.data.tables.proposal import Ask
    from metaeval.sources.tables.table import Table

NONE = "none"
_ELSE = "Is a column something else, such as 'my text=explanation'? (or no)"
_FEW = 3  # columns in a question
_MANY = 9  # names in a question
_HTML = r"</[a-zA-Z]+>|<br\s*/?>|&(?:nbsp|amp|quot|#\d+);"
_OTHER_KINDS = (
    ("slates", {"winner", "verdict", "first", "second", "left", "right"}, 2, "how-to/slates"),
    ("relevance", {"query", "qid", "query_id", "doc", "docid", "doc_id", "relevance"}, 2, "how-to/relevance"),
    ("exposure", {"propensity", "exposed", "clicked", "click", "policy"}, 2, "how-to/exposure"),
)  # fmt: skip


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
    roles: dict[str, str] = {}
    if not (explode := object_lists(table)):
        explode, roles = _ask_for_repeated(table, said, ask)
    flat = flattened(table, explode)
    columns = [str(c) for c in flat.frame.columns]
    said = said_of(said, columns)
    told = f" ({table.read_as})" if table.read_as else ""
    tell(f"{table.name}: {counted(len(table.frame), 'row')}{told}. Its columns:")
    while True:
        made = Proposal(flat, explode, guess(flat, roles | said))
        for line in made.lines():
            tell(line)
        if not (more := ask(_ELSE, "", lambda told: said_of(read_roles(told), columns))):
            break
        said = said | more
    _refuse(made, columns)
    _ask_for_raters(made, ask)
    if "generator" not in made.guess.roles:
        made.generator = ask("No column names the generator. Which model or system was it?", "model", str)
    find_aspects(made, ask)
    _find_keys(made)
    if words := [repr(w) for w in words_for_none(made) if w.casefold() not in MISSING]:
        made.notes.append(
            f"{', '.join(words)} among numbers is taken for no answer: see `missing` in the map."
        )
    return made


def read_roles(told: str) -> dict[str, str]:
    """Return what columns are said to be: ``NAME=ROLE``, several with commas; raise `DataError` if not so."""
    one = rf"\s*(?:--column\s)?(.+?)\s*=\s*({'|'.join(ROLES)})['\"\s]*(?:,|$)"
    if (rest := re.sub(one, "", told).strip()) not in ("", "no"):
        raise DataError(
            f"{rest!r} is not a column and what it is, such as 'my text=explanation'; it may be "
            f"{', '.join(ROLES)}"
        )
    return {column.strip("'\" "): role for column, role in re.findall(one, told)}


def said_of(said: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Return what each column is said to be, where a name with stars may stand for several."""
    found: dict[str, str] = {}
    for name, role in said.items():
        fits = [name] if name in columns else fnmatch.filter(columns, name.replace("[", "[[]"))
        if not fits:
            near = nearest(name, columns)
            raise DataError(f"the table has no column {name!r}{near}; it has {few(columns)}")
        found |= dict.fromkeys(fits, role)
    return found


def _ask_for_repeated(table: Table, said: Mapping[str, str], ask: Ask) -> tuple[list[str], dict[str, str]]:
    """Return the patterns of columns that stand once per explanation, and what their places are."""
    flat = flattened(table)
    found = repeated(texts_by_column(flat.frame))
    if found is None or PLACE in flat.frame or found.columns & said.keys():
        return [], {}
    patterns, values = [*found.families], {v: None for of in found.families.values() for v in of}
    known = guess(flattened(flat, patterns), {PLACE: "ignore"}).roles
    free = [k for k in ("item_id", "generator") if k not in known]
    likely = next((k for k in (found.likely, *free) if k in free), "ignore")
    likely = "ignore" if NTH in known.get("item_id", "") else likely
    words = {"item": "item_id", "generator": "generator", "other": "ignore", "no": ""}

    def read(answer: str) -> str:
        return words[one_of(answer.strip().casefold(), words, "it cannot be", "it may be", error=DataError)]

    told = ", ".join([*map(cut, patterns[:_FEW]), *["…"] * (len(patterns) > _FEW)])
    question = (
        f"Columns repeat for {', '.join(values)}: {told}. What does {NTH} stand for? (item, generator, "
        "other, or no if each row is about one explanation)"
    )
    role = ask(question, next(w for w, r in words.items() if r == likely), read)
    return (patterns, {PLACE: role}) if role else ([], {})


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
        f"no column of {made.table.name} looks like people's ratings ({few(columns)}); name them, "
        "such as --column 'NAME=rating'"
    )


def _ask_for_raters(made: Proposal, ask: Ask) -> None:
    found = made.guess
    rater = found.roles.get("rater")
    long = rater is not None and any(not c.who for c in found.people)
    raters = raters_of(made) if long else list(rated_by(found.people))
    if len(raters) > 1:
        tools = ", ".join(r for r in raters if TOOL.search(r)) if long else ""
        question = f"Which raters are models or tools? ({_shown(raters)}, or {NONE})"
        named = ask(question, tools or NONE, lambda told: _listed(told, raters, most=len(raters) - 1))
        if long:
            made.tools = named
        found.tools += [c for c in found.people if c.who in named]
        found.people = [c for c in found.people if c.who not in named]
        raters = [r for r in raters if r not in named]
    if raters == [USER_RATER] or (long and USER_RATER in rated_by(found.people)):
        made.users = [USER_RATER]
    else:
        else_ = f"or {NONE}: then the truth is {'their mean' if len(raters) > 1 else 'what they said'}"
        question = f"Which rater is the person the item was recommended to? ({_shown(raters)}, {else_})"
        likely = the_user(raters) or ", ".join(_rating_for_themselves(made)) or NONE
        made.users = ask(question, likely, lambda told: _listed(told, raters))
    if not made.users:
        mean = f"the mean of {', '.join(raters)}" if len(raters) > 1 else f"what {raters[0]} said"
        told = "and who is part of it is not compared; change `truth` in the study to compare them"
        made.notes.append(f"No rater is the user. The truth is {mean}, {told}.")


def _rating_for_themselves(made: Proposal) -> list[str]:
    """Return the raters of a long table whose name is the user in all rows that they rated."""
    roles = made.guess.roles
    if not {"rater", "user_id"} <= roles.keys():
        return []
    pairs = {*zip(texts_of(made, roles["rater"]), texts_of(made, roles["user_id"]), strict=True)}
    return sorted({r for r, _ in pairs} - {r for r, user in pairs if r != user} - {""})


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


def _find_keys(made: Proposal) -> None:
    """Name a unit by its row if the keys do not."""
    roles, frame = made.guess.roles, made.table.frame
    keys = [roles[k] for k in KEYS if k in roles]
    text = roles.get("explanation")
    if text is None:
        made.notes.append("No column holds the texts: only evaluators that need none can be used.")
    if made.row_is_user:
        made.notes.append("No column names the user: each row is a user of its own.")
    if "item_id" not in roles:
        told = "No column names the item: each row is an item of its own"
        n = len(frame) if text is None or made.explode else frame[text].nunique()
        told += f", though {len(frame):,} rows hold {n:,} different texts" if 2 * n <= len(frame) else ""
        made.notes.append(f"{told}.")
    elif not made.row_is_user:
        _find_doubles(made, keys, selected=bool({"rater", "aspect"} & roles.keys()))
    if text is not None and not {"rater", "user_id"} <= roles.keys():
        left = [c for c in made.guess.left if role_of(c, [], numeric=False, taken={}) != "ignore"]
        for column in [c for c in left if varies(c, made.guess, made.table)][:1]:
            names = frame[column].nunique()
            unused = f"{counted(len(made.guess.left), 'column')} not used"
            asked = f"is {column!r}, with {names} names, the rater? --column '{column}=rater'"
            made.notes.append(f"{unused}; {asked}")
    user = roles.get("user_id")
    if user is not None and frame[user].astype(str).str.contains("@").any():
        made.notes.append(f"{user!r} holds e-mail addresses: replace them before you share the data.")
    if text is not None and frame[text].astype(str).str.contains(_HTML).any():
        made.notes.append(f"{text!r} holds HTML, which evaluators read as text: take it out first.")


def _find_doubles(made: Proposal, keys: Sequence[str], *, selected: bool) -> None:
    """Take each row for an item where the keys name several: other texts, or rows that are one each."""
    repeats = NTH in "".join(made.explode)
    if selected and not made.explode:
        return
    frame, rows = made.table.frame, pd.Series(made.table.rows, made.table.frame.index)
    keys = [*dict.fromkeys(keys)]
    of = rows.groupby([frame[k].astype(str) for k in keys], sort=False)
    twice = of.transform("nunique" if made.explode and not repeats else "size") > 1
    if twice.any():
        names, n = ", ".join(map(repr, keys)), rows[twice].nunique()
        place = of.ngroup().to_numpy()
        like = rows[place == place[twice.to_numpy().argmax()]].unique()
        told = f"{n:,} of {rows.nunique():,} rows have the same {names} as another"
        such = f"such as row{'s' * (len(like) > 1)} {' and '.join(map(str, like[:2]))}"
        of_place = repeats and made.guess.roles.get("generator") != PLACE
        made.notes.append(f"{told}, {such}: each {NTH if of_place else 'row'} is an item of its own.")
        made.guess.roles.pop("item_id")
        made.guess.roles |= {"item_id": PLACE} if of_place else {}
