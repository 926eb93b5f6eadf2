"""Payloads made up for tests of the page: the shape of a real one, numbers drawn at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from metaeval.base.simulation import REAL, Simulation

ASPECTS = ["persuasiveness", "transparency", "accuracy"]
LEVELS = ["dataset", "user", "pair"]
COEFFICIENTS = ["pearson", "kendall"]
STATUSES = ["ok", "missing", "refused", "unparsed"]
GENERATORS = ["peer", "template", "llm"]
KINDS = {
    "baseline": "Baselines",
    "reference-based": "Reference-based",
    "annotator": "Annotators",
    "judge": "Judges",
}
TITLES = {"user_id": "user", "item_id": "item", "generator": "generator", "item_title": "title"}
WORDS = (
    "calm",
    "story",
    "you",
    "may",
    "like",
    "this",
    "film",
    "because",
    "its",
    "music",
    "resembles",
    "many",
)


def kind_of(evaluator: int) -> str:
    return list(KINDS)[evaluator % len(KINDS)]


def payload(
    units: int = 120,
    evaluators: int = 8,
    *,
    texts: Mapping[int, str] | None = None,
    names: Mapping[int, str] | None = None,
    failing: Sequence[int] = (),
    users: bool = True,
    simulated: Simulation = REAL,
) -> dict[str, Any]:
    """Return what a page shows.

    ``texts`` and ``names`` replace explanations and evaluators; a ``failing`` evaluator has no score at all.
    Every fourth evaluator is a judge; all aspects of a unit come from one reply of it.
    """
    rng = np.random.default_rng(0)
    keys = ["user_id", "item_id", "generator"] if users else ["item_id", "generator"]
    columns = _columns(units, keys)
    named = [(names or {}).get(e) or f"{kind_of(e).capitalize()}(n={e})" for e in range(evaluators)]
    views = [*ASPECTS, "average"]
    levels = LEVELS if users else ["dataset", "item"]
    return {
        "title": "Evaluators of made-up explanations",
        "answer": _answer(named),
        "metaeval": "0.1.0",
        "dataset": {"name": "made up", "units": units, "clusters": "12 users"},
        "simulated": {"loud": simulated.loud, "sentence": simulated.sentence},
        "truth": "User()",
        "facts": [["Licence", "CC0"], ["Fingerprint of the data", "0123abcd" * 8]],
        "glossary": [["truth", "people's ratings"]],
        "words": [["level", "user: the mean of the coefficients within each user"], ["duel", "two slates"]],
        "board": {
            "dimensions": [
                _dimension(
                    "aspect", {a: a for a in ASPECTS} | {"average": "average over aspects"}, "average"
                ),
                _dimension("level", {level: f"{level} level" for level in levels}, levels[1]),
                _dimension("coefficient", {"pearson": "Pearson's r", "kendall": "Kendall's τ-b"}, "pearson"),
            ],
            "columns": ["aspect", "level"],
            "estimate": "{coefficient}",
            "relation": "with the truth",
            "noun": "coefficient",
            "second": None,
            "form": "hundred",
            "higherIsBetter": True,
            "counts": [
                {"name": "n_undefined", "title": "undefined groups"},
                {"name": "n_missing", "title": "missing scores"},
            ],
        },
        "policy": ["Missing ratings are filled with 3.", "Undefined groups are skipped."],
        "lost": [],
        "evaluators": [_evaluator(e, name, units, e in failing) for e, name in enumerate(named)],
        "cells": _cells(rng, evaluators, len(views), len(levels), failing),
        "tests": [_tests(evaluators, [len(ASPECTS), 1, 0], failing)],
        "people": [
            {"label": f"annotator {i}", "at": list(at), "estimate": 0.3 + 0.1 * i}
            for i in (1, 2)
            for at in np.ndindex(len(views), len(levels), len(COEFFICIENTS))
        ],
        "costs": [
            _cost(
                "usd",
                "usd",
                [0.00123 * (e + 1) if kind_of(e) == "judge" else None for e in range(evaluators)],
            ),
            _cost("tokens", "number", [812.5 if kind_of(e) == "judge" else None for e in range(evaluators)]),
        ],
        "groups": [_groups(rng, level, columns, evaluators, failing) for level in levels[1:]],
        "units": _units(rng, units, keys, columns, texts or {}, evaluators, failing),
        "calls": _calls(rng, units, evaluators, failing),
        "figures": [_figure(named)],
        "sheets": [
            {
                "view": "details",
                "name": "people",
                "title": "What people reach",
                "notes": ["Pearson × 100."],
                "columns": [
                    {"title": "Annotator", "form": "text"},
                    {"title": "user level", "form": "hundred"},
                ],
                "rows": [["1", "15.16"], ["2", "16.80 [12.30, 21.16]"], [named[-1], "0.00"]],
            }
        ],
    }


def _dimension(name: str, words: Mapping[str, str], first: str) -> dict[str, Any]:
    values = [{"name": value, "words": said} for value, said in words.items()]
    return {
        "name": name,
        "title": name,
        "plural": f"{name}s",
        "first": first,
        "lower": [],
        "chance": {},
        "values": values,
    }


def _cost(name: str, form: str, values: Sequence[float | None]) -> dict[str, Any]:
    title = f"{name.upper() if name == 'usd' else name} /\u00a0text"
    return {"name": name, "title": title, "form": form, "values": values}


def _coded(values: Any) -> dict[str, list[Any]]:
    known = ~np.isnan(values)
    distinct, codes = np.unique(values[known], return_inverse=True)
    places = np.full(len(values), -1)
    places[known] = codes
    return {"values": distinct.tolist(), "codes": places.tolist()}


def _columns(units: int, keys: Sequence[str]) -> dict[str, Any]:
    place = np.arange(units)
    pairs = place // len(GENERATORS)
    users = max(1, units // 65)
    codes = {"user_id": pairs % users, "item_id": pairs, "generator": place % len(GENERATORS)}
    found = {}
    for key in keys:
        distinct = range(int(codes[key].max()) + 1)
        values = GENERATORS[: len(distinct)] if key == "generator" else [f"{key[0]}{i}" for i in distinct]
        found[key] = {"values": values, "codes": codes[key].tolist()}
    titles = [f"The film number {i}" for i in range(int(pairs.max()) + 1)]
    return {**found, "item_title": {"values": titles, "codes": pairs.tolist()}}


def _answer(named: Sequence[str]) -> dict[str, Any]:
    trust = "run `metaeval calibrate` before trusting it"
    judges = {name: {"label": name, "words": trust} for e, name in enumerate(named) if kind_of(e) == "judge"}
    said = f"Of {len(named)} tools, {named[0]} agrees best with the users (Pearson's r × 100 = 50.00)."
    return {"sentences": [said], "judges": judges, "lines": [said, *(f"{name}: {trust}." for name in judges)]}


def _evaluator(e: int, name: str, units: int, failing: bool) -> dict[str, Any]:
    kind, total = kind_of(e), units * len(ASPECTS)
    judge = kind == "judge"
    unparsed = total if failing else len(range(e, units, 50)) * len(ASPECTS) * judge
    return {
        "name": name,
        "label": name,
        "spec": name,
        "kind": kind,
        "kindTitle": KINDS[kind],
        "simulated": judge,
        "onScale": kind in {"annotator", "judge"},
        "statuses": {"ok": total - unparsed, "unparsed": unparsed},
        "signature": {"spec": name, "library": "made up 1.0"},
    }


def _cells(rng: Any, *sizes: Any) -> dict[str, list[Any]]:
    evaluators, aspects, levels, failing = sizes
    places = np.array(list(np.ndindex(evaluators, aspects, levels, len(COEFFICIENTS)))).T
    estimate = rng.uniform(-0.1, 0.6, places.shape[1]).round(5)
    found = {
        "evaluator": places[0].tolist(),
        "at": places[1:].tolist(),
        "estimate": estimate.tolist(),
        "low": (estimate - 0.07).round(5).tolist(),
        "high": (estimate + 0.05).round(5).tolist(),
    }
    for i in np.flatnonzero(np.isin(places[0], list(failing))):
        for name in ("estimate", "low", "high"):
            found[name][i] = None
    return found | {"counts": [[value] * len(estimate) for value in (2, 1)]}


def _tests(evaluators: int, at: Sequence[int], failing: Sequence[int]) -> dict[str, Any]:
    known = [e for e in range(evaluators) if e not in failing] or [0]
    return {
        "at": at,
        "range": [f"{1 + e // 3}–{evaluators}" if e in known else "" for e in range(evaluators)],
        "mayBeBest": [e < 3 if e in known else None for e in range(evaluators)],
        "pBest": [(0.2 if e < 3 else 0.0004) if e in known else None for e in range(evaluators)],
        "better": [e % 2 == 0 if e in known[1:] else None for e in range(evaluators)],
        **{
            name: [value if e in known[1:] else None for e in range(evaluators)]
            for name, value in (("difference", -0.1), ("difference_low", -0.25), ("difference_high", 0.05))
        },
        "pAgainstBest": [0.04 if e in known[1:] else None for e in range(evaluators)],
        "pairs": {
            name: [value if {*pair} <= {*known} else None for pair in combinations(range(evaluators), 2)]
            for name, value in (("difference", -0.1), ("half", 0.15), ("p", 0.04), ("all", 0.2))
        },
        "best": known[0],
        "baseline": "Random",
        "alpha": 0.05,
        "refused": "",
        "sentence": "A rank range is one. p: two-sided paired permutation tests.",
    }


def _groups(
    rng: Any, level: str, columns: Mapping[str, Any], evaluators: int, failing: Sequence[int]
) -> dict[str, Any]:
    keys = {"user": ["user_id"], "item": ["item_id"], "pair": ["user_id", "item_id"]}[level]
    rows = list(zip(*([columns[k]["values"][c] for c in columns[k]["codes"]] for k in keys), strict=True))
    sizes = Counter(rows)
    ids = sorted(sizes)

    def column(title: str, form: str, dimensions: Mapping[str, int], known: Sequence[int]) -> dict[str, Any]:
        drawn = rng.uniform(-1, 1, (evaluators, *dimensions.values(), len(ids))).round(4).astype(object)
        drawn[..., 1::7] = None
        return {
            "title": title,
            "form": form,
            "hint": "",
            "dimensions": list(dimensions),
            "of": [drawn[e].tolist() if e in known else None for e in range(evaluators)],
        }

    aspects = {"aspect": len(ASPECTS) + 1}
    there = [e for e in range(evaluators) if e not in failing]
    on_scale = [e for e in there if kind_of(e) in {"annotator", "judge"}]

    return {
        "name": level,
        "title": {"pair": "user and item"}.get(level, level),
        "noun": f"{level}s",
        "keys": keys,
        "ids": [list(i) for i in ids],
        "units": [sizes[i] for i in ids],
        "columns": [
            column("{coefficient}", "hundred", {**aspects, "coefficient": len(COEFFICIENTS)}, there),
            column("score − truth", "hundredths", aspects, on_scale),
        ],
        "at": {"level": level},
        "undefined": "truth or scores are constant in each",
        "total": len(ids),
        "note": "",
    }


def _units(
    rng: Any,
    units: int,
    keys: Sequence[str],
    columns: Mapping[str, Any],
    texts: Mapping[int, str],
    evaluators: int,
    failing: Sequence[int],
) -> dict[str, Any]:
    written = [texts.get(u) or f"Text {u}: {' '.join(rng.choice(WORDS, 25))}." for u in range(units)]
    references = ["In the user's own words."]
    truth = rng.integers(1, 6, (len(ASPECTS), units)).astype(float)
    truth[0, 3::40] = np.nan
    scores, statuses = [], []
    for e in range(evaluators):
        given = rng.integers(1, 6, (len(ASPECTS), units)).astype(float)
        if kind_of(e) == "reference-based":
            given = rng.uniform(0, 100, given.shape).round(3)
        none = np.arange(units) % 50 == e if kind_of(e) == "judge" else np.zeros(units, dtype=bool)
        given[:, none | (e in failing)] = np.nan
        at = np.flatnonzero(np.isnan(given[0])).tolist()
        scores.append([_coded(row) for row in given])
        statuses.append([{"unit": at, "status": [STATUSES.index("unparsed")] * len(at)} for _ in ASPECTS])
    return {
        "total": units,
        "shown": units,
        "note": "",
        "columns": [
            {"name": c, "title": TITLES[c], "key": c in keys, **columns[c]} for c in ("item_title", *keys)
        ],
        "heading": "item_title",
        "compared": "generator",
        "parts": [
            {"title": "explanation", "texts": list(range(units))},
            {"title": "reference", "texts": [units] * units},
        ],
        "texts": written + references,
        "rated": [{"name": a, "statement": f"The explanation has {a}"} for a in ASPECTS],
        "dimension": "aspect",
        "truth": [_coded(row) for row in truth],
        "scores": scores,
        "statusNames": STATUSES,
        "statuses": statuses,
    }


def _calls(rng: Any, units: int, evaluators: int, failing: Sequence[int]) -> dict[str, Any]:
    lines = ["You rate explanations.", "Answer with numbers from 1 to 5.", "", "The explanation:"]
    replies: list[dict[str, Any]] = []
    of: list[Any] = []
    for e in range(evaluators):
        if kind_of(e) != "judge":
            of.append(None)
            continue
        first = len(replies)
        for u in range(units):
            lines.append(f"(text of unit {u} for judge {e})")
            ratings = ", ".join(f"{a}: {rng.integers(1, 6)}" for a in ASPECTS)
            replies.append(
                {
                    "key": f"{e}-{u}",
                    "prompt": [
                        {"role": "system", "lines": [0, 1]},
                        {"role": "user", "lines": [3, 2, len(lines) - 1]},
                    ],
                    "text": "" if e in failing else f"My ratings of unit {u}: {ratings}",
                    "refusal": "",
                    "finish": "stop",
                    "tokens": [812, None],
                    "seconds": 1.25,
                    "model": "made-up-1",
                    "error": "transport: no route to host" if e in failing else "",
                }
            )
        of.append([list(range(first, first + units)) for _ in ASPECTS])
    return {"lines": lines, "replies": replies, "of": of, "note": ""}


def _figure(names: Sequence[str]) -> dict[str, Any]:
    rows = [(n, a, 0.1 * i + 0.05 * j) for j, a in enumerate(ASPECTS) for i, n in enumerate(names)]
    return {
        "name": "ranking",
        "title": "Estimates by evaluator",
        "findings": {aspect: f"{names[-1]} is best for {aspect}" for aspect in ASPECTS},
        "names": {name: name for name in names},
        "units": {},
        "notes": ["Made up."],
        "spec": {
            "width": "container",
            "mark": "point",
            "encoding": {
                "x": {"field": "estimate", "type": "quantitative"},
                "y": {"field": "evaluator", "type": "nominal", "sort": "-x"},
                "color": {"field": "evaluator", "type": "nominal", "legend": None},
                "tooltip": [{"field": "evaluator"}, {"field": "estimate", "format": ".2f"}],
            },
        },
        "choices": [
            {
                "column": "aspect",
                "title": "aspect",
                "values": ASPECTS,
                "chosen": ASPECTS[0],
                "says": "",
                "words": ASPECTS,
            }
        ],
        "columns": [
            {"name": "evaluator", "title": "Evaluator", "form": "text"},
            {"name": "estimate", "title": "Estimate", "form": "hundred"},
        ],
        "rows": {
            "evaluator": [n for n, _, _ in rows],
            "aspect": [a for _, a, _ in rows],
            "estimate": [x for _, _, x in rows],
        },
    }
