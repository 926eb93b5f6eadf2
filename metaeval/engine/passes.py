"""Scores in Parquet files × truth: the engine of frames, some evaluators at a time.

The files are read once, in pieces. The scores of the truth's units go to a temporary file, from which those
of each evaluator are read: only the truth needs to fit in memory.
"""

from __future__ import annotations

import math
import os
import tempfile
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from metaeval.base.errors import MetaevalError
from metaeval.base.parallel import DUCKDB
from metaeval.base.progress import progress
from metaeval.base.records import ScoreTable, Status
from metaeval.engine.alignment.aligned import (
    Aligned,
    align,
    by_status,
    check_aspects,
    column_numbers,
    placed,
    repeated,
    shared_keys,
)
from metaeval.engine.alignment.matching import Codes, combined, index_type, locate, refuse_empty, shared_codes
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Common, Matched, Prepared, plain, prepare, under
from metaeval.engine.board import Cell
from metaeval.engine.cells import CorrelationCells
from metaeval.engine.correlation import Correlations, correlated
from metaeval.engine.files import Engine, Parquet, chosen
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.order.paired_tests import (
    Comparisons,
    Tested,
    Tests,
    aspects_of,
    averaged,
    comparisons,
    scored_alike,
)
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import Statistic
from metaeval.stats.resampling.paired import paired_statistics
from metaeval.stats.resampling.weights import Swaps, in_threads

T = TypeVar("T")

NO_ROW, EXAMPLE = -np.inf, np.inf
"""What stands where an evaluator has no row, and where the unit was an example; NaN is a missing score."""
_HEAD = 1_000  # rows that errors are told from
_BLOCK = 2**21  # scores per thread and pass
_AHEAD = 16  # passes that are begun before the first of them is taken
_NONE = np.zeros(0, dtype=np.int32)


class ScoreFile:
    """Scores in a temporary file, which are read evaluator by evaluator.

    The file has no name, so that the system frees it when the process ends, however it ends.
    """

    def __init__(self, n_places: int) -> None:
        self._type = np.dtype([("place", index_type(n_places)), ("score", np.float64)])
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - open as long as this lives
        weakref.finalize(self, self._file.close)
        self._pieces: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self.n_rows, self.n_scored = Counter[str](), Counter[str]()
        """Evaluator → for how many places it has a row, and for how many a score."""

    def add(self, evaluator: str, places: Ints, scores: Floats) -> None:
        """Write scores of an evaluator; a place is an aspect and a unit as one number."""
        rows = np.empty(len(places), self._type)
        rows["place"], rows["score"] = places, scores
        self._pieces[evaluator].append((self._file.tell(), rows.nbytes))
        self._file.write(rows.data)
        self.n_rows[evaluator] += len(rows)
        self.n_scored[evaluator] += int(np.isfinite(scores).sum())

    def read(self, evaluator: str) -> tuple[Ints, Floats]:
        """Return all places and scores of an evaluator."""
        pieces = [os.pread(self._file.fileno(), size, at) for at, size in self._pieces[evaluator]]
        rows = np.frombuffer(b"".join(pieces), self._type)
        return rows["place"], rows["score"]


