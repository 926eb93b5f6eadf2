"""What a report says, before it is put into a page: typed parts → one JSON object."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metaeval.base.records import AVERAGE, Kind
from metaeval.engine.ranking import tests_sentence
from metaeval.reports import words
from metaeval.reports.figures import figure_payload
from metaeval.reports.report.encode import decimals, number, numbers
from metaeval.reports.report.units import listed_groups
from metaeval.reports.sheets import cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.analysis.agreement.by_group import Groups
    from metaeval.base.simulation import Simulation
    from metaeval.engine.comparison import Comparisons
    from metaeval.engine.sheet import Sheet
    from metaeval.reports.figures import Figure
    from metaeval.reports.report.calls import Calls
    from metaeval.reports.report.units import Sample, Units
    from metaeval.stats.coefficients.tables import Floats

_FORMAT = 1
_TITLES = {"user": "user", "pair": "user and item", "item": "item"}


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """One column of a leaderboard with its tests."""

    tests: Comparisons
    ranking: Sheet
    """What `metaeval.engine.ranking` made of them: ``evaluator``, ``cluster``, ``p_best``."""


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """All that a report shows of a run."""

    record: Mapping[str, Any]
    """The content of ``run.json``."""
    statements: Mapping[str, str]
    """Aspect → what raters saw."""
    correlations: pd.DataFrame
    policy: Sequence[str]
    """Sentences on what was done with missing values and undefined groups."""
    lost: Sequence[str]
    """Sentences on calls of judges that brought no reply."""
    costs: pd.DataFrame
    ranked: Sequence[Ranked]
    people: Sequence[Mapping[str, Any]]
    """What people reach: ``label``, ``aspect``, ``level``, ``coefficient``, ``estimate``."""
    simulated: Simulation
    """What is: the data, or which evaluators."""
    groups: Sequence[Groups]
    on_scale: Sequence[bool]
    """Of each evaluator, whether its scores are on the scale of the truth."""
    bias: Mapping[str, Sequence[Floats | None]]
    """Level → of each evaluator, shape (A + 1, G); None for one that is not on the scale of the truth."""
    units: Units
    shown: Sample
    calls: Calls
    keys: Sequence[Any]
    """Of each evaluator, the keys of its calls; None for one that asks nobody."""
    figures: Sequence[Figure]
    sheets: Sequence[Sheet]

    def payload(self) -> dict[str, Any]:
        """Return the report as one JSON object, which the script of the page reads."""
        study, data = self.record["study"], self.record["data"]
        low, high, integer = data["scale"]
        frame = self.units.data.explanations
        aspects = list(study["aspects"])
        return {
            "format": _FORMAT,
            "title": study["title"] or f"Evaluators on {data['name']}",
            "metaeval": self.record["metaeval"],
            "finished": "",  # equal runs have equal reports; run.json says when
            "dataset": {
                **{k: data[k] for k in ("name", "units", "licence", "source", "fingerprint")},
                **{
                    f"{what}s": int(frame[column].nunique()) if column in frame.columns else 0
                    for what, column in (("user", "user_id"), ("item", "item_id"), ("generator", "generator"))
                },
            },
            "simulated": {"loud": self.simulated.loud, "sentence": self.simulated.sentence},
            "truth": self.record["truth"]["spec"],
            "scale": {"min": low, "max": high, "integer": integer},
            "aspects": [{"name": a, "statement": self.statements.get(a, "")} for a in aspects],
            "views": self._views(),
            "orderBy": dict(study["order_by"]),
            "policy": list(self.policy),
            "lost": list(self.lost),
            "evaluators": self._evaluators(),
            "cells": self._cells(),
            "tests": [self._tests(ranked) for ranked in self.ranked],
            "people": [{**line, "estimate": number(line["estimate"])} for line in self.people],
            "groups": {g.level: self._groups(g) for g in self.groups},
            "units": self.units.payload(self.shown),
            "calls": self.calls.payload(self.keys, self.shown.at),
            "figures": [figure_payload(figure) for figure in self.figures],
            "sheets": [_sheet(sheet) for sheet in self.sheets],
        }

    @property
    def _names(self) -> list[str]:
        return list(self.record["evaluators"])

    def _views(self) -> dict[str, list[str]]:
        study = self.record["study"]
        aspects = list(study["aspects"])
        return {
            "aspects": [*aspects, AVERAGE] if len(aspects) > 1 else aspects,
            "levels": list(study["levels"]),
            "coefficients": list(study["coefficients"]),
        }

    def _evaluators(self) -> list[dict[str, Any]]:
        costs = self.costs.set_index("evaluator") if len(self.costs) else None
        found = []
        for (name, evaluator), on_scale in zip(self.record["evaluators"].items(), self.on_scale, strict=True):
            cost = costs.loc[name] if costs is not None and name in costs.index else {}
            found.append(
                {
                    "name": name,
                    "spec": evaluator["spec"],
                    "kind": evaluator["kind"],
                    "kindTitle": words.BLOCKS[Kind(evaluator["kind"])],
                    "simulated": name in self.simulated.evaluators,
                    "onScale": on_scale,
                    **{k: number(cost.get(f"{k}_per_text", math.nan)) for k in ("usd", "tokens", "seconds")},
                    "statuses": dict(evaluator["scores"]),
                    "signature": dict(evaluator["signature"]),
                }
            )
        return found

    def _cells(self) -> dict[str, list[Any]]:
        views = self._views()
        frame = self.correlations[self.correlations["aspect"].isin(views["aspects"])]
        places = {
            "evaluator": self._names,
            "aspect": views["aspects"],
            "level": views["levels"],
            "coefficient": views["coefficients"],
        }
        columns: dict[str, list[Any]] = {
            column: frame[column].map({name: i for i, name in enumerate(names)}).tolist()
            for column, names in places.items()
        }
        for name, column in (("estimate", "estimate"), ("low", "ci_low"), ("high", "ci_high")):
            columns[name] = numbers(frame[column])
        for name in ("units", "groups", "undefined", "missing"):
            columns[name] = frame[f"n_{name}"].tolist()
        if frame["corrected"].notna().any():
            columns["corrected"] = numbers(frame["corrected"])
        return columns

    def _tests(self, ranked: Ranked) -> dict[str, Any]:
        rows = ranked.ranking.frame.set_index("evaluator")
        policy = ranked.tests.policy
        return {
            **ranked.tests.by._asdict(),
            "cluster": [str(rows.loc[name, "cluster"]) for name in self._names],
            "pBest": [number(rows.loc[name, "p_best"]) for name in self._names],
            "best": self._names.index(str(rows.index[0])),
            "alpha": policy["alpha"],
            "sentence": tests_sentence(policy),
        }

    def _groups(self, groups: Groups) -> dict[str, Any]:
        total = len(groups.names)
        kept = listed_groups(groups, self.units.data, self.shown)
        note = (
            f"Of {total:,} {groups.level}s, {len(kept):,} are listed: those of the units on this page, then "
            "the first by name. The mean is of all."
            if len(kept) < total
            else ""
        )
        return {
            "title": _TITLES[groups.level],
            "keys": list(groups.keys),
            "ids": [list(groups.names[g]) for g in kept],
            "units": groups.n_units[kept].tolist(),
            "terms": {c: decimals(terms[:, :, kept]) for c, terms in groups.terms.items()},
            "bias": [
                None if found is None else decimals(found[:, kept]) for found in self.bias[groups.level]
            ],
            "total": total,
            "note": note,
        }


def _sheet(sheet: Sheet) -> dict[str, Any]:
    """Return a sheet as it is printed."""
    rows = sheet.frame.to_dict("records")
    return {
        "name": sheet.name,
        "title": sheet.title,
        "notes": list(sheet.notes),
        "simulated": sheet.simulated.warning,
        "columns": [{"title": c.title, "form": c.form} for c in sheet.columns],
        "rows": [[cell(row, c, str) for c in sheet.columns] for row in rows],
    }
