"""A finished run, opened again: its scores and its truth, ready for an analysis, without its data set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.formulas import read_csv
from metaeval.base.keys import nouns_of
from metaeval.base.records import ScoreTable
from metaeval.engine.comparison import Comparisons
from metaeval.engine.policy import Prepared, prepare
from metaeval.runs.folder import RATERS, SCORES, TESTS, TRUTH, VERDICTS, read_output, read_record

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.engine.policy import Policy
    from metaeval.runs.record import Record


@dataclass(frozen=True, slots=True, eq=False)
class OpenRun:
    """What a finished run scored, and what it held the scores against."""

    folder: Path
    record: Record
    """What ``run.json`` says."""
    scores: ScoreTable
    truth: pd.DataFrame
    """Key columns, ``aspect`` and ``rating``; NaN for a question without an answer."""
    raters: pd.DataFrame | None
    """What annotators gave: key columns, ``rater``, ``aspect`` and ``rating``; None if there are none."""

    @property
    def verdicts(self) -> pd.DataFrame | None:
        """What pairwise evaluators said (`metaeval.evaluators.verdicts`); None if there are none."""
        return self.scores.verdicts

    @property
    def cluster(self) -> str:
        """The key column whose values are resampled whole."""
        return self.record.data.cluster or self.scores.keys[0]

    @property
    def nouns(self) -> Mapping[str, str]:
        """Key column → what a reader calls one of its values."""
        return self.record.data.nouns or nouns_of(self.scores.keys)

    def policy(
        self, *, levels: Sequence[str] | None = None, coefficients: Sequence[str] | None = None
    ) -> Policy:
        """Return the run's policy, with its levels and coefficients if they are left out."""
        return self.record.study.policy(levels, coefficients)

    def prepared(
        self,
        *,
        levels: Sequence[str] | None = None,
        coefficients: Sequence[str] | None = None,
        evaluators: Sequence[str] | None = None,
    ) -> Prepared:
        """Return aligned arrays under the run's policy; its levels, coefficients, evaluators if left out."""
        scores = self.scores.frame
        if evaluators is not None:
            scores = scores[scores["evaluator"].isin(list(evaluators))]
        return prepare(scores, self.truth, self.policy(levels=levels, coefficients=coefficients))

    def tests(self) -> Comparisons | None:
        """Return the tests of the run, by the column that orders its leaderboard; None if it made none."""
        if self.record.tests is None:
            return None
        frame = read_csv(read_output(self.folder, TESTS), Comparisons.NUMBERS)
        return Comparisons.of_frame(frame, self.record.tests)


def open_run(folder: str | os.PathLike[str]) -> OpenRun:
    """Open a finished run.

    Raises
    ------
    RunFolderError
        If it is no run folder, the run is not finished, or its files are not those that it wrote.
    """
    import pandas as pd

    path = Path(folder)
    record = read_record(path)
    scores = pd.read_parquet(read_output(path, SCORES))
    verdicts = pd.read_parquet(read_output(path, VERDICTS)) if VERDICTS in record.outputs else None
    table = ScoreTable(scores, record.signatures, record.kinds, record.data.simulated, verdicts)
    raters = pd.read_parquet(read_output(path, RATERS)) if RATERS in record.outputs else None
    return OpenRun(path, record, table, pd.read_parquet(read_output(path, TRUTH)), raters)
