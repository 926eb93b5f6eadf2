"""A study with all that its file leaves open filled in: data, evaluators, aspects, folder."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.base.errors import DataError, MetaevalError, StudyError, nearest, shown, unknown
from metaeval.base.files import bundled
from metaeval.base.keys import UNIT, cluster_columns
from metaeval.base.parallel import DUCKDB, MEMORY
from metaeval.base.progress import progress
from metaeval.base.records import DataOfKind, DataSet, Evaluator
from metaeval.base.simulation import Simulation
from metaeval.base.spec import EvaluatorSpec, parts_of
from metaeval.engine.files import Parquet, chosen
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.ensemble import Ensemble
from metaeval.evaluators.recorded import Recorded
from metaeval.judging.cluster import Workers, workers_of
from metaeval.kinds.kind import Factory, StudyKind, kind_named
from metaeval.kinds.reading import make_study, read_study
from metaeval.kinds.registry import known_evaluators
from metaeval.kinds.scoring import Scoring, judges_of
from metaeval.kinds.study import IN_MEMORY, Study, unknown_word
from metaeval.runs.folder import SCORES, check_usable, digest_of
from metaeval.runs.record import Record
from metaeval.sources.hub import FILE
from metaeval.study.specs import resolve_evaluators, resolve_truth

if TYPE_CHECKING:
    from metaeval.judging.model_evaluator import ModelEvaluator
    from metaeval.runs.finished import OpenRun

_log = logging.getLogger("metaeval")
NONE = "(none)"
"""Stands for an empty value of a column."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A study with all that it leaves open filled in; nothing is scored yet."""

    study: Study
    """As resolved."""
    kind: StudyKind
    data: DataOfKind
    """Without what the study excludes."""
    out: Path
    evaluators: Mapping[str, EvaluatorSpec]
    truth: EvaluatorSpec
    aspects: tuple[str, ...]
    workers: Workers | None = None
    """Those that ask judges, if this process does not."""
    in_file: Parquet | None = None
    """The recorded scores, if they stay in their file; the data then have the first row of each evaluator."""

    @cached_property
    def fingerprint(self) -> str:
        """That of the data, which takes a while to work out."""
        fingerprint: str = self.data.fingerprint
        if self.in_file is None:
            return fingerprint
        both = [fingerprint, *(digest_of(Path(file)) for file in self.in_file.files)]
        return hashlib.sha256(" ".join(both).encode()).hexdigest()

    @property
    def known(self) -> Mapping[str, Factory]:
        """The evaluators that specs may name."""
        return known_evaluators(self.study.kind)

    def scoring(self, evaluators: Mapping[str, str] | None = None) -> Scoring:
        """Return the scoring of the data with the study's evaluators, or with others that it may name."""
        specs = self.study.specs if evaluators is None else evaluators
        held = self.study.held.evaluators
        named = {name: held.get(spec, spec) for name, spec in specs.items()}
        return Scoring(self.data, named, self.aspects, self.known, self.study.models)

    def judges(self) -> list[ModelEvaluator]:
        """Return all evaluators that ask a model, also those in ensembles."""
        return judges_of(self.scoring().named.values())

    @property
    def simulation(self) -> Simulation:
        """What is simulated."""
        built = self.scoring().named
        unreal = [n for n, e in built.items() if any(j.provider == "simulated" for j in judges_of([e]))]
        return Simulation(self.data.simulated, tuple(unreal))


