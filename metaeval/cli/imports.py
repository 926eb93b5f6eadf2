"""``metaeval data import``: make a data set of files you have."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.base.errors import one_of
from metaeval.cli.group import Group
from metaeval.cli.options import PATH, PLACE, force, out_folder, rising, several
from metaeval.cli.sampling import given_of, sampled, sampling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.kinds.files.loading import Imported


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


name = click.option("--name", help="Name of the data set.  [default: the folder's]")


@click.group("import", cls=Group)
def import_() -> None:
    """Make a data set from your files."""


@import_.command("recexp")
@click.argument("source", type=PATH)
@out_folder
@force
def import_recexp(source: Path, out: Path, force: bool) -> None:
    """Import the explanation study of RecSys 2024 from the folder SOURCE of its released files."""
    from metaeval.kinds.explanations.data.studies.recexp import import_recexp as run
    from metaeval.kinds.files.loading import summary

    click.echo(summary(run(source, out, force=force)))


@import_.command("table")
@click.argument("file", type=PLACE)
@click.option("--map", "map_file", type=PATH, required=True, help="YAML file: what each column means.")
@out_folder
@force
def import_table(file: str, map_file: Path, out: Path, force: bool) -> None:
    """Import FILE (CSV, TSV, JSONL, Parquet, or the name of a hub data set) by a column map."""
    from metaeval.kinds.files.folder import kind_of
    from metaeval.kinds.files.loading import summary

    kinds = ("explanations", "slates", "exposure")
    kind = one_of(str(kind_of(map_file)), kinds, "no map is of kind", "allowed")
    if kind != "explanations":
        _tell(
            import_module(f"metaeval.kinds.{kind}.data.imports.table").import_table(
                file, map_file, out, force=force
            )
        )
        return
    from metaeval.kinds.explanations.data.tables.importer import import_table as run

    result = run(file, map_file, out, force=force)
    click.echo(f"{summary(result.data)}, {counted(len(result.unmapped), 'column')} not in the map")


@import_.command("qrels")
@click.argument("people", metavar="FILE", type=PATH)
@several(
    "--judges", "judges", help="A judge's file, or a pattern such as 'runs/judge*.txt'; may be given again."
)
@click.option(
    "--scale",
    required=True,
    callback=rising(int, "two rising whole numbers, such as 0:3"),
    metavar="MIN:MAX",
    help="Scale of the labels, such as 0:3.",
)
@click.option("--aspect", default="relevance", show_default=True, help="Name of what was judged.")
@click.option("--name", help="Name of the data set.  [default: FILE's]")
@out_folder
@force
def import_qrels(people: Path, *, out: Path, **options: Any) -> None:
    """Import people's labels from FILE, and judges' labels, in TREC's qrels format."""
    from metaeval.kinds.explanations.data.studies.qrels import import_qrels as run
    from metaeval.kinds.files.loading import summary

    result = run(people, out, **options)
    for line in (summary(result.data), *result.lines()):
        click.echo(line)


