"""ROUGE of one explanation: the scores of rouge-score, for texts in any script."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from metaeval.evaluators.arguments import check_choice, check_flag
from metaeval.kinds.explanations.text.pairs import PairEvaluator
from metaeval.kinds.explanations.text.tokenizers import (
    TOKENIZERS,
    check_tokenizer,
    ngrams_of,
    rouge_tokenizer,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

VARIANTS = ("1", "2", "L")
MEASURES = ("f", "p", "r")


@dataclass(frozen=True, repr=False)
class ROUGE(PairEvaluator):
    """ROUGE-1, ROUGE-2 or ROUGE-L of a text, 0 to 100; of several references the best (Lin 2004).

    On ASCII text equal to 100 times the rouge-score library's value, with one exception: where neither
    text has a bigram (one token each), ROUGE-2 compares the tokens themselves, as BLEU does with its
    effective order, so that every text has 100 with itself.

    A text of which the tokenizer leaves nothing (only emoji or punctuation) is ``untokenizable``, as is one
    whose references all leave nothing; references that leave nothing beside others are left out.

    Parameters
    ----------
    variant
        ``'1'`` or ``'2'`` for n-grams, ``'L'`` for the longest common subsequence.
    measure
        ``'f'`` for F1, ``'p'`` for precision, ``'r'`` for recall.
    tokenize
        ``auto`` (by the text's script: docs/reference/evaluators.md) or a name of
        sacrebleu.
    use_stemmer
        Whether English words are cut by Porter's stemmer.
    """

    variant: str
    measure: str = "f"
    tokenize: str = "auto"
    use_stemmer: bool = False

    def __post_init__(self) -> None:
        check_choice("ROUGE", "variant", self.variant, VARIANTS)
        check_choice("ROUGE", "measure", self.measure, MEASURES)
        check_choice("ROUGE", "tokenize", self.tokenize, TOKENIZERS)
        check_flag("ROUGE", "use_stemmer", self.use_stemmer)
        check_tokenizer(self.tokenize)

    def score_pair(self, explanation: str, references: Sequence[str]) -> float | None:
        """Return the score for the reference that gives the highest."""
        tokens = rouge_tokenizer(self.tokenize, self.use_stemmer)
        candidate = tokens(explanation)
        targets = [t for t in map(tokens, references) if t]
        if not candidate or not targets:
            return None
        return max(self._score(candidate, target) for target in targets)

    def settings(self) -> dict[str, Any]:
        """Return version, tokenizer and options."""
        return {
            "library": f"rouge-score {version('rouge-score')}",
            "variant": self.variant,
            "measure": self.measure,
            "tokenizer": self.tokenize,
            "stemmer": "porter" if self.use_stemmer else None,
            "case": "lower",
            "effective_order": True,
            "range": [0, 100],
        }

    def _score(self, candidate: Sequence[str], target: Sequence[str]) -> float:
        if self.variant == "L":
            hits, given, wanted = lcs_length(candidate, target), len(candidate), len(target)
        else:
            order = min(int(self.variant), max(len(candidate), len(target)))
            found, sought = ngrams_of(tuple(candidate), order), ngrams_of(tuple(target), order)
            hits = sum(min(count, sought[ngram]) for ngram, count in found.items() if ngram in sought)
            given, wanted = max(found.total(), 1), max(sought.total(), 1)
        precision, recall = hits / given, hits / wanted
        if self.measure == "p":
            return 100 * precision
        if self.measure == "r":
            return 100 * recall
        from rouge_score.scoring import fmeasure

        return 100 * float(fmeasure(precision, recall))


def lcs_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two token sequences.

    Bit-parallel (Hyyrö 2004): one row of the usual table is one integer, so that texts of a few hundred
    characters take microseconds where the table takes milliseconds.
    """
    places: dict[str, int] = {}
    for position, token in enumerate(a):
        places[token] = places.get(token, 0) | 1 << position
    full = (1 << len(a)) - 1
    row = full
    for token in b:
        matches = row & places.get(token, 0)
        row = ((row + matches) | (row - matches)) & full
    return len(a) - row.bit_count()
