"""Overviews: the evaluators of a kind of study, and the content of a data set."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any

import pandas as pd

from metaeval.base.counts import graphemes, plural_of
from metaeval.base.errors import FOREIGN, MetaevalError
from metaeval.base.plugins import Plugin, clash, plugins
from metaeval.base.records import DataOfKind, Status
from metaeval.base.simulation import Simulation
from metaeval.data.folder import folder_of, kind_of
from metaeval.engine.drilldown import UnitColumn, UnitText
from metaeval.engine.sheet import Column, Form, Sheet
from metaeval.judging.unit_judge import UnitJudge
from metaeval.kinds.index import KINDS, kind_named
from metaeval.kinds.kind import Factory, StudyKind
from metaeval.kinds.reading import load
from metaeval.kinds.registry import COMMON

_FEW = 2  # optional arguments that are shown, not left to an ellipsis


def evaluators_sheet(kind: str | None = None, data: str | os.PathLike[str] | None = None) -> Sheet:
    """Return the evaluators of a kind of study, or of every kind: specs, what they do, and what they need.

    Of a data set, raters and recorded evaluators are its own, and the others are tried on its first units.
    """
    loaded = None
    if data is not None:
        loaded, own = _loaded(data)
        if kind not in (None, own):
            raise MetaevalError(f"{data} is a data set of kind {own!r}, not {kind!r}; leave --kind out")
        kind = own
    kinds = [kind_named(name) for name in ([kind] if kind else KINDS)]
    known = {name for one in kinds for name in (*COMMON, *one.evaluators)}
    offered = plugins(COMMON.group)
    columns = [Column("evaluator", "evaluator"), Column("does", "what it does"), Column("needs", "needs")]
    return Sheet(
        "evaluators",
        "Evaluators",
        pd.DataFrame([row for one in _listed(kinds, known) for row in _rows(*one, loaded)]),
        (*columns, *([Column("on", f"on {loaded.name}")] if loaded is not None else [])),
        (
            "An ellipsis stands for further arguments; the reference of evaluators has them.",
            *(clash(plugin) for name, plugin in offered.items() if name in known),
        ),
        heads="of",
    )


def _loaded(place: str | os.PathLike[str]) -> tuple[DataOfKind, str]:
    """Return a data set and the name of its kind."""
    return load(place), str(kind_of(folder_of(place)))


def _listed(kinds: list[StudyKind], known: set[str]) -> Iterator[tuple[str, str, Factory | str | Plugin]]:
    """Yield a heading, a name and what makes the evaluator, or where that is."""
    for kind in kinds:
        own = {name: made for name, made in kind.evaluators.items() if COMMON.get(name) is not made}
        yield from ((kind.name, name, own[name]) for name in sorted(own))
    replaced = kinds[0].evaluators if len(kinds) == 1 else {}
    for name in sorted(COMMON):
        if replaced.get(name, COMMON[name]) is COMMON[name]:
            yield "every kind of study", name, COMMON[name]
    for name, plugin in plugins(COMMON.group).items():
        if name not in known:
            yield f"package {plugin.package}", name, plugin


def _rows(
    of: str, name: str, maker: Factory | str | Plugin, data: DataOfKind | None
) -> Iterator[dict[str, str | None]]:
    row: dict[str, str | None] = {"of": of, "evaluator": name, "does": "", "needs": None}
    try:
        found: Any = maker.load(object, "") if isinstance(maker, Plugin) else maker
        factory = COMMON.loaded(found)
    except MetaevalError as error:
        yield row | {"does": str(error), "on": None}
        return
    summary = (inspect.getdoc(factory) or "").split("\n\n")[0]
    row["does"] = " ".join(summary.replace("`", "").split()).rstrip(".")
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
    arguments = [f"{'*' if p.kind is p.VAR_POSITIONAL else ''}{p.name}" for p in needed]
    if len(options) <= _FEW:
        return f"{name}({', '.join([*arguments, *(f'{p.name}={p.default!r}' for p in options)])})"
    return f"{name}({', '.join([*arguments, '…'])})"


def _needed(signature: inspect.Signature) -> list[inspect.Parameter]:
    parameters = signature.parameters.values()
    return [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]


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
    except FOREIGN as error:  # one of a package, made for another kind of study
        return f"no: {type(error).__name__}: {error}"
    return "yes"


def data_sheets(place: str | os.PathLike[str]) -> list[Sheet]:
    """Return what a data set holds: counts, aspects, raters, texts, recorded scores, and its first unit."""
    data, name = _loaded(place)
    kind = kind_named(name)
    scores = pd.DataFrame(columns=["evaluator", "aspect", "score"]) if data.scores is None else data.scores
    words = [a for a in ("", *data.aspects) if data.scale.of(a).labels]  # of which there is no mean
    ratings, scores = (
        frame.dropna(subset=value).assign(number=frame[value].mask(frame["aspect"].isin(words)))
        for frame, value in ((data.ratings, "rating"), (scores, "score"))
    )
    facts = {"name": data.name, "kind": name, "licence": data.licence, "source": data.source}
    facts |= {"language": data.language} | {plural_of(what): f"{n:,}" for what, n in data.counts.items()}
    aspects = _spread(ratings, "aspect", list(data.aspects))
    aspects.insert(1, "statement", aspects["aspect"].map(data.aspects))
    aspects.insert(2, "scale", str(data.scale))
    texts = kind.unit_view(data, tuple(data.aspects)).texts
    lengths = {t.title: pd.Series([graphemes(x) for x in t.texts if isinstance(x, str)]) for t in texts}
    rows = [
        {"text": title, "units": len(n), "median": n.median(), "longest": n.max()}
        for title, n in lengths.items()
        if len(n)
    ]
    sheets = [
        _sheet("data", "Data set", pd.DataFrame(facts.items(), columns=["what", "value"])),
        _sheet("aspects", "Aspects", aspects),
        _sheet("raters", "Raters", _spread(ratings, "rater")),
        _sheet("recorded", "Recorded scores", _spread(scores, "evaluator")),
        _sheet("texts", "Texts, in characters", pd.DataFrame(rows)),
        _sheet("unit", "The first unit, and what a judge is told of it", _first(data, kind)),
    ]
    first, *others = (sheet for sheet in sheets if len(sheet.frame))
    return [replace(first, simulated=Simulation(data.simulated)), *others]


def _sheet(name: str, title: str, frame: pd.DataFrame) -> Sheet:
    forms: dict[str, Form] = dict.fromkeys(("n", "units", "median", "longest"), "count")
    forms |= dict.fromkeys(("mean", "least", "greatest"), "hundredths")
    return Sheet(name, title, frame, tuple(Column(str(c), str(c), forms.get(str(c), "text")) for c in frame))


def _spread(frame: pd.DataFrame, by: str, order: list[str] | None = None) -> pd.DataFrame:
    """Return how many values there are by one column, and the mean and the ends of numbers."""
    numbers = frame.groupby(by, sort=order is None, observed=True)["number"]
    spread = numbers.agg(n="size", mean="mean", least="min", greatest="max").reindex(order)
    return pd.DataFrame(spread).assign(n=spread["n"].fillna(0).astype(int)).reset_index()


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
            unit_judge, aspects = judge("simulated/any"), tuple(data.aspects)
            try:
                messages = unit_judge.messages(data, 0, aspects, unit_judge.shown(data, aspects))
            except MetaevalError:
                continue  # it cannot judge these data
            if not isinstance(messages, Status):
                rows += [(f"{role} message", text) for role, text in messages]
            break
    return pd.DataFrame(rows, columns=columns)
