"""Histograms of the scores of evaluators, beside those of the true ratings."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.analysis.agreement.measures import on_scale as are_ratings
from metaeval.base.records import Kind
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.base.records import Scale
    from metaeval.base.simulation import Simulation
    from metaeval.stats.coefficients.tables import Floats

_MOST_STEPS = 12  # ratings of a whole-number scale up to which each has its own bin
_BINS = 10
_COLUMNS = ["evaluator", "place", "aspect", "low", "high", "share", "truth_share", "n_scores"]


def on_scale(scores: pd.DataFrame, scale: Scale, kinds: Mapping[str, Kind]) -> list[str]:
    """Return the evaluators whose scores are all ratings on a scale, or means of a few ratings.

    Reference-based evaluators are never among them, even if their scores lie on the scale.
    """
    found = []
    for name, own in scores.dropna(subset="score").groupby("evaluator", sort=False, observed=True):
        of_aspects = own.groupby("aspect", observed=True)["score"] if scale.own else [("", own["score"])]
        parts = ((values.to_numpy(dtype=np.float64), scale.of(str(aspect))) for aspect, values in of_aspects)
        if kinds.get(str(name)) != Kind.REFERENCE and all(itertools.starmap(are_ratings, parts)):
            found.append(str(name))
    return found


def edges_of(scale: Scale) -> Floats:
    """Return the edges of the bins: half-way between ratings, or of 10 bins for a scale of many ratings."""
    steps = scale.max - scale.min
    if scale.integer and steps < _MOST_STEPS:
        return np.arange(scale.min - 0.5, scale.max + 1.0)
    return np.linspace(scale.min, scale.max, _BINS + 1)


def distributions(
    scores: pd.DataFrame,
    truth: pd.DataFrame,
    scale: Scale,
    *,
    kinds: Mapping[str, Kind],
    truth_name: str = "truth",
    simulated: Simulation = REAL,
) -> Sheet | None:
    """Count how often scores fall into each bin, for every evaluator and for the truth.

    Parameters
    ----------
    scores, truth
        Key columns, ``evaluator``, ``aspect``, ``score``; key columns, ``aspect``, ``rating``.

    Returns
    -------
    Sheet or None
        A row per evaluator, aspect and bin: ``place`` of the evaluator (0 is the truth), the bin's ``low``
        and ``high`` end, the ``share`` of the scores in it, the ``truth_share`` of the ratings in it (NaN for
        evaluators that are not on the truth's scale, and have 10 bins over their own range) and ``n_scores``.
        None if the truth has no rating.
    """
    rated = truth[truth["rating"].notna()]
    scored = scores[scores["score"].notna()]
    aspects = [str(a) for a in truth["aspect"].unique()]
    if rated.empty or scored.empty:
        return None
    ratings = set(on_scale(scored, scale, kinds))
    of_evaluators = scored.groupby("evaluator", sort=False, observed=True)
    rows: list[tuple[Any, ...]] = []
    of_truth: dict[str, Floats] = {}
    for place, (name, own) in enumerate([(truth_name, rated.assign(score=rated["rating"])), *of_evaluators]):
        on = place == 0 or name in ratings
        own_edges = None if on else _own_edges(own["score"].to_numpy())
        given = dict(iter(own.groupby("aspect", sort=False, observed=True)["score"]))
        for aspect in aspects:
            borders = edges_of(scale.of(aspect)) if own_edges is None else own_edges
            values = given[aspect].to_numpy(dtype=np.float64) if aspect in given else np.zeros(0)
            share = shares(values, borders)
            if place == 0:
                of_truth[aspect] = share
            truth_share = of_truth[aspect] if place and on else np.full(len(share), np.nan)
            bins = zip(borders[:-1], borders[1:], share, truth_share, strict=True)
            rows += [(str(name), place, aspect, *one, len(values)) for one in bins]
    names = [str(n) for n in scores["evaluator"].unique()]
    there = set(scored["evaluator"].unique())
    unscored = [n for n in names if n not in there]
    return Sheet(
        "distributions",
        "How often each score is given",
        pd.DataFrame(rows, columns=_COLUMNS),
        (
            Column("evaluator", "Evaluator"),
            Column("aspect", "Aspect"),
            Column("low", "from", "number"),
            Column("high", "to", "number"),
            Column("share", "Scores", "share"),
            Column("truth_share", "Truth", "share"),
            Column("n_scores", "Number of scores", "count"),
        ),
        tuple(_notes(scale, sorted(ratings), names, unscored)),
        simulated,
    )


def shares(values: Floats, edges: Floats) -> Floats:
    """Return the share of the values in each bin; one on a border counts half in both bins. NaN for none."""
    n_bins = len(edges) - 1
    if not len(values):
        return np.full(n_bins, np.nan)
    sides: tuple[Any, Any] = ("left", "right")
    places = [np.clip(np.searchsorted(edges, values, side) - 1, 0, n_bins - 1) for side in sides]
    counts = [np.bincount(p, minlength=n_bins) for p in places]
    found: Floats = (counts[0] + counts[1]) / 2 / len(values)
    return found


def _own_edges(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    edges = np.linspace(low, high, _BINS + 1)
    # A constant score, or a range too small for ten bins, has one bin.
    return edges if (np.diff(edges) > 0).all() else np.array([low - 0.5, high + 0.5])


def _notes(
    scale: Scale, ratings: Sequence[str], names: Sequence[str], unscored: Sequence[str]
) -> Iterator[str]:
    yield f"Share of the scores in each bin; ratings are {scale}."
    yield "A score on the border of two bins counts as half in each."
    if ratings:
        yield "The outline is the truth, beside evaluators that score on its scale."
    if len(ratings) + len(unscored) < len(names):
        yield f"Evaluators on other scales have {_BINS} bins over their own range, the same for all aspects."
    if unscored:
        yield f"Without any score, and left out: {', '.join(unscored)}."
