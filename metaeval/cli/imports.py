"""``metaeval data import``: make a data set of files you have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.base.errors import one_of
from metaeval.cli.group import Group
from metaeval.cli.messages import talk, tell, tell_json
from metaeval.cli.options import (
    PATH,
    PLACE,
    Decorator,
    force,
    given_of,
    option,
    out_folder,
    rising,
    sampled,
    several,
)

if TYPE_CHECKING:
    from metaeval.base.records import DataOfKind
    from metaeval.data.imports import Imported


class _Lists(click.Command):
    """A command whose options take several values: ``--runs a b`` is ``--runs a --runs b``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat an option before each further value of it."""
        lists = {flag for p in self.params if getattr(p, "multiple", False) for flag in p.opts}
        repeated: list[str] = []
        for at, arg in enumerate(args):
            flag = next((a for a in reversed(args[:at]) if a.startswith("--")), "")
            further = at and args[at - 1] != flag and not arg.startswith("-")
            repeated += [flag, arg] if flag in lists and further else [arg]
        return super().parse_args(ctx, repeated)


name = option("--name", "Name of the data set.  [default: the folder's]")


@click.group("import", cls=Group)
def import_() -> None:
    """Make a data set from your files."""


def _made(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give an import the options for the data set it makes, and for what it tells."""
    return out_folder(force(talk(command)))


def tell_made(data: DataOfKind, lines: Sequence[str], **more: object) -> None:
    """Tell what a data set holds, in lines; or with ``--json`` as ``data check`` does, and ``more``."""
    from metaeval.kinds.reading import Inspection

    for line in lines:
        tell(line)
    tell_json({**Inspection(data, ()).to_dict(), **more})


def _tell(found: Imported[Any]) -> None:
    tell_made(found.data, found.lines(), notes=found.notes)


def _run(command: str, module: str, source: Any, out: Path, options: Mapping[str, Any]) -> None:
    """Call an importer with the options that were given."""
    run = getattr(import_module(f"metaeval.kinds.{module}"), f"import_{command}")
    _tell(run(source, out, **given_of(options)))


def _importer(command: str, about: str, module: str, source: str, *options: Decorator) -> None:
    """Add a command that calls the importer in a module of a kind, which ``{kind}`` stands for.

    ``source`` is the argument, or else the required option, that names the files.
    """

    def run(out: Path, kind: str = "", **given: Any) -> None:
        _run(command, module.format(kind=kind), given.pop(source), out, given)

    for decorate in reversed((*options, _made)):
        run = decorate(run)
    import_.command(command, cls=_Lists, help=about)(run)


def _choice(flag: str, *allowed: str, **attributes: Any) -> Decorator:
    """Return an option with a few values, the first of which is the default."""
    return option(flag, attributes.pop("help", ""), allowed, default=allowed[0], **attributes)


_folder = click.argument("folder", type=PATH)
_rising = rising(int, "two rising whole numbers, such as 0:3")
_FIELDS = ("query", "document", "label", "user_id", "item_id", "rank", "score", "system")
_scale = partial(option, "--scale", read=_rising, metavar="MIN:MAX")


@import_.command("recexp")
@click.argument("source", type=PATH)
@_made
def import_recexp(source: Path, out: Path, force: bool) -> None:
    """Import the explanation study of RecSys 2024 from the folder SOURCE of its released files."""
    from metaeval.data.units import summary
    from metaeval.kinds.explanations.data.imports.recexp import import_recexp as run

    data = run(source, out, force=force)
    tell_made(data, [summary(data)])


