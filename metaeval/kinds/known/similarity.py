"""How alike texts are: vectors of TF-IDF or of a model, and cosines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metaeval.base.errors import MetaevalError, MissingExtraError, needed
from metaeval.stats.coefficients.tables import Floats

WORDS = r"\w+"


def text_vectors(texts: Sequence[str], model: str | None = None) -> Any:  # noqa: ANN401 - a csr_array of SciPy, which is imported where it is used
    """Return a row of length 1 per text, of zeros if there is nothing in the text: a csr_array.

    The vectors are those of a model of sentence-transformers, or without a ``model`` of TF-IDF with
    scikit-learn's default weights, whose words are runs of letters, digits and ``_``, in lower case.
    `MissingExtraError` is raised if a model is named and sentence-transformers is not installed.
    """
    from scipy import sparse

    if model is not None:
        return unit_length(sparse.csr_array(_embedded(texts, model)))
    text = needed("sklearn.feature_extraction.text", "similarity by TF-IDF", "exposure")
    try:
        return sparse.csr_array(text.TfidfVectorizer(token_pattern=WORDS).fit_transform(texts))
    except ValueError:  # there is no word in any of them
        return sparse.csr_array((len(texts), 1))


def unit_length(vectors: Any) -> Any:  # noqa: ANN401 - as in `text_vectors`
    """Return the rows of a csr_array at length 1, those of zeros as they are."""
    from scipy import sparse

    lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    return sparse.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ vectors


def cosines(one: Any, other: Any) -> Floats:  # noqa: ANN401 - as in `text_vectors`
    """Return the cosines of rows of two csr_arrays, all of length 1; NaN where one is of zeros."""
    found = np.asarray(one.multiply(other).sum(axis=1)).ravel()
    there = (abs(one).sum(axis=1) > 0) & (abs(other).sum(axis=1) > 0)
    return np.where(there, found, np.nan)


def _embedded(texts: Sequence[str], model: str) -> Floats:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError(f"embeddings by {model!r}", "embeddings") from error
    try:
        encoder = SentenceTransformer(model)
    except (OSError, ValueError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise MetaevalError(f"the model {model!r} of embeddings could not be loaded: {said}") from error
    found = np.asarray(encoder.encode(list(texts)), dtype=np.float64)
    # A model gives a vector for an empty text, too.
    there: Floats = found * np.array([bool(text.strip()) for text in texts])[:, None]
    return there
