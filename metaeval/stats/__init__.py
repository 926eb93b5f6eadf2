"""Statistics on arrays; nothing here depends on the kind of study."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaeval.stats import (
        agreement,
        coefficients,
        off_policy,
        ranking,
        regression,
        resampling,
        subsets,
        weighted,
    )

__all__ = [
    "agreement",
    "coefficients",
    "off_policy",
    "ranking",
    "regression",
    "resampling",
    "subsets",
    "weighted",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        return importlib.import_module(f"metaeval.stats.{name}")
    raise AttributeError(f"module 'metaeval.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
