"""The propensities of a log, and the weights that make it stand for all items alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.log_set import PROPENSITY
from metaeval.kinds.exposure.propensity.exposures import Exposures
from metaeval.kinds.exposure.propensity.model import exposure_model

if TYPE_CHECKING:
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.propensity.model import ExposureModel
    from metaeval.kinds.exposure.propensity.options import PropensityOptions
    from metaeval.stats.coefficients.tables import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Propensities:
    """With what probability each row of a log came to be in it.

    Parameters
    ----------
    of
        The rows.
    probability
        Shape (n,), above 0 and 1 at most.
    exposure
        ``choice``: the probability that the row's item was chosen for it. ``pair``: that the log has the
        user and the item at all; fitted ones are such.
    model
        What they were fitted by; None if they were logged.
    """

    of: Exposures
    probability: Floats
    exposure: str
    model: ExposureModel | None = None

    @property
    def weight(self) -> Floats:
        """The weight of each row where every item counts alike.

        Of choices it is (1 / items) / p, about 1 in the mean. Of pairs it is 1 / (p · rows of the pair): the
        number of pairs of a user and an item that the row stands for.
        """
        if self.exposure == "choice":
            return 1 / (self.probability * len(self.of.items))
        return 1 / (self.probability * self.of.repeats)

    def refitted(self, users: Floats) -> Propensities:
        """Return fitted ones, fitted again with each user counted so many times; logged ones as they are."""
        if self.model is None:
            return self
        model = self.model.refitted(users)
        return replace(self, probability=model.of_log(), model=model)

    @property
    def expected(self) -> float:
        """What the weights on each item should add up to."""
        return len(self.of) / len(self.of.items) if self.exposure == "choice" else float(len(self.of.users))

    @property
    def by_user(self) -> Floats:
        """What the weights of each user should add up to."""
        if self.exposure == "choice":
            return np.bincount(self.of.user, minlength=self.of.n_clusters).astype(np.float64)
        return np.full(self.of.n_clusters, float(len(self.of.items)))


def propensities_of(data: LogSet, options: PropensityOptions) -> Propensities:
    """Return the propensities of a log: logged ones where there are any, unless fitted ones are asked for.

    Raises
    ------
    MetaevalError
        If logged ones are asked for and there are none, or they cannot be fitted.
    """
    of = Exposures.of(data)
    logged = PROPENSITY in data.log
    if options.source == "logged" and not logged:
        raise MetaevalError(
            f"the log of {data.name} has no column {PROPENSITY!r}; fit propensities instead (source: fitted)"
        )
    if logged and options.source != "fitted":
        if data.exposure == "pair":
            of.need_users("propensities of pairs")
        return Propensities(of, data.log[PROPENSITY].to_numpy(), data.exposure)
    model = exposure_model(of, options)
    return Propensities(of, model.of_log(), "pair", model)
