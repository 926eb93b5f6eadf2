"""The exports that are known, and the data set that is made of one."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError
from metaeval.base.records import Status
from metaeval.data.exports.annotations import argilla, doccano, label_studio, mturk, prodigy
from metaeval.data.exports.disagreements import lewidi
from metaeval.data.exports.export import OWN, Export, Judged, Mark, number_of
from metaeval.data.exports.inspect_logs import inspect
from metaeval.data.exports.promptfoo import promptfoo
from metaeval.data.exports.scorers import alpaca, deepeval, harness, helm, openai, prometheus, ragas
from metaeval.data.exports.shape import content_of, is_given, opened
from metaeval.data.exports.traces import langfuse, langsmith, mlflow, opentelemetry, phoenix, trulens, weave
from metaeval.data.imports import Files
from metaeval.data.origin import given_by, listed
from metaeval.data.proposals.proposal import scale_of, shortened, two_words
from metaeval.data.proposals.roles import order_in

EXPORTS: tuple[Export, ...] = (
    *(argilla, label_studio, langsmith, langfuse, mlflow, phoenix),
    *(trulens, deepeval, promptfoo, opentelemetry, inspect, weave),
    *(mturk, prodigy, doccano, ragas, harness, helm, alpaca, openai, prometheus, lewidi),
)


def recognised(*places: str) -> tuple[Export, list[Any]] | None:
    """Return which tool's export a file is, or several, and the records; None if it is no known one.

    `DataError` is raised if it is one, and a record does not have the shape of the tool's.
    """
    paths = [*map(Path, places)]
    for path in (p for p in paths if p.suffix.lower() == ".parquet"):
        if not any(e.records_in(content_of(path, 1)) for e in EXPORTS):
            return None  # a table, which may be large
    content = [found for path in paths for found in content_of(path)]
    for export in EXPORTS:
        if records := export.records_in(content):
            return export, export.shaped(records, " + ".join(path.name for path in paths))
    return None


TRUTH = "truth"
"""The key under `extra` of a data set that says which truth a study of it has."""
_INPUTS = {"question", "prompt", "input", "instruction", "user_input"}
"""Fields that are what a text answers, where another text stands beside them."""
_LONG_NAME = 60
"""Characters of an input that is too long for the name of an item."""
_UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)


def files_of(
    export: Export,
    records: Sequence[Mapping[str, Any]],
    name: str,
    people: Sequence[str] = (),
    generator: Callable[[], str] = lambda: "model",
    *,
    roles: Mapping[str, str] = MappingProxyType({}),
) -> Files:
    """Return what is made of the records of an export, with what is to be said of it.

    Parameters
    ----------
    people
        Names of aspects, feedback or sources that are people's, where the export does not say so.
    generator
        Says who wrote the texts, where no field does.
    roles
        What else the user says of a name: a field of `OWN`, ``ignore``, or whose value it is: ``rating:WHO``,
        ``tool:WHO``.

    Raises
    ------
    DataError
        If nobody rated anything, or there is no text.
    """
    judged = [_renamed(unit, roles) for unit in export.read(records)]
    judged = _in_numbers(judged, roles)
    given = [
        (at, mark, person)
        for at, mark, person in given_by(judged, people, roles)
        if is_given(mark.value) or (mark.failed and not person)
    ]
    nobody = listed(mark for _, mark, person in given if person is None)
    marks = [(at, mark, person) for at, mark, person in given if person is not None]
    reasons = Counter(why for unit in judged for why in unit.unread)
    unread = [f"Not read: {why} ({counted(n, 'record')})" for why, n in reasons.items()]
    if not any(person for *_, person in marks):
        raise DataError(_nobody_rated(export.name, [m.aspect for _, m, _ in marks], nobody, unread))
    notes = [f"{export.name} export: {counted(len(judged), 'record')}."]
    units, text = _units(judged, {at for at, _, person in marks if person}, generator, notes)
    if units.empty:
        raise DataError("; ".join(["no record of the export has a text", *unread]))
    notes.append(f"The text that was judged is the field {text!r}.")
    notes += [f"{why}." for why in unread]
    if nobody:
        whose = f"if a tool gave it, add {_lines(nobody, 'score')}; of people's values it is =rating"
        notes.append(f"Not read, as nobody is named for it: {', '.join(nobody.values())}; {whose}.")
    if "user_id" not in units:
        notes.append("No users are named: units are resampled, and nothing is said within a user.")
    aspects = _numbered((mark for _, mark, person in marks if person), notes)
    if not aspects:
        lines = [note for note in notes if "words:" in note]
        message = (
            f"all ratings of the {export.name} export are words; make them numbers, or compare labels by: "
        )
        raise DataError("; ".join([f"{message}metaeval calibrate", *lines]))
    ratings, scores, unnamed = _rows(judged, marks, units, aspects)
    if not ratings:
        raise DataError(
            f"no text of the {export.name} export has a rating: the records that have one have no text"
        )
    if unnamed:
        notes.append("Raters without a name are others for each mark of a record, numbered from 2 on.")
    rated = _once(pd.DataFrame(ratings), notes)
    scored = _once(_scored(pd.DataFrame(scores), notes), notes) if scores else pd.DataFrame()
    raters = rated["rater"].unique()
    notes.append(f"People: {', '.join(map(str, raters[:9]))}{', …' * (len(raters) > 9)}.")
    tables = {"explanations": units.drop_duplicates(_keys(units)), "ratings": rated}
    told = {
        "name": name,
        "source": f"{export.name} export",
        "aspects": {name: {"statement": name, "scale": scale} for name, scale in aspects.items()},
        **({"extra": {TRUTH: truth}} if (truth := judged[0].truth) else {}),
    }
    return Files(told, tables | ({"scores": scored} if len(scored) else {}), notes)


def _rows(
    judged: Sequence[Judged],
    marks: Sequence[tuple[int, Mark, bool | None]],
    units: pd.DataFrame,
    aspects: Collection[str],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], bool]:
    """Return ratings, scores, and whether raters without a name were numbered."""
    keys = _keys(units)
    key_of = dict(zip(units.index, units[keys].to_dict("records"), strict=True))
    short = _short_names(mark.who for _, mark, person in marks if person)
    tools = Counter(aspect for aspect, _ in {(m.aspect, m.who) for _, m, person in marks if not person})
    nth: Counter[object] = Counter()
    ratings: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    for at, mark, person in marks:
        value, same, who = number_of(mark.value), mark.aspect in aspects, short.get(mark.who, mark.who)
        if at not in key_of or (person and not same):
            continue
        if not (same or person):
            who = mark.aspect if tools[mark.aspect] == 1 else f"{mark.aspect} ({who})"
        nth[at, who, mark.aspect] += not mark.named
        if (n := nth[at, who, mark.aspect]) > 1:
            who = f"{who} {n}"
        row = key_of[at] | {"at": at, "aspect": mark.aspect if same else ""}
        if person:
            ratings.append(row | {"rater": who, "rating": value, **mark.beside})
            continue
        failed = mark.failed or judged[at].failed
        word = Status.MISSING if value is None else Status.OK
        status = failed if isinstance(failed, Status) else Status.TRANSPORT if failed else word
        why = {"status": status, "why": status if failed else mark.value, "of": mark.aspect}
        scores.append(row | {"evaluator": who, "score": value if status == Status.OK else None} | why)
    return ratings, scores, max(nth.values(), default=0) > 1


def _nobody_rated(tool: str, given: Sequence[str], nobody: Mapping[str, str], unread: Sequence[str]) -> str:
    """Say that no person is named, what values there are, and the lines that say whose they are."""
    tools = f"scores of tools: {', '.join(dict.fromkeys(given))}" if given else ""
    unknown = f"nobody is named for {', '.join(nobody.values())}" if nobody else ""
    known = "; ".join(part for part in (unknown, tools) if part) or "no scores at all"
    line = _lines(nobody, "rating") or ("--column 'NAME=rating'" if given else "")
    advice = f"; if people gave {'them' if nobody else 'some'}, say so: {line}" if line else ""
    return "; ".join([f"the {tool} export has no ratings of people ({known})", *unread]) + advice


def _lines(names: Iterable[str], role: str) -> str:
    """Return what to add to say that names have a role."""
    return " ".join(f"--column {shlex.quote(f'{name}={role}')}" for name in names)


def _in_numbers(judged: Sequence[Judged], roles: Mapping[str, str]) -> list[Judged]:
    """Return the records with numbers for words whose order is known.

    The user says it, or, for tools, the file does, where two words of an aspect stand beside two numbers.
    """
    beside: dict[str, dict[str, set[float]]] = {}
    for mark in (mark for unit in judged for mark in unit.marks if mark.word):
        if (number := number_of(mark.value)) is not None:
            beside.setdefault(mark.aspect, {}).setdefault(str(mark.word).strip(), set()).add(number)
    of_file = {
        aspect: {word: min(numbers) for word, numbers in words.items()}
        for aspect, words in beside.items()
        if sorted(map(len, words.values())) == [1, 1] and len(set.union(*words.values())) > 1
    }
    of_user = {name: order for name, role in roles.items() if (order := order_in(role))}

    def read(mark: Mark) -> Mark:
        known = of_user.get(mark.aspect) or ({} if mark.person else of_file.get(mark.aspect, {}))
        value = None if number_of(mark.value) is not None else known.get(str(mark.value).strip())
        return mark if value is None else replace(mark, value=value)

    return [replace(unit, marks=[*map(read, unit.marks)]) for unit in judged]


def _asked(aspect: str, values: Iterable[object]) -> str:
    """Return the line that says the order of two words; nothing of other values."""
    order = two_words([str(v).strip() for v in values if v is not None and number_of(v) is None])
    low, _, high = order.partition("<")
    return order and f"; if {low!r} is below {high!r}, add {_lines([aspect], f'words:{order}')}"


def _renamed(unit: Judged, roles: Mapping[str, str]) -> Judged:
    """Return a record with the names of its fields that the user says."""
    said = {role: unit.fields[name] for name, role in roles.items() if role in OWN and name in unit.fields}
    return replace(unit, fields={**unit.fields, **said}) if said else unit


def _once(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return one row for each unit, rater or evaluator, and aspect: the last, or the mean over repeats."""
    value = "rating" if "rating" in frame else "score"
    same = [c for c in frame if c not in (value, "status", "at")]
    twice = frame.duplicated([*same, "at"], keep="last")
    if twice.any():
        notes.append(f"{counted(int(twice.sum()), value)} given again later: the last one counts.")
    frame = frame[~twice]
    if (again := frame.duplicated(same)).any():
        notes.append(f"{counted(int(again.sum()), value)} of repeats of the same text: the mean counts.")
        frame = frame.assign(**{value: frame.groupby(same)[value].transform("mean")})
        frame = (
            frame.sort_values("status", key=lambda s: s != Status.OK, kind="stable")
            if "status" in frame
            else frame
        )
        frame = frame[~frame.duplicated(same)].sort_index()
    return frame.drop(columns="at")


