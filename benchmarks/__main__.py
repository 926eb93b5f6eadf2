"""``python -m benchmarks [PART…] [--quick]``: one JSON object per line; exit code 1: a missed target.

``--coverage [--studies N]`` measures intervals and tests instead.
"""

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
    out_of_core,
    slates,
    stores,
    workers,
)

PARTS = (
    engine,
    inference,
    ensembles,
    coherence,
    slates,
    llm,
    workers,
    judging,
    stores,
    large_logs,
    many_clusters,
    out_of_core,
)


def main() -> int:
    """Run all benchmarks, or the parts that are named."""
    parts = {part.__name__.removeprefix("benchmarks."): part for part in PARTS}
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
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
    if unknown := {*options.parts} - {*parts}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; parts are {', '.join(parts)}")
    if options.coverage:
        results = coverage.run(options.studies, quick=options.quick)
    else:
        results = itertools.chain.from_iterable(
            parts[name].run(quick=options.quick) for name in options.parts or parts
        )
    for result in results:
        print(json.dumps(result, ensure_ascii=False), flush=True)
        held &= result["held"]
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
