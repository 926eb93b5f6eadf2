"""A run, or a data set of labels → how far its evaluators agree with people; its calibration is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd

from metaeval.analysis.agreement.chance import Weighing, beyond_chance, evaluators_beyond_chance
from metaeval.analysis.agreement.labels import agreements, check_cuts, check_measure
from metaeval.base import __version__
from metaeval.base.counts import plural_of
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import key_columns, noun
from metaeval.base.records import USER_RATER, DataOfKind, DataSet, Kind, Scale, ScoreTable
from metaeval.data.exports.known import files_of, recognised
from metaeval.data.hub import FILE
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Prepared, prepare
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sentences import made_from
from metaeval.engine.sheet import Sheet
from metaeval.evaluators.annotator import Annotator
from metaeval.evaluators.recorded import Recorded
from metaeval.kinds.details import made_of
from metaeval.kinds.explanations.data.imports.table import data_set
from metaeval.kinds.index import kind_named
from metaeval.kinds.reading import load
from metaeval.kinds.registry import build
from metaeval.kinds.scoring import known_for, score
from metaeval.runs.command import Printed, command
from metaeval.runs.finished import is_rated, open_run, refuse_unrated
from metaeval.runs.folder import CALIBRATION, SCORES, read_record
from metaeval.stats.resampling.significance import few_note
from metaeval.study.pipeline import truth_ratings
from metaeval.study.plan import column_of
from metaeval.trust.calibration.maps import conformal_sheet, half_widths, map_fits, map_sheet
from metaeval.trust.calibration.record import (
    Bands,
    calibration_text,
    gate_clauses,
    is_calibrated,
    make_calibration,
    read_calibration,
    state_of,
)
from metaeval.trust.calibration.sheets import (
    Calibrating,
    calibration_sheets,
    confidence_sheets,
    reliability_figures,
    state_sheet,
)

RESAMPLES = 10_000
"""Of the bootstrap, if neither the run nor the user says how many."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledScores:
    """Scores and the truth, of a run or a data set."""

    scores: ScoreTable
    truth: pd.DataFrame
    truth_spec: str
    scale: Scale
    bootstrap: Bootstrap
    about: Mapping[str, Any]
    specs: Mapping[str, str]
    categories: pd.DataFrame | None
    """Key columns and ``category``, if `Calibrating.by` names a column."""
    cluster: str | None = None
    """Resampled by default, as `Prepared.clusters` takes it."""
    nouns: Mapping[str, str] = field(default_factory=dict)
    """Cluster → what a reader calls it, if that differs."""


@command("calibrate", view="calibration")
def calibration_of(folder: Annotated[Path, "RUN|DATA|EXPORT"], how: Calibrating) -> Printed:
    """Measure how far the evaluators of a run, a data set or an export of another tool agree with people.

    Prints kappa of labels and coefficients of scores with intervals, a verdict in words, confusion tables,
    maps to people's scale, intervals of single ratings, and whether a judge is as often right as it is sure;
    the run's report.html shows them. The calibration of a run is valid until the
    model, the prompt, the rubric or the parser of a judge changes. --check tests this, and exits with 1 if a
    judge is uncalibrated.
    """
    if how.check is not None:
        if how.model_dump(exclude={"check", "evaluators", "bands"}, exclude_defaults=True):
            raise MetaevalError("--check calibrates nothing; combine it with --evaluator only")
        states = states_of(folder, how.check, only=how.evaluators)
        return Printed(
            [state_sheet(states.items())], code=0 if all(map(is_calibrated, states.values())) else 1
        )
    bands = Bands.read(how.bands)
    check_measure(how.measure)
    known = recognised(str(folder)) if folder.is_file() else None
    of_data = known is not None or (folder / FILE).is_file()
    rated = of_data or is_rated(read_record(folder).study.kind)
    if known is not None:
        exported = data_set(files_of(*known, folder.stem, how.people))
        labelled = _of_data(exported.data, folder, how)
    else:
        labelled = _of_data(load(folder), folder, how) if of_data else _of_run(folder, how, rated=rated)
    if not rated:
        names = how.evaluators or labelled.scores.evaluators
        if not (of_verdicts := _confidence(labelled, how, names)):
            refuse_unrated(folder, read_record(folder).study.kind)
        return _made(of_verdicts, labelled, names)
    data, left_out = _prepared(labelled, how)
    if how.cuts or how.measure not in (None, "kappa", "alpha"):
        labelled.scale.check_numbers(data.aspects, "cut, and no measure of an order")
    check_cuts(how.cuts, labelled.scale)
    weighing = None if how.weights is None else Weighing.read(how.weights)
    folds = data.cluster_name(labelled.cluster)
    bootstrap = labelled.bootstrap.by(labelled.bootstrap.cluster or folds)
    measured = agreements(
        data,
        labelled.scores.frame,
        labelled.truth,
        scale=labelled.scale,
        bootstrap=bootstrap,
        cuts=how.cuts,
        strata=None if labelled.categories is None else _strata(data, labelled.categories),
        weighed=weighing and partial(beyond_chance, weighing=weighing),
    )
    if not measured:
        raise MetaevalError("no unit has both a rating of people and a score; there is nothing to calibrate")
    maps = map_fits(data, scale=labelled.scale, bootstrap=bootstrap, cluster=folds)
    simulated = labelled.scores.simulation.among(data.evaluators)
    judges = [n for n in data.evaluators if labelled.scores.kinds.get(n) == Kind.JUDGE]
    found, files = dict[str, str](), dict[Path, str]()
    if how.save is not None or not of_data:
        about = {**labelled.about, "simulated": bool(simulated)}
        choice: dict[str, Any] = {
            "measure": how.measure,
            "cuts": how.cuts,
            "bands": bands,
            "bootstrap": bootstrap,
        }
        made = make_calibration(measured, maps, signatures=labelled.scores.signatures, about=about, **choice)
        files[how.save if how.save is not None else folder / CALIBRATION] = calibration_text(made)
        if not of_data:
            told = how.evaluators or judges
            found = {name: clause for name, clause in gate_clauses(made).items() if name in told}
    intervals_note = _intervals(bootstrap, data, labelled.nouns)
    sheets = calibration_sheets(
        measured, bands, how, intervals=intervals_note, left_out=left_out, judges=judges
    )
    who = labelled.nouns.get(folds, folds)
    fitted = map_sheet(maps, who=who, seed=bootstrap.seed)
    intervals = conformal_sheet(maps, who=who)
    stated = _confidence(labelled, how, data.evaluators, judges)
    lead = len(stated) > 1  # else no judge states a confidence
    chance = evaluators_beyond_chance(measured, weighing, how.by) if weighing else None
    every = [*stated[:lead], *sheets, chance, *stated[lead:], fitted, intervals]
    return replace(_made(every, labelled, data.evaluators), found=found, files=files)


