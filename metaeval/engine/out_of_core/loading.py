"""Parquet files of scores × truth → both over the same units: the truth in memory, the scores in a file."""

from __future__ import annotations

import math
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

import numpy as np
import pandas as pd
import pyarrow as pa

from metaeval.base.errors import DataError
from metaeval.base.progress import progress
from metaeval.base.records import Status
from metaeval.engine.alignment.aligned import (
    Aligned,
    Bools,
    align,
    aspects_of_scores,
    column_numbers,
    infinite_value,
    shared_keys,
)
from metaeval.engine.alignment.matching import empty_cell, shared_codes
from metaeval.engine.alignment.prepared import plain
from metaeval.engine.out_of_core.files import (
    ROW,
    DuckDatabase,
    Parquet,
    available_memory,
    database,
    quoted,
    text,
)
from metaeval.stats.coefficients.tables import Floats

NO_ROW, EXAMPLE = -np.inf, np.inf
"""What stands where an evaluator has no row, and where the unit was an example; NaN is a missing score."""


class Cube:
    """Scores of E evaluators for A aspects and U units, in the order of the evaluators.

    The file has no name, so that the system frees it when the process ends, however it ends.
    """

    def __init__(self, n_aspects: int, n_units: int) -> None:
        self.shape = (n_aspects, n_units)
        self.size = n_aspects * n_units
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the cube lives
        weakref.finalize(self, self._file.close)
        self._reading = Lock()

    def append(self, scores: Floats) -> None:
        """Write the scores of the evaluators that come next, one after the other."""
        self._file.seek(0, 2)
        self._file.write(scores.data.cast("B"))

    def rows(self, evaluator: int) -> Bools:
        """Return where an evaluator has a row, with a score or without, shape (A, U)."""
        return np.asarray(self._stored([evaluator])[0] != NO_ROW)

    def read(self, evaluators: Sequence[int]) -> tuple[Floats, Bools | None]:
        """Return the scores of evaluators, shape (E, A, U), NaN for none, and where a unit was an example."""
        scores = self._stored(evaluators)
        example = scores == EXAMPLE
        scores[np.isinf(scores)] = np.nan
        return scores, example if example.any() else None

    def _stored(self, evaluators: Sequence[int]) -> Floats:
        scores = np.empty((len(evaluators), *self.shape))
        with self._reading:
            for place, evaluator in zip(scores, evaluators, strict=True):
                self._file.seek(evaluator * self.size * scores.itemsize)
                self._file.readinto(place.data.cast("B"))
        return scores


