"""A run, or a data set of labels → how far its evaluators agree with people; its calibration is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.analysis.agreement.labels import agreements, check_cuts, check_measure
from metaeval.base.counts import plural_of
from metaeval.base.errors import MetaevalError, nearest
from metaeval.engine.alignment.policy import Policy, prepare
from metaeval.engine.sentences import made_from
from metaeval.kinds.details import made_of
from metaeval.runs.finished import open_run
from metaeval.sources.hub.repository import FILE
from metaeval.study.commands.labels import Calibrating, labelled_data, labelled_run
from metaeval.trust.calibration.bands import Bands
from metaeval.trust.calibration.map_sheet import map_sheet
from metaeval.trust.calibration.maps import map_fits
from metaeval.trust.calibration.record import (
    CALIBRATION,
    is_calibrated,
    make_calibration,
    read_calibration,
    state_of,
    write_calibration,
)
from metaeval.trust.calibration.sheets import calibration_sheets

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.engine.alignment.policy import Prepared
    from metaeval.engine.intervals import Bootstrap
    from metaeval.engine.sheet import Sheet
    from metaeval.study.commands.labels import LabelledScores


def calibration_of(
    folder: str | os.PathLike[str],
    how: Calibrating | None = None,
    *,
    save: str | os.PathLike[str] | None = None,
) -> list[Sheet]:
    """Measure how far the evaluators of a finished run, or of a data set of labels, agree with people.

    The calibration is kept in the file ``save``. If that is None, the one of a run is ``calibration.json`` in
    its folder, and the one of a data set is not kept.

    Returns
    -------
    list of Sheet
        ``calibration``, and those that are not empty of ``labels``, ``strata``, ``confusion``, ``maps``.

    Raises
    ------
    MetaevalError
        If the folder is neither, an option is wrong, or no evaluator is left.
    """
    options, path = how or Calibrating(), Path(folder)
    bands = Bands.read(options.bands)
    check_measure(options.measure)
    of_data = (path / FILE).is_file()
    given = labelled_data(path, options) if of_data else labelled_run(path, options)
    check_cuts(options.cuts, given.scale)
    data, left_out = _prepared(given, options)
    folds = data.cluster_name(given.cluster)
    bootstrap = given.bootstrap.by(given.bootstrap.cluster or folds)
    strata = None if given.categories is None else _strata(data, given.categories)
    found = agreements(
        data,
        given.scores.frame,
        given.truth,
        scale=given.scale,
        bootstrap=bootstrap,
        cuts=options.cuts,
        strata=strata,
    )
    if not found:
        raise MetaevalError("no unit has both a rating of people and a score; there is nothing to calibrate")
    maps = map_fits(data, scale=given.scale, bootstrap=bootstrap, cluster=folds)
    simulated = given.scores.simulation.among(data.evaluators)
    target = Path(save) if save is not None else None if of_data else path / CALIBRATION
    choice: dict[str, Any] = {"measure": options.measure, "cuts": options.cuts}
    if target is not None:
        about = {**given.about, "simulated": bool(simulated)}
        signatures = given.scores.signatures
        made = make_calibration(
            found, maps, signatures=signatures, about=about, bands=bands, bootstrap=bootstrap, **choice
        )
        write_calibration(made, target)
    sheets = calibration_sheets(
        found,
        bands,
        **choice,
        by=options.by or "",
        every=bool(options.evaluators),
        intervals=_intervals(bootstrap, data, given.called),
        left_out=left_out,
        simulated=simulated,
    )
    fitted = map_sheet(maps, who=given.called.get(folds, folds), seed=bootstrap.seed, simulated=simulated)
    return [*sheets, fitted] if fitted else sheets


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
    known = list(run.scores.evaluators)
    for name in only:
        if name not in known:
            raise MetaevalError(f"the run has no evaluator {name!r}{nearest(name, known)}")
    signatures = run.scores.signatures
    judges = [n for n in known if n in kept.evaluators or "model" in signatures.get(n, {})]
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
    wrong = {n: s for n, s in states.items() if not is_calibrated(s)}
    told = "; ".join(f"{name} is {state}" for name, state in wrong.items())
    return f"{told}. Calibrate again with: metaeval calibrate {folder}" if wrong else None


def _prepared(given: LabelledScores, how: Calibrating) -> tuple[Prepared, list[str]]:
    """Align scores and truth, nothing filled in; return the evaluators that are left out, too."""
    known = list(given.scores.evaluators)
    for name in how.evaluators:
        if name not in known:
            raise MetaevalError(f"there is no evaluator {name!r}{nearest(name, known)}")
    have = list(map(str, given.truth["aspect"].unique()))
    for aspect in how.aspects:
        if aspect not in have:
            raise MetaevalError(f"there is no aspect {aspect!r}{nearest(aspect, have)} ({', '.join(have)})")
    of_truth = made_of(given.truth_spec).annotators
    left_out = [n for n in known if of_truth & made_of(given.specs[n]).annotators]
    named = [n for n in how.evaluators if n in left_out]
    if named:
        raise MetaevalError(
            f"{named[0]} is part of the truth, {given.truth_spec}, and would agree with itself"
        )
    wanted = [n for n in how.evaluators or known if n not in left_out]
    if not wanted:
        raise MetaevalError(
            f"every evaluator is part of the truth, {given.truth_spec}; none is left to calibrate"
        )
    scores, truth = given.scores.frame, given.truth
    if how.aspects:
        truth = truth[truth["aspect"].isin(how.aspects)]
    policy = Policy.of(["dataset"], ["spearman"], None, "skip", "own")
    return prepare(scores[scores["evaluator"].isin(wanted)], truth, policy), left_out


def _strata(data: Prepared, categories: pd.DataFrame) -> list[str]:
    """Return the category of each unit of ``data``."""
    import pandas as pd

    by = [c for c in categories.columns if c != "category"]
    units = pd.DataFrame({k: data.labels[k].astype(str).take(data.keys[k]) for k in by})
    found = units.merge(categories, on=by, how="left", validate="many_to_one")
    return list(map(str, found["category"]))


def _intervals(bootstrap: Bootstrap, data: Prepared, called: Mapping[str, str]) -> str:
    who = called.get(str(bootstrap.cluster), bootstrap.cluster)
    resampler = bootstrap.resampler(data.clusters(str(bootstrap.cluster)).n)
    made = made_from(resampler, f"bootstrap resamples of {plural_of(who or '')}")
    return f"{100 * bootstrap.confidence:g} % intervals: {made}, seed {bootstrap.seed}."
