"""A study with all that its file leaves open filled in: data, evaluators, aspects, folder."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd

from metaeval import base
from metaeval.base.errors import DataError, MetaevalError, RunFolderError, StudyError, nearest, shown
from metaeval.base.keys import UNIT, cluster_columns
from metaeval.base.parallel import MEMORY
from metaeval.base.records import DataOfKind, DataSet, Evaluator
from metaeval.base.simulation import Simulation
from metaeval.base.spec import EvaluatorSpec, parts_of
from metaeval.engine.files import Parquet
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.ensemble import Ensemble
from metaeval.evaluators.recorded import Recorded
from metaeval.judging.cluster import Workers, workers_of
from metaeval.kinds.family_members import families_of, with_prompts
from metaeval.kinds.index import kind_named
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.reading import SCORES, make_study, open_data, read_study
from metaeval.kinds.registry import evaluators_of, truth_of
from metaeval.kinds.scoring import Scoring, judges_of
from metaeval.kinds.sealing import check_sides, digest_of_clusters, sealed_column
from metaeval.kinds.study import Study, unknown_word
from metaeval.runs.finished import OpenRun, calls_of_run
from metaeval.runs.folder import RECORD, check_usable, digest_of, is_whole, read_record
from metaeval.runs.record import Record, SealedFacts

_log = logging.getLogger("metaeval")
PACKAGE = "metaeval"
_OF_PLACES = ("dataset", "judging")  # keys of a study that say where something lies or how it is asked
_BUDGET = {"max_usd", "max_calls", "study_id"}
"""Keys of judging on which no result depends."""
_OF_DATA = ("name", "licence", "source", "language", "simulated")


@dataclass(frozen=True, eq=False)
class SealedPlan:
    """The sealed clusters of a study, which are scored apart by the same evaluators."""

    data: DataOfKind
    scoring: Scoring
    truth: Scoring
    facts: SealedFacts
    """What ``run.json`` says of them."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A study with all that it leaves open filled in; nothing is scored yet."""

    study: Study
    """As resolved."""
    kind: StudyKind
    data: DataOfKind
    """Without what the study excludes."""
    out: Path
    scoring: Scoring
    """Of the evaluators, built."""
    truth: Scoring
    """Of the truth alone, by the name ``truth``; it is scored already, unless it asks a model."""
    workers: Workers | None = None
    """Those that ask judges, if this process does not."""
    in_file: Parquet | None = None
    """The recorded scores, if they stay in their file; the data then have the first row of each evaluator."""
    sealed: SealedPlan | None = None
    """What is scored apart, and seen by nothing but the sealed test; None if the study seals nothing."""

    @property
    def parts(self) -> list[DataOfKind]:
        """The data, and those that are sealed: what judges are asked about."""
        return [self.data, *([self.sealed.data] if self.sealed else [])]

    @functools.cached_property
    def fingerprint(self) -> str:
        """That of the data, which takes a while to work out."""
        fingerprint: str = self.data.fingerprint
        if self.in_file is None:
            return fingerprint
        both = [fingerprint, *(digest_of(Path(file)) for file in self.in_file.files)]
        return hashlib.sha256(" ".join(both).encode()).hexdigest()

    @property
    def simulation(self) -> Simulation:
        """What is simulated."""
        built = self.scoring.named
        unreal = [n for n, e in built.items() if any(j.provider == "simulated" for j in judges_of([e]))]
        return Simulation(self.data.simulated, tuple(unreal))

    def finished(self, *, offline: bool = False) -> Record | None:
        """Return the record of a run that would come out the same if it were run again, else None.

        A run that lost calls is not finished: running it again makes them again.
        """
        if not (self.out / RECORD).is_file():
            return None
        record = read_record(self.out)
        if not record.is_done or record.lost or not record.inputs:
            return None
        kept = record.replies
        same = (
            record.inputs == self.inputs(offline=offline)
            and is_whole(self.out, record)
            and (kept is None or kept.holds(self.study.judging.place, lambda: calls_of_run(self.out, record)))
        )
        return record if same else None

    def inputs(self, *, offline: bool) -> str:
        """Return a SHA-256 of all that the outputs of a run depend on, except the replies of judges.

        It is empty if an evaluator is not of this package: its code may change unseen.
        """
        (truth,), named, data = self.truth.named.values(), self.scoring.named, self.data
        if not all(_is_ours(e) for e in (truth, *named.values())):
            return ""
        dependencies = {
            "code": code(),
            "study": self.study.model_dump(mode="json", exclude={"judging": _BUDGET}),
            "sealed": self.sealed and self.sealed.data.fingerprint,
            "data": [self.fingerprint, *(getattr(data, name) for name in _OF_DATA), dict(data.extra)],
            "evaluators": {name: self.scoring.signature(name) for name in named},
            "truth": dict(truth.signature(data)),
            "offline": offline,
        }
        text = json.dumps(dependencies, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def replaces(self) -> str:
        """Return a sentence on the finished run that this one will replace, if that is of another study."""
        if not (self.out / RECORD).is_file() or not (before := read_record(self.out)).is_done:
            return ""
        then, now = before.study.content(), self.study.model_dump(mode="json")
        other = [key for key in now if key not in _OF_PLACES and key in then and then[key] != now[key]]
        other += ["data"] * (before.data.fingerprint != self.fingerprint)
        when = before.finished[:16].replace("T", " ")
        sentence = f"This run replaces that of {when} in {self.out}, which had other {', '.join(other)}"
        return f"{sentence}; --out (in Python, out=) with another folder keeps both." if other else ""


def plan(
    source: Study | Mapping[str, Any] | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    engine: str | None = None,
    *,
    batch: bool = False,
    workers: int | None = None,
    address: str | None = None,
    max_usd: float | None = None,
    study_id: str | None = None,
) -> Plan:
    """Read a study and its data and check that it can be run; write nothing.

    ``engine``, ``batch``, ``workers``, ``address``, ``max_usd`` and ``study_id`` are those of `metaeval.run`.
    """
    study = make_study(source) if isinstance(source, Mapping) else source
    if not isinstance(study, Study | str | os.PathLike):
        raise StudyError(
            f"a study is the path of its file, or what it says, such as {{'dataset': data, 'evaluators': "
            f"['Length()']}}, not {shown(study)}"
        )
    study = study if isinstance(study, Study) else read_study(study)
    study, data, in_file, apart = open_data(study, engine)
    aspects = tuple(study.aspects or data.aspects)
    for at, aspect in enumerate(aspects):
        if aspect not in data.aspects:
            raise study.error(unknown_word("aspect", aspect, list(data.aspects)), "aspects", at)
    _check_clusters(study, data)
    truth = _of_rated(Scoring(data, {"truth": truth_of(study)}, aspects, study.models))
    kind, spec, rated = kind_named(study.kind), truth.named["truth"].spec, list(truth.aspects)
    study = kind.resolve(with_prompts(study).model_copy(update={"aspects": rated}), data)
    evaluators = evaluators_of(study, data, spec)
    if in_file is not None:
        _check_recorded(study, evaluators, spec)
    specs = {name: str(evaluator.spec) for name, evaluator in evaluators.items()}
    resolved: dict[str, Any] = {"evaluators": specs, "truth": str(spec), "aspects": rated}
    resolved["family"] = families_of(study, evaluators)
    if in_file is not None and study.interval == "total":
        raise study.error("the recorded scores do not fit in memory, which total intervals take", "interval")
    folder = Path(out) if out is not None else Path("results") / study.name
    check_usable(folder)
    given = {"batch": batch or None, "max_usd": max_usd, "study_id": study_id}
    given = {key: value for key, value in given.items() if value is not None}
    if given:
        resolved["judging"] = study.judging.model_copy(update=given)
    study = study.model_copy(update=resolved)
    asking = workers_of(study.judging, engine, workers, address)
    _check(evaluators.values(), data, rated)
    scoring = Scoring(data, evaluators, rated, study.models, study.prices(evaluators, data))
    sealed = None if apart is None else _sealed(study, apart, scoring, truth)
    _check_sealing(folder, sealed)
    return Plan(study, kind, data, folder, scoring, truth, asking, in_file, sealed)


def _sealed(study: Study, data: DataOfKind, scoring: Scoring, truth: Scoring) -> SealedPlan:
    """Return the plan of the sealed clusters; `StudyError` if a side has fewer than six with a truth."""
    apart, aspects = sealed_column(study, data), scoring.aspects
    _check(scoring.named.values(), data, aspects)
    of_sealed = Scoring(data, truth.named, aspects, study.models)
    if not truth.judges:
        check_sides(study, apart, *(_rated_clusters(each, apart) for each in (truth, of_sealed)))
    facts = SealedFacts(
        column=apart,
        clusters=data.units[apart].nunique(),
        units=len(data),
        fingerprint=data.fingerprint,
        names=digest_of_clusters(data, apart),
    )
    return SealedPlan(data, Scoring(data, scoring.named, aspects, study.models), of_sealed, facts)


def _rated_clusters(truth: Scoring, column: str) -> int:
    frame = truth.whole().frame
    return int(frame.loc[frame["score"].notna(), column].nunique())


def _check_sealing(folder: Path, sealed: SealedPlan | None) -> None:
    """Raise `RunFolderError` if a run in the folder sealed other clusters, or none: these were seen."""
    if not (folder / RECORD).is_file():
        return
    before = read_record(folder).sealed
    if (before and before.names) == (sealed and sealed.facts.names):
        return
    had = "sealed other clusters" if before and sealed else "sealed clusters" if before else "sealed none"
    raise RunFolderError(
        f"the run in {folder} {had}, and what is sealed cannot change in a run folder; give another one with "
        "--out (in Python, out=)"
    )


def _check_recorded(study: Study, evaluators: Mapping[str, Evaluator], truth: EvaluatorSpec) -> None:
    """See that the evaluators, and not the truth, are recorded ones; `StudyError` if they are not."""
    whole = f"or read them into memory: --engine {MEMORY}"
    for at, (name, evaluator) in enumerate(evaluators.items()):
        if not isinstance(evaluator, Recorded):
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


def _of_rated(truth: Scoring) -> Scoring:
    """Return the truth of the aspects that people rated; those of one that asks a model are not known yet."""
    if truth.judges:
        return truth
    frame, spec = truth.whole().frame, truth.named["truth"].spec
    rated = set(frame.loc[frame["score"].notna(), "aspect"])
    if not rated:
        raise DataError(
            f"the truth {spec} has no value for any unit; a mean takes a rating by each of its members: "
            "where each rated some units, write Mean(…, skip_missing=True), and `units: own` if people are "
            "evaluators; or give another truth, such as User() or Annotator('…') of one person"
        )
    if without := ", ".join(aspect for aspect in truth.aspects if aspect not in rated):
        _log.warning("metaeval: %s is left out: the truth %s has no rating of it", without, spec)
        return truth.among([aspect for aspect in truth.aspects if aspect in rated])
    return truth


def data_of(run: OpenRun, place: str | os.PathLike[str] | None = None) -> DataOfKind:
    """Load the data set that a run scored, at ``place`` or where its study says, without what it excludes."""
    study = study_of(run.folder, run.record)
    if place is not None:
        study = make_study({**run.record.study.content(), "dataset": str(place)})
    try:
        data = open_data(study).data
    except StudyError as error:
        raise MetaevalError(f"{error}; name the data set's folder with --data") from error
    if data.fingerprint != run.record.data.fingerprint:
        raise MetaevalError(
            f"the data set {study.place!r} is not the one that the run {run.folder} scored, or was "
            "changed since: run the study again, or give the folder of the unchanged data set with --data"
        )
    return data


def column_of(run: OpenRun, column: str, place: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return a column of the data set of a run, as `metaeval.kinds.kind.StudyKind.column` does."""
    if column in run.scores.keys:  # the run knows these itself
        units = run.scores.frame[[column]].drop_duplicates().astype(str)
        return units.assign(category=units[column])
    return kind_named(run.record.study.kind).column(data_of(run, place), column)


def _is_ours(evaluator: Evaluator) -> bool:
    inside = evaluator.parts if isinstance(evaluator, Ensemble) else ()
    return type(evaluator).__module__.startswith(f"{PACKAGE}.") and all(map(_is_ours, inside))


@functools.cache
def code() -> str:
    """Return a SHA-256 of all code that a score depends on.

    It is that of the files of this package, which may change without a new version, and of the versions of
    Python and of the libraries that the package is installed with.
    """
    digest = hashlib.sha256(f"{sys.version} {libraries()}".encode())
    root = Path(base.__file__).parent.parent
    for file in sorted(p for p in root.rglob("*") if p.parent.name != "__pycache__" and p.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@functools.cache
def libraries() -> dict[str, str]:
    """Return name and version of each library that this package requires, but for those of its extras."""
    lines = [line for line in metadata.requires(PACKAGE) or () if "extra ==" not in line]
    wanted = {_normal_name(re.split(r"[^\w.-]", line)[0]) for line in lines}
    # By the names of the installers' folders: to read what is in them takes fifty times as long.
    installed = sorted(p.stem.split("-") for path in sys.path if path for p in Path(path).glob("*.dist-info"))
    return {known: version for name, version, *_ in installed if (known := _normal_name(name)) in wanted}


def _normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
