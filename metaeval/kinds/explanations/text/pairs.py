"""Scoring explanations against their references, on all cores if there are many."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from metaeval.base.progress import progress
from metaeval.base.records import Kind, Status
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.grid import CODES, OK, Grid
from metaeval.kinds.explanations.text.scripts import script_shares
from metaeval.kinds.explanations.text.texts import explanations_of, reference_columns, references_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

Pair: TypeAlias = "tuple[str, tuple[str, ...]]"
"""An explanation and its references, one or more."""

_PARALLEL_FROM = 4_000  # pairs: starting the workers takes longer than scoring fewer
_CHUNK = 1_000


class PairEvaluator(BaseEvaluator):
    """An evaluator that compares a text with its references, each unit by itself.

    Units without an explanation or without a reference are ``missing``. Equal pairs are scored once. From a
    few thousand pairs on, the work is spread over the cores; ``LOKY_MAX_CPU_COUNT`` in the environment
    limits their number.
    """

    kind: ClassVar[Kind] = Kind.REFERENCE

    @abstractmethod
    def score_pair(self, explanation: str, references: Sequence[str]) -> float | None:
        """Return the score, or None if the tokenizer leaves nothing of the text or of all its references."""

    def score_pairs(self, pairs: Sequence[Pair]) -> list[float | None]:
        """Return the score of each pair; runs in the worker processes."""
        return [self.score_pair(explanation, references) for explanation, references in pairs]

    def grid(self, data: ExplanationSet, aspects: Sequence[str]) -> Grid:
        """Return a score a unit, the same for every aspect."""
        explanations = explanations_of(data, self)
        references = references_of(data, self)
        positions: dict[Pair, int] = {}
        pair_of = np.full(len(data), -1, np.intp)
        for unit, (explanation, given) in enumerate(zip(explanations, references, strict=True)):
            if explanation is not None and given:
                pair_of[unit] = positions.setdefault((explanation, given), len(positions))
        results = _scored(self, list(positions))
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


def _scored(evaluator: PairEvaluator, pairs: Sequence[Pair]) -> list[float | None]:
    chunks = [pairs[start : start + _CHUNK] for start in range(0, len(pairs), _CHUNK)]
    results: list[float | None] = []
    with progress(str(evaluator), len(pairs)) as advance:
        for chunk in _chunk_results(evaluator, chunks, len(pairs)):
            results += chunk
            advance(len(chunk))
    return results


def _chunk_results(
    evaluator: PairEvaluator, chunks: Sequence[Sequence[Pair]], total: int
) -> Iterable[list[float | None]]:
    if total < _PARALLEL_FROM:
        return map(evaluator.score_pairs, chunks)
    import joblib

    processes = min(joblib.cpu_count(), len(chunks))
    if processes == 1:
        return map(evaluator.score_pairs, chunks)
    parallel = joblib.Parallel(n_jobs=processes, backend="loky", return_as="generator")
    results: Iterable[list[float | None]] = parallel(joblib.delayed(evaluator.score_pairs)(c) for c in chunks)
    return results
