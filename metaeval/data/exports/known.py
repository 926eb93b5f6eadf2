"""The exports that are known; a further one is a file beside this one, and a line here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metaeval.data.exports.argilla import ARGILLA
from metaeval.data.exports.crowd import DOCCANO, MTURK, PRODIGY
from metaeval.data.exports.deepeval import DEEPEVAL
from metaeval.data.exports.export import Export
from metaeval.data.exports.harness import ALPACA, HARNESS, HELM, OPENAI, PROMETHEUS, RAGAS
from metaeval.data.exports.inspect import INSPECT
from metaeval.data.exports.label_studio import LABEL_STUDIO
from metaeval.data.exports.langfuse import LANGFUSE
from metaeval.data.exports.langsmith import LANGSMITH
from metaeval.data.exports.mlflow import MLFLOW
from metaeval.data.exports.opentelemetry import OPENTELEMETRY
from metaeval.data.exports.phoenix import PHOENIX
from metaeval.data.exports.promptfoo import PROMPTFOO
from metaeval.data.exports.shape import content_of
from metaeval.data.exports.trulens import TRULENS
from metaeval.data.exports.weave import WEAVE

EXPORTS: tuple[Export, ...] = (
    *(ARGILLA, LABEL_STUDIO, LANGSMITH, LANGFUSE, MLFLOW, PHOENIX),
    *(TRULENS, DEEPEVAL, PROMPTFOO, OPENTELEMETRY, INSPECT, WEAVE),
    *(MTURK, PRODIGY, DOCCANO, RAGAS, HARNESS, HELM, ALPACA, OPENAI, PROMETHEUS),
)


def recognised(*places: str) -> tuple[Export, list[Any]] | None:
    """Return which tool's export a file is, or several, and the records; None if it is no known one.

    `DataError` is raised if it is one, and a record does not have the shape of the tool's.
    """
    paths = [*map(Path, places)]
    for path in (p for p in paths if p.suffix.lower() == ".parquet"):
        if not any(e.records_in(content_of(path, 1)) for e in EXPORTS):
            return None  # a table, which may be large
    content = [found for path in paths for found in content_of(path)]
    for export in EXPORTS:
        if records := export.records_in(content):
            return export, export.shaped(records, " + ".join(path.name for path in paths))
    return None
