"""Reading study files: text and objects → a checked study; and the data that a study is about."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pandas as pd
from pydantic import ValidationError

from metaeval.base.counts import plural_of
from metaeval.base.errors import DataError, MetaevalError, Problem, SpecError, StudyError
from metaeval.base.files import bundled
from metaeval.base.parallel import DUCKDB, MEMORY
from metaeval.base.progress import progress
from metaeval.base.records import AVERAGE, DataOfKind, DataSet, Evaluator
from metaeval.base.validation import sentences
from metaeval.base.yaml_lines import Lines, YamlError, read_yaml
from metaeval.data.folder import checked_by, folder_of, kind_of
from metaeval.data.hub import FILE
from metaeval.data.units import summary
from metaeval.engine.files import Parquet, chosen
from metaeval.kinds.functions import function_named, is_function, with_files
from metaeval.kinds.index import KINDS, kind_named
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.sealing import parted
from metaeval.kinds.study import IN_MEMORY, Held, Study, located, unknown_word

if TYPE_CHECKING:
    import datasets

SCORES = "scores.parquet"
"""The file of a data set that may hold recorded scores; only such a file need not be read whole."""

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_USUAL = "explanations"


def read_study(path: str | os.PathLike[str]) -> Study:
    """Read a study file; its name is the file's, if it has no ``name``.

    `StudyError` is raised with file, line and the nearest right word.
    """
    try:
        content, lines = read_yaml(path)
    except YamlError as error:
        raise StudyError(str(error)) from error
    if not isinstance(content, dict):
        what = "is empty" if content is None else "is not a mapping"
        raise StudyError(f"{path} {what}; a study file has keys such as dataset and evaluators")
    if "name" not in content:
        stem = "".join(c if c.isalnum() or c in "._-" else "-" for c in Path(path).stem).lstrip(".")
        content = {**content, "name": stem or "study"}
    try:
        content = with_files(content, Path(path).parent)
    except SpecError as error:
        raise StudyError(located(lines, str(error), "evaluators")) from error
    return make_study(content, lines)


def make_study(content: Mapping[str, Any], lines: Lines | None = None) -> Study:
    """Make a study from the keys of a study file; its data set and evaluators may be objects.

    `StudyError` is raised if a key is unknown or missing, or a value is not allowed.
    """
    lines = lines or Lines()
    content, held = _objects_apart(content)
    if content.get("kind", _USUAL) == _USUAL and str(content.get("truth")).startswith("People("):
        content["kind"] = "people"  # the truth says it
    try:
        model = kind_named(content.get("kind")).study
    except MetaevalError as error:
        raise StudyError(located(lines, str(error), "kind")) from error
    try:
        study = model.model_validate(dict(content), context=lines)
    except ValidationError as error:
        found = sentences(error, content, model, whole=True)
        raise StudyError(*(located(lines, text, *where) for where, text in found)) from error
    study._lines, study._held = lines, held
    for aspect in study.aspects or []:
        if aspect == AVERAGE:
            raise study.error(f"no aspect may be called {AVERAGE!r}, the name of their mean", "aspects")
    return study


def _objects_apart(content: Mapping[str, Any]) -> tuple[dict[str, Any], Held]:
    """Return the keys of a study with text in place of objects, and the objects.

    `MetaevalError` is raised if a data set cannot be made of what is given, or two evaluators have one spec.
    """
    content, data = dict(content), None
    given = content.get("dataset")
    if isinstance(given, os.PathLike):
        content["dataset"] = os.fspath(given)
    elif hasattr(given, "units") or hasattr(given, "columns") or hasattr(given, "column_names"):
        data = load(given)
        kind = content.setdefault("kind", getattr(data, "kind", _USUAL))
        if kind_named(kind).data_kind != getattr(data, "kind", kind):
            raise StudyError(f"study: kind is {kind!r}, and the data set is one of {data.kind}; leave it out")
        content["dataset"] = IN_MEMORY
    found: dict[str, Evaluator] = {}

    def text(name: str | None, one: Any) -> Any:  # noqa: ANN401 - what is no evaluator is said by the study
        evaluator = function_named(name, one) if is_function(one) else one
        if not hasattr(evaluator, "spec"):
            return evaluator
        spec = str(evaluator.spec)
        if found.setdefault(spec, evaluator) is not evaluator:
            raise MetaevalError(f"two evaluators with the spec {spec} are given; specs must differ")
        return spec

    match content.get("evaluators"):
        case Mapping() as named:
            content["evaluators"] = {name: text(name, one) for name, one in named.items()}
        case list() | tuple() as listed:
            content["evaluators"] = [text(None, one) for one in listed]
    return content, Held(data, found)


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of study files: the keys of each ``kind``, and of explanations without one."""
    definitions: dict[str, Any] = {}
    branches = []
    for name in KINDS:
        own = kind_named(name).study.model_json_schema()
        definitions |= own.pop("$defs", {})
        own["properties"]["kind"] = {"const": name, "description": "the kind of study"}
        named = {"properties": {"kind": {"const": name}}}
        chosen = named if name == _USUAL else {**named, "required": ["kind"]}
        branches.append({"if": chosen, "then": own})
    return {
        "$schema": _DRAFT,
        "title": "A study of metaeval",
        "type": "object",
        "properties": {"kind": {"enum": [*KINDS], "default": _USUAL}},
        "allOf": branches,
        "$defs": definitions,
    }


