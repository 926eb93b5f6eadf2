"""Sentences on how the truth is held fixed, and on self-preference."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaeval.trust.bias.biases import Biases

FAMILY_NOTE = (
    "Families go by a table of the words in models' names, or as said with --family and --families; one "
    "generator has more that is its own than its family, so compare with the judges of other families."
)


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
