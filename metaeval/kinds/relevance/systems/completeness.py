"""How complete labels are for the systems, what their gaps do to the order, and how many labels it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.progress import progress
from metaeval.engine.figure import Figure
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.relevance.data.collection import ITEM, USER
from metaeval.kinds.relevance.measures import measure_named
from metaeval.kinds.relevance.systems.decisions import ranks
from metaeval.kinds.relevance.systems.effectiveness import RankedRuns
from metaeval.kinds.relevance.systems.systems import (
    ALL_EVALUATORS,
    BY,
    EVALUATOR,
    MEASURE,
    PAIR,
    Systems,
    of_systems,
    of_truth,
)
from metaeval.kinds.table import KindTable
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.ranking.effectiveness import POOLED
from metaeval.stats.ranking.orders import tau_of, weighted_kendall
from metaeval.stats.resampling.weights import in_threads

CUTOFFS = (10, 100)
"""How much of a list is read for the share that has a label."""
SIZES = (10, 50, 100, 200)
REPEATS = (3, 10)
"""Samples of each size, at least and at most; where there are many users, a sample varies little."""
_SAMPLED_USERS = 2000  # over all samples of a size


def judged_shares(systems: Systems) -> pd.DataFrame:
    """Return which share of the first items of each system has a label: Judged@k, the mean over users.

    Cutoffs beyond the longest list are left out, but for the first.
    """
    runs, labels = systems.runs, systems.judgements.labels
    depth = runs.pairs.shape[2]
    cutoffs = [k for k in CUTOFFS if k <= depth] or [min(depth, *CUTOFFS)]
    measures = {k: measure_named(f"Judged@{k}") for k in cutoffs}
    parts = []
    for evaluator in labels:
        effects = systems.measured(evaluator, labels[evaluator], list(measures.values()))
        for k, measure in measures.items():
            columns = {"evaluator": evaluator, "system": runs.systems, "cutoff": k}
            parts.append(pd.DataFrame(columns | {"judged": effects.means(measure.name)}))
    return pd.concat(parts, ignore_index=True)


JUDGED = KindTable(
    "judged.csv",
    "Share of the lists with a label",
    (
        EVALUATOR,
        Column("system", "System"),
        Column("cutoff", "First items", "count"),
        Column("judged", "Judged", "share"),
    ),
    of_systems(judged_shares, detail=True),
    (
        "Judged: the mean over users of the share of a system's first items that has a label.",
        ALL_EVALUATORS,
    ),
    shown=of_truth,
)


def unjudged_items(systems: Systems) -> pd.DataFrame:
    """Compare the order of systems by each measure with that by one with another rule for unjudged items.

    The others are the same measure of judged items alone, where there is such, Bpref, and inferred average
    precision, to which units without a label are a pool of which a sample was judged.
    ``places`` says by how many the system whose rank changes most rises with the other one.
    """
    runs, relevant = systems.runs, systems.data.relevant
    measures = list(systems.measures.values())
    inferred, bpref = (measure_named(name, relevant=relevant) for name in ("infAP", "Bpref"))
    alone = {m.name: twin for m in measures if (twin := m.judged_only())}

    def rows(evaluator: str) -> Iterator[dict[str, object]]:
        labels = systems.judgements.labels[evaluator]
        plain = systems.measured(evaluator, labels, [*measures, *alone.values(), bpref])
        among = np.arange(len(labels)) < (systems.judgements.pool or len(labels))
        pooled = systems.measured(evaluator, np.where(np.isnan(labels) & among, POOLED, labels), [inferred])
        for measure in measures:
            others = {"Bpref": plain.means("Bpref"), "infAP": pooled.means("infAP")}
            if twin := alone.get(measure.name):
                others = {twin.name: plain.means(twin.name), **others}
            own = plain.means(measure.name)
            for name, values in others.items():
                risen = ranks(own) - ranks(values)
                most = int(np.abs(risen).argmax())
                yield {
                    "evaluator": evaluator,
                    "measure": measure.name,
                    "other": name,
                    "tau": tau_of(own, values),
                    "most_moved": runs.systems[most],
                    "places": risen[most],
                }

    parts = in_threads(lambda name: list(rows(name)), list(systems.judgements.labels))
    return pd.DataFrame([row for part in parts for row in part])


UNJUDGED = KindTable(
    "unjudged.csv",
    "Effect of unjudged items on the order of systems",
    (
        *BY,
        Column("other", "Against"),
        Column("tau", "τ", "decimal"),
        Column("most_moved", "Moves most"),
        Column("places", "Places up", "rank"),
    ),
    of_systems(unjudged_items, detail=True),
    (
        (
            "The measure counts an unjudged item as not relevant. The other one skips it (judged only, "
            "Bpref), or takes the labels as a sample of all units (infAP)."
        ),
    ),
)


def left_out(systems: Systems) -> pd.DataFrame:
    """Take each system out of the pool: the truth's labels that only it brought in are removed.

    What a system alone has among its first items, to the depth of the pool, counts as its own contribution.
    """
    runs, labels = systems.runs, systems.judgements.labels[systems.truth]
    own = _own_pairs(runs, systems.depth)
    whole = systems.by_evaluator[systems.truth]

    def rows(s: int) -> Iterator[dict[str, object]]:
        gone = np.isin(runs.pair_of_unit, own[s]) & ~np.isnan(labels)
        kept = np.where(gone, np.nan, labels)
        without = systems.measured(systems.truth, kept, list(systems.measures.values()))
        # The mean is over the same users, also those who lose all their labels.
        without = replace(without, counted=whole.counted)
        for measure in systems.measures:
            before, after = whole.means(measure), without.means(measure)
            yield {
                "system": runs.systems[s],
                "measure": measure,
                "n_labels": int(gone.sum()),
                "value": before[s],
                "value_without": after[s],
                "rank": ranks(before)[s],
                "rank_without": ranks(after)[s],
            }

    parts = in_threads(lambda s: list(rows(s)), range(len(runs.systems)))
    return pd.DataFrame([row for part in parts for row in part])


LEFT_OUT = KindTable(
    "left_out.csv",
    "Systems left out of the pool, one at a time",
    (
        Column("system", "System"),
        MEASURE,
        Column("n_labels", "Own labels", "count"),
        Column("value", "Mean", "decimal"),
        Column("value_without", "Mean without them", "decimal"),
        Column("rank", "Rank", "rank"),
        Column("rank_without", "Rank without them", "rank"),
    ),
    of_systems(left_out, detail=True),
    ("Own labels: the truth's labels of items that no other system has among its first.",),
)


def _own_pairs(runs: RankedRuns, depth: int) -> list[Ints]:
    """Return for each system the pairs that no other has among its first ``depth``."""
    first = [np.unique(pairs[:, :depth]) for pairs in runs.pairs]
    times = np.bincount(np.concatenate(first), minlength=runs.n_pairs + 1)
    times[-1] = 0  # behind the end of lists
    return [codes[times[codes] == 1] for codes in first]


def label_curve(systems: Systems) -> pd.DataFrame:
    """Order the systems by samples of an evaluator's labels, so many per user, and compare with the truth.

    Samples are spread over the depths of the pool, as those of a judge are, and a smaller one is part of a
    larger. The truth's own labels are sampled too; it is compared with all of them.
    """
    pair, runs = systems.pairs[0], systems.runs
    measure = systems.measures[pair.judge]
    true = systems.by_evaluator[systems.truth].means(pair.truth)
    depth = best_rank(runs)
    repeats = int(np.clip(_SAMPLED_USERS // max(1, len(runs.users)), *REPEATS))
    by_name = systems.judgements.units.sort_values([USER, ITEM]).index.to_numpy()
    seed = systems.resampler.seed if systems.resampler else 0
    names = [systems.truth, *systems.others]
    rows = []
    with progress("labels per user", len(names)) as advance:
        for name in names:
            labels = systems.judgements.labels[name]
            there = ~np.isnan(labels)
            counts = np.bincount(runs.user_of_unit[there], minlength=len(runs.users))
            most = int(counts.max(initial=0))
            places = [
                sample_places(runs.user_of_unit, depth, there, by_name, seed=seed + r) for r in range(repeats)
            ]
            for size in [*(n for n in SIZES if n < most), most]:

                def taus(
                    place: Ints, name: str = name, labels: Floats = labels, size: int = size
                ) -> tuple[float, float]:
                    kept = np.where(place < size, labels, np.nan)
                    own = systems.measured(name, kept, [measure]).means(measure.name)
                    return tau_of(own, true), weighted_kendall(own, true)

                tau, weighted = np.transpose(list(in_threads(taus, places[:1] if size == most else places)))
                rows.append(
                    {
                        "evaluator": name,
                        "measure": pair.judge,
                        "truth_measure": pair.truth,
                        "labels": size,
                        "labels_per_user": np.minimum(counts, size).sum() / max(1, (counts > 0).sum()),
                        "tau": tau.mean(),
                        "weighted_tau": weighted.mean(),
                        "tau_low": tau.min(),
                        "tau_high": tau.max(),
                        "repeats": len(tau),
                    }
                )
            advance()
    return pd.DataFrame(rows)


def _chart(sheet: Sheet, _first: Mapping[str, str]) -> Figure:
    import altair as alt

    from metaeval.engine.charts import curves, tooltip

    x = alt.X("labels_per_user:Q", title="labels per user")
    y = alt.Y("tau:Q", title="Kendall's τ", scale={"zero": False})
    lines = tooltip(
        evaluator="labels of",
        labels_per_user=("labels per user", ".1f"),
        tau=("τ", ".3f"),
        weighted_tau=("weighted τ", ".3f"),
    )
    said = "Kendall's τ with the order by all labels of the truth, by labels per user."
    chart = curves(said, sheet.frame, x, y, ("tau_low", "tau_high"), lines)
    return Figure(sheet, chart, finding=_enough)


_ALIKE = 0.9
"""τ from which orders of systems are usually taken as alike (Voorhees 2000)."""


def _enough(rows: pd.DataFrame) -> str:
    """Say how many labels per user of the truth, which stands first, give nearly the order of all."""
    truth = rows[rows["evaluator"] == rows["evaluator"].iloc[0]]
    alike = truth[truth["tau"] >= _ALIKE]
    if alike.empty:
        return ""
    least = alike.sort_values("labels_per_user").iloc[0]
    labels, every = (f"{v:.3g}" for v in (least["labels_per_user"], truth["labels_per_user"].max()))
    return (
        f"{labels} labels per user of {least['evaluator']} order the systems as all {every} do "
        f"with τ {least['tau']:.2f}"
    )


CURVE = KindTable(
    "label_curve.csv",
    "Number of labels per user",
    (
        *PAIR,
        Column("labels", "Labels per user, at most", "count"),
        Column("labels_per_user", "Mean", "number"),
        Column("tau", "τ", "decimal", "tau_low", "tau_high"),
        Column("weighted_tau", "Weighted τ", "decimal"),
        Column("repeats", "Samples", "count"),
    ),
    of_systems(label_curve, detail=True),
    (
        (
            "τ against all labels of the truth; means over samples of an evaluator's labels, which are "
            "spread over the depths of the pool. Brackets (thin lines in the figure) give the lowest and the "
            "highest."
        ),
        "The last row of an evaluator has all its labels.",
    ),
    _chart,
)


def best_rank(runs: RankedRuns) -> Ints:
    """Return the pool depth of each unit: the best rank that a system gives it; infinity, if none does."""
    best = np.full(runs.n_pairs + 1, np.iinfo(np.int64).max)
    for r in reversed(range(runs.pairs.shape[2])):
        best[runs.pairs[:, :, r]] = r
    best[-1] = np.iinfo(np.int64).max
    return best[runs.pair_of_unit]


def sample_places(user: Ints, depth: Ints, there: NDArray[np.bool_], by_name: Ints, *, seed: int) -> Ints:
    """Return the place of each unit among those of its user: a sample of n is the first n.

    A user's units are sorted by pool depth, equal ones at random. Places go around them in the order of van
    der Corput's sequence, from a random start, so that every sample is spread evenly over the depths.
    ``by_name`` holds the units in the order of their names, so that draws do not depend on the order of rows.
    """
    rng = np.random.default_rng([seed, 14])
    drawn, shift = np.empty(len(user)), rng.random(int(user.max(initial=0)) + 1)
    drawn[by_name] = rng.random(len(user))
    order = np.lexsort((drawn, depth, user))
    order = order[there[order]]
    owner = user[order]
    within = np.arange(len(order)) - np.searchsorted(owner, owner)
    size = np.bincount(owner, minlength=len(shift))[owner]
    turn = ((within + 0.5) / size + shift[owner]) % 1.0
    ranked = order[np.lexsort((_bits_reversed(turn), owner))]
    place = np.full(len(user), np.iinfo(np.int64).max)
    place[ranked] = np.arange(len(ranked)) - np.searchsorted(user[ranked], user[ranked])
    return place


def _bits_reversed(turn: Floats) -> Floats:
    """Return the bits of numbers from 0 to 1 in reverse: sorted by it, every beginning is spread evenly."""
    bits = (turn * 2**32).astype(np.uint64)
    for shift, mask in ((16, 0x0000FFFF), (8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        bits = ((bits >> np.uint64(shift)) & np.uint64(mask)) | ((bits & np.uint64(mask)) << np.uint64(shift))
    return np.asarray(bits, dtype=np.float64)
