"""A data set of any kind in a folder, opened for a person to label its units on a page in a browser."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pandas as pd

from metaeval.base.errors import DataError, MetaevalError, one_of
from metaeval.base.records import FIRST, SECOND, DataOfKind
from metaeval.data.folder import kind_of, set_in
from metaeval.kinds.explanations.judge.prompt import check_rubric
from metaeval.kinds.index import kind_named
from metaeval.llm.prompts.file import Rubric
from metaeval.llm.prompts.template import load_prompt
from metaeval.reports import template
from metaeval.reports.sheets import sheet_to_csv, sheet_to_html
from metaeval.runs.server import REFUSED, LocalServer, Page, new_secret
from metaeval.trust.escalation import PERSON
from metaeval.trust.label_plan import LabelPlan
from metaeval.trust.labelling.golden import keys_of, ticket
from metaeval.trust.labelling.label_session import LabelSession
from metaeval.trust.labelling.raters import raters_sheet, right_labels

RATERS = "raters.csv"
"""The file with the rows of the page on all raters."""


def label_set(
    folder: str | os.PathLike[str],
    *,
    rater: str,
    aspects: Sequence[str] = (),
    rubric: str | None = None,
    pairs: bool = False,
    only: str | os.PathLike[str] | None = None,
    part: tuple[int, int, int] = (0, 1, 1),
) -> LabelSession:
    """Open the data set in a folder: its labels go into a table of its own.

    Units come in an order that says nothing of them, and is the same for every rater. The options are those
    of `metaeval golden label`; ``only`` is a table of units, in the order of showing, as of `units_of_route`.
    If it is a plan, the session ends when the question is decided. ``part`` is the position of the rater, the
    number of raters, and how many of them label each unit; unit i goes to raters i, i + 1, ….
    """
    place = set_in(folder)
    if not place.is_dir():
        raise DataError(f"there is no folder {str(place)!r}; labels are written into that of the data set")
    kind = kind_named(kind_of(place))
    data = kind.load(place.resolve())
    if pairs:
        if rubric is not None:
            raise DataError(
                "the anchors of --rubric are for single texts; leave it out, or leave --pairs out"
            )
        kind, data = kind.of_pairs(data)
    if kind.labels.people and not kind.labels.is_in(place):
        raise DataError(
            f"{folder} has no table {kind.labels.name!r} for people's labels; another table is named in the "
            f"code of the kind {kind.name!r}, as `labels`"
        )
    for aspect in aspects:
        one_of(aspect, data.aspects, "there is no aspect", "allowed", error=DataError)
    data.scale.check_numbers(aspects or data.aspects, "page to label them on")
    right = {} if pairs else right_labels(place, data, kind.labels)
    own = [k for k in data.keys if k != kind.labels.showing]
    unshown = {key: tuple(dict(zip(data.keys, key, strict=True))[k] for k in own) for key in keys_of(data)}
    order = sorted(unshown, key=lambda key: ticket("order", unshown[key]))
    units = dict.fromkeys(order, tuple(aspects or data.aspects))
    plan = None
    if only is not None:
        units = units_of_route(only, data, units)
        plan = LabelPlan.read(Path(only))
    position, raters, overlap = part
    places = {unit: i for i, unit in enumerate(dict.fromkeys(unshown[key] for key in units))}
    every = {name[:-1] for name in right}  # attention items are for all raters
    units = {
        k: asked
        for k, asked in units.items()
        if k in every or (position - places[unshown[k]]) % raters < overlap
    }
    shown = _rubric_of(rubric, data, tuple(aspects or data.aspects))
    return LabelSession(
        *(kind, data, place, kind.labels), rater=rater, units=units, rubric=shown, plan=plan, right=right
    )


def label_sets(
    folder: str | os.PathLike[str],
    raters: Sequence[str],
    *,
    overlap: int | None = None,
    **options: Any,  # noqa: ANN401 - those of `label_set`
) -> list[LabelSession]:
    """Open the data set in a folder for several raters; each unit goes to ``overlap`` of them, or to all.

    The options are those of `label_set`. The same raters, in the same order, have the same units again.
    """
    n = len(raters)
    if len(set(raters)) < n:
        raise DataError("each --rater must have another name")
    if overlap is not None and overlap > n:
        raise DataError(f"--overlap {overlap} is for {overlap} people or more; name each with a --rater")
    parts = ((at, n, overlap or n) for at in range(n))
    return [label_set(folder, rater=r, part=p, **options) for r, p in zip(raters, parts, strict=True)]


def units_of_route(
    path: str | os.PathLike[str], data: DataOfKind, units: Mapping[tuple[str, ...], Sequence[str]]
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the units, with their aspects, that a table sends to a person, such as route.csv of a run.

    It has the key columns, and maybe ``aspect``, and ``route``: rows for anybody but `PERSON` are left out. A
    table of pairs may leave out in which ``order`` they are shown.
    """
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (ValueError, pd.errors.ParserError) as error:
        raise DataError(f"{path} is not a CSV file: {error}") from None
    shown = "order" in frame and frame["order"].isin([FIRST, SECOND]).all()  # that of a plan is a number
    keys = [key for key in data.keys if shown or key != "order"]
    if lacking := [key for key in keys if key not in frame]:
        raise DataError(f"{path} has no column {lacking[0]!r}; it needs {', '.join(data.keys)}")
    if "route" in frame:
        frame = frame[frame["route"] == PERSON]
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    aspect = frame["aspect"] if "aspect" in frame else [None] * len(frame)
    at = [data.keys.index(key) for key in keys]
    showings: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for unit in units:
        showings.setdefault(tuple(unit[i] for i in at), []).append(unit)
    for named, name in zip(zip(*(frame[k] for k in keys), strict=True), aspect, strict=True):
        for key in showings.get(named, ()):
            if asked := [a for a in units[key] if name in (None, a)]:
                found[key] = tuple(dict.fromkeys((*found.get(key, ()), *asked)))
    if not found:
        raise DataError(f"{path} sends no unit of the data set {data.name!r} to a person")
    return found


