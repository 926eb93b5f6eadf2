"""What labels say of systems, as sheets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.relevance import files
from metaeval.kinds.relevance.systems.selection import HISTORY
from metaeval.stats.regression.noisy_means import NoInterval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation

_EVALUATOR, _MEASURE = Column("evaluator", "Labels of"), Column("measure", "Measure")
_TRUE = Column("truth_measure", "Measure of the truth")
_CORRECTED = (
    "Corrected: τ of the means that very many users would give, with its interval; noise in means lowers the "
    "plain τ, which can lie outside."
)
_TESTS = "p: against the evaluator with the highest τ, in paired tests that swap users, corrected by Holm."
_OTHERS = "The file of this table has the labels of every evaluator."
_SIDE_BY_SIDE = 6  # sources of the table of candidates, so that it is not too wide


def system_sheets(
    tables: Mapping[str, pd.DataFrame], intervals: str, simulated: Simulation
) -> Iterator[Sheet]:
    """Yield the sheets of the tables that there are.

    Parameters
    ----------
    tables
        Name of a file → its table.
    intervals
        The sentence on the bootstrap; empty without one.
    """
    notes = tuple(tables[files.NOTES]["note"]) if files.NOTES in tables else ()
    for file, lay_out in _SHEETS.items():
        if file in tables and len(tables[file]):
            for sheet in lay_out(tables[file], intervals):
                said = notes if file == files.SYSTEM_AGREEMENT else ()
                yield replace(sheet, notes=tuple(filter(None, (*sheet.notes, *said))), simulated=simulated)


def agreement_sheet(frame: pd.DataFrame, intervals: str) -> Iterator[Sheet]:
    """Yield how the orders of the systems agree."""
    reasons = {r for r in frame["no_interval"].dropna() if r}
    yield Sheet(
        "system_agreement",
        "Whether systems keep their order",
        frame,
        (
            _EVALUATOR,
            _MEASURE,
            _TRUE,
            Column("tau", "τ", "decimal"),
            Column("tau_corrected", "τ, corrected", "decimal", "ci_low", "ci_high"),
            Column("weighted_tau", "Weighted τ", "decimal"),
            Column("tau_ap", "τ_AP", "decimal"),
            Column("tau_top", "τ of the top", "decimal"),
            Column("n_systems", "Systems", "count"),
            Column("n_users", "Users", "count"),
            Column("coverage", "Coverage", "share"),
            Column("p_best", "p", "p"),
        ),
        (
            (
                "τ: Kendall's τ-b between the mean values of the systems by an evaluator's labels "
                "and by the truth's; the first row has the truth's own labels."
            ),
            _CORRECTED if intervals else "",
            (
                "Weighted τ: hyperbolic weights, the mean over ranks by both. τ_AP: errors at the "
                "top of the evaluator's order weigh most. τ of the top: among the "
                f"{int(frame['top'].max())} systems that are best by the truth."
            ),
            "Coverage: the share of what the truth labels that the evaluator labels too.",
            _TESTS if intervals else "",
            *(f"There is no interval where {_reason(r)}." for r in sorted(reasons)),
        ),
    )


def _reason(reason: str) -> str:
    return NoInterval(reason).words.replace("generators", "systems")


def systems_sheet(frame: pd.DataFrame, intervals: str) -> Iterator[Sheet]:
    """Yield the value of every system by the labels of the truth, which come first."""
    frame = _of_first(frame)
    missing = int(frame.groupby("evaluator", sort=False)["n_missing"].sum().max() > 0)
    yield Sheet(
        "systems",
        "Systems by the labels of the truth",
        frame,
        (
            _EVALUATOR,
            _MEASURE,
            Column("system", "System"),
            Column("value", "Mean", "decimal", "ci_low", "ci_high"),
            Column("cluster", "Cluster", "count"),
            Column("judged", "Judged", "share"),
            Column("n_users", "Users", "count"),
            Column("n_missing", "Users without a list", "count"),
        ),
        (
            "A user without a list of a system is worth 0 to it." if missing else "",
            (
                "A cluster holds the systems not significantly worse than its best: paired t-tests "
                "over users, Holm over ordered pairs. Judged: the share of the items that the "
                "measure reads that has a label."
            ),
            _OTHERS,
            intervals,
        ),
    )


def _of_first(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first evaluator: a table of all would be very long."""
    shown: pd.DataFrame = frame[frame["evaluator"] == frame["evaluator"].iloc[0]]
    return shown


def decisions_sheet(frame: pd.DataFrame, _: str) -> Iterator[Sheet]:
    """Yield agreement of decisions."""
    yield Sheet(
        "system_decisions",
        "Which differences between systems are found",
        frame,
        (
            _EVALUATOR,
            _MEASURE,
            _TRUE,
            Column("agree", "Found", "share"),
            Column("miss", "Missed", "share"),
            Column("reversed", "Reversed", "share"),
            Column("n_truth", "Differences", "count"),
            Column("extra", "Of its own", "share"),
            Column("n_judge", "Its differences", "count"),
            Column("n_pairs", "Pairs", "count"),
        ),
        (
            (
                "Differences: pairs of systems of which one is significantly better by the truth "
                "(paired t-tests over users, Holm). Of its own: the share of an evaluator's "
                "significant differences that are none by the truth."
            ),
        ),
    )


