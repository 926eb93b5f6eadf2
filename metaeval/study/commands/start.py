"""A table → a folder with its map, its data set and a study that runs."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, MetaevalError, sound
from metaeval.base.records import USER_RATER
from metaeval.base.validation import read_model
from metaeval.kinds.explanations.data.folder import save
from metaeval.kinds.explanations.data.tables.importer import convert
from metaeval.kinds.explanations.data.tables.map import TableMap
from metaeval.kinds.explanations.data.tables.map_text import map_text, quoted
from metaeval.kinds.explanations.data.tables.proposal import propose
from metaeval.sources.hub.repository import FILE, any_table
from metaeval.study.plan import plan
from metaeval.study.specs import recorded_names

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.explanations.data.tables.proposal import Ask

MAP, STUDY, DATA = "map.yaml", "study.yaml", "data"


class Started(NamedTuple):
    """What was written."""

    folder: Path
    data: ExplanationSet
    notes: list[str]


def start(
    source: str,
    out: str | os.PathLike[str],
    *,
    said: Mapping[str, str],
    ask: Ask,
    tell: Callable[[str], None],
    split: str | None = None,
    force: bool = False,
) -> Started:
    """Look at a table and write the map, the data set and the study that it is good for.

    Parameters
    ----------
    source
        A file, a folder of the ``datasets`` library or a name on the hub.
    out
        The folder to write.
    said
        Column → role, as far as it is known.
    ask, tell
        As for `metaeval.kinds.explanations.data.tables.proposal.propose`.
    split
        Of a data set on the hub, or the sheet of a workbook.
    force
        Replace what an earlier call wrote.

    Raises
    ------
    MetaevalError
        If the table cannot be used, or ``out`` is in the way; nothing is written.
    """
    if there_is := [p for p in (Path(source), Path(source) / DATA) if (p / FILE).is_file()]:
        raise MetaevalError(f"{there_is[0]} is a data set already; name it as `dataset` in a study file")
    target = Path(out)
    if target.exists() and not target.is_dir():
        raise MetaevalError(f"{target} is a file; give another folder with --out")
    there = [p.name for p in target.iterdir()] if target.is_dir() else []
    if there and not force:
        raise MetaevalError(
            f"{target} holds {there[0]!r} already; replace it with --force, or give another folder"
        )
    table = any_table(source, split)
    told = f" ({table.read_as})" if table.read_as else ""
    tell(f"{table.name}: {counted(len(table.frame), 'row')}{told}. Its columns:")
    made = propose(table, said, ask, tell)
    name = target.resolve().name
    target.resolve().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=target.resolve().parent) as place:
        new = Path(place) / name
        new.mkdir()
        (new / MAP).write_text(map_text(made, source, split, str(out), name), encoding="utf-8", newline="\n")
        try:
            data = convert(table, sound(read_model(new / MAP, TableMap)), MAP).data
        except DataError as error:
            more = f" (and {len(error.problems) - 1:,} more)" if len(error.problems) > 1 else ""
            first = error.problems[0] if error.problems else error
            raise DataError(f"{first}{more}; say what a column is with --column 'NAME=ROLE'") from error
        save(data, new / DATA)
        (new / STUDY).write_text(study_text(data, name), encoding="utf-8", newline="\n")
        plan(new / STUDY)  # a study that cannot be run is not written
        if target.is_dir():
            save(data, target / DATA, force=True)
            for file in (MAP, STUDY):
                (new / file).replace(target / file)
        else:
            new.rename(target)
    return Started(target, data, made.notes)


def study_text(data: ExplanationSet, name: str) -> str:
    """Return the text of a study of the data that runs offline, with what more it may have as comments."""
    annotators = [f"Annotator({r!r})" for r in data.raters if r != USER_RATER]
    mean = f"Mean({', '.join(annotators)})"
    if USER_RATER in data.raters:
        truth, people = "User()", [*annotators, *([mean] if len(annotators) > 1 else [])]
        why = "the person the item was recommended to"
    else:
        truth, people = (mean, []) if len(annotators) > 1 else (annotators[0], [])
        why = "what people said; an evaluator of its own is no part of it"
    texts = ["Length()"] if data.texts else []
    texts += ["BLEU(n=4)", "ROUGE('L')"] if "reference" in data.explanations and data.texts else []
    evaluators = ["Random(seed=0)", *texts, *people, *(f"Recorded({e!r})" for e in recorded_names(data))]
    judge = "Judge('openai/gpt-5-mini')"
    keys = data.explanations
    by_user = {"user": ["user_id"], "pair": ["user_id", "item_id"]}
    groups = by_user if "user_id" in keys else {"item": ["item_id"]}
    levels = ["dataset", *(name for name, by in groups.items() if keys.duplicated(subset=by).any())]
    stem = re.sub(r"[^\w.-]", "-", name).lstrip(".") or "study"
    lines = [
        "# Which evaluators agree with people? Change it, and run it again: metaeval run study.yaml",
        "kind: explanations",
        f"name: {stem}   # the run goes to results/{stem}",
        f"dataset: {DATA}                     # beside this file",
        f"truth: {quoted(truth)}   # {why}",
        "evaluators:",
        *(f"  - {quoted(e)}" for e in evaluators),
        *([f"  # - {quoted(judge)}   # a language model; needs OPENAI_API_KEY"] if data.texts else []),
        f"levels: [{', '.join(levels)}]            # over all, and within each user, pair or item",
        "coefficients: [pearson, spearman, kendall]",
        "missing: {truth: drop, score: drop}     # or a number to fill in",
    ]
    return "\n".join(lines) + "\n"
