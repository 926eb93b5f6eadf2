"""A judge's labels of what people did not label, as files in TREC's format.

TREC's files have no place for a comment. So the second column, the iteration, which tools ignore, names judge
and signature in every line, and ``holes.csv`` says which file is whose.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.kinds.relevance.data.collection import ITEM, USER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.relevance.systems.labels import Judgements

MANIFEST = "holes.csv"


def holes(
    judgements: Judgements, truth: str, signatures: Mapping[str, str], among: Sequence[str]
) -> dict[str, pd.DataFrame | str]:
    """Return the files of the units that the truth has no label of and an evaluator has.

    Parameters
    ----------
    signatures
        Evaluator → what tells its settings apart, such as a digest.
    among
        The evaluators whose labels are wanted: judges, not baselines.

    Returns
    -------
    dict
        File name → lines ``user iteration item label``; and the manifest, ``file``, ``evaluator``,
        ``signature``, ``iteration``, ``n_labels``, ``n_left_out`` (names with a blank, which the format
        cannot hold). Empty if there is no hole that someone filled.
    """
    open_units = np.isnan(judgements.labels[truth])
    units = judgements.units
    blank = (units[USER].astype(str) + units[ITEM].astype(str)).str.contains(r"\s").to_numpy(dtype=bool)
    files: dict[str, pd.DataFrame | str] = {}
    rows = []
    for name in among:
        filled = open_units & ~np.isnan(judgements.labels[name])
        if not filled.any():
            continue
        slug = _slug(name)
        file = f"holes.{slug}.qrels"
        while file in files:
            file = file.replace(".qrels", "-2.qrels")
        iteration = _slug(f"{name}:{signatures.get(name, '')}".rstrip(":"), keep=":")
        written = np.flatnonzero(filled & ~blank)
        columns = (units[USER].to_numpy()[written], units[ITEM].to_numpy()[written])
        labels = judgements.labels[name][written].astype(int)
        lines = (f"{u} {iteration} {i} {label}\n" for u, i, label in zip(*columns, labels, strict=True))
        files[file] = "".join(lines)
        rows.append(
            {
                "file": file,
                "evaluator": name,
                "signature": signatures.get(name, ""),
                "iteration": iteration,
                "n_labels": len(written),
                "n_left_out": int((filled & blank).sum()),
            }
        )
    return {**files, MANIFEST: pd.DataFrame(rows)} if rows else {}


def _slug(text: str, keep: str = "") -> str:
    return re.sub(rf"[^\w.{re.escape(keep)}-]+", "-", text).strip("-") or "judge"
