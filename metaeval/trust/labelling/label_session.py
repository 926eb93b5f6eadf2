"""One person labels units one by one.

Every label is in its table before the next unit is shown. Notes, skipped units and the order of it all stand
in ``labelling.jsonl`` beside the table, so that a session goes on where it was killed, and can be undone.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, unknown
from metaeval.base.records import SECOND
from metaeval.kinds.files.folder import LABELLING
from metaeval.kinds.files.labels import alone
from metaeval.stats.agreement.raters import krippendorff_alpha
from metaeval.trust.labelling.golden import ticket
from metaeval.trust.labelling.golden_files import check_rater
from metaeval.trust.labelling.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from metaeval.base.records import DataOfKind
    from metaeval.kinds.files.labels import LabelTable
    from metaeval.kinds.kind import StudyKind
    from metaeval.llm.prompts.rubric import Rubric

    Key = tuple[str, ...]

_LONGEST_NOTE = 10_000  # characters


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
    asked
        Key of each unit to label → its aspects, in the order of showing. Of two units that show the same
        sides one is shown; which one depends on the rater and the key.
    rubric
        As of `metaeval.trust.labelling.shown.Shown`.

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
        asked: Mapping[Key, Sequence[str]],
        rubric: Rubric | None = None,
    ) -> None:
        check_rater(rater)
        if not asked:
            raise DataError(f"data set {data.name!r} has no units to label")
        self.data, self._folder, self._table, self.rater = data, folder, table, rater
        self._shown = Shown(kind, data, rubric)
        with alone(folder):
            given = self._given()
            self._labels = dict(given.get(rater, {}))
            if self._labels and rater not in self._people(given):
                raise DataError(
                    f"{rater!r} is a model or tool that scored the data set; choose another --rater"
                )
            self.units = list(self._chosen(asked))
            self._aspects = [tuple(asked[key]) for key in self.units]
            self._at = {key: at for at, key in enumerate(self.units)}
            self._notes: dict[int, str] = {}
            self._done: list[dict[str, Any]] = []
            """What can be undone, the last at the end."""
            self._read = 0  # bytes of the file that says what was done
            self._catch_up()
            self._labels = given.get(rater, {})  # other commands may have changed the table since

    def _given(self) -> dict[str, dict[Key, float]]:
        return self._table.given(self._folder, self.data.keys, next(iter(self.data.aspects), ""))

    def _people(self, given: Iterable[str]) -> set[str]:
        """Return who of the raters is a person, as far as is known."""
        people = set(given) if self._table.people else {e["rater"] for e in _events(self._file())}
        return people - {*getattr(self.data, "models", ())}

    def _chosen(self, asked: Iterable[Key]) -> Iterator[Key]:
        """Yield the units to show: of two showings that with a label, else one by the rater and the key."""
        labelled = {name[:-1] for name in self._labels}
        showings: dict[Key, list[Key]] = {}
        for key in asked:
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
            return self._state(self._do(request, at), agreement=request.get("agreement") is True)

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
                was = self._labels.get((*self.units[at], aspect))
                news = request.get("was", was) == was
                if not news and label != was:
                    raise DataError("another window has labelled this meanwhile; reload the page to see it")
                before = news and self._complete(at)
                if news:  # else it is sent twice
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
        """Write a label to its table, then the line that says what was done."""
        key = self.units[at]
        if "aspect" in more:
            changed = {(*key, more["aspect"]): more["label"]}
            self._table.put(self._folder, self.rater, self.data.keys, changed)
        event = {"rater": self.rater, "do": do, "unit": list(key), **more}
        event["time"] = datetime.now(UTC).isoformat(timespec="seconds")
        with (self._folder / LABELLING).open("ab+") as file:
            # A line that was cut off when the power went stays by itself.
            cut = file.tell() and (file.seek(-1, os.SEEK_END), file.read())[1] != b"\n"
            file.write(b"\n" * bool(cut) + json.dumps(event).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._catch_up()

    def _catch_up(self) -> None:
        """Count what the rater has done since, here or in another process."""
        lines = self._file()
        if shorter := len(lines) < self._read:
            self._read, self._done, self._notes = 0, [], {}
        whole = lines[self._read : lines.rfind(b"\n") + 1]
        self._read += len(whole)
        for event in _events(whole):
            at = self._at.get(tuple(event["unit"]))
            if event["rater"] != self.rater or at is None:
                continue
            if event.get("aspect") in (None, *self._aspects[at]):
                self._take(event, at)
        if shorter:  # it lacks what the table has
            self._labels = self._given().get(self.rater, {})

    def _take(self, event: dict[str, Any], at: int) -> None:
        if "aspect" in event:
            name = (*self.units[at], event["aspect"])
            self._labels.pop(name, None)
            if event["label"] is not None:
                self._labels[name] = event["label"]
        match event["do"]:
            case "note":
                self._notes[at] = event["text"]
            case "undo":
                # Not always the last of all: another session may be of fewer aspects.
                of = event["unit"], event.get("aspect")
                same = [i for i, d in enumerate(self._done) if (d["unit"], d.get("aspect")) == of]
                if same:
                    del self._done[same[-1]]
            case "skip" | "label":
                self._done.append(event)

    def _file(self) -> bytes:
        path = self._folder / LABELLING
        return path.read_bytes() if path.is_file() else b""

    # What is shown

    @property
    def _skipped(self) -> set[int]:
        return {self._at[tuple(event["unit"])] for event in self._done if event["do"] == "skip"}

    def _complete(self, at: int) -> bool:
        return all((*self.units[at], aspect) in self._labels for aspect in self._aspects[at])

    def _next(self, at: int) -> int | None:
        """Return the first open unit from ``at`` on, and then from the first one; None if there is none."""
        around, skipped = [*range(at, len(self.units)), *range(at)], self._skipped
        return next((u for u in around if u not in skipped and not self._complete(u)), None)

    def _state(self, at: int | None, *, agreement: bool) -> dict[str, Any]:
        return {
            "total": len(self.units),
            "labelled": sum(map(self._complete, range(len(self.units)))),
            "skipped": [u for u in sorted(self._skipped) if not self._complete(u)],
            "undo": bool(self._done),
            "agreement": list(self._agreement()) if agreement else None,
            "unit": None if at is None else self._unit(at),
        }

    def _unit(self, at: int) -> dict[str, Any]:
        key = self.units[at]
        return {
            "at": at,
            **self._shown.unit(key),
            "aspects": [
                {**self._shown.aspect(aspect), "label": self._labels.get((*key, aspect))}
                for aspect in self._aspects[at]
            ],
            "skipped": at in self._skipped,
            "note": self._notes.get(at, ""),
        }

    def _agreement(self) -> Iterator[str]:
        """Yield a sentence per person who labelled some of the same."""
        given = self._given()
        own = self._plain(given.get(self.rater, {}))
        for who in sorted(self._people(given) - {self.rater}):
            theirs = self._plain(given.get(who, {}))
            pairs = [(own[name], theirs[name]) for name in own if name in theirs]
            if pairs:
                same = sum(a == b for a, b in pairs) / len(pairs)
                alpha = krippendorff_alpha(list(zip(*pairs, strict=True)), "ordinal")
                told = "" if math.isnan(alpha) else f"; Krippendorff's α {alpha:.2f}"
                yield f"{who}: {same:.0%} of {counted(len(pairs), 'label')} are equal{told}"

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
        units = counted(len(self.units), "unit")
        return f"labels of {self.rater!r}: {state['labelled']:,} of {units}{skipped}"

    @property
    def from_elsewhere(self) -> int:
        """How many labels the rater has, if none was given in a session."""
        return 0 if self._done else len(self._labels)


def _events(lines: bytes) -> Iterator[dict[str, Any]]:
    """Yield what was done, by all raters; lines that were cut off are left out."""
    for line in lines.split(b"\n"):
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict) and {"rater", "do", "unit"} <= event.keys():
                yield event
