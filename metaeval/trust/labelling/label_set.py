"""A data set of any kind in a folder, opened for a person to label its units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, one_of
from metaeval.kinds.explanations.judge.prompt import check_rubric
from metaeval.kinds.files.folder import kind_of, set_in
from metaeval.kinds.kind import kind_named
from metaeval.llm.prompts.template import load_prompt
from metaeval.trust.labelling.golden import ticket
from metaeval.trust.labelling.golden_files import keys_of
from metaeval.trust.labelling.label_session import LabelSession

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.base.records import DataOfKind
    from metaeval.kinds.kind import StudyKind
    from metaeval.llm.prompts.rubric import Rubric


def label_set(
    folder: str | os.PathLike[str],
    *,
    rater: str,
    aspects: Sequence[str] = (),
    rubric: str | None = None,
    pairs: bool = False,
) -> LabelSession:
    """Open the data set in a folder: its labels go into a table of its own.

    Units come in an order that says nothing of them, and is the same for every rater.

    Parameters
    ----------
    rater
        The name of the rater.
    aspects
        Aspects to label; all, if empty.
    rubric
        A prompt with a rubric, by its name or file: its questions and anchors are shown.
    pairs
        Show every two explanations of an item for a user, and ask which is better.

    Raises
    ------
    MetaevalError
        If the data set cannot be read or has nothing to label, or an aspect or the rubric does not fit it.
    """
    place = set_in(folder)
    if not place.is_dir():
        raise DataError(f"there is no folder {str(place)!r}; labels are written into that of the data set")
    kind = kind_named(kind_of(place))
    data = kind.load(place.resolve())
    if pairs:
        kind, data = _of_pairs(kind, data, rubric)
    if kind.labels.people and not kind.labels.is_in(place):
        raise DataError(
            f"{folder} has no table {kind.labels.name!r} for people's labels; another table is named in the "
            f"code of the kind {kind.name!r}, as `labels`"
        )
    for aspect in aspects:
        one_of(aspect, data.aspects, "there is no aspect", "allowed", error=DataError)
    own = [k for k in data.keys if k != kind.labels.showing]
    of = {key: tuple(dict(zip(data.keys, key, strict=True))[k] for k in own) for key in keys_of(data)}
    order = sorted(of, key=lambda key: ticket("order", of[key]))
    asked = dict.fromkeys(order, tuple(aspects or data.aspects))
    shown = rubric_of(rubric, data, tuple(aspects or data.aspects))
    return LabelSession(kind, data, place, kind.labels, rater=rater, asked=asked, rubric=shown)


def _of_pairs(kind: StudyKind, data: DataOfKind, rubric: str | None) -> tuple[StudyKind, DataOfKind]:
    found = kind.of_pairs(data)
    if found is None:
        raise DataError(
            f"--pairs is for explanations; label this data set, of kind {kind.name!r}, without it"
        )
    if rubric is not None:
        raise DataError("the anchors of --rubric are for single texts; leave it out, or leave --pairs out")
    return found


def rubric_of(prompt: str | None, data: DataOfKind, aspects: Sequence[str]) -> Rubric | None:
    """Return the rubric of a prompt, which must have a dimension of the name of every aspect."""
    if prompt is None:
        return None
    template = load_prompt(prompt)
    if template.rubric is None:
        raise DataError(f"the prompt {template.name!r} has no rubric; give one with `dimensions`")
    check_rubric(template, template.rubric, data, aspects)
    return template.rubric
