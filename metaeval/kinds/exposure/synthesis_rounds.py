"""The rounds of a loop: pairs to judge with synthetic rows in the log, and what changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import jensenshannon

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.records import FIRST
from metaeval.base.simulation import Simulation
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Column, Sheet, columns
from metaeval.kinds.exposure.data.loading import pairs_of
from metaeval.kinds.exposure.data.log_set import (
    ITEM,
    MATCHING,
    PAIR,
    USER,
    LogSet,
    SyntheticRows,
    preferences_of,
    units_of,
)
from metaeval.kinds.exposure.measures import ALL, IPS, NONE, PairCells
from metaeval.kinds.exposure.pairs import matched_pairs
from metaeval.kinds.exposure.propensity.exposures import popularity_bins
from metaeval.kinds.exposure.propensity.propensities import Propensities
from metaeval.kinds.exposure.recommenders.sums import HeldOut, LogPart, Recommended
from metaeval.kinds.exposure.study import BIN_NAMES, RecommenderOptions, SynthesisOptions
from metaeval.kinds.exposure.synthesizer import (
    KnownInteractions,
    Synthesis,
    cosine_graph,
    incidence,
    probabilities,
    synthesize,
    transition_counts,
)
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.off_policy.estimators import Estimator
from metaeval.stats.resampling.bootstrap import each, estimated
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.resampling.weights import drawn, generator

_ALL = 1_000_000  # pairs per user
AGREEMENT = ("IPS-PairAUC", "PairAUC")
_CHANGES = ("before", "after", "change")
_NAMED = 3  # changes that a sentence names at most
_USERS = 1_000  # served at a time
NAME = "item-knn"


def augmented(propensities: Propensities, items: Ints, bins: Ints) -> Propensities:
    """Return with what probability the log or the synthesizer exposes each row's item to its user.

    The synthesizer exposes all ``items`` of a popularity bin alike. Propensities of pairs become p + (1 - p)
    s, where s is the share of the pairs of the bin without a row in the log that have a synthetic one. Those
    of choices become (n p + m t) / (n + m), where n are the rows of the log, m the synthetic ones, and t is
    the share of the bin among these, divided by its items.
    """
    log, p = propensities.log, propensities.probability
    width = int(bins.max()) + 1
    size = np.bincount(bins, minlength=width)
    if propensities.exposure == "choice":
        chance = shares_by_bin(items, bins) / size
        mixed = (len(log) * p + len(items) * chance[bins[log.item]]) / (len(log) + len(items))
    else:
        shown = np.bincount(bins[np.unique(log.pair) % len(log.items)], minlength=width)
        chance = np.bincount(bins[items], minlength=width) / np.maximum(1, len(log.users) * size - shown)
        mixed = p + (1 - p) * chance[bins[log.item]]
    return replace(propensities, probability=mixed, model=None)


def with_synthetic(
    data: LogSet, rounds: Sequence[Synthesis], propensities: Propensities, *, floor: float, seed: int
) -> LogSet:
    """Return a log with the synthetic rows of all rounds, and with pairs that follow their exposure curve.

    Pairs are of real items of the real log, matched on popularity and on what the old ones were matched on.
    There are as many as before, as far as each bin of the curve has them. Raises `MetaevalError` if no two
    items of a user match.
    """
    bins, items = rounds[-1].bins, np.concatenate([made.item for made in rounds])
    before = pairs_of(data)
    old = [] if before is None else [name for name in BIN_NAMES if name in before and name != "popularity"]
    mixed = augmented(propensities, items, bins)
    pairs = matched_pairs(mixed, match=("popularity", *old), per_user=_ALL, seed=seed, floor=floor).frame
    wanted, names = 0 if before is None else len(before), pairs[USER] + "\x1f" + pairs[PAIR]
    kept: set[str] = set()
    for bin_, share in enumerate(shares_by_bin(items, bins)):
        if count := round(wanted * share):
            kept.update(drawn(names[pairs["popularity"] == str(bin_)], count, seed))
    if not kept:
        raise MetaevalError(f"no two items of a user of {data.name} match, so there is nothing to judge")
    units = units_of(pairs[names.isin(kept)].reset_index(drop=True))
    frame = pd.concat([made.rows().frame for made in rounds], ignore_index=True)
    ratings = preferences_of(units, data.log)
    return replace(data, table=units, ratings=ratings, scores=None, synthetic=SyntheticRows(frame))


def own_pairs(data: LogSet) -> LogSet:
    """Return a log without the pairs that ablations of a study added."""
    if MATCHING not in data.table:
        return data
    own = (data.table[MATCHING] == "").to_numpy()
    units = data.table[own].drop(columns=MATCHING).reset_index(drop=True)
    return replace(data, table=units, ratings=preferences_of(units, data.log))


def agreement_sums(cells: PairCells, users: pd.Index[str]) -> dict[str, Floats]:
    """Return evaluator → what `AGREEMENT` are ratios of, by user: shape (2, 2, users).

    PairAUC is that of `metaeval.kinds.exposure.measures`; the weighted one is NaN if a pair has no weight.
    """
    sums = {name: np.full((2, 2, len(users)), np.nan) for name in cells.evaluators}
    auc = cells.measures["PairAUC"]
    for weighting in cells.weightings:
        use = cells.use(f"{ALL}, {weighting}")
        user = users.get_indexer(pd.Index(cells.table.loc[use, USER]))
        for name, units in zip(cells.evaluators, cells.weighed(use, weighting).by_unit(auc), strict=True):
            by_user = [np.bincount(user, values, len(users)) for values in units]
            sums[name][[IPS, NONE].index(weighting)] = by_user
    return sums


def change_rows(
    what: str, name: str, measures: Sequence[str], rounds: Floats, intervals: Bootstrap | None
) -> Iterator[dict[str, object]]:
    """Yield a row per round and measure: before any synthesis, after the round, and the change.

    ``rounds`` has numerators and denominators by user, shape (rounds, measures, 2, users).
    """
    *_, n_users = rounds.shape
    n, resampler = len(measures), intervals.resampler() if intervals else None
    bounds = [*[(0.0, 1.0)] * (2 * n), *[(-1.0, 1.0)] * n]

    def changed(sums: Floats) -> Floats:
        before, after = ratio(sums[:, :, 0], sums[:, :, 1])
        return np.concatenate([before, after, after - before])

    for number in range(1, len(rounds)):
        both = rounds[[0, number]]
        estimates = each(estimated(ClusterSums(both, changed), n_users, resampler, bounds=bounds))
        for at, measure in enumerate(measures):
            row: dict[str, object] = {"of": what, "name": name, "measure": measure, "round": number}
            for i, column in enumerate(_CHANGES):
                row |= estimates[i * n + at].row(column)
            yield row | {"n_users": int((both[:, at, 1] > 0).any(axis=0).sum())}


def changes_sheet(frame: pd.DataFrame, simulated: Simulation, intervals: Bootstrap | None) -> Sheet:
    """Lay out rows of `change_rows`."""
    shown = (
        *columns("text", of="Of", name="Name", measure="Measure"),
        Column("round", "Round", "count"),
        *(Column(name, name.capitalize(), "decimal", f"{name}_low", f"{name}_high") for name in _CHANGES),
        Column("n_users", "Users", "count"),
    )
    notes = [
        (
            "Evaluators: before, on the pairs of the study; after, on pairs of real items whose popularity "
            "follows the synthetic exposure, weighted by the exposure of log and synthetic rows together. "
            "The truth is the real log in both cases."
        ),
        (
            "item-knn: a recommender that learns from the earlier rows of each user, before without and "
            "after with synthetic interactions drawn from these, evaluated on the later real rows, weighted "
            "by the propensities of the log."
        ),
    ]
    if intervals is not None:
        which = f"{100 * intervals.confidence:g} % intervals from {intervals.resamples:,} resamples"
        notes.append(f"{which} of users, the same ones before and after.")
    return Sheet("changes", "What changed", frame, shown, tuple(notes), simulated, principal=True)


def changes_sentence(frame: pd.DataFrame) -> str:
    """Say of the rows of `change_rows` what the last round is shown to change, by intervals without zero."""
    last = frame[frame["round"] == frame["round"].max()]
    parts = []
    for what, rows in last.groupby("of", sort=False):
        sure = rows[(rows["change_low"] > 0) | (rows["change_high"] < 0)]
        named = [
            f"{name}: {measure} {change:+.4f}"
            for name, measure, change in sure[["name", "measure", "change"]].itertuples(index=False)
        ]
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        listed = f" ({'; '.join(named[:_NAMED])}{more})" if named else ""
        parts.append(f"{len(sure)} of {counted(len(rows), 'measure')} of {what}s{listed}")
    rounds = counted(int(last["round"].iloc[0]), "round")
    if last["change_low"].isna().all():
        return f"After {rounds}: without intervals, no change is shown."
    return f"After {rounds}, a change is shown in {', and in '.join(parts)}."


def item_knn(taken: csr_array[Any, Any], shown: csr_array[Any, Any], k: int, neighbours: int) -> Ints:
    """Recommend the items most similar to those that a user took, shape (users, k); -1 where there are fewer.

    The score of an item is the sum of its cosines with the user's items (Deshpande & Karypis 2004). ``taken``
    and ``shown`` say which items a user took and was shown, shape (users, items); what was shown is left out.
    """
    graph = cosine_graph(taken, neighbours)
    k = min(k, graph.shape[0])
    lists = np.full((taken.shape[0], k), -1)
    for at in range(0, len(lists), _USERS):
        part = slice(at, at + _USERS)
        score = np.round((taken[part] @ graph).toarray(), 10)  # rounding settles no tie
        score[shown[part].toarray() > 0] = 0.0
        best = np.argsort(-score, axis=1, kind="stable")[:, :k]
        lists[part] = np.where(np.take_along_axis(score, best, axis=1) > 0, best, -1)
    return lists


def measures(k: int) -> tuple[str, ...]:
    """Return the names of what `downstream` gives."""
    return (f"IPS-Recall@{k}", f"Recall@{k}", f"IPS-Recall@{k} of the tail", "tail share of the lists")


def downstream(
    data: LogSet, propensities: Propensities, options: SynthesisOptions, *, floor: float, rounds: int
) -> Floats:
    """Return sums whose ratios are `measures` of item-kNN without synthetic rows and after each round.

    The recommender and the synthesizer learn from the earlier rows of each user alone; the synthetic
    interactions are drawn again from these. What is held out, and recall, are those of
    `metaeval.kinds.exposure.recommenders`. The shape is (1 + rounds, measures, 2, users). Raises
    `MetaevalError` if item-kNN has nothing to recommend.
    """
    known = KnownInteractions.of_log(data)
    train = known.among(HeldOut.latest(known.log, options.held_out, options.seed).early)
    shape = (len(known.log.users), len(known.log.items))
    shown = incidence(train.log.user, train.log.item, shape)
    users, items, made = train.user, train.item, None
    lists = [item_knn(train.taken_items, shown, options.k, options.neighbours)]
    for _ in range(rounds):
        made = synthesize(train, options, made)
        users, items = np.concatenate([users, made.user]), np.concatenate([items, made.item])
        lists.append(item_knn(incidence(users, items, shape), shown, options.k, options.neighbours))
    runs = []
    for number, of_users in enumerate(lists):
        user, place = np.nonzero(of_users >= 0)
        names = known.log.users.to_numpy(dtype=object)[user]
        recommended_items = known.log.items.to_numpy(dtype=object)[of_users[user, place]]
        frame = pd.DataFrame({USER: names, ITEM: recommended_items, "rank": place + 1})
        runs.append(frame.assign(system=f"{number:03}"))
    measured = RecommenderOptions(k=options.k, held_out=options.held_out, seed=options.seed)
    data = replace(data, runs=pd.concat(runs, ignore_index=True))
    recommended = Recommended.of(data, propensities, measured, floor)
    if recommended is None or len(recommended.systems) <= rounds:
        raise MetaevalError("item-kNN has nothing to recommend: no two items were taken by the same user")
    bins = popularity_bins(train.log)
    tail = bins > bins.max() - TAIL
    ips, naive = Estimator("ips"), Estimator("naive")
    recalls = [
        recommended.by_user(propensities, "Recall", estimator, LogPart(items=part))[:2]
        for estimator, part in ((ips, None), (naive, None), (ips, tail))
    ]
    counts = [np.stack([((x >= 0) & tail[x]).sum(axis=1), (x >= 0).sum(axis=1)]) for x in lists]
    recalls.append(np.stack(counts, axis=1)[..., recommended.users].astype(np.float64))
    return np.stack(recalls).transpose(2, 0, 1, 3)


_COMPARED = 1_000  # sequences that are compared with all users at a time
TAIL = 2
"""Popularity bins that are the tail: the last ones."""


class Distance(NamedTuple):
    """How far two transition matrices are apart: the mean over genres, as frequent as in the first one."""

    total_variation: float
    jensen_shannon: float
    """The divergence, in bits."""


def transition_distance(real: Floats, other: Floats) -> Distance:
    """Compare transitions, given as counts; genres that nothing follows in either are left out."""
    mass = real.sum(axis=1) * (other.sum(axis=1) > 0)
    use = mass > 0
    if not use.any():
        return Distance(np.nan, np.nan)
    p, q, weight = probabilities(real)[use], probabilities(other)[use], mass[use] / mass.sum()
    divergence = np.nan_to_num(jensenshannon(p, q, base=2, axis=1)) ** 2  # NaN: rounding below 0
    return Distance(float(weight @ np.abs(p - q).sum(axis=1) / 2), float(weight @ divergence))


def distances_of(made: Synthesis) -> tuple[Distance, Distance]:
    """Return the distance of synthetic transitions from the real ones, and that of two halves of the users.

    Halves are drawn by the names of users.
    """
    known = made.known
    synthetic = transition_counts(*made.first_and_second(), known.has)
    half = (generator(0, "halves").permutation(len(known.count)) % 2 == 0)[known.user]
    halves = known.transitions(half), known.transitions(~half)
    return transition_distance(known.transitions(), synthetic), transition_distance(*halves)


class Nearest(NamedTuple):
    """The other real user whose items are most like those of a sequence, shape (sequences,) each."""

    cosine: Floats
    contained: NDArray[np.bool_]
    """Whether some other user has all items of the sequence."""
    same: NDArray[np.bool_]
    """Whether some other user has these items and no more."""


def nearest_users(sequences: csr_array[Any, Any], users: Ints, taken: csr_array[Any, Any]) -> Nearest:
    """Find the nearest real user of each sequence of items, its own user left out.

    ``sequences`` and ``taken`` say which items a sequence and a user have, shape (sequences, items) and
    (users, items).
    """
    size, length = (np.asarray(matrix.sum(axis=1)).ravel() for matrix in (taken, sequences))
    parts = []
    for at in range(0, len(users), _COMPARED):
        part = slice(at, at + _COMPARED)
        shared = (sequences[part] @ taken.T).toarray()
        shared[np.arange(len(shared)), users[part]] = 0.0
        own = length[part, None]
        cosine = shared / np.sqrt(np.maximum(own * size, 1.0))
        whole = shared == own
        parts.append((cosine.max(axis=1), whole.any(axis=1), (whole & (size == own)).any(axis=1)))
    return Nearest(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def nearest_of(made: Synthesis) -> tuple[Nearest, Nearest]:
    """Return the nearest real users of synthetic sequences, and of as many last real items of each user."""
    known, shape = made.known, (len(made.known.count), len(made.known.has))
    users = np.unique(made.user)
    last = known.back <= np.bincount(made.user, minlength=shape[0])[known.user]
    pairs = ((made.user, made.item), (known.user[last], known.item[last]))
    synthetic, real = (nearest_users(incidence(*p, shape)[users], users, known.taken_items) for p in pairs)
    return synthetic, real


_NOTES = (
    (
        "Accepted: the share of new candidates that passed the constraints. Filled: the share of wanted "
        "steps that got an item. Tail: the two least popular bins."
    ),
    (
        "Transitions: the distance between the genres that follow a genre and those of the real "
        "interactions, the mean over genres; for comparison, the distance between two halves of the real "
        "users."
    ),
    (
        "Nearest: the cosine between a user's sequence and the most similar other real user; for "
        "comparison, the same for as many last real items of the user. Nearer: sequences with a higher "
        "cosine than the real items. Contained: one other user has all items of the sequence; the same: and "
        "no others."
    ),
    "Synthetic interactions are not behaviour of people. They never enter a truth.",
)


def shares_by_bin(items: Ints, bins: Ints) -> Floats:
    """Return the share of each popularity bin among rows of items."""
    count = np.bincount(bins[items], minlength=int(bins.max()) + 1)
    return np.asarray(count / max(1, count.sum()))


def tail_share(shares: Floats) -> float:
    """Return the share of the least popular bins."""
    return float(shares[-TAIL:].sum())


def curve_frame(made: Synthesis) -> pd.DataFrame:
    """Return the exposure curve: the share of each popularity bin in log, target and synthetic rows."""
    log = made.known.log.item
    shares = {
        "log": shares_by_bin(log, made.bins),
        "target": made.target,
        "synthetic": shares_by_bin(made.item, made.bins),
        "both": shares_by_bin(np.concatenate([log, made.item]), made.bins),
    }
    return pd.DataFrame({"bin": np.arange(len(made.target)), **shares})


def synthesis_frame(made: Synthesis, *pairs: LogSet) -> pd.DataFrame:
    """Return what is measured of synthetic interactions, and what it is to be compared with: a row each.

    ``pairs`` are the log with its own pairs, and with those that follow the synthetic exposure.
    """
    distance, halves = distances_of(made)
    nearest, real = nearest_of(made)
    nearer = float(np.mean(nearest.cosine > real.cosine)) if len(nearest.cosine) else np.nan
    names, items = "real items", made.known.log.items
    judged = [
        tail_share(shares_by_bin(items.get_indexer(pd.Index(d.table[FIRST])), made.bins)) for d in pairs
    ]
    rows: list[tuple[str, float, float, str]] = [
        ("interactions", len(made.item), made.wanted, "wanted"),
        ("accepted", made.accepted, np.nan, ""),
        ("filled", len(made.item) / max(1, made.wanted), np.nan, ""),
        ("tail", tail_share(shares_by_bin(made.item, made.bins)), tail_share(made.target), "target"),
        *([("tail of the pairs judged", judged[1], judged[0], "before")] if judged else []),
        ("passed by transition", made.by_transition.mean(), np.nan, ""),
        ("passed by similarity", made.by_similarity.mean(), np.nan, ""),
        ("transitions: total variation", distance.total_variation, halves.total_variation, "two halves"),
        ("transitions: Jensen-Shannon", distance.jensen_shannon, halves.jensen_shannon, "two halves"),
        ("nearest real user: median", np.median(nearest.cosine), np.median(real.cosine), names),
        ("nearer than real items", nearer, 0.5, "no difference"),
        ("contained in a real user", nearest.contained.mean(), real.contained.mean(), names),
        ("the same as a real user", nearest.same.mean(), real.same.mean(), names),
    ]
    return pd.DataFrame(rows, columns=["measure", "value", "against", "of"])


def synthesis_sheets(measures: pd.DataFrame, curve: pd.DataFrame, *, simulated: bool) -> list[Sheet]:
    """Lay out `synthesis_frame` and `curve_frame`."""
    shown = (
        Column("measure", "Measure"),
        *columns("number", value="Value", against="Against"),
        Column("of", "of"),
    )
    shares = columns("share", log="Log", target="Target", synthetic="Synthetic", both="Both")
    note = (
        "Bin 0 has the items with the most rows. Both: the rows of the log and the synthetic ones together."
    )
    bins, unreal = Column("bin", "Popularity bin", "counts"), Simulation(simulated)
    return [
        Sheet("synthesis", "Synthetic interactions", measures, shown, _NOTES, unreal),
        Sheet("exposure_curve", "Exposure by popularity", curve, (bins, *shares), (note,), unreal),
    ]
