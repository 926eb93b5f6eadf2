"""Scores in Parquet files that need not fit in memory: time, peak memory, and the numbers of frames.

``python -m benchmarks.out_of_core --evaluators 1000 --units 1000000 --folder DIR`` is the case of 10⁹ rows;
``--compare`` holds it to the engine of frames. Ten units per user, five items, two generators, a five-point
scale.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import metaeval as me

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

LEVELS, COEFFICIENTS = ("dataset", "user", "pair"), ("pearson", "kendall")
_PER_USER, _ITEMS, _GENERATORS = 10, 5, 2
_SECONDS, _BYTES = 600 / 1e9, 6 * 2**30
"""Per row, and in all; held from `_FROM` rows on, where the start of Python is little of it."""
_FROM = 10**8
_IN_A_FILE = 10


def write(folder: Path, evaluators: int, units: int) -> None:
    """Write ``truth.parquet``, and ``scores/`` with ten evaluators per file, one at a time."""
    (folder / "scores").mkdir(parents=True, exist_ok=True)
    n = np.arange(units)
    keys = {
        "user_id": _names("u", n // _PER_USER, -(-units // _PER_USER)),
        "item_id": _names("i", n // _GENERATORS % _ITEMS, _ITEMS),
        "generator": _names("g", n % _GENERATORS, _GENERATORS),
        "aspect": pa.array(["fit"]).dictionary_encode().take(pa.array(n * 0)),
    }
    rating = np.random.default_rng(0).integers(1, 6, units).astype(float)
    pq.write_table(pa.table({**keys, "rating": rating}), folder / "truth.parquet")
    writer = None
    for e in range(evaluators):
        noise = np.random.default_rng([1, e]).normal(0, 0.5 + e % 7 / 3, units)
        name = pa.array([f"e{e:04d}"]).dictionary_encode().take(pa.array(n * 0))
        table = pa.table({**keys, "evaluator": name, "score": np.clip(np.rint(rating + noise), 1, 5)})
        if e % _IN_A_FILE == 0:
            writer = pq.ParquetWriter(folder / f"scores/{e // _IN_A_FILE:05d}.parquet", table.schema)
        if writer is not None:
            writer.write_table(table)
            if e % _IN_A_FILE == _IN_A_FILE - 1 or e == evaluators - 1:
                writer.close()


def _names(letter: str, codes: NDArray[np.int64], n: int) -> pa.Array:
    names = pa.array([f"{letter}{i:06d}" for i in range(n)])
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)


def measure(folder: Path, engine: str) -> dict[str, Any]:
    """Correlate in a process of its own: seconds, seconds of the processor, and peak memory."""
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--child", engine, "--folder", str(folder)]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    return found


def _child(folder: Path, engine: Any) -> None:  # noqa: ANN401 - the name of an engine
    start = time.perf_counter()
    result = me.correlate(
        folder / "scores", folder / "truth.parquet", levels=LEVELS, coefficients=COEFFICIENTS, engine=engine
    )
    seconds = time.perf_counter() - start
    result.frame.to_parquet(folder / f"{engine}.parquet")
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "seconds": round(seconds, 1),
                "processor_s": round(used.ru_utime + used.ru_stime, 1),
                "peak_mb": used.ru_maxrss >> 10,
            }
        )
    )


def case(folder: Path, evaluators: int, units: int, *, compare: bool) -> dict[str, Any]:
    """Write the files, unless they are there, and measure."""
    if not (folder / "truth.parquet").exists():
        write(folder, evaluators, units)
    rows = evaluators * units
    found = measure(folder, "duckdb")
    held = rows < _FROM or (found["seconds"] <= _SECONDS * rows and found["peak_mb"] << 20 <= _BYTES)
    row = {"benchmark": f"out of core, {evaluators:,} evaluators × {units:,} units", "rows": rows, **found}
    if compare:
        row["memory"] = measure(folder, "memory")
        boards = [
            pd.read_parquet(folder / f"{engine}.parquet")["estimate"] for engine in ("duckdb", "memory")
        ]
        row["largest_difference"] = float((boards[0] - boards[1]).abs().max())
        held = held and row["largest_difference"] <= 1e-12
    return {**row, "held": held}


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a small case, whose numbers are those of memory."""
    with tempfile.TemporaryDirectory() as folder:
        yield case(Path(folder), 10, 20_000 if quick else 10**6, compare=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one case of any size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.out_of_core", description=__doc__)
    parser.add_argument("--evaluators", type=int, default=10)
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, required=True, help="where the files are, or are written")
    parser.add_argument("--compare", action="store_true", help="with the engine of memory, too")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child:
        _child(given.folder, given.child)
        return 0
    result = case(given.folder, given.evaluators, given.units, compare=given.compare)
    print(json.dumps(result, ensure_ascii=False))
    return 0 if result["held"] else 1


if __name__ == "__main__":
    sys.exit(main())
