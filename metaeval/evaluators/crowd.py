"""What a crowd says: labels of several raters weighed by how reliable each rater is, by crowd-kit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metaeval.base.errors import DataError, MissingExtraError
from metaeval.base.records import DataSet
from metaeval.evaluators.ensemble import Ensemble
from metaeval.evaluators.grid import FloatArray


@dataclass(frozen=True, repr=False, init=False)
class Crowd(Ensemble):
    """The label that a model of raters finds likeliest, of whole numbers or words.

    The model learns from all units of an aspect how reliable each part is; thousands take minutes. A unit
    that some parts have not labelled needs ``skip_missing=True``.
    """

    needs: ClassVar[str] = "other evaluators; metaeval[crowd]"
    options: ClassVar[dict[str, Any]] = {"n_iter": 25}

    def check(self, data: DataSet, aspects: Sequence[str]) -> None:
        """Raise `MissingExtraError` without crowd-kit."""
        del data, aspects
        try:
            import crowdkit.aggregation  # noqa: F401
        except ImportError:
            raise MissingExtraError(type(self).__name__, "crowd") from None

    def middle(self, values: FloatArray, *, words: bool) -> FloatArray:
        """Return the likeliest label of each column; `DataError` if a value is no whole number."""
        import crowdkit.aggregation as models
        import pandas as pd

        name = type(self).__name__
        if (values[~np.isnan(values)] % 1).any():
            raise DataError(f"{name} takes labels, which are whole numbers or words; a rating is a fraction")
        worker, task = np.nonzero(~np.isnan(values))
        labels = values[worker, task].astype(np.int64)
        table = pd.DataFrame({"task": task, "worker": worker, "label": labels})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its use of pandas
            found = getattr(models, name)(**self.options).fit_predict(table)
        labelled: FloatArray = found.reindex(range(values.shape[1])).to_numpy(dtype=np.float64)
        return labelled


class DawidSkene(Crowd):
    """The likeliest label where each rater confuses labels in a way of their own (Dawid & Skene 1979)."""


class MACE(Crowd):
    """The likeliest label where each rater now and then does not look (Hovy et al. 2013)."""

    options: ClassVar[dict[str, Any]] = {"n_iter": 20, "n_restarts": 1, "random_state": 0}


class GLAD(Crowd):
    """The likeliest label where units are hard and raters able to some degree (Whitehill et al. 2009)."""

    options: ClassVar[dict[str, Any]] = {"n_iter": 10, "silent": True}