@dataclass(frozen=True, eq=False)
class Loaded:
    """Scores and truth over the same units; the scores are in a file."""

    truth: Aligned
    """Without evaluators."""
    store: ScoreFile
    names: Mapping[str, str]
    """Evaluator → its name in the files, in order."""
    repeated: Callable[[pd.DataFrame], Exception]
    """Returns the error for rows that stand for the same as this one."""

    @property
    def evaluators(self) -> list[str]:
        """The names of the evaluators."""
        return list(self.names)

    @property
    def complete(self) -> bool:
        """Whether every evaluator gave every unit a score."""
        return all(self.store.n_scored[name] == self.truth.truth.size for name in self.names.values())

    def status_counts(self) -> dict[str, dict[str, int]]:
        """Return evaluator → status → number of scores with it."""
        counts = {}
        for name, in_files in self.names.items():
            scored, rows = self.store.n_scored[in_files], self.store.n_rows[in_files]
            both = {Status.OK.value: scored, Status.MISSING.value: rows - scored}
            counts[name] = {status: n for status, n in both.items() if n}
        return counts

    def part(self, evaluators: Sequence[int]) -> Aligned:
        """Return the scores of some evaluators and the truth."""
        names = [self.evaluators[e] for e in evaluators]
        scores = np.stack([self._laid_out(name) for name in names])
        example = scores == EXAMPLE
        scores[np.isinf(scores)] = np.nan
        return replace(
            self.truth, evaluators=names, scores=scores, example=example if example.any() else None
        )

    def _laid_out(self, evaluator: str) -> Floats:
        """Return what stands in each place, shape (A, U)."""
        places, scores = self.store.read(self.names[evaluator])
        found = np.full(self.truth.truth.size, NO_ROW)
        found[places] = scores
        if np.count_nonzero(found != NO_ROW) != len(places):
            aspect, unit = divmod(places[pd.Series(places).duplicated().argmax()], self.truth.truth.shape[1])
            keys = {k: labels[[self.truth.keys[k][unit]]] for k, labels in self.truth.labels.items()}
            named = {"evaluator": self.names[evaluator], "aspect": self.truth.aspects[aspect]}
            raise self.repeated(pd.DataFrame(keys).assign(**named))
        return found.reshape(self.truth.truth.shape)

    def write_scores(self, keys: Sequence[str], file: Path) -> None:
        """Write the scores as the Parquet file of a run, one evaluator at a time."""
        import pyarrow.parquet as pq

        texts = dict.fromkeys([*keys, "evaluator", "aspect", "score", "status"], pa.string())
        schema = pa.schema({**texts, "score": pa.float64()})
        names = {k: pa.array(self.truth.labels[k].to_numpy(dtype=object)) for k in keys}
        aspects, statuses = pa.array(self.truth.aspects), pa.array([Status.OK.value, Status.MISSING.value])
        with pq.ParquetWriter(file, schema) as writer:
            for evaluator in self.evaluators:
                found = self._laid_out(evaluator)
                aspect, unit = np.nonzero(found != NO_ROW)
                score = found[aspect, unit]
                score[np.isinf(score)] = np.nan
                columns = [
                    *(names[k].take(pa.array(self.truth.keys[k][unit])) for k in keys),
                    pa.repeat(evaluator, len(unit)),
                    aspects.take(pa.array(aspect)),
                    pa.array(score),
                    statuses.take(pa.array(np.isnan(score).astype(np.int64))),
                ]
                writer.write_table(pa.table(columns, schema))


def load(
    scores: Parquet,
    truth: pd.DataFrame,
    levels: Sequence[str],
    *,
    text_keys: bool = False,
    named: Mapping[str, str] | None = None,
) -> Loaded:
    """Match scores in files with the truth, unit by unit.

    ``text_keys`` takes the keys of the scores as texts, as those of a data set are; ``named`` are the
    evaluators to read, all if left out: name → that in the files.
    Errors are those of `metaeval.engine.alignment.aligned.align`.
    """
    head, truth = plain(scores.head(_HEAD), truth)
    keys = shared_keys(head, truth)
    head = head.astype(dict.fromkeys(keys, "str")) if text_keys else head
    blank = {c: value for c, value in (("score", math.nan), ("aspect", "")) if c in head}
    one = head.head(1).assign(**blank, **{key: truth[key].array[:1] for key in keys})
    of_truth = align(one, truth, levels)  # errors of the truth come before the scores are read
    of_truth = replace(of_truth, evaluators=[], scores=of_truth.scores[:0])

    store, names = ScoreFile(of_truth.truth.size), dict(named or {})
    wanted = None if named is None else {*named.values()}
    for evaluator, places, found in _placed(scores, head, truth, of_truth, text_keys=text_keys):
        if wanted is None:
            names[evaluator] = evaluator
        if wanted is None or evaluator in wanted:
            store.add(evaluator, places, found)
    return Loaded(of_truth, store, names, lambda row: repeated(row, head, truth, keys))


