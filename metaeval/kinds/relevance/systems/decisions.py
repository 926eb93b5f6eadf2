"""What would be decided by an evaluator's labels: which systems are better, and which one is chosen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.relevance.data.collection import ITEM, USER
from metaeval.kinds.relevance.scored import RelevanceScored
from metaeval.kinds.relevance.systems.effectiveness import Effectiveness, RankedRuns, effectiveness
from metaeval.kinds.relevance.systems.systems import ALL_EVALUATORS, BY, PAIR, Systems, of_systems, of_truth
from metaeval.kinds.table import INTERVALS, KindTable
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.cluster_sums import ratio
from metaeval.stats.resampling.rank_ranges import range_text, ranges_of
from metaeval.stats.resampling.significance import freedom, holm

HISTORY = "histories"
"""The source of a measure by what users chose themselves."""
_SIDE_BY_SIDE = 6  # sources of the table of candidates, so that it is not too wide


def p_better(effects: Effectiveness, measure: str) -> Floats:
    """Return one-sided p-values that the row's system is better than the column's, shape (systems, systems).

    Student's t of the paired differences over users, Holm-corrected over all ordered pairs, because the
    direction comes from the same data. NaN on the diagonal and for few users.
    """
    from scipy.special import stdtr

    values = effects.of_user[measure][:, effects.users]
    counted = np.broadcast_to(effects.counted[:, effects.users], values.shape)
    p = np.full((len(values), len(values)), np.nan)
    for row, (own, there) in enumerate(zip(values, counted, strict=True)):
        both = counted & there
        n = both.sum(axis=1)
        apart = ratio(np.where(both, own - values, 0.0).sum(axis=1), n)
        squares = (np.where(both, own - values - apart[:, None], 0.0) ** 2).sum(axis=1)
        error = np.sqrt(ratio(squares, n * (n - 1.0)))
        known = error > 1e-12  # systems with the same list for everybody do not differ
        t = np.divide(apart, error, out=np.zeros_like(apart), where=known)
        p[row] = np.where(known, stdtr(freedom(n), -t), np.where(apart > 1e-12, 2.0**-n, 1.0))
        p[row, n < 2] = np.nan
    np.fill_diagonal(p, np.nan)
    return holm(p)


def system_values(systems: Systems) -> pd.DataFrame:
    """Return a row per evaluator, measure and system: its mean over users, with a bootstrap interval.

    ``n_users`` have a label, ``n_missing`` of them no list.
    """
    parts = []
    for evaluator, effects in systems.by_evaluator.items():
        for measure in systems.measures:
            means = systems.estimate(effects.sums(measure))
            better = p_better(effects, measure) <= systems.alpha
            low, high = ranges_of(better, ~np.isnan(means.value))
            columns = {
                "evaluator": evaluator,
                "measure": measure,
                "system": systems.runs.systems,
                "value": means.value,
                "ci_low": means.low,
                "ci_high": means.high,
                "n_users": int(effects.users.sum()),
                "judged": effects.judged[measure],
                "n_missing": effects.missing,
                "rank_range": [*map(range_text, low.tolist(), high.tolist())],
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


SYSTEMS = KindTable(
    "systems.csv",
    "Systems by the labels of the truth",
    (
        *BY,
        Column("system", "System"),
        Column("value", "Mean", "decimal", "ci_low", "ci_high"),
        Column("rank_range", "Rank range", keep=True),
        Column("judged", "Judged", "share"),
        Column("n_users", "Users", "count"),
        Column("n_missing", "Users without a list", "count"),
    ),
    of_systems(system_values),
    (
        (
            "A user without a list of a system counts as 0 for it. Judged: the share of labelled items among "
            "those that the measure reads."
        ),
        (
            "A rank range has the ranks that the data allow; all hold at once: paired t-tests over users, "
            "Holm's correction over ordered pairs."
        ),
        ALL_EVALUATORS,
        INTERVALS,
    ),
    shown=of_truth,
)


def decisions(systems: Systems) -> pd.DataFrame:
    """Count on which significant differences between systems an evaluator agrees with the truth.

    Of ``n_truth`` pairs of systems that differ significantly by the truth, it has the shares that the
    evaluator finds (``agree``), does not find (``miss``) and finds the other way (``reversed``); of
    ``n_judge`` that differ by the evaluator, the share that does not differ by the truth (``extra``).
    """
    rows = []
    for pair in systems.pairs:
        true = p_better(systems.by_evaluator[systems.truth], pair.truth) <= systems.alpha
        n_true = int(true.sum())
        for name, effects in systems.by_evaluator.items():
            own = p_better(effects, pair.judge) <= systems.alpha
            n_own = int(own.sum())
            agree, reverse = int((true & own).sum()), int((true & own.T).sum())
            rows.append(
                {
                    "evaluator": name,
                    "measure": pair.judge,
                    "truth_measure": pair.truth,
                    "n_truth": n_true,
                    "agree": agree / n_true if n_true else np.nan,
                    "miss": (n_true - agree - reverse) / n_true if n_true else np.nan,
                    "reversed": reverse / n_true if n_true else np.nan,
                    "n_judge": n_own,
                    "extra": (n_own - agree - reverse) / n_own if n_own else np.nan,
                    "n_pairs": len(true) * (len(true) - 1) // 2,
                }
            )
    return pd.DataFrame(rows)


DECISIONS = KindTable(
    "system_decisions.csv",
    "Significant differences between systems",
    (
        *PAIR,
        Column("agree", "Found", "share"),
        Column("miss", "Missed", "share"),
        Column("reversed", "Reversed", "share"),
        Column("n_truth", "Differences", "count"),
        Column("extra", "Of its own", "share"),
        Column("n_judge", "Its differences", "count"),
        Column("n_pairs", "Pairs", "count"),
    ),
    of_systems(decisions),
    (
        (
            "Differences: pairs of systems of which one is significantly better by the truth (paired t-tests "
            "over users, Holm's correction). Of its own: the share of an evaluator's differences that "
            "are not significant by the truth."
        ),
    ),
)


def selection(systems: Systems) -> pd.DataFrame | None:
    """Put what the truth, each evaluator and the histories of users say of the systems side by side.

    ``best`` is the system that the source picks, ``disagreements`` counts pairs of systems that it orders the
    other way than the truth. None without evaluators.
    """
    if not systems.others:
        return None
    pair, names = systems.pairs[0], systems.runs.systems
    true = systems.by_evaluator[systems.truth].means(pair.truth)
    sources = {systems.truth: (pair.truth, true)}
    sources |= {n: (pair.judge, systems.by_evaluator[n].means(pair.judge)) for n in systems.others}
    history = _by_history(systems)
    if history is not None:
        sources[HISTORY] = (pair.truth, history)
    first, second = np.triu_indices(len(true), 1)
    parts = []
    for source, (measure, values) in sources.items():
        apart = [np.sign((v[first] - v[second]).round(12)) for v in (true, values)]
        columns = {
            "source": source,
            "measure": measure,
            "system": names,
            "value": values,
            "rank": ranks(values),
            "rank_truth": ranks(true),
            "best": names[int(values.argmax())],
            "disagreements": int((apart[0] * apart[1] < 0).sum()),
            "n_pairs": len(first),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _by_history(systems: Systems) -> Floats | None:
    """Return each system's mean by what users chose themselves: an item of the history is relevant, no other.

    None if no list has an item of its user's history, as where systems recommend new items only.
    """
    data = systems.data
    if data.histories is None:
        return None
    units = data.histories[[USER, ITEM]].drop_duplicates()
    ranked = RankedRuns.of(data.runs, units)
    measure = systems.measures[systems.pairs[0].truth]
    effects = effectiveness(ranked, np.full(len(units), float(measure.relevant)), [measure])
    values = effects.means(measure.name)
    return values if values.any() else None


def _selection_sheets(scored: RelevanceScored, frame: pd.DataFrame) -> Iterator[Sheet]:
    """Yield what each source picks, and the candidates side by side."""
    sources = [str(source) for source in frame["source"].unique()]
    simulated = scored.scores.simulation
    notes = []
    if HISTORY in sources:
        notes.append(f"By {HISTORY}: an item is relevant if the user's own history has it.")
    picked = frame[frame["system"] == frame["best"]].drop_duplicates("source").reset_index(drop=True)
    columns = tuple(column for column in SELECTION.columns if column.title)
    yield Sheet(SELECTION.name, SELECTION.title, picked, columns, tuple(notes), simulated)
    shown = sources[:_SIDE_BY_SIDE]
    wide = frame.pivot_table(index="system", columns="source", values="value", sort=False)[shown]
    if len(shown) < len(sources):
        notes.append(f"The first {_SIDE_BY_SIDE} of {len(sources)} are shown.")
    yield Sheet(
        "candidates",
        "Systems side by side",
        wide.reset_index().sort_values(shown[0], ascending=False, ignore_index=True),
        (Column("system", "System"), *(Column(source, source, "decimal") for source in shown)),
        ("Means of the systems, the best by the truth first.", *notes),
        simulated,
    )


SELECTION = KindTable(
    "model_selection.csv",
    "The best system by each evaluator",
    (
        Column("source", "By"),
        Column("measure", "Measure"),
        Column("best", "Best system"),
        Column("value", "Its mean", "decimal"),
        Column("rank_truth", "Its rank by the truth", "rank"),
        Column("disagreements", "Pairs in another order than by the truth", "count"),
        Column("n_pairs", "Pairs", "count"),
        Column("system", ""),
    ),
    of_systems(selection),
    layout=_selection_sheets,
)


def ranks(values: Floats) -> Floats:
    """Return the rank of each system, 1 for the highest value; ties share the mean of theirs."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-values.round(12)), dtype=np.float64)
