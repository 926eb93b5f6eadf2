"""What a panel's members disagree on, and what the panel is worth, as sheets."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.keys import key_columns, nouns_of
from metaeval.base.simulation import REAL
from metaeval.engine.sentences import NO_BOOTSTRAP
from metaeval.engine.sheet import Column, Sheet
from metaeval.trust.panel.splits import splits

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from metaeval.base.simulation import Simulation
    from metaeval.trust.panel.gain import Fitting, Gain

SCORE = "score @ "
"""Before a member's name: the column with its score."""
_MEASURES = ("split", "range", "sd", "off_majority", "n_members")


def split_units(scores: pd.DataFrame, members: Sequence[str], least: float, most: float) -> pd.DataFrame:
    """Measure the disagreement of a panel over every unit and aspect.

    Parameters
    ----------
    scores
        Key columns, ``evaluator``, ``aspect``, ``score``; NaN for none.
    members
        The evaluators that make the panel.
    least, most
        The ends of the scale.

    Returns
    -------
    DataFrame
        A row a unit and aspect that two members or more scored, the most disputed first: key columns,
        ``aspect``, ``split``, ``range``, ``sd``, ``off_majority`` (see `metaeval.trust.panel.splits.Splits`),
        ``n_members``, and a column ``score @ NAME`` a member.
    """
    keys = list(key_columns(scores))
    own = scores[scores["evaluator"].isin(list(members))]
    names = [*keys, "aspect"]
    wide = own.set_index([*names, "evaluator"])["score"].unstack()  # noqa: PD010 - nothing to sum up
    wide = wide.reindex(columns=list(members))
    found = splits(wide.to_numpy(float).T, least, most)
    of_members = wide.rename(columns=lambda name: f"{SCORE}{name}").reset_index(drop=True)
    measures = pd.DataFrame({name: getattr(found, name) for name in _MEASURES})
    whole = pd.concat([wide.index.to_frame(index=False), measures, of_members], axis=1)
    # Equal ones are ordered by their names, whatever the order of the run.
    order = ["split", "range", "sd"]
    rising = [*(False for _ in order), *(True for _ in names)]
    return whole[found.n_members >= 2].sort_values(
        [*order, *names], ascending=rising, kind="stable", ignore_index=True
    )


def agreement_sheet(units: pd.DataFrame, members: Sequence[str], *, simulated: Simulation = REAL) -> Sheet:
    """Sum up how far a panel agrees, by aspect.

    Returns
    -------
    Sheet
        ``panel``: ``aspect``, ``n_units``, ``unanimous`` (share of the units), ``split``, ``range``, ``sd``
        and ``off_majority`` (means over the units).
    """
    groups = units.groupby("aspect", sort=True, observed=True)
    frame = groups.agg(
        n_units=("split", "size"),
        unanimous=("range", lambda of_units: float((of_units == 0).mean())),
        split=("split", "mean"),
        range=("range", "mean"),
        sd=("sd", "mean"),
        off_majority=("off_majority", "mean"),
    ).reset_index()
    return Sheet(
        "panel",
        "How far the panel agrees",
        frame,
        (
            Column("aspect", "Aspect"),
            Column("n_units", "Units", "count"),
            Column("unanimous", "All give the same", "share"),
            Column("split", "Ordinal disagreement", "number"),
            Column("range", "Range", "number"),
            Column("sd", "Standard deviation", "number"),
            Column("off_majority", "Off the majority", "share"),
        ),
        (
            f"The panel: {', '.join(members)}.",
            "Means over all units that two members or more scored; nothing is filled in.",
            "Ordinal disagreement (Leik 1966): 0 if all give the same, 1 if half give each end of the scale.",
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
    """Return the units on which a panel splits most, each once, by the aspect on which it splits most.

    Returns
    -------
    Sheet
        ``disagreements``: the columns of `split_units`, for at most ``n`` units. ``called`` says what the
        values of key columns are called; by their names, if left out.
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
            Column("aspect", "Aspect"),
            Column("split", "Ordinal disagreement", "number"),
            Column("range", "Range", "number"),
            Column("sd", "Standard deviation", "number"),
            Column("off_majority", "Off the majority", "share"),
            *(Column(f"{SCORE}{name}", name, "number") for name in members),
        ),
        ("Of each unit the aspect on which the members differ most, with their scores for it.",),
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
    """Return what panels gain over their best member; ``between`` are levels that correlate means.

    Returns
    -------
    Sheet
        ``gain``: the fields of `metaeval.trust.panel.gain.Gain`.
    """
    frame = pd.DataFrame([asdict(gain) for gain in gains]).replace([np.inf, -np.inf], np.nan)
    return Sheet(
        "gain",
        "What a panel gains over its best member",
        frame,
        (
            Column("level", "Level"),
            Column("aspect", "Aspect"),
            Column("panel", "Panel"),
            Column("best", "Best member on all"),
            Column("in_sample", "On those it was chosen on", "hundred"),
            Column("best_member", "Best member", "hundred"),
            Column("of_panel", "Panel", "hundred"),
            Column("gain", "Gain", "hundred", "ci_low", "ci_high"),
            Column("same", "Same choice", "share"),
        ),
        (
            "Pearson's r × 100 with the truth, as the study's policy fills missing scores.",
            f"The best member is chosen without the {people}s on whom it and the panel are judged.",
            f"That is done with {how.folds} folds, split {how.repeats} times.",
            f"{100 * how.confidence:g} % intervals: {how.resamples:,} resamples of the held-out {people}s.",
            "They take the choices as they are: where these are unsteady, a gain is less sure than it seems.",
            "Same choice: how often the member that was chosen is the best on all.",
            *([NO_BOOTSTRAP] if any(gain.level in between for gain in gains) else []),
        ),
        simulated,
    )
