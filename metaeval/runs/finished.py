"""A finished run, opened again for an analysis: its scores and its truth, without its data set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.base.engines import DUCKDB
from metaeval.base.errors import MetaevalError
from metaeval.base.formulas import read_csv
from metaeval.base.keys import nouns_of
from metaeval.base.records import Kind, ScoreTable
from metaeval.engine.alignment.matched import Matched
from metaeval.engine.board import Board
from metaeval.engine.out_of_core.files import Parquet, chosen
from metaeval.engine.paired_tests import Comparisons
from metaeval.kinds.kind import kind_named
from metaeval.kinds.scored import Scored
from metaeval.kinds.study import make_study
from metaeval.runs.folder import (
    RATERS,
    SCORES,
    TESTS,
    TRUTH,
    VERDICTS,
    read_output,
    read_record,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.engine.alignment.policy import Prepared
    from metaeval.runs.record import Record


@dataclass(frozen=True, eq=False)
class OpenRun:
    """The scores of a finished run, and the truth that they were compared with."""

    folder: Path
    record: Record
    scores: ScoreTable
    truth: pd.DataFrame
    """Key columns, ``aspect`` and ``rating``; NaN for a question without an answer."""
    raters: pd.DataFrame | None
    """Annotators' ratings: key columns, ``rater``, ``aspect`` and ``rating``; None if there are none."""

    @property
    def verdicts(self) -> pd.DataFrame | None:
        """Those of pairwise evaluators (`metaeval.evaluators.verdicts`); None if there are none."""
        return self.scores.verdicts

    @property
    def judges(self) -> list[str]:
        """The evaluators that ask a model, pointwise or pairwise."""
        return [name for name in self.scores.evaluators if self.scores.kinds.get(name) == Kind.JUDGE]

    @property
    def cluster(self) -> str:
        """The key column whose values are resampled whole."""
        return self.record.data.cluster or self.scores.keys[0]

    @property
    def nouns(self) -> Mapping[str, str]:
        """Key column → what a reader calls one of its values."""
        return self.record.data.nouns or nouns_of(self.scores.keys)

    def prepared(
        self,
        *,
        levels: Sequence[str] | None = None,
        coefficients: Sequence[str] | None = None,
        evaluators: Sequence[str] | None = None,
    ) -> Prepared:
        """Return aligned arrays under the run's policy; its levels, coefficients, evaluators if left out."""
        # The policy is made again: it refuses an unknown level or coefficient.
        policy = self.record.study.policy(levels, coefficients)
        return self.matched.chosen(
            levels=policy.levels, coefficients=policy.coefficients, evaluators=evaluators
        )

    @cached_property
    def matched(self) -> Matched:
        """The scores and the truth under the run's policy."""
        return Matched(self.scores, self.truth, self.record.study.policy())

    @cached_property
    def scored(self) -> Scored[Any]:
        """The same with the study as it was run."""
        facts = self.record
        study = make_study(facts.study.content())
        kind = kind_named(study.kind)
        own = {name: self._own(name, kind.texts) for name in kind.files if name in facts.outputs}
        return Scored(study, facts.data.scale, self.cluster, self.scores, self.truth, self.raters, own=own)

    def _own(self, name: str, texts: Sequence[str]) -> pd.DataFrame:
        """Read a table of the kind's own."""
        import pandas as pd

        file = read_output(self.folder, name, self.record)
        return pd.read_parquet(file) if file.suffix == ".parquet" else read_csv(file, texts=texts)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The estimates, as the run wrote them."""
        return read_table(self.folder, self.record)

    @cached_property
    def board(self) -> Board:
        """What the run found."""
        return Board.of_record(self.table, self.record.board, self.record.kinds, self.record.simulation)

    def tests(self) -> Comparisons | None:
        """Return the tests of the run, by the column that orders its leaderboard; None if it made none."""
        if self.record.tests is None:
            return None
        frame = read_csv(read_output(self.folder, TESTS, self.record), Comparisons.NUMBERS)
        return Comparisons.of_frame(frame, self.record.tests)


def open_run(folder: str | os.PathLike[str], *, rated: bool = False, scores: bool = True) -> OpenRun:
    """Open a finished run.

    Parameters
    ----------
    rated
        Whether scores and truth must be ratings.
    scores
        Whether scores are needed; without, those that do not fit in memory are left out.

    Raises
    ------
    RunFolderError
        If it is no run folder, the run is not finished, or its files are not those that it wrote.
    MetaevalError
        If there are no ratings, or the scores do not fit in memory.
    """
    import pandas as pd

    path = Path(folder)
    record = read_record(path)
    kind = record.study.kind
    if rated and not _rated(kind):
        raise MetaevalError(
            f"this takes ratings, and {folder} is a run of kind {kind!r}, whose scores are verdicts on two: "
            f"`metaeval details {folder}` shows its measures"
        )

    def frame(name: str) -> pd.DataFrame:
        return pd.read_parquet(read_output(path, name, record))

    if in_file := _past_memory(path, record):
        if scores:
            raise MetaevalError(
                f"the {in_file.rows:,} scores of {folder} do not fit in memory, and this command needs all "
                "of them; "
                f"`metaeval leaderboard` and the report work, and `metaeval correlate DATA {path / SCORES}`"
            )
        columns = pd.DataFrame(columns=list(in_file.head()))
    else:
        columns = frame(SCORES)
    verdicts = frame(VERDICTS) if VERDICTS in record.outputs else None
    table = ScoreTable(columns, record.signatures, record.kinds, record.data.simulated, verdicts)
    raters = frame(RATERS) if RATERS in record.outputs else None
    return OpenRun(path, record, table, frame(TRUTH), raters)


def _past_memory(path: Path, record: Record) -> Parquet | None:
    """Return the scores of a run that left them in a file, if they are still too many."""
    if record.policy.get("engine") != DUCKDB:
        return None
    found = Parquet.of(read_output(path, SCORES, record), "the scores")
    return found if chosen("auto", found) == DUCKDB else None


def read_table(path: Path, record: Record) -> pd.DataFrame:
    """Read the estimates of a finished run, of which ``run.json`` is at hand.

    Raises
    ------
    RunFolderError
        If the run is not finished, or the file is not the one it wrote.
    """
    file = read_output(path, record.board_file, record)
    frame = read_csv(file, texts=["evaluator", *(d["name"] for d in record.board["dimensions"])])
    counts = frame.columns[frame.columns.str.startswith("n_")]
    return frame.astype(dict.fromkeys(counts, "int64"))


def _rated(kind: str) -> bool:
    """Say whether scores of a kind are ratings; they are taken for such where the kind is not known here."""
    try:
        return kind_named(kind).rated
    except MetaevalError:
        return True
