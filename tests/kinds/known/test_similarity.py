"""Vectors of texts: TF-IDF by its formula, or a model's; cosines."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.kinds.known_items import cosines, text_vectors, unit_length


@given(st.lists(st.text(alphabet="ab c,éÉ12_", max_size=12), min_size=1, max_size=6))
def test_weights_are_counts_times_smoothed_inverse_document_frequency(texts: list[str]) -> None:
    words = [Counter(re.findall(r"\w+", text.lower())) for text in texts]
    used = Counter(word for of in words for word in of)
    idf = {word: math.log((1 + len(texts)) / (1 + n)) + 1 for word, n in used.items()}
    wanted = np.array([[of[word] * idf[word] for word in sorted(used)] or [0.0] for of in words])
    wanted /= np.maximum(np.linalg.norm(wanted, axis=1, keepdims=True), 1e-300)
    found = text_vectors(texts)
    assert np.allclose((found @ found.T).toarray(), wanted @ wanted.T)


def test_a_cosine_with_nothing_is_not_a_number() -> None:
    vectors = text_vectors(["bees and honey", "honey", "", "wax"])
    found = cosines(vectors[[0, 1, 0, 0]], vectors[[0, 0, 2, 3]])
    assert found[0] == pytest.approx(1)
    assert 0 < found[1] < 1
    assert np.isnan(found[2])
    assert found[3] == 0
    assert np.allclose(unit_length(vectors * 3).toarray(), vectors.toarray())


class Encoder:
    """What sentence-transformers gives: a vector per text, empty ones too."""

    def __init__(self, model: str) -> None:
        if model != "tiny":
            raise OSError(f"{model} is not a local folder\nand more")

    def encode(self, sentences: list[str]) -> np.ndarray:
        return np.array([[1.0, 0.5 * len(s)] for s in sentences], dtype=np.float32)


def test_a_model_may_embed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Encoder))
    found = text_vectors(["ab", "abcd", " "], "tiny").toarray()
    assert np.allclose(found, [[0.5**0.5, 0.5**0.5], [0.2**0.5, 0.8**0.5], [0, 0]])
    with pytest.raises(
        Exception, match=r"'big' of embeddings could not be loaded: big is not a local folder$"
    ):
        text_vectors(["ab"], "big")
