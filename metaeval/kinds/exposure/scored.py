"""What a study of exposure scored, and what several of its tables share."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from metaeval.base.progress import progress
from metaeval.data.folder import folder_of
from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.data.log_set import OUTCOME
from metaeval.kinds.exposure.off_policy.evaluation import Evaluation, evaluate
from metaeval.kinds.exposure.off_policy.policies import (
    LogArrays,
    arrays_of,
    policies_in,
    read_policy,
    read_predictions,
)
from metaeval.kinds.exposure.propensity.propensities import Propensities, propensities_of
from metaeval.kinds.exposure.recommenders.sums import Recommended
from metaeval.kinds.exposure.study import ExposureStudy
from metaeval.kinds.kind import Scored


def on_policy_value(known: float | str) -> float:
    """Return the value of a policy that is known, or the mean outcome of the log that it made."""
    return float(load(known).log[OUTCOME].mean()) if isinstance(known, str) else known


class ExposureScored(Scored[ExposureStudy]):
    """What a study of exposure scored."""

    @cached_property
    def propensities(self) -> Propensities:
        """Those of the log, logged or fitted."""
        with progress("propensities"):
            return propensities_of(self.data, self.study.propensity)

    @cached_property
    def log(self) -> LogArrays:
        """The rounds of the log with their propensities."""
        return arrays_of(self.data, self.propensities)

    @cached_property
    def evaluations(self) -> list[Evaluation]:
        """What the log says of each policy that the study names, or else those of the data set."""
        study, folder = self.study, folder_of(self.study.place)
        names = list(policies_in(folder, self.data.log)) if study.policies is None else study.policies
        own = read_predictions(Path(study.predictions), self.log) if study.predictions else None
        with progress("policies"):
            return [
                evaluate(
                    self.log,
                    read_policy(name, self.log, folder),
                    study.off_policy,
                    study.bootstrap,
                    refits=study.propensity.refits,
                    predictions=own,
                    on_policy=on_policy_value(study.on_policy.get(name, np.nan)),
                )
                for name in names
            ]

    @cached_property
    def recommended(self) -> Recommended | None:
        """What the log says of recommenders; None if none has a list with an item of the log."""
        study = self.study
        recommended = Recommended.of(self.data, self.propensities, study.recommenders, study.propensity.least)
        return recommended if recommended and recommended.systems else None
