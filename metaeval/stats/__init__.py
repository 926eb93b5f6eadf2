"""Statistics on arrays: numpy and scipy in, numbers out; nothing here knows what an explanation is."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaeval.stats.agreement import labels as weighted_agreement
    from metaeval.stats.agreement import raters as agreement
    from metaeval.stats.coefficients import dependent, exact, levels, tables
    from metaeval.stats.coefficients import grouped as coefficients
    from metaeval.stats.ranking import comparisons
    from metaeval.stats.ranking import orders as ranking
    from metaeval.stats.regression import effects, prediction_powered, variance
    from metaeval.stats.regression import isotonic as calibration
    from metaeval.stats.resampling import multiplicity, paired
    from metaeval.stats.resampling import weights as resampling
    from metaeval.stats.subsets import contributions
    from metaeval.stats.subsets import moments as subset_moments
    from metaeval.stats.subsets import pearson as subsets
    from metaeval.stats.weighted import statistic as weighted

__all__ = [
    "agreement",
    "calibration",
    "coefficients",
    "comparisons",
    "contributions",
    "dependent",
    "effects",
    "exact",
    "levels",
    "multiplicity",
    "paired",
    "prediction_powered",
    "ranking",
    "resampling",
    "subset_moments",
    "subsets",
    "tables",
    "variance",
    "weighted",
    "weighted_agreement",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        return importlib.import_module(f"metaeval.stats.{name}")
    raise AttributeError(f"module 'metaeval.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