def plan(
    source: Study | Mapping[str, Any] | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    engine: str | None = None,
    *,
    batch: bool = False,
    workers: int | None = None,
    address: str | None = None,
) -> Plan:
    """Read a study and its data and check that it can be run; write nothing.

    ``engine``, ``batch``, ``workers`` and ``address`` are those of `metaeval.run`.
    """
    study = make_study(source) if isinstance(source, Mapping) else source
    if not isinstance(study, Study | str | os.PathLike):
        raise StudyError(
            f"a study is the path of its file, or what it says, such as {{'dataset': data, 'evaluators': "
            f"['Length()']}}, not {shown(study)}"
        )
    study = study if isinstance(study, Study) else read_study(study)
    kind = kind_named(study.kind)
    known = known_evaluators(study.kind)
    with progress("loading the data"):
        in_file = None
        if (held := study.held.data) is None:
            place = Path(study.held.place) if study.held.place else _place(study)
            study = study.found_at(place)
            held, in_file = _loaded(kind, place, engine)
        data = kind.chosen(study, _without(study, held))
        if in_file is not None:
            data = replace(data, scores=held.scores)  # units that are left out had some of the first rows
    aspects = tuple(study.aspects or data.aspects)
    for at, aspect in enumerate(aspects):
        if aspect not in data.aspects:
            raise study.error(unknown_word("aspect", aspect, list(data.aspects)), "aspects", at)
    _check_clusters(study, data)
    truth = resolve_truth(study, known)
    aspects = _rated(study, data, truth, aspects, known)
    study = kind.resolve(study.model_copy(update={"aspects": list(aspects)}), data)
    evaluators = resolve_evaluators(study, data, truth, known)
    if in_file is not None:
        _check_recorded(study, evaluators, truth)
    specs = {name: str(spec) for name, spec in evaluators.items()}
    resolved: dict[str, Any] = {"evaluators": specs, "truth": str(truth), "aspects": list(aspects)}
    folder = Path(out) if out is not None else Path("results") / study.name
    check_usable(folder)
    if batch:
        resolved["judging"] = study.judging.model_copy(update={"batch": True})
    study = study.model_copy(update=resolved)
    asking = workers_of(study.judging, engine, workers, address)
    made = Plan(study, kind, data, folder, evaluators, truth, aspects, asking, in_file)
    _check(made.scoring().named.values(), data, aspects)
    return made


def _loaded(kind: StudyKind, place: Path | str, engine: str | None) -> tuple[DataOfKind, Parquet | None]:
    """Load a data set; its recorded scores stay in their file, which is returned, if they are many.

    Raises `MetaevalError` if they are to stay there and cannot.
    """
    file = Path(place) / SCORES
    if engine != MEMORY and file.is_file():
        scores = Parquet.of(file, "the recorded scores")
        many = engine == DUCKDB or chosen("auto", scores) == DUCKDB
        if many and (data := kind.load_beside(Path(place), scores)) is not None:
            return data, scores
    if engine == DUCKDB:
        raise MetaevalError(
            f"engine {DUCKDB!r} takes recorded scores of explanations from {SCORES}, and {place} has none; "
            "leave the engine out"
        )
    return kind.load(place), None


def _check_recorded(study: Study, evaluators: Mapping[str, EvaluatorSpec], truth: EvaluatorSpec) -> None:
    """See that the evaluators, and not the truth, are recorded ones; `StudyError` if they are not."""
    whole = f"or read them into memory: --engine {MEMORY}"
    for at, (name, spec) in enumerate(evaluators.items()):
        if spec.name != Recorded.__name__:
            where = name if isinstance(study.evaluators, dict) else at
            raise study.error(
                f"the recorded scores do not fit in memory, and {name} is not one of them: score it "
                f"first (metaeval score), add its rows to {SCORES} and name it Recorded('…'), {whole}",
                "evaluators",
                where,
            )
    if any(part.startswith(f"{Recorded.__name__}(") for part in parts_of(truth)):
        raise study.error(
            f"the recorded scores do not fit in memory, so they are no truth; name another, {whole}", "truth"
        )


def _check(evaluators: Iterable[Evaluator], data: DataSet, aspects: Sequence[str]) -> None:
    """Raise `DataError` if the data have not what evaluators, or the parts of ensembles, need."""
    for evaluator in evaluators:
        if isinstance(evaluator, BaseEvaluator):
            evaluator.check(data, aspects)
        if isinstance(evaluator, Ensemble):
            _check(evaluator.parts, data, aspects)


def study_of(folder: str | os.PathLike[str], record: Record) -> Study:
    """Return the study of a run; its data set is looked for where it lay as seen from the run's folder."""
    study, lay = make_study(record.study.content()), Path(folder) / record.data.place
    return study.found_at(os.path.normpath(lay)) if record.data.place and lay.is_dir() else study


def _check_clusters(study: Study, data: DataSet) -> None:
    """Check that a key of the data names what is resampled, and what is swapped in tests."""
    known = [*cluster_columns(data.keys), UNIT]
    named = {
        ("bootstrap", "cluster"): study.bootstrap.cluster if study.bootstrap else None,
        ("tests", "swap"): study.tests.swap if study.tests else None,
    }
    for where, name in named.items():
        if name is not None and name not in known:
            what, hint = ".".join(where), nearest(name, known)
            raise study.error(f"{what}: {name!r} is not allowed{hint} (allowed: {', '.join(known)})", *where)