def _placed(
    scores: Parquet, head: pd.DataFrame, truth: pd.DataFrame, of_truth: Aligned, *, text_keys: bool
) -> Iterator[tuple[str, Ints, Floats]]:
    """Read the scores; yield an evaluator, places, and what stands there, as often as it takes."""
    columns = [c for c in ("evaluator", "aspect", "score", "status") if c in head]
    n_units, labels = of_truth.truth.shape[1], of_truth.labels
    unit_keys, _, space = combined([Codes(of_truth.keys[k], _NONE, labels[k]) for k in labels], n_units, 0)
    known, aspects = dict.fromkeys(labels, False), dict[str, None]()
    with progress("reading the scores", scores.rows) as advance:
        for row_name, batch in scores.batches([*labels, *columns]):
            frame = batch.select(columns).to_pandas(use_threads=False)  # they take longer to start
            values, example = by_status(frame, column_numbers(frame["score"], "the scores", row_name))
            values = values if example is None else np.where(example, EXAMPLE, values)
            codes = []
            for key in labels:
                in_folder = key in scores.folders
                found = _key_codes(batch.column(key), labels[key], text=text_keys, in_folder=in_folder)
                refuse_empty(found + 1, key, "the scores", row_name)
                known[key] |= bool((found >= 0).any())
                codes.append(Codes(_NONE, found, labels[key]))
            unit = locate(combined(codes, 0, len(batch))[1], unit_keys, space)
            where = placed(frame, unit, of_truth.aspects, n_units, row_name)
            aspects.update(dict.fromkeys(where.aspects))
            row = np.concatenate([np.arange(len(batch))[rows] for rows in where.rows])
            evaluator, place = np.divmod(np.concatenate(where.places), of_truth.truth.size)
            order = np.argsort(evaluator, kind="stable")
            ends = np.cumsum(np.bincount(evaluator, minlength=len(where.evaluators)))
            for name, own in zip(where.evaluators, np.split(order, ends[:-1]), strict=True):
                yield name, place[own], values[row[own]]
            advance(len(batch))
    for key in labels:
        if not known[key]:
            shared_codes(truth[key], head[key], key)  # raises
    check_aspects([*aspects], of_truth.aspects)