@import_.command("table")
@click.argument("files", metavar="FILE...", type=PLACE, nargs=-1, required=True)
@option("--map map_file", "YAML file: what each column means.", PATH, required=True)
@_made
def import_table(files: tuple[str, ...], map_file: Path, out: Path, force: bool) -> None:
    """Import FILE (CSV, TSV, JSONL, Parquet, or the name of a hub data set) by a column map.

    Several files of the same columns are below each other, with the column file; others are joined by the
    columns that they share.
    """
    from metaeval.data.folder import kind_of
    from metaeval.data.units import summary

    kinds = ("explanations", "slates", "exposure")
    kind = one_of(str(kind_of(map_file)), kinds, "no map is of kind", "allowed")
    if kind != "explanations":
        run_map = import_module(f"metaeval.kinds.{kind}.data.imports.table").import_table
        _tell(run_map(files, map_file, out, force=force))
        return
    from metaeval.data.tables.maps import few
    from metaeval.kinds.explanations.data.imports.table import import_table as run

    result = run(files, map_file, out, force=force)
    names = f": {few(result.unmapped)}" if result.unmapped else ""
    line = f"{summary(result.data)}, {counted(len(result.unmapped), 'column')} not in the map{names}"
    tell_made(result.data, [line], unmapped=result.unmapped)


@import_.command("qrels")
@click.argument("people", metavar="FILE", type=PATH)
@several("--judges judges", "A judge's file, or a pattern such as 'runs/judge*.txt'; may be given again.")
@_scale("Scale of the labels, such as 0:3.", required=True)
@option("--aspect", "Name of what was judged.", default="relevance")
@option("--name", "Name of the data set.  [default: FILE's]")
@_made
def import_qrels(people: Path, *, out: Path, **options: Any) -> None:
    """Import people's labels from FILE, and judges' labels, in TREC's qrels format."""
    _run("qrels", "explanations.data.imports.qrels", people, out, options)


def _names(given: Sequence[str]) -> dict[int, str]:
    """Return names of labels given as ``0=NAME``."""
    matches = {text: re.fullmatch(r"\s*([+-]?\d+)\s*=\s*(\S.*?)\s*", text) for text in given}
    for text, match in matches.items():
        if match is None:
            raise ValueError(f"{text!r} is not a label and its name, such as 0=dull")
    return {int(match[1]): match[2] for match in matches.values() if match}


def _questions(given: Sequence[str]) -> dict[str, str]:
    """Return questions given as ``familiarity="How well do you know it?"``."""
    pairs = [one.partition("=") for one in given]
    if wrong := [name for name, _, said in pairs if not (name.strip() and said.strip())]:
        raise ValueError(f"{wrong[0]!r} has no question; give ASPECT=QUESTION")
    return {name.strip(): said.strip() for name, _, said in pairs}


def _columns(given: Sequence[str]) -> dict[str, str]:
    """Return columns given as ``FIELD=COLUMN``."""
    pairs = [one.partition("=") for one in given]
    for field, _, column in pairs:
        one_of(field, _FIELDS, "there is no field", "there are", error=ValueError)
        if not column:
            raise ValueError(f"{field!r} names no column; give FIELD=COLUMN")
    return {field: column for field, _, column in pairs}


