"""``python -m benchmarks [--quick] [--coverage [--studies N]]``: a JSON object a line; 1: a missed target."""

from __future__ import annotations

import argparse
import itertools
import json
import sys

from benchmarks import (
    coherence,
    coverage,
    engine,
    ensembles,
    inference,
    judging,
    large_logs,
    llm,
    many_clusters,
    slates,
)

PARTS = (engine, inference, ensembles, coherence, slates, llm, judging, large_logs, many_clusters)


def main() -> int:
    """Run all benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument(
        "--coverage", action="store_true", help="how often intervals and tests are right: hours"
    )
    parser.add_argument(
        "--studies",
        type=int,
        default=coverage.STUDIES,
        metavar="N",
        help="with --coverage: simulated studies for each figure  [default: %(default)s]",
    )
    held = True
    options = parser.parse_args()
    if options.coverage:
        results = coverage.run(options.studies, quick=options.quick)
    else:
        results = itertools.chain.from_iterable(part.run(quick=options.quick) for part in PARTS)
    for result in results:
        print(json.dumps(result, ensure_ascii=False), flush=True)
        held &= result["held"]
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
