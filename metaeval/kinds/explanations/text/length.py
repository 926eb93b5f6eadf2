"""A baseline that any other evaluator should beat: the length of the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from metaeval.base.counts import graphemes
from metaeval.base.records import Kind
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.grid import Grid
from metaeval.kinds.explanations.text.scripts import script_shares
from metaeval.kinds.explanations.text.texts import explanations_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


@dataclass(frozen=True, repr=False)
class Length(BaseEvaluator):
    """The number of characters of an explanation as a reader counts them (grapheme clusters)."""

    kind: ClassVar[Kind] = Kind.BASELINE
    needs: ClassVar[str] = "texts"

    def grid(self, data: ExplanationSet, aspects: Sequence[str]) -> Grid:
        """Return the length of each text; a unit without text is ``missing``."""
        lengths = [np.nan if t is None else graphemes(t) for t in explanations_of(data, self)]
        scores = np.array(lengths, dtype=np.float64)
        return Grid.repeated(scores, len(aspects))

    def signature(self, data: ExplanationSet) -> Mapping[str, Any]:
        """Return what is counted, and in which scripts."""
        return {"counted": "grapheme clusters", "scripts": script_shares(explanations_of(data, self))}
