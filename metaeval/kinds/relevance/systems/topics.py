"""Values of systems by topic: as a file of a run, read from tables, and compared without any run file.

A table has a row per ``evaluator``, whose labels the value rests on, ``measure``, ``system`` and ``topic``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, one_of, sound
from metaeval.base.files import path_of
from metaeval.data.tables.table import SUFFIXES, read_table
from metaeval.data.trec import read_fields
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Column
from metaeval.kinds.relevance.measures import MeasurePair
from metaeval.kinds.relevance.systems.agreement import agreement_of
from metaeval.kinds.relevance.systems.effectiveness import Effectiveness
from metaeval.kinds.relevance.systems.systems import Orders, Systems, of_systems
from metaeval.kinds.table import KindTable

_KEYS = ["evaluator", "measure", "system", "topic"]
_TOPIC = ("topic", "query", "query_id", "qid", "user_id")


def topic_values(systems: Systems) -> pd.DataFrame:
    """Return the values of all systems, for the users over whom their means are."""
    parts = []
    for evaluator, effects in systems.by_evaluator.items():
        for measure, values in effects.of_user.items():
            s, u = np.nonzero(np.broadcast_to(effects.counted, values.shape))
            names = np.array(systems.runs.systems)[s], np.array(systems.runs.users)[u]
            columns = dict(zip(_KEYS, (evaluator, measure, *names), strict=True))
            parts.append(pd.DataFrame({**columns, "value": values[s, u]}))
    return pd.concat(parts, ignore_index=True)


TOPICS = KindTable("topics.parquet", "", tuple(Column(name, "") for name in _KEYS), of_systems(topic_values))


def read_topics(
    path: str | os.PathLike[str], *, evaluator: str = "", measure: str = "", system: str = ""
) -> pd.DataFrame:
    """Read values of systems by topic.

    Parameters
    ----------
    path
        What ``trec_eval -q`` printed; ``topics.parquet`` of a run; or a table (CSV, TSV, JSONL, Parquet) with
        the column ``topic`` (or ``query``, ``query_id``, ``qid``, ``user_id``) and ``value``, or, instead of
        ``value``, a column per measure if there is a column ``system``, else a column per system.
    evaluator, measure, system
        What the file does not say. If left out, the evaluator has the name of the folder, and the system of a
        file of trec_eval that of its line ``runid``, or else of the file.

    Returns
    -------
    DataFrame
        ``evaluator``, ``measure``, ``system``, ``topic``, ``value``; rows without a value are left out.

    Raises
    ------
    DataError
        If the file cannot be read, or does not say what a value is of.
    """
    path = path_of(path, "a file of values by topic")
    if path.suffix.lower() in SUFFIXES:
        frame = _long(sound(read_table(path)).frame, path.name, measure)
    else:
        frame, problems = read_fields(path, ["measure", "topic", "value"], "file of trec_eval -q")
        if problems:
            raise DataError(problems)
        named = frame.loc[frame["measure"] == "runid", "value"]
        frame = frame[frame["topic"] != "all"].assign(system=system or (*named, path.stem)[0])
    given = {"evaluator": evaluator or path.resolve().parent.name, "measure": measure, "system": system}
    for name, value in given.items():
        if name not in frame:
            if not value:
                raise DataError(f"{path.name} does not say the {name}; give {name}=")
            frame = frame.assign(**{name: value})
    numbers = pd.to_numeric(frame["value"], errors="coerce")
    found = frame[_KEYS].astype(str).assign(value=numbers.astype(float)).dropna(subset=["value"])
    if (twice := found.duplicated(_KEYS)).any():
        raise DataError(f"{path.name}: two values of {', '.join(found.loc[twice, _KEYS].iloc[0])}")
    return found.reset_index(drop=True)


def _long(table: pd.DataFrame, name: str, measure: str) -> pd.DataFrame:
    """Return a table with a row per value."""
    topics = [column for column in table.columns if column in _TOPIC]
    if not topics:
        raise DataError(f"{name} has no column of topics; call it topic")
    table = table.rename(columns={topics[0]: "topic"})
    if "value" in table:
        return table
    fixed = [column for column in _KEYS if column in table]
    varying = "measure" if "system" in table and not measure else "system"
    if varying in table:
        raise DataError(f"{name} has no column value")
    return table.melt(fixed, var_name=varying, value_name="value")


def order_systems(
    topics: pd.DataFrame,
    truth: str,
    *,
    pairs: Sequence[Mapping[str, str]] | None = None,
    bootstrap: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Compare orders of systems by values of topics, as ``system_agreement.csv`` of a study does.

    Parameters
    ----------
    topics
        Of all evaluators, as `read_topics` returns it; a mean is over the topics that have a value.
    truth
        Which evaluator is the truth.
    pairs
        Measures of the ``truth`` and of the ``judge``, as ``system_agreement`` of a study; each of the
        truth's with itself, if left out.
    bootstrap
        Options of intervals and tests, such as ``{'resamples': 1000, 'seed': 0}``.

    Returns
    -------
    DataFrame
        A row per pair and evaluator, on the systems that all evaluators have.

    Raises
    ------
    DataError
        If there is no such evaluator or measure, or fewer than two systems.
    """
    if not isinstance(topics, pd.DataFrame) or not {*_KEYS, "value"} <= {*topics.columns}:
        raise DataError(f"topics is a table with {', '.join(_KEYS)} and value, as read_topics returns it")
    evaluators = list(topics["evaluator"].unique())
    one_of(truth, evaluators, "there is no evaluator", "evaluators", error=DataError)
    wide = topics.pivot_table(
        index=["evaluator", "measure"], columns=["system", "topic"], values="value", sort=True
    )
    measures = {name: list(wide.loc[name].index) for name in evaluators}
    named = pairs or [{"truth": m, "judge": m} for m in measures[truth]]
    chosen = [MeasurePair(pair["judge"], pair["truth"]) for pair in named]
    for pair in chosen:
        one_of(pair.truth, measures[truth], "the truth has no measure", "measures", error=DataError)
        for name in set(evaluators) - {truth}:
            one_of(pair.judge, measures[name], f"{name} has no measure", "measures", error=DataError)
    cells = {
        name: {m: wide.loc[(name, m)].unstack("topic") for m in of_evaluator}  # noqa: PD010 - of two levels
        for name, of_evaluator in measures.items()
    }
    held = [set(next(iter(own.values())).dropna(how="all").index) for own in cells.values()]
    systems = sorted(set.intersection(*held))
    if len(systems) < 2:
        raise DataError("the evaluators have fewer than two systems in common")
    effects = {}
    for name, own in cells.items():
        of_user = {m: frame.loc[systems].to_numpy(dtype=np.float64) for m, frame in own.items()}
        counted = np.asarray(~np.isnan(list(of_user.values())).any(axis=0))
        missing = (~counted & counted.any(axis=0)).sum(axis=1)
        if name == truth:  # which may have none by the judges' measures
            of_user = {pair.judge: of_user[pair.truth] for pair in chosen} | of_user
        effects[name] = Effectiveness(of_user, {}, counted, missing)
    options = Bootstrap(**(bootstrap or {}))
    found = agreement_of(Orders(effects, truth, chosen, options.resampler(topics["topic"].nunique())))
    return found[(found["evaluator"] != truth) | found["measure"].isin(measures[truth])].reset_index(
        drop=True
    )
