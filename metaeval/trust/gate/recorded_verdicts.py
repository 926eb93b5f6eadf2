"""The verdicts on pairs in a file as scores of a gate: points of a system, or whether they are right."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.records import FIRST, SECOND
from metaeval.evaluators.verdicts import NO_VERDICT, Flips, pair_keys, points_of
from metaeval.trust.gate.baseline import GateScores
from metaeval.trust.verdicts.accuracy import against_gold
from metaeval.trust.verdicts.judged import evaluators_in, verdicts_of

ACCURACY, WIN_RATE = "accuracy", "win rate"
"""What is checked of verdicts that name no aspect."""
SAID = (
    "A pair counts by the share of its verdicts that are the gold preference: the mean is the accuracy.",
    (
        "A pair counts 1 where the generator wins in the eyes of the judge, 0.5 for a tie or a flip, 0 where "
        "it loses, or the share that a verdict gives it: the mean is its win rate."
    ),
)
"""What is said of an accuracy, and of a win rate."""


def scores_of_file(
    path: Path,
    by: str,
    *,
    evaluator: str | None,
    generators: Sequence[str] = (),
    against: str | None = None,
    labels: Path | None = None,
) -> GateScores:
    """Return the verdicts in a file as the scores that a gate checks.

    With a generator it is what this wins ``against`` another, else the share of a pair's verdicts that are
    right. ``by`` is a kept column, of categories; ``labels`` are people's verdicts in place of its gold
    preferences. `MetaevalError` is raised if what is checked is not clear.
    """
    verdicts = verdicts_of(path, labels)
    names = evaluators_in(verdicts, [evaluator] if evaluator else ())
    if len(names) > 1:
        raise MetaevalError(
            f"{path} has {len(names)} evaluators: choose one with --evaluator ({', '.join(names)})"
        )
    verdicts = verdicts[verdicts["evaluator"] == names[0]]
    keys, sides = pair_keys(verdicts), [FIRST, SECOND]
    compared = against_gold(verdicts, [by] if by and by not in keys else ())
    if generators:
        compared, what = _wins(compared, generators, against), WIN_RATE
    elif against is not None:
        raise MetaevalError("--against names whom a generator is compared with: name it with --generator")
    else:
        compared, what, keys = _right(compared), ACCURACY, [*keys, *sides]
    scores = compared[[*keys, "score"]].assign(call="", category=compared[by].astype(str) if by else "")
    aspect = compared["aspect"].astype(str)
    scores["aspect"] = aspect.where(aspect != "", what)
    digest, frame = hashlib.sha256(path.read_bytes()).hexdigest(), scores.reset_index(drop=True)
    return GateScores(frame, names[0], {"evaluator": names[0]}, (0.0, 1.0), path.name, digest)


def _right(compared: pd.DataFrame) -> pd.DataFrame:
    """Return pairs with a gold preference, and the share of their verdicts that are it."""
    known = compared[compared["gold"] != NO_VERDICT]
    if known.empty:
        raise MetaevalError(
            "no pair has a gold preference, so there is no accuracy: give people's verdicts with --labels, "
            "or check a win rate with --generator"
        )
    shown = known[["shown_first", "shown_second"]].to_numpy()
    given = (shown != NO_VERDICT).sum(axis=1)
    hits = (shown == known[["gold"]].to_numpy()).sum(axis=1)
    return known.assign(score=np.where(given > 0, hits / np.maximum(given, 1), np.nan))


def _wins(compared: pd.DataFrame, generators: Sequence[str], against: str | None) -> pd.DataFrame:
    """Return the pairs of a generator with another, and its points."""
    known = sorted({*compared[FIRST].astype(str), *compared[SECOND].astype(str)})
    if len(generators) != 1 or (against is None and len(known) > 2):
        raise MetaevalError(
            f"a win rate is that of one generator against another: name them with --generator and --against "
            f"({', '.join(known)})"
        )
    ours = one_of(generators[0], known, "the verdicts are not on")
    others = [name for name in known if name != ours]
    theirs = one_of(against or others[0], others, f"no verdict compares {ours} with")
    found = wins(compared, ours, theirs)
    if found.empty:
        raise MetaevalError(f"no verdict compares {ours} with {theirs}")
    return found


def wins(comparisons: pd.DataFrame, ours: str, theirs: str, flips: Flips = "tie") -> pd.DataFrame:
    """Return the comparisons of two generators, with the points of ``ours`` as ``score``."""
    sides = comparisons[[FIRST, SECOND]].astype(str)
    pairs = comparisons[sides.isin([ours, theirs]).all(axis=1)]
    won = points_of(pairs, flips)
    return pairs.assign(score=np.where(pairs[FIRST].astype(str) == ours, won, 1 - won))
