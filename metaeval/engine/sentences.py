"""Results → the sentences that say how they were made: missing values, intervals, tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metaeval.base.counts import counted, plural_of
from metaeval.engine.alignment.prepared import LEAST_SHARE
from metaeval.engine.sheet import lacking_sentence
from metaeval.stats.regression.true_means import NoInterval
from metaeval.stats.resampling.significance import few_note

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.engine.order.ranks import Ranks
    from metaeval.stats.resampling.bootstrap import Resampler


_NAMED = 3
"""Evaluators that a sentence names at most."""


def policy_sentences(policy: Mapping[str, Any]) -> tuple[str, ...]:
    """Say in words what a policy does; a key without words of its own is shown as it is."""
    words = {k: v for k, v in policy.items() if k not in ("levels", "coefficients", "bootstrap", "left_out")}
    out = []
    missing = words.pop("missing", None) or {}
    n_truth = {aspect: n for aspect, n in (words.pop("n_truth_missing", None) or {}).items() if n}
    for what, name, counts in (("truth", "rating of the truth", n_truth), ("score", "score", {})):
        if what in missing:
            done = "drops its unit" if missing[what] == "drop" else f"counts as {missing[what]:g}"
            which = f" ({', '.join(f'{aspect}: {n:,}' for aspect, n in counts.items())})" if counts else ""
            out.append(f"A missing {name} {done}{which}.")
    match words.pop("undefined_groups", None):
        case "skip":
            out.append("Groups without a defined coefficient are left out of the mean.")
        case "zero":
            out.append("Groups without a defined coefficient count as 0.")
    match words.pop("units", None):
        case "common":
            out.append("All evaluators are compared on the same units.")
            words.pop("apart", None)
            out += left_out_sentences(policy)
        case "own":
            out.append("Each evaluator is compared on the units that it scored.")
    out += no_interval_sentences(words.pop("no_interval", None) or {})
    out += [
        f"{key.replace('_', ' ').capitalize()}: {value}." for key, value in words.items() if value is not None
    ]
    return tuple(out)


def left_out_sentences(policy: Mapping[str, Any], least: float = 0) -> tuple[str, ...]:
    """Say how many ratings of the truth are left out of all evaluators, if they are more than this share."""
    told = policy.get("left_out")
    apart = tuple(
        f"{name} has scores for {n:,} of {of:,} ratings, below {LEAST_SHARE:.0%}: its values are on these, "
        "and it is compared with no other."
        for name, (n, of) in (policy.get("apart") or {}).items()
    )
    if not told or told["ratings"] <= least * told["of"]:
        return apart
    most_first = sorted(told["missing"].items(), key=lambda of: -of[1])
    missing = [f"{name}: {n:,}" for name, n in most_first]
    more = [f"and {counted(len(missing) - _NAMED, 'other')}"] if len(missing) > _NAMED else []
    who = f" ({', '.join(missing[:_NAMED] + more)})" if missing else ""
    return (
        *apart,
        f"Left out: {told['ratings']:,} of {told['of']:,} ratings, because a score is missing{who}.",
    )


def made_from(resampler: Resampler, resamples: str) -> str:
    """Say what intervals come from; ``resamples`` says what they are of, where any are drawn."""
    drawn = f"{resampler.resamples:,} {resamples}"
    return _jackknife_or(drawn) if resampler.made_by == "jackknife" else drawn


def _jackknife_or(drawn: str) -> str:
    """Say what is drawn where the jackknife cannot be taken."""
    return f"jackknife; {drawn} for values that are not smooth"


def if_known(text: str, *numbers: float) -> str:
    """Return a part of a sentence that states numbers; nothing, if one of them is not known."""
    return "" if any(map(math.isnan, numbers)) else text


def interval_sentence(options: Mapping[str, Any], of: pd.DataFrame | None = None) -> str:
    """Say how intervals were made, or why there are none, or, ``of`` the rows of a board, not everywhere."""
    if not options:
        return ""
    if few := few_note(options["n_clusters"], options["cluster"]):
        return f"No intervals: {few}"
    how = "bias-corrected and accelerated" if options["method"] == "bca" else "percentiles"
    how += ", widened for few clusters" if options["expand"] else ""
    drawn = f"{options['resamples']:,} resamples"
    kind, made = "bootstrap intervals", f"{how}; {drawn} of"
    if options["method"] == "jackknife":
        kind, made = "intervals", f"{_jackknife_or(drawn)};"
    drawn_of = f"{options['n_clusters']:,} {plural_of(options['cluster'])}"
    confidence = f"{100 * options['confidence']:g} %"
    told = f"Brackets hold {confidence} {kind} ({made} {drawn_of}, seed {options['seed']})."
    lacking = "" if of is None else lacking_sentence(of, {"estimate": "ci_low"})
    return f"{told} {lacking}".rstrip()


GENERATOR_INTERVALS = (
    "At generator level they hold the correlation over very many, corrected for the noise of the means; the "
    "plain estimate can lie outside."
)


NO_BOOTSTRAP = (
    "At generator level there are no intervals here: resampled means are noisier than the means, so "
    "bootstrap intervals are too low."
)


def true_means_sentence(options: Mapping[str, Any]) -> str:
    """Say what is corrected at generator level."""
    many = plural_of(options["cluster"])
    return (
        f"Corrected: the correlation of the means over very many {many}. Noise in the means lowers the "
        f"plain correlation. Brackets hold {100 * options['confidence']:g} % intervals of it "
        f"({options['resamples']:,} draws of the true means, {options['n_clusters']:,} {many}, "
        f"seed {options['seed']})."
    )


def no_interval_sentences(found: Mapping[str, Mapping[str, Sequence[str]]]) -> list[str]:
    """Say what has no interval at generator level, and why: reason → evaluator → aspects."""
    told = []
    for reason, by_name in found.items():
        listed = "; ".join(f"{name} ({', '.join(aspects)})" for name, aspects in by_name.items())
        told.append(f"No interval at generator level where {NoInterval(reason).words}: {listed}.")
    return told


def ranks_sentence(ranks: Ranks, label: Callable[[str], str]) -> str:
    """Say what rank ranges are and how they were made, or why there are none; ``label`` prints a name."""
    if ranks.refused:
        return f"No rank ranges: {ranks.refused}."
    many = plural_of(ranks.cluster)
    drawn = f"bootstrap-t, {ranks.draws:,} resamples of {ranks.n_clusters:,} {many}, seed {ranks.seed}"
    told = (
        "A rank range has the ranks that the data allow: of eleven, 3–10 if two are shown better and one "
        f"worse ({100 * ranks.alpha:g} %, each range by itself; {drawn}). An evaluator may be the best of "
        "all, people too, unless another is shown better (p: that none is); that test is one-sided, so a "
        "range that starts at 1 may go with a no. Differences have "
        f"{100 * (1 - ranks.alpha):g} % intervals (jackknife), each for two evaluators alone: one without "
        "zero can stand beside a yes, which allows for all comparisons."
    )
    if ranks.baseline:
        told += f" Better than {label(ranks.baseline)}: one-sided, corrected over all compared with it."
    if ranks.untested:
        told += (
            f" {counted(ranks.untested, 'difference')} cannot be tested, as all {many} add the same: none of "
            "these counts as better."
        )
    return told


def tests_sentence(policy: Mapping[str, Any]) -> str:
    """Say how evaluators were tested against each other."""
    names = {
        "holm": "Holm's correction",
        "bh": "Benjamini and Hochberg's correction",
        "none": "no correction",
    }
    pairs = "1 pair" if policy["pairs"] == 1 else f"{policy['pairs']:,} pairs"
    corrected = f"{names[policy['correction']]} over {pairs}"
    least = min(1.0, policy["least_p"] * (policy["pairs"] if policy["correction"] == "holm" else 1))
    floor = f" No p can be below {least:.3f} here." if least >= 0.01 else ""
    if "made_by" in policy:
        of = f"{policy['n_clusters']:,} {plural_of(policy['swap'])}"
        return f"p: two-sided t tests of differences (the jackknife over {of}, {corrected}).{floor}"
    what = policy.get("swapped", "standardized scores")
    swapped = f"{policy['permutations']:,} swaps of {what} by {policy['swap']}"
    if least > policy["alpha"]:
        # n clusters can be swapped in 2^n ways, of which half are the others with the sides exchanged.
        of_clusters = 2.0 ** (1 - policy.get("n_clusters", 0)) * policy["pairs"]
        floor = (
            f" There are too few {plural_of(policy['swap'])} for a significant difference: no p can be far "
            "below "
            f"{least:.3f}."
            if min(1.0, of_clusters) > policy["alpha"] or policy["correction"] != "holm"
            else f" There are too few permutations for this many pairs: no p can be below {least:.3f}. Set "
            f"permutations to {math.ceil(2 * policy['pairs'] / policy['alpha']):,} or more."
        )
    return f"p: two-sided paired permutation tests ({swapped}, {corrected}, seed {policy['seed']}).{floor}"
