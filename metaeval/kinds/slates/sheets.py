"""What a study of slates finds out beside its board, as sheets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.analysis.verdicts.coherence_sheet import coherence_sheet
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.slates import files
from metaeval.kinds.slates.verdicts import RATING_TRANSITIVITY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation
    from metaeval.engine.intervals import Bootstrap

_REGRET = (
    "Regret: the utility of the better slate less that of the preferred one; the mean over duels in both "
    "orders, by user, then over users. A tie is the mean of both."
)
_COIN = "Coin: the regret of a coin on these duels; skill: 1 - regret / that of a coin."
_P = (
    "p: of no difference, in tests that swap the verdicts of both by user, corrected over all rows (single "
    "p-values are in the file)."
)
_ACCURACY = (
    "Accuracy: verdicts for the better slate, users alike; weighted: by the gap between the utilities. "
    "Duels of equal utility count in neither. A tie is half right."
)
_TASK = Column("task", "Task")
_EVALUATOR = Column("evaluator", "Evaluator")
_DIFFERENCE = Column("difference", "Difference", "decimal", "difference_low", "difference_high")
_P_COLUMN = Column("p_corrected", "p", "p")
_USERS = Column("n_users", "Users", "count")

_SHEETS: dict[str, tuple[str, tuple[Column, ...], tuple[str, ...]]] = {
    files.REGRET: (
        "Regret by task",
        (
            _EVALUATOR,
            _TASK,
            Column("regret", "Regret", "decimal", "ci_low", "ci_high"),
            Column("chance", "Coin", "decimal"),
            Column("skill", "Skill", "hundredths", "skill_low", "skill_high"),
            _P_COLUMN,
            Column("accuracy", "Accuracy", "share"),
            Column("weighted_accuracy", "Weighted accuracy", "share"),
            Column("n_duels", "Duels", "count"),
            _USERS,
        ),
        (_REGRET, _COIN, _P, _ACCURACY),
    ),
    files.DIFFICULTY: (
        "Regret by difficulty",
        (
            _EVALUATOR,
            _TASK,
            Column("difficulty", "Difficulty", "count"),
            Column("similarity", "Similarity", "hundredths"),
            Column("regret", "Regret", "decimal", "ci_low", "ci_high"),
            Column("chance", "Coin", "decimal"),
            Column("n_units", "Verdicts", "count"),
            _USERS,
        ),
        ("Difficulty: quantiles of the similarity of the two slates, 1 for the least alike.", _COIN),
    ),
    files.AGREEMENT: (
        "Agreement among judges",
        (
            Column("first", "Judge"),
            Column("second", "and judge"),
            _TASK,
            Column("same", "Same verdict", "share", "same_low", "same_high"),
            Column("kappa", "Kappa", "hundredths", "kappa_low", "kappa_high"),
            Column("n_units", "Verdicts", "count"),
        ),
        ("Verdicts in both orders; kappa is Cohen's, a tie being a verdict of its own.",),
    ),
    files.AGAINST: (
        "Regret against coherence",
        (
            _TASK,
            Column("axiom", "Axiom", "code"),
            Column("rho", "Spearman's ρ", "hundredths", "rho_low", "rho_high"),
            Column("n_judges", "Judges", "count"),
            Column("note", "Note"),
        ),
        ("Over judges: below 0, more coherent judges have less regret. Users are resampled, not judges.",),
    ),
    files.MAJORITY: (
        "Majorities against their members",
        (
            Column("ensemble", "Majority"),
            Column("member", "Member"),
            _TASK,
            Column("regret", "Regret", "decimal"),
            Column("member_regret", "of the member", "decimal"),
            _DIFFERENCE,
            _P_COLUMN,
        ),
        ("Difference: below 0, the majority has less regret than the member.", _P),
    ),
}
_RATINGS = (
    "Rating transitivity: verdicts for the slate to which the same model, asked for each slate alone, gave "
    "the higher rating, of verdicts that name one of two slates with unequal ratings."
)


def slate_sheets(
    tables: Mapping[str, pd.DataFrame], options: Bootstrap | None, intervals: str, simulated: Simulation
) -> Iterator[Sheet]:
    """Yield the tables that there are: regret first, then coherence, then how both hang together.

    Parameters
    ----------
    tables
        Name of a file → its table.
    options, intervals
        How intervals were made, and a sentence on it.
    """
    for file in files.SHEETS:
        if file not in tables:
            continue
        frame = tables[file]
        if file == files.COHERENCE:
            seed = options.seed if options else 0
            resamples = options.resamples if options else 0
            sheet = coherence_sheet(frame, resamples=resamples, seed=seed, simulated=simulated)
            notes = sheet.notes if options else sheet.notes[:-1]  # the last one is on intervals
            rated = RATING_TRANSITIVITY in set(frame["axiom"])
            yield replace(sheet, notes=(*notes, _RATINGS) if rated else notes)
            continue
        title, columns, notes = _SHEETS[file]
        shown = tuple(c for c in columns if c.name != "note" or frame["note"].any())
        more = [intervals] if intervals and any(c.low for c in columns) else []
        yield Sheet(file.removesuffix(".csv"), title, frame, shown, (*notes, *more), simulated)
