"""What a report says, before it is put into a page: typed parts → one JSON object."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.base.records import Kind
from metaeval.base.simulation import Simulation
from metaeval.engine.board import Board, SecondEstimate
from metaeval.engine.drilldown import GroupColumn, Groups
from metaeval.engine.figure import Figure, figure_payload
from metaeval.engine.order.paired_tests import Comparisons
from metaeval.engine.order.ranking import PeopleLine, RankedCell
from metaeval.engine.order.standings import BLOCKS
from metaeval.engine.sheet import Column, Form, Sheet
from metaeval.reports.cells import cells, is_text
from metaeval.reports.report_units import Calls, Sample, Units, decimals, listed_groups, number, numbers

COSTS = (
    Column("unread", "unread", "share"),
    Column("unread_first", "unread, in\u00a0order", "share"),
    Column("unread_second", "unread, swapped", "share"),
    Column("usd_per_text", "USD /\u00a0unit", "usd"),
    Column("tokens_per_text", "tokens /\u00a0unit", "count"),
    Column("reasoning_tokens_per_text", "reasoning /\u00a0unit", "count"),
    Column("seconds_per_text", "time /\u00a0unit", "seconds"),
)
_DIGITS: Mapping[Form, int] = {"hundred": 4, "share": 4, "hundredths": 4}


@dataclass(frozen=True, slots=True, eq=False)
class ListedEvaluator:
    """An evaluator of a board."""

    name: str
    spec: str
    kind: Kind
    on_scale: bool
    """Whether its scores are on the scale of the truth."""
    statuses: Mapping[str, int]
    """How many of its scores have which status."""
    signature: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """All that a report shows of a run."""

    title: str
    answer: Mapping[str, Any]
    """What the run says to somebody who has a minute: ``sentences``, and ``judges``."""
    dataset: str
    clusters: str
    """How many of what is resampled whole it has, such as ``22 users``."""
    simulated: Simulation
    """What is: the data, or which evaluators."""
    truth: str
    version: str
    """Of metaeval."""
    facts: Sequence[tuple[str, str]]
    """On data and truth: a title and a text each."""
    glossary: Sequence[tuple[str, str]]
    """Words of every page and what they mean."""
    words: Mapping[str, str]
    """Those of the kind of study, explained where they occur."""
    policy: Sequence[str]
    """Sentences on what was done with missing values and undefined groups."""
    lost: Sequence[str]
    """Sentences on calls of judges that brought no reply."""
    evaluators: Sequence[ListedEvaluator]
    board: Board
    costs: pd.DataFrame
    ranked: Sequence[RankedCell]
    people: Sequence[PeopleLine]
    groups: Sequence[Groups]
    units: Units
    shown: Sample
    calls: Calls
    keys: Sequence[Any]
    """Of each evaluator, the keys of its calls; None for one that asks no one."""
    figures: Sequence[Figure]
    views: Mapping[str, Sequence[Sheet]]
    """Tables by the view that they stand in, such as ``details``."""

    def payload(self) -> dict[str, Any]:
        """Return the report as one JSON object, which the script of the page reads."""
        board, second = self.board, self._second
        return {
            "title": self.title,
            "answer": dict(self.answer),
            "metaeval": self.version,
            "dataset": {"name": self.dataset, "units": self.shown.total, "clusters": self.clusters},
            "simulated": {
                "loud": self.simulated.loud,
                "sentence": self.simulated.named(self.board.names).sentence,
            },
            "truth": self.truth,
            "facts": [list(fact) for fact in self.facts],
            "glossary": [list(term) for term in self.glossary if term[1]],
            "words": [list(term) for term in self.words.items()],
            "policy": list(self.policy),
            "lost": list(self.lost),
            "evaluators": [_entry(e, self.board) for e in self.evaluators],
            "board": {
                "dimensions": [
                    {
                        "name": d.name,
                        "title": d.title,
                        "plural": d.plural,
                        "first": d.first,
                        "values": [{"name": name, "words": words} for name, words in d.choices.items()],
                        "lower": list(d.lower),
                        "chance": dict(d.chance),
                    }
                    for d in board.dimensions
                ],
                "columns": list(board.columns),
                "estimate": board.estimate,
                "relation": board.relation,
                "noun": board.noun,
                "second": second and {"title": second.title, "hint": second.hint, "note": second.note},
                "form": board.form,
                "higherIsBetter": board.higher_is_better,
                "counts": [{"name": name, "title": title} for name, title in board.counts.items()],
            },
            "cells": self._cells(),
            "tests": [self._tests(ranked) for ranked in self.ranked],
            "people": [
                {"label": p.label, "at": board.codes(p.at), "estimate": number(p.estimate)}
                for p in self.people
                if not p.again
            ],
            "costs": self._costs(),
            "groups": [self._groups(g) for g in self.groups],
            "units": self.units.payload(self.shown),
            "calls": self.calls.payload(self.keys, self.shown.at),
            "figures": [figure_payload(figure) for figure in self.figures],
            "sheets": [one for view, sheets in self.views.items() for one in sheets_payload(view, sheets)],
        }

    @property
    def _names(self) -> list[str]:
        return [e.name for e in self.evaluators]

    @property
    def _second(self) -> SecondEstimate | None:
        """What stands beside the estimate, where any evaluator has it."""
        second = self.board.second
        return second if second and self.board.frame[second.name].notna().any() else None

    def _cells(self) -> dict[str, Any]:
        board, frame = self.board, self.board.frame

        def codes(column: str, names: Sequence[str]) -> list[Any]:
            return frame[column].map({name: i for i, name in enumerate(names)}).tolist()

        return {
            "evaluator": codes("evaluator", self._names),
            "at": [codes(d.name, list(d.choices)) for d in board.dimensions],
            "estimate": numbers(frame["estimate"]),
            "low": numbers(frame["ci_low"]),
            "high": numbers(frame["ci_high"]),
            "second": numbers(frame[self._second.name]) if self._second else None,
            "counts": [frame[name].tolist() for name in board.counts],
        }

    def _costs(self) -> list[dict[str, Any]]:
        costs = self.costs.set_index("evaluator").reindex(self._names) if len(self.costs) else self.costs
        return [
            {"name": c.name, "title": c.title, "form": c.form, "values": numbers(costs[c.name])}
            for c in COSTS
            if c.name in costs and costs[c.name].notna().any()
        ]

    def _tests(self, ranked: RankedCell) -> dict[str, Any]:
        best, *_ = ranked.ranking.frame["evaluator"]
        rows, ranks = ranked.ranking.frame.set_index("evaluator").loc[self._names], ranked.tests.ranks
        return {
            "at": self.board.codes(ranked.at),
            "range": [*rows["rank_range"]],
            "mayBeBest": [*map(ranks.may_be_best, self._names)],
            "pBest": numbers(rows["p_best"]),
            "better": [*map(ranks.better_than_baseline, self._names)],
            **{name: numbers(rows[name]) for name in ("difference", "difference_low", "difference_high")},
            "pAgainstBest": numbers(rows["p_against_best"]),
            "pairs": self._pairs(ranked.tests),
            "best": self._names.index(str(best)),
            "baseline": self.board.label(baseline) if (baseline := ranks.baseline) else "",
            "alpha": ranks.alpha,
            "refused": ranks.refused,
            "sentence": ranked.sentence,
        }

    def _pairs(self, tests: Comparisons) -> dict[str, Any]:
        """Return what is known of every two evaluators, in their order: 1 and 2, 1 and 3, and so on."""
        place = [tests.evaluators.index(name) for name in self._names]
        upper = np.triu_indices(len(place), 1)
        matrices = {
            "difference": tests.difference,
            "half": tests.half,
            "p": tests.p,
            "all": tests.p_corrected,
        }
        found = {name: matrix[np.ix_(place, place)][upper] for name, matrix in matrices.items()}
        return {name: decimals(values, 6) for name, values in found.items()}

    def _groups(self, groups: Groups) -> dict[str, Any]:
        total = len(groups.ids)
        kept = listed_groups(groups, self.units.view, self.shown)
        note = (
            f"{len(kept):,} of {total:,} {groups.noun} are listed: those of the units on this page, then "
            "the first by name. The mean is over all."
            if len(kept) < total
            else ""
        )
        return {
            "name": groups.name,
            "title": groups.title,
            "noun": groups.noun,
            "keys": list(groups.keys),
            "ids": [list(groups.ids[g]) for g in kept],
            "units": groups.n_units[kept].tolist(),
            "columns": [_group_column(column, kept) for column in groups.columns],
            "at": dict(groups.at),
            "undefined": groups.undefined,
            "total": total,
            "note": note,
        }


def _entry(entry: ListedEvaluator, board: Board) -> dict[str, Any]:
    return {
        "name": entry.name,
        "label": board.names.get(entry.name, entry.name),
        "spec": entry.spec,
        "kind": str(entry.kind),
        "kindTitle": BLOCKS[entry.kind],
        "simulated": entry.name in board.simulated.evaluators,
        "inTruth": entry.name in board.in_truth,
        "onScale": entry.on_scale,
        "statuses": dict(entry.statuses),
        "signature": dict(entry.signature),
    }


def _group_column(column: GroupColumn, kept: Any) -> dict[str, Any]:  # noqa: ANN401 - places of groups
    """Return the numbers of some groups; None for an evaluator of which nothing is known."""
    digits = _DIGITS.get(column.form, 6)
    return {
        "title": column.title,
        "form": column.form,
        "hint": column.hint,
        "dimensions": list(column.dimensions),
        "of": [None if np.isnan(v).all() else decimals(v[..., kept], digits) for v in column.numbers],
    }


def sheets_payload(view: str, sheets: Sequence[Sheet]) -> list[dict[str, Any]]:
    """Return the sheets of a view as they are printed."""
    return [
        {
            "view": view,
            "name": sheet.name,
            "title": sheet.title,
            "finding": sheet.said,
            "notes": list(sheet.notes),
            "simulated": sheet.simulated.loud,
            "columns": [
                {"title": c.title, "form": "text" if is_text(c) else c.form, "keep": c.keep}
                for c in sheet.columns
            ],
            "rows": cells(sheet, even=True),
        }
        for sheet in sheets
    ]


_ASSETS = Path(__file__).parent / "assets"

APP = (
    *("ui", "format", "data", "board", "route", "theme", "controls", "download", "table"),
    *("data_table", "axis", "chart_look", "chart", "glossary", "leaderboard", "one_column"),
    *("all_cells", "groups", "group_summary", "unit_list", "calls", "unit", "figures", "details"),
    *("about", "shell", "start"),
)
"""The files of the app, in the order in which they stand in its one script."""

_PAYLOAD = re.compile(r'(?<=id="payload">)[^<]+')
_MARK = "document.documentElement.classList.add('js')"
"""Hides the plain tables before they are painted; the app takes the mark away where it cannot start."""


def report_page(payload: Mapping[str, Any], *, static: str = "") -> str:
    """Return a page that shows what `metaeval.reports.report_model.Report.payload` returned.

    Nothing in it is fetched, and its content security policy lets only its own scripts run, so that a script
    in a text or a reply would stay text even if it were put into the page as markup. The same payload gives
    the same bytes. ``static`` is HTML, escaped already, for readers whose browser runs no scripts.
    `ValueError` is raised if the payload holds NaN or an infinity, which JSON does not have.
    """
    vendor, app = _asset("vendor/vendor.min.js"), _app()
    return Template(_asset("page.html")).substitute(
        policy=_policy(_MARK, vendor, f"\n{app}"),
        title=html.escape(str(payload["title"])),
        style=_asset("app.css"),
        mark=_MARK,
        static=static,
        payload=_packed(payload),
        licences=_asset("vendor/LICENSES.txt"),
        vendor=vendor,
        app=app,
    )


def with_sheets(
    page: str,
    view: str,
    sheets: Sequence[Mapping[str, Any]],
    figures: Sequence[Mapping[str, Any]] = (),
    *,
    within: Mapping[str, Mapping[str, float]] | None = None,
    answer: Mapping[str, Any] | None = None,
) -> str:
    """Return a page with other sheets in a view; what it shows without scripts stays.

    ``sheets`` are what `metaeval.reports.report_model.sheets_payload` returned, ``figures`` take the place of
    those of the same name. ``within`` (evaluator → what is rated → half-width) is shown with each unit,
    ``answer`` takes the place of that of the page.
    """
    payload = payload_of(page)
    payload["sheets"] = [s for s in payload["sheets"] if s.get("view") != view] + [*sheets]
    payload["figures"] = [f for f in payload["figures"] if f["name"] not in {g["name"] for g in figures}]
    payload["figures"] += figures
    further = {"within": within, "answer": answer}
    payload |= {name: value for name, value in further.items() if value is not None}
    packed = _packed(payload)
    return _PAYLOAD.sub(lambda _: packed, page, count=1)


def payload_of(page: str) -> dict[str, Any]:
    """Return the payload of a page that `report_page` returned; raise `MetaevalError` if it is none."""
    payload = _PAYLOAD.search(page)
    if payload is None:
        raise MetaevalError("the page is not a report of metaeval; run the study again to write one")
    return dict(json.loads(gzip.decompress(base64.b64decode(payload[0]))))


def _packed(payload: Mapping[str, Any]) -> str:
    """Return JSON, compressed, as characters that mean nothing in HTML."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone surrogate, which JSON texts may hold, is no UTF-8.
    packed = gzip.compress(text.encode("utf-8", errors="replace"), compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode("ascii")


def _policy(*scripts: str) -> str:
    """Return a content security policy under which these inline scripts run and nothing else."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@functools.cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


@functools.cache
def _app() -> str:
    return "\n".join(_asset(f"app/{name}.js") for name in APP)
