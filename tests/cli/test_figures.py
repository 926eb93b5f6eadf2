"""``metaeval figures``, as it is typed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from metaeval.base.errors import MetaevalError, MissingExtraError, RunFolderError
from metaeval.cli.runs import figures
from metaeval.kinds.explanations.figures.catalogue import CATALOGUE


def typed(*arguments: object) -> str:
    done = CliRunner().invoke(figures, list(map(str, arguments)), obj={}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.slow
def test_every_figure_and_its_data_are_written(drawn: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    told = typed(drawn, "--out", tmp_path / "a").splitlines()
    assert told == [str(tmp_path / "a" / f"{n}.{s}") for n in CATALOGUE for s in ("svg", "csv")]
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == sorted(t.rsplit("/")[-1] for t in told)
    again = json.loads(typed(drawn, "--out", tmp_path / "b", "--json"))["files"]
    assert [(tmp_path / "a" / p.rsplit("/")[-1]).read_bytes() for p in again] == [
        (tmp_path / "b" / p.rsplit("/")[-1]).read_bytes() for p in again
    ]
    assert set(pd.read_csv(tmp_path / "a" / "ranking.csv")["level"]) == {"dataset", "user", "pair"}


@pytest.mark.slow
def test_one_figure_of_one_column_in_two_formats(drawn: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    options = ["--figure", "ranking", "--aspect", "clear", "--level", "user", "--coefficient", "kendall"]
    typed(drawn, "--out", tmp_path, "--format", "png", "--format", "pdf", "--scale", "0.5", *options)
    assert {p.name for p in tmp_path.glob("ranking.*")} == {"ranking.png", "ranking.pdf", "ranking.csv"}
    small = (tmp_path / "ranking.png").read_bytes()
    typed(drawn, "--out", tmp_path, "--format", "png", "--scale", "1", *options)
    large = (tmp_path / "ranking.png").read_bytes()
    widths = [int.from_bytes(png[16:20], "big") for png in (small, large)]
    assert widths[1] == pytest.approx(2 * widths[0], abs=2)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdftohtml") is None, reason="poppler-utils are not installed")
@pytest.mark.parametrize(("width", "points"), [("column", 238.1), ("text", 504.6), ("120mm", 340.2)])
def test_figures_of_a_paper_have_its_width_and_type_of_7_to_8_points(
    drawn: Path, tmp_path: Path, width: str, points: float
) -> None:
    pytest.importorskip("vl_convert")
    typed(drawn, "--out", tmp_path, "--width", width)
    made = sorted(tmp_path.glob("*.pdf"))
    assert [p.stem for p in made] == sorted(CATALOGUE)
    for path in made:
        zoomed = subprocess.run(
            ["pdftohtml", "-xml", "-zoom", "3", "-i", "-stdout", str(path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        sizes = {int(size) / 3 for size in re.findall(r'<fontspec [^>]*size="(\d+)"', zoomed)}
        assert sizes, path
        assert 6.6 < min(sizes) <= max(sizes) < 8.4, path
        page = re.search(r'<page [^>]*width="(\d+)"', zoomed)
        assert page is not None
        assert int(page[1]) / 3 == pytest.approx(points, abs=1), path


def test_they_go_into_the_run_folder_if_nothing_is_said(drawn: Path) -> None:
    pytest.importorskip("vl_convert")
    typed(drawn, "--figure", "cost")
    assert (drawn / "figures" / "cost.svg").is_file()
    typed(drawn, "--figure", "cost")  # the run can still be read


def test_what_is_wrong_is_said(drawn: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    with pytest.raises(MetaevalError, match="did you mean 'likeness'"):
        typed(drawn, "--figure", "likenes")
    with pytest.raises(RunFolderError, match="no run folder"):
        typed(tmp_path / "none")
    assert not (drawn / "likenes.svg").exists()


def test_the_missing_library_is_said_before_any_work(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(
        MissingExtraError, match=r"drawing figures needs .* pip install 'metaeval\[figures\]'"
    ):
        typed(drawn)
