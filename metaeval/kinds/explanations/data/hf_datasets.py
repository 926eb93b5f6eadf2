"""Data sets and scores to and from the `datasets` library.

A data set becomes a ``datasets.DatasetDict``: its tables (``explanations``, ``ratings`` and, where there are
any, ``users`` and ``scores``) and a table ``dataset`` of one row with the text of ``dataset.yaml``, which is
kept so on disk, in Parquet files and on the hub. The text is also the description of every table.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

import datasets
import pandas as pd

from metaeval.base.errors import DataError, Problem, sound
from metaeval.base.records import Kind, ScoreTable
from metaeval.base.validation import read_model
from metaeval.data.hub import FILE, dataset_table
from metaeval.kinds.explanations.data.check import build
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet, Manifest

TABLES = ("explanations", "ratings", "users", "scores")
ABOUT = "dataset"
"""The table of one row and one column, ``yaml``, with what ``dataset.yaml`` holds."""
_OF_EVALUATOR = "about"
"""The column of scores with the name, kind and signature of their evaluator, as JSON."""


@overload
def to_datasets(data: ExplanationSet) -> datasets.DatasetDict: ...
@overload
def to_datasets(data: ScoreTable) -> datasets.Dataset: ...
def to_datasets(data: ExplanationSet | ScoreTable) -> datasets.DatasetDict | datasets.Dataset:
    """Return a data set as a ``datasets.DatasetDict``, or scores as a ``datasets.Dataset``.

    `from_datasets` and `scores_from_dataset` are the inverse, also after ``save_to_disk`` or Parquet files.

    Parameters
    ----------
    data
        A data set: it becomes the tables ``explanations``, ``ratings``, ``users``, ``scores`` (those that it
        has) and ``dataset``, one row that holds its name, aspects, scale, licence and so on. Or scores: their
        signatures and kinds are the labels of a column ``about``, so that each is kept once.
    """
    if isinstance(data, ScoreTable):
        return _scores_to_dataset(data)
    if not isinstance(data, ExplanationSet):
        raise DataError(f"to_datasets takes a data set or scores, not a {type(data).__name__}")
    about = Manifest.of(data).to_yaml()
    link = data.source if data.source.startswith(("https://", "http://")) else ""
    # Shown on the hub; the text has the licence and the source, too.
    info = {"description": about, "license": data.licence, "homepage": link}
    tables = {
        name: datasets.Dataset.from_pandas(frame, info=datasets.DatasetInfo(**info), preserve_index=False)
        for name in TABLES
        if (frame := getattr(data, name)) is not None
    }
    tables[ABOUT] = datasets.Dataset.from_dict({"yaml": [about]}, info=datasets.DatasetInfo(**info))
    return datasets.DatasetDict(tables)


def from_datasets(found: datasets.DatasetDict) -> ExplanationSet:
    """Return the data set in a ``datasets.DatasetDict``.

    Parameters
    ----------
    found
        What `to_datasets` made of a data set, or a mapping from the names of its tables to them.

    Raises
    ------
    DataError
        With every problem found. A table in a layout of its own is read with `metaeval.from_table`.
    """
    return sound(read_datasets(found))


def scores_from_dataset(found: datasets.Dataset) -> ScoreTable:
    """Return the scores in a ``datasets.Dataset`` that `to_datasets` made of a `ScoreTable`.

    Raises
    ------
    DataError
        If it was not made so.
    """
    label = found.features.get(_OF_EVALUATOR) if isinstance(found, datasets.Dataset) else None
    if not isinstance(label, datasets.ClassLabel):
        raise DataError(
            f"scores are made of a datasets.Dataset with a column {_OF_EVALUATOR!r} of labels, as "
            "to_datasets writes it; correlate takes any other table as a DataFrame"
        )
    said = [json.loads(name) for name in label.names]
    frame: pd.DataFrame = dataset_table(found.remove_columns(_OF_EVALUATOR), "scores").frame
    return ScoreTable(
        frame,
        {e["evaluator"]: e["signature"] for e in said if e["signature"]},
        {e["evaluator"]: Kind(e["kind"]) for e in said if e["kind"]},
        any(e["data_simulated"] for e in said),
    )


def read_datasets(found: Mapping[str, Any]) -> tuple[ExplanationSet | None, list[Problem]]:
    """Return the data set in a ``datasets.DatasetDict`` and no problem, or None and every problem found."""
    tables = {str(n): found[n] for n in found} if isinstance(found, Mapping) else {}
    if not {*TABLES[:2]} <= {n for n, table in tables.items() if isinstance(table, datasets.Dataset)}:
        has = f"with {', '.join(tables)}" if tables else f"a {type(found).__name__}"
        raise DataError(
            f"a data set is a datasets.DatasetDict with the tables {' and '.join(TABLES[:2])} (see "
            f"metaeval.to_datasets), not {has}; a table in another layout is read with metaeval.from_table, "
            "scores with scores_from_dataset"
        )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_text(_about(tables), encoding="utf-8")
        manifest, problems = read_model(Path(folder) / FILE, Manifest)
    if manifest is None:
        return None, problems
    return build(manifest, {n: dataset_table(tables[n], n) for n in TABLES if n in tables})


def load_saved(folder: str | os.PathLike[str]) -> tuple[ExplanationSet | None, list[Problem]]:
    """Read a folder that ``DatasetDict.save_to_disk`` wrote; see `read_datasets`."""
    try:
        found = datasets.load_from_disk(str(folder))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{str(folder)!r} cannot be read as a saved DatasetDict: {error}") from error
    return read_datasets(found)


def _about(tables: Mapping[str, datasets.Dataset]) -> str:
    """Return the text of ``dataset.yaml``: from its table, or from the description of saved tables."""
    if ABOUT in tables and tables[ABOUT].column_names == ["yaml"] and len(tables[ABOUT]) == 1:
        return str(tables[ABOUT][0]["yaml"])
    description: str = tables["explanations"].info.description
    if not description:
        raise DataError(
            f"the table {ABOUT!r} with the aspects and the scale is missing; keep it with the others, "
            "or make the data set of frames with metaeval.from_frames"
        )
    return description


def _scores_to_dataset(table: ScoreTable) -> datasets.Dataset:
    said = [
        {
            "evaluator": name,
            "kind": str(table.kinds[name]) if name in table.kinds else None,
            "signature": dict(table.signatures.get(name, {})),
            "data_simulated": table.simulated,
        }
        for name in table.evaluators
    ]
    names = [json.dumps(one, ensure_ascii=False, sort_keys=True) for one in said]
    made = datasets.Dataset.from_pandas(table.frame, preserve_index=False)
    of_rows = table.frame["evaluator"].map({name: code for code, name in enumerate(table.evaluators)})
    return made.add_column(_OF_EVALUATOR, of_rows.tolist(), feature=datasets.ClassLabel(names=names))
