"""The studies of the repository on the real data: published numbers, and the committed tables made anew."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import metaeval as me
from metaeval.sources.recexp import import_recexp
from metaeval.sources.table_import import import_table
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction", "average")
TABLE_1 = {
    "Annotator('1')": """19.88 18.31 16.72  15.66 16.18 11.31  10.16 9.78 9.77
                         14.93 13.28 12.69  15.16 14.39 12.62""",
    "Annotator('2')": """21.40 21.17 20.90  25.97 26.42 27.84  10.96 10.96 9.32
                         8.86 9.72 9.43  16.80 17.07 16.87""",
    "Mean(Annotator('1'), Annotator('2'))": """23.33 22.25 20.93  24.53 25.36 23.12  12.83 12.52 11.19
                                               13.90 13.54 13.16  18.65 18.42 17.10""",
}
"""The annotators of the paper's Table 1: for each aspect the dataset, user and pair level."""

HANNA_BLEU_RELEVANCE = {
    ("item", "kendall"): 0.13922033417177257,
    ("generator", "pearson"): 0.7988772238903901,
    ("dataset", "pearson"): 0.11242776621184697,
    ("dataset", "spearman"): 0.10409436871365678,
    ("dataset", "kendall"): 0.07377866242119939,
}


def compare(run_folder: Path, name: str) -> None:
    made = (run_folder / "leaderboard.md").read_text(encoding="utf-8").splitlines()
    kept = (ROOT / "results" / name / "leaderboard.md").read_text(encoding="utf-8").splitlines()
    assert made == kept


def test_recexp(real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    import_recexp(real_data / "recexp", "data/recexp")
    done = me.run(ROOT / "studies" / "recexp.yaml")
    pearson = done.leaderboard.tables[0]
    printed = {row.evaluator: [v.text for cell in row.cells for v in cell] for row in pearson.rows}
    assert pearson.aspects == ASPECTS
    assert pearson.levels == ("dataset", "user", "pair")
    for evaluator, published in TABLE_1.items():
        assert printed[evaluator] == published.split()
    compare(done.folder, "recexp")


def test_hanna(real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = real_data / "hanna" / "hanna_wide.csv"
    import_table(table, ROOT / "studies" / "maps" / "hanna.yaml", "data/hanna")
    done = me.run(ROOT / "studies" / "hanna.yaml")
    assert len(done.record["evaluators"]) == 92
    found = {
        (c.level, c.coefficient): c.estimate
        for c in done.correlations
        if (c.evaluator, c.aspect) == ("BLEU", "Relevance")
    }
    for key, published in HANNA_BLEU_RELEVANCE.items():
        assert math.isclose(found[key], published, rel_tol=0, abs_tol=1e-12), key
    compare(done.folder, "hanna")
