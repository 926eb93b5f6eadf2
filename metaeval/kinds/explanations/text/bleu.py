"""BLEU of one explanation, on sacrebleu."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from metaeval.evaluators.arguments import check_choice, check_flag, check_integer
from metaeval.kinds.explanations.text.pairs import PairEvaluator
from metaeval.kinds.explanations.text.tokenizers import TOKENIZERS, bleu_tokenizer, check_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sacrebleu.metrics.bleu import BLEU as SacreBLEU  # noqa: N811 - an abbreviation, not a constant

SMOOTHINGS = ("exp", "floor", "add-k", "none")


@dataclass(frozen=True, repr=False)
class BLEU(PairEvaluator):
    """BLEU of a sentence, 0 to 100, with all references at once (Papineni et al. 2002; Post 2018).

    The order is the effective one: a text of two tokens is compared up to bigrams, so that every text
    has 100 with itself.

    Parameters
    ----------
    n
        Longest n-gram, 1 to 4.
    tokenize
        ``auto`` (by the text's script, see `metaeval.kinds.explanations.text.tokenizers`) or a name of
        sacrebleu.
    smooth
        What is done about n-grams without a match: ``exp``, ``floor``, ``add-k`` or ``none``, with
        sacrebleu's values.
    lowercase
        Whether case is ignored.
    """

    n: int = 4
    tokenize: str = "auto"
    smooth: str = "exp"
    lowercase: bool = False

    def __post_init__(self) -> None:
        check_integer("BLEU", "n", self.n, 1, 4)
        check_choice("BLEU", "tokenize", self.tokenize, TOKENIZERS)
        check_choice("BLEU", "smooth", self.smooth, SMOOTHINGS)
        check_flag("BLEU", "lowercase", self.lowercase)
        check_tokenizer(self.tokenize)

    def score_pair(self, explanation: str, references: Sequence[str]) -> float | None:
        """Return the score; references of which the tokenizer leaves nothing are left out."""
        hypothesis = self._tokens(explanation)
        targets = [t for t in map(self._tokens, references) if t]
        if not hypothesis or not targets:
            return None
        score = _scorer(self.n, self.smooth).sentence_score(hypothesis, targets).score
        return min(float(score), 100.0)  # the mean of logarithms may round to a little above 100

    def settings(self) -> dict[str, Any]:
        """Return version, tokenizer and options."""
        return {
            "library": f"sacrebleu {version('sacrebleu')}",
            "n": self.n,
            "tokenizer": self.tokenize,
            "smoothing": self.smooth,
            "case": "lower" if self.lowercase else "mixed",
            "effective_order": True,
            "range": [0, 100],
        }

    def _tokens(self, text: str) -> str:
        return " ".join(bleu_tokenizer(self.tokenize)(text.lower() if self.lowercase else text))


@lru_cache(maxsize=16)
def _scorer(n: int, smooth: str) -> SacreBLEU:
    from sacrebleu.metrics.bleu import BLEU as SacreBLEU  # noqa: N811 - as above

    # The texts come tokenized; `force` keeps sacrebleu from warning of that.
    return SacreBLEU(
        max_ngram_order=n, smooth_method=smooth, effective_order=True, tokenize="none", force=True
    )
