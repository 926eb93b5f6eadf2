"""Made-up interactions, of a type of their own: nothing that takes rows of a log takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

SOURCE, STEP, REASON = "source", "step", "reason"
SYNTH = "synth"
"""The source of every synthetic row, and of no other row."""


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRows:
    """Synthetic interactions. They are no frame, so they cannot be put among the rows of a log by mistake.

    Parameters
    ----------
    frame
        ``user_id``, ``item_id``, ``step`` (of the user, from 1), ``source`` (``synth``) and ``reason``.

    Raises
    ------
    DataError
        If a row does not say that it is synthetic.
    """

    frame: pd.DataFrame

    def __post_init__(self) -> None:
        if not synthetic(self.frame).all():
            raise DataError(f"every synthetic row has the {SOURCE} {SYNTH!r}")

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)


def synthetic(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which rows say that they are synthetic."""
    if SOURCE not in frame:
        return np.zeros(len(frame), dtype=bool)
    said: pd.Series[Any] = frame[SOURCE]
    return (said == SYNTH).to_numpy(dtype=bool)


def refuse_synthetic(**frames: pd.DataFrame | None) -> None:
    """Raise `DataError` if a table that truths are made of has a synthetic row."""
    for name, frame in frames.items():
        if frame is not None and synthetic(frame).any():
            raise DataError(f"{name} has synthetic rows, which no truth may hold; put them into `synthetic`")
