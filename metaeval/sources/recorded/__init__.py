"""Import scores from the files of other tools; each evaluator becomes ``Recorded('name')``.

One module per tool: `promptfoo`, `inspect_logs`, `table`. A new one is a module with a function ``read`` and
a line in `metaeval.sources.recorded.adding.READERS`.
"""

from __future__ import annotations

from metaeval.sources.recorded.adding import READERS, Coverage, ScoreImport, add_scores, origin
from metaeval.sources.recorded.writing import import_scores

__all__ = ["READERS", "Coverage", "ScoreImport", "add_scores", "import_scores", "origin"]
