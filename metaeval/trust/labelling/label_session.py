"""One person labels units one by one.

Labels, notes and skipped units are in the log ``labelling.jsonl`` before the next unit is shown, so that a
session goes on where it was killed, and can be undone; see `metaeval.data.labels`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, unknown
from metaeval.base.records import SECOND, DataOfKind
from metaeval.data.labels import (
    AGAIN,
    ASKING,
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
from metaeval.trust.labelling.golden import check_rater, ticket
from metaeval.trust.labelling.shown_units import ShownUnits

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
    right
        The right labels of attention items, as of `metaeval.trust.labelling.raters.right_labels`. Labels of
        these units go into a table of their own.

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
        right: Mapping[Key, frozenset[float]] | None = None,
    ) -> None:
        check_rater(rater)
        if not units:
            raise DataError(f"data set {data.name!r} has no units to label")
        self.data, self._folder, self._table, self.rater = data, folder, table, rater
        self.right = right or {}
        self._attention = {name[:-1] for name in self.right}
        self._keys = {
            table.name: (table, data.keys),
            table.attention.name: (table.attention, data.keys),
            table.repeated.name: (table.repeated, (*data.keys, ASKING)),
        }
        """Name of a table → itself, and its key columns."""
        self._shown, self._plan = ShownUnits(kind, data, rubric), plan
        self.labelling, self.guidelines = self._shown.labelling, self._shown.guidelines
        self.noun = "pair" if table.showing else "unit"
        self._notes: dict[int, str] = {}
        self._done: list[dict[str, Any]] = []
        """What can be undone, the last at the end."""
        self._log_raters: set[str] = set()
        self._read = 0  # bytes of the log
        self.times: dict[str, dict[Key, datetime]] = {}
        """Rater → unit → when its last label was given on the page."""
        with alone(folder):
            write_pending(folder)
            self._labels: dict[str, dict[Key, float]] = {rater: {}}
            """Rater → (*key, aspect) → label."""
            for each, keys in self._keys.values():
                for who, labels in each.labels(folder, keys, next(iter(data.aspects), "")).items():
                    self._labels.setdefault(who, {}).update(labels)
            self._own = self._labels[rater]
            self.units = list(self._chosen(units))
            self._n_first = len(self.units)
            self.units += self._repeated(self.units)
            self._aspects = [tuple(units[key[: len(data.keys)]]) for key in self.units]
            self._at = {key: at for at, key in enumerate(self.units)}
            for event in self._news():
                self._take(event)
        if self._own and rater not in self.people():
            raise DataError(f"{rater!r} is a model or tool that scored the data set; choose another --rater")

    def close(self) -> None:
        """Write the labels into their table."""
        update_labels(self._folder)

    def _repeated(self, units: Sequence[Key]) -> list[Key]:
        """Return the units that are asked again, in the order of the first asking."""
        known = [key for key in units if key not in self._attention]
        n = math.ceil(round(self.labelling.repeat * len(known), 9))
        drawn = {*sorted(known, key=lambda key: ticket("again", self._sides(key)))[:n]}
        return [(*key, AGAIN) for key in known if key in drawn]

    def people(self) -> set[str]:
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
            raise DataError(f"there is no unit {at!r}; units are numbered from 0 to {self._n_first - 1}")
        with alone(self._folder):
            self._catch_up()
            if at is not None and at >= self._n_open:
                raise DataError(f"this {self.noun} is asked about later")
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
            table, keys = self._place(self.units[at])
            event |= {"table": asdict(table), "keys": list(keys)}
        append_to_log(self._folder, event)
        self._catch_up()

    def _place(self, key: Key) -> tuple[LabelTable, Sequence[str]]:
        """Return the table that labels of a unit go into, and its key columns."""
        again, table = len(key) > len(self.data.keys), self._table
        kept = table.repeated if again else table.attention if key in self._attention else table
        return self._keys[kept.name]

    def _news(self) -> list[dict[str, Any]]:
        """Return what was done since, here or in another process."""
        events, self._read = read_log(self._folder, self._read)
        self._log_raters.update(event["rater"] for event in events)
        return events

    def _catch_up(self) -> None:
        for event in self._news():
            if event.get("table", {}).get("name") in self._keys:
                labels, name = self._labels.setdefault(event["rater"], {}), (*event["unit"], event["aspect"])
                labels.pop(name, None)
                if event["label"] is not None:
                    labels[name] = event["label"]
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        """Keep a note of the rater, and what can be undone, of the units and aspects of the session."""
        at = self._at.get(tuple(event["unit"]))
        if event["do"] == "label":
            times = self.times.setdefault(event["rater"], {})
            times[tuple(event["unit"])] = datetime.fromisoformat(event["time"])
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
        """Units that were skipped; in a second asking, also those that have no label of the first."""
        skipped = {self._at[tuple(event["unit"])] for event in self._done if event["do"] == "skip"}
        again = range(self._n_first, self._n_open)
        return skipped | {at for at in again if not self._complete(self._at[self.units[at][:-1]])}

    @property
    def _n_open(self) -> int:
        """How many units are asked about now; without those of a second asking, before it begins."""
        begins = self._begins
        return len(self.units) if begins and begins <= datetime.now(UTC) else self._n_first

    @property
    def _begins(self) -> datetime | None:
        """When the second asking begins; None before all others are labelled or skipped, or without one."""
        done = {self._at[tuple(event["unit"])] for event in self._done if event["do"] == "skip"}
        first = range(self._n_first)
        if len(self.units) == self._n_first or not all(at in done or self._complete(at) for at in first):
            return None
        times = self.times.get(self.rater, {})
        last = max((times[self.units[at]] for at in first if self.units[at] in times), default=None)
        wait = timedelta(days=self.labelling.repeat_after)
        return datetime.min.replace(tzinfo=UTC) if last is None else last + wait

    def _complete(self, at: int) -> bool:
        return all((*self.units[at], aspect) in self._own for aspect in self._aspects[at])

    def _next(self, at: int) -> int | None:
        """Return the first open unit from ``at`` on, and then from the first one; None if none is wanted."""
        if self._decided():
            return None
        around, skipped = [*range(at, self._n_open), *range(at)], self._skipped
        return next((u for u in around if u not in skipped and not self._complete(u)), None)

    def _decided(self) -> str:
        """Return the answer of the plan, if its question is decided."""
        if self._plan is None:
            return ""
        people = self.people()
        raters = [rater for rater in self._labels if rater in people]
        labels = {rater: self._counted(rater) for rater in raters}
        if self._table.showing not in ("", *self._plan.keys):
            # Of pairs, whatever was shown first: the points of the first side, less one half.
            labels = {rater: {k: v / 2 for k, v in self.plain(rater).items()} for rater in raters}
        answer = self._plan.answer(self._plan.ratings(labels), _ALPHA)
        return f"{answer.verdict} ({counted(answer.n_labelled, 'label')})" if answer.decided else ""

    @property
    def titles(self) -> list[str]:
        """A line per unit."""
        return [self._shown.title(key) for key in self.units]

    def marks(self) -> str:
        """Return a letter per unit: labelled, skipped or open."""
        skipped = self._skipped
        return "".join(
            "l" if self._complete(at) else "s" if at in skipped else "o" for at in range(self._n_open)
        )

    def _state(self, at: int | None, *, agreement: bool) -> dict[str, Any]:
        marks = self.marks()
        return {
            "total": len(marks),
            "labelled": marks.count("l"),
            "skipped": [u for u, mark in enumerate(marks) if mark == "s"],
            "labels": self.n_labels,
            "marks": marks,
            "undo": self._undoing(),
            "decided": self._decided(),
            "again": self._again(),
            "agreement": list(self._agreement()) if agreement else None,
            "unit": None if at is None else self._unit(at),
        }

    def _again(self) -> str:
        """Say when further units are to be labelled; nothing if none are, or not before others are done."""
        begins, n = self._begins, len(self.units) - self._n_first
        if begins is None or self._n_open > self._n_first:
            return ""
        when = f"{begins:%Y-%m-%d, %H:%M} UTC"
        return f"Please come back: {counted(n, f'further {self.noun}')} can be labelled from {when} on."

    def _undoing(self) -> str:
        """Return what an undo takes back; empty for nothing."""
        if not self._done:
            return ""
        last = self._done[-1]
        what = "skip" if last["do"] == "skip" else f"{last['aspect']}: {last['label']:g}"
        return f"{what}, of {self.noun} {self._at[tuple(last['unit'])] + 1}"

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
        own = self.plain(self.rater)
        for rater, aspect in product(sorted(self.people() - {self.rater}), self.data.aspects):
            theirs = self.plain(rater)
            pairs = [(own[name], theirs[name]) for name in own if name[-1] == aspect and name in theirs]
            if pairs:
                yield f"{rater}, {aspect}: {equal_text(pairs, self.noun)}"

    def _counted(self, rater: str) -> dict[Key, float]:
        """Return the labels of a rater that count: those of a first asking, but of attention items."""
        size = len(self.data.keys) + 1
        labels = self._labels.get(rater, {})
        return {n: v for n, v in labels.items() if len(n) == size and n[:-1] not in self._attention}

    def plain(self, rater: str) -> dict[Key, float]:
        """Return the labels of a rater that count; those of showings as if the first side stood first."""
        labels = self._counted(rater)
        if not self._table.showing:
            return labels
        order = list(self.data.keys).index(self._table.showing)
        return {
            (*self._sides(name[:-1]), name[-1]): -label if name[order] == SECOND else label
            for name, label in labels.items()
        }

    def line(self) -> str:
        """Return a summary in a line."""
        state = self._state(None, agreement=False)
        skipped = f", {len(state['skipped']):,} skipped" if state["skipped"] else ""
        units = counted(state["total"], self.noun)
        return f"labels of {self.rater!r}: {state['labelled']:,} of {units}{skipped}"

    @contextlib.contextmanager
    def still(self) -> Iterator[Mapping[Key, float]]:
        """Yield all labels of the rater so far, those of other processes too, while nobody labels."""
        with alone(self._folder):
            self._catch_up()
            yield self._own

    @property
    def n_labels(self) -> int:
        """How many labels the rater has given to the units of the session."""
        return sum((*unit, a) in self._own for unit, at in self._at.items() for a in self._aspects[at])

    @property
    def from_elsewhere(self) -> int:
        """How many labels the rater has, if none was given in a session."""
        return 0 if self._done else len(self._own)


def equal_text(pairs: Sequence[tuple[float, float]], noun: str) -> str:
    """Say of pairs of labels how many are equal, and how far they agree."""
    same = sum(a == b for a, b in pairs) / len(pairs)
    alpha = krippendorff_alpha(list(zip(*pairs, strict=True)), "ordinal")
    more = "" if math.isnan(alpha) else f"; Krippendorff's ordinal α {alpha:.2f}"
    return f"{same:.0%} of {counted(len(pairs), noun)} equal{more}"
