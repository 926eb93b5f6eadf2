"""A log as a folder: ``dataset.yaml`` and its tables, loaded, saved, made and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.records import FIRST
from metaeval.kinds.exposure.data.check import build
from metaeval.kinds.exposure.data.log_set import ORDER
from metaeval.kinds.exposure.data.manifest import LogManifest
from metaeval.kinds.files.folder import DataFolder

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.kinds.exposure.data.log_set import LogSet

POLICIES = "policies"
"""The folder of a data set with policies that came with it: `metaeval.kinds.exposure.off_policy.policies`."""
_TABLES = ("log", "items", "profiles", "pairs", "runs", "test", "scores", "synthetic")


def pairs_of(data: LogSet) -> pd.DataFrame | None:
    """Return a row per pair, as the table ``pairs`` has it; None if there are none."""
    pairs = data.table[data.table[ORDER] == FIRST].drop(columns=ORDER).reset_index(drop=True)
    return pairs.dropna(axis="columns", how="all") if len(pairs) else None


def _frames(data: LogSet) -> dict[str, pd.DataFrame | None]:
    own = {"pairs": pairs_of(data), "synthetic": None if data.synthetic is None else data.synthetic.frame}
    return {name: own[name] if name in own else getattr(data, name) for name in _TABLES}


_FOLDER: DataFolder[LogSet] = DataFolder(LogManifest, _TABLES, _TABLES[:1], build, _frames, (POLICIES,))
refuse_if_in_the_way = _FOLDER.refuse_if_in_the_way
save = _FOLDER.save
load = _FOLDER.load
log_of = _FOLDER.make
put = _FOLDER.put
