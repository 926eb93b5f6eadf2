"""Make the bundled log: simulated, as `metaeval.kinds.exposure.data.simulated` says.

Run ``python data/make_exposure.py [FOLDER]``; the same log, lists and pairs come out each time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from metaeval.kinds.exposure.data.loading import save
from metaeval.kinds.exposure.data.simulated import simulate
from metaeval.kinds.exposure.pairs_command import make_pairs
from metaeval.kinds.files.loading import load, summary

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "exposure"
    save(simulate().data, target, "csv", force=True)
    make_pairs(target)
    print(summary(load(target)))