@dataclass(frozen=True)
class Loaded:
    """Scores and truth over the same units."""

    truth: Aligned
    """Without evaluators."""
    evaluators: list[str]
    cube: Cube
    complete: bool
    """Whether every evaluator gave every unit a score."""

    def part(self, evaluators: Sequence[int]) -> Aligned:
        """Return the scores of some evaluators and the truth."""
        scores, example = self.cube.read(evaluators)
        names = [self.evaluators[e] for e in evaluators]
        return replace(self.truth, evaluators=names, scores=scores, example=example)

    def status_counts(self) -> dict[str, dict[str, int]]:
        """Return evaluator → status → number of scores with it."""
        counts = {}
        for e, name in enumerate(self.evaluators):
            scored = int(np.isfinite(self.cube.read([e])[0]).sum())
            both = {Status.OK.value: scored, Status.MISSING.value: int(self.cube.rows(e).sum()) - scored}
            counts[name] = {status: n for status, n in both.items() if n}
        return counts

    def write_scores(self, keys: Sequence[str], file: Path) -> None:
        """Write the scores as the Parquet file of a run, one evaluator at a time."""
        import pyarrow.parquet as pq

        texts = {k: pa.array(self.truth.labels[k].to_numpy(dtype=object)) for k in keys}
        aspects, statuses = pa.array(self.truth.aspects), pa.array([Status.OK.value, Status.MISSING.value])
        writer = None
        try:
            for e, name in enumerate(self.evaluators):
                aspect, unit = np.nonzero(self.cube.rows(e))
                score = self.cube.read([e])[0][0, aspect, unit]
                table = pa.table(
                    {
                        **{k: names.take(pa.array(self.truth.keys[k][unit])) for k, names in texts.items()},
                        "evaluator": pa.array([name]).take(pa.array(np.zeros(len(unit), dtype=np.int64))),
                        "aspect": aspects.take(pa.array(aspect)),
                        "score": pa.array(score),
                        "status": statuses.take(pa.array(np.isnan(score).astype(np.int64))),
                    }
                )
                writer = writer or pq.ParquetWriter(file, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()


_SHARE = 8
"""One part in so many of the memory that is available holds the scores that are being read."""
_HEAD = 1_000  # rows that errors and the types of columns are told from
_TEXT = "VARCHAR"
_FLOATS = ("DOUBLE", "FLOAT")


def first_rows(scores: Parquet) -> pd.DataFrame:
    """Return the first row of each evaluator and aspect, in the order of the file."""
    with database() as db:
        types = db.view("scores", scores)
        groups = ", ".join(quoted(c) for c in ("evaluator", "aspect") if c in types) or "true"
        first = f"SELECT min({ROW}) FROM scores GROUP BY {groups}"
        rows = db.table(f"SELECT * EXCLUDE {ROW} FROM scores WHERE {ROW} IN ({first}) ORDER BY {ROW}")
    frame: pd.DataFrame = rows.to_pandas()
    return frame


def load(
    scores: Parquet,
    truth: pd.DataFrame,
    levels: Sequence[str],
    *,
    text_keys: bool = False,
    check: Callable[[Sequence[str]], None] | None = None,
    named: Mapping[str, str] | None = None,
) -> Loaded:
    """Match scores in files with the truth, unit by unit.

    ``text_keys`` takes the keys of the scores as texts, as those of a data set are; ``check`` may refuse the
    names of the evaluators; ``named`` are those to read: name → that in the files.
    Errors are those of `metaeval.engine.alignment.aligned.align`.
    """
    with database() as db:
        source = Source.of(db, scores, truth, text_keys=text_keys)
        of_truth = source.truth_alone(levels)  # errors of the truth come before the scores are read
        evaluators, aspects = source.named()
        if check:
            check(evaluators)
        if named is not None:
            evaluators = [*named.values()]
        aspects_of_scores(pd.DataFrame({"aspect": aspects}), of_truth.aspects)
        n_aspects, n_units = of_truth.truth.shape
        cube = Cube(n_aspects, n_units)
        source.name_units(of_truth, evaluators)
        step = max(1, available_memory() // (_SHARE * cube.size * np.dtype(float).itemsize))
        n, complete, matched = len(evaluators), True, False
        with progress("reading the scores", n) as advance:
            for start in range(0, n, step):
                found = source.scores(cube.size, start, min(start + step, n))
                matched = matched or bool((found != NO_ROW).any())
                complete = complete and bool(np.isfinite(found).all())
                cube.append(found)
                advance(min(step, n - start))
        if not matched:
            source.check_matches()
    return Loaded(of_truth, evaluators if named is None else [*named], cube, complete)


@dataclass(frozen=True)
class Source:
    """The scores, as DuckDB reads them, and the truth that they are matched with."""

    db: DuckDatabase
    files: Parquet
    truth: pd.DataFrame
    head: pd.DataFrame
    """The first rows of the scores."""
    keys: list[str]
    columns: dict[str, str]
    """Column of the scores → how SQL reads it."""

    @classmethod
    def of(cls, db: DuckDatabase, files: Parquet, truth: pd.DataFrame, *, text_keys: bool) -> Source:
        """Look at the columns of the scores."""
        types = db.view("scores", files)
        head = db.table(f"SELECT * EXCLUDE {ROW} FROM scores LIMIT {_HEAD}").to_pandas()
        head, truth = plain(head, truth)
        keys = shared_keys(head, truth)
        read = {column: f"s.{quoted(column)}" for column in types}
        read |= {k: f"nullif({read[k]}, 'nan')" for k in keys if types[k] in _FLOATS}
        texts = [*(keys if text_keys else ()), "evaluator", "aspect", "status"]
        read |= {c: f"{read[c]}::{_TEXT}" for c in texts if types.get(c, _TEXT) != _TEXT}
        head = head.astype({c: "str" for c in keys if text_keys and types[c] != _TEXT})
        for key in keys:
            if not text_keys and key in files.folders and truth[key].dtype.kind in "iuf":
                read[key] = f"TRY_CAST({read[key]} AS DOUBLE)"  # the name of a folder has no type
            elif (types[key] == _TEXT or text_keys) != (truth[key].dtype.kind not in "iufbM"):
                shared_codes(truth[key], head[key], key)  # raises, as a text is no number
        return cls(db, files, truth, head, keys, read)

    def truth_alone(self, levels: Sequence[str]) -> Aligned:
        """Return the truth without scores; what is wrong with it, or with the columns, is raised."""
        none = self.head.head(1).copy()
        for key in self.keys:
            none[key] = self.truth[key].iloc[:1].array
        for column, nothing in (("score", math.nan), ("aspect", "")):
            if column in none:
                none[column] = nothing
        found = align(none, self.truth, levels)
        return replace(found, evaluators=[], scores=found.scores[:0])

    def named(self) -> tuple[list[str], list[str | None]]:
        """Go over the scores once; return evaluators and aspects in the order of their first rows."""
        first = self.head["score"]
        column_numbers(first[~first.isin([math.inf, -math.inf])], "the scores")
        missing = ", ".join(f"min({ROW}) FILTER ({self.columns[key]} IS NULL)" for key in self.keys)
        for key, row in zip(self.keys, self.db.rows(f"SELECT {missing} FROM scores s")[0], strict=True):
            if row is not None:
                raise empty_cell(key, self.files.name, self.files.row_text(row))
        score, aspect = self._score, self.columns.get("aspect", "NULL")
        groups = self.db.rows(
            f"SELECT {self.columns['evaluator']} AS evaluator, {aspect} AS aspect, min({ROW}), "
            f"min({ROW}) FILTER (isinf({score})) FROM scores s GROUP BY ALL ORDER BY 3"
        )
        for evaluator, _, first, infinite in groups:
            if infinite is not None:
                raise infinite_value("score", "the scores", self.files.row_text(infinite))
            if evaluator is None:
                raise empty_cell("evaluator", "the scores", self.files.row_text(first))
        return list(dict.fromkeys(g[0] for g in groups)), list(dict.fromkeys(g[1] for g in groups))

    @property
    def _score(self) -> str:
        return f"{self.columns['score']}::DOUBLE"

    def name_units(self, truth: Aligned, evaluators: Sequence[str]) -> None:
        """Hand the numbers of evaluators, aspects and units to DuckDB, which joins by them."""
        units = {k: pa.array(truth.labels[k].to_numpy()).take(pa.array(truth.keys[k])) for k in self.keys}
        self.db.register("units", pa.table({**units, ROW: np.arange(truth.truth.shape[1])}))
        self.db.register("evaluators", pa.table({"name": evaluators, "code": np.arange(len(evaluators))}))
        own = [(name, a) for a, name in enumerate(truth.aspects) if name]
        every = [("", a) for a in range(len(truth.aspects))]
        names, codes = zip(*own, *every, strict=True)
        self.db.register("aspects", pa.table({"name": names, "code": codes}))

    def _matched(self, start: int, stop: int) -> str:
        """Return the scores of some evaluators that are of units of the truth, and the place of each."""
        size = "(SELECT count(*) FROM units)"
        n_aspects = "(SELECT max(code) + 1 FROM aspects)"
        aspect = f"coalesce({self.columns['aspect']}, '')" if "aspect" in self.columns else "''"
        units = " AND ".join(f"{self.columns[k]} = u.{quoted(k)}" for k in self.keys)
        return (
            f"((e.code - {start}) * {n_aspects} + a.code) * {size} + u.{ROW} AS place FROM scores s "
            f"JOIN (FROM evaluators WHERE code >= {start} AND code < {stop}) e "
            f"ON {self.columns['evaluator']} = e.name "
            f"JOIN aspects a ON {aspect} = a.name JOIN units u ON {units}"
        )

    def scores(self, size: int, start: int, stop: int) -> Floats:
        """Return what stands in each of the ``size`` places of some evaluators' scores."""
        score, missing = self._score, "'nan'::DOUBLE"
        cases = f"WHEN {score} IS NULL THEN {missing}"
        if "status" in self.columns:
            status = self.columns["status"]
            cases = (
                f"WHEN {status} = {text(Status.EXAMPLE.value)} THEN '{EXAMPLE}'::DOUBLE "
                f"WHEN {status} IS DISTINCT FROM {text(Status.OK.value)} THEN {missing} {cases}"
            )
        found = np.full((stop - start) * size, NO_ROW)
        rows = 0
        for batch in self.db.batches(
            f"SELECT CASE {cases} ELSE {score} END AS score, {self._matched(start, stop)}"
        ):
            scores, place = (batch.column(i).to_numpy() for i in range(2))
            found[place] = scores
            rows += len(place)
        if np.count_nonzero(found != NO_ROW) != rows:
            self._raise_twice(start, stop)
        return found

    def _raise_twice(self, start: int, stop: int) -> None:
        """Raise what `align` says of rows that stand in one place, the first such one."""
        matched = f"SELECT s.{ROW}, {self._matched(start, stop)}"
        several = f"SELECT place FROM ({matched}) GROUP BY ALL HAVING count(*) > 1"
        ((place,),) = self.db.rows(
            f"SELECT place FROM ({matched}) WHERE place IN ({several}) "
            f"GROUP BY ALL ORDER BY min({ROW}, 2)[2] LIMIT 1"
        )
        rows = (
            f"FROM scores WHERE {ROW} IN (SELECT {ROW} FROM ({matched}) WHERE place = {place}) ORDER BY {ROW}"
        )
        again = self.db.table(f"SELECT * EXCLUDE {ROW} {rows}").to_pandas()
        # Other rows say whether aspects differ, which the sentence tells.
        further = pd.concat([again, self.head[again.columns]], ignore_index=True)
        typed = further.astype({k: self.truth[k].dtype for k in self.keys})
        align(typed, self.truth, ())
        raise DataError("the scores have more than one row for a unit, evaluator and aspect; keep one")

    def check_matches(self) -> None:
        """See that every key of some score is in the truth; raise what `align` says if it is not."""
        for key in self.keys:
            known = f"SELECT {quoted(key)} FROM units"
            if not self.db.rows(f"FROM scores s WHERE {self.columns[key]} IN ({known}) LIMIT 1"):
                shared_codes(self.truth[key], self.head[key], key)
