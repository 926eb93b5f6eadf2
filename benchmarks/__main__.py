"""``python -m benchmarks [--quick]``: prints one JSON object a line; exit code 1 if a target was missed."""

from __future__ import annotations

import argparse
import itertools
import json
import sys

from benchmarks import engine, ensembles, inference, llm

PARTS = (engine, inference, ensembles, llm)


def main() -> int:
    """Run all benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    held = True
    quick = parser.parse_args().quick
    for result in itertools.chain.from_iterable(part.run(quick=quick) for part in PARTS):
        print(json.dumps(result, ensure_ascii=False), flush=True)
        held &= result["held"]
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