def _key_codes(column: pa.Array, labels: pd.Index[Any], *, text: bool, in_folder: bool) -> Ints:
    """Return the code of each value of a key column; -1 for those that are no labels, -2 for none."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    distinct: pd.Series[Any] = coded.dictionary.to_pandas()
    empty = distinct.isna().to_numpy()
    if text:
        distinct = distinct.astype("str")
    elif in_folder and labels.dtype.kind in "iuf":  # the name of a folder has no type
        distinct = pd.to_numeric(distinct, errors="coerce")
    codes = np.where(empty, -2, labels.get_indexer(pd.Index(distinct)))
    at: Ints = coded.indices.fill_null(len(distinct)).to_numpy()
    found: Ints = np.append(codes, -2).astype(np.int32)[at]
    return found


class FileCells(CorrelationCells):
    """Correlations of scores in files with the truth, some evaluators per pass.

    ``about`` has the signatures of the evaluators and no scores.
    """

    def __init__(
        self, loaded: Loaded, policy: Policy, about: ScoreTable, bootstrap: Bootstrap | None = None
    ) -> None:
        super().__init__(Matched(about, pd.DataFrame(), policy), bootstrap)
        self._loaded, n = loaded, len(loaded.evaluators)
        step = max(1, _BLOCK // loaded.truth.truth.size)
        self._parts: list[Sequence[int]] = [range(at, min(at + step, n)) for at in range(0, n, step)]

    @cached_property
    def _common(self) -> Common | None:
        """The units that all evaluators have; None if each has a score for every unit, or is alone."""
        loaded, common = self._loaded, None
        if loaded.complete or len(loaded.evaluators) == 1:
            return None
        own = replace(self.matched.policy, common=False)
        for data in self._each(
            "finding the units that are scored", lambda part: under(own, loaded.part(part))
        ):
            common = common or Common(data.n_rated, data.truth.shape[1])
            common.meet(data.evaluators, data.entering)
        if self.matched.policy.common and common:
            common.refuse_none(loaded.truth.aspects)
        return common

    def _each(self, description: str, work: Callable[[Sequence[int]], T]) -> Iterator[T]:
        """Yield what ``work`` makes of the evaluators of each pass, several passes at a time."""
        with progress(description, len(self._parts)) as advance:
            for at in range(0, len(self._parts), _AHEAD):  # results that are not taken yet stay in memory
                for result in in_threads(work, self._parts[at : at + _AHEAD]):
                    yield result
                    advance()

    def _each_prepared(self, description: str, work: Callable[[Prepared], T]) -> Iterator[T]:
        """Yield what ``work`` makes of the evaluators of each pass, on the units that enter."""
        policy, common = self.matched.policy, self._common
        return self._each(description, lambda part: work(under(policy, self._loaded.part(part), common)))

    @cached_property
    def whole(self) -> Correlations:
        """The correlations of all cells; ``policy`` names the engine."""
        about, wanted = self.matched.scores, self.bootstrap
        results = [*self._each_prepared("correlating", lambda data: correlated(data, about, wanted))]
        facts: dict[str, Any] = {**results[0].policy, "engine": DUCKDB}
        for result in results[1:]:
            if "left_out" in facts:
                facts["left_out"]["missing"].update(result.policy["left_out"]["missing"])
            if few := result.policy.get("apart"):
                facts["apart"] = {**facts.get("apart", {}), **few}
            for reason, evaluators in result.policy.get("no_interval", {}).items():
                facts.setdefault("no_interval", {}).setdefault(reason, {}).update(evaluators)
        return replace(
            results[0],
            frame=pd.concat([result.frame for result in results], ignore_index=True),
            policy=facts,
            simulated_evaluators=frozenset().union(*(result.simulated_evaluators for result in results)),
        )

    def tested(self, order: Cell, how: Tests) -> list[tuple[Cell, Tests]]:
        """Return the column that orders the leaderboard: each takes another pass."""
        return [(order, how)]

    def compare(
        self,
        cell: Cell,
        tests: Tests,
        *,
        evaluators: Sequence[str] | None = None,
        corrected_with: int = 0,
    ) -> Comparisons:
        """Test every two evaluators by one column; of each only its sums by cluster are kept.

        Raises `MetaevalError` if evaluators scored different units, or the test takes all scores.
        """
        del evaluators, corrected_with  # for several runs, whose scores are read
        loaded, policy = self._loaded, self.matched.policy
        places = aspects_of(cell, loaded.truth.aspects)
        first = under(policy, loaded.part(self._parts[0]), self._common)
        swap = first.cluster_name(tests.swap)
        clusters = first.clusters(swap)

        def statistics(data: Prepared) -> list[list[Statistic]]:
            if not loaded.complete and (data.entering != first.entering[:1]).any():
                raise MetaevalError(
                    "evaluators scored different units, and engine 'duckdb' tests them on the same units; "
                    "set units: common, and leave out evaluators without any score"
                )
            return [
                [
                    scored_alike(data, [e], a, cell["level"], clusters)[0].comparable(
                        cell["coefficient"], policy.undefined
                    )
                    for a in places
                ]
                for e in range(len(data.evaluators))
            ]

        def test(swaps: Swaps) -> Tested:
            parts = self._each_prepared("summing by cluster", statistics)
            by_evaluator = [row for part in parts for row in part]
            paired = paired_statistics([list(aspect) for aspect in zip(*by_evaluator, strict=True)], swaps)
            if paired is None:
                size = 8 * loaded.truth.truth.size * len(loaded.evaluators) / 1e9
                raise MetaevalError(
                    f"{cell['coefficient']} at {cell['level']} level needs all scores in memory, "
                    f"{size:.2f} GB of them; test pearson, or at a level of groups, or set engine: memory"
                )
            return Tested(paired, np.full_like(paired.p, np.nan), [*map(averaged, by_evaluator)])

        return comparisons(
            *(cell, loaded.evaluators, test, tests),
            swap=swap,
            n_clusters=clusters.n,
            about=self.matched.scores,
        )


def correlate_files(
    scores: Parquet,
    truth: pd.DataFrame,
    policy: Policy,
    wanted: Bootstrap | None,
    *,
    engine: Engine = "auto",
    simulated: bool = False,
    text_keys: bool = False,
) -> Correlations:
    """Correlate scores in files with the truth; ``policy`` of the result names the engine that did it.

    ``text_keys`` takes the keys of the scores as texts.
    """
    taken = chosen(engine, scores)
    if taken == DUCKDB:
        loaded = load(scores, truth, policy.levels, text_keys=text_keys)
        return FileCells(loaded, policy, ScoreTable(pd.DataFrame(), simulated=simulated), wanted).whole
    frame = scores.frame()
    if text_keys:
        frame = frame.astype(dict.fromkeys(shared_keys(frame, truth), "str"))
    result = correlated(prepare(frame, truth, policy), ScoreTable(frame, simulated=simulated), wanted)
    return replace(result, policy={**result.policy, "engine": taken})
