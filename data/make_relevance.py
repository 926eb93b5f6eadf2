"""Make the bundled collection: simulated, as `metaeval.kinds.relevance.data.simulated` says.

Run ``python data/make_relevance.py [FOLDER]``; the same labels and lists come out each time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from metaeval.kinds.files.loading import summary
from metaeval.kinds.relevance.data.loading import save
from metaeval.kinds.relevance.data.simulated import simulate

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "relevance"
    collection = simulate()
    save(collection, target, "csv", force=True)
    print(summary(collection))