def _made(
    sheets: Sequence[Sheet | None],
    labelled: LabelledScores,
    evaluators: Sequence[str],
) -> Printed:
    simulated = labelled.scores.simulation.among(evaluators)
    there = [sheet for sheet in sheets if sheet]
    return Printed(there, simulated, figures=reliability_figures(there), within=half_widths(there))


def _confidence(
    labelled: LabelledScores, how: Calibrating, evaluators: Sequence[str], judges: Sequence[str] = ()
) -> list[Sheet]:
    """Return the sheets on the confidence of evaluators; none if they state none, and are no ``judges``."""
    truth, bootstrap = labelled.truth, labelled.bootstrap
    return confidence_sheets(
        labelled.scores.frame,
        truth[truth["aspect"].isin(how.aspects)] if how.aspects else truth,
        evaluators,
        judges=judges,
        scale=labelled.scale,
        bootstrap=bootstrap.by(bootstrap.cluster or labelled.cluster or noun(key_columns(truth)[0])),
        within=how.within,
    )


def states_of(
    folder: str | os.PathLike[str],
    calibration: str | os.PathLike[str] | None = None,
    *,
    only: Sequence[str] = (),
) -> dict[str, str]:
    """Return evaluator of a run → ``calibrated``, or ``uncalibrated: `` and why.

    ``calibration`` is a calibration file, or another run's folder; the run's own, if None. Without ``only``,
    the evaluators are those in the calibration, and all judges.
    """
    run = open_run(folder, rated=True)
    kept = read_calibration(calibration if calibration is not None else run.folder)
    known, signatures = run.scores.evaluators, run.scores.signatures
    for name in only:
        one_of(name, known, "the run has no evaluator")
    judges = [n for n in known if n in kept["evaluators"] or "model" in signatures.get(n, {})]
    return {n: state_of(kept, signatures.get(n, {}), n) for n in list(only) or judges}


def uncalibrated_note(folder: str | os.PathLike[str]) -> str | None:
    """Return a sentence on the evaluators of a run whose calibration in its folder no longer holds, or None.

    A calibration that cannot be read is no error here: the sentence says so.
    """
    if not (Path(folder) / CALIBRATION).is_file():
        return None
    try:
        states = states_of(folder)
    except MetaevalError as error:
        return str(error)
    wrong = "; ".join(f"{name} is {state}" for name, state in states.items() if not is_calibrated(state))
    return f"{wrong}. Calibrate again with: metaeval calibrate {folder}" if wrong else None


