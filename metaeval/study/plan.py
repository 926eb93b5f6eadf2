"""A study with all that its file leaves open filled in: data, evaluators, aspects, folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import StudyError, nearest, shown
from metaeval.base.keys import UNIT, cluster_columns
from metaeval.base.progress import progress
from metaeval.base.resources import bundled
from metaeval.base.simulation import Simulation
from metaeval.kinds.kind import kind_named
from metaeval.kinds.memory import IN_MEMORY
from metaeval.kinds.registry import COMMON
from metaeval.kinds.scoring import Scoring, judges_of
from metaeval.kinds.study import Study, make_study, read_study, unknown_word
from metaeval.runs.folder import check_usable, digest_of
from metaeval.study.recorded_files import check_recorded, load_for_run
from metaeval.study.specs import resolve_evaluators, resolve_truth

if TYPE_CHECKING:
    from metaeval.base.records import DataOfKind, DataSet
    from metaeval.base.spec import EvaluatorSpec
    from metaeval.engine.out_of_core.files import Parquet
    from metaeval.judging.model_evaluator import ModelEvaluator
    from metaeval.kinds.kind import Factory, StudyKind


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
        return {**COMMON, **self.kind.evaluators}

    def scoring(self, evaluators: Mapping[str, str] | None = None) -> Scoring:
        """Return the scoring of the data with the study's evaluators, or with others that it may name."""
        specs = self.study.specs if evaluators is None else evaluators
        held = self.study.held.evaluators
        given = {name: held.get(spec, spec) for name, spec in specs.items()}
        return Scoring(self.data, given, self.aspects, self.known, self.study.models)

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
    given: Study | Mapping[str, Any] | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    engine: str | None = None,
) -> Plan:
    """Read a study and its data and check that it can be run; write nothing.

    ``engine`` is that of `metaeval.run`.

    Raises
    ------
    StudyError, DataError, RunFolderError
        If it cannot.
    """
    study = make_study(given) if isinstance(given, Mapping) else given
    if not isinstance(study, Study | str | os.PathLike):
        raise StudyError(
            f"a study is the path of its file, or what it says, such as {{'dataset': data, 'evaluators': "
            f"['Length()']}}, not {shown(study)}"
        )
    study = study if isinstance(study, Study) else read_study(study)
    kind = kind_named(study.kind)
    known = {**COMMON, **kind.evaluators}
    with progress("loading the data"):
        in_file = None
        if (held := study.held.data) is None:
            held, in_file = load_for_run(kind, _place(study), engine)
        data = kind.chosen(study, _without(study, held))
        if in_file is not None:
            data = replace(data, scores=held.scores)  # units that are left out had some of the first rows
    aspects = tuple(study.aspects or data.aspects)
    for at, aspect in enumerate(aspects):
        if aspect not in data.aspects:
            raise study.error(unknown_word("aspect", aspect, list(data.aspects)), "aspects", at)
    _check_clusters(study, data)
    study = kind.resolve(study, data)
    truth = resolve_truth(study, known)
    evaluators = resolve_evaluators(study, data, truth, known)
    if in_file is not None:
        check_recorded(study, evaluators, truth)
    specs = {name: str(spec) for name, spec in evaluators.items()}
    resolved = {"evaluators": specs, "truth": str(truth), "aspects": list(aspects)}
    folder = Path(out) if out is not None else Path("results") / study.name
    check_usable(folder)
    resolved_study = study.model_copy(update=resolved)
    return Plan(resolved_study, kind, data, folder, evaluators, truth, aspects, in_file)


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
    given = Path(study.dataset).expanduser()
    bases = [study.folder, Path(), study.folder.parent] if study.folder else [Path()]
    places = [given] if given.is_absolute() else [*(base / given for base in bases), bundled(study.dataset)]
    for place in places:
        if place.is_dir():
            return place
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
