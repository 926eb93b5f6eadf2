"""One unit of a finished run, and the units to choose from: the drill-down of the report, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.base.errors import MetaevalError, one_of
from metaeval.engine.sheet import Column, Sheet, table
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
        return Printed([_listed(page, rows, names, how)], record.simulation)
    title = ", ".join(f"{key} {value}" for key, value in names[0].items())
    return Printed(list(_sheets(page, rows[0], title)), record.simulation)


def _listed(
    page: Mapping[str, Any], rows: Sequence[int], names: Sequence[Mapping[str, Any]], how: UnitOptions
) -> Sheet | None:
    """Return units with people's ratings, each with its first text."""
    units, rated = page["units"], [one["name"] for one in page["units"]["rated"]]
    at = {e[called]: place for called in ("label", "name") for place, e in enumerate(page["evaluators"])}
    scores: dict[str, Any] = {}
    if how.evaluator is not None:
        place = at[one_of(how.evaluator, list(at), "the run has no evaluator")]
        scores = dict(zip(rated, units["scores"][place], strict=True))
    listed = []
    for row, name in zip(rows, names, strict=True):
        truth = {a: _value(of, row) for a, of in zip(rated, units["truth"], strict=True)}
        said = {f"score: {a}": _value(of, row) for a, of in scores.items()}
        apart = [abs(s - t) for s, t in zip(said.values(), truth.values(), strict=False) if abs(s - t) >= 0]
        text = _text(units, units["parts"][0], row)[:_SHOWN] if units["parts"] else ""
        people = {f"people: {a}": value for a, value in truth.items()}
        listed.append({**name, **people, **said, "text": text, "apart": max(apart, default=0.0)})
    if how.evaluator is not None and page["evaluators"][place]["onScale"]:
        listed.sort(key=lambda one: one["apart"], reverse=True)
    shown = [Column(c, c, "hundredths" if ": " in c else "text") for c in listed[0] if c != "apart"]
    more = f"{len(rows):,} units have these keys; {min(how.n, len(rows)):,} are listed."
    return table("units", "Units", listed[: how.n], shown, *filter(None, [more, units["note"]]), about=())


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