class OpenedData(NamedTuple):
    """What a study is about, without what it excludes."""

    study: Study
    """With the place where its data lie."""
    data: DataOfKind
    """Without what is sealed."""
    in_file: Parquet | None
    """The recorded scores, if they are so many that they stay in their file: the data then have the first row
    of each evaluator."""
    sealed: DataOfKind | None
    """What is sealed; None if the study seals nothing."""


def open_data(study: Study, engine: str | None = None) -> OpenedData:
    """Load what a study is about, without what it excludes, and apart from it what it seals."""
    kind, in_file = kind_named(study.kind), None
    with progress("loading the data"):
        if (given := study.from_memory.data) is None:
            place = Path(study.from_memory.place) if study.from_memory.place else _place(study)
            study = study.found_at(place)
            given, in_file = _loaded(kind, place, engine)
        if in_file is not None and study.sealed is not None:
            raise study.error(
                f"the recorded scores do not fit in memory, so nothing can be sealed; leave sealed out, or "
                f"read them into memory: --engine {MEMORY}",
                "sealed",
            )
        data, sealed = parted(study, _without(study, given))
        if in_file is not None:
            data = replace(data, scores=given.scores)  # units that are left out had some of the first rows
    return OpenedData(study, data, in_file, sealed)


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


class Inspection(NamedTuple):
    """The outcome of a check: a data set, or every problem found."""

    data: DataOfKind | None
    problems: tuple[Problem, ...]

    def lines(self) -> list[str]:
        """Return one line per problem, or the summary if there is none."""
        return [str(p) for p in self.problems] if self.data is None else [summary(self.data)]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain JSON values."""
        found: dict[str, Any] = {
            "ok": self.data is not None,
            "problems": [p._asdict() for p in self.problems],
        }
        if self.data is not None:
            found |= {
                "name": self.data.name,
                "simulated": self.data.simulated,
                "counts": {plural_of(k).replace(" ", "_"): v for k, v in self.data.counts.items()},
                "fingerprint": self.data.fingerprint,
            }
        return found


def load(
    path: str | os.PathLike[str] | datasets.DatasetDict | datasets.Dataset | pd.DataFrame | DataSet,
    map: Mapping[str, Any] | str | os.PathLike[str] | None = None,  # noqa: A002 - the word of the command line
) -> DataOfKind:
    """Load a data set.

    Parameters
    ----------
    path
        A data-set folder, a folder that ``DatasetDict.save_to_disk`` wrote, the ``datasets.DatasetDict``
        itself (see `metaeval.to_datasets`), or the name of a data set on the Hugging Face hub:
        ``hf://owner/name``, with ``@`` and a branch, tag or commit if it is not to be the newest.
        ``owner/name`` does as well, unless it begins with the name of a folder that is there.
        ``data/sample`` is the sample that ships with the package, unless there is such a folder.
        Or a table with one row per rating: a DataFrame, a ``datasets.Dataset`` or a file, with the columns
        ``user_id`` (left out in a study without users), ``item_id``, ``generator``, ``rater``, ``aspect``,
        ``rating`` and, if there are any, ``explanation``, ``item_title``, ``reference``, ….
        A data set is returned as it is.
    map
        Which column is what, for a table with other columns, a DataFrame too: a mapping, or the path of a map
        file; see `metaeval.from_table`.

    Raises
    ------
    DataError
        With every problem found in its ``problems``.
    """
    if hasattr(path, "units") and hasattr(path, "fingerprint"):
        return path
    if map is not None or _is_table(path):
        return kind_named().of_table(path, map)
    found = inspect(cast("Any", path))
    if found.data is None:
        raise DataError(found.problems, listed_by=checked_by(path))
    return found.data


def _is_table(given: object) -> bool:
    if isinstance(given, str | os.PathLike):
        return Path(given).is_file()
    named = hasattr(given, "column_names") and not isinstance(given, Mapping)  # a datasets.Dataset
    return named or isinstance(given, pd.DataFrame)


def inspect(path: str | os.PathLike[str] | datasets.DatasetDict) -> Inspection:
    """Return the data set that `load` takes, or everything that is wrong with it."""
    place: Any = folder_of(path) if isinstance(path, str | os.PathLike) else path
    try:
        return Inspection(kind_named(kind_of(place)).load(place), ())
    except DataError as error:
        if not error.problems:
            raise
        return Inspection(None, error.problems)
