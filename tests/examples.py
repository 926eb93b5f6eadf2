"""How many examples property tests draw: a fifth in `make test`, all in `make test-slow`."""

import os

THOROUGH = os.environ.get("METAEVAL_THOROUGH") == "1"


def examples(n: int = 100) -> int:
    """Return how many examples to draw of n."""
    return n if THOROUGH else max(10, n // 5)
