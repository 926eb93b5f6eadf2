"""Import scores from the files of other tools; each evaluator becomes ``Recorded('name')``.

One module per tool: `promptfoo`, `inspect_logs`. A new one is a module with a function ``read`` and
a line in `metaeval.kinds.explanations.data.recorded.adding.READERS`.
"""

from __future__ import annotations

from metaeval.kinds.explanations.data.recorded.adding import (
    READERS,
    Coverage,
    ScoreImport,
    add_scores,
    import_scores,
)

__all__ = ["READERS", "Coverage", "ScoreImport", "add_scores", "import_scores"]
