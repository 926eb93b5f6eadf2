"""The aspects that people rated, their scales, and answers in words; asked for where they cannot be known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, one_of
from metaeval.base.records import AVERAGE
from metaeval.kinds.explanations.data.tables.guess import OVERALL
from metaeval.kinds.explanations.data.tables.labels import say_their_numbers, scale_of_labels, scales_of
from metaeval.kinds.explanations.data.tables.names import aspect_name
from metaeval.kinds.explanations.data.tables.prepare import few
from metaeval.kinds.explanations.data.tables.proposal import ProposedAspect, texts_of

if TYPE_CHECKING:
    from metaeval.kinds.explanations.data.tables.grid import Cell
    from metaeval.kinds.explanations.data.tables.proposal import Ask, Proposal


def find_aspects(made: Proposal, ask: Ask) -> None:
    """Name the aspects that people rated, and find their scales; raise `DataError` if there is no rating."""
    found, frame = made.guess, made.table.frame
    numbers: dict[str, list[float]] = {}
    words: dict[str, dict[str, int | None]] = {}
    column = found.roles.get("aspect")
    for cell in found.people:
        labels = found.labels.get(cell.column, {})
        values = [labels.get(t, t) for t in map(str.strip, map(str, frame[cell.column]))]
        of = [cell.aspect] * len(values) if column is None else texts_of(made, column)
        by = texts_of(made, found.roles["rater"]) if made.tools else [""] * len(values)
        for aspect, value, who in zip(of, values, by, strict=True):
            if value is not None and who not in made.tools and re.fullmatch(r"[+-]?\d+(\.\d+)?", str(value)):
                numbers.setdefault(aspect, []).append(float(value))
            words.setdefault(aspect, {}).update(labels)
    if not numbers:
        raise DataError(f"{made.table.name} has no rating in its columns of ratings")
    scales: dict[str, tuple[float, float]] = scales_of(numbers)
    for aspect in numbers:
        of_words = scale_of_labels([w for w, n in words[aspect].items() if n is not None])
        if words[aspect] and of_words:
            scales[aspect] = of_words
    names: dict[str, str] = {}
    for text in numbers:
        name = aspect_name(text)
        name = OVERALL if name.casefold() == AVERAGE else name
        same = sum(n == name or n.startswith(f"{name} (") for n in names.values())
        names[text] = f"{name} ({same + 1})" if same else name
    if again := [n for n in names.values() if n.endswith(" (2)") and n not in names]:
        made.notes.append(
            f"Several columns ask of {again[0][:-4]}; if they are about several explanations, give each a "
            "row of its own by `explode` of the map, such as explode: [Q{n}_text, Q{n}_trust]."
        )
    for scale in dict.fromkeys(scales.values()):
        on = [names[a] for a in scales if scales[a] == scale]
        ends = ask(f"The scale of {few(on)}?", f"{scale[0]:g} to {scale[1]:g}", _scale)
        for text in (a for a in names if scales[a] == scale):
            whole = all(n.is_integer() for n in numbers[text])
            made.aspects.append(ProposedAspect(names[text], text, ends, whole))
    order = list(names)
    made.aspects.sort(key=lambda a: order.index(a.text))
    _ask_for_words(made, ask)


def _scale(answer: str) -> tuple[float, float]:
    """Return the ends of a scale: ``1 to 5``, ``1-5``; raise `DataError` if they are none."""
    ends = [float(n) for n in re.findall(r"(?<!\d)-?\d+(?:\.\d+)?", answer)]
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise DataError(f"{answer!r} is no scale; give its ends, such as 1 to 5")
    return ends[0], ends[1]


def _ask_for_words(made: Proposal, ask: Ask) -> None:
    """Ask whether answers in words rise as they were taken to; codes such as A1 may as well fall."""
    labels = made.guess.labels
    groups: list[tuple[dict[str, int], list[Cell]]] = []
    for cell in made.guess.people:
        words = {w: n for w, n in labels.get(cell.column, {}).items() if n is not None}
        if say_their_numbers(words):
            continue
        for known, cells in groups:
            if known.keys() & words and all(known.get(w, n) == n for w, n in words.items()):
                known.update(words)
                cells.append(cell)
                break
        else:
            groups.append((words, [cell]))
    scales = {a.text: a.scale for a in made.aspects}
    for words, cells in groups:
        told = ", ".join(f"{w} = {words[w]}" for w in sorted(words, key=lambda w: words[w]))
        if ask(f"The answers: {told}. Right? (yes, or reversed)", "yes", _is_reversed):
            for cell in cells:
                low, high = scales.get(cell.aspect, made.aspects[0].scale)
                of = labels[cell.column]
                labels[cell.column] = {w: None if n is None else int(low + high) - n for w, n in of.items()}


def _is_reversed(answer: str) -> bool:
    one_of(answer.strip(), ("yes", "reversed"), "it cannot be", "it may be", error=DataError)
    return answer.strip() == "reversed"
