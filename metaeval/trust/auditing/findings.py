"""What each analysis finds of a judge that is rated on units, and what that changes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.engine.sheet import value_text
from metaeval.runs.judge_trust import USES, Finding, Usable
from metaeval.runs.record import MUCH
from metaeval.stats.agreement.alternative import LEAST_UNITS
from metaeval.stats.resampling.significance import TOO_FEW
from metaeval.trust.bias.bias import Test
from metaeval.trust.bias.biases import Biasing, measured_of
from metaeval.trust.calibration.calibrating import calibration_of
from metaeval.trust.calibration.record import UNKNOWN as UNSAID
from metaeval.trust.calibration.record import USABLE, Bands
from metaeval.trust.calibration.sheets import CONFIDENCE, Calibrating
from metaeval.trust.escalation import Escalating, escalating_sheets, stages
from metaeval.trust.gate.drift import ALPHA, Drifting, anchor_units, drift_of
from metaeval.trust.replacement import CONTRADICT, NOT_SHOWN
from metaeval.trust.replacement_tables import ReplacingOptions, replacing_of

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.engine.sheet import Sheet
    from metaeval.runs.finished import OpenRun

MATERIAL = 0.025
"""The part of the scale from which on a lean to some texts may change an order, or who passes."""
UNKNOWN: Mapping[str, Usable] = dict.fromkeys(USES, "unknown")
"""Of what leaves every use open."""
Found: TypeAlias = "Iterator[tuple[str, Finding]]"
"""Judges with what was found of them."""


def finding(*said: str, reason: str = "", **uses: Usable | None) -> Finding:
    """Return a finding: its question, its answer, its effect, the command that shows more, and its uses."""
    facts = dict(zip(("question", "answer", "effect", "more"), said, strict=True))
    known = {use: usable for use, usable in uses.items() if usable}
    return Finding.model_validate({**facts, "reason": reason, "uses": known})


def labels_needed(value: float, low: float, high: float, bound: float, n: float) -> int | None:
    """Return how many more labels than ``n`` part an interval from a bound, if the value stays as it is.

    The interval narrows with the root of the labels, of people like those that there are. None if the bound
    is not within the interval, or no labels that anybody has would do.
    """
    if not low <= bound <= high or value == bound:
        return None
    end = high if bound > value else low
    more = n * (((end - value) / (bound - value)) ** 2 - 1)
    return max(1, round(more)) if more <= _MOST_LABELS * n else None


def settled_by(one: Finding, needed: Iterable[int | None]) -> Finding:
    """Return a finding with how many more labels settle all that it leaves open, where that is known."""
    return one.model_copy(update={"labels": max(filter(None, needed), default=None)})


_MOST_LABELS = 1_000  # times as many as there are


def sufficiency(found: Sequence[Finding], more: str) -> Finding | None:
    """Say of the uses that are open how many more labels would settle each; None if no use is."""
    said = []
    for use, does in USES.items():
        open_ = [f for f in found if f.uses.get(use) == "unknown"]
        if not open_ or any(f.uses.get(use) == "no" for f in found):
            continue
        needed = [f.labels for f in open_]
        known = [n for n in needed if n is not None]
        if None in needed:
            said.append(f"{does}: {next(f.effect for f in open_ if f.labels is None)}")
        else:
            digits = max(0, len(str(max(known))) - 2)
            said.append(f"{does}: about {round(max(known), -digits):,} more")
    if not said:
        return None
    effect = "the numbers hold if estimates stay as they are, and new labels are of people like these"
    return finding("How many more labels would settle what is open?", "; ".join(said), effect, more)


class Unchecked(NamedTuple):
    """What nothing in a run tells, and what would."""

    what: str
    how: str
    """The line that would check it, or why it was not."""
    cost: str = ""
    """In calls or labels."""


class Looking(NamedTuple):
    """At what an audit looks."""

    run: OpenRun
    judges: Sequence[str]
    aspects: Sequence[str]
    resamples: int
    seed: int
    lacking: list[Unchecked]
    """What could not be checked; the analyses add to it."""

    def more(self, command: str, judge: str = "", option: str = "--judge") -> str:
        """Return the command that shows more."""
        named = shlex.quote(judge) if set(judge) & {*'"\\$`'} else f'"{judge}"'
        return f"metaeval {command} {self.run.folder}" + (f" {option} {named}" if judge else "")


def spread(value: float, low: float, high: float) -> str:
    """Return a value and its interval, with two decimals, or four where it is narrow."""
    if np.isnan(low):
        return f"{value:.2f}"
    form = ".2f" if high - low >= 0.02 else ".4f"
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def each(rows: Iterable[tuple[str, str]]) -> str:
    """Return what is said of each aspect; an aspect that is the only one is not named."""
    by: dict[str, list[str]] = {}
    for aspect, said in rows:
        by.setdefault(said, []).append(aspect)
    several = sum(map(len, by.values())) > 1
    return "; ".join(f"{', '.join(a)}: {said}" if several and any(a) else said for said, a in by.items())


def span(name: str, values: Sequence[tuple[str, float, float, float]]) -> str:
    """Return the value and the interval of each aspect; of more than two, of the lowest and the highest."""
    values = [value for value in values if not np.isnan(value[1])]
    if len(values) <= 2:
        return each((aspect, f"{name} {spread(*value)}") for aspect, *value in values)
    by_value = sorted(values, key=lambda of: np.nan_to_num(of[1], nan=-2.0))
    ends = [f"{spread(*value)} ({aspect})" for aspect, *value in (by_value[0], by_value[-1])]
    return f"{name} {' to '.join(ends)}"


def every(answers: Iterable[Usable]) -> Usable:
    """Return what holds of all: no, if it is said of one; unknown, if that is; else yes."""
    said = set(answers)
    return "no" if "no" in said else "yes" if said == {"yes"} else "unknown"


def usable_by(verdict: str, high: float) -> Usable:
    """Return what the verdict of a calibration, and the upper end of the agreement, say of a gate."""
    if verdict in {TOO_FEW, UNSAID} or np.isnan(high):
        return "unknown"
    return "yes" if verdict == USABLE else "no" if high < Bands().usable else "unknown"


GATE: Mapping[Usable, str] = {
    "yes": "what it passes and stops, people mostly would, too",
    "no": "single units pass or fail by its errors; let people decide them, or tighten the rubric",
    "unknown": "more labels decide; until then people look at what it stops",
}
"""What agreement on single units does to a gate."""
AGREES: Mapping[Usable, str] = {
    "yes": "agrees enough",
    "no": "agrees too little",
    "unknown": "may agree enough",
}


def _sheets(sheets: Sequence[Sheet | None]) -> dict[str, pd.DataFrame]:
    return {sheet.name: sheet.frame for sheet in sheets if sheet}


def agreement(at: Looking) -> Found:
    """Say how far each judge agrees with people on single units, and whether it is as sure as right."""
    how = Calibrating(evaluators=tuple(at.judges), aspects=tuple(at.aspects))
    made = _sheets(calibration_of.make(at.run.folder, how).sheets)
    for name, own in made["calibration"].groupby("evaluator", sort=False):
        rows, more = own.to_dict("records"), at.more("calibrate", str(name), "--evaluator")
        usable = every(usable_by(r["verdict"], r["high"]) for r in rows)
        worst = min(rows, key=lambda r: np.nan_to_num(r["low"], nan=-2.0))
        least = f"least on {worst['aspect']}: " if len(rows) > 1 else ""
        value = spread(worst["estimate"], worst["low"], worst["high"])
        reason = f"it {AGREES[usable]} with people ({least}{worst['by']} {value})"
        values = own.groupby("by", sort=False)[["aspect", "estimate", "low", "high"]]
        answer = "; ".join(span(str(by), [*of.itertuples(index=False, name=None)]) for by, of in values)
        said = ("Does it agree with people on single units?", answer)
        needed = [
            labels_needed(r["estimate"], r["low"], r["high"], Bands().usable, r["n_units"]) for r in rows
        ]
        one = finding(*said, GATE[usable], more, reason=reason, gate=usable)
        yield str(name), settled_by(one, needed)
        if CONFIDENCE in made:
            sure = made[CONFIDENCE][made[CONFIDENCE]["evaluator"] == name]
            answer = each(zip(sure["aspect"], sure["verdict"], strict=True))
            effect = "whether units may be handed to people by its confidence"
            yield str(name), finding("Is it as often right as it is sure?", answer, effect, more)


_REPLACES: Mapping[str, tuple[Usable, str]] = {
    "yes": ("yes", "its ratings may stand for a person's"),
    "no": ("no", "its ratings may not be counted among people's; plan asks about these units alone"),
    "undecided": ("unknown", "more labels decide"),
    "unknown": ("unknown", "its ratings may not be counted among people's yet"),
}
_SHORT = {"yes": "yes", "no": "no", "undecided": "too few labels to tell"}
_AS_GOOD, _ONE = "Is it as good as a person?", "one rater each"
ONE_RATER = Unchecked(
    f"people's own agreement: {_ONE}",
    "metaeval golden label SET --rater NAME",
    f"{LEAST_UNITS} units, or more, that two people rate",
)


def like_people(at: Looking) -> Found:
    """Say whether people agree, and whether each judge may replace one."""
    options = {"resamples": at.resamples, "seed": at.seed, "evaluators": tuple(at.judges)}
    how = ReplacingOptions.model_validate({**options, "aspects": tuple(at.aspects)})
    try:
        made = _sheets(replacing_of.make(at.run.folder, how).sheets)
    except MetaevalError as error:
        at.lacking.append(ONE_RATER)
        said = (f"cannot be told: {str(error).partition(',')[0]}", "how good a person is, is not known")
        for judge in at.judges:
            yield judge, finding(_AS_GOOD, *said, at.more("calibrate"), reason=_ONE, replace="unknown")
        return
    agree, more = made["people-agree"], at.more("replace")
    nothing, mixed = bool((agree["alpha_low"] <= 0).any()), bool((agree["alpha_high"] < 0).any())
    open_uses: list[str] = [*USES] if mixed else ["gate", "replace"]
    unknown: Usable | None = "unknown" if nothing else None
    people = finding(
        "Do people agree among themselves?",
        _span("α", agree, "alpha"),
        each(zip(agree["aspect"], agree["verdict"], strict=True)),
        more,
        reason=f"people {CONTRADICT if mixed else NOT_SHOWN}" * nothing,
        **dict.fromkeys(open_uses, unknown),
    )
    for name, own in made["replace"].groupby("evaluator", sort=False):
        usable = every(_REPLACES[r][0] for r in own["replaces"])
        deciding = own[[_REPLACES[r][0] == usable for r in own["replaces"]]]
        reason = each(zip(deciding["aspect"], deciding["verdict"], strict=True))
        effect = "; ".join(dict.fromkeys(_REPLACES[r][1] for r in deciding["replaces"]))
        short = [_SHORT.get(r, verdict) for r, verdict in zip(own["replaces"], own["verdict"], strict=True)]
        answer = "; ".join(
            filter(None, (each(zip(own["aspect"], short, strict=True)), _span("ρ", own, "advantage")))
        )
        yield str(name), finding(_AS_GOOD, answer, effect, more, reason=reason, replace=usable)
        yield str(name), people


def _span(name: str, frame: pd.DataFrame, value: str) -> str:
    columns = ["aspect", value, f"{value}_low", f"{value}_high"]
    return span(name, [*frame[columns].itertuples(index=False, name=None)])


_LEANS = ("verbosity", "self-preference")
"""Biases that favour some texts over others, and so change an order."""
_EFFECTS = {
    "leniency": "means are off by that much: correct them, or compare differences; orders are kept",
    "central tendency": "differences of means look smaller or larger than people's; orders are kept",
    "range use": "differences of means look smaller or larger than people's; orders are kept",
    "position": "both orders must be asked; a pair on which they differ is lost",
    "wording": "numbers hold for this prompt alone",
    "repeatability": "numbers hold for this repetition alone",
}
_PER_JUDGE = 400
"""Resamples for each judge, so that a correction for all tests lets one be shown."""
_NOISY = "it leans to them, or one rating misses what they are worth: a second person's ratings tell"


def biases(at: Looking) -> Found:
    """Name the biases of each judge, and say of those that favour some texts whether they are large."""
    enough = max(at.resamples, _PER_JUDGE * len(at.judges))
    how = Biasing(judges=tuple(at.judges), resamples=enough, seed=at.seed)
    measured, _, notes = measured_of(at.run, how)
    for note in notes:
        what, left_out, why = note.partition(" is left out")
        if left_out:
            at.lacking.append(Unchecked(what.lower(), why.strip(" :.")))
    scale = at.run.record.data.scale
    effects = [(r.judge, r.doubling) for r in measured.results["verbosity"]]
    effects += [(r.judge, r.points) for r in measured.results["self_preference"]]
    sure = {judge for judge, effect in effects if effect.instrument}
    for name in at.judges:
        tests, more = [t for t in measured.tests if name in t.judge.split(" / ")], at.more("biases", name)
        for test in tests:
            if test.has_bias:
                yield name, _bias(test, more, float(scale.max - scale.min), noisy=name not in sure)
        if tests and not any(test.has_bias for test in tests):
            answer = f"none is shown ({', '.join(dict.fromkeys(t.bias for t in tests))})"
            effect = "small ones may be there: see the intervals"
            yield name, finding("Which biases has it?", answer, effect, more)


def _bias(test: Test, more: str, width: float, *, noisy: bool) -> Finding:
    near = min(abs(test.ci_low), abs(test.ci_high)) if test.ci_low * test.ci_high > 0 else 0.0
    large = near / (width if test.number.startswith("points") else 1.0) >= MATERIAL
    uses: dict[str, Usable] = {}
    effect = _EFFECTS.get(test.bias, f"below {MATERIAL:.1%} of the scale: too little to change an order")
    if test.bias in _LEANS and large:
        uses = dict.fromkeys(("gate", "leaderboard"), "unknown" if noisy else "no")
        effect = _NOISY if noisy else "such texts rise on a leaderboard and pass a gate without being better"
    answer = f"{test.found}: {spread(test.estimate, test.ci_low, test.ci_high)} {test.number}"
    question = f"Has it a bias: {test.bias}{f' of {test.aspect}' if test.aspect else ''}?"
    return finding(question, answer, effect, more, reason=f"it {test.found}", **uses)


def alone(at: Looking) -> Found:
    """Say which units each judge may decide alone."""
    silent: dict[str, list[str]] = {}
    for name in at.judges:
        by_aspect = stages(at.run.scored, [name], at.aspects, None)
        if not any(stage.judges for stage in by_aspect):
            why = "; ".join(dict.fromkeys(w for stage in by_aspect for w in stage.refused.values()))
            silent.setdefault(why, []).append(at.run.record.names.get(name, name))
            continue
        verdicts = _sheets(escalating_sheets(by_aspect, Escalating(), None)[0])["escalate"]
        answer = each(zip(verdicts["aspect"], verdicts["verdict"], strict=True))
        question = "Which units may it decide alone?"
        yield name, finding(question, answer, "who looks at what", at.more("escalate", name))
    at.lacking.extend(
        Unchecked(f"which units {', '.join(names)} may decide alone", why) for why, names in silent.items()
    )


def unread(at: Looking) -> Found:
    """Say what replies were not read, and what that changes."""
    for lost in at.run.record.unread:
        if lost.evaluator not in at.judges:
            continue
        much, bounds = lost.share >= MUCH, lost.bounds
        ends = [value_text(v, bounds.form) for v in bounds.if_all.values()] if bounds else []
        may_be = f"; the {bounds.of} may be {' to '.join(ends)}" if bounds else ""
        depends = " and the ".join(test.by for test in lost.tests if test.p <= ALPHA)
        effect = (
            f"the loss depends on the {depends}" if depends else "the loss is not shown to depend on anything"
        )
        reason = f"{lost.share:.0%} of its replies could not be read" * much
        said = (
            "Were its replies read?",
            f"{lost.share:.1%} were not{may_be}",
            effect,
            at.more("leaderboard"),
        )
        yield lost.evaluator, finding(*said, reason=reason, **(UNKNOWN if much else {}))


def drifted(at: Looking, old: OpenRun) -> Found:
    """Say whether each judge drifted since another run."""
    known = tuple(name for name in at.judges if name in old.scores.evaluators)
    made = drift_of.make(old, at.run, Drifting(evaluators=known))
    yield from _anchors(at, old, known)
    for name, own in _sheets(made.sheets)["drift"].groupby("evaluator", sort=False):
        moved = bool((own["judge_p"] <= ALPHA).any())
        answer = each(zip(own["aspect"], own["verdict"], strict=True))
        effect = f"scores of then and now {'are not comparable' if moved else 'may be compared'}"
        more = f"metaeval drift {old.folder} {at.run.folder}"
        reason = made.found[str(name)]
        yield (
            str(name),
            finding(
                "Is it the judge that it was?",
                answer,
                effect,
                more,
                reason=reason,
                gate="no" if moved else None,
            ),
        )


def _anchors(at: Looking, old: OpenRun, judges: Sequence[str]) -> Found:
    """Say how many texts both runs have, and how many of them the judge was asked about anew."""
    anchors = anchor_units(old, at.run)
    keys = list(anchors)
    frames = [run.scores.frame for run in (old, at.run)]
    for name in judges:
        own = [f[f["evaluator"] == name].reindex(columns=[*keys, "aspect", "call"]) for f in frames]
        both = own[0].astype(str).merge(own[1].astype(str), on=[*keys, "aspect"], suffixes=("_then", ""))
        both = both.merge(anchors.drop_duplicates(), on=keys)
        calls = both.drop_duplicates(keys)
        asked = calls["call"].isin(["", "nan", "None"]).to_numpy() == 0
        same = int((asked & (calls["call"] == calls["call_then"]).to_numpy()).sum())
        kept = f"; {same:,} of them have the reply of then, from the store" if same else ""
        yield (
            name,
            finding(
                "Which texts do both runs have (anchors)?",
                f"{counted(len(calls), 'anchor')}{kept}",
                "drift cannot be seen on replies that are those of then: judge them anew, with another store"
                if same
                else "what changed on them is the judge; choose them like the other texts",
                f"metaeval drift {old.folder} {at.run.folder}",
            ),
        )
