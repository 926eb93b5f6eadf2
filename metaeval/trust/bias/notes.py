"""Sentences on how the biases of judges were measured and tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.counts import counted
from metaeval.trust.bias.biases import ALPHA
from metaeval.trust.bias.clustered import FEWEST_CLUSTERS

if TYPE_CHECKING:
    from metaeval.trust.bias.biases import Biases

FAMILY_NOTE = (
    "Families go by a table of the words in models' names, or as said with --family and --families; one "
    "generator has more that is its own than its family, so compare with the judges of other families."
)


def _clusters(found: Biases) -> int:
    return found.data.n_clusters if found.data else max(p.flips.n for p in found.position)


def sampling_note(found: Biases) -> str:
    """Say how the intervals were made."""
    n, by = _clusters(found), found.clustered_by
    return (
        f"Brackets hold 95 % percentile intervals from {found.resamples:,} bootstrap resamples of the {n} "
        f"{by}s (seed {found.seed}), widened for few {by}s. Of several aspects, the mean. Units without a "
        "score or a rating are left out, whatever the run fills in."
    )


def testing_notes(found: Biases) -> list[str]:
    """Say how the tests were made, and what they cannot show."""
    n, by = _clusters(found), found.clustered_by
    told = [
        (
            f"Two-sided tests turn the signs of whole {by}s at random (wild score bootstrap; "
            f"{found.resamples:,} times; for range use scores and truth change places), Holm's correction "
            f"over all {counted(len(found.tests), 'test')} of this table; a bias is found at "
            f"{100 * ALPHA:g} %. That none is found does not say there is none: see the interval. "
            "Wording and repetitions are tested for a shift alone: "
            "answers may differ one by one and be the same in the mean, see below."
        ),
    ]
    if n < FEWEST_CLUSTERS:
        told.append(
            f"{n} {by}s are too few for any test at {100 * ALPHA:g} %: take {FEWEST_CLUSTERS} or more."
        )
    if len(found.tests) / (found.resamples + 1) > ALPHA:
        least = round(len(found.tests) / ALPHA)
        told.append(f"{found.resamples:,} resamples are too few for so many tests: take {least:,} or more.")
    if found.verbosity or found.self_preference:
        told.append(given_truth_note(found))
    return told


def given_truth_note(found: Biases) -> str:
    """Say how the truth was held fixed, and what that leaves open."""
    measured = [*(v.doubling for v in found.verbosity), *(s.points for s in found.self_preference)]
    if any(m.instrument for m in measured):
        return (
            "The truth is held fixed free of the noise of the ratings: the mean rating of other people who "
            "rated the same units is its instrument (two-stage least squares)."
        )
    weak = (
        "Other people's ratings of the same units tell too little of the truth to free it of noise (F < 10). "
        if any(m.weak for m in measured)
        else ""
    )
    return (
        f"{weak}The truth is held fixed as it was rated, and ratings are noisy: what length or family "
        "tells of quality beyond a rating counts as bias here, and only ratings of further people could tell "
        "it apart."
    )


def self_preference_notes(found: Biases) -> list[str]:
    """Say what the numbers on self-preference are."""
    told = [
        (
            "Coefficient of being of the judge's family in score ~ own family + truth + "
            f"{found.clustered_by}{' + length' if found.verbosity else ''}: points of the judge's scale."
        ),
    ]
    if any(s.beyond_others is not None for s in found.self_preference):
        told.append(
            "Beyond judges of other families: the same for the score less the mean score of the judges of "
            "other families, without the texts of these; what is truly better in the own family's texts is "
            "seen by these judges too."
        )
    return told