def _rubric_of(prompt: str | None, data: DataOfKind, aspects: Sequence[str]) -> Rubric | None:
    """Return the rubric of a prompt, which must have a dimension of the name of every aspect."""
    if prompt is None:
        return None
    template = load_prompt(prompt)
    if template.rubric is None:
        raise DataError(f"the prompt {template.name!r} has no rubric; give one with `dimensions`")
    check_rubric(template, template.rubric, data, aspects)
    return template.rubric


def label_units(
    *sessions: LabelSession,
    browser: bool = True,
    ready: Callable[..., object] = print,
    **served: Any,  # noqa: ANN401 - those of `label_server`
) -> None:
    """Let people label units in a browser until it is interrupted (Ctrl-C).

    Each address has a token, without which nothing is shown or changed. ``browser`` is that of
    `metaeval.runs.site.view_runs`; ``ready`` is called with the addresses of the sessions, and ``overview``,
    that of the page on all raters, for whoever owns the set. With several, no browser is opened, as each
    address is for another person.
    """
    with ExitStack() as closing:
        for session in sessions:
            closing.callback(session.close)
        with label_server(*sessions, **served) as server:
            *pages, overview = server.addresses
            one = len(sessions) == 1
            server.show(browser=browser and one, ready=lambda _: ready(*pages, overview=overview))


def label_server(*sessions: LabelSession, **served: Any) -> LocalServer:  # noqa: ANN401 - of `LocalServer`
    """Return a server of a page per session, each with a secret of its own, and of what it posts.

    The last page, with another secret, is on all raters; nothing is posted to it.

    ``served`` are the port, host and certificate of `LocalServer`.
    """
    pages = {new_secret(): _page_of(session) for session in sessions}
    shown = {secret: page for secret, (page, _) in pages.items()}
    shown[new_secret()] = _overview_of(sessions)
    return LocalServer(shown, post={secret: post for secret, (_, post) in pages.items()}, **served)


def _overview_of(sessions: Sequence[LabelSession]) -> Callable[[str], Page]:
    """Return what shows how far all raters are, as a page and as a table to keep."""

    def page(path: str) -> Page:
        if path == f"/{RATERS}":
            return Page(sheet_to_csv(raters_sheet(sessions)).encode(), "text/csv; charset=utf-8")
        if path != "/":
            return REFUSED
        table = sheet_to_html(raters_sheet(sessions))
        return Page.of(template("raters.html").render(name=sessions[0].data.name, table=table, file=RATERS))

    return page


def _page_of(session: LabelSession) -> tuple[Callable[[str], Page], Callable[[bytes], Page]]:
    """Return what shows the page of a session, and what answers its posts."""

    def page(path: str) -> Page:
        if path != "/":
            return REFUSED
        return Page.of(template("label.html").render(name=session.data.name, session=session))

    def post(body: bytes) -> Page:
        """Do what the page asks for; answer with what it shows next, or why it cannot be done."""
        try:
            request = json.loads(body)
            if not isinstance(request, dict):
                raise DataError("the request must be a JSON object")
            answer, status = session.answer(request), HTTPStatus.OK
        except (MetaevalError, OSError, ValueError, RecursionError) as error:
            answer, status = {"error": str(error)}, HTTPStatus.BAD_REQUEST
        return Page(json.dumps(answer, allow_nan=False).encode(), "application/json", status=status)

    return page, post
