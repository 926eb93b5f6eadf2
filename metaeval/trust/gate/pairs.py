"""The scores that a gate compares: one judge's scores of a system, now and at the baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.keys import author_key, key_columns, nouns_of
from metaeval.base.simulation import REAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import ArrayLike

    from metaeval.base.simulation import Simulation


CALL_DIGITS = 16
"""Digits kept of the key of a question: enough to recognise it."""


@dataclass(frozen=True, slots=True, eq=False)
class GateScores:
    """One judge's scores of one system's texts."""

    frame: pd.DataFrame
    """Key columns, ``category`` (empty without one), ``aspect``, ``score`` (NaN if missing) and ``call``
    (the first digits of the question's key; empty if unknown)."""
    evaluator: str
    identity: Mapping[str, object]
    """Of the judge: `metaeval.trust.calibration.identity.identity`."""
    scale: tuple[float, float]
    data: str
    fingerprint: str
    simulated: Simulation = REAL
    called: Mapping[str, str] = field(default_factory=dict)
    """Key column → noun; default: from its name."""
    cluster: str = ""
    """The key column that units are clustered by; default: the first."""

    @property
    def nouns(self) -> dict[str, str]:
        """Each key column, in order → noun."""
        plain = nouns_of(k for k in key_columns(self.frame) if k != "category")
        return {key: self.called.get(key, noun) for key, noun in plain.items()}

    @property
    def keys(self) -> list[str]:
        """The key columns."""
        return list(self.nouns)

    @property
    def usual_cluster(self) -> str:
        """The noun for the default cluster."""
        return self.nouns[self.cluster or self.keys[0]]

    @property
    def generators(self) -> list[str]:
        """The generators whose texts were scored; empty if no key names them."""
        author = author_key(self.nouns)
        return sorted(map(str, self.frame[author].unique())) if author else []


def cells_of(current: GateScores, baseline: GateScores | None, by: str) -> list[tuple[str, str]]:
    """Return every aspect, alone ("") and with each category, of the run or of the baseline."""
    frames = [current.frame, *([baseline.frame] if baseline else [])]
    aspects = list(dict.fromkeys(str(aspect) for f in frames for aspect in f["aspect"].unique()))
    categories = sorted({str(c) for f in frames for c in f["category"].unique()} - {""}) if by else []
    return [(aspect, category) for aspect in aspects for category in ("", *categories)]


def paired(current: GateScores, baseline: GateScores) -> tuple[pd.DataFrame, list[str]]:
    """Match the units of a run with those of a baseline.

    Returns
    -------
    DataFrame
        One row per unit of the baseline and aspect: key columns, ``category``, ``aspect``, ``score``,
        ``before``, and ``same``: the same question got the same score.
    list of str
        Sentences on units that were not matched.

    Raises
    ------
    MetaevalError
        If their scales or key columns differ, or no unit is in both.
    """
    if current.scale != baseline.scale:
        (a, b), (c, d) = baseline.scale, current.scale
        raise MetaevalError(
            f"the baseline's scale is {a:g} to {b:g} and the run's is {c:g} to {d:g}: scores on different "
            "scales cannot be compared; write a new baseline"
        )
    if current.keys != baseline.keys:
        raise MetaevalError(
            f"the baseline's units are named by {', '.join(baseline.keys)} and the run's by "
            f"{', '.join(current.keys)}; write a new baseline"
        )
    keys, notes, author = current.keys, [], author_key(current.nouns)
    ours, theirs = current.generators, baseline.generators
    if author and not set(ours) & set(theirs):
        if len(ours) != 1 or len(theirs) != 1:
            raise MetaevalError(
                f"the run has the generators {', '.join(ours)} and the baseline has {', '.join(theirs)}: "
                "give the one to compare with --generator"
            )
        keys.remove(author)
        notes.append(f"The texts of {ours[0]} are compared with those of {theirs[0]} in the baseline.")
    by = [*keys, "aspect"]
    before = baseline.frame[[*by, "category", "score", "call"]]
    before = before.rename(columns={"score": "before", "call": "asked", "category": "old_category"})
    both = current.frame.merge(before, on=by, how="outer", indicator=True)
    if not (both["_merge"] == "both").any():
        raise MetaevalError(
            f"no unit of the run is in the baseline: they are matched by {', '.join(keys)}; "
            f"compare runs on the same {' and '.join(f'{current.nouns[k]}s' for k in keys if k != author)}"
        )
    added = both["_merge"] == "left_only"
    if added.any():
        units = both.loc[added, keys].drop_duplicates()
        notes.append(f"{counted(len(units), 'unit')} of the run not in the baseline, and not compared.")
    both = both[~added].reset_index(drop=True)
    both["category"] = both["category"].fillna(both["old_category"]).fillna("")
    whole = current.fingerprint == baseline.fingerprint and current.identity == baseline.identity
    asked = whole | ((both["call"] == both["asked"]) & (both["call"].fillna("") != ""))
    both["same"] = asked & (both["score"] == both["before"])
    return both.drop(columns=["_merge", "old_category", "asked", "call"]), notes


def ends(current: GateScores, baseline: GateScores | None) -> tuple[float, float]:
    """Return the lowest and highest score possible: the scale's ends, or scores beyond them."""
    scores = [s.frame["score"].to_numpy(float) for s in (current, *([baseline] if baseline else []))]
    given = np.concatenate([*scores, np.asarray(current.scale, dtype=float)])
    return float(np.nanmin(given)), float(np.nanmax(given))


def cell(frame: pd.DataFrame, aspect: str, category: str) -> pd.DataFrame:
    """Return the rows of an aspect, or of a category within it."""
    there = frame["aspect"] == aspect
    return frame[there & (frame["category"] == category)] if category else frame[there]


def clusters_of(frame: pd.DataFrame, column: str) -> ArrayLike:
    """Return the cluster of each row from a key column; without a column, each row is one."""
    return [str(v) for v in frame[column]] if column else np.arange(len(frame))
