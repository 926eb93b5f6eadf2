"""What a person who labels sees of a unit: not who wrote it, nor what anybody said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.base.errors import DataError
from metaeval.base.keys import compared_key
from metaeval.trust.labelling.golden_files import keys_of

if TYPE_CHECKING:
    from metaeval.base.records import DataOfKind, Scale
    from metaeval.kinds.kind import StudyKind
    from metaeval.llm.prompts.rubric import Rubric

_MOST = 10  # labels that have a digit each


class Shown:
    """The units of a data set as a page shows them, as JSON values.

    Parameters
    ----------
    kind, data
        The kind of study and the data set.
    rubric
        Its questions and anchors stand beside the aspects of its dimensions.

    Raises
    ------
    DataError
        If no unit has a text.
    """

    def __init__(self, kind: StudyKind, data: DataOfKind, rubric: Rubric | None) -> None:
        self._data, self._rubric = data, rubric
        self._view, self._names = kind.unit_view(data, list(data.aspects)), kind.label_names(data)
        self._rows = {key: row for row, key in enumerate(keys_of(data))}
        self._hidden = {compared_key(data.keys), kind.labels.showing, self._view.heading}
        if not any(part.blind and any(part.texts) for part in self._view.texts):
            raise DataError(f"data set {data.name!r} has no texts, so there is nothing to label")

    def unit(self, key: tuple[str, ...]) -> dict[str, Any]:
        """Return the heading, the keys and the texts of a unit."""
        row, view = self._rows[key], self._view
        return {
            "heading": next((c.texts[row] for c in view.columns if c.name == view.heading), None),
            "facts": [
                {"title": c.title, "text": c.texts[row]}
                for c in view.columns
                if c.key and c.name not in self._hidden and c.texts[row]
            ],
            "parts": [
                {"title": p.title, "text": p.texts[row], "beside": p.beside}
                for p in view.texts
                if p.blind and p.texts[row]
            ],
        }

    def aspect(self, name: str) -> dict[str, Any]:
        """Return what is asked of an aspect."""
        dimension = self._rubric.dimension(name) if self._rubric else None
        anchors = dimension.anchors if dimension else ()
        return {
            "name": name,
            "statement": self._data.aspects[name],
            "question": dimension.question if dimension else "",
            "anchors": [{"level": f"{anchor.level:g}", "text": anchor.text} for anchor in anchors],
            "scale": self._scale(self._data.scale.of(name)),
        }

    def _scale(self, scale: Scale) -> dict[str, Any]:
        """Return a scale, and its labels with the key of each where there are not too many."""
        names = self._names
        ends = {"min": scale.min, "max": scale.max, "step": 1 if scale.integer else "any", "text": str(scale)}
        if not scale.integer or scale.max - scale.min >= _MOST:
            return {**ends, "choices": None}
        labels: list[float] = [*range(int(scale.min), int(scale.max) + 1)]
        if set(names) == set(labels):
            labels = list(names)  # in their order
        digits = all(0 <= label < _MOST for label in labels)
        choices = [
            {
                "label": label,
                "key": f"{label if digits else number:g}",
                "name": names.get(label, "" if digits else f"{label:g}"),
            }
            for number, label in enumerate(labels, 1)
        ]
        return {**ends, "choices": choices}
