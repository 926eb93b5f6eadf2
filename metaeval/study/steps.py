"""The steps of a study one by one, from file to file."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from metaeval.base.errors import DataError, MetaevalError, Problem, SpecError, nearest, sound
from metaeval.base.files import replacing
from metaeval.base.formulas import to_csv, unprotected
from metaeval.base.frames import json_rows
from metaeval.base.keys import key_columns, preferred_levels
from metaeval.base.progress import progress
from metaeval.base.records import COEFFICIENTS, DataSet, ScoreTable
from metaeval.base.spec import EvaluatorSpec
from metaeval.data.tables.columns import number_column, text_column
from metaeval.data.tables.table import read_table
from metaeval.data.units import KeyedUnits
from metaeval.engine.alignment.policy import Policy, allowed
from metaeval.engine.alignment.prepared import prepare
from metaeval.engine.correlation import BY, Correlations, correlated, correlated_by
from metaeval.engine.files import ENGINES, Engine, Parquet, chosen
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.passes import correlate_files
from metaeval.engine.sheet import Column, Sheet
from metaeval.judging.cost import LostCalls, lost_calls
from metaeval.kinds.index import kind_named
from metaeval.kinds.reading import load
from metaeval.kinds.registry import build, holds_truth
from metaeval.kinds.scoring import Scoring, known_for, resolve, score
from metaeval.llm.store.replies import database_at
from metaeval.study.pipeline import truth_ratings

if TYPE_CHECKING:
    from metaeval.reports.leaderboards import Leaderboard

_WRITES = (".csv", ".parquet", ".jsonl")


def score_file(
    data: str | os.PathLike[str], specs: Sequence[str], out: str | os.PathLike[str]
) -> tuple[ScoreTable, list[LostCalls]]:
    """Score a data set and write the scores in long form; return them, and the calls that were lost."""
    check_writable(Path(out))
    with progress("loading the data"):
        loaded = load(data)
    scoring = Scoring(loaded, resolve(list(specs), known_for(loaded)))
    table = scoring.whole()
    write_frame(table.frame, Path(out))
    return table, lost_calls(scoring.asked(), database_at())


def correlate_file(
    data: str | os.PathLike[str],
    scores: str | os.PathLike[str],
    *,
    truth: str = "User()",
    levels: Sequence[str] | None = None,
    coefficients: Sequence[str] | None = None,
    missing: Mapping[str, float | str] | None = None,
    undefined_groups: Literal["skip", "zero"] = "skip",
    units: Literal["common", "own"] = "common",
    bootstrap: Mapping[str, Any] | None = None,
    engine: Engine = "auto",
    by: str | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Correlations:
    """Correlate scores in files with the truth of a data set; write the result if ``out`` is given.

    ``scores`` may be a folder or a glob of Parquet files, and ``data`` Parquet files of ratings. The options
    are those of `metaeval.correlate`; by default the levels are those that the data have. ``by`` is a column
    of the data set: each of its values has correlations of its own, with the value as ``by``.
    """
    if out is not None:
        check_writable(Path(out))
    path, in_files = Path(scores), Parquet.named(data)
    of_truth, categories = None, None
    if in_files:
        if truth != "User()":
            raise MetaevalError(f"--truth is of a data set, and {data} holds the ratings; leave it out")
        ratings = Parquet.of(data, "the truth").frame()
        keys, simulated = key_columns(ratings), False
    else:
        loaded = load(data)
        loaded.scale.check_numbers(loaded.aspects, "correlation")
        of_truth = build(truth, known=known_for(loaded)).spec
        ratings, keys, simulated = truth_ratings(score(loaded, [truth])), loaded.keys, loaded.simulated
        categories = None if by is None else kind_named(loaded.kind).column(loaded, by)
    policy = Policy.of(
        levels or preferred_levels(keys), coefficients or COEFFICIENTS, missing, undefined_groups, units
    )
    wanted = Bootstrap.read(bootstrap)
    allowed("engine", [engine], ENGINES)
    whole = path.is_file() and not in_files and engine != "duckdb"
    if whole and (not Parquet.named(path) or chosen(engine, Parquet.of(path, "the scores")) == "memory"):
        table = ScoreTable(read_scores(path, keys), simulated=simulated)
        result = correlated(prepare(table, ratings, policy), table, wanted)
        if categories is not None:
            result = replace(result, frame=correlated_by(table, ratings, policy, wanted, categories))
    elif by is not None:
        raise MetaevalError("--by is for a data set and scores that are read into memory; leave it out")
    else:
        result = correlate_files(
            Parquet.of(path, "the scores"),
            ratings,
            policy,
            wanted,
            engine=engine,
            simulated=simulated,
            text_keys=not in_files,
        )
    if of_truth:
        _refuse_truth(of_truth, result.frame["evaluator"].unique())
    if out is not None:
        write_frame(result.frame, Path(out))
    return result


def _refuse_truth(truth: EvaluatorSpec, names: Iterable[object]) -> None:
    """See that none of the evaluators is the truth itself."""
    for name in names:
        with contextlib.suppress(SpecError):  # the name need not be a spec
            if why := holds_truth(EvaluatorSpec.parse(str(name)), truth):
                raise MetaevalError(why)


def correlations_sheet(correlations: Correlations) -> Sheet:
    """Return the table of correlations, to be printed."""
    counts = ("n_units", "n_groups", "n_undefined", "n_missing")
    by = [BY] if BY in correlations.frame else []
    columns = (
        *(Column(name, name) for name in (*by, "evaluator", "aspect", "level", "coefficient")),
        Column("estimate", "estimate × 100", "hundred", "ci_low", "ci_high"),
        *(Column(name, name.removeprefix("n_"), "count") for name in counts),
    )
    return Sheet(
        "correlations", "Correlations", correlations.frame, columns, simulated=correlations.simulation
    )


def leaderboard_records(board: Leaderboard) -> dict[str, Any]:
    """Return a leaderboard as plain JSON values."""
    return {
        **({"answer": dict(board.answer)} if board.answer else {}),
        "dataset": board.dataset,
        "truth": board.truth,
        **board.simulated.record(),
        "policy": list(board.policy),
        "ranking": json_rows(board.ranking.frame) if board.ranking else [],
        "values": json_rows(board.frame),
    }


def read_scores(path: Path, keys: Sequence[str]) -> pd.DataFrame:
    """Read a file of scores: key columns, ``evaluator``, ``score``, and perhaps ``aspect`` and ``status``."""
    if not path.is_file():
        raise DataError(f"there is no file {path}; make one with `metaeval score`")
    table = sound(read_table(path))
    names = [str(c) for c in table.frame.columns]
    for column in (*keys, "evaluator", "score"):
        if column not in names:
            message = f"there is no column {column!r}{nearest(column, names)}"
            raise DataError([Problem(path.name, None, None, message)])
    own = path.suffix.lower() in (".csv", ".tsv")  # as `write_frame` protected it
    problems: list[Problem] = []
    columns: dict[str, Any] = {}
    for column in (*keys, "evaluator", "aspect", "status"):
        if column in names:
            texts, wrong = text_column(table, column)
            columns[column] = [unprotected(str(text)) for text in texts] if own else texts
            problems += wrong
            if column not in ("aspect", "status"):
                empty = [i for i, text in enumerate(columns[column]) if not text]
                problems += [table.problem(i, column, "is empty; every score needs one") for i in empty]
    columns["score"], wrong = number_column(table, "score")
    if problems + wrong:
        raise DataError(problems + wrong)
    return pd.DataFrame(columns).astype({"evaluator": str})


def save(
    what: DataSet | ScoreTable | Correlations, path: str | os.PathLike[str], *, force: bool = False
) -> Path:
    """Write a data set to a folder, or scores or correlations to a file.

    Parameters
    ----------
    what
        A data set, or what `metaeval.score` or `metaeval.correlate` returned.
    path
        A folder for a data set, which `metaeval.load` reads; else a file that ends in ``.csv``, ``.parquet``
        or ``.jsonl``, with the columns of the frame and every digit. A file that is there is replaced.
    force
        Replace a data set that is there.

    Returns
    -------
    Path
        What was written.

    Raises
    ------
    MetaevalError
        If ``what`` is something else, or it cannot be written there.
    """
    if isinstance(what, ScoreTable | Correlations):
        check_writable(file := Path(path))
        write_frame(what.frame, file)
        return file
    if not isinstance(what, KeyedUnits):
        raise MetaevalError(
            f"a data set, scores or correlations can be saved, not a {type(what).__name__}; a run is saved "
            "already, in its folder"
        )
    return what.save(path, force=force)


def check_writable(path: Path) -> None:
    """Check that a table can be written to ``path``: its suffix is known, and it is no folder."""
    if path.suffix.lower() not in _WRITES:
        hint = nearest(path.suffix, _WRITES) if path.suffix else ""
        raise MetaevalError(f"{path} cannot be written: its suffix may be {', '.join(_WRITES)}{hint}")
    if path.is_dir():
        raise MetaevalError(f"{path} is a folder; give the name of a file")


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as CSV, Parquet or JSONL, by the suffix; floats keep every digit."""
    with replacing(path) as temporary:
        match path.suffix.lower():
            case ".parquet":
                frame.to_parquet(temporary, index=False)
            case ".jsonl":
                # pandas would write 15 digits of a float.
                with temporary.open("w", encoding="utf-8", newline="\n") as file:
                    file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in json_rows(frame))
            case _:
                to_csv(frame, temporary)
