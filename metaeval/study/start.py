"""A table → a folder with its map, its data set and a study that runs."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.base.errors import DataError, MetaevalError, sound
from metaeval.base.records import USER_RATER
from metaeval.base.validation import read_model
from metaeval.data.exports.export import OWN, Export
from metaeval.data.exports.known import TRUTH, files_of, recognised
from metaeval.data.hub import any_tables, in_workbook, is_data_set
from metaeval.data.proposals.asking import Ask, propose
from metaeval.data.proposals.map_text import map_text, quoted, yaml_text
from metaeval.data.proposals.proposal import ProposedAspect
from metaeval.data.tables.maps import TableMap, few
from metaeval.data.tables.several import OF
from metaeval.data.units import summary
from metaeval.evaluators.recorded import Recorded
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.imports.table import convert, data_set
from metaeval.kinds.explanations.data.loading import refuse_if_in_the_way, save
from metaeval.kinds.reading import load
from metaeval.study.plan import plan

MAP, STUDY, DATA = "map.yaml", "study.yaml", "data"
_MOST = 0.8  # share of the units that an evaluator must have: units that one lacks are compared by none


_FILES = ("rater", "generator", "item_id", "ignore")
"""What each of several files may be."""


def _of_files(answer: str) -> str:
    if answer not in _FILES:
        lines = " or ".join(f"--column {OF}={role}" for role in _FILES)
        raise DataError(f"the tables are below each other, and nobody says what a file is; add {lines}")
    return answer


class Started(NamedTuple):
    """What was written."""

    folder: Path
    data: ExplanationSet
    notes: list[str]
    columns: dict[str, str]
    """What each column of a table was taken for."""
    told: str
    """What was written, in words."""

    @property
    def following(self) -> str:
        """The command to go on with."""
        if self.data.raters:
            return f"metaeval run {shlex.quote(str(self.folder / STUDY))}"
        return f"metaeval golden label {shlex.quote(str(self.folder / DATA))} --rater NAME"


def start(
    sources: Sequence[str],
    out: str | os.PathLike[str],
    *,
    said: Mapping[str, str],
    ask: Ask,
    tell: Callable[[str], None],
    split: str | None = None,
    aspects: Sequence[str] = (),
    scale: tuple[float, float] = (1, 5),
    force: bool = False,
) -> Started:
    """Look at a table, or several, and write the map, the data set and the study that they are good for.

    The options are those of `metaeval init`; ``said`` is column → role, as far as it is known; ``ask`` and
    ``tell`` are as for `metaeval.data.proposals.asking.propose`. With ``aspects``, on
    ``scale``, nobody has rated yet: there is no study then.
    """
    source = sources[0]
    if (study := Path(source) / STUDY).is_file():
        raise MetaevalError(f"{source} holds a study already: metaeval run {shlex.quote(str(study))}")
    target = Path(out)
    if target.exists() and not target.is_dir():
        raise MetaevalError(f"{target} is a file; give another folder with --out")
    there = [p.name for p in target.iterdir()] if target.is_dir() else []
    if there and there != [MAP] and not force:  # a map alone is what a call that failed left
        raise MetaevalError(
            f"{target} holds {there[0]!r} already; replace it with --force, or give another folder"
        )
    if sets := [s for s in sources if is_data_set(s)]:
        if aspects or len(sources) > 1:
            advice = "leave --aspect out" if aspects else "give it alone"
            raise MetaevalError(f"{sets[0]} says itself what is rated; {advice}")
        return _of_data_set(source, target, tell)
    refuse_if_in_the_way(target / DATA, force=force)  # before any question is asked
    if known := recognised(*sources):
        if aspects:
            raise MetaevalError(f"{source} says itself what is rated; leave --aspect out")
        return _of_export(known, target, said, ask, tell)
    if len(sources) == 1:
        source, split = in_workbook(source, split)
        sources = [source]
    table = any_tables(sources, split)
    if len(sources) > 1 and OF in table.frame and OF not in said:
        what = ", ".join(table.frame[OF].unique())
        said = {**said, OF: ask(f"What is each of the files ({what})? ({', '.join(_FILES)})", "", _of_files)}
    unrated = [ProposedAspect(name, name, scale, whole=True) for name in aspects]
    made = propose(table, said, ask, tell, unrated)
    name = target.resolve().name
    target.resolve().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=target.resolve().parent) as place:
        new = Path(place) / name
        new.mkdir()
        (new / MAP).write_text(map_text(made, sources, split, str(out), name), encoding="utf-8", newline="\n")
        try:
            data = convert(table, sound(read_model(new / MAP, TableMap)), MAP).data
        except DataError as error:
            more = f" (and {len(error.problems) - 1:,} more)" if len(error.problems) > 1 else ""
            first = error.problems[0] if error.problems else error
            advice = "say what a column is with --column 'NAME=ROLE'"
            if error.problems and error.problems[0].column is None and made.unused:
                columns = few(made.unused)
                advice = f"if an unused column tells them apart ({columns}), add --column 'NAME=item_id'"
            if not (target / STUDY).exists():  # with what was typed; one of an earlier call would be stale
                target.mkdir(exist_ok=True)
                (new / MAP).replace(target / MAP)
                advice += f", or change {target / MAP}, which says how to import it"
            raise DataError(f"{first}{more}; {advice}") from error
        _write(new, data, target, tell)
    written = f"{MAP}, {STUDY}" if data.raters else MAP
    return Started(target, data, made.notes, made.columns, f"{written} and the data set ({summary(data)})")


def _write(new: Path, data: ExplanationSet, target: Path, tell: Callable[[str], None]) -> None:
    """Write the data set and, of ratings, a study into a folder, and move it, whole, to where it belongs."""
    save(data, new / DATA)
    if data.raters:
        tell(_write_study(new, data, target))
    if not target.is_dir():
        new.rename(target)
        return
    save(data, target / DATA, force=True)
    for file in (MAP, STUDY):
        if (new / file).exists():
            (new / file).replace(target / file)
        else:
            (target / file).unlink(missing_ok=True)


def _of_export(
    known: tuple[Export, Sequence[Mapping[str, Any]]],
    target: Path,
    said: Mapping[str, str],
    ask: Ask,
    tell: Callable[[str], None],
) -> Started:
    """Write the data set and the study of a known export, which needs no map."""
    export, records = known
    known_roles = (*OWN, "ignore", "rating", "score", "tool", "words")
    if others := [
        f"{name}={role}" for name, role in said.items() if role.partition(":")[0] not in known_roles
    ]:
        raise MetaevalError(
            f"{export.name} exports are known; --column may say whose values they are ('NAME=rating' or "
            f"'NAME=score'), or which field is {', '.join(OWN)}, not {', '.join(others)}"
        )
    question = "No field names the generator. Which model or system was it?"
    name = target.resolve().name
    made = data_set(files_of(export, records, name, (), lambda: ask(question, "model", str), roles=said))
    for note in made.notes:
        tell(note)
    target.resolve().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=target.resolve().parent) as place:
        new = Path(place) / name
        new.mkdir()
        _write(new, made.data, target, tell)
    return Started(target, made.data, [], {}, f"{STUDY} and the data set ({summary(made.data)})")


def _of_data_set(source: str, target: Path, tell: Callable[[str], None]) -> Started:
    """Write a study of a data set, which stays where it is."""
    data = load(source)
    if data.kind != "explanations":
        raise MetaevalError(
            f"{source} is a data set of `kind: {data.kind}` already, and init writes studies of explanations "
            "alone; name it as `dataset` in a study file of that kind"
        )
    if not data.raters:
        again = f"metaeval golden label {shlex.quote(source)} --rater NAME"
        raise MetaevalError(f"nobody has rated {source} yet; let people label it: {again}")
    here = Path(source).exists()
    dataset = os.path.relpath(Path(source).resolve(), target.resolve()) if here else source
    target.resolve().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.resolve().parent) as place:
        tell(_write_study(Path(place), data, target, dataset))
        target.mkdir(exist_ok=True)
        (Path(place) / STUDY).replace(target / STUDY)
    return Started(target, data, [], {}, f"{STUDY} of the data set {source} ({summary(data)})")


def _write_study(folder: Path, data: ExplanationSet, target: Path, dataset: str = DATA) -> str:
    """Write the study, and return its line of the truth."""
    place = shlex.quote(str(target / STUDY))
    text = study_text(data, target.resolve().name, place, dataset)
    (folder / STUDY).write_text(text, encoding="utf-8", newline="\n")
    plan(folder / STUDY)  # a study that cannot be run is not written
    return next(line for line in text.splitlines() if line.startswith("truth:"))


def _lacking(data: ExplanationSet, people: Sequence[str]) -> int:
    """Return how many units have no rating of one of these people for some aspect."""
    rated = data.ratings[data.ratings["rater"].isin(people) & data.ratings["rating"].notna()]
    given = rated.groupby(list(data.keys)).size()
    whole = int((given == len(people) * len(data.aspects)).sum())
    return len(data) - whole


def _of_people(data: ExplanationSet, name: str, place: str, dataset: str) -> str:
    """Return the text of a study of data that say themselves that its truth is what each person said."""
    stem = re.sub(r"[^\w.-]", "-", name).lstrip(".") or "study"
    judge = "Judge('openai/gpt-5-mini', temperature=1, samples=5)"
    lines = [
        f"# Which evaluators come near to what people said, all of them? Run it again: metaeval run {place}",
        "kind: people",
        f"name: {stem}   # the run goes to results/{stem}",
        f"dataset: {quoted(dataset)}   # as seen from this file",
        f"truth: {quoted(str(data.extra[TRUTH]))}   # their distribution, not their mean",
        "evaluators:",
        *(f"  - {quoted(e)}" for e in ("Random(seed=0)", "SameForAll()")),
        *(f"  - {quoted(f'Recorded({e!r})')}" for e in Recorded.found_in(data)),
        f"  # - {quoted(judge)}   # a language model, asked five times; needs OPENAI_API_KEY",
    ]
    return yaml_text(lines)


def study_text(data: ExplanationSet, name: str, place: str, dataset: str = DATA) -> str:
    """Return the text of a study of the data that runs offline, with what more it may have as comments."""
    if TRUTH in data.extra:
        return _of_people(data, name, place, dataset)
    rated = data.ratings["rater"].where(data.ratings["rating"].notna()).value_counts()
    enough = _MOST * len(data) * len(data.aspects)
    people = [r for r in data.raters if r != USER_RATER]
    every = all(rated.get(r, 0) >= enough for r in people)
    annotators = [f"Annotator({r!r})" for r in people if rated.get(r, 0) >= enough]
    # Where each rater saw some of the units, a mean of all that are there needs no more than one.
    parts = [f"Annotator({r!r})" for r in people]
    mean = f"Mean({', '.join([*parts, *([] if every else ['skip_missing=True'])])})"
    if USER_RATER in data.raters:
        truth, shown = "User()", [*annotators, *([mean] if len(people) > 1 else [])]
        why = "the person the item was recommended to"
    else:
        truth, shown = (mean, []) if len(people) > 1 else (parts[0], [])
        why = "what people said; an evaluator of its own is no part of it"
        if every and (short := _lacking(data, people)):
            left = f"{short:,} of {len(data):,} units lack a rating of one and are left out"
            why = f"{left}; skip_missing=True keeps them"
    texts = ["Length()"] if data.texts else []
    lacking = 0
    if "reference" in data.explanations and data.texts:
        lacking = int((data.explanations["reference"].fillna("") == "").sum())
        texts += ["BLEU(n=4)", "ROUGE('L')"] if lacking <= (1 - _MOST) * len(data) else []
    left_out = (
        f"# - BLEU(n=4)   # {lacking:,} of {len(data):,} units have no reference; others would lose them, too"
    )
    evaluators = ["Random(seed=0)", *texts, *shown, *(f"Recorded({e!r})" for e in Recorded.found_in(data))]
    judge = "Judge('openai/gpt-5-mini')"
    keys = data.explanations
    by_user = {"user": ["user_id"], "pair": ["user_id", "item_id"]}
    groups = by_user if "user_id" in keys else {"item": ["item_id"]}
    levels = ["dataset", *(name for name, by in groups.items() if keys.duplicated(subset=by).any())]
    stem = re.sub(r"[^\w.-]", "-", name).lstrip(".") or "study"
    lines = [
        f"# Which evaluators agree with people? Change it, and run it again: metaeval run {place}",
        "kind: explanations",
        f"name: {stem}   # the run goes to results/{stem}",
        f"dataset: {quoted(dataset)}   # as seen from this file",
        f"truth: {quoted(truth)}   # {why}",
        "evaluators:",
        *(f"  - {quoted(e)}" for e in evaluators),
        *([f"  # - {quoted(judge)}   # a language model; needs OPENAI_API_KEY"] if data.texts else []),
        *([f"  {left_out}"] if lacking and "BLEU(n=4)" not in texts else []),
        f"levels: [{', '.join(levels)}]            # over all, and within each user, pair or item",
        "coefficients: [pearson, spearman, kendall]",
        "missing: {truth: drop, score: drop}     # or a number to fill in",
    ]
    return yaml_text(lines)
