"""What a result would be with other people, prompts or items: components of crossed samples.

Generalizability theory (Brennan 2001; Shavelson & Webb 1991) takes all of them as samples, and splits what
varies into what belongs to each and to both together. Here: whose order of the generators it is, and the
error of the mean of several prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ClusterSums, jackknife_deviations, ratio

FEWEST_USERS = 20
"""Users below which no common order is told from their own."""
LEAST_OWN = 0.2
"""Share of what users differ in that must be no noise, so that it can be told from noise."""
_SINGULAR = 1e-9  # relative to the largest eigenvalue


class NoOrder(StrEnum):
    """Why it is not said how far users share an order."""

    FEW_USERS = "few_users"
    NOISE = "noise"
    NO_COMMON = "no_common"

    @property
    def words(self) -> str:
        """The reason, to follow *where*."""
        return {
            "few_users": f"fewer than {FEWEST_USERS} users rated all of the generators",
            "noise": f"less than {LEAST_OWN:.0%} of what users differ in is theirs, the rest is noise",
            "no_common": "the means show no common order",
        }[self]


@dataclass(frozen=True, slots=True, eq=False)
class OwnEffects:
    """Each user's own effects of the generators, with the effects of the user's items removed."""

    effects: Floats
    """Shape (U, G), each row sums to zero; NaN where a user's ratings do not link all generators."""
    noise: Floats
    """Shape (U,): mean sampling variance of a user's effects; NaN without a degree of freedom."""

    @classmethod
    def of(cls, values: Floats, generator: Ints, item: Ints, user: Ints, n: tuple[int, int]) -> OwnEffects:
        """Fit value ~ generator + item for each user by least squares.

        The noise is the mean of the residuals' variance times the diagonal of the inverse of the fit's
        cross-products, over (G − 1) contrasts; in a complete table of I items it is σ² / I.

        Parameters
        ----------
        values, generator, item, user
            Shape (units,); codes in ``range``. An item of two users counts as two.
        n
            Users and generators.
        """
        n_users, g = n
        pair = np.unique(user * (int(item.max(initial=0)) + 1) + item, return_inverse=True)[1]
        size = np.bincount(pair)

        def centred(v: Floats) -> Floats:
            return np.asarray(v - (np.bincount(pair, v) / size)[pair])

        def summed(v: Floats) -> Floats:
            return np.bincount(user, v, n_users).astype(np.float64)

        y, x = centred(values), np.stack([centred((generator == k) * 1.0) for k in range(g)])
        cross = np.stack([[summed(a * b) for b in x] for a in x]).transpose(2, 0, 1)
        roots, vectors = np.linalg.eigh(cross)  # ascending; the first is 0, as a user's rows sum to zero
        linked = roots[:, 1] > _SINGULAR * roots[:, -1]
        inverse = 1 / np.where(linked[:, None], roots[:, 1:], 1.0)
        along = np.einsum("ugk,gu->uk", vectors[:, :, 1:], np.stack([summed(y * a) for a in x]))
        effects = np.einsum("ugk,uk->ug", vectors[:, :, 1:], along * inverse)
        left = np.maximum(summed(y * y) - (along**2 * inverse).sum(axis=1), 0.0)
        pairs = np.bincount(user[np.unique(pair, return_index=True)[1]], minlength=n_users)
        df = np.bincount(user, minlength=n_users) - pairs - (g - 1)
        noise = ratio(left, df) * inverse.mean(axis=1)
        none = np.where(linked, 0.0, np.nan)
        return cls(effects + none[:, None], noise + none)


@dataclass(frozen=True, slots=True, eq=False)
class SharedOrder:
    """How a user's own order of the generators correlates with the common one."""

    rho: float
    """NaN, as its interval, if refused."""
    low: float
    high: float
    z: float
    """Fisher's z of ρ."""
    deviations: Floats
    """Shape (U,): those of the jackknife on z; 0 of users who do not count."""
    own: float
    """δ² / (δ² + noise)."""
    n_users: int
    reason: NoOrder | None


