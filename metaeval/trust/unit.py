"""One unit of a finished run, and the units to choose from: the drill-down of the report, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.base.counts import counted, few_of, listed
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.records import Kind
from metaeval.engine.sheet import Column, Sheet, table, value_text
from metaeval.reports.report_model import payload_of
from metaeval.reports.report_units import WHY_MISSING
from metaeval.runs.command import Names, Printed, Typed, command
from metaeval.runs.folder import REPORT, read_output, read_record

_SHOWN = 80  # characters of a text in a list


class UnitOptions(Typed):
    """Which unit is shown."""

    keys: Annotated[Names, "--key COLUMN=VALUE"] = ()
    """What the unit is named by, such as user_id=u01; give it once per column."""
    evaluator: Annotated[str | None, "NAME"] = None
    """In a list, show its scores; of one on people's scale, those first that are farthest from people's."""
    n: Annotated[int, Field(ge=1)] = 20
    """Units of a list."""


@command("unit")
def unit_of(run: Path, how: UnitOptions) -> Printed:
    """Show one unit of the finished run in the folder RUN: its texts, scores, prompts and replies.

    Where several units have the keys, they are listed. The units are those of the run's report.
    """
    record = read_record(run)
    page = payload_of(read_output(run, REPORT, record).read_text(encoding="utf-8"))
    units = page["units"]
    keys = {c["name"]: [c["values"][at] for at in c["codes"]] for c in units["columns"] if c["key"]}
    wanted = []
    for given in how.keys:
        name, _, value = given.partition("=")
        wanted.append((one_of(name, list(keys), "a unit has no key", "it has"), value))
    rows = [
        row for row in range(units["shown"]) if all(str(keys[key][row]) == value for key, value in wanted)
    ]
    if not rows:
        raise MetaevalError(f"no unit has {', '.join(how.keys) or 'a key'}. {units['note']}".rstrip())
    names = [{key: values[row] for key, values in keys.items()} for row in rows]
    if len(rows) > 1:
        sheet, said = _listed(page, rows, names, how, record.data.nouns)
        return Printed([sheet], record.simulation, first=[said])
    title = _called(names[0], record.data.nouns)
    return Printed([*_sheets(page, rows[0], title)], record.simulation, first=[_said(page, rows[0])])


def _called(name: Mapping[str, Any], nouns: Mapping[str, str]) -> str:
    return ", ".join(f"{nouns.get(key, key)} {value}" for key, value in name.items())


def _listed(
    page: Mapping[str, Any],
    rows: Sequence[int],
    names: Sequence[Mapping[str, Any]],
    how: UnitOptions,
    nouns: Mapping[str, str],
) -> tuple[Sheet | None, str]:
    """Return units with people's ratings, each with its first text; and on which an evaluator is farthest."""
    units, rated = page["units"], [one["name"] for one in page["units"]["rated"]]
    at = {e[called]: place for called in ("label", "name") for place, e in enumerate(page["evaluators"])}
    scores: dict[str, Any] = {}
    if how.evaluator is not None:
        place = at[one_of(how.evaluator, list(at), "the run has no evaluator")]
        scores = dict(zip(rated, units["scores"][place], strict=True))
    rows_of = []
    for row, name in zip(rows, names, strict=True):
        truth = {a: _value(of, row) for a, of in zip(rated, units["truth"], strict=True)}
        said = {f"score: {a}": _value(of, row) for a, of in scores.items()}
        apart = [abs(s - t) for s, t in zip(said.values(), truth.values(), strict=False) if abs(s - t) >= 0]
        text = _text(units, units["parts"][0], row)[:_SHOWN] if units["parts"] else ""
        people = {f"people: {a}": value for a, value in truth.items()}
        rows_of.append({**name, **people, **said, "text": text, "apart": max(apart, default=0.0)})
    first = (
        f"{len(rows):,} units have these keys: --evaluator NAME says on which of them one is far from people."
    )
    if how.evaluator is not None:
        evaluator = page["evaluators"][place]
        first = f"{evaluator['label']} does not score on people's scale: how far off it is cannot be said."
        if evaluator["onScale"]:
            rows_of.sort(key=lambda one: one["apart"], reverse=True)
            farthest = _called({key: rows_of[0][key] for key in names[0]}, nouns)
            first = _farthest(rows_of, rated, evaluator["label"], farthest)
    shown = [Column(c, c, "hundredths" if ": " in c else "text") for c in rows_of[0] if c != "apart"]
    more = f"{len(rows):,} units have these keys; {min(how.n, len(rows)):,} are listed."
    notes = filter(None, [more, units["note"]])
    return table("units", "Units", rows_of[: how.n], shown, *notes, about=()), first


