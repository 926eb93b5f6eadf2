"""Parquet files of scores × truth → both over the same units: the truth in memory, the scores in a file."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError
from metaeval.base.progress import progress
from metaeval.base.records import Status
from metaeval.engine.alignment.aligned import (
    Aligned,
    align,
    aspects_of_scores,
    column_numbers,
    empty_cell,
    infinite_value,
    shared_keys,
)
from metaeval.engine.alignment.matching import shared_codes
from metaeval.engine.alignment.policy import plain
from metaeval.engine.out_of_core.cube import EXAMPLE, LARGEST, MISSING, NO_ROW, Cube
from metaeval.engine.out_of_core.database import ROW, DuckDatabase, quoted, text
from metaeval.engine.out_of_core.files import available_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    import pyarrow as pa
    from numpy.typing import NDArray

    from metaeval.engine.out_of_core.files import Parquet

_SHARE = 8
"""One part in so many of the memory that is available holds the scores that are being read."""
_HEAD = 1_000  # rows that errors and the types of columns are told from
_TEXT = "VARCHAR"


@dataclass(frozen=True)
class Loaded:
    """Scores and truth over the same units."""

    truth: Aligned
    """Of no evaluator."""
    evaluators: list[str]
    cube: Cube
    complete: bool
    """Whether every evaluator gave every unit a score."""
    matched: bool
    """Whether any row of the scores is of a unit of the truth."""

    def of(self, evaluators: Sequence[int]) -> Aligned:
        """Return the scores of some evaluators and the truth."""
        scores, example = self.cube.read(evaluators)
        names = [self.evaluators[e] for e in evaluators]
        return replace(self.truth, evaluators=names, scores=scores, example=example)


@dataclass(frozen=True)
class ScoreFacts:
    """What a pass over the scores says of them."""

    evaluators: list[str]
    """In the order of their first row."""
    aspects: list[str | None]
    low: float | None
    """The lowest score, if all are whole numbers of a scale."""


def load(
    db: DuckDatabase,
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
    source = Source.of(db, scores, truth, text_keys=text_keys)
    source.truth_alone(levels)  # what is wrong with it is said before the scores are read
    counted = source.counted()
    if check:
        check(counted.evaluators)
    if named is not None:
        counted = replace(counted, evaluators=[*named.values()])
    loaded = read(source, counted, levels)
    if not loaded.matched:
        source.check_matches()
    return loaded if named is None else replace(loaded, evaluators=[*named])


def read(source: Source, counted: ScoreFacts, levels: Sequence[str]) -> Loaded:
    """Lay the scores of a source out over the units of its truth."""
    of_truth = source.truth_alone(levels)
    aspects_of_scores(pd.DataFrame({"aspect": counted.aspects}), of_truth.aspects)
    n_aspects, n_units = of_truth.truth.shape
    cube = Cube(n_aspects, n_units, counted.low)
    source.name_units(of_truth, counted)
    step = max(1, available_memory() // (_SHARE * cube.size * cube.type.itemsize))
    n, complete, matched = len(counted.evaluators), True, False
    with progress("reading the scores", n) as advance:
        for start in range(0, n, step):
            codes = source.codes(cube, start, min(start + step, n))
            matched = matched or bool((codes != cube.code(NO_ROW)).any())
            complete = complete and cube.all_scored(codes)
            cube.append(codes)
            advance(min(step, n - start))
    return Loaded(of_truth, counted.evaluators, cube, complete, matched)


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
    where: str = "true"
    """The scores that are read, if the truth is of some units only."""

    @classmethod
    def of(cls, db: DuckDatabase, files: Parquet, truth: pd.DataFrame, *, text_keys: bool) -> Source:
        """Look at the columns of the scores."""
        types = db.view("scores", files)
        head = db.table(f"SELECT * EXCLUDE {ROW} FROM scores LIMIT {_HEAD}").to_pandas()
        head, truth = plain(head, truth)
        keys = shared_keys(head, truth)
        read = {column: f"s.{quoted(column)}" for column in types}
        texts = [*(keys if text_keys else ()), "evaluator", "aspect", "status"]
        read |= {c: f"{read[c]}::{_TEXT}" for c in texts if types.get(c, _TEXT) != _TEXT}
        head = head.astype({c: "str" for c in keys if text_keys and types[c] != _TEXT})
        for key in keys:
            if not text_keys and key in files.folders and truth[key].dtype.kind in "iuf":
                read[key] = f"TRY_CAST({read[key]} AS DOUBLE)"  # the name of a folder has no type
            elif (types[key] == _TEXT or text_keys) != holds_text(truth[key]):
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

    def counted(self) -> ScoreFacts:
        """Go over the scores once."""
        first = self.head["score"]
        column_numbers(first[~first.isin([math.inf, -math.inf])], "the scores")
        score, aspect = self._score, self.columns.get("aspect", "NULL")
        groups = self.db.rows(
            f"SELECT {self.columns['evaluator']} AS evaluator, {aspect} AS aspect, min({ROW}), "
            f"min({score}) FILTER (isfinite({score})), max({score}) FILTER (isfinite({score})), "
            f"bool_and({score} = floor({score})) FILTER (isfinite({score})), "
            f"min({ROW}) FILTER (isinf({score})) FROM scores s GROUP BY ALL ORDER BY 3"
        )
        for evaluator, _, first, *_, infinite in groups:
            if infinite is not None:
                raise infinite_value("score", "the scores", self.files.row_text(infinite))
            if evaluator is None:
                raise empty_cell("evaluator", "the scores", self.files.row_text(first))
        low = min((g[3] for g in groups if g[3] is not None), default=0.0)
        high = max((g[4] for g in groups if g[4] is not None), default=0.0)
        on_scale = high - low <= LARGEST and all(g[5] is not False for g in groups)
        return ScoreFacts(
            list(dict.fromkeys(g[0] for g in groups)),
            list(dict.fromkeys(g[1] for g in groups)),
            low if on_scale else None,
        )

    @property
    def _score(self) -> str:
        return f"{self.columns['score']}::DOUBLE"

    def name_units(self, truth: Aligned, counted: ScoreFacts) -> None:
        """Hand the numbers of evaluators, aspects and units to DuckDB, which joins by them."""
        import pyarrow as pa

        units = {k: pa.array(truth.labels[k].to_numpy()).take(pa.array(truth.keys[k])) for k in self.keys}
        self.db.register("units", pa.table({**units, ROW: np.arange(truth.truth.shape[1])}))
        self.db.register("evaluators", _numbered(counted.evaluators))
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
            f"JOIN aspects a ON {aspect} = a.name JOIN units u ON {units} WHERE {self.where}"
        )

    def codes(self, cube: Cube, start: int, stop: int) -> NDArray[Any]:
        """Return what stands in each place of some evaluators' scores, shape (places,)."""
        score, kind = self._score, "UTINYINT" if cube.low is not None else "DOUBLE"
        missing, example = (f"'{cube.code(c)}'::{kind}" for c in (MISSING, EXAMPLE))
        value = f"({score} - {cube.low})" if cube.low is not None else score
        cases = f"WHEN {score} IS NULL OR isnan({score}) THEN {missing}"
        if "status" in self.columns:
            status = self.columns["status"]
            cases = (
                f"WHEN {status} = {text(Status.EXAMPLE.value)} THEN {example} "
                f"WHEN {status} IS DISTINCT FROM {text(Status.OK.value)} THEN {missing} {cases}"
            )
        found = np.full((stop - start) * cube.size, cube.code(NO_ROW), dtype=cube.type)
        rows = 0
        for batch in self.db.batches(
            f"SELECT CASE {cases} ELSE {value}::{kind} END AS code, {self._matched(start, stop)}"
        ):
            code, place = (batch.column(i).to_numpy() for i in range(2))
            found[place] = code
            rows += len(place)
        if np.count_nonzero(found != cube.code(NO_ROW)) != rows:
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


def holds_text(column: pd.Series[Any]) -> bool:
    """Say whether a key column holds texts, not numbers or times."""
    return column.dtype.kind not in "iufbM"


def _numbered(names: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    return pa.table({"name": names, "code": np.arange(len(names))})