def _rated(
    study: Study, data: DataSet, truth: EvaluatorSpec, aspects: tuple[str, ...], known: Mapping[str, Factory]
) -> tuple[str, ...]:
    """Return the aspects that people rated; those of a truth that asks a model are not known yet."""
    named = {"truth": study.held.evaluators.get(str(truth), str(truth))}
    scoring = Scoring(data, named, aspects, known, study.models)
    if judges_of(scoring.named.values()):
        return aspects
    frame = scoring.whole().frame
    rated = set(frame.loc[frame["score"].notna(), "aspect"])
    if not rated:
        raise DataError(
            f"the truth {truth} has no value for any unit; a mean takes a rating by each of its members: "
            "where each rated some units, write Mean(…, skip_missing=True), and `units: own` if people are "
            "evaluators; or give another truth, such as User() or Annotator('…') of one person"
        )
    if without := ", ".join(aspect for aspect in aspects if aspect not in rated):
        _log.warning("metaeval: %s is left out: the truth %s has no rating of it", without, truth)
    return tuple(aspect for aspect in aspects if aspect in rated)


def _place(study: Study) -> Path | str:
    """Return where the data set is: on the hub, in a folder from the study file or from here, or bundled."""
    if study.dataset.startswith("hf://"):
        return study.dataset
    if study.dataset == IN_MEMORY:
        raise study.error(
            "the data set of this run was given in memory; save it with data.save(path), and give that path "
            "as the dataset",
            "dataset",
        )
    relative = Path(study.dataset).expanduser()
    bases = [study.folder, Path(), study.folder.parent] if study.folder else [Path()]
    places, shipped = [base / relative for base in bases], bundled(study.dataset)
    places += [shipped] if (shipped / FILE).is_file() else []
    for place in places:
        if place.is_dir():
            return study.dataset if place.resolve() == shipped.resolve() else place
    if any(place.exists() for place in places):
        raise study.error(f"dataset {study.dataset!r} is a file; give the folder of a data set", "dataset")
    hub = f", write hf://{study.dataset} for one of the hub" if study.dataset.count("/") == 1 else ""
    raise study.error(
        f"there is no data set {study.dataset!r}; make it with `metaeval data import`{hub}, "
        "or correct the path",
        "dataset",
    )


def _without(study: Study, data: DataSet) -> DataSet:
    """Return the data without the units that the study excludes."""
    for column, values in study.exclude.items():
        if column not in data.keys:
            raise study.error(unknown_word("column", column, list(data.keys)), "exclude", column)
        known = [str(v) for v in data.units[column].unique()]
        for at, value in enumerate(values):
            if value not in known:
                raise study.error(unknown_word(column, value, known), "exclude", column, at)
        data = data.without(column, values)
    if study.exclude and not len(data):
        raise StudyError("the study excludes every unit; exclude less")
    return data


def data_of(run: OpenRun, place: str | os.PathLike[str] | None = None) -> DataOfKind:
    """Load the data set that a run scored, at ``place`` or where its study says, without what it excludes."""
    study = study_of(run.folder, run.record)
    if place is not None:
        study = make_study({**run.record.study.content(), "dataset": str(place)})
    try:
        data = plan(study, run.folder).data
    except StudyError as error:
        raise MetaevalError(f"{error}; name the data set's folder with --data") from error
    if data.fingerprint != run.record.data.fingerprint:
        raise MetaevalError(
            f"the data set {study.place!r} is not the one that the run {run.folder} scored, or was "
            "changed since: run the study again, or give the folder of the unchanged data set with --data"
        )
    return data


def column_of(run: OpenRun, column: str, place: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return a column of the data set of a run, as `column_in` does."""
    if column in run.scores.keys:  # the run knows these itself
        units = run.scores.frame[[column]].drop_duplicates().astype(str)
        return units.assign(category=units[column])
    return column_in(data_of(run, place), column, run.record.study.kind)


def column_in(data: DataSet, column: str, kind: str = "explanations") -> pd.DataFrame:
    """Return a column of one of the tables of a data set, such as that of its users.

    The frame has a row per key of that table: its key columns, and ``category``, the column as text.
    """
    tables = kind_named(kind).about_units(data)
    for table in tables:
        if column in table.columns:
            by = [k for k in data.keys if k in table.columns]
            text = table[column].astype(object).where(table[column].notna(), "").astype(str).str.strip()
            return table[by].astype(str).assign(category=text.where(text != "", NONE))
    have = dict.fromkeys(str(c) for table in tables for c in table.columns)
    raise MetaevalError(unknown(f"data set {data.name!r} has no column", column, have))
