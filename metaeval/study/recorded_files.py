"""A run of recorded scores that do not fit in memory: they stay in the file of the data set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.base.parallel import DUCKDB, MEMORY
from metaeval.base.records import DataOfKind, ScoreTable
from metaeval.base.spec import EvaluatorSpec, parts_of
from metaeval.engine.out_of_core.files import Parquet, chosen
from metaeval.engine.out_of_core.loading import Loaded, load
from metaeval.evaluators.recorded import Recorded
from metaeval.kinds.kind import StudyKind

if TYPE_CHECKING:
    from metaeval.kinds.scoring import Scoring
    from metaeval.kinds.study import Study

FILE = "scores.parquet"
LEFT_OUT = (
    "The scores were too large to read into memory: single units, groups, details and figures are left out, "
    "and only the column that ranks the evaluators is tested."
)


def load_for_run(kind: StudyKind, place: Path | str, engine: str | None) -> tuple[DataOfKind, Parquet | None]:
    """Load a data set; its recorded scores stay in their file, which is returned, if they are many.

    Raises `MetaevalError` if they are to stay there and cannot.
    """
    file = Path(place) / FILE
    if engine != MEMORY and file.is_file():
        scores = Parquet.of(file, "the recorded scores")
        many = engine == DUCKDB or chosen("auto", scores) == DUCKDB
        if many and (data := kind.load_beside(Path(place), scores)) is not None:
            return data, scores
    if engine == DUCKDB:
        raise MetaevalError(
            f"engine {DUCKDB!r} takes recorded scores of explanations from {FILE}, and {place} has none; "
            "leave the engine out"
        )
    return kind.load(place), None


def check_recorded(study: Study, evaluators: Mapping[str, EvaluatorSpec], truth: EvaluatorSpec) -> None:
    """See that the evaluators, and not the truth, are recorded ones; `StudyError` if they are not."""
    whole = f"or read them into memory: --engine {MEMORY}"
    for at, (name, spec) in enumerate(evaluators.items()):
        if spec.name != Recorded.__name__:
            where = name if isinstance(study.evaluators, dict) else at
            raise study.error(
                f"the recorded scores do not fit in memory, and {name} is not one of them: score it "
                f"first (metaeval score), add its rows to {FILE} and name it Recorded('…'), {whole}",
                "evaluators",
                where,
            )
    if any(part.startswith(f"{Recorded.__name__}(") for part in parts_of(truth)):
        raise study.error(
            f"the recorded scores do not fit in memory, so they are no truth; name another, {whole}", "truth"
        )


def load_recorded(scores: Parquet, scoring: Scoring, ratings: pd.DataFrame, study: Study) -> Loaded:
    """Match the recorded scores of the evaluators with the truth."""
    named = {name: cast("Recorded", evaluator) for name, evaluator in scoring.named.items()}
    for evaluator in named.values():
        evaluator.rows(scoring.data, scoring.aspects)
    levels = cast("Any", study).policy.levels
    in_file = {name: evaluator.name for name, evaluator in named.items()}
    return load(scores, ratings, levels, text_keys=True, named=in_file)


def facts_of(scoring: Scoring) -> ScoreTable:
    """Return what is known of the evaluators, without a score."""
    columns = [*scoring.data.keys, "evaluator", "aspect", "score", "status"]
    return ScoreTable(
        pd.DataFrame(columns=columns),
        {name: scoring.signature(name) for name in scoring.named},
        {name: evaluator.kind for name, evaluator in scoring.named.items()},
        scoring.data.simulated,
    )
