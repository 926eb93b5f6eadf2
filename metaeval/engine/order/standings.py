"""A board → the tables of a paper: all cells of all evaluators, in blocks, the best and the second marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Literal, NamedTuple, cast

import pandas as pd

from metaeval.base.records import Kind
from metaeval.engine.board import Board, BoardDimension, Cell
from metaeval.engine.sheet import MARKS_SAID, NOTHING, Column, Mark, Sheet, value_text

Order = Literal["study", "estimate"]

_OWN = ("block", "mark", "printed")

BLOCKS = {
    Kind.BASELINE: "Baselines",
    Kind.REFERENCE: "Reference-based",
    Kind.RECORDED: "Recorded",
    Kind.FUNCTION: "Functions",
    Kind.ANNOTATOR: "Annotators",
    Kind.JUDGE: "Judges",
    Kind.ENSEMBLE: "Ensembles",
}


class Standings(NamedTuple):
    """All evaluators in all cells."""

    tables: tuple[Sheet, ...]
    """One per choice of the dimensions that are no columns; ``frame`` has the chosen values, ``block``,
    ``evaluator``, a column per cell and the counts that differ."""
    values: pd.DataFrame
    """A row per evaluator and cell: the columns of the board, ``block``, ``mark`` and ``printed``."""

    @classmethod
    def none(cls, columns: Sequence[str]) -> Standings:
        """Return empty standings with these columns."""
        return cls((), pd.DataFrame(columns=[*columns, *_OWN]))


def standings(board: Board, *, order: Order = "study", truth: str = "", dataset: str = "") -> Standings:
    """Lay a board out in tables.

    Parameters
    ----------
    order
        Of the evaluators in a block: ``study``, as they come, or ``estimate``, the best first by the first
        table, in the first value of its last column.
    truth, dataset
        Named in the caption, if given.

    Raises
    ------
    ValueError
        If ``order`` is something else.
    """
    if order not in ("study", "estimate"):
        raise ValueError(f"order is 'study' or 'estimate', not {order!r}")
    chosen = [d for d in board.dimensions if d.name not in board.columns]
    tables: list[tuple[_Table, Sheet]] = []
    evaluators = list(dict.fromkeys(board.frame["evaluator"]))
    for values in product(*(d.choices for d in chosen)):
        table = _Table(board, dict(zip((d.name for d in chosen), values, strict=True)))
        if not table.rows:
            continue
        if order == "estimate" and not tables:
            evaluators.sort(key=table.place)
        tables.append((table, table.sheet(evaluators, truth, dataset)))
    rows = [row for table, sheet in tables for row in table.values(sheet)]
    columns = [*board.frame.columns, *_OWN]
    return Standings(tuple(sheet for _, sheet in tables), pd.DataFrame(rows, columns=columns))


class _Table:
    """The cells of one choice: a column per value of a dimension, in it a number per value of another one."""

    def __init__(self, board: Board, chosen: Cell) -> None:
        self.board, self.chosen = board, chosen
        frame = board.of(chosen)
        dimensions = {d.name: d for d in board.dimensions}
        self.across, self.within = (*(dimensions[name] for name in board.columns), None, None)[:2]
        self.columns, self.numbers = _present(self.across, frame), _present(self.within, frame)
        self.cells = list(product(self.columns, self.numbers))
        self.rows: dict[tuple[str, ...], dict[str, Any]] = {
            (row["evaluator"], *(row[d.name] if d else "" for d in (self.across, self.within))): row
            for row in cast("list[dict[str, Any]]", frame.to_dict("records"))
        }

    def place(self, evaluator: str) -> float:
        """Return what evaluators are ordered by, the best first."""
        a, v = self.columns[-1], self.numbers[0]
        estimate = self._row(evaluator, a, v)["estimate"]
        better = -estimate if self._higher(a, v) else estimate
        return better if math.isfinite(estimate) else math.inf

    def sheet(self, evaluators: Sequence[str], truth: str, dataset: str) -> Sheet:
        board = self.board
        kinds = {e: Kind(board.kinds.get(e, Kind.RECORDED)) for e in evaluators}
        evaluators = [e for kind in Kind for e in evaluators if kinds[e] is kind]
        counts, said = self._counts(evaluators)
        frame = pd.DataFrame(
            {
                **{name: [value] * len(evaluators) for name, value in self.chosen.items()},
                "block": [str(kinds[e]) for e in evaluators],
                "heads": [BLOCKS[kinds[e]] for e in evaluators],
                "evaluator": evaluators,
                "label": [board.label(e) for e in evaluators],
                **{_name(a, v): [self._row(e, a, v)["estimate"] for e in evaluators] for a, v in self.cells},
                **counts,
            }
        )
        cells = [[_name(a, v) for v in self.numbers] for a in self.columns]
        names = [name for of_column in cells for name in of_column]
        compared = frame[~frame["evaluator"].isin(board.apart)]
        title, caption, notes = self._words(truth, dataset)
        if frame[names].isna().any(axis=None):
            notes.append(f"{NOTHING} is undefined.")
        return Sheet(
            "-".join(["leaderboard", *self.chosen.values()]),
            title,
            frame,
            (
                Column("label", "Evaluator"),
                *(
                    Column(
                        first,
                        a or board.noun,
                        board.form,
                        beside=tuple(others),
                        parts=tuple(self.numbers) if others else (),
                        keep=a == self.columns[-1],
                    )
                    for a, (first, *others) in zip(self.columns, cells, strict=True)
                ),
                *(Column(name, name, "counts") for name in counts),
            ),
            (*notes, *said),
            board.simulated,
            caption,
            "heads",
            {at: mark for a, v in self.cells for at, mark in self._marks(a, v, compared[_name(a, v)])},
        )

    def values(self, sheet: Sheet) -> list[dict[str, Any]]:
        """Return what each value is, in the order of the sheet."""
        return [
            {
                **self._row(row["evaluator"], a, v),
                "block": row["block"],
                "mark": sheet.marks.get((i, _name(a, v)), ""),
                "printed": value_text(row[_name(a, v)], self.board.form).replace(NOTHING, ""),
            }
            for i, row in enumerate(sheet.frame.to_dict("records"))
            for a, v in self.cells
        ]

    def _row(self, evaluator: str, a: str, v: str) -> dict[str, Any]:
        """Return a cell; NaN and no count where there is none."""
        if (evaluator, a, v) in self.rows:
            return self.rows[evaluator, a, v]
        none = {c: 0 if c.startswith("n_") else math.nan for c in map(str, self.board.frame)}
        return {**none, "evaluator": evaluator, **self._cell(a, v)}

    def _cell(self, a: str, v: str) -> dict[str, str]:
        """Return the cell of a column and a number."""
        return {**self.chosen, **{d.name: value for d, value in ((self.across, a), (self.within, v)) if d}}

    def _higher(self, a: str, v: str) -> bool:
        """Say whether higher is better in a cell."""
        return self.board.higher_in(self._cell(a, v))

    def _marks(self, a: str, v: str, column: pd.Series[float]) -> list[tuple[tuple[int, str], Mark]]:
        """Return the best value of a cell and the second; what is equal as printed is equal."""
        form, better = self.board.form, 1 if self._higher(a, v) else -1
        printed = [value_text(value, form) for value in column]
        size = {text: better * value for text, value in zip(printed, column, strict=True) if text != NOTHING}
        first = sorted(size, key=lambda text: size[text], reverse=True)[:2] if len(column) > 1 else []
        marks: dict[str, Mark] = dict(zip(first, ("best", "second"), strict=False))
        at = zip(column.index, printed, strict=True)
        return [((int(i), str(column.name)), marks[t]) for i, t in at if t in marks]

    def _counts(self, evaluators: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
        """Return the counts that differ between evaluators, and sentences on all."""
        board, at, total = self.board, self.rows, self.across.total if self.across else ""
        parts = [a for a in self.columns if a != total] or self.columns
        columns: dict[str, list[str]] = {}
        sentences: list[str] = []
        sums = board.sums or {name: (title, f"No {title}.") for name, title in board.counts.items()}
        for name, (title, nothing) in sums.items():
            numbers = [
                [[int(at[e, a, v][name]) for a in parts if (e, a, v) in at] for v in self.numbers]
                for e in evaluators
            ]
            # A number that holds for every column is said once, any other is a sum.
            each = all(len(set(n)) <= 1 for by_value in numbers for n in by_value)
            plural = self.across.plural if self.across else ""
            over = f" {'in each of' if each else 'over'} {len(parts)} {plural}" if len(parts) > 1 else ""
            shown = [_joined([n[0] if each and n else sum(n) for n in by_value]) for by_value in numbers]
            if len(set(shown)) > 1:
                columns[title] = shown
                sentences.append(f"{title.capitalize()} are counted{over}.")
            else:
                sentences.append(nothing if shown[0] == "0" else f"{title.capitalize()}{over}: {shown[0]}.")
        return columns, sentences

    def _words(self, truth: str, dataset: str) -> tuple[str, str, list[str]]:
        """Return the title, the caption and the sentences on what the cells hold."""
        board, within = self.board, self.within
        choices = {d.name: d.choices[self.chosen[d.name]] for d in board.dimensions if d.name in self.chosen}
        all_of = {d.name: f"any {d.title}" for d in board.dimensions}
        all_of |= {within.name: " / ".join(self.numbers)} if within else {}
        estimate = board.estimate.format(**all_of | choices)
        what = f"{estimate[:1].upper()}{estimate[1:]}"
        chosen = [f", {said}" for name, said in choices.items() if f"{{{name}}}" not in board.estimate]
        unit = f", {board.unit}" if board.unit else ""
        several = len(self.numbers) > 1
        held = f"{' / '.join(self.numbers)} {within.title}{unit}" if within else ""
        of = f" {board.relation} {truth}" if truth else ""
        on = f" on {dataset}" if dataset else ""
        where = "" if several else f" at {held}" if held else unit
        each = f"for each {within.title} on its own" if several and within else "in each column"
        cell = [f"A cell holds the {held}."] if several else []
        marks = f"{MARKS_SAID}, {each}."
        caption = f"{what} of each evaluator{of}{on}{''.join(chosen)}{where}."
        return f"{what}{''.join(chosen)}", caption, [*cell, marks]


def _present(dimension: BoardDimension | None, frame: pd.DataFrame) -> list[str]:
    """Return the values of a dimension that are in a frame, in order; one empty value without a dimension."""
    return [v for v in dimension.choices if (frame[dimension.name] == v).any()] if dimension else [""]


def _name(a: str, v: str) -> str:
    """Return the column of a cell."""
    return " ".join(filter(None, (a, v))) or "estimate"


def _joined(numbers: Sequence[int]) -> str:
    texts = [f"{n:,}" for n in numbers]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)
