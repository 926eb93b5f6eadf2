"""``python -m metaeval``."""

from __future__ import annotations

import sys

from metaeval.cli import main

if __name__ == "__main__":
    sys.exit(main())
