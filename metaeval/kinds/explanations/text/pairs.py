"""Scoring explanations against their references, on all cores if there are many."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from metaeval.base.parallel import spread
from metaeval.base.records import Kind, Status
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.grid import CODES, OK, Grid
from metaeval.kinds.explanations.text.scripts import script_shares
from metaeval.kinds.explanations.text.texts import explanations_of, reference_columns, references_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

Pair: TypeAlias = "tuple[str, tuple[str, ...]]"
"""An explanation and its references, one or more."""


class PairEvaluator(BaseEvaluator):
    """An evaluator that compares a text with its references, each unit by itself.

    Units without an explanation or without a reference are ``missing``. Equal pairs are scored once. The work
    is spread over the cores where there are many pairs (`metaeval.base.parallel`).
    """

    kind: ClassVar[Kind] = Kind.REFERENCE
    needs: ClassVar[str] = "texts and references"

    @abstractmethod
    def score_pair(self, explanation: str, references: Sequence[str]) -> float | None:
        """Return the score, or None if the tokenizer leaves nothing of the text or of all its references."""

    def score_pairs(self, pairs: Sequence[Pair]) -> list[float | None]:
        """Return the score of each pair; runs in the worker processes."""
        return [self.score_pair(explanation, references) for explanation, references in pairs]

    def grid(self, data: ExplanationSet, aspects: Sequence[str]) -> Grid:
        """Return one score per unit, the same for every aspect."""
        explanations = explanations_of(data, self)
        references = references_of(data, self)
        positions: dict[Pair, int] = {}
        pair_of = np.full(len(data), -1, np.intp)
        for unit, (explanation, given) in enumerate(zip(explanations, references, strict=True)):
            if explanation is not None and given:
                pair_of[unit] = positions.setdefault((explanation, given), len(positions))
        results = spread(self.score_pairs, list(positions), str(self))
        values = np.array([np.nan if r is None else r for r in results] or [np.nan], dtype=np.float64)
        has_pair = pair_of >= 0
        scores = np.where(has_pair, values[pair_of], np.nan)
        codes = np.where(np.isnan(scores), CODES[Status.UNTOKENIZABLE], OK)
        codes[~has_pair] = CODES[Status.MISSING]
        return Grid.repeated(scores, len(aspects), codes.astype(np.int8))

    def signature(self, data: ExplanationSet) -> Mapping[str, Any]:
        """Return the settings, the reference columns and the scripts that the tokenizer met."""
        return {
            **self.settings(),
            "references": reference_columns(data),
            "scripts": script_shares(explanations_of(data, self)),
        }

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return version, tokenizer and options, as plain JSON values."""