def _prepared(labelled: LabelledScores, how: Calibrating) -> tuple[Prepared, list[str]]:
    """Align scores and truth, nothing filled in; return the evaluators that are left out, too."""
    known, truth = labelled.scores.evaluators, labelled.truth
    for name in how.evaluators:
        one_of(name, known, "there is no evaluator", "there are")
    for aspect in how.aspects:
        one_of(aspect, map(str, truth["aspect"].unique()), "there is no aspect", "there are")
    annotators = made_of(labelled.truth_spec).annotators
    left_out = [n for n in known if annotators & made_of(labelled.specs[n]).annotators]
    if named := [n for n in how.evaluators if n in left_out]:
        raise MetaevalError(
            f"{named[0]} is part of the truth, {labelled.truth_spec}, and would agree with itself"
        )
    wanted = [n for n in how.evaluators or known if n not in left_out]
    if not wanted:
        raise MetaevalError(
            f"every evaluator is part of the truth, {labelled.truth_spec}; none is left to calibrate"
        )
    scores = labelled.scores.frame
    truth = truth[truth["aspect"].isin(how.aspects)] if how.aspects else truth
    policy = Policy.of(["dataset"], ["spearman"], None, "skip", "own")
    return prepare(scores[scores["evaluator"].isin(wanted)], truth, policy), left_out


def _strata(data: Prepared, categories: pd.DataFrame) -> list[str]:
    """Return the category of each unit of ``data``."""
    by = [c for c in categories.columns if c != "category"]
    units = pd.DataFrame({k: data.labels[k].astype(str).take(data.keys[k]) for k in by})
    return list(map(str, units.merge(categories, on=by, how="left", validate="many_to_one")["category"]))


def _intervals(bootstrap: Bootstrap, data: Prepared, nouns: Mapping[str, str]) -> str:
    who = nouns.get(str(bootstrap.cluster), bootstrap.cluster)
    resampler = bootstrap.resampler(data.clusters(str(bootstrap.cluster)).n)
    made = made_from(resampler, f"bootstrap resamples of {plural_of(who or '')}")
    few = few_note(resampler.n_clusters, who or "")
    return f"{100 * bootstrap.confidence:g} % intervals: {made}, seed {bootstrap.seed}. {few}".rstrip()


def _of_run(path: Path, how: Calibrating, *, rated: bool) -> LabelledScores:
    """Take scores and truth from a finished run."""
    run = open_run(path, rated=rated)
    if how.truth is not None:
        raise MetaevalError("--truth is for a data set; a run has the truth of its study")
    record, data = run.record, run.record.data
    about = {"data": data.content(("name", "fingerprint", "scale")), "truth": record.truth.signature}
    return LabelledScores(
        run.scores,
        run.truth,
        record.truth.spec,
        data.scale,
        how.of(Bootstrap.read(record.study.bootstrap) or Bootstrap(resamples=RESAMPLES)),
        {"metaeval": __version__, **about, "scores": record.outputs[SCORES]},
        record.specs,
        None if how.by is None else column_of(run, how.by, how.data),
        noun(run.cluster),
        {noun(key): called for key, called in run.nouns.items()},
    )


def _of_data(data: DataOfKind, path: Path, how: Calibrating) -> LabelledScores:
    """Score a data set with its recorded evaluators and its annotators."""
    refuse_unrated(path, data.kind)
    truth = _truth_of(data, how.truth)
    specs = {n: f"Recorded({n!r})" for n in Recorded.found_in(data)}
    annotators = [f"Annotator({rater!r})" for rater in Annotator.found_in(data)]
    specs |= {name: name for name in annotators if name != truth}
    if not specs:
        raise MetaevalError(
            f"data set {data.name!r} has no recorded scores and no further annotators to calibrate; score it "
            "with a study first: metaeval run STUDY.yaml"
        )
    of_truth = score(data, [truth])
    facts = {"name": data.name, "fingerprint": data.fingerprint, "scale": data.scale.facts()}
    return LabelledScores(
        score(data, specs),
        truth_ratings(of_truth),
        truth,
        data.scale,
        how.of(Bootstrap(resamples=RESAMPLES)),
        {"metaeval": __version__, "data": facts, "truth": dict(of_truth.signatures[truth])},
        specs,
        None if how.by is None else kind_named().column(data, how.by),
    )


def _truth_of(data: DataSet, spec: str | None) -> str:
    """Return the truth of a data set: the given one, the users, or the only annotator."""
    raters = Annotator.found_in(data)
    if spec is not None:
        return str(build(spec, known=known_for(data)).spec)
    if (data.ratings["rater"] == USER_RATER).any():
        return "User()"
    if len(raters) == 1:
        return f"Annotator({raters[0]!r})"
    raise MetaevalError(
        f"data set {data.name!r} has no rater {USER_RATER!r} and {len(raters)} others "
        f"({', '.join(raters)}): say which is the truth, such as --truth \"Annotator('anna')\""
    )
