"""BLEU of one explanation, on sacrebleu."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from importlib.metadata import version
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.evaluators.arguments import check_choice, check_flag, check_integer
from metaeval.kinds.explanations.text.pairs import PairEvaluator
from metaeval.kinds.explanations.text.tokenizers import TOKENIZERS, bleu_tokenizer, check_tokenizer, ngrams_of

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 4
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
        ``auto`` (by the text's script: docs/reference/evaluators.md) or a name of
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
        check_integer("BLEU", "n", self.n, 1, LONGEST)
        check_choice("BLEU", "tokenize", self.tokenize, TOKENIZERS)
        check_choice("BLEU", "smooth", self.smooth, SMOOTHINGS)
        check_flag("BLEU", "lowercase", self.lowercase)
        check_tokenizer(self.tokenize)

    def score_pair(self, explanation: str, references: Sequence[str]) -> float | None:
        """Return the score; references of which the tokenizer leaves nothing are left out."""
        counted = _counted(explanation, tuple(references), self.tokenize, self.lowercase)
        if counted is None:
            return None
        from sacrebleu.metrics.bleu import BLEU as SacreBLEU  # noqa: N811 - an abbreviation, not a constant

        score = SacreBLEU.compute_bleu(
            [*counted.matched[: self.n]],
            [*counted.found[: self.n]],
            counted.tokens,
            counted.reference_tokens,
            smooth_method=self.smooth,
            effective_order=True,
            max_ngram_order=self.n,
        ).score
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


class _Counted(NamedTuple):
    """What the BLEU of a text is made of: n-grams by length, and numbers of tokens."""

    matched: tuple[int, ...]
    found: tuple[int, ...]
    tokens: int
    reference_tokens: int
    """Of the reference whose length is closest; of the shorter, if two are."""


@lru_cache(maxsize=2**14)  # BLEU(n=1) and BLEU(n=4) count the same n-grams
def _counted(
    explanation: str, references: tuple[str, ...], tokenize: str, lowercase: bool
) -> _Counted | None:
    tokens = bleu_tokenizer(tokenize)
    hypothesis, *targets = (tuple(tokens(t.lower() if lowercase else t)) for t in (explanation, *references))
    targets = [t for t in targets if t]
    if not hypothesis or not targets:
        return None
    matched, found = [], []
    for n in range(1, LONGEST + 1):
        ngrams = ngrams_of(hypothesis, n)
        # Of several references, an n-gram counts as often as where it is most frequent.
        wanted = reduce(or_, (ngrams_of(target, n) for target in targets))
        matched.append(sum(min(count, wanted[ngram]) for ngram, count in ngrams.items() if ngram in wanted))
        found.append(ngrams.total())
    closest = min((abs(len(hypothesis) - len(t)), len(t)) for t in targets)[1]
    return _Counted(tuple(matched), tuple(found), len(hypothesis), closest)
