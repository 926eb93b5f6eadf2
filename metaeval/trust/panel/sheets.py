"""Where the members of a panel of judges disagree, and what the panel gains over the best of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from metaeval.base.keys import key_columns, nouns_of
from metaeval.base.records import Scale
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.sentences import NO_BOOTSTRAP
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.coefficients.tables import Floats
from metaeval.trust.panel.gain import Fitting, Gain


def splits(scores: Floats, least: float | Floats, most: float | Floats) -> pd.DataFrame:
    """Measure the disagreement of K members on N units; NaN where fewer than two gave a score.

    Parameters
    ----------
    scores
        Shape (K, N); NaN for a missing score.
    least, most
        The ends of the scale, or of that of each unit, shape (N,).

    Returns
    -------
    DataFrame
        A row per unit: ``n_members`` that scored it, ``range`` (highest minus lowest score), ``sd``
        (population standard deviation), ``off_majority`` (share of the members who did not give the modal
        score), and ``split``: 0 if all gave the same score, 1 if half gave each end of the scale.

    Notes
    -----
    Ordinal disagreement is D of Leik (1966, Pacific Sociological Review 9, 85), 2 Σ min(F, 1 - F) / (m - 1)
    over the m ratings of a scale, F being the share of the members at or below one. The sum is the mean
    absolute deviation from the median, so D = 2 · deviation / (most - least), for any scores on the scale.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or not np.all(np.greater(most, least)):
        raise ValueError("scores must have two dimensions, and the scale a length")
    there = ~np.isnan(values)
    n = there.sum(axis=0)
    columns = np.arange(values.shape[1])
    ordered = np.sort(values, axis=0)  # NaN last
    last = np.maximum(n - 1, 0)

    def mean(of_members: Floats) -> Floats:
        total: Floats = np.where(there, of_members, 0.0).sum(axis=0) / np.maximum(n, 1)
        return total

    median = ordered[last // 2, columns]  # any median has the same mean deviation
    votes = (values[:, None] == values[None]).sum(axis=0)
    most_votes = np.where(there, votes, 0).max(axis=0, initial=0)
    measures = {
        "split": 2 * mean(np.abs(values - median)) / (most - least),
        "range": ordered[last, columns] - ordered[0],
        "sd": np.sqrt(mean((values - mean(values)) ** 2)),
        "off_majority": 1 - most_votes / np.maximum(n, 1),
    }
    known = {name: np.where(n >= 2, measure, np.nan) for name, measure in measures.items()}
    return pd.DataFrame({**known, "n_members": n})


SCORE = "score @ "
"""Begins the name of the column with a member's scores."""
_ASPECT = Column("aspect", "Aspect")
_SPLIT = (
    Column("split", "Ordinal disagreement", "number"),
    Column("range", "Range", "number"),
    Column("sd", "Standard deviation", "number"),
    Column("off_majority", "Off the majority", "share"),
)


def split_units(scores: pd.DataFrame, members: Sequence[str], scale: Scale) -> pd.DataFrame:
    """Measure the disagreement of the members of a panel on every unit and aspect.

    Returns
    -------
    DataFrame
        One row per unit and aspect that two or more members scored, the largest disagreement first: key
        columns, ``aspect``, the measures of `splits`, and each member's
        ``score @ NAME``.
    """
    keys = list(key_columns(scores))
    own = scores[scores["evaluator"].isin(list(members))]
    names = [*keys, "aspect"]
    wide = own.set_index([*names, "evaluator"])["score"].unstack()  # noqa: PD010 - nothing to sum up
    wide = wide.reindex(columns=list(members))
    scales = [scale.of(aspect) for aspect in wide.index.get_level_values("aspect")]
    least, most = np.array([s.min for s in scales]), np.array([s.max for s in scales])
    measures = splits(wide.to_numpy(float).T, least, most)
    of_members = wide.rename(columns=lambda name: f"{SCORE}{name}").reset_index(drop=True)
    whole = pd.concat([wide.index.to_frame(index=False), measures, of_members], axis=1)
    # Ties are ordered by name, whatever the order of the run.
    order = ["split", "range", "sd"]
    rising = [False] * len(order) + [True] * len(names)
    return whole[measures["n_members"] >= 2].sort_values(
        [*order, *names], ascending=rising, kind="stable", ignore_index=True
    )


def agreement_sheet(units: pd.DataFrame, members: Sequence[str], *, simulated: Simulation = REAL) -> Sheet:
    """Return ``panel``: the means of `split_units` by aspect, and the share of ``unanimous`` units."""
    groups = units.groupby("aspect", sort=True, observed=True)
    frame = groups.agg(
        n_units=("split", "size"),
        unanimous=("range", lambda of_units: float((of_units == 0).mean())),
        **{c.name: (c.name, "mean") for c in _SPLIT},
    ).reset_index()
    return Sheet(
        "panel",
        "Agreement of the panel",
        frame,
        (
            _ASPECT,
            Column("n_units", "Units", "count"),
            Column("unanimous", "All give the same", "share"),
            *_SPLIT,
        ),
        (
            f"The panel: {', '.join(members)}.",
            "Means over all units that two members or more scored; nothing is filled in.",
            "Ordinal disagreement (Leik 1966): 0 if all give the same score, 1 if half give each end.",
        ),
        simulated,
    )


def disagreements_sheet(
    units: pd.DataFrame,
    members: Sequence[str],
    n: int,
    *,
    called: Mapping[str, str] | None = None,
    simulated: Simulation = REAL,
) -> Sheet:
    """Return ``disagreements``: the ``n`` units of `split_units` that split the panel most.

    Each unit is listed with the aspect that splits it most. ``called`` maps key columns to nouns.
    """
    keys = list(units.columns[: units.columns.get_loc("aspect")])
    titles = nouns_of(keys) | dict(called or {})
    frame = units.drop_duplicates(keys).head(n).reset_index(drop=True)
    return Sheet(
        "disagreements",
        "Where the panel splits most",
        frame,
        (
            *(Column(k, titles[k].capitalize()) for k in keys),
            _ASPECT,
            *_SPLIT,
            *(Column(f"{SCORE}{name}", name, "number") for name in members),
        ),
        ("For each unit, the aspect on which the members differ most, with their scores.",),
        simulated,
    )


def gain_sheet(
    gains: Sequence[Gain],
    how: Fitting,
    people: str,
    *,
    between: Collection[str] = (),
    simulated: Simulation = REAL,
) -> Sheet:
    """Return ``gain``: the fields of `metaeval.trust.panel.gain.Gain`; ``between`` are levels of means."""
    frame = pd.DataFrame([asdict(gain) for gain in gains]).replace([np.inf, -np.inf], np.nan)
    return Sheet(
        "gain",
        "Gain of the panel over its best member",
        frame,
        (
            Column("level", "Level"),
            _ASPECT,
            Column("panel", "Panel"),
            Column("best", "Best member on all"),
            Column("in_sample", "Where it was chosen", "hundred"),
            Column("best_member", "Best member", "hundred"),
            Column("of_panel", "Panel", "hundred"),
            Column("gain", "Gain", "hundred", "ci_low", "ci_high"),
            Column("same", "Same choice", "share"),
        ),
        (
            "Pearson's r × 100 with the truth, as the study's policy fills missing scores.",
            f"The best member is chosen without the {people}s on whom it and the panel are evaluated.",
            f"There are {how.folds} folds, split {how.repeats} times.",
            f"{100 * how.confidence:g} % intervals: {how.resamples:,} resamples of the held-out {people}s.",
            "Intervals treat the choices as fixed: if choices vary, a gain is less certain than it seems.",
            "Same choice: how often the chosen member is the best on all.",
            *([NO_BOOTSTRAP] if any(gain.level in between for gain in gains) else []),
        ),
        simulated,
    )
