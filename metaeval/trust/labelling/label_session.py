"""One person labels units one by one.

Labels, notes and skipped units are in the log ``labelling.jsonl`` before the next unit is shown, so that a
session goes on where it was killed, and can be undone; see `metaeval.data.labels`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, unknown
from metaeval.base.keys import compared_key
from metaeval.base.records import SECOND, DataOfKind, Scale
from metaeval.base.validation import Strict, model_of
from metaeval.data.labels import (
    WINNERS,
    LabelTable,
    alone,
    append_to_log,
    read_log,
    update_labels,
    write_pending,
)
from metaeval.kinds.kind import StudyKind
from metaeval.llm.prompts.file import Rubric
from metaeval.stats.agreement.raters import krippendorff_alpha
from metaeval.trust.label_plan import LabelPlan
from metaeval.trust.labelling.golden import check_rater, keys_of, ticket

Key: TypeAlias = tuple[str, ...]
_LONGEST_NOTE = 10_000  # characters
_ALPHA = 0.05  # probability that a plan stops falsely


class LabelSession:
    """The labels that one rater gives.

    Parameters
    ----------
    kind, data
        The kind of study and the data set that is labelled.
    folder, table
        Where the labels go.
    rater
        The name of the rater.
    units
        Key of each unit to label → its aspects, in the order of showing. Of two units that show the same
        sides one is shown; which one depends on the rater and the key.
    rubric
        Its questions and anchors are shown with the aspects of its dimensions.
    plan
        No further unit is shown once the labels of all people decide its question.

    Raises
    ------
    DataError
        If there is nothing to label, the rater has no name or that of a model, or the files in the folder
        cannot be read.
    """

    def __init__(
        self,
        kind: StudyKind,
        data: DataOfKind,
        folder: Path,
        table: LabelTable,
        *,
        rater: str,
        units: Mapping[Key, Sequence[str]],
        rubric: Rubric | None = None,
        plan: LabelPlan | None = None,
    ) -> None:
        check_rater(rater)
        if not units:
            raise DataError(f"data set {data.name!r} has no units to label")
        self.data, self._folder, self._table, self.rater = data, folder, table, rater
        self._shown, self._plan = ShownUnits(kind, data, rubric), plan
        self.labelling, self.guidelines = self._shown.labelling, self._shown.guidelines
        self.noun = "pair" if table.showing else "unit"
        self._notes: dict[int, str] = {}
        self._done: list[dict[str, Any]] = []
        """What can be undone, the last at the end."""
        self._log_raters: set[str] = set()
        self._read = 0  # bytes of the log
        with alone(folder):
            write_pending(folder)
            self._labels = table.labels(folder, data.keys, next(iter(data.aspects), ""))
            """Rater → (*key, aspect) → label."""
            self._own = self._labels.setdefault(rater, {})
            self.units = list(self._chosen(units))
            self._aspects = [tuple(units[key]) for key in self.units]
            self._at = {key: at for at, key in enumerate(self.units)}
            for event in self._news():
                self._take(event)
        if self._own and rater not in self._people():
            raise DataError(f"{rater!r} is a model or tool that scored the data set; choose another --rater")

    def close(self) -> None:
        """Write the labels into their table."""
        update_labels(self._folder)

    def _people(self) -> set[str]:
        """Return who of the raters is a person, as far as is known."""
        people = (
            {r for r, labels in self._labels.items() if labels} if self._table.people else self._log_raters
        )
        return people - {*getattr(self.data, "models", ())}

    def _chosen(self, units: Iterable[Key]) -> Iterator[Key]:
        """Yield the units to show: of two showings that with a label, else one by the rater and the key."""
        labelled = {name[:-1] for name in self._own}
        showings: dict[Key, list[Key]] = {}
        for key in units:
            showings.setdefault(self._sides(key), []).append(key)
        for same in showings.values():
            yield min(same, key=lambda key: (key not in labelled, ticket(self.rater, key)))

    def _sides(self, key: Key) -> Key:
        """Return a key without how its sides are shown."""
        return tuple(v for k, v in zip(self.data.keys, key, strict=True) if k != self._table.showing)

    # What is done

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Do what the page asks for, and return what it shows next, as JSON values.

        Parameters
        ----------
        request
            ``do``: ``show`` (the unit ``at``, or the next open one), ``label`` (the unit ``at``, its
            ``aspect``, the ``label``, and ``was``, the label that the page shows), ``skip``, ``note`` (the
            ``text``) or ``undo``; and ``agreement``: whether it is wanted.

        Raises
        ------
        DataError
            If it cannot be done; nothing is changed then.
        """
        at = request.get("at")
        if at is not None and not (type(at) is int and 0 <= at < len(self.units)):
            raise DataError(f"there is no unit {at!r}; units are numbered from 0 to {len(self.units) - 1}")
        with alone(self._folder):
            self._catch_up()
            wanted = self.labelling.agreement and request.get("agreement") is True
            return self._state(self._do(request, at), agreement=wanted)

    def _do(self, request: Mapping[str, Any], at: int | None) -> int | None:
        """Return the unit to show next; None if no unit is open."""
        match request.get("do"):
            case "show":
                return self._next(0) if at is None else at
            case "label" if at is not None:
                aspect = str(request.get("aspect"))
                if aspect not in self._aspects[at]:
                    raise DataError(unknown("there is no aspect", aspect, self._aspects[at]))
                label = self._on_scale(aspect, request.get("label"))
                was = self._own.get((*self.units[at], aspect))
                news = request.get("was", was) == was
                if not news and label != was:
                    raise DataError("another window has labelled this meanwhile; reload the page to see it")
                before = news and self._complete(at)
                if news and label != was:  # else it is sent twice, or is the same again
                    self._record("label", at, {"aspect": aspect, "label": label, "was": was})
                return self._next(at) if self._complete(at) and not before else at
            case "skip" if at is not None:
                self._record("skip", at, {})
                return self._next(at)
            case "note" if at is not None:
                self._record("note", at, {"text": str(request.get("text", ""))[:_LONGEST_NOTE]})
                return at
            case "undo" if self._done:
                last = self._done[-1]
                undone = self._at[tuple(last["unit"])]
                back = {} if last["do"] == "skip" else {"aspect": last["aspect"], "label": last["was"]}
                self._record("undo", undone, back)
                return undone
            case "undo":
                raise DataError("there is nothing to undo")
        raise DataError("a request must be show, label, skip, note or undo, and name the unit")

    def _on_scale(self, aspect: str, label: object) -> float:
        scale = self.data.scale.of(aspect)
        if isinstance(label, bool) or not isinstance(label, int | float) or label not in scale:
            raise DataError(f"the label {label!r} is not on the scale; allowed are {scale}")
        return float(label)

    def _record(self, do: str, at: int, more: Mapping[str, Any]) -> None:
        event = {"rater": self.rater, "do": do, "unit": list(self.units[at]), **more}
        if "aspect" in more:
            event |= {"table": asdict(self._table), "keys": list(self.data.keys)}
        append_to_log(self._folder, event)
        self._catch_up()

    def _news(self) -> list[dict[str, Any]]:
        """Return what was done since, here or in another process."""
        events, self._read = read_log(self._folder, self._read)
        self._log_raters.update(event["rater"] for event in events)
        return events

    def _catch_up(self) -> None:
        for event in self._news():
            if event.get("table", {}).get("name") == self._table.name:
                labels, name = self._labels.setdefault(event["rater"], {}), (*event["unit"], event["aspect"])
                labels.pop(name, None)
                if event["label"] is not None:
                    labels[name] = event["label"]
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        """Keep a note of the rater, and what can be undone, of the units and aspects of the session."""
        at = self._at.get(tuple(event["unit"]))
        if event["rater"] != self.rater or at is None:
            return
        if "aspect" in event and event["aspect"] not in self._aspects[at]:
            return
        match event["do"]:
            case "note":
                self._notes[at] = event["text"]
            case "undo":
                # Not always the last of all: another session may be of fewer aspects.
                undone = event["unit"], event.get("aspect")
                same = [i for i, d in enumerate(self._done) if (d["unit"], d.get("aspect")) == undone]
                if same:
                    del self._done[same[-1]]
            case "skip" | "label":
                self._done.append(event)

    # What is shown

    @property
    def _skipped(self) -> set[int]:
        return {self._at[tuple(event["unit"])] for event in self._done if event["do"] == "skip"}

    def _complete(self, at: int) -> bool:
        return all((*self.units[at], aspect) in self._own for aspect in self._aspects[at])

    def _next(self, at: int) -> int | None:
        """Return the first open unit from ``at`` on, and then from the first one; None if none is wanted."""
        if self._decided():
            return None
        around, skipped = [*range(at, len(self.units)), *range(at)], self._skipped
        return next((u for u in around if u not in skipped and not self._complete(u)), None)

    def _decided(self) -> str:
        """Return the answer of the plan, if its question is decided."""
        if self._plan is None:
            return ""
        people = self._people()
        labels = {rater: own for rater, own in self._labels.items() if rater in people}
        answer = self._plan.answer(self._plan.ratings(labels), _ALPHA)
        return f"{answer.verdict} ({counted(answer.n_labelled, 'label')})" if answer.decided else ""

    @property
    def titles(self) -> list[str]:
        """A line per unit."""
        return [self._shown.title(key) for key in self.units]

    def _marks(self) -> str:
        """Return a letter per unit: labelled, skipped or open."""
        skipped = self._skipped
        return "".join(
            "l" if self._complete(at) else "s" if at in skipped else "o" for at in range(len(self.units))
        )

    def _state(self, at: int | None, *, agreement: bool) -> dict[str, Any]:
        marks = self._marks()
        return {
            "total": len(self.units),
            "labelled": marks.count("l"),
            "skipped": [u for u, mark in enumerate(marks) if mark == "s"],
            "labels": self.n_labels,
            "marks": marks,
            "undo": bool(self._done),
            "decided": self._decided(),
            "agreement": list(self._agreement()) if agreement else None,
            "unit": None if at is None else self._unit(at),
        }

    def _unit(self, at: int) -> dict[str, Any]:
        key = self.units[at]
        return {
            "at": at,
            **self._shown.unit(key),
            "aspects": [
                {**self._shown.aspect(aspect), "label": self._own.get((*key, aspect))}
                for aspect in self._aspects[at]
            ],
            "skipped": at in self._skipped,
            "note": self._notes.get(at, ""),
        }

    def _agreement(self) -> Iterator[str]:
        """Yield a sentence per aspect and person who labelled some of the same units."""
        own = self._plain(self._own)
        for rater, aspect in product(sorted(self._people() - {self.rater}), self.data.aspects):
            theirs = self._plain(self._labels.get(rater, {}))
            pairs = [(own[name], theirs[name]) for name in own if name[-1] == aspect and name in theirs]
            if pairs:
                same = sum(a == b for a, b in pairs) / len(pairs)
                alpha = krippendorff_alpha(list(zip(*pairs, strict=True)), "ordinal")
                more = "" if math.isnan(alpha) else f"; Krippendorff's ordinal α {alpha:.2f}"
                yield f"{rater}, {aspect}: {same:.0%} of {counted(len(pairs), self.noun)} equal{more}"

    def _plain(self, labels: Mapping[Key, float]) -> dict[Key, float]:
        """Return labels of showings as if the first side stood first; others as they are."""
        if not self._table.showing:
            return dict(labels)
        order = list(self.data.keys).index(self._table.showing)
        return {
            (*self._sides(name[:-1]), name[-1]): -label if name[order] == SECOND else label
            for name, label in labels.items()
        }

    def line(self) -> str:
        """Return a summary in a line."""
        state = self._state(None, agreement=False)
        skipped = f", {len(state['skipped']):,} skipped" if state["skipped"] else ""
        units = counted(len(self.units), self.noun)
        return f"labels of {self.rater!r}: {state['labelled']:,} of {units}{skipped}"

    @property
    def n_labels(self) -> int:
        """How many labels the rater has given to the units of the session."""
        return sum((*unit, a) in self._own for unit, at in self._at.items() for a in self._aspects[at])

    @property
    def from_elsewhere(self) -> int:
        """How many labels the rater has, if none was given in a session."""
        return 0 if self._done else len(self._own)


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