def selection_sheets(frame: pd.DataFrame, _: str) -> Iterator[Sheet]:
    """Yield what each source picks, and the candidates side by side."""
    sources = list(frame["source"].unique())
    picked = frame[frame["system"] == frame["best"]].drop_duplicates("source").reset_index(drop=True)
    said = (
        f"{HISTORY.capitalize()}: an item counts as relevant if the user's own history has it."
        if HISTORY in sources
        else ""
    )
    yield Sheet(
        "model_selection",
        "Which system is picked",
        picked,
        (
            Column("source", "By"),
            Column("measure", "Measure"),
            Column("best", "Best system"),
            Column("value", "Its mean", "decimal"),
            Column("rank_truth", "Its rank by the truth", "number"),
            Column("disagreements", "Pairs in another order than by the truth", "count"),
            Column("n_pairs", "Pairs", "count"),
        ),
        (said,),
    )
    wide = frame.pivot_table(index="system", columns="source", values="value", sort=False)[
        sources[:_SIDE_BY_SIDE]
    ].reset_index()
    yield Sheet(
        "candidates",
        "Systems side by side",
        wide.sort_values(sources[0], ascending=False, ignore_index=True),
        (
            Column("system", "System"),
            *(Column(source, str(source), "decimal") for source in sources[:_SIDE_BY_SIDE]),
        ),
        (
            "Means of the systems, the best by the truth first.",
            f"Shown are the first {_SIDE_BY_SIDE} of {len(sources)}." if len(sources) > _SIDE_BY_SIDE else "",
            said,
        ),
    )


def popularity_sheet(frame: pd.DataFrame, intervals: str) -> Iterator[Sheet]:
    """Yield whether evaluators favour popular systems."""
    yield Sheet(
        "system_popularity",
        "Whether systems that recommend popular items gain",
        frame,
        (
            _EVALUATOR,
            _MEASURE,
            _TRUE,
            Column("r", "r", "decimal", "ci_low", "ci_high"),
            Column("n_systems", "Systems", "count"),
        ),
        (
            (
                "r: Pearson's correlation over systems between the popularity of what a system "
                "recommends and the ranks that it gains by the evaluator's labels against the "
                "truth's. Above 0, popular systems gain."
            ),
            intervals,
        ),
    )


def families_sheet(frame: pd.DataFrame, intervals: str) -> Iterator[Sheet]:
    """Yield a warning where an evaluator and systems share a family of models."""
    yield Sheet(
        "system_families",
        "Evaluators and systems of one family of models",
        frame,
        (
            _EVALUATOR,
            Column("family", "Family"),
            Column("systems", "Systems of it"),
            Column("gain", "Ranks gained", "hundredths", "ci_low", "ci_high"),
            Column("n_own", "Systems", "count"),
        ),
        (
            (
                "Warning: these evaluators judge systems of their own family of models, as far as "
                "names tell. Ranks gained: by the evaluator's labels against the truth's, more than"
                " the other systems."
            ),
            intervals,
        ),
    )


def judged_sheet(frame: pd.DataFrame, _: str) -> Iterator[Sheet]:
    """Yield how much of each list the truth labels."""
    frame = _of_first(frame)
    yield Sheet(
        "judged",
        "How much of the lists has a label",
        frame,
        (
            _EVALUATOR,
            Column("system", "System"),
            Column("cutoff", "First items", "count"),
            Column("judged", "Judged", "share"),
        ),
        ("Judged: the mean over users of the share of a system's first items that has a label.", _OTHERS),
    )


def unjudged_sheet(frame: pd.DataFrame, _: str) -> Iterator[Sheet]:
    """Yield what unjudged items do to the order of systems."""
    yield Sheet(
        "unjudged",
        "What unjudged items do to the order of the systems",
        frame,
        (
            _EVALUATOR,
            _MEASURE,
            Column("other", "Against"),
            Column("tau", "τ", "decimal"),
            Column("most_moved", "Moves most"),
            Column("places", "Places up", "number"),
        ),
        (
            (
                "An unjudged item counts as not relevant to the measure. The other skips it (judged"
                " only, Bpref), or takes the labels as a sample of all units (infAP)."
            ),
        ),
    )


def left_out_sheet(frame: pd.DataFrame, _: str) -> Iterator[Sheet]:
    """Yield what becomes of systems that did not take part in the pool."""
    yield Sheet(
        "left_out",
        "Systems left out of the pool, one at a time",
        frame,
        (
            Column("system", "System"),
            _MEASURE,
            Column("n_labels", "Labels of its own", "count"),
            Column("value", "Mean", "decimal"),
            Column("value_without", "Without them", "decimal"),
            Column("rank", "Rank", "number"),
            Column("rank_without", "Without them", "number"),
        ),
        ("Labels of its own: those of the truth that no other system has among its first items.",),
    )


def curve_sheet(frame: pd.DataFrame, _: str) -> Iterator[Sheet]:
    """Yield τ by the number of labels per user."""
    yield Sheet(
        "label_curve",
        "How many labels per user it takes",
        frame,
        (
            _EVALUATOR,
            _MEASURE,
            _TRUE,
            Column("labels", "Labels per user, at most", "count"),
            Column("labels_per_user", "Mean", "number"),
            Column("tau", "τ", "decimal", "tau_low", "tau_high"),
            Column("weighted_tau", "Weighted τ", "decimal"),
            Column("repeats", "Samples", "count"),
        ),
        (
            (
                "τ against all labels of the truth; means over samples of an evaluator's labels, "
                "which are spread over the depths of the pool. Brackets hold the lowest and the "
                "highest. The last row of an evaluator has all its labels."
            ),
        ),
    )


_SHEETS = {
    files.SYSTEM_AGREEMENT: agreement_sheet,
    files.SYSTEMS: systems_sheet,
    files.DECISIONS: decisions_sheet,
    files.SELECTION: selection_sheets,
    files.POPULARITY: popularity_sheet,
    files.FAMILIES: families_sheet,
    files.CURVE: curve_sheet,
    files.JUDGED: judged_sheet,
    files.UNJUDGED: unjudged_sheet,
    files.LEFT_OUT: left_out_sheet,
}