def _scales(given: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return scales given as ``0:3``, that of people, whose name here is empty, and ``RATER=0:42``."""
    ends = rising(float, "two rising numbers, such as 0:3 or rater=0:42")
    return {name: ends(text) for name, _, text in (one.rpartition("=") for one in given)}


_importer(
    "collection",
    "Import labels (TREC's qrels) and runs of systems, plain or gzipped; queries become users.",
    "relevance.data.imports.trec",
    "qrels",
    several("--qrels qrels", "Labels of a rater; those of people first.", required=True, metavar="NAME=FILE"),
    several("--runs runs", "Run file, or folder of run files.", PATH, metavar="PLACE"),
    option("--items", "Table of item_id and fields.", PATH),
    option("--histories", "Table of user_id, item_id and, optionally, rating and timestamp.", PATH),
    option("--profiles", "Table of user_id and fields.", PATH),
    several(
        "--scale scale",
        "Scale of people's labels, such as 0:3, or of a rater's.  [default: the range of the rater's labels]",
        read=_scales,
        metavar="[RATER=]MIN:MAX",
    ),
    several("--label labels", "Name of a label.", read=_names, metavar="LABEL=NAME"),
    option("--relevant", "Lowest relevant label.  [default: 1; of fractions, the lowest above 0]", float),
    option("--unjudged", "Label that says that nobody judged, such as -1.", float),
    option(
        "--depth",
        "Number of items per list that are judged, too.",
        click.IntRange(0),
        default=0,
        show_default=False,
    ),
    option(
        "--drawn",
        "Number of items of a user's lists, drawn at random, that are judged, too.",
        click.IntRange(0),
        default=0,
        show_default=False,
    ),
    option("--statement", "Question to the raters."),
    several(
        "--aspect aspects",
        "Further aspect; --qrels NAME:ASPECT=FILE has its labels.",
        read=_questions,
        metavar="ASPECT=QUESTION",
    ),
    several(
        "--columns",
        "Column of a field, where labels or runs are tables: query, document, label; user_id, item_id, rank, "
        "score, system.",
        read=_columns,
        metavar="FIELD=COLUMN",
    ),
    name,
)


@import_.command("movielens", cls=_Lists)
@_folder
@_choice("--kind", "relevance", "slates", help="Data to make: labels of films, or duels of lists of films.")
@option(
    "--newest",
    "For relevance: share of the ratings that are labels.  [default: 0.2]",
    click.FloatRange(0, 1, min_open=True, max_open=True),
)
@option("--split", "For relevance: take the newest ratings of each user, or of all users.", ["user", "time"])
@sampled
@name
@_made
def import_movielens(
    folder: Path, kind: str, *, out: Path, name: str | None, force: bool, **options: Any
) -> None:
    """Import a release of MovieLens: a user's newest ratings are labels, the older ones the history.

    --newest and --split belong to --kind relevance, which takes all users unless --users is given; the other
    options belong to --kind slates.
    """
    given = given_of(options)
    own = {"newest", "split"}
    allowed = {*own, "users", "seed"} if kind == "relevance" else given.keys() - own
    if strange := [option for option in given if option not in allowed]:
        raise click.UsageError(f"--{strange[0]} does not apply to --kind {kind}; leave it out")
    _run("movielens", f"{kind}.data.imports.movielens", folder, out, {**given, "name": name, "force": force})


_importer(
    "amazon",
    "Import Amazon Reviews 2023 (JSONL, plain or gzipped) as duels of lists of products.",
    "slates.data.imports.amazon",
    "file",
    click.argument("file", type=PATH),
    option("--meta", "File of the products, such as meta_All_Beauty.jsonl.", PATH),
    sampled,
    name,
)
for _command, _about in (
    ("mind", "Import MIND (behaviors.tsv, news.tsv) as duels of lists of news; a click is a gain."),
    (
        "playlists",
        "Import slices of the Million Playlist Dataset as duels of lists of tracks, in a playlist's order.",
    ),
):
    _importer(_command, _about, f"slates.data.imports.{_command}", "folder", _folder, sampled, name)
_importer(
    "coat",
    "Import Coat: ratings of random coats, and of coats chosen by users.",
    "{kind}.data.imports.coat",
    "folder",
    _folder,
    _choice(
        "--kind",
        "relevance",
        "exposure",
        help="Data to make: labels and histories, or a log with propensities.",
    ),
    option("--name", "Name of the data set.", default="coat"),
)
_importer(
    "obd",
    "Import a log of the Open Bandit Dataset, and the policies of its platform.",
    "exposure.data.imports.obd",
    "folder",
    _folder,
    _choice("--campaign", "men", "women", "all"),
    _choice("--policy", "random", "bts", help="Policy that made the log."),
    option(
        "--priors", "Priors of bts, from the code of the release; or none.  [default: found around FOLDER]"
    ),
    option("--name", "Name of the data set.  [default: obd, campaign and policy]"),
)
