"""A log of 20 million rows on disk → off-policy values: seconds of the processor, and peak memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS, _USERS, _ITEMS, _POSITIONS, _DEVICES = 20_000_000, 500_000, 200, 3, 5
_PART = 2_000_000
_SECONDS, _BYTES = 120, 4 * 2**30
_MANIFEST = "name: large\nkind: exposure\noutcome: {min: 0, max: 1}\nsimulated: true\n"


def _write(folder: Path, rows: int) -> None:
    """Write a log whose items have shares of their own, and more clicks, the higher their number."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(_ITEMS, 2.0), size=_POSITIONS)
    writer = None
    for first in range(0, rows, _PART):
        n = min(_PART, rows - first)
        position, item = rng.integers(0, _POSITIONS, n), np.empty(n, np.int32)
        for p in range(_POSITIONS):
            item[position == p] = rng.choice(_ITEMS, int((position == p).sum()), p=shares[p])
        table = pa.table(
            {
                "user_id": _names("u", rng.integers(0, _USERS, n, dtype=np.int32), _USERS),
                "item_id": _names("i", item, _ITEMS),
                "timestamp": 1.6e9 + rng.integers(0, 10**7, n),
                "outcome": (rng.random(n) < 0.02 + 0.06 * item / _ITEMS).astype(np.int8),
                "position": (position + 1).astype(np.int8),
                "propensity": shares[position, item],
                "device": _names("d", rng.integers(0, _DEVICES, n, dtype=np.int32), _DEVICES),
                "age": rng.integers(10, 80, n).astype(np.int8),
            }
        )
        writer = writer or pq.ParquetWriter(folder / "log.parquet", table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    (folder / "dataset.yaml").write_text(_MANIFEST, encoding="utf-8")


def _names(letter: str, codes: np.ndarray[tuple[int], np.dtype[np.int32]], n: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array([f"{letter}{i}" for i in range(n)]))


def _child(folder: str) -> None:
    """Evaluate a policy in a process of its own; prints its seconds, peak memory and the values."""
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.exposure.commands import off_policy_of
    from metaeval.kinds.exposure.study import OffPolicy, PropensityOptions
    from metaeval.stats.off_policy.estimators import ESTIMATORS

    wanted = OffPolicy(estimators=ESTIMATORS, clip=(2.0,))
    how = Bootstrap(resamples=1_000)
    values, _ = off_policy_of(folder, ["uniform"], wanted, PropensityOptions(), how)
    found = values.frame.drop_duplicates("estimator").set_index("estimator")["value"].to_dict()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": time.process_time(), "peak": peak, "values": found}))


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield time and memory; ``quick`` takes a twentieth of the rows."""
    rows = _ROWS // 20 if quick else _ROWS
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), rows)
        code = f"from benchmarks.large_logs import _child; _child({folder!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    yield {
        "benchmark": f"off-policy values by seven estimators from {rows:,} log rows on disk",
        "processor_s": round(found["seconds"], 1),
        "peak_mb": found["peak"] >> 20,
        "target": f"{_SECONDS} s, {_BYTES >> 20} MB",
        "held": found["seconds"] <= _SECONDS and found["peak"] <= _BYTES,
        "values": found["values"],
    }
