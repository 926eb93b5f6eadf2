"""Sheets of verdicts on pairs: the outcomes of the pairs, and the ranking of the generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.errors import DataError
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.strengths import METHODS
from metaeval.evaluators.verdicts import FLIP, FLIPS, OUTCOMES, comparisons_of
from metaeval.stats.ranking.comparisons import ELO_K, PRIOR
from metaeval.trust.verdicts.rates import FIRST_NOTE, FIRST_SHARE, intervals_note, with_first_shares
from metaeval.trust.verdicts.strengths import rank_by_verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation
    from metaeval.evaluators.verdicts import Flips

_FIRST, _SECOND, _TIE = (OUTCOMES.index(o) for o in (FIRST, SECOND, TIE))
_SHORT = {"bradley-terry": "bt", "elo": "elo", "win-rate": "win_rate"}
_PAIRS = (
    Column("evaluator", "Evaluator"),
    Column("aspect", "Aspect"),
    Column("pairs", "Pairs asked", "count"),
    Column("wins", "Consistent wins", "count"),
    Column("ties", "Ties", "count"),
    Column("flips", "Flips", "count"),
    Column("failed", "Failed", "count"),
    Column("flip_share", "Share of flips", "share", "flip_share_low", "flip_share_high"),
    FIRST_SHARE,
)
_OF_PAIRS = (
    "Every pair is asked about in both orders; people say it once, in an order that is drawn.",
    "A win, or a tie, counts only if both orders say so; a flip is a pair on which they differ.",
    "A pair has failed if an order has no verdict.",
    "Share of flips: among pairs with two verdicts.",
    FIRST_NOTE,
)
_OF_RANKING = (
    "Bradley–Terry: log strengths, their mean 0; a difference d is odds of exp(d) to 1 of winning.",
    f"Each generator is given {PRIOR:g} tie with an opponent of fixed strength, so that none is infinite.",
    f"Elo: from 1000, K = {ELO_K:g}, comparisons in a drawn order; 400 points are odds of 10 to 1.",
    "Win rate: the mean over opponents of the share of points. A tie is half a point.",
    "Ranks begin at the best; equal strengths share one. A row of the average is the mean over aspects.",
)


def pairwise_sheets(
    verdicts: pd.DataFrame,
    *,
    flips: Mapping[str, Flips] | None = None,
    resamples: int = 1_000,
    seed: int = 0,
    simulated: Simulation = REAL,
) -> list[Sheet]:
    """Return the outcomes of the pairs, and the generators as each evaluator ranks them.

    Parameters
    ----------
    verdicts
        See `metaeval.evaluators.verdicts`.
    flips
        Evaluator → how it counts a flip; default: ``tie``.
    resamples, seed
        Of users, or of items in data without users.
    simulated
        Whether the data are, and which evaluators.

    Raises
    ------
    DataError
        If there are no verdicts, or they are not valid.
    """
    import pandas as pd

    if verdicts.empty:
        raise DataError("there are no verdicts on pairs")
    how = intervals_note(verdicts, resamples, seed)
    found = comparisons_of(verdicts)
    rows: list[dict[str, Any]] = []
    ranked: list[pd.DataFrame] = []
    rules = set()
    for evaluator, part in found.groupby("evaluator", sort=False, observed=True):
        rule = (flips or {}).get(str(evaluator), FLIPS[0])
        rules.add(rule)
        rows += [{"evaluator": evaluator, **row} for row in _pairs_rows(part, resamples, seed)]
        for strengths in rank_by_verdicts(part, flips=rule, resamples=resamples, seed=seed):
            frame = strengths.counts.assign(generator=list(strengths.generators))
            frame.insert(0, "evaluator", evaluator)
            frame.insert(1, "aspect", strengths.aspect)
            for m, method in enumerate(METHODS):
                short = _SHORT[method]
                frame[short] = strengths.estimate[m]
                frame[f"{short}_low"], frame[f"{short}_high"] = strengths.low[m], strengths.high[m]
                frame[f"{short}_rank"] = _ranks(strengths.estimate[m])
            ranked.append(frame.sort_values(["bt_rank", "generator"], kind="stable"))
    shown = simulated.among(map(str, found["evaluator"].unique()))
    frames = [pd.DataFrame(rows), pd.concat(ranked, ignore_index=True)]
    for frame in frames:
        frame["evaluator"] = frame["evaluator"].astype(str).map(simulated.label)
    notes = (*_OF_PAIRS, how)
    pairs = Sheet("pairs", "Outcomes of the pairs", frames[0], _PAIRS, notes, shown)
    return [pairs, _ranking_sheet(frames[1], how, rules, shown)]


def _pairs_rows(comparisons: pd.DataFrame, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the outcomes of one evaluator's pairs, aspect by aspect."""
    aspects = comparisons["aspect"].astype(str).to_numpy()
    outcome = comparisons["outcome"].to_numpy()
    names = [str(a) for a in comparisons["aspect"].unique()]
    here = np.stack([aspects == a for a in names], axis=1)
    valid = ((outcome >= 0) & (comparisons["due"] == 2).to_numpy())[:, None] & here
    hits = valid & (outcome == FLIP)[:, None]
    shares = with_first_shares(comparisons, here, hits, valid, resamples=resamples, seed=seed)
    for mine, name, (flip_share, first_share) in zip(here.T, names, shares, strict=True):
        kinds = outcome[mine]
        yield {
            "aspect": name,
            "pairs": len(kinds),
            "wins": int(np.isin(kinds, (_FIRST, _SECOND)).sum()),
            "ties": int((kinds == _TIE).sum()),
            "flips": int((kinds == FLIP).sum()),
            "failed": int((kinds < 0).sum()),
            **flip_share.row("flip_share"),
            **first_share.row("first_share"),
        }


def _ranking_sheet(frame: pd.DataFrame, how: str, rules: set[Flips], simulated: Simulation) -> Sheet:
    said = {"tie": "A flip is half a point for each side.", "drop": "A flip is not counted."}
    rule = said[next(iter(rules))] if len(rules) == 1 else "A flip counts as the evaluator's signature says."
    columns = [
        Column("evaluator", "Evaluator"),
        Column("aspect", "Aspect"),
        Column("generator", "Generator"),
        Column("bt_rank", "Rank", "count"),
        Column("bt", "Bradley–Terry", "number", "bt_low", "bt_high"),
        Column("elo_rank", "Rank", "count"),
        Column("elo", "Elo", "number", "elo_low", "elo_high"),
        Column("win_rate_rank", "Rank", "count"),
        Column("win_rate", "Win rate", "share", "win_rate_low", "win_rate_high"),
        *(Column(c, c.capitalize(), "count") for c in ("pairs", "won", "lost", "ties", "flips", "failed")),
    ]
    return Sheet(
        "ranking",
        "Generators, as pairwise judges rank them",
        frame,
        tuple(columns),
        (*_OF_RANKING, rule, how),
        simulated,
    )


def _ranks(strengths: Any) -> Any:  # noqa: ANN401 - float64 of shape (generators,)
    """Return ranks from 1; strengths that differ by rounding errors alone are tied, and NaN has no rank."""
    rounded = np.round(strengths, 9)
    ranks = 1.0 + (rounded[None, :] > rounded[:, None]).sum(axis=1)
    return np.where(np.isnan(rounded), np.nan, ranks)
