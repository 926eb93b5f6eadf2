"""Whether people agree, in a sentence, and who of them lowers it."""

from __future__ import annotations

import numpy as np

from metaeval.base.records import Scale
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.replacement import Panel, raters_sheets

RNG = np.random.default_rng(2)
TRUTH = RNG.integers(0, 4, 300).astype(float)


def _panel(ratings: np.ndarray, scale: Scale) -> Panel:
    people = tuple(map(str, range(1, len(ratings) + 1)))
    return Panel("judge", "clear", scale, people, ratings, TRUTH, np.arange(300) // 6, 50)


def _like(share: float) -> np.ndarray:
    return np.where(RNG.random(300) < share, TRUTH, RNG.integers(0, 4, 300))


def test_a_rater_who_guesses_lowers_alpha() -> None:
    for scale in (Scale(0, 3), Scale(0, 3, labels=("a", "b", "c", "d"))):
        panel = _panel(np.stack([_like(0.95), _like(0.95), _like(0.0)]), scale)
        agree, raters = raters_sheets([panel], Resampler(0, 200))
        assert agree.frame["verdict"][0].startswith("agree little, and more than by chance")
        assert (raters.frame["gain_low"] > 0).tolist() == [False, False, True]


def test_people_agree_or_not() -> None:
    for share, said in ((1.0, "agree well enough"), (0.0, "are not shown to agree")):
        panel = _panel(np.stack([_like(share) for _ in range(2)]), Scale(0, 3))
        agree, _ = raters_sheets([panel], Resampler(0, 200))
        assert agree.frame["verdict"][0].startswith(said)


def test_an_interval_that_reaches_down_is_too_few_labels_not_little_agreement() -> None:
    ratings = np.stack([_like(0.85) for _ in range(2)])
    for n, said in ((18, "too few to tell"), (42, "may agree enough, but there are too few labels to tell")):
        few = _panel(np.where(np.arange(300) < n, ratings, np.nan), Scale(0, 3))
        agree, _ = raters_sheets([few], Resampler(0, 200))
        assert agree.frame["verdict"][0].startswith(said)
