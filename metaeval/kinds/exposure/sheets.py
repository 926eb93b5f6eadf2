"""What a study of exposure finds out beside its board, as sheets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.exposure import files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation

_EVALUATOR, _USERS = Column("evaluator", "Evaluator"), Column("n_users", "Users", "count")
_PAIRS = Column("n_pairs", "Pairs", "count")
_SHOWN = 50
"""Pieces of invented evidence that are printed; the file has all."""
_AUC = (
    "PairAUC: the share of verdicts for the item with the better outcome. Weighted: by the sum of both "
    "items' inverse propensities, which do not change between resamples."
)
_RJS = "RJS = 2 PairAUC - 1, users weighted by the sum of their weights; users alike: its mean over users."
_CHANGED = (
    "One thing changes at a time; the first row of a judge is the unchanged judge. p: in tests that swap "
    "verdicts by user, corrected by Holm; no test if pairs or weights differ."
)
_FOUND = (
    "All found: the share of readable verdicts with all evidence found, word for word, in the prompt's text "
    "on user or items; found: the mean share of a verdict's evidence. Case matters; white space, Unicode "
    "forms, and the forms of quotation marks and dashes do not."
)

_SHEETS: dict[str, tuple[str, tuple[Column, ...], tuple[str, ...]]] = {
    files.PAIR_AUC: (
        "Agreement on matched pairs",
        (
            _EVALUATOR,
            Column("bin", "Bin"),
            Column("weighted", "Weighted"),
            Column("estimate", "PairAUC", "decimal", "ci_low", "ci_high"),
            Column("rjs", "RJS", "decimal", "rjs_low", "rjs_high"),
            Column("rjs_alike", "RJS, users alike", "decimal", "rjs_alike_low", "rjs_alike_high"),
            Column("ties", "Ties", "count"),
            Column("invalid", "Invalid", "count"),
            _PAIRS,
            _USERS,
        ),
        (_AUC, _RJS, "Bin: the popularity quantile of both items, 0 for the most popular."),
    ),
    files.ABLATIONS: (
        "Effect of weights, evidence, matching and judges",
        (
            Column("evaluator", "Evaluator"),
            Column("argument", "Changed"),
            Column("value_of", "To"),
            Column("estimate", "PairAUC", "decimal", "ci_low", "ci_high"),
            Column("difference", "Difference", "decimal", "difference_low", "difference_high"),
            Column("p", "p", "p"),
            _PAIRS,
        ),
        (_CHANGED,),
    ),
    files.EVIDENCE: (
        "Evidence quoted by judges",
        (
            Column("evaluator", "Judge"),
            Column("order", "Order"),
            Column("complete", "All found", "share", "complete_low", "complete_high"),
            Column("found", "Found", "share", "found_low", "found_high"),
            Column("same", "Same in both orders", "share", "same_low", "same_high"),
            Column("n_verdicts", "Verdicts", "count"),
            Column("n_invented", "With invented", "count"),
            Column("n_discarded", "Discarded", "count"),
            Column("rule", "Rule"),
        ),
        (_FOUND,),
    ),
    files.INVENTED: (
        "Invented evidence",
        (
            Column("evaluator", "Judge"),
            Column("user_id", "User"),
            Column("pair", "Pair"),
            Column("order", "Order"),
            Column("text", "Evidence"),
        ),
        (f"The first {_SHOWN}; {files.INVENTED} has all.",),
    ),
}


def exposure_sheets(
    tables: Mapping[str, pd.DataFrame], intervals: str, simulated: Simulation
) -> Iterator[Sheet]:
    """Yield the tables that there are.

    Parameters
    ----------
    tables
        Name of a file → its table.
    intervals
        A sentence on how intervals were made.
    """
    for file in files.SHEETS:
        if file not in tables:
            continue
        title, columns, notes = _SHEETS[file]
        more = [intervals] if intervals and any(c.low for c in columns) else []
        frame = tables[file].head(_SHOWN) if file == files.INVENTED else tables[file]
        yield Sheet(file.removesuffix(".csv"), title, frame, columns, (*notes, *more), simulated)
