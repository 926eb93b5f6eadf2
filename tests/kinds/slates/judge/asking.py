"""A judge in a process of its own, which prints one score per line.

``python -m tests.kinds.slates.judge.asking STORE ADDRESS``
"""

from __future__ import annotations

import sys

from metaeval.judging.settings import judging
from metaeval.kinds.slates.judge.judge import Slates
from metaeval.llm.calls.limits import Limits
from tests.kinds.slates.catalogue import slates

if __name__ == "__main__":
    with judging(sys.argv[1], limits=Limits(concurrency=4)):
        scores = (
            Slates("openai/m", base_url=sys.argv[2]).score(slates(users=12), ["preference"]).frame["score"]
        )
    sys.stdout.write("".join(f"{score:g}\n" for score in scores))
