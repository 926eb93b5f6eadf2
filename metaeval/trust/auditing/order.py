"""What a judge's scores are worth in labels, and whether they order systems as people do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from metaeval.base.counts import counted, plural_of
from metaeval.kinds.kind import CONTRARY, SEEN
from metaeval.runs.judge_trust import Finding, Usable
from metaeval.stats.resampling.significance import holm
from metaeval.trust.auditing.findings import (
    UNKNOWN,
    each,
    every,
    finding,
    labels_needed,
    settled_by,
    span,
    spread,
)

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.regression.prediction_powered import Combined
    from metaeval.trust.correction_samples import Correcting

ALPHA = 0.05
WORTH = 0.05
"""The share of labels from which on it is worth to save them."""
_MOST_GROUPS = 200


def worth(units: Sequence[Correcting], more: str, seed: int) -> Iterator[Finding]:
    """Say what a judge's scores are worth in labels, and whether its labelled units are like the others."""
    kept = [case.judged(seed) for case in units]
    unlike = [(case.aspect, case.why) for case in kept if case.refused == "unlike"]
    if unlike:
        yield finding(
            "Are units with labels like the others?",
            each((aspect, why.partition(";")[0]) for aspect, why in unlike),
            "what is found on them says nothing of the others",
            more,
            reason="units with labels are not like the others",
            **UNKNOWN,
        )
    values: list[tuple[str, float, float, float]] = []
    reasons: list[str] = []
    answers: list[Usable] = []
    needed: list[int | None] = []
    for case in kept:
        if case.refused == "few" or case.sample.rated.sum() < 2:
            reasons.append(case.why)
            answers.append("unknown")
            continue
        (r, low), (_, high) = (case.sample.informative(end) for end in (0.975, 0.025))
        value = (float(r[0]), float(low[0]), float(high[0]))
        values.append((case.aspect, *value))
        saved = [max(end, 0.0) ** 2 for end in value[1:]]
        reasons.append(f"{_worth(values[-1:])} (r {spread(*value)})")
        n = float(case.sample.rated.sum())
        needed.append(labels_needed(*value, math.sqrt(WORTH), n))
        answers.append("yes" if saved[0] >= WORTH else "no" if saved[1] < WORTH else "unknown")
    usable = every(answers)
    one = finding(
        "What are its scores worth in labels?",
        f"{span('r', values)}; {_worth(values)}" if values else "; ".join(dict.fromkeys(reasons)),
        _SAVES[usable],
        more,
        reason=next(why for why, answer in zip(reasons, answers, strict=True) if answer == usable),
        labels=usable,
    )
    yield settled_by(one, needed)


def _worth(values: Sequence[tuple[str, float, float, float]]) -> str:
    """Say how many labels alone do as much as 100 with scores of such correlations: 1 / (1 − r²) each."""
    many = sorted(100 / max(1 - max(r, 0.0) ** 2, 0.001) for _, r, _, _ in values)
    ends = dict.fromkeys(f"{n:,.0f}" for n in (many[0], many[-1]))
    return f"100 labels and its scores do as much as {' to '.join(ends)} labels alone"


_SAVES: Mapping[Usable, str] = {
    "yes": "means of people's ratings are known from fewer labels: correct the scores by some",
    "no": "its scores add next to nothing to labels",
    "unknown": "more labels decide",
}


class _Order(NamedTuple):
    """How many pairs of systems there are, people tell apart, a judge decides alike, and the other way."""

    pairs: int
    told: int
    alike: int
    contrary: int
    first: str
    """Whom the judge puts first."""
    top: str
    """How far people's first and second are apart, and whether that is decided."""
    labels: int | None
    """How many more labels would decide that, if they do not."""

    @property
    def usable(self) -> Usable:
        """Whether a judge orders the systems as people do; that it sees too few of them is not told yet."""
        if self.told and self.contrary > CONTRARY * (self.alike + self.contrary):
            return "no"
        return "yes" if self.told and self.alike >= SEEN * self.told else "unknown"

    def words(self, noun: str) -> str:
        """Say what it decides."""
        decides = f"it decides {self.alike:,} alike, {self.contrary:,} the other way"
        of = f"of {self.told:,} pairs of {noun} that people tell apart, {decides}"
        return of if self.told else f"people do not tell any two {noun} apart"


def _order(case: Correcting) -> _Order:
    n = len(case.groups)
    one, other = np.triu_indices(n, 1)
    contrasts = np.eye(n)[one] - np.eye(n)[other]

    def decided(found: Combined) -> Floats:
        return np.sign(found.estimate) * (np.nan_to_num(holm(found.p()), nan=1.0) <= ALPHA)

    people, judge = case.sample.labels_alone(contrasts), case.sample.judge_alone(contrasts)
    a, b = decided(people), decided(judge)
    means = [f(np.eye(n)).estimate for f in (case.sample.labels_alone, case.sample.judge_alone)]
    best, second = np.argsort(-np.nan_to_num(means[0], nan=-np.inf), kind="stable")[:2].tolist()
    top = int(np.argmax(np.nan_to_num(means[1], nan=-np.inf)))
    gap = case.sample.labels_alone((np.eye(n)[best] - np.eye(n)[second])[None])
    ends = [float(v[0]) for v in (gap.estimate, *gap.interval())]
    [at] = np.flatnonzero((one == min(best, second)) & (other == max(best, second)))
    left = "people decide" if a[at] else "people leave undecided"
    told, alike, contrary = (int(v.sum()) for v in (a != 0, (a == b) & (a != 0), a * b < 0))
    first = "it has people's first" if top == best else f"it puts {case.groups[top]} first"
    apart = f"{left} rank 1 vs 2 ({case.groups[best]} − {case.groups[second]}: {spread(*ends)})"
    needed = labels_needed(ends[0], ends[1], ends[2], 0.0, float(case.sample.rated.sum()))
    return _Order(len(one), told, alike, contrary, first, apart, needed)


def order(cases: Sequence[Correcting], worth_it: Usable, more: str) -> Iterator[Finding]:
    """Say whether a judge orders systems as people do.

    ``worth_it`` is what its scores are worth in labels: those that are worth none order nothing.
    """
    cases = [case for case in cases if 1 < len(case.groups) <= _MOST_GROUPS]
    if not cases:
        return
    orders, noun = [_order(case) for case in cases], plural_of(cases[0].noun)
    pairs, told, alike, contrary = (
        sum(getattr(one, name) for one in orders) for name in ("pairs", "told", "alike", "contrary")
    )
    usable = every(one.usable for one in orders)
    worst = min(range(len(cases)), key=lambda i: ("no", "unknown", "yes").index(orders[i].usable))
    usable = "no" if usable == "unknown" and told and worth_it == "no" else usable
    total = orders[0]._replace(pairs=pairs, told=told, alike=alike, contrary=contrary).words(noun)
    on = f"on {cases[worst].aspect}, " if usable != "yes" and len(cases) > 1 else ""
    first = each((case.aspect, one.first) for case, one in zip(cases, orders, strict=True))
    said = finding(
        f"Does it order {noun} as people do?",
        f"{total}; {counted(pairs - told, 'pair')} they do not tell apart" if told else total,
        f"{first}; {orders[worst].top}",
        more,
        reason=f"{on}{orders[worst].words(noun)}" if on else total,
        leaderboard=usable,
    )
    yield settled_by(said, [one.labels for one in orders])
