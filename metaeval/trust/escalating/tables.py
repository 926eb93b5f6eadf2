"""Who looks at what: the verdict by aspect, the stages, the curve of cost and agreement, and the route."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.agreement.escalation import Cascade, cascade
from metaeval.trust.escalating.stages import Stages

if TYPE_CHECKING:
    from metaeval.analysis.ensembles.subsets import Costs
    from metaeval.base.simulation import Simulation

PERSON = "person"
"""Who decides what no judge is sure enough of."""
_VERDICTS = (
    Column("aspect", "Aspect"),
    Column("verdict", "Who looks at what", keep=True),
    Column("people", "Left to people", "share"),
    Column("agreement", "Agreement of the rest", "share"),
    Column("n_units", "Units", "count"),
    Column("n_labelled", "With ratings", "count"),
)
_STAGES = (
    Column("aspect", "Aspect"),
    Column("evaluator", "Evaluator"),
    Column("decides", "Decides", "share"),
    Column("least", "If its confidence is at least", "number"),
    Column("agreement", "Agrees with people", "share"),
    Column("said", "Confidence"),
)
_CURVE = (
    Column("aspect", "Aspect"),
    Column("first_judge", "From"),
    Column("share", "Each decides", "share"),
    Column("people", "Left to people", "share"),
    Column("agreement", "Agreement of the rest", "share"),
    Column("p", "p", "p"),
    Column("cost", "Cost per unit", "number", optional=True),
    Column("n_units", "Units with ratings", "count"),
    Column("n_clusters", "Clusters", "count"),
    Column("held", "Target holds"),
)


def escalating_sheets(
    held: Iterable[Stages], *, alpha: float, delta: float, costs: Costs | None, simulated: Simulation
) -> tuple[list[Sheet], pd.DataFrame]:
    """Return the sheets, and the route: key columns, ``aspect`` and ``route``, the name of who decides."""
    verdicts, of_stage, curve, routes = [], [], [], []
    for stage in held:
        price = np.array([costs.of_judge[name] for name in stage.judges]) if costs else None
        chosen = Cascade(0.0, 0, np.zeros(len(stage.units), dtype=np.int64), ())
        if stage.judges:
            chosen = cascade(
                stage.confidence, stage.right, stage.clusters, alpha=alpha, delta=delta, costs=price
            )
        names = [*stage.judges, PERSON]
        routes.append(
            stage.units.assign(aspect=stage.aspect, route=np.array(names, dtype=object)[chosen.route])
        )
        verdicts.append({"aspect": stage.aspect, **_verdict(stage, chosen, alpha, delta)})
        of_stage += [{"aspect": stage.aspect, **row} for row in _stages(stage, chosen)]
        for row in chosen.tested:
            first = stage.judges[int(row["first"])]
            held_said = "yes" if row["holds"] else "no"
            curve.append({"aspect": stage.aspect, **row, "first_judge": first, "held": held_said})
    unit = ("USD" if costs.unit == "usd" else costs.unit) if costs else ""
    said = (
        f"Agreement with people is at least {1 - alpha:.0%} among units that judges decide, with "
        f"probability {1 - delta:.0%}, for units drawn like those with ratings. Thresholds: fixed-sequence "
        "testing (Jung, Brahman & Choi 2024), from strict to loose, by a t test on sums by cluster, to which "
        "a cluster that disagrees is added. Cascades that begin with each judge share δ."
    )
    tables: list[tuple[str, str, list[dict[str, Any]], Sequence[Column], tuple[str, ...]]] = [
        ("escalate", "Who looks at what?", verdicts, _VERDICTS, (said,)),
        ("escalate-stages", "What each judge decides", of_stage, _STAGES, ()),
        (
            "escalate-curve",
            "Cost and agreement",
            curve,
            [c for c in _CURVE if c.name != "cost" or costs],
            (f"Cost: {unit} per unit, of judges alone.",) if costs else (),
        ),
    ]
    sheets = [
        Sheet(name, title, pd.DataFrame(rows), tuple(columns), notes, simulated)
        for name, title, rows, columns, notes in tables
        if rows
    ]
    return sheets, pd.concat(routes, ignore_index=True)


def _verdict(stage: Stages, chosen: Cascade, alpha: float, delta: float) -> dict[str, Any]:
    n, judges = len(stage.units), len(stage.judges)
    decided = np.flatnonzero(chosen.route < judges)
    agrees = stage.right[chosen.route[decided], decided] if judges else np.empty(0)
    row: dict[str, Any] = {
        "people": 1 - len(decided) / max(n, 1),
        "agreement": float(np.nanmean(agrees)) if (~np.isnan(agrees)).any() else np.nan,
        "n_units": n,
        "n_labelled": int(stage.rated.sum()),
    }
    target = f"{1 - alpha:.0%} agreement"
    if not judges:
        why = "; ".join(dict.fromkeys(stage.refused.values()))
        row["verdict"] = f"cannot be said: {why}; people look at all units"
    elif not len(decided):
        few = (
            all(t["p"] > delta for t in chosen.tested) and len(np.unique(stage.clusters.of_unit)) < 3 / alpha
        )
        why = "too few clusters with ratings to show it" if few else "no judge reaches it where it is surest"
        row["verdict"] = f"people look at all units: {target} is not shown, {why}"
    else:
        parts = [
            f"{name} decides {np.mean(chosen.route == k):.0%}"
            for k, name in enumerate(stage.judges)
            if (chosen.route == k).any()
        ]
        row["verdict"] = f"{', '.join(parts)}; a person looks at {row['people']:.0%} ({target} holds)"
    return row


def _stages(stage: Stages, chosen: Cascade) -> list[dict[str, Any]]:
    rows = []
    for k, name in enumerate(stage.judges):
        mine = chosen.route == k
        agrees = stage.right[k, mine & ~np.isnan(stage.right[k])]
        rows.append(
            {
                "evaluator": name,
                "decides": float(mine.mean()),
                "least": float(stage.confidence[k, mine].min()) if mine.any() else np.nan,
                "agreement": float(agrees.mean()) if agrees.size else np.nan,
                "said": f"from {stage.sources[k]}",
            }
        )
    for name, why in stage.refused.items():
        empty = dict.fromkeys(("least", "agreement"), np.nan)
        rows.append({"evaluator": name, "decides": 0.0, **empty, "said": f"refused: {why}"})
    return rows
