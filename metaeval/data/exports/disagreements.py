"""Files of the shared task Learning with Disagreements (LeWiDi), in which people need not agree.

An object holds a record by its id: ``text`` has two texts, of which the second was rated and the first is
what it answers; ``annotations`` what each person said, and ``soft_label`` the shares. Its keys are the scale;
if each has shares of its own, of 0 and 1, a person may give several labels, and each label is an aspect.
``other_info`` may have an explanation for each annotation. A second object, given along with it, holds what
is known of each person by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import Judged, Mark, Record, tool
from metaeval.data.exports.shape import shape

_RECORD = {"text", "annotations", "soft_label"}
_WHERE = "context+speaker"
"""What CSC says of a record beside its texts: the number of the context, and that of the speaker."""
_UNKNOWN = {"nan", "DATA_EXPIRED", "CONSENT_REVOKED"}
"""What the file of the annotators says for nothing."""


def _is_of_lewidi(record: Record) -> bool:
    return bool(record) and all(isinstance(r, Mapping) and r.keys() >= _RECORD for r in record.values())


def _listed(given: dict[str, Any]) -> object:
    """Return the records of a file, or the people of the other one."""
    records = _is_of_lewidi(given)
    return [{"id": k, **(r if records else {"person": r})} for k, r in given.items()]


@tool(
    "LeWiDi",
    "`NAME_train.json` or `NAME_dev.json`, and `NAME_annotators_meta.json` if there is one; gzip'ed or not",
    _is_of_lewidi,
    shape(
        "id",
        text=dict[str, str],
        annotations=dict[str, str],
        soft_label=dict[str, float | dict[str, float]],
        other_info=shape(explanations=[str]),
        person=dict[str, str],
    ),
    first=_listed,
)
def lewidi(records: Sequence[Record]) -> Iterator[Judged]:
    """Read records; what is known of a person stands beside each of that person's ratings."""
    people = {record["id"]: _known(record["person"]) for record in records if record["person"]}
    items: dict[str, str] = {}
    for record in records:
        if record["person"]:
            continue
        first, *_, text = record["text"].values()
        item, generator = str(record["id"]), "writer"
        if where := record["other_info"].get(_WHERE):
            context, _, speaker = str(where).partition("_")
            item, generator = items.setdefault(first, f"context {context}"), f"speaker {speaker}"
        fields = {"item_id": item, "generator": generator, "item_title": first, "explanation": text}
        sets = any(isinstance(shares, Mapping) for shares in record["soft_label"].values())
        truth = "People(sets=True)" if sets else "People()"
        yield Judged(record["id"], fields, [*_marks(record, people, sets=sets)], "explanation", truth=truth)


def _known(person: Mapping[str, str]) -> dict[str, str]:
    return {name: "" if value in _UNKNOWN else value for name, value in person.items()}


def _marks(record: Record, people: Mapping[str, Mapping[str, str]], *, sets: bool) -> Iterator[Mark]:
    """Yield what each person said: a value of the scale, or of each label whether it was given."""
    scale, why = [*record["soft_label"]], dict[str, list[str]]()
    names = [name.strip() for name in str(record.get("annotators", "")).split(",")]
    told = record["other_info"]["explanations"] if record["other_info"] else []
    for name, text in zip(names, told, strict=len(told) > 0):
        why.setdefault(name, []).append(text)
    for name, given in record["annotations"].items():
        known, texts = people.get(name, {}), why.get(name, [])
        if not sets:
            ends = min(map(float, scale)), max(map(float, scale))
            beside = {**({"why": texts[0]} if texts else {}), **known}
            task = str(record.get("annotation task", "rating"))
            yield Mark(task, given, name, person=True, scale=ends, beside=beside)
            continue
        labels = given.split(",")
        for label in scale:
            own = dict(zip(labels, texts, strict=False)).get(label, "")
            beside = {**({"why": own} if told else {}), **known}
            yield Mark(label, int(label in labels), name, person=True, scale=(0.0, 1.0), beside=beside)
