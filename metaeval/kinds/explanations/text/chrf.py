"""chrF of one explanation, on sacrebleu."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from metaeval.evaluators.arguments import check_flag, check_integer
from metaeval.kinds.explanations.text.pairs import PairEvaluator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sacrebleu.metrics.chrf import CHRF


@dataclass(frozen=True, repr=False)
class ChrF(PairEvaluator):
    """Character n-gram F-score, 0 to 100; of several references the best (Popović 2015).

    Characters need no tokenizer, so that no text is ``untokenizable``.

    Parameters
    ----------
    char_order
        Longest n-gram of characters.
    word_order
        Longest n-gram of words; 0 is chrF, 2 is chrF++ (words are then what stands between spaces).
    beta
        How many times recall weighs as much as precision.
    lowercase
        Whether case is ignored.
    """

    char_order: int = 6
    word_order: int = 0
    beta: int = 2
    lowercase: bool = False

    def __post_init__(self) -> None:
        check_integer("ChrF", "char_order", self.char_order, 1)
        check_integer("ChrF", "word_order", self.word_order, 0)
        check_integer("ChrF", "beta", self.beta, 1)
        check_flag("ChrF", "lowercase", self.lowercase)

    def score_pair(self, explanation: str, references: Sequence[str]) -> float | None:
        """Return the score."""
        options = self.char_order, self.word_order, self.beta, self.lowercase
        scorer = _scorer(*options, tuple(references))
        # The score of a corpus of one text is that of the text.
        return min(float(scorer.corpus_score([explanation], None).score), 100.0)

    def settings(self) -> dict[str, Any]:
        """Return version and options."""
        return {
            "library": f"sacrebleu {version('sacrebleu')}",
            "char_order": self.char_order,
            "word_order": self.word_order,
            "beta": self.beta,
            "tokenizer": "characters",
            "case": "lower" if self.lowercase else "mixed",
            "range": [0, 100],
        }


@lru_cache(maxsize=16)  # neighbouring units have the same references
def _scorer(
    char_order: int, word_order: int, beta: int, lowercase: bool, references: tuple[str, ...]
) -> CHRF:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(char_order, word_order, beta, lowercase, references=[[text] for text in references])
