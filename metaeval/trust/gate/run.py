"""A finished run → the gate: its scores against thresholds and against the last accepted run."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import pandas as pd
from pydantic import Field

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import author_key
from metaeval.base.records import Kind, Status
from metaeval.evaluators.verdicts import Flips, comparisons_of, points_of
from metaeval.runs.answer import RunAnswer, read_answer
from metaeval.runs.command import Names, Typed, is_file_of_verdicts
from metaeval.runs.finished import OpenRun, open_run
from metaeval.runs.folder import ANSWER
from metaeval.study.plan import column_of
from metaeval.trust.calibration.record import changes as identity_changes
from metaeval.trust.calibration.record import identity, judge_notes
from metaeval.trust.gate.baseline import CALL_DIGITS, Baseline, GateScores, cells_of, read_baseline
from metaeval.trust.gate.baseline import write_baseline as write_file
from metaeval.trust.gate.checks import NOTHING_ASKED, GateResult, gate
from metaeval.trust.gate.drift import anchor_units, marked
from metaeval.trust.gate.recorded_verdicts import SAID, scores_of_file
from metaeval.trust.gate.report import sentence
from metaeval.trust.gate.rules import Rules, joined, lowered


class GateRequest(Typed):
    """Thresholds and options of a gate; what is None is as in the baseline, or the default."""

    least: Mapping[str, float] = {}
    max_drop: Mapping[str, float] = {}
    by: Annotated[str | None, "COLUMN"] = None
    """Also check each value of this column of the explanations or users."""
    evaluator: Annotated[str | None, "NAME"] = None
    """Evaluator whose scores are checked.  [default: the run's only judge]"""
    generators: Annotated[Names, "--generator NAME"] = ()
    """Generator whose texts are checked; may be given again.  [default: all]"""
    against: Annotated[str | None, "NAME"] = None
    """Of a pairwise judge: the generator that --generator is compared with, by its win rate."""
    cluster: Annotated[str | None, "user|item|generator|unit"] = None
    """What is resampled: units in it are not independent.  [default: user; item without users]"""
    alpha: Annotated[float | None, Field(gt=0, lt=0.5)] = None
    """Allowed error rate of the checks.  [default: 0.05]"""
    max_missing: Annotated[float | None, Field(ge=0, lt=1)] = None
    """Largest share of units without a score with which a check can pass.  [default: 0.05]"""
    labels: Annotated[Path | None, "FILE.csv"] = None
    """Of a FILE of verdicts: those of people, for the accuracy.  [default: its gold preferences]"""
    data: Path | None = None
    """Data-set folder, for --by.  [default: the study's]"""
    calibration: Path | None = None
    """Calibration of the judge.  [default: the run's]"""
    anchors: Annotated[Path | None, "OLD"] = None
    """Older run that has texts of RUN, too: the judge's drift on them is subtracted from drops."""

    def rules(self, kept: Rules | None) -> Rules:
        """Return the rules asked for; what is None is as ``kept``, or the default."""
        options = {"alpha": self.alpha, "max_missing": self.max_missing}
        stated = {key: value for key, value in options.items() if value is not None}
        return replace(kept or Rules(), least=self.least, max_drop=self.max_drop, **stated)


def gate_run(
    folder: str | os.PathLike[str],
    request: GateRequest,
    baseline: str | os.PathLike[str] | None = None,
    *,
    accept_judge_change: bool = False,
) -> GateResult:
    """Hold the finished run of a system as it is now against thresholds and a baseline.

    The baseline is a file of `baseline_of_run`, or the last accepted run, else that of the anchors; without
    any, only means are checked. In place of runs, they may be files of verdicts on pairs.
    """
    if is_file_of_verdicts(file := Path(folder)):
        return _gate_file(file, request, baseline, accept_judge_change)
    run = open_run(folder, rated=True)
    baseline = request.anchors if baseline is None else baseline
    kept = _baseline(run, request, Path(baseline)) if baseline is not None else None
    by, cluster = _fixed(request, kept)
    asked = kept or request.least or request.max_drop
    if not (asked or request.evaluator) and len(run.judges) != 1:
        raise MetaevalError(f"{NOTHING_ASKED}; {_no_single_judge(run)}")
    current = _scored(run, request, by, kept.scored.evaluator if kept else None)
    notes = run.record.lost_sentences
    if _compares(run, current.evaluator):
        notes += [SAID[True]]
    rules = request.rules(kept.rules if kept else None)
    if kept:
        rules = joined(rules, kept.rules, cells_of(current, kept.scored, by), str(baseline))
        corrected = request.anchors is not None
        notes += _judge_changes(current, kept.scored, accept_judge_change or corrected, corrected=corrected)
    name, aspects = current.evaluator, list(dict.fromkeys(a for a, _ in cells_of(current, None, "")))
    answer = read_answer(run.folder, run.record) if ANSWER in run.record.outputs else None
    unfit, first, unknown = _trusted(run, name, aspects, answer, request.calibration)
    anchors = _anchors(run, request.anchors, request, kept) if kept and request.anchors else None
    before, notes = kept.scored if kept else None, [*notes, *unknown]
    found = gate(current, before, rules, by=by, cluster=cluster, notes=notes, anchors=anchors, unfit=unfit)
    said = answer.record if answer else {}
    return replace(found, first=tuple(first), answer=said, label=run.record.names.get(name, name))


def _trusted(
    run: OpenRun, name: str, aspects: Sequence[str], answer: RunAnswer | None, calibration: Path | None
) -> tuple[Collection[str], list[str], list[str]]:
    """Return the aspects for which a judge is not shown to be a gate, what is said of it first, and notes.

    What an audit of the run says holds for all aspects; else, or if it allows the use, a calibration decides.
    """
    trust = answer.judges.get(name) if answer else None
    first = answer.trust([name]) if answer and trust else []
    audited = trust is not None and bool(trust.findings)
    if trust and audited:
        first = [f"{trust.label}: {trust.verdict('gate')}."]
        if trust.usable("gate") != "yes":
            return aspects, first, []
    if run.scores.kinds.get(name) not in (Kind.JUDGE, Kind.ENSEMBLE):
        return (), first, []
    unfit, notes = judge_notes(calibration or run.folder, name, run.scores.signatures[name], aspects)
    of = {why: ", ".join(aspect for aspect in unfit if unfit[aspect] == why) for why in unfit.values()}
    cannot = [
        f"The judge cannot serve as a gate for {those}: by its calibration, {why}."
        for why, those in of.items()
    ]
    # An audit has compared the judge with people.
    return unfit, cannot or first, [] if audited and calibration is None else notes


def baseline_of_run(
    folder: str | os.PathLike[str], request: GateRequest, path: str | os.PathLike[str]
) -> tuple[list[Path], list[str]]:
    """Write a run as the baseline of later gates; thresholds of an older file of that name are kept.

    Return the files that were written, and a sentence per threshold that is now lower than it was.
    """
    target = Path(path)
    if target.is_dir():
        raise MetaevalError(f"{target} is a folder; give the name of a file that ends in .json")
    kept = read_baseline(target) if target.exists() else None
    by = request.by if request.by is not None else kept.by if kept else ""
    usual = kept.scored.evaluator if kept else None
    if is_file_of_verdicts(file := Path(folder)):
        scored = _of_file(file, request, by, usual)
    else:
        scored = _scored(open_run(folder, rated=True), request, by, usual)
    rules = request.rules(kept.rules if kept else None)
    if kept:
        least, drop = {**kept.rules.least, **request.least}, {**kept.rules.max_drop, **request.max_drop}
        rules = replace(rules, least=least, max_drop=drop)
    cells = cells_of(scored, None, by)
    rules.check_names(cells)
    cluster = request.cluster or (kept.cluster if kept else scored.usual_cluster)
    written = write_file(target, Baseline(scored, rules, by, cluster))
    return written, lowered(rules, kept.rules, cells) if kept else []


def _gate_file(
    path: Path, request: GateRequest, baseline: str | os.PathLike[str] | None, accepted: bool
) -> GateResult:
    """Hold the verdicts in a file against thresholds, and a baseline or an older file."""
    kept = None
    if baseline is not None and (before := Path(baseline)).suffix == ".json":
        kept = read_baseline(before)
    elif baseline is not None:
        if not before.is_file():
            raise MetaevalError(f"there is no file of verdicts {before} to compare with")
        old = _of_file(before, request, "")
        kept = Baseline(old, Rules(), "", request.cluster or old.usual_cluster)
    by, cluster = _fixed(request, kept)
    current = _of_file(path, request, by, kept.scored.evaluator if kept else None)
    rules, notes = request.rules(kept.rules if kept else None), [SAID[bool(request.generators)]]
    if kept:
        rules = joined(rules, kept.rules, cells_of(current, kept.scored, by), str(baseline))
        notes += _judge_changes(current, kept.scored, accepted)
    found = gate(current, kept.scored if kept else None, rules, by=by, cluster=cluster, notes=notes)
    worst = [check for check in found.checks if check.verdict == found.verdict]
    first = (*(f"{sentence(check, judged=False)}." for check in worst[:3]), _NOT_THE_JUDGE)
    return replace(found, first=first)


_NOT_THE_JUDGE = "That is the threshold alone: `metaeval audit` says whether the judge may serve as a gate."


def _of_file(path: Path, request: GateRequest, by: str, usual: str | None = None) -> GateScores:
    """Return the scores of a file of verdicts; options of runs are refused."""
    for option in ("data", "calibration", "anchors"):
        if getattr(request, option) is not None:
            raise MetaevalError(f"--{option} is for runs; a FILE of verdicts on pairs has none")
    return scores_of_file(
        path,
        by,
        evaluator=request.evaluator or usual,
        generators=request.generators,
        against=request.against,
        labels=request.labels,
    )


def _fixed(request: GateRequest, kept: Baseline | None) -> tuple[str, str | None]:
    """Return the categories and the clusters, which a baseline fixes."""
    by = request.by or (kept.by if kept else "")
    cluster = request.cluster or (kept.cluster if kept else None)
    if kept and kept.by and by != kept.by:
        raise MetaevalError(
            f"the baseline checks by {kept.by!r}, and --by says {by!r}: checks would be lost; leave --by "
            "out, or write a new baseline"
        )
    if kept and cluster != kept.cluster:
        raise MetaevalError(
            f"the baseline resamples each {kept.cluster} as a cluster, and --cluster is {request.cluster}, "
            "which changes the intervals: leave --cluster out, or write a new baseline"
        )
    return by, cluster


def _anchors(run: OpenRun, place: Path, request: GateRequest, kept: Baseline) -> pd.DataFrame:
    """Return the anchors of a run and an older one: key columns, ``aspect``, ``score`` and ``then``."""
    then, name = open_run(place, rated=True), kept.scored.evaluator
    one_of(name, then.scores.evaluators, f"the run {place} has no evaluator")
    if differs := identity_changes(identity(then.scores.signatures[name]), kept.scored.identity):
        raise MetaevalError(
            f"the anchors of {place} were not judged by the judge of the baseline: {'; '.join(differs)}"
        )
    known = anchor_units(then, run, request.data)
    own, old = (
        marked(r.scores.frame.loc[r.scores.frame["evaluator"] == name, [*known, "aspect", "score"]], known)
        for r in (run, then)
    )
    old = old.rename(columns={"score": "then"}).drop(columns="anchor")
    return own[own["anchor"]].drop(columns="anchor").merge(old, on=[*known, "aspect"])


def _judge_changes(
    current: GateScores, before: GateScores, accepted: bool, *, corrected: bool = False
) -> list[str]:
    """Note that the judge is not the one of the baseline, or refuse to compare the two."""
    changed = "; ".join(identity_changes(before.identity, current.identity))
    if changed and not accepted:
        raise MetaevalError(
            f"the judge {current.evaluator} is not the one of the baseline: {changed}; scores of two judges "
            "are not comparable: run the accepted system with the new one and write a new baseline, give "
            "--anchors OLD, a run of which some texts were judged again, or --accept-judge-change"
        )
    what = (
        "drops are less its drift on anchors"
        if corrected
        else "a drop may come from the judge, not the system"
    )
    note = f"THE JUDGE CHANGED since the baseline: {changed}; {what}."
    return [note] if changed else []


def _baseline(run: OpenRun, request: GateRequest, path: Path) -> Baseline:
    """Read a baseline file, or make a baseline without thresholds of a run."""
    if not path.is_dir():
        return read_baseline(path)
    before = open_run(path)
    # The evaluator has one name in both runs; the categories are those of the run under test.
    name = request.evaluator or _only_judge(run)
    scored = _scored(before, request.model_copy(update={"generators": (), "data": None}), "", name)
    return Baseline(scored, Rules(), "", request.cluster or scored.usual_cluster)


def _scored(run: OpenRun, request: GateRequest, by: str, usual: str | None) -> GateScores:
    """Return the scores to check."""
    name = request.evaluator or usual or _only_judge(run)
    name = {short: of for of, short in run.record.names.items()}.get(name, name)
    one_of(name, run.scores.evaluators, f"the run {run.folder} has no evaluator")
    about, author = run.record.data, author_key(run.nouns)
    frame, scale = run.scores.frame, (float(about.scale.min), float(about.scale.max))
    frame = frame[(frame["evaluator"] == name) & (frame["status"] != Status.EXAMPLE.value)]
    for generator in request.generators:
        if not author:
            raise MetaevalError(f"the run {run.folder} has no generators; leave --generator out")
        one_of(generator, sorted(map(str, frame[author].unique())), "the run has no generator")
    if request.generators:
        frame = frame[frame[author].isin(list(request.generators))]
    if _compares(run, name):
        frame, scale = _wins(run, frame, name, author, request), (0.0, 1.0)
    elif request.against is not None:
        raise MetaevalError(f"{name} compares no pairs, so --against has no meaning; leave it out")
    call = frame["call"].fillna("").astype(str).str[:CALL_DIGITS] if "call" in frame.columns else ""
    scores = frame[[*run.scores.keys, "aspect", "score"]].assign(call=call, category="")
    if by:
        values = column_of(run, by, request.data)
        on = [c for c in values.columns if c != "category"]
        scores["category"] = scores[on].astype(str).merge(values, how="left", on=on)["category"].to_numpy()
    return GateScores(
        scores.reset_index(drop=True),
        name,
        identity(run.scores.signatures[name]),
        scale,
        about.name,
        about.fingerprint,
        run.scores.simulation.among([name]),
        run.nouns,
        run.cluster,
    )


def _compares(run: OpenRun, name: str) -> bool:
    return run.verdicts is not None and name in set(run.verdicts["evaluator"])


def _wins(run: OpenRun, frame: pd.DataFrame, name: str, author: str, request: GateRequest) -> pd.DataFrame:
    """Return what one generator wins against another: 1, 0, or 0.5 for a tie or a flip; the mean is its rate.

    Strengths have the mean 0 over the generators of a run, whatever they write, so that no mean tells
    anything.
    """
    verdicts = cast("pd.DataFrame", run.verdicts)
    verdicts = verdicts[verdicts["evaluator"] == name]
    known = sorted({*verdicts["first"].astype(str), *verdicts["second"].astype(str)})
    if len(request.generators) != 1 or request.max_drop or (request.against is None and len(known) > 2):
        raise MetaevalError(
            f"{name} compares pairs: it is checked by the win rate of one generator against another. Name "
            f"them with --generator and --against ({', '.join(known)}), and a rate with --min, such as "
            "--min 0.5; it has no drop"
        )
    (ours,) = request.generators
    theirs = request.against or next(other for other in known if other != ours)
    one_of(theirs, [other for other in known if other != ours], f"{name} has not compared {ours} with")
    flips = cast("Flips", run.scores.signatures[name].get("flips", "tie"))
    pairs = comparisons_of(verdicts)
    sides = pairs[["first", "second"]].astype(str)
    pairs = pairs[sides.isin([ours, theirs]).all(axis=1)]
    won = points_of(pairs, flips)
    pairs = pairs.assign(score=np.where(pairs["first"].astype(str) == ours, won, 1 - won))
    by = [*(key for key in run.scores.keys if key != author), "aspect"]
    return frame.drop(columns="score").merge(pairs[[*by, "score"]], how="inner", on=by)


def _only_judge(run: OpenRun) -> str:
    if len(run.judges) == 1:
        return run.judges[0]
    raise MetaevalError(_no_single_judge(run))


def _no_single_judge(run: OpenRun) -> str:
    have = f"{len(run.judges)} judges" if run.judges else "no judge"
    return (
        f"the run {run.folder} has {have}: choose the evaluator to check with --evaluator "
        f"({', '.join(run.judges or run.scores.evaluators)})"
    )
