"""Fleiss' kappa and ordinal alpha of three raters of images: 196 cells that ImagenHub's notebook prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.stats.agreement.chance import CHANCE, chance_agreement
from metaeval.stats.agreement.raters import krippendorff_alpha

OF_CELL = {
    "SC": lambda consistency, quality: consistency,
    "PR": lambda consistency, quality: quality,
    "HumanEval": lambda consistency, quality: np.sqrt(consistency * quality),
}


def printed(notebook: Path) -> dict[str, str]:
    """Return what the notebook prints of each score."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    calls = re.compile(r"print_all_kappa_results\(grab_dataframes\(\), '(\w+)'")
    return {
        found[1]: "".join("".join(out.get("text", [])) for out in cell["outputs"])
        for cell in cells
        if (found := calls.match("".join(cell["source"])))
    }


def ratings_of(folder: Path, task: str, model: str, score: str) -> np.ndarray:
    """Return the ratings of a model's images, shape (raters, images)."""
    files = sorted((folder / task).glob("*.tsv"))
    columns = [pd.read_csv(file, sep="\t")[model] for file in files]
    both = [np.array([json.loads(cell) for cell in column], dtype=float).T for column in columns]
    return np.stack([OF_CELL[score](*pair) for pair in both])


@pytest.mark.parametrize("score", OF_CELL)
def test_every_cell_of_the_notebook(score: str, real_data: Path) -> None:
    folder, n = real_data / "imagenhub", 0
    task = model = ""
    for line in printed(folder / "AnalyzeHumanEval.ipynb")[score].splitlines():
        if line.startswith("====="):
            task = line.split()[-1]
        elif line.startswith("==>"):
            model = line.removeprefix("==>").strip(" :")
        elif line.startswith(("Kappa", "Kd")):
            ratings = ratings_of(folder, task, model, score)
            if line.startswith("Kappa"):
                found = chance_agreement(ratings).at(np.ones((ratings.shape[1], 1)))[
                    CHANCE.index("fleiss"), 0
                ]
            else:
                found = krippendorff_alpha(ratings, "ordinal")
            assert found == pytest.approx(float(line.split("|")[1]), abs=0.00501, nan_ok=True), (
                task,
                model,
                line,
            )
            n += 1
    assert n >= 60
