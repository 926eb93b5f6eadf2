"""Commands on a log that need no study: its overlap, off-policy values, and matched pairs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from metaeval.base.errors import DataError, MetaevalError
from metaeval.base.progress import progress
from metaeval.base.records import ScoreTable
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Sheet
from metaeval.kinds.exposure.data.loading import load, put
from metaeval.kinds.exposure.data.log_set import LogSet
from metaeval.kinds.exposure.kind import EXPOSURE
from metaeval.kinds.exposure.off_policy.tables import POLICY_OVERLAP, values_frame, values_sheet
from metaeval.kinds.exposure.pairs import PER_USER, MatchedPairsFound, matched_pairs
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.propensity.tables import LOG_TABLES
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.exposure.study import Bin, ExposureStudy, OffPolicy, PropensityOptions


def log_alone(data: LogSet, place: str | os.PathLike[str] = "-", **options: Any) -> ExposureScored:  # noqa: ANN401 - keys of a study
    """Return a log as what a study without evaluators scored."""
    study = ExposureStudy(kind="exposure", dataset=str(place), evaluators=["Random()"], **options)
    scores = ScoreTable(pd.DataFrame({"evaluator": []}), simulated=data.simulated)
    return ExposureScored(EXPOSURE, study, data.scale, data.cluster, scores, data.ratings, data=data)


def overlap_report(
    place: str | os.PathLike[str], propensity: PropensityOptions, bootstrap: Bootstrap | None
) -> list[Sheet]:
    """Return overlap, balance and means of a log, and the exposure model, if propensities are fitted.

    Raises `MetaevalError` if the log cannot be read, or has no propensities and none can be fitted.
    """
    scored = log_alone(load(place), place, propensity=propensity, bootstrap=bootstrap)
    return [sheet for table in LOG_TABLES for sheet in table.sheets(scored)]


def off_policy_of(
    place: str | os.PathLike[str],
    policies: Sequence[str],
    options: OffPolicy,
    propensity: PropensityOptions,
    bootstrap: Bootstrap | None,
    *,
    force: bool = False,
    predictions: str | None = None,
    on_policy: str | None = None,
) -> list[Sheet]:
    """Estimate what policies would have earned, from the log of another one.

    ``policies`` are ``uniform``, files, or names of those that came with the data set; ``force`` shows
    refused values, too. ``predictions`` is a file of one's own model; ``on_policy``, of a single policy, the
    value that it had or the place of a log that it made. Raises `MetaevalError` if the log has no
    propensities and none can be fitted, or a policy cannot be read.
    """
    names, known = list(dict.fromkeys(policies)), {}
    if on_policy is not None:
        if len(names) > 1:
            raise MetaevalError("--on-policy is the value of one policy; give one --policy")
        known = {names[0]: on_policy if Path(on_policy).exists() else _number(on_policy)}
    more = {"policies": names, "predictions": predictions, "on_policy": known, **options.model_dump()}
    scored = log_alone(load(place), place, propensity=propensity, bootstrap=bootstrap, **more)
    values = values_sheet(scored, values_frame(scored.evaluations, force=force), force=force)
    return [values, *(replace(sheet, name="overlap") for sheet in POLICY_OVERLAP.sheets(scored))]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MetaevalError(f"--on-policy: {text!r} is neither a number nor the folder of a log") from None


def make_pairs(
    place: str | os.PathLike[str],
    *,
    match: Sequence[Bin] | None = None,
    per_user: int = PER_USER,
    seed: int = 0,
    propensity: PropensityOptions | None = None,
    force: bool = False,
) -> MatchedPairsFound:
    """Match items of each user and write the table ``pairs`` into the folder of the log.

    Raises `MetaevalError` if there are pairs already, no two items match, or the log lacks users or a bin.
    """
    folder = Path(place)
    if not folder.is_dir():  # what ships or lies on the hub is read only
        raise DataError(f"there is no folder {str(place)!r}; pairs are written into the folder of a log")
    data = load(place)
    if len(data) and not force:
        raise DataError(f"{place} has pairs already; replace them with --force")
    if data.scores is not None:
        raise DataError(f"{place} has recorded verdicts (scores) on pairs; remove them before making pairs")
    options = propensity or PropensityOptions(seed=seed)
    with progress("propensities"):
        propensities = propensities_of(data, options)
    with progress("pairs"):
        matching = matched_pairs(propensities, match=match, per_user=per_user, seed=seed, floor=options.least)
    if not len(matching.frame):
        raise DataError(f"no two items of a user match: {matching.lines()[1]}; match on less with --match")
    put(folder, "pairs", matching.frame, force=force)
    return matching
