"""Make the bundled duels of slates: simulated, as `metaeval.kinds.slates.data.simulated` says.

Run ``python data/make_slates.py [FOLDER]``; the same duels and verdicts come out each time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from metaeval.kinds.files.loading import summary
from metaeval.kinds.slates.data.loading import save
from metaeval.kinds.slates.data.simulated import simulate

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "slates"
    slates = simulate()
    save(slates, target, "csv", force=True)
    print(summary(slates))
