"""The scores and ratings of a calibration: of a finished run, or of a data set that is scored for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metaeval import __version__
from metaeval.base.errors import MetaevalError
from metaeval.base.keys import noun
from metaeval.base.records import USER_RATER, Scale, ScoreTable
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.files.loading import load
from metaeval.kinds.registry import build
from metaeval.kinds.scoring import score
from metaeval.runs.finished import open_run
from metaeval.runs.folder import SCORES
from metaeval.study.commands.dataset import column_in, column_of
from metaeval.study.pipeline import truth_ratings
from metaeval.study.specs import recorded_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

RESAMPLES = 10_000
"""Of the bootstrap, if neither the run nor the user says how many."""


@dataclass(frozen=True, slots=True)
class Calibrating:
    """What to calibrate, and how."""

    evaluators: tuple[str, ...] = ()
    """Names; all, if empty."""
    aspects: tuple[str, ...] = ()
    by: str | None = None
    """A column of units or users; agreement is measured for each of its values, too."""
    cuts: tuple[float, ...] = ()
    """A label of this or more is a pass; the verdict is by kappa at the first cut."""
    bands: str | None = None
    measure: str | None = None
    """The measure that the verdict is by."""
    truth: str | None = None
    """The evaluator that is the truth of a data set."""
    data: str | None = None
    """Where the data set of a run lies, if ``by`` needs it."""
    resamples: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LabelledScores:
    """Scores and the truth."""

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
    called: Mapping[str, str] = field(default_factory=dict)
    """Cluster → what a reader calls it, if that differs."""


def labelled_run(path: Path, how: Calibrating) -> LabelledScores:
    """Take scores and truth from a finished run."""
    run = open_run(path, rated=True)
    if how.truth is not None:
        raise MetaevalError("--truth is for a data set; a run has the truth of its study")
    bootstrap = Bootstrap.read(run.record.study.bootstrap) or Bootstrap(resamples=RESAMPLES)
    data = run.record.data
    return LabelledScores(
        run.scores,
        run.truth,
        run.record.truth.spec,
        data.scale,
        _with(bootstrap, how),
        {
            "metaeval": __version__,
            "data": data.content(("name", "fingerprint", "scale")),
            "truth": run.record.truth.signature,
            "scores": run.record.outputs[SCORES],
        },
        run.record.specs,
        None if how.by is None else column_of(run, how.by, how.data),
        noun(run.cluster),
        {noun(key): called for key, called in run.nouns.items()},
    )


def labelled_data(path: Path, how: Calibrating) -> LabelledScores:
    """Score a data set with its recorded evaluators and its annotators."""
    data = load(path)
    truth = _truth_of(data, how.truth)
    names = recorded_names(data)
    specs = {n: f"Recorded({n!r})" for n in names}
    for rater in data.raters:
        name = f"Annotator({rater!r})"
        if rater != USER_RATER and name != truth:
            specs[name] = name
    if not specs:
        raise MetaevalError(
            f"data set {data.name!r} has no recorded scores and no further annotators to calibrate; score it "
            "with a study first: metaeval run STUDY.yaml"
        )
    of_truth = score(data, [truth])
    return LabelledScores(
        score(data, specs),
        truth_ratings(of_truth),
        truth,
        data.scale,
        _with(Bootstrap(resamples=RESAMPLES), how),
        {
            "metaeval": __version__,
            "data": {"name": data.name, "fingerprint": data.fingerprint, "scale": data.scale.facts()},
            "truth": dict(of_truth.signatures[truth]),
        },
        specs,
        None if how.by is None else column_in(data, how.by),
    )


def _truth_of(data: ExplanationSet, given: str | None) -> str:
    """Return the truth of a data set: the given one, the users, or the only annotator."""
    if given is not None:
        return str(build(given).spec)
    if USER_RATER in data.raters:
        return "User()"
    if len(data.raters) == 1:
        return f"Annotator({data.raters[0]!r})"
    raise MetaevalError(
        f"data set {data.name!r} has no rater {USER_RATER!r} and {len(data.raters)} others "
        f"({', '.join(data.raters)}): say which is the truth, such as --truth \"Annotator('anna')\""
    )


def _with(bootstrap: Bootstrap, how: Calibrating) -> Bootstrap:
    given = {"resamples": how.resamples, "seed": how.seed}
    return bootstrap.model_copy(update={key: value for key, value in given.items() if value is not None})
