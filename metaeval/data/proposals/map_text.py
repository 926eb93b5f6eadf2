"""A proposal as the text of a map file, with comments for whoever changes it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

from metaeval.base.records import USER_RATER
from metaeval.data.proposals.proposal import MISSING, Proposal, ProposedAspect
from metaeval.data.proposals.roles import NTH, OVERALL, PLACE, Cell, without_place
from metaeval.data.tables.maps import KEYS

_PLAIN = re.compile(r"[^\W\d][\w.-]*(?: \w[\w.-]*)*")
_RESERVED = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"])


def map_text(made: Proposal, files: Sequence[str], split: str | None, folder: str, name: str) -> str:
    """Return the text of the map file."""
    again = (
        f"{shlex.join(files)} --map {shlex.quote(f'{folder}/map.yaml')} --out {shlex.quote(f'{folder}/data')}"
    )
    one = len({(a.scale, a.whole) for a in made.aspects}) == 1
    models = bool(made.models) and {*made.raters} == {*made.models}
    ratings = _entries(made, [c for c in made.people if c.who or not models], "rater")
    scores = _entries(made, made.tools, "evaluator")
    rename = _renames(made, [*ratings, *scores])
    if made.models:
        scores += _entries(made, [c for c in made.people if not c.who], "evaluator", of_models=True)
    repeats = NTH in "".join(made.explode)
    parts: list[tuple[str, Any, str]] = [
        ("name", name, ""),
        ("aspects", _aspects(made, one=one), "name → the question (judges are told it), and its columns"),
        ("scale", _scale(made.aspects[0]) if one else None, ""),
        ("split", split, ""),
        ("explode", made.explode, f"a row for each {f'value of {NTH}' if repeats else 'element'} of these"),
        ("where", {PLACE: [*made.table.frame[PLACE].unique()]} if repeats else {}, ""),
        ("rename", rename, "cells, before they are read"),
        ("missing", _missing(made), "words that stand for no answer"),
        ("units", _units(made), "what names an explanation, and its texts: ours ← the table's"),
        (
            "users",
            {c.rpartition(".")[2] or c: c for c in made.profiles},
            "what is known of users; judges may be told it",
        ),
        (
            "ratings",
            [entry for entry, _ in ratings],
            "of people; `user` is the person the item was recommended to",
        ),
        ("scores", [entry for entry, _ in scores], "of tools; each evaluator is Recorded('name')"),
    ]
    lines = [
        f"# Which column of {', '.join(files)} is what. Change it, and import the table again:",
        f"#   metaeval data import table {again} --force",
    ]
    for key, value, comment in parts:
        note = f"   # {comment}" if comment else ""
        if isinstance(value, dict) and key != "scale" and value:
            lines += [f"{key}:{note}", *(f"  {quoted(k)}: {_flow(v)}" for k, v in value.items())]
        elif key in ("ratings", "scores") and value:
            lines += [f"{key}:{note}", *(f"  - {_flow(entry)}" for entry in value)]
        elif value or key == "ratings":
            lines.append(f"{key}: {_flow(value)}{note}")
    unused = [c for c in (*made.unused, *made.counters) if c not in made.explode]
    return yaml_text([*lines, *([f"# Not used: {', '.join(unused)}"] if unused else [])])


def yaml_text(lines: Sequence[str]) -> str:
    """Join lines of YAML; a name in a comment may have a line break, which would end it."""
    printed = (line if line.isprintable() or line[0] != "#" else ascii(line)[1:-1] for line in lines)
    return "\n".join(printed) + "\n"


def quoted(text: str) -> str:
    """Return a text as YAML takes it for one."""
    plain = _PLAIN.fullmatch(text) and text.isascii() and text.casefold() not in _RESERVED
    return text if plain else json.dumps(text, ensure_ascii=bool(re.search("[\x7f-\x9f\u2028\u2029]", text)))


def _flow(value: Any) -> str:  # noqa: ANN401 - texts, numbers, and mappings and lists of them
    match value:
        case dict():
            return f"{{{', '.join(f'{quoted(k)}: {_flow(v)}' for k, v in value.items())}}}"
        case list():
            return f"[{', '.join(map(_flow, value))}]"
        case str():
            return quoted(value)
    return json.dumps(value)


def _aspects(made: Proposal, *, one: bool) -> dict[str, dict[str, Any]]:
    aspects: dict[str, dict[str, Any]] = {}
    for aspect in made.aspects:
        question = without_place(aspect.text)
        aspects[aspect.name] = {"statement": question if " " in question else aspect.name}
        aspects[aspect.name] |= {"code": aspect.text} if aspect.text != aspect.name else {}
        aspects[aspect.name] |= {} if one else {"scale": _scale(aspect)}
    return aspects


def _scale(aspect: ProposedAspect) -> dict[str, Any]:
    ends = [int(end) if float(end).is_integer() else end for end in aspect.scale]
    return dict(zip(("min", "max"), ends, strict=True)) | ({} if aspect.whole else {"integer": False})


def _missing(made: Proposal) -> list[str]:
    """Return the words for no answer in columns without answers in words."""
    columns = [c.column for c in (*made.people, *made.tools)]
    plain = [c for c in columns if not any(made.labels.get(c, {}).values())]
    return sorted({word for c in plain for word in made.texts[c] if word.casefold() in MISSING})


def _units(made: Proposal) -> dict[str, Any]:
    units: dict[str, Any] = {}
    for key in (*KEYS, "explanation", "item_title", "reference"):
        if key in made.roles:
            units[key] = made.roles[key]
        elif key == "item_id" or (key == "user_id" and made.row_is_user):
            units[key] = {"row": True}
        elif key == "generator":
            units[key] = {"constant": made.generator}
    return units


def _entries(
    made: Proposal, cells: Sequence[Cell], who_is: str, *, of_models: bool = False
) -> list[tuple[dict[str, Any], list[Cell]]]:
    """Return the entries of a map, one for all columns of one pattern, and their cells.

    ``of_models`` says that of a long table the rows of models are meant.
    """
    known = {a.text: a for a in made.aspects}
    groups: dict[tuple[str, bool, str], list[Cell]] = {}
    for cell in cells:
        aspect = known.get(cell.aspect)
        place = "" if aspect is None else "{aspect}" if aspect.name == aspect.text else "{code}"
        user = cell.who in (*made.users, USER_RATER) and who_is == "rater"
        who = cell.who if user else f"{{{who_is}}}"
        pattern = cell.pattern.replace("{aspect}", place).replace("{who}", who) if place else cell.column
        groups.setdefault((pattern, user, "" if who in pattern else cell.who), []).append(cell)
    entries = []
    for (pattern, user, _), group in groups.items():
        who = group[0].who
        entry: dict[str, Any] = {"columns": pattern}
        if f"{{{who_is}}}" in pattern:
            entry["where"] = {who_is: [*dict.fromkeys(c.who for c in group)]}
            if all(c.who.isdecimal() for c in group):  # places in a list
                entry[who_is] = f"{who_is} {{{who_is}}}"
        elif not who:
            entry[who_is] = {"column": made.roles["rater"]}
            entry |= _where(made, of_models=of_models)
        elif user or who != group[0].column:
            entry[who_is] = USER_RATER if user else who
        if "{aspect}" not in pattern and "{code}" not in pattern and (who_is == "rater" or of_models):
            column = made.roles.get("aspect")
            entry["aspect"] = {"column": column} if column else OVERALL
        entries.append((entry, group))
    return entries


def _where(made: Proposal, *, of_models: bool) -> dict[str, Any]:
    """Return the filter of a long table's rows, if some of its raters are models."""
    raters = [r for r in made.raters if (r in made.models) == of_models]
    names = dict.fromkeys(USER_RATER if r in made.users else r for r in raters)
    return {"where": {made.roles["rater"]: [*names]}} if made.models else {}


def _renames(made: Proposal, entries: Sequence[tuple[dict[str, Any], list[Cell]]]) -> dict[str, Any]:
    """Return the words of answers and their numbers, and the user's name among raters."""
    renames: dict[str, Any] = {}
    for entry, cells in entries:
        labels = {c.column: made.labels.get(c.column, {}) for c in cells}
        words = {w: n for columns in labels.values() for w, n in columns.items()}
        if all(words[w] == n for columns in labels.values() for w, n in columns.items()):
            labels = {entry["columns"]: words}
        renames |= {c: words for c, words in labels.items() if any(n is not None for n in words.values())}
    if "rater" in made.roles and (users := {u: USER_RATER for u in made.users if u != USER_RATER}):
        renames[made.roles["rater"]] = users
    return renames