def shared_order(own: OwnEffects, confidence: float = 0.95) -> SharedOrder:
    """Estimate ρ = √(γ² / (γ² + δ²)), the correlation of a user's own order with the common one.

    δ² = MS(user × generator) − noise is what users differ in, γ² = variance of the common means − MS / U what
    they share (expected mean squares; Brennan 2001, chapter 3). Noise in a user's means does not lower ρ. The
    interval is by the jackknife over users on Fisher's z. It is refused with fewer than 20 users, where
    δ² / (δ² + noise) < .2, and where γ² ≤ 0: see `NoOrder`.
    """
    from scipy.special import stdtrit

    there = np.asarray(~np.isnan(own.effects).any(axis=1))
    effects, noise = own.effects[there], own.noise[there]
    known = ~np.isnan(noise)
    n, g = effects.shape
    sums = np.vstack([np.ones(n), known, np.where(known, noise, 0), (effects**2).sum(axis=1), effects.T])
    _, share, common = _components(sums.sum(axis=1, keepdims=True), g)[:, 0] if n > 1 else np.full(3, np.nan)
    reason = None
    if n < FEWEST_USERS:
        reason = NoOrder.FEW_USERS
    elif not share >= LEAST_OWN:
        reason = NoOrder.NOISE
    elif common <= 0:
        reason = NoOrder.NO_COMMON
    statistic = ClusterSums(sums, lambda s: _components(s, g)[:1])
    apart = np.zeros(len(there))
    if reason is not None:
        none = float("nan")
        return SharedOrder(none, none, none, none, apart, float(share), n, reason)
    z = float(statistic.at(np.ones((n, 1)))[0, 0])
    apart[there] = jackknife_deviations(statistic, n)[0]
    half = stdtrit(n - 1, (1 + confidence) / 2) * np.sqrt((apart**2).sum())
    rho, low, high = (float(v) for v in np.tanh([z, z - half, z + half]))
    return SharedOrder(rho, low, high, z, apart, float(share), n, None)


def _components(sums: Floats, g: int) -> Floats:
    """Return Fisher's z of ρ, δ² / (δ² + noise), and γ², from sums over users, shape (4 + G, columns)."""
    n, known, noise, squares = sums[:4]
    of_mean = ((sums[4:] / n) ** 2).sum(axis=0)
    together = (squares - n * of_mean) / ((n - 1) * (g - 1))
    own = np.maximum(together - ratio(noise, known), 0.0)
    common = of_mean / (g - 1) - together / n
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.arctanh(np.sqrt(common / (common + own)))
    return np.stack([np.where(np.isfinite(z), z, np.nan), ratio(own, together), common])


def difference_p(a: SharedOrder, b: SharedOrder) -> float:
    """Return the two-sided p-value that two aspects have the same ρ: a t test by the jackknife over users."""
    from scipy.special import stdtr

    error = np.sqrt(((a.deviations - b.deviations) ** 2).sum())
    df = min(a.n_users, b.n_users) - 1
    return float(2 * stdtr(df, -abs(a.z - b.z) / error)) if error > 0 else float("nan")


FEWEST_MEMBERS = 3
"""Prompts (judges) below which nothing is said of others that might have been taken."""


class TotalInterval(NamedTuple):
    """A mean of members, and its interval with the members as a sample; NaN if they are too few."""

    value: float
    low: float
    high: float
    df: float


def total_interval(
    value: float,
    variance: float,
    df: float,
    facets: Sequence[Floats] = (),
    confidence: float = 0.95,
    *,
    one: bool = False,
) -> TotalInterval:
    """Return the interval of a mean over clusters and over prompts (and judges), which all are samples.

    V = variance + Σ s² / P over the facets, where s is the standard deviation of the P values of a facet's
    levels. Degrees of freedom are Satterthwaite's (1946), V² / (variance² / df + Σ (s² / P)² / (P − 1)). With
    fewer than `FEWEST_MEMBERS` levels of a facet there is no interval.

    Parameters
    ----------
    value, variance, df
        The mean, and its variance from the clusters alone: `variance_of_mean`.
    facets
        Of each, the value of every level: of prompts, those averaged over judges, and so on. Without any, the
        interval is that over clusters alone.
    one
        Whether the value is that of one level, not of their mean: V = variance + Σ s².
    """
    from scipy.special import stdtrit

    terms = [
        (variance, df),
        *((v.var(ddof=1) / (1 if one else len(v)), len(v) - 1) for v in facets if len(v) > 1),
    ]
    total = sum(v for v, _ in terms)
    parts = sum(v * v / f for v, f in terms)
    free = float(total**2 / parts) if parts > 0 else df
    half = float(stdtrit(free, (1 + confidence) / 2) * np.sqrt(total))
    half += 0.0 if min(map(len, facets), default=FEWEST_MEMBERS) >= FEWEST_MEMBERS else np.nan
    return TotalInterval(value, value - half, value + half, free)


