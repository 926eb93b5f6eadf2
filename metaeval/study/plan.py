"""A study with everything put in that its file leaves open: data, evaluators, aspects, levels, folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import StudyError
from metaeval.base.progress import progress
from metaeval.base.records import AVERAGE, LEVELS
from metaeval.base.resources import bundled
from metaeval.engine.comparison import By
from metaeval.kinds.explanations.data.loading import load
from metaeval.runs.folder import check_usable
from metaeval.study.file import Study, make_study, read_study
from metaeval.study.specs import resolve_evaluators, resolve_truth, unknown_word

if TYPE_CHECKING:
    import os

    from metaeval.base.spec import EvaluatorSpec
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A study with everything put in that it leaves open; nothing is scored yet."""

    study: Study
    data: ExplanationSet
    """Without what the study excludes."""
    out: Path
    evaluators: Mapping[str, EvaluatorSpec]
    truth: EvaluatorSpec
    aspects: tuple[str, ...]
    levels: tuple[str, ...]
    by: By
    """The column that orders the leaderboard."""

    def as_record(self) -> dict[str, Any]:
        """Return the study as resolved, as plain JSON values."""
        return {
            **self.study.model_dump(mode="json"),
            "evaluators": {name: str(spec) for name, spec in self.evaluators.items()},
            "truth": str(self.truth),
            "aspects": list(self.aspects),
            "levels": list(self.levels),
            "order_by": self.by._asdict(),
        }


def plan(
    study: Study | Mapping[str, Any] | str | os.PathLike[str], out: str | os.PathLike[str] | None = None
) -> Plan:
    """Read a study and its data and see that it can be run; write nothing.

    Raises
    ------
    StudyError, DataError, RunFolderError
        If it cannot.
    """
    if isinstance(study, Mapping):
        study = make_study(study)
    elif not isinstance(study, Study):
        study = read_study(study)
    hub = study.dataset.startswith("hf://")
    place = study.dataset if hub else _find(study)
    with progress("loading the data"):
        data = _without(study, load(place))
    aspects = tuple(study.aspects or data.aspects)
    for at, aspect in enumerate(aspects):
        if aspect not in data.aspects:
            raise study.error(unknown_word("aspect", aspect, list(data.aspects)), "aspects", at)
    possible = [level for level in LEVELS if "user_id" in data.keys or level not in ("user", "pair")]
    preferred = ("dataset", "user", "pair") if "user_id" in data.keys else ("dataset", "item", "generator")
    for at, level in enumerate(study.levels or ()):
        if level not in possible:
            have = ", ".join(possible)
            raise study.error(
                f"the data set has no users, so no level {level!r}; use some of {have}", "levels", at
            )
    levels = tuple(study.levels or preferred)
    truth = resolve_truth(study)
    found = Plan(
        study=study,
        data=data,
        out=Path(out) if out is not None else Path("results") / study.name,
        evaluators=resolve_evaluators(study, data, truth),
        truth=truth,
        aspects=aspects,
        levels=levels,
        by=_order(study, aspects, levels),
    )
    check_usable(found.out)
    return found


def _order(study: Study, aspects: Sequence[str], levels: Sequence[str]) -> By:
    """Return the column that orders the leaderboard, seen to be one that it has."""
    wanted = study.order_by
    known = {
        "aspect": [*aspects, AVERAGE] if len(aspects) > 1 else list(aspects),
        "level": list(levels),
        "coefficient": list(study.coefficients),
    }
    for key, names in known.items():
        value = getattr(wanted, key)
        if value is not None and value not in names:
            raise study.error(unknown_word(key, value, names), "order_by", key)
    return By(
        wanted.aspect or known["aspect"][-1],
        wanted.level or levels[0],
        wanted.coefficient or study.coefficients[0],
    )


def _find(study: Study) -> Path:
    """Return the folder of the data set: from here, the study file, the folder above it, or bundled."""
    given = Path(study.dataset).expanduser()
    bases = [Path(), *([study.folder, study.folder.parent] if study.folder else [])]
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


def _without(study: Study, data: ExplanationSet) -> ExplanationSet:
    """Return the data without the users, items or generators that the study excludes."""
    frames = {"explanations": data.explanations, "ratings": data.ratings, "scores": data.scores}
    for column, values in study.exclude.items():
        if column not in data.keys:
            raise study.error(unknown_word("column", column, list(data.keys)), "exclude", column)
        known = [str(v) for v in data.explanations[column].unique()]
        for at, value in enumerate(values):
            if value not in known:
                raise study.error(unknown_word(column, value, known), "exclude", column, at)
        for name, frame in frames.items():
            if frame is not None:
                frames[name] = frame[~frame[column].isin(values)].reset_index(drop=True)
    explanations, ratings = frames["explanations"], frames["ratings"]
    if explanations is None or ratings is None or explanations.empty:
        raise StudyError("the study excludes every unit; exclude less")
    return replace(data, explanations=explanations, ratings=ratings, scores=frames["scores"])
