"""Figure → the bytes of a PNG, SVG or PDF file, by vl-convert: no browser, no network."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import needed

if TYPE_CHECKING:
    from metaeval.engine.figure import Figure

FIGURE_FORMATS: tuple[str, ...] = ("png", "svg", "pdf")

PAPER = {"column": 84 * 72.27 / 25.4, "text": 178 * 72.27 / 25.4}
"""Points of a column and of the text of a paper in two columns, as ACM and IEEE set it: 84 and 178 mm."""
_SHRUNK = 0.7  # of a chart on paper: its type of 10 and 11 pixels comes out at 7 and 7.7 points
_TYPE = 11  # pixels
_ON_PAPER: Mapping[str, Mapping[str, Any]] = {
    "axis": {"labelFontSize": _TYPE, "titleFontSize": _TYPE},
    "legend": {"labelFontSize": _TYPE, "titleFontSize": _TYPE},
    "header": {"labelFontSize": _TYPE, "titleFontSize": _TYPE},
}
_TRIES, _NARROWEST, _WIDEST, _NEAR = 12, 0.1, 4.0, 0.01  # factors of the width of panels
_PANEL = 170  # pixels that a panel, or a column of a legend, has at least
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)" viewBox="[^"]*"')

_IDS = re.compile(r'(id="|url\(#|href="#)([a-zA-Z_-]+)(\d+)')


def draw(
    figure: Figure,
    suffix: str,
    chosen: Mapping[str, str] | None = None,
    *,
    scale: float = 2.0,
    bare: bool = False,
    width: float | None = None,
) -> bytes:
    """Return a file of a figure.

    The same figure gives the same bytes as PNG and SVG; in a PDF the library orders fonts and resources again
    each time, which is not to be seen. ``chosen`` are values (column → value) of the figure's choices,
    ``scale`` the pixels of a PNG for each of the chart's, and a ``bare`` figure is without title and caption.
    One of a ``width`` on paper, in points, is bare, and its type has 7 to 8 points.
    `MissingExtraError` is raised if vl-convert is not installed, `MetaevalError` if a value is not to be
    chosen from.
    """
    convert = check_drawing()
    if width is not None:
        svg = _on_paper(convert, figure.spec(chosen, bare=True), width * 72 / 72.27)
        if suffix == "svg":
            return svg.encode()
        made: bytes = convert.svg_to_pdf(svg) if suffix == "pdf" else convert.svg_to_png(svg, scale=scale)
        return made
    spec = figure.spec(chosen, bare=bare)
    # Nothing may be loaded from anywhere; no chart names an address, and none could be reached.
    closed: dict[str, Any] = {"allowed_base_urls": []}
    if suffix == "png":
        png: bytes = convert.vegalite_to_png(spec, scale=scale, **closed)
        return png
    if suffix == "pdf":
        pdf: bytes = convert.vegalite_to_pdf(spec, **closed)
        return pdf
    return _renumbered(convert.vegalite_to_svg(spec, **closed)).encode()


def _on_paper(convert: Any, spec: Mapping[str, Any], points: float) -> str:  # noqa: ANN401 - as below
    """Return the SVG of a chart that is so many points wide, 72 in an inch.

    It is laid out with its own type in a place that is larger by 1 / `_SHRUNK`, its panels narrowed or
    widened until it has that width, and shrunk as a whole.
    """
    room = points / _SHRUNK
    beside = max(1, int(room / _PANEL))
    limits = {"axis": {"labelLimit": 0.4 * room}, "legend": {"labelLimit": 0.5 * room}}
    config = {**spec["config"]}
    for part, look in _ON_PAPER.items():
        config[part] = {**config[part], **look, **limits.get(part, {})}
    low, by, high, tried = _NARROWEST, 1.0, _WIDEST, (0.0, 0.0)
    for _ in range(_TRIES):
        svg = convert.vegalite_to_svg({**_widened(spec, by, beside), "config": config}, allowed_base_urls=[])
        wide, tall = map(float, _SIZE.findall(svg)[0])
        if abs(wide - room) < 1 or high - low < _NEAR:
            break
        low, high = (by, high) if wide < room else (low, by)
        slope = (wide - tried[1]) / (by - tried[0])
        tried = (by, wide)
        by += (room - wide) / slope if slope > 0 else math.inf
        by = by if low < by < high else (low + high) / 2
    shrunk = min(_SHRUNK, points / wide)
    size = f'width="{shrunk * wide:.2f}" height="{shrunk * tall:.2f}" viewBox="0 0 {wide:g} {tall:g}"'
    return _renumbered(_SIZE.sub(size, svg, count=1))


def _widened(chart: Any, by: float, beside: int) -> Any:  # noqa: ANN401 - JSON
    """Return a chart of wider panels, steps and bars, so many of a list ``beside`` each other."""
    if isinstance(chart, list):
        return [_widened(one, by, beside) for one in chart]
    if not isinstance(chart, dict):
        return chart
    wider = {k: v if k == "data" else _widened(v, by, beside) for k, v in chart.items()}
    if "columns" in chart:  # of a legend, or of panels
        wider["columns"] = min(chart["columns"], beside)
    for place, name in ((wider, "width"), (wider.get("width"), "step"), (wider.get("header"), "labelLimit")):
        if isinstance(place, dict) and isinstance(place.get(name), int | float):
            place[name] *= by
    return wider


def check_drawing() -> Any:  # noqa: ANN401 - a module without types
    """Return the library that draws; raise `MissingExtraError` if it is not there."""
    return needed("vl_convert", "drawing figures", "figures")


def _renumbered(svg: str) -> str:
    """Give the ids of an SVG numbers from 0 on; vl-convert counts on from one figure to the next."""
    known: dict[tuple[str, str], str] = {}

    def number(match: re.Match[str]) -> str:
        before, name, _ = match.groups()
        return before + known.setdefault((name, match[3]), f"{name}{len(known)}")

    return _IDS.sub(number, svg)