def variance_of_mean(contributions: Floats) -> float:
    """Return the variance of the mean of members, from contributions of shape (members, clusters)."""
    mean = contributions.mean(axis=0)
    return float(mean.var(ddof=1) / len(mean))


def crossed_variance(users: float, items: float, both: float) -> float:
    """Return the variance of a statistic where users and items both are samples: V_u + V_i − V_ui.

    What each unit adds is in the variance by users and in that by items, and is taken off once (Owen 2007,
    The Annals of Applied Statistics 1, 386). It is at least the larger of both; of n users and m items,
    Student's t has min(n, m) − 1 degrees of freedom.
    """
    return max(users + items - both, users, items)


class Components(NamedTuple):
    """Variance components of one cluster, of one member (prompt), and of both together."""

    cluster: float
    member: float
    both: float

    def error(self, clusters: int, members: int) -> float:
        """Return the standard error of the mean of so many members from so many clusters (a D-study)."""
        of_members = self.member / members + self.both / (clusters * members)
        return float(np.sqrt(self.cluster / clusters + of_members))


class ErrorParts(NamedTuple):
    """Variances of the mean of the members of a family, by what is a sample in it; 0 for what is none."""

    users: float
    units: float
    """What belongs to one item of one user: half of it is left with twice the items of each user, too."""
    items: float
    members: float
    both: float
    """What belongs to a member and a user."""
    replies: float
    """What the replies add of which each score is the mean: repeats, and both orders of verdicts."""

    @classmethod
    def of(
        cls, split: Components, n: tuple[float, int, float], *, items: float, units: float, reply: float
    ) -> ErrorParts:
        """Return them from components.

        Parameters
        ----------
        n
            Clusters, members, and replies of which each score is the mean.
        items, units
            The variances of the mean by items, and by pairs of a user and an item; 0 without.
        reply
            `reply_variance`; 0 if it is not known.
        """
        clusters, members, replies = n
        both = split.both / (clusters * members)
        of_replies = min(reply / (clusters * members * replies), both)
        of_units = min(units, split.cluster / clusters)
        return cls(
            split.cluster / clusters - of_units,
            of_units,
            max(items - units, 0.0),
            split.member / members,
            both - of_replies,
            of_replies,
        )

    def error(self, *, users: float = 1, items: float = 1, members: float = 1, replies: float = 1) -> float:
        """Return the standard error with so many times as many of each (a D-study)."""
        variance = self.users / users + self.units / (users * items) + self.items / items
        variance += self.members / members + self.both / (users * members)
        return float(np.sqrt(variance + self.replies / (users * items * members * replies)))


def reply_variance(contributions: Floats, left_out: Floats) -> float:
    """Return what one reply adds to the contribution of a cluster to a member, by the jackknife over replies.

    Parameters
    ----------
    contributions
        Shape (P, n), of scores that are means of K replies.
    left_out
        The same without each reply, shape (K, P, n).
    """
    k = len(left_out)
    each = k * contributions - (k - 1) * left_out
    return float(each.var(axis=0, ddof=1).mean())


def components(values: Floats, contributions: Floats) -> Components:
    """Split the contributions of clusters to members by the crossed analysis of variance, cut at 0.

    Parameters
    ----------
    values
        Of the members, shape (P,).
    contributions
        Of the clusters to each, centred, shape (P, n): pseudo-values of the jackknife, less their mean.
    """
    p, n = contributions.shape
    of_cluster = contributions.mean(axis=0)
    left = contributions - contributions.mean(axis=1, keepdims=True) - of_cluster + contributions.mean()
    both = (left**2).sum() / ((p - 1) * (n - 1))
    cluster = of_cluster.var(ddof=1) - both / p
    return Components(max(float(cluster), 0.0), max(float(values.var(ddof=1) - both / n), 0.0), float(both))
