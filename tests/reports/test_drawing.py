"""Every figure of a run compiles, is drawn in each format, and shows who it is about."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from metaeval.base.simulation import REAL
from metaeval.engine.figure import Figure, figure_payload
from metaeval.kinds.explanations.figures.catalogue import CATALOGUE
from metaeval.reports.drawing import FIGURE_FORMATS, draw
from metaeval.runs.finished import open_run
from metaeval.trust.analyses import figures_of_run

convert: Any = pytest.importorskip("vl_convert", reason="pip install 'metaeval[figures]'")

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<svg", "pdf": b"%PDF-"}


@pytest.fixture(scope="module")
def figures(drawn: Path) -> dict[str, Figure]:
    return {figure.sheet.name: figure for figure in figures_of_run(open_run(drawn))}


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_it_compiles_without_a_warning(figures: dict[str, Figure], name: str, capfd: Any) -> None:
    figures[name].chart.to_dict()  # Altair checks it against the schema
    payload = figure_payload(figures[name])
    columns = payload["rows"]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for spec in (figures[name].spec(), {**payload["spec"], "datasets": {"table": rows}}):
        vega = convert.vegalite_to_vega(json.loads(json.dumps(spec, allow_nan=False)), show_warnings=True)
        assert vega["marks"]
    told = "".join(capfd.readouterr())
    assert "WARN" not in told, told


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FIGURE_FORMATS)
def test_it_is_drawn(figures: dict[str, Figure], suffix: str) -> None:
    for figure in figures.values():
        assert draw(figure, suffix, scale=0.5).startswith(MAGIC[suffix])


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_the_bytes_of_an_svg_do_not_depend_on_what_was_drawn_before(
    figures: dict[str, Figure], name: str
) -> None:
    first = draw(figures[name], "svg")
    draw(figures["distributions"], "svg")
    assert draw(figures[name], "svg") == first
    # An id is there once, and whatever refers to one finds it.
    ids = re.findall(r'\bid="([^"]+)"', first.decode())
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", first.decode())) <= set(ids)


def texts(figure: Figure, chosen: dict[str, str] | None = None) -> str:
    svg = draw(figure, "svg", chosen).decode()
    return "\n".join(unescape(re.sub(r"<[^>]+>", "\n", svg)).split("\n"))


def test_names_are_text_whatever_they_hold(figures: dict[str, Figure]) -> None:
    name = '<script>alert("1")</script> & correlation'
    for figure in figures.values():
        renamed = figure.sheet.frame.replace("zero (simulated)", name)
        sheet = replace(figure.sheet, frame=renamed)
        svg = draw(replace(figure, sheet=sheet), "svg").decode()
        assert "<script" not in svg
        if sheet.name in ("ranking", "user_bias", "likeness"):
            assert name[:30] in unescape(svg)


@pytest.mark.parametrize("name", CATALOGUE)
def test_bare_figures_have_neither_title_nor_caption(figures: dict[str, Figure], name: str) -> None:
    figure = figures[name]
    whole, bare = (unescape(draw(figure, "svg", bare=b).decode()) for b in (False, True))
    caption, loud = " ".join(figure.sheet.notes[-1].split()[:5]), figure.sheet.simulated.loud
    shown = [" ".join(re.sub("<[^>]*>", " ", svg).split()) for svg in (whole, bare)]
    assert figure.sheet.title in shown[0]
    assert figure.sheet.title not in shown[1]
    assert caption in shown[0]
    assert caption not in shown[1]
    assert loud in shown[1]
    heights = [float(svg.split('height="')[1].split('"')[0]) for svg in (whole, bare)]
    assert heights[1] < heights[0]
    real = replace(figure, sheet=replace(figure.sheet, simulated=REAL)).spec(bare=True)
    assert "title" not in {**real, **real["vconcat"][0]}
