"""Statistics on arrays; nothing here depends on the kind of study."""

from metaeval.stats import (
    agreement,
    coefficients,
    off_policy,
    ranking,
    regression,
    resampling,
    weighted,
)

__all__ = [
    "agreement",
    "coefficients",
    "off_policy",
    "ranking",
    "regression",
    "resampling",
    "weighted",
]
