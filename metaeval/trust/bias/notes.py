"""Sentences on how the truth is held fixed, and on self-preference."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaeval.trust.bias.biases import Biases

FAMILY_NOTE = (
    "Families come from words in models' names, or from --family and --families. A generator differs from "
    "others in more than its family, so compare with judges of other families."
)


def given_truth_note(found: Biases) -> str:
    """Say how the truth was held fixed, and what that leaves open."""
    measured = [*(v.doubling for v in found.verbosity), *(s.points for s in found.self_preference)]
    if any(m.instrument for m in measured):
        return (
            "The truth is held fixed, corrected for the noise of the ratings: the mean rating of other "
            "people who rated the same units is the instrument (two-stage least squares)."
        )
    weak = (
        "Other people's ratings of the same units are too weak an instrument to correct the truth for noise "
        "(F < 10). "
        if any(m.weak for m in measured)
        else ""
    )
    return (
        f"{weak}The truth is held fixed as it was rated. Ratings are noisy: if length or family predicts "
        "quality beyond the rating, this counts as bias here. Only ratings of further people could separate "
        "the two."
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
            "Beyond judges of other families: the same for the score minus the mean score of judges of "
            "other families, without their families' texts. These judges, too, see what is truly better in "
            "the own family's texts."
        )
    return told