def _farthest(units: Sequence[Mapping[str, Any]], rated: Sequence[str], who: str, unit: str) -> str:
    """Say on which of the units, the first, an evaluator is farthest from people."""
    n, far = len(units), units[0]
    if not far["apart"]:
        return f"{who} is nowhere off what people say, on {n:,} units."
    said = [(abs(far[f"score: {a}"] - far[f"people: {a}"]), a) for a in rated]
    aspect = next(a for apart, a in said if apart == far["apart"])
    score, people = (value_text(far[f"{of}: {aspect}"], "hundredths") for of in ("score", "people"))
    others = sum(one["apart"] == far["apart"] for one in units) - 1
    as_far = f"; it is as far off on {counted(others, 'other unit')}" if others else ""
    return (
        f"Of {n:,} units, {who} is farthest from people on {unit}: {score} for {aspect}, where people say "
        f"{people}{as_far}."
    )


def _said(page: Mapping[str, Any], row: int) -> str:
    """Say what people said of a unit, and which tool on their scale is farthest from it."""
    units, rated = page["units"], [one["name"] for one in page["units"]["rated"]]
    people = {a: _value(of, row) for a, of in zip(rated, units["truth"], strict=True)}
    known = {a: value_text(value, "hundredths") for a, value in people.items() if not math.isnan(value)}
    if not known:
        return "People said nothing of this unit, so no evaluator can be held against them."
    told = f"People say {listed([f'{value} for {aspect}' for aspect, value in known.items()])}"
    tools = [
        (abs(score - people[a]), e["label"], value_text(score, "hundredths"), a)
        for e, scores in zip(page["evaluators"], units["scores"], strict=True)
        if e["onScale"] and not e["inTruth"] and e["kind"] != Kind.ANNOTATOR
        for a, of in zip(rated, scores, strict=True)
        if abs((score := _value(of, row)) - people[a]) >= 0
    ]
    if not tools:
        return f"{told}; no tool has a score on their scale."
    n, most = len({label for _, label, *_ in tools}), max(apart for apart, *_ in tools)
    if not most:
        return f"{told}, and so {'does the tool' if n == 1 else f'do all {n} tools'} on their scale."
    far = {who: f"{who} ({score} for {aspect})" for apart, who, score, aspect in tools if apart == most}
    which = f"{few_of([*far.values()])} {'is' if len(far) == 1 else 'are'} farthest off"
    return f"{told}; of {counted(n, 'tool')} on their scale, {which}."


def _sheets(page: Mapping[str, Any], row: int, title: str) -> Iterator[Sheet | None]:
    """Yield what is known of one unit."""
    units, rated = page["units"], page["units"]["rated"]
    texts = [{"part": part["title"], "text": _text(units, part, row)} for part in units["parts"]]
    yield table("texts", title, texts, (Column("part", "Part"), Column("text", "Text")), about=())
    scores: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for e, evaluator in enumerate(page["evaluators"]):
        asked = page["calls"]["of"][e]
        for a, one in enumerate(rated):
            failed = units["statuses"][e][a]
            lost = dict(zip(failed["unit"], failed["status"], strict=True)).get(row)
            why = "" if lost is None else units["statusNames"][lost]
            about = {"evaluator": evaluator["name"], "aspect": one["name"]}
            people, score = (_value(of[a], row) for of in (units["truth"], units["scores"][e]))
            scores.append({**about, "people": people, "score": score, "why": WHY_MISSING.get(why, why)})
            if asked and asked[a][row] >= 0:
                calls += [about | call for call in _calls(page["calls"], asked[a][row])]
    names = (Column("evaluator", "Evaluator"), Column("aspect", "Aspect"))
    numbers = (Column("people", "People", "hundredths"), Column("score", "Score", "hundredths"))
    why_none = Column("why", "Why there is none", optional=True)
    yield table("scores", "Scores", scores, (*names, *numbers, why_none), about=("evaluator",))
    said = (Column("prompt", "Prompt"), Column("reply", "Reply"))
    yield table("calls", "What was asked and said", calls, (*names, *said), about=("evaluator",))


def _calls(calls: Mapping[str, Any], at: int) -> Iterator[dict[str, str]]:
    """Yield prompt and reply of a call, or of each sample of one."""
    reply = calls["replies"][at]
    for sample in reply.get("samples", ()):
        yield from _calls(calls, sample)
    if "samples" not in reply:
        lines = (f"{m['role']}: " + "\n".join(calls["lines"][i] for i in m["lines"]) for m in reply["prompt"])
        yield {"prompt": "\n\n".join(lines), "reply": reply["text"] or reply["error"]}


def _value(coded: Mapping[str, Any], row: int) -> float:
    return math.nan if (at := coded["codes"][row]) < 0 else float(coded["values"][at])


def _text(units: Mapping[str, Any], part: Mapping[str, Any], row: int) -> str:
    return "" if (at := part["texts"][row]) < 0 else str(units["texts"][at])
