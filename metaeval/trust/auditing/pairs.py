"""What is found of judges whose scores are verdicts on two, and what that changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.keys import noun
from metaeval.base.records import FIRST, SECOND
from metaeval.evaluators.verdicts import NO_VERDICT, mean_points, pair_keys, points
from metaeval.runs.judge_trust import Finding
from metaeval.runs.record import MUCH
from metaeval.stats.regression.correction import LabelledSample
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, TOO_FEW
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.auditing.findings import AGREES, GATE, UNKNOWN, finding, spread, usable_by
from metaeval.trust.auditing.order import order, worth
from metaeval.trust.calibration.record import Bands
from metaeval.trust.correction import Correcting
from metaeval.trust.verdicts.accuracy import accuracy_sheet, with_gold

if TYPE_CHECKING:
    from metaeval.runs.finished import OpenRun

LEAN = 0.05
"""How far the share of verdicts for what is shown first may be from one half."""


def verdicts_of_run(run: OpenRun) -> pd.DataFrame:
    """Return the scores of a run of kind slates or exposure as verdicts, the truth as ``gold``.

    A score, or the truth, is above 0 for what was shown first. Pairs of which the truth prefers none are left
    out.
    """
    *keys, side = run.scores.keys
    frame = run.scores.frame.merge(run.truth, on=[*keys, side, "aspect"])
    frame = frame[frame["rating"].notna() & (frame["rating"] != 0)]
    turn = np.where(frame[side].astype(str) == SECOND, -1, 1)

    def named(values: pd.Series[Any]) -> Any:  # noqa: ANN401 - an array of words
        signs = np.sign(values.to_numpy(np.float64)) * turn
        return np.select([np.isnan(signs), signs > 0, signs < 0], ["", FIRST, SECOND], "tie")

    found = (
        frame[keys].astype(str).assign(first=FIRST, second=SECOND, aspect="", evaluator=frame["evaluator"])
    )
    found = found.assign(order=frame[side].astype(str), winner=named(frame["score"]), status=frame["status"])
    return found.assign(call="", gold=named(frame["rating"])).reset_index(drop=True)


def of_pairs(
    verdicts: pd.DataFrame,
    judges: Sequence[str],
    more: str,
    resamples: int,
    seed: int,
    *,
    systems: bool = False,
) -> Iterator[tuple[str, Finding]]:
    """Yield what is found of verdicts with ``gold`` (`metaeval.evaluators.verdicts`), by judge.

    Parameters
    ----------
    more
        The command that shows more.
    systems
        Whether the two sides of a pair are systems, which the verdicts order.

    Raises
    ------
    DataError
        If no pair has a gold preference.
    """
    verdicts = verdicts[verdicts["evaluator"].isin(judges)]
    known, _ = with_gold(verdicts)
    key = pair_keys(verdicts)[0]
    codes, clusters = pd.factorize(known[key].astype(str))
    rows = accuracy_sheet(verdicts, resamples=resamples, seed=seed).frame
    several = (rows["aspect"] != "").any()
    for _, row in rows.iterrows():
        name, aspect = str(row["evaluator"]), str(row["aspect"])
        said = (known[["shown_first", "shown_second"]] != NO_VERDICT).any(axis=1)
        here = (said & (known["evaluator"] == name) & (known["aspect"] == aspect)).to_numpy()
        of = f" ({aspect})" if several else ""
        yield from ((name, one) for one in _found(row, of, more, len(np.unique(codes[here]))))
        case = _case(known[here], aspect, Clusters(codes[here], len(clusters)), noun(key))
        labels = list(worth([case], more, seed))
        yield from ((name, one) for one in labels)
        if systems:
            cases = [_by_system(known[here], case)]
            yield from ((name, one) for one in order(cases, labels[-1].uses["labels"], more))


def _found(row: pd.Series[Any], of: str, more: str, n_clusters: int) -> Iterator[Finding]:
    """Yield agreement, position and missing verdicts of a judge, from its row of accuracy."""
    kappa = [float(row[end]) for end in ("kappa", "kappa_low", "kappa_high")]
    few = n_clusters < FEWEST_CLUSTERS
    usable = usable_by(TOO_FEW if few else Bands().verdict(*kappa[:2]), kappa[2])
    accuracy = spread(*(float(row[end]) for end in ("accuracy", "accuracy_low", "accuracy_high")))
    twice = not np.isnan(row["right_both"])
    both = f"; {row['right_both']:,.0f} of {row['pairs']:,} right in both orders" if twice else ""
    answer = f"κ {spread(*kappa)}, accuracy {accuracy}{both}"
    reason = f"it agrees {AGREES[usable]} with people{of} (κ {spread(*kappa)})"
    question = f"Does it agree with people on single pairs{of}?"
    yield finding(question, answer, GATE[usable], more, reason=reason, gate=usable)
    first = [float(row[f"first_share{end}"]) for end in ("", "_low", "_high")]
    if twice and np.isfinite(first[1]):
        leans = not first[1] <= 0.5 <= first[2]
        large = leans and min(abs(end - 0.5) for end in first[1:]) >= LEAN
        lost = 1 - row["same_winner"] / row["pairs"]
        yield finding(
            f"Does the order in which two are shown change it{of}?",
            f"{first[0]:.0%} [{first[1]:.0%}, {first[2]:.0%}] of its verdicts are for the first; "
            f"its orders differ on {lost:.0%} of the pairs",
            "a pair asked in one order is decided by it; asked in both, it is lost"
            if large
            else "little: it evens out where both orders are asked",
            more,
            reason="the order in which two are shown decides many of its verdicts" * large,
            gate="no" if large else None,
        )
    share = row["missing"] / (row["pairs"] * (2 if twice else 1))
    if share > 0:
        much = share >= MUCH
        said = (
            f"Were its replies read{of}?",
            f"{share:.1%} of its verdicts are missing",
            "they count as wrong",
        )
        reason = f"{share:.0%} of its verdicts are missing" * much
        yield finding(*said, more, reason=reason, **(UNKNOWN if much else {}))


def _case(known: pd.DataFrame, aspect: str, clusters: Clusters, cluster: str) -> Correcting:
    """Return pairs with a verdict: the gold preference, and what the verdicts come to, in points."""
    score = mean_points(known)
    gold = np.asarray(points(known["gold"]), dtype=np.float64)
    sample = LabelledSample(gold, score[None], np.zeros(len(gold), np.int64), 1, clusters)
    return Correcting(aspect, (str(known["evaluator"].iloc[0]),), sample, ("",), "system", cluster)


def _by_system(known: pd.DataFrame, case: Correcting) -> Correcting:
    """Return the two sides of each pair as units of their systems."""
    one = case.sample
    sides = known[[FIRST, SECOND]].astype(str).to_numpy()
    group, names = pd.factorize(sides.T.ravel(), sort=True)
    sample = LabelledSample(
        np.concatenate([one.ratings, 1 - one.ratings]),
        np.concatenate([one.scores, 1 - one.scores], axis=1),
        group.astype(np.int64),
        len(names),
        Clusters(np.tile(one.clusters.of_unit, 2), one.clusters.n),
    )
    return Correcting(case.aspect, case.judges, sample, tuple(names), "system", case.cluster)