def _scored(scores: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return the scores of evaluators that gave any; say how many have none, and why."""
    for (who, aspect), own in scores[scores["score"].isna()].groupby(["evaluator", "aspect"], sort=False):
        of = f" for {aspect!r}" if aspect else ""
        asked = _asked(own["of"].iloc[0], (why for why in own["why"] if not isinstance(why, Status)))
        notes.append(f"Scores of {who!r}{of} that are missing: {_counts(own['why'])}{asked}.")
    some = scores["score"].notna().groupby([scores["evaluator"], scores["aspect"]]).transform("any")
    plain = scores["status"].isin([Status.OK, Status.MISSING]).all()
    return scores[some].drop(columns=["why", "of", *(["status"] if plain else [])])


def _counts(values: Iterable[object]) -> str:
    """Return values with how often each is there."""
    counts = Counter(shortened(str(value)) for value in values).most_common()
    return ", ".join(f"{value} {n:,}" for value, n in counts[:5]) + ", …" * (len(counts) > 5)


def _units(
    judged: Sequence[Judged], rated: Collection[int], generator: Callable[[], str], notes: list[str]
) -> tuple[pd.DataFrame, str]:
    """Return a row per record that has a text, and the field that is the text."""
    rows: dict[int, dict[str, str]] = {}
    every = [{k: str(v) for k, v in unit.fields.items() if v not in (None, "")} for unit in judged]
    named = [_text_field(unit, fields) for unit, fields in zip(judged, every, strict=True)]
    names = Counter(named)
    usual = names.most_common(1)[0][0]
    for at, (unit, fields) in enumerate(zip(judged, every, strict=True)):
        name = named[at] if named[at] in {unit.text, "explanation"} else usual  # which may be empty
        own = {k: v for k, v in fields.items() if k in OWN}
        text = fields.get(name, "")
        if text.strip() or (at in rated and fields and not unit.failed):
            rows[at] = {"item_id": unit.id, **own, "explanation": text}
    if not any(row["explanation"] for row in rows.values()):
        return pd.DataFrame(), usual
    if none := len(judged) - len(rows):
        notes.append(
            f"{counted(none, 'record')} without a text left out: failed, not in the file, or rated by nobody."
        )
    units = pd.DataFrame.from_dict(rows, orient="index")
    if "generator" not in units:
        if few := _few_values([fields for at, fields in enumerate(every) if at in rows]):
            notes.append(
                f"Fields with few values: {', '.join(few)}; the generator is --column 'NAME=generator'."
            )
        units["generator"] = generator()
    if "user_id" in units and units["user_id"].isna().any():
        units = units.drop(columns="user_id")
    _name_items(units, judged, notes)
    # Several texts of one item by one system: the second is by `SYSTEM (2)`. The same text is the same unit.
    texts = units.drop_duplicates([*_keys(units), "explanation"])
    nth = texts.groupby(_keys(units), sort=False).cumcount() + 1
    if (nth > 1).any():
        more = counted(int((nth > 1).sum()), "text")
        notes.append(f"{more} more of an item by one generator: the generator is then 'NAME (2)', ….")
        number = units.merge(texts.assign(nth=nth)[[*_keys(units), "explanation", "nth"]], how="left")["nth"]
        units["generator"] = [
            g if n == 1 else f"{g} ({n})" for g, n in zip(units["generator"], number, strict=True)
        ]
    return units, usual


def _few_values(records: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the fields that every record has with one of few values: one may be what wrote the texts."""
    shared = set.intersection(*({*fields} for fields in records)) - {*OWN}
    distinct = {name: len({fields[name] for fields in records}) for name in sorted(shared)}
    words = {name for name in shared if all(number_of(fields[name]) is None for fields in records)}
    return [name for name, n in distinct.items() if name in words and 1 < n <= len(records) / 2]


def _keys(units: pd.DataFrame) -> list[str]:
    return [c for c in ("user_id", "item_id", "generator") if c in units]


def _name_items(units: pd.DataFrame, judged: Sequence[Judged], notes: list[str]) -> None:
    """Name the items that no field names: records with the same input have the same item."""
    own = {at: _input(judged[at]) for at in units.index if "item_id" not in judged[at].fields}
    inputs = [*dict.fromkeys(own.values())]
    if not 1 < len(inputs) < len(own):
        return  # what is the same in every record is no item
    titles = {own[at]: str(judged[at].fields.get("item_title", "")) for at in own}
    short = len({*titles.values()}) == len(inputs) and all(0 < len(t) <= _LONG_NAME for t in titles.values())
    name = {one: titles[one] if short else f"input {n}" for n, one in enumerate(inputs, start=1)}
    units["item_id"] = [name[own[at]] if at in own else item for at, item in units["item_id"].items()]
    notes.append(f"No field names the item: it is the input, of which there are {len(inputs):,}.")


def _input(unit: Judged) -> str:
    """Return what a text answers, without what names its user or system."""
    given = opened(unit.given)
    if isinstance(given, Mapping):
        given = {k: v for k, v in given.items() if k not in OWN}
    told = given or {k: v for k, v in unit.fields.items() if k in _INPUTS}
    return json.dumps(told, sort_keys=True, default=str)


def _text_field(unit: Judged, fields: Mapping[str, str]) -> str:
    """Return the field that is the text: the one that is named, else the longest."""
    told = [name for name in (unit.text, "explanation") if name in fields]
    texts = [k for k in fields if k not in OWN[:3] and k not in _INPUTS] or [*fields]
    longest = max((k for k in texts if k not in OWN[:3]), key=lambda k: len(fields[k]), default="")
    return str(told[0]) if told else unit.text or longest


def _numbered(marks: Iterable[Mark], notes: list[str]) -> dict[str, dict[str, Any]]:
    """Return the scale of each aspect that people rated in numbers; words among these are missing ratings."""
    values: dict[str, list[object]] = {}
    stated: dict[str, tuple[float, float]] = {}
    for mark in marks:
        values.setdefault(mark.aspect, []).append(mark.value)
        if mark.scale:
            stated[mark.aspect] = mark.scale
    found: dict[str, dict[str, Any]] = {}
    for aspect, given in values.items():
        numbers = [n for n in map(number_of, given) if n is not None]
        words = _counts(v for v in given if number_of(v) is None)
        if not numbers:
            notes.append(f"{aspect!r} is left out: it is in words ({words}){_asked(aspect, given)}.")
            continue
        if words:
            notes.append(f"Ratings of {aspect!r} that are words without a number are missing: {words}.")
        seen = (0.0, 1.0) if {*numbers} <= {0.0, 1.0} or max(numbers) <= 1 else scale_of(numbers)
        low, high = stated.get(aspect, seen)
        whole = all(n.is_integer() for n in numbers)
        found[aspect] = {"min": min(low, *numbers), "max": max(high, *numbers), "integer": whole}
        by = "file" if aspect in stated else "values seen"
        notes.append(f"{aspect!r}: {min(low, *numbers):g} to {max(high, *numbers):g}, by the {by}.")
    return found


def _short_names(names: Iterable[str]) -> dict[str, str]:
    """Return names of raters, where UUIDs get short ones, in the order in which they appear."""
    distinct = list(dict.fromkeys(names))
    long = [name for name in distinct if _UUID.fullmatch(name)]
    return {name: f"rater {long.index(name) + 1}" if name in long else name for name in distinct}
