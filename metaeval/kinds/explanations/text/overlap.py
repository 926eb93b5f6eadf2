"""Evaluators that compare a text with its references: BLEU, ChrF and ROUGE."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import MISSING, dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from metaeval.base.parallel import spread
from metaeval.base.records import Kind, Status
from metaeval.evaluators.base import BaseEvaluator, choice, flag, integer
from metaeval.evaluators.grid import CODES, OK, Grid
from metaeval.kinds.explanations.text.texts import (
    TOKENIZERS,
    bleu_tokenizer,
    check_tokenizer,
    explanations_of,
    ngrams_of,
    reference_columns,
    references_of,
    rouge_tokenizer,
    script_shares,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sacrebleu.metrics.bleu import BLEU as SacreBLEU  # noqa: N811 - an abbreviation, not a constant
    from sacrebleu.metrics.chrf import CHRF

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
    of_empty: ClassVar[float | None] = None
    """The score of an empty text."""

    @abstractmethod
    def score_pair(self, explanation: str, references: Sequence[str]) -> float | None:
        """Return the score, or None if the tokenizer leaves nothing of the text or of all its references."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return version, tokenizer and options, as plain JSON values."""

    def score_pairs(self, pairs: Sequence[Pair]) -> list[float | None]:
        """Return the score of each pair; runs in the worker processes."""
        return [self.score_pair(text, references) if text else self.of_empty for text, references in pairs]

    def check(self, data: ExplanationSet, aspects: Sequence[str]) -> None:
        """Raise `DataError` if the data set has no reference."""
        references_of(data, self)

    def grid(self, data: ExplanationSet, aspects: Sequence[str]) -> Grid:
        """Return one score per unit, the same for every aspect."""
        texts = explanations_of(data, self, None if self.of_empty is None else "")
        positions: dict[Pair, int] = {}
        pair_of = np.array(
            [
                positions.setdefault((text, of), len(positions)) if text is not None and of else -1
                for text, of in zip(texts, references_of(data, self), strict=True)
            ],
            dtype=np.intp,
        )
        results = spread(self.score_pairs, list(positions), str(self))
        values = np.array([*results, None], dtype=np.float64)  # the last is of the units without a pair
        codes = np.where(np.isnan(values), CODES[Status.UNTOKENIZABLE], OK).astype(np.int8)
        codes[-1] = CODES[Status.MISSING]
        return Grid.repeated(values[pair_of], len(aspects), codes[pair_of])

    def signature(self, data: ExplanationSet) -> Mapping[str, Any]:
        """Return the settings, the reference columns and the scripts that the tokenizer met."""
        return {
            **self.settings(),
            "references": reference_columns(data),
            "scripts": script_shares(explanations_of(data, self)),
        }


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

    of_empty = 0.0
    n: int = integer(4, 1, 4)
    tokenize: str = choice("auto", TOKENIZERS)
    smooth: str = choice("exp", ("exp", "floor", "add-k", "none"))
    lowercase: bool = flag()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tokenizer(self.tokenize)

    def score_pair(self, explanation: str, references: Sequence[str]) -> float | None:
        """Return the score; references of which the tokenizer leaves nothing are left out."""
        tokens = bleu_tokenizer(self.tokenize)
        text, *targets = (
            " ".join(tokens(t.lower() if self.lowercase else t)) for t in (explanation, *references)
        )
        targets = [t for t in targets if t]
        if not text or not targets:
            return None
        score = _bleu(self.n, self.smooth).sentence_score(text, targets).score
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


@lru_cache
def _bleu(n: int, smooth: str) -> SacreBLEU:
    from sacrebleu.metrics.bleu import BLEU as SacreBLEU  # noqa: N811 - an abbreviation, not a constant

    return SacreBLEU(tokenize="none", smooth_method=smooth, max_ngram_order=n, effective_order=True)


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

    of_empty = 0.0
    char_order: int = integer(6, 1)
    word_order: int = integer(0, 0)
    beta: int = integer(2, 1)
    lowercase: bool = flag()

    def score_pair(self, explanation: str, references: Sequence[str]) -> float | None:
        """Return the score."""
        scorer = _chrf(self.char_order, self.word_order, self.beta, self.lowercase, tuple(references))
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
def _chrf(char_order: int, word_order: int, beta: int, lowercase: bool, references: tuple[str, ...]) -> CHRF:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(char_order, word_order, beta, lowercase, references=[[text] for text in references])


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

    of_empty = 0.0
    variant: str = choice(MISSING, ("1", "2", "L"))
    measure: str = choice("f", ("f", "p", "r"))
    tokenize: str = choice("auto", TOKENIZERS)
    use_stemmer: bool = flag()

    def __post_init__(self) -> None:
        super().__post_init__()
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
            hits, n_candidate, n_target = lcs_length(candidate, target), len(candidate), len(target)
        else:
            order = min(int(self.variant), max(len(candidate), len(target)))
            ngrams, wanted = ngrams_of(tuple(candidate), order), ngrams_of(tuple(target), order)
            hits = (ngrams & wanted).total()
            n_candidate, n_target = max(ngrams.total(), 1), max(wanted.total(), 1)
        precision, recall = hits / n_candidate, hits / n_target
        if self.measure != "f":
            return 100 * (precision if self.measure == "p" else recall)
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
