"""Figure → the bytes of a PNG, SVG or PDF file, by vl-convert: no browser, no network."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import MissingExtraError

if TYPE_CHECKING:
    from metaeval.engine.figure import Figure

FIGURE_FORMATS: tuple[str, ...] = ("png", "svg", "pdf")

_IDS = re.compile(r'(id="|url\(#|href="#)([a-zA-Z_-]+)(\d+)')


def draw(
    figure: Figure,
    suffix: str,
    chosen: Mapping[str, str] | None = None,
    *,
    scale: float = 2.0,
    bare: bool = False,
) -> bytes:
    """Return a file of a figure.

    The same figure gives the same bytes as PNG and SVG; in a PDF the library orders fonts and resources again
    each time, which is not to be seen. ``chosen`` are values (column → value) of the figure's choices,
    ``scale`` the pixels of a PNG for each of the chart's, and a ``bare`` figure is without title and caption.
    `MissingExtraError` is raised if vl-convert is not installed, `MetaevalError` if a value is not to be
    chosen from.
    """
    convert = check_drawing()
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


def check_drawing() -> Any:  # noqa: ANN401 - a module without types
    """Return the library that draws; raise `MissingExtraError` if it is not there."""
    try:
        return importlib.import_module("vl_convert")
    except ImportError as error:
        raise MissingExtraError("drawing figures", "figures") from error


def _renumbered(svg: str) -> str:
    """Give the ids of an SVG numbers from 0 on; vl-convert counts on from one figure to the next."""
    known: dict[tuple[str, str], str] = {}

    def number(match: re.Match[str]) -> str:
        before, name, _ = match.groups()
        return before + known.setdefault((name, match[3]), f"{name}{len(known)}")

    return _IDS.sub(number, svg)
