"""The kind of study whose units are matched pairs of items that a log shows to a user."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.errors import MetaevalError
from metaeval.base.records import FIRST, SECOND
from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.engine.measures import share
from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.files import FILES, TEXTS
from metaeval.kinds.exposure.off_policy.policies import policy_file
from metaeval.kinds.exposure.pairs import reweighted
from metaeval.kinds.exposure.study import ExposureStudy
from metaeval.kinds.files.folder import folder_of
from metaeval.kinds.kind import StudyKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from metaeval.engine.results import Results
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.scored import Scored


class ExposureKind(StudyKind):
    """Matched pairs of a user's items: which of the two had the better outcome."""

    name = "exposure"
    study = ExposureStudy
    files = FILES
    texts = TEXTS
    measures = (share("agreement", lambda scores, truth: np.sign(scores) == truth),)

    def load(self, place: str | Path) -> LogSet:
        """Load the folder of a log."""
        return load(place)

    def chosen(self, study: ExposureStudy, data: LogSet) -> LogSet:
        """Weigh pairs under the floor that the study says."""
        if "floor" not in study.propensity.model_fields_set:
            return data
        return replace(data, table=reweighted(data.table, study.propensity.floor))

    def resolve(self, study: ExposureStudy, data: LogSet) -> ExposureStudy:
        """See that there are pairs to judge and the policies named, and that no truth is synthetic."""
        for at, policy in enumerate(study.policies or ()):
            try:
                policy_file(policy, folder_of(study.dataset))
            except MetaevalError as error:
                raise study.error(str(error), "policies", at) from error
        if data.synthetic is not None and study.truth.partition("(")[0].strip() != "User":
            raise study.error(
                f"{study.dataset} has synthetic rows, and {study.truth} may be made of them; "
                f"the truth is User(), the user's own log",
                "truth",
            )
        if not len(data):
            command = f"metaeval data pairs {shlex.quote(study.dataset)}"
            raise study.error(f"{study.dataset} has no pairs to judge; make them with: {command}", "dataset")
        return study

    def results(self, scored: Scored[ExposureStudy]) -> Results:
        """Count verdicts that agree with outcomes, and describe the log that they come from."""
        from metaeval.kinds.exposure.off_policy.report import policy_tables
        from metaeval.kinds.exposure.propensity.report import log_tables

        files = log_tables(scored.data, scored.study.propensity, scored.study.bootstrap)
        files |= policy_tables(scored.data, scored.study)
        scored.own.update(files)
        return replace(super().results(scored), files=files)

    def details(self, scored: Scored[ExposureStudy]) -> Sequence[Sheet]:
        """Return what is known of the log, and values of policies, before what every kind has."""
        from metaeval.kinds.exposure.off_policy.report import policy_sheets
        from metaeval.kinds.exposure.propensity.report import log_sheets

        simulated, study = scored.scores.simulation.among(()), scored.study
        own = log_sheets(scored.own, study.propensity, study.bootstrap, simulated)
        own += policy_sheets(scored.own, study, simulated)
        return [*own, *super().details(scored)]

    def unit_view(self, data: LogSet, aspects: Sequence[str]) -> UnitView:
        """Show the names of the two items."""
        columns = tuple(UnitColumn(k, data.nouns[k], data.units[k].tolist()) for k in data.keys)
        texts = tuple(UnitText(side, data.table[side].tolist()) for side in (FIRST, SECOND))
        return UnitView(columns, texts, tuple(Rated(a, data.aspects.get(a, "")) for a in aspects))


EXPOSURE = ExposureKind()
