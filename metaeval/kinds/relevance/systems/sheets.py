"""What labels say of systems, as sheets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.relevance import files
from metaeval.kinds.relevance.systems.selection import HISTORY
from metaeval.stats.regression.noisy_means import NoInterval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation

_SIDE_BY_SIDE = 6  # sources of the table of candidates, so that it is not too wide
_BY = (
    Column("evaluator", "Labels of"),
    Column("measure", "Measure"),
    Column("truth_measure", "Measure of the truth"),
)


class _Layout(NamedTuple):
    """How a table is laid out."""

    name: str
    title: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    resampled: bool = False
    """Whether its intervals are those of the bootstrap, which a sentence says."""
    of_truth: bool = False
    """Whether the rows of the first evaluator, the truth, are printed alone: a table of all would be long."""


_LAYOUTS = {
    files.SYSTEM_AGREEMENT: _Layout(
        "system_agreement",
        "Agreement on the order of systems",
        (
            *_BY,
            Column("tau", "τ", "decimal"),
            Column("tau_corrected", "τ, corrected", "decimal", "ci_low", "ci_high"),
            Column("weighted_tau", "Weighted τ", "decimal"),
            Column("tau_ap", "τ_AP", "decimal"),
            Column("tau_top", "τ of the top", "decimal"),
            Column("top", "Top", "count"),
            Column("n_systems", "Systems", "count"),
            Column("n_users", "Users", "count"),
            Column("coverage", "Coverage", "share"),
            Column("p_best", "p", "p"),
        ),
        (
            "τ: Kendall's τ-b between the means of the systems by an evaluator's labels and by the truth's.",
            (
                "Corrected: τ of the means over very many users, with its interval. Noise in the means "
                "lowers the plain τ, which can lie outside."
            ),
            (
                "Weighted τ: hyperbolic weights, the mean over the ranks by both. τ_AP: errors at the top "
                "of the evaluator's order weigh most. τ of the top: among the best systems by the truth."
            ),
            "Coverage: the share of the truth's units that the evaluator also labels.",
            "p: paired tests against the evaluator with the highest τ, swapping users (Holm).",
        ),
    ),
    files.SYSTEMS: _Layout(
        "systems",
        "Systems by the labels of the truth",
        (
            *_BY[:2],
            Column("system", "System"),
            Column("value", "Mean", "decimal", "ci_low", "ci_high"),
            Column("cluster", "Cluster", "count"),
            Column("judged", "Judged", "share"),
            Column("n_users", "Users", "count"),
            Column("n_missing", "Users without a list", "count"),
        ),
        (
            (
                "A user without a list of a system counts as 0 for it. Judged: the share of labelled items "
                "among those that the measure reads."
            ),
            (
                "A cluster holds the systems not significantly worse than its best: paired t-tests over "
                "users, Holm's correction over ordered pairs."
            ),
        ),
        resampled=True,
        of_truth=True,
    ),
    files.DECISIONS: _Layout(
        "system_decisions",
        "Significant differences between systems",
        (
            *_BY,
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
                "Differences: pairs of systems of which one is significantly better by the truth (paired "
                "t-tests over users, Holm's correction). Of its own: the share of an evaluator's "
                "differences that are not significant by the truth."
            ),
        ),
    ),
    files.POPULARITY: _Layout(
        "system_popularity",
        "Gain of systems that recommend popular items",
        (*_BY, Column("r", "r", "decimal", "ci_low", "ci_high"), Column("n_systems", "Systems", "count")),
        (
            (
                "r: Pearson's correlation over systems between the popularity of a system's recommendations "
                "and the ranks that it gains if the evaluator's labels replace the truth's. Above 0, "
                "popular systems gain."
            ),
        ),
        resampled=True,
    ),
    files.FAMILIES: _Layout(
        "system_families",
        "Evaluators and systems of one family of models",
        (
            _BY[0],
            Column("family", "Family"),
            Column("systems", "Systems of it"),
            Column("gain", "Ranks gained", "hundredths", "ci_low", "ci_high"),
            Column("n_own", "Systems", "count"),
        ),
        (
            "Warning: by their names, these evaluators judge systems of their own family of models.",
            (
                "Ranks gained with the evaluator's labels in place of the truth's, compared with the other "
                "systems."
            ),
        ),
        resampled=True,
    ),
    files.CURVE: _Layout(
        "label_curve",
        "Number of labels per user",
        (
            *_BY,
            Column("labels", "Labels per user, at most", "count"),
            Column("labels_per_user", "Mean", "number"),
            Column("tau", "τ", "decimal", "tau_low", "tau_high"),
            Column("weighted_tau", "Weighted τ", "decimal"),
            Column("repeats", "Samples", "count"),
        ),
        (
            (
                "τ against all labels of the truth; means over samples of an evaluator's labels, which are "
                "spread over the depths of the pool. Brackets (thin lines in the figure) give the lowest "
                "and the highest."
            ),
            "The last row of an evaluator has all its labels.",
        ),
    ),
    files.JUDGED: _Layout(
        "judged",
        "Share of the lists with a label",
        (
            _BY[0],
            Column("system", "System"),
            Column("cutoff", "First items", "count"),
            Column("judged", "Judged", "share"),
        ),
        ("Judged: the mean over users of the share of a system's first items that has a label.",),
        of_truth=True,
    ),
    files.UNJUDGED: _Layout(
        "unjudged",
        "Effect of unjudged items on the order of systems",
        (
            *_BY[:2],
            Column("other", "Against"),
            Column("tau", "τ", "decimal"),
            Column("most_moved", "Moves most"),
            Column("places", "Places up", "rank"),
        ),
        (
            (
                "The measure counts an unjudged item as not relevant. The other one skips it (judged only, "
                "Bpref), or takes the labels as a sample of all units (infAP)."
            ),
        ),
    ),
    files.LEFT_OUT: _Layout(
        "left_out",
        "Systems left out of the pool, one at a time",
        (
            Column("system", "System"),
            _BY[1],
            Column("n_labels", "Own labels", "count"),
            Column("value", "Mean", "decimal"),
            Column("value_without", "Mean without them", "decimal"),
            Column("rank", "Rank", "rank"),
            Column("rank_without", "Rank without them", "rank"),
        ),
        ("Own labels: the truth's labels of items that no other system has among its first.",),
    ),
}


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
    for file in _LAYOUTS:
        if file in tables:
            sheet = system_sheet(file, tables[file], simulated, intervals)
            if file == files.SYSTEM_AGREEMENT:
                said = tables[files.NOTES]["note"] if files.NOTES in tables else ()
                sheet = replace(sheet, notes=(*sheet.notes, *_without_interval(sheet.frame), *said))
            yield sheet
    if files.SELECTION in tables:
        yield from _selection(tables[files.SELECTION], simulated)


def system_sheet(file: str, frame: pd.DataFrame, simulated: Simulation, intervals: str = "") -> Sheet:
    """Return the sheet of the table of one file."""
    layout, notes = _LAYOUTS[file], []
    if layout.of_truth:
        frame = frame[frame["evaluator"] == frame["evaluator"].iloc[0]]
        notes.append("The file of this table has the labels of every evaluator.")
    if layout.resampled and intervals:
        notes.append(intervals)
    return Sheet(layout.name, layout.title, frame, layout.columns, (*layout.notes, *notes), simulated)


def _without_interval(frame: pd.DataFrame) -> Iterator[str]:
    for reason in sorted({r for r in frame["no_interval"].dropna() if r}):
        words = NoInterval(reason).words.replace("generators", "systems")
        yield f"There is no interval where {words}."


def _selection(frame: pd.DataFrame, simulated: Simulation) -> Iterator[Sheet]:
    """Yield what each source picks, and the candidates side by side."""
    sources = [str(source) for source in frame["source"].unique()]
    notes = []
    if HISTORY in sources:
        notes.append(f"By {HISTORY}: an item is relevant if the user's own history has it.")
    picked = frame[frame["system"] == frame["best"]].drop_duplicates("source").reset_index(drop=True)
    yield Sheet(
        "model_selection",
        "The best system by each evaluator",
        picked,
        (
            Column("source", "By"),
            Column("measure", "Measure"),
            Column("best", "Best system"),
            Column("value", "Its mean", "decimal"),
            Column("rank_truth", "Its rank by the truth", "rank"),
            Column("disagreements", "Pairs in another order than by the truth", "count"),
            Column("n_pairs", "Pairs", "count"),
        ),
        tuple(notes),
        simulated,
    )
    shown = sources[:_SIDE_BY_SIDE]
    wide = frame.pivot_table(index="system", columns="source", values="value", sort=False)[shown]
    if len(shown) < len(sources):
        notes.append(f"The first {_SIDE_BY_SIDE} of {len(sources)} are shown.")
    yield Sheet(
        "candidates",
        "Systems side by side",
        wide.reset_index().sort_values(shown[0], ascending=False, ignore_index=True),
        (Column("system", "System"), *(Column(source, source, "decimal") for source in shown)),
        ("Means of the systems, the best by the truth first.", *notes),
        simulated,
    )
