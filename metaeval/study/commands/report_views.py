"""What a command finds out of a finished run → a page of the run's report."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError
from metaeval.reports.report.model import sheets_payload
from metaeval.reports.report.page import with_sheets
from metaeval.runs.folder import REPORT, rewrite_output

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.engine.sheet import Sheet


def show_in_report(folder: str | os.PathLike[str], view: str, sheets: Sequence[Sheet]) -> None:
    """Show sheets in a view of a run's report, in the place of those that it had.

    A folder that is no run, a report that the run did not write, and one that may not be written stay as they
    are: the sheets are printed all the same.

    Parameters
    ----------
    view
        ``biases`` or ``calibration``.
    """
    with contextlib.suppress(MetaevalError, OSError):
        rewrite_output(
            Path(folder), REPORT, partial(with_sheets, view=view, sheets=sheets_payload(view, sheets))
        )
