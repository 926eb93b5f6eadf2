"""What a rater sees of the units of a data set, and how people label it."""

from __future__ import annotations

import math
from typing import Any

from pydantic import Field

from metaeval.base.errors import DataError
from metaeval.base.keys import compared_key
from metaeval.base.records import DataOfKind, Scale
from metaeval.base.validation import Strict, model_of
from metaeval.data.labels import WINNERS
from metaeval.kinds.kind import StudyKind
from metaeval.llm.prompts.file import Rubric
from metaeval.trust.labelling.golden import keys_of

_MOST = 10  # digits on a keyboard
_LINE = 60  # characters of a title


class Labelling(Strict):
    """How people label a data set: the keys of ``extra.labelling`` in its ``dataset.yaml``."""

    guidelines: str = ""
    """What raters can read beside every unit: plain text."""
    guidelines_of_pairs: str = ""
    """What they can read instead beside two texts (`--pairs`)."""
    lowest: str = ""
    """The words at the low end of the scale."""
    highest: str = ""
    """Those at its high end."""
    halves: bool = False
    """Whether a scale of numbers has a button for every half point."""
    agreement: bool = False
    """Whether raters may see how far they agree so far, which may change how they label."""
    repeat: float = Field(default=0, ge=0, le=1)
    """The share of units that a rater is asked again, after all others."""
    repeat_after: float = Field(default=1, ge=0)
    """Days from a rater's last first label to the second asking."""


class ShownUnits:
    """What a rater sees of units, as JSON values: not who wrote them, nor what anybody said of them."""

    def __init__(self, kind: StudyKind, data: DataOfKind, rubric: Rubric | None) -> None:
        self._data, self._rubric = data, rubric
        self.labelling = how = model_of(data.extra.get("labelling", {}), Labelling, "extra.labelling: ")
        self.guidelines = how.guidelines_of_pairs if kind.labels is WINNERS else how.guidelines
        self._view, self._names = kind.unit_view(data, list(data.aspects)), kind.label_names(data)
        self._rows = {key: row for row, key in enumerate(keys_of(data))}
        self._hidden = {compared_key(data.keys), kind.labels.showing, self._view.heading}
        if not any(part.blind and any(part.texts) for part in self._view.texts):
            raise DataError(f"data set {data.name!r} has no texts, so there is nothing to label")

    def title(self, key: tuple[str, ...]) -> str:
        """Return a line for a list of units."""
        unit = self.unit(key)
        told = [unit["heading"], *(fact["text"] for fact in unit["facts"])]
        return " · ".join(filter(None, told)) or "".join(part["text"][:_LINE] for part in unit["parts"][:1])

    def unit(self, key: tuple[str, ...]) -> dict[str, Any]:
        """Return the heading, the keys and the texts of a unit."""
        row, view = self._rows[key[: len(self._data.keys)]], self._view
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
        """Return a scale, and its labels with the key of each where there are not too many.

        The key of a label from 0 to 10 is its last digit, with Shift for a half point more.
        """
        names, how, step = self._names, self.labelling, 1 if scale.integer else 0.5
        told = {
            "min": scale.min,
            "max": scale.max,
            "step": 1 if scale.integer else "any",
            "text": str(scale),
            "ends": [] if names else [how.lowest, how.highest],
        }
        digits = scale.min >= 0 and scale.max <= _MOST
        if scale.max - scale.min >= _MOST or not (scale.integer or (how.halves and digits)):
            return {**told, "choices": None}
        ends = math.ceil(scale.min / step), math.floor(scale.max / step)
        labels = [step * n for n in range(ends[0], ends[1] + 1)]
        if set(names) == set(labels):
            labels = list(names)  # in their order
        choices = []
        for number, label in enumerate(labels, 1):
            key = "⇧" * bool(label % 1) + f"{(int(label) if digits else number) % _MOST}"
            name = names.get(label, "" if key == f"{label:g}" else f"{label:g}")
            choices.append({"label": label, "key": key, "name": name})
        return {**told, "choices": choices}
