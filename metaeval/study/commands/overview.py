"""Overviews: the evaluators of a kind of study, and the content of a data set."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.base.counts import graphemes, plural_of
from metaeval.base.errors import MetaevalError
from metaeval.base.plugins import clash, plugins
from metaeval.base.records import Status
from metaeval.base.simulation import Simulation
from metaeval.engine.sheet import Column, Sheet
from metaeval.judging.unit_judge import UnitJudge
from metaeval.kinds.files.folder import folder_of, kind_of
from metaeval.kinds.files.loading import load
from metaeval.kinds.kind import KINDS, kind_named
from metaeval.kinds.registry import COMMON, GROUP

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from metaeval.base.records import DataOfKind
    from metaeval.engine.drilldown import UnitColumn, UnitText
    from metaeval.engine.sheet import Form
    from metaeval.kinds.kind import Factory, StudyKind

_ANY = "every kind of study"
_FEW = 2  # optional arguments that are shown, not left to an ellipsis


def evaluators_sheet(kind: str | None = None, place: str | os.PathLike[str] | None = None) -> Sheet:
    """Return the evaluators: their specs, what they do, and what they need.

    Parameters
    ----------
    kind
        Those of this kind of study; of every kind, if left out and no data set is given.
    place
        A data set: the raters and recorded evaluators are then its own, and those that can be tried are
        tried on its first units.

    Raises
    ------
    MetaevalError
        If there is no such kind or data set, or the data set is of another kind.
    """
    data = None
    if place is not None:
        data, own = _loaded(place)
        if kind not in (None, own):
            raise MetaevalError(f"{place} is a data set of kind {own!r}, not {kind!r}; leave --kind out")
        kind = own
    kinds = [kind_named(name) for name in ([kind] if kind else KINDS)]
    rows = [row for block in _blocks(kinds) for row in _rows(*block, data)]
    columns = [Column("evaluator", "evaluator"), Column("does", "what it does"), Column("needs", "needs")]
    if data is not None:
        columns.append(Column("on", f"on {data.name}"))
    known = {name for one in kinds for name in (*COMMON, *one.evaluators)}
    notes = [clash(plugin) for name, plugin in plugins(GROUP).items() if name in known]
    return Sheet(
        "evaluators",
        "Evaluators",
        pd.DataFrame(rows),
        tuple(columns),
        ("An ellipsis stands for further arguments; the reference of evaluators has them.", *notes),
        heads="of",
    )


def _loaded(place: str | os.PathLike[str]) -> tuple[DataOfKind, str]:
    """Return a data set and the name of its kind."""
    return load(place), str(kind_of(folder_of(place)))


def _blocks(kinds: list[StudyKind]) -> Iterator[tuple[str, Mapping[str, Callable[[], Any]]]]:
    """Yield what heads a run of evaluators, and name → what loads each."""

    def lazily(known: Mapping[str, Factory]) -> dict[str, Callable[[], Any]]:
        return {n: lambda f=f: resolve_name(f) if isinstance(f, str) else f for n, f in sorted(known.items())}  # type: ignore[misc]

    for kind in kinds:
        own = {name: f for name, f in kind.evaluators.items() if COMMON.get(name) is not f}
        yield kind.name, lazily(own)
    replaced = {name for kind in kinds for name in kind.evaluators} if len(kinds) == 1 else set()
    yield _ANY, lazily({n: f for n, f in COMMON.items() if n not in replaced or kinds[0].evaluators[n] is f})
    known = {*COMMON, *(name for kind in kinds for name in kind.evaluators)}
    for plugin in plugins(GROUP).values():
        if plugin.name not in known:
            yield f"package {plugin.package}", {plugin.name: lambda p=plugin: p.load(object, "")}  # type: ignore[misc]


def _rows(
    of: str, known: Mapping[str, Callable[[], Any]], data: DataOfKind | None
) -> Iterator[dict[str, str | None]]:
    for name, loaded in known.items():
        row: dict[str, str | None] = {"of": of, "evaluator": name, "does": "", "needs": None}
        try:
            factory = loaded()
        except MetaevalError as error:
            yield row | {"does": str(error), "on": None}
            continue
        said = (inspect.getdoc(factory) or "").split("\n\n")[0]
        row["does"] = " ".join(said.replace("`", "").split()).rstrip(".")
        row["needs"] = getattr(factory, "needs", "") or None
        own = factory.found_in(data) if data is not None and hasattr(factory, "found_in") else None
        for first in own or ():
            yield row | {"evaluator": f"{name}({first!r})", "on": "yes"}
        if not own:
            on = {} if data is None else {"on": "no: it has none" if own == [] else _tried(factory, data)}
            yield row | {"evaluator": usage(name, inspect.signature(factory))} | on


def usage(name: str, signature: inspect.Signature) -> str:
    """Return how an evaluator is written: what must be given, and the options if there are few."""
    needed = _needed(signature)
    options = [p for p in signature.parameters.values() if p not in needed]
    said = [f"{'*' if p.kind is p.VAR_POSITIONAL else ''}{p.name}" for p in needed]
    if len(options) <= _FEW:
        return f"{name}({', '.join([*said, *(f'{p.name}={p.default!r}' for p in options)])})"
    return f"{name}({', '.join([*said, '…'])})"


def _needed(signature: inspect.Signature) -> list[inspect.Parameter]:
    given = signature.parameters.values()
    return [p for p in given if p.default is p.empty and p.kind is not p.VAR_KEYWORD]


def _tried(factory: Callable[..., Any], data: DataOfKind) -> str | None:
    """Return whether an evaluator that needs no argument scores the first units of a data set, or why not."""
    if _needed(inspect.signature(factory)):
        return None
    cluster = data.units[data.cluster].unique()
    evaluator = factory()
    try:
        evaluator.score(data.without(data.cluster, list(cluster[1:])), tuple(data.aspects))
    except MetaevalError as error:
        return f"no: {str(error).removeprefix(f'{evaluator.spec}: ')}"
    except Exception as error:  # noqa: BLE001 - one of a package, made for another kind of study
        return f"no: {type(error).__name__}: {error}"
    return "yes"


def data_sheets(place: str | os.PathLike[str]) -> list[Sheet]:
    """Return what a data set holds: counts, aspects, raters, texts, recorded scores, and its first unit.

    Raises
    ------
    MetaevalError
        If it cannot be loaded.
    """
    data, name = _loaded(place)
    kind = kind_named(name)
    said = data.ratings.dropna(subset="rating")
    scores = (
        data.scores if data.scores is not None else pd.DataFrame(columns=["evaluator", "aspect", "score"])
    )
    view = kind.unit_view(data, tuple(data.aspects))
    facts = {"name": data.name, "kind": name, "licence": data.licence, "source": data.source}
    facts |= {"language": data.language}
    rows = [*facts.items(), *((plural_of(what), f"{n:,}") for what, n in data.counts.items())]
    aspects = _spread(said, "aspect", "rating", list(data.aspects))
    aspects.insert(1, "statement", aspects["aspect"].map(data.aspects))
    aspects.insert(2, "scale", str(data.scale))
    lengths = {t.title: [graphemes(x) for x in t.texts if isinstance(x, str)] for t in view.texts}
    found = [
        _sheet("data", "Data set", pd.DataFrame(rows, columns=["what", "value"])),
        _sheet("aspects", "Aspects", aspects),
        _sheet("raters", "Raters", _spread(said, "rater", "rating")),
        _sheet("recorded", "Recorded scores", _spread(scores.dropna(subset="score"), "evaluator", "score")),
        _sheet("texts", "Texts, in characters", _lengths(lengths)),
        _sheet("unit", "The first unit, and what a judge is told of it", _first(data, kind)),
    ]
    first, *others = (sheet for sheet in found if len(sheet.frame))
    return [replace(first, simulated=Simulation(data.simulated)), *others]


def _sheet(name: str, title: str, frame: pd.DataFrame) -> Sheet:
    forms: dict[str, Form] = dict.fromkeys(("n", "units", "median", "longest"), "count")
    forms |= dict.fromkeys(("mean", "least", "greatest"), "hundredths")
    return Sheet(name, title, frame, tuple(Column(str(c), str(c), forms.get(str(c), "text")) for c in frame))


def _spread(frame: pd.DataFrame, by: str, value: str, order: list[str] | None = None) -> pd.DataFrame:
    """Return how many numbers there are by one column, their mean and their ends."""
    of = frame.groupby(by, sort=order is None, observed=True)[value]
    found = of.agg(n="count", mean="mean", least="min", greatest="max").reindex(order)
    found["n"] = found["n"].fillna(0).astype(int)
    return found.reset_index()


def _lengths(of: Mapping[str, list[int]]) -> pd.DataFrame:
    rows = [
        {"text": title, "units": len(n), "median": pd.Series(n).median(), "longest": max(n)}
        for title, n in of.items()
        if n
    ]
    return pd.DataFrame(rows)


def _first(data: DataOfKind, kind: StudyKind) -> pd.DataFrame:
    """Return how the kind shows the first unit, and what its first judge of single units would send."""
    columns = ["what", "value"]
    if not len(data):
        return pd.DataFrame(columns=columns)
    view = kind.unit_view(data, ())
    parts: tuple[UnitColumn | UnitText, ...] = (*view.columns, *view.texts)
    rows = [(part.title, part.texts[0]) for part in parts if part.texts[0]]
    for factory in kind.evaluators.values():
        judge = resolve_name(factory) if isinstance(factory, str) else factory
        if isinstance(judge, type) and issubclass(judge, UnitJudge):
            asked, aspects = judge("simulated/any"), tuple(data.aspects)
            try:
                messages = asked.messages(data, 0, aspects, asked.prepared(data, aspects))
            except MetaevalError:
                continue  # it cannot judge these data
            if not isinstance(messages, Status):
                rows += [(f"{role} message", text) for role, text in messages]
            break
    return pd.DataFrame(rows, columns=columns)
