"""What a study file and Python may say of synthetic interactions."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from metaeval.base.validation import Count, Options, Seed, Share

Constraint: TypeAlias = Literal["either", "both", "transition", "similarity", "none"]
_Part = Annotated[float, Field(ge=0, le=1, strict=False, description="a number from 0 to 1")]


class SynthesisOptions(Options):
    """How interactions are made up, and how recommenders that learn from them are evaluated."""

    called = "synthesis"
    steps: Count = 20
    """Of each user."""
    target: Annotated[tuple[_Part, ...], Field(strict=False, min_length=1)] | None = None
    """Shares of the popularity bins, the most popular first; if None, bin b has a share in proportion to
    b + 1: the two least popular of five have 60 %."""
    constraint: Constraint = "either"
    """Which a step must pass (the source: either)."""
    transition: _Part = 0.1
    """A step passes if the probability of its transition of genres is higher."""
    similarity: _Part = 0.1
    """A step passes if the cosine of its items is higher."""
    neighbours: Count = 100
    """Most similar items that are kept of each item."""
    anchors: Count = 3
    """Genres of a user that candidates are drawn of."""
    recent: Count = 50
    """Last interactions of a user that anchors are counted in."""
    anchored: _Part = 0.5
    """Share of candidates that are drawn of an anchor; others are drawn of their popularity bin alone."""
    attempts: Count = 20
    """Candidates of a step; it is left out if none passes."""
    held_out: Share = 0.2
    """Share of each user's rows, the last ones, that recommenders are evaluated on."""
    k: Count = 20
    """Length of the lists that recommenders are evaluated by."""
    seed: Seed = 0
