"""Other names that models give to aspects in their replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ASPECT_ALIASES: Mapping[str, tuple[str, ...]] = {
    "persuasiveness": ("persuasive", "persuasion", "convincingness", "说服力", "说服性", "説服力"),
    "transparency": ("transparent", "透明度", "透明性", "透明"),
    "accuracy": ("accurate", "准确性", "准确度", "准确率", "精确性", "準確性"),
    "satisfaction": ("satisfied", "满意度", "满意程度", "满意", "滿意度"),
}
"""Aspect → its other names; the aspects are those of the RecSys 2024 study."""