def _names(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> dict[int, str]:
    """Return names of labels given as ``0=NAME``."""
    found: dict[int, str] = {}
    for text in given:
        label, sign, name = text.partition("=")
        try:
            found[int(label)] = name.strip()
        except ValueError:
            sign = ""
        if not (sign and name.strip()):
            raise click.BadParameter(
                f"{text!r} is not a label and its name, such as 0=dull", context, parameter
            )
    return found


@import_.command("collection", cls=_Lists)
@several(
    "--qrels", "qrels", required=True, metavar="NAME=FILE", help="Labels of a rater; those of people first."
)
@several("--runs", "runs", type=PATH, metavar="PLACE", help="Run file, or folder of run files.")
@click.option("--items", type=PATH, help="Table of item_id and fields.")
@click.option(
    "--histories", type=PATH, help="Table of user_id, item_id and, optionally, rating and timestamp."
)
@click.option("--profiles", type=PATH, help="Table of user_id and fields.")
@click.option(
    "--scale",
    callback=rising(int, "two rising whole numbers, such as 0:3"),
    metavar="MIN:MAX",
    help="Scale of the labels, such as 0:3.  [default: the range of people's labels]",
)
@several("--label", "labels", callback=_names, metavar="LABEL=NAME", help="Name of a label.")
@click.option("--relevant", type=int, help="Lowest relevant label.  [default: the second of the scale]")
@click.option(
    "--depth", type=click.IntRange(0), default=0, help="Number of items per list that are judged, too."
)
@click.option("--statement", help="Question to the raters.")
@name
@out_folder
@force
def import_collection(*, out: Path, qrels: Sequence[str], **options: Any) -> None:
    """Import labels (TREC's qrels) and runs of systems, plain or gzipped; queries become users."""
    from metaeval.kinds.relevance.data.imports.trec import import_collection as run

    _tell(run(qrels, out, **{name: value for name, value in options.items() if value is not None}))


@import_.command("movielens", cls=_Lists)
@click.argument("folder", type=PATH)
@click.option(
    "--kind",
    type=click.Choice(["relevance", "slates"]),
    default="relevance",
    show_default=True,
    help="Data to make: labels of films, or duels of lists of films.",
)
@click.option(
    "--newest",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="For relevance: share of the ratings that are labels.  [default: 0.2]",
)
@click.option(
    "--split",
    type=click.Choice(["user", "time"]),
    help="For relevance: take the newest ratings of each user, or of all users.",
)
@sampled
@name
@out_folder
@force
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
    if kind == "slates":
        from metaeval.kinds.slates.data.imports.movielens import import_movielens as run_duels

        _tell(run_duels(folder, out, sampling(given), name=name, force=force))
        return
    from metaeval.kinds.relevance.data.imports.movielens import import_movielens as run

    _tell(run(folder, out, name=name, force=force, **given))


@import_.command("amazon", cls=_Lists)
@click.argument("file", type=PATH)
@click.option("--meta", type=PATH, help="File of the products, such as meta_All_Beauty.jsonl.")
@sampled
@name
@out_folder
@force
def import_amazon(
    file: Path, *, meta: Path | None, out: Path, name: str | None, force: bool, **given: Any
) -> None:
    """Import Amazon Reviews 2023 (JSONL, plain or gzipped) as duels of lists of products."""
    from metaeval.kinds.slates.data.imports.amazon import import_amazon as run

    _tell(run(file, out, sampling(given), meta=meta, name=name, force=force))


@import_.command("mind", cls=_Lists)
@click.argument("folder", type=PATH)
@sampled
@name
@out_folder
@force
def import_mind(folder: Path, *, out: Path, name: str | None, force: bool, **given: Any) -> None:
    """Import MIND (behaviors.tsv, news.tsv) as duels of lists of news; a click is a gain."""
    from metaeval.kinds.slates.data.imports.mind import import_mind as run

    _tell(run(folder, out, sampling(given), name=name, force=force))


@import_.command("playlists", cls=_Lists)
@click.argument("folder", type=PATH)
@sampled
@name
@out_folder
@force
def import_playlists(folder: Path, *, out: Path, name: str | None, force: bool, **given: Any) -> None:
    """Import slices of the Million Playlist Dataset as duels of lists of tracks, in a playlist's order."""
    from metaeval.kinds.slates.data.imports.playlists import import_playlists as run

    _tell(run(folder, out, sampling(given), name=name, force=force))


@import_.command("coat")
@click.argument("folder", type=PATH)
@click.option(
    "--kind",
    type=click.Choice(["relevance", "exposure"]),
    default="relevance",
    show_default=True,
    help="Data to make: labels and histories, or a log with propensities.",
)
@click.option("--name", default="coat", show_default=True, help="Name of the data set.")
@out_folder
@force
def import_coat(folder: Path, *, kind: str, out: Path, **options: Any) -> None:
    """Import Coat: ratings of random coats, and of coats chosen by users."""
    if kind == "exposure":
        from metaeval.kinds.exposure.data.imports.coat import import_coat as run_log

        _tell(run_log(folder, out, **options))
        return
    from metaeval.kinds.relevance.data.imports.coat import import_coat as run

    _tell(run(folder, out, **options))


@import_.command("obd")
@click.argument("folder", type=PATH)
@click.option("--campaign", type=click.Choice(["men", "women", "all"]), default="men", show_default=True)
@click.option(
    "--policy",
    type=click.Choice(["random", "bts"]),
    default="random",
    show_default=True,
    help="Policy that made the log.",
)
@click.option("--name", help="Name of the data set.  [default: obd, campaign and policy]")
@out_folder
@force
def import_obd(folder: Path, *, out: Path, name: str | None, **options: Any) -> None:
    """Import a log of the Open Bandit Dataset, and the policies of its platform."""
    from metaeval.kinds.exposure.data.imports.obd import import_obd as run

    _tell(run(folder, out, name=name or "", **options))


def _tell(found: Imported[Any]) -> None:
    for line in found.lines():
        click.echo(line)
