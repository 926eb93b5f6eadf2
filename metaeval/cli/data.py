"""``metaeval data``: get, import and check data sets; ``off-policy`` and ``memory``: what is asked of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.cli.group import Group
from metaeval.cli.imports import import_, tell_made
from metaeval.cli.messages import begin, talk, tell, tell_json, tell_simulated, warn
from metaeval.cli.options import (
    PATH,
    PLACE,
    flag,
    force,
    given_of,
    numbers,
    option,
    propensity_source,
    refits,
    resampled,
    scale_option,
    seed,
    several,
    words,
)
from metaeval.cli.sheets import Sheets, prints_sheets, sheet_options, tell_sheets

if TYPE_CHECKING:
    from metaeval.runs.command import Printed

_TOOLS = ("promptfoo", "inspect", "table")
_BINS = ("popularity", "age", "price", "category")
_MATCH = (
    "What the items of a pair have in common: popularity, age, price, category.  [default: popularity,age]"
)
_weights = numbers(float, "10,100")


@click.group(cls=Group)
def data() -> None:
    """Get, import and check data sets."""


@data.command("fetch")
@click.argument("name")
@option("--out", "Folder to write.  [default: that of ``reproduce``; of recexp, data/recexp]", PATH)
@force
@talk
def fetch(name: str, *, out: Path | None, force: bool) -> None:
    """Download the released files of the published study NAME, pinned by commit and SHA-256.

    A download that broke off goes on where it stopped. The study recexp is imported at once, since its files
    hold personal data.
    """
    begin()
    if name == "recexp":
        from metaeval.data.units import summary
        from metaeval.kinds.explanations.data.imports.recexp import fetch_recexp

        data_set = fetch_recexp(out or Path("data/recexp"), force=force)
        tell_made(data_set, [summary(data_set)])
        return
    from metaeval.study.published import FILES, RESULTS, fetch, source_of

    files = fetch(name, out or Path(RESULTS) / name / FILES)
    tell(f"{files}: {counted(len(source_of(name).files), 'file')}")
    tell(f"Next: metaeval reproduce {name}" + (f" --from {out}" if out else ""))
    tell_json({"folder": str(files)})


data.add_command(import_)


@data.command("add-scores")
@click.argument("folder", type=PLACE)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PLACE)
@option("--from tool", "The tool that wrote FILE; else table.", _TOOLS, required=True)
@option("--map map_file", "YAML file that maps the names in FILE to those of the data set.", PATH)
@option("--evaluator", "Evaluator's name, or a template such as '{provider} {prompt}'.")
@option("--out", "Write a new data set there; do not change FOLDER.", PATH)
@flag("--replace", "Replace evaluators that exist already.")
@force
@talk
def add_scores(folder: str, files: tuple[str, ...], **options: Any) -> None:
    """Add another tool's scores in FILE to the data set FOLDER, as Recorded('name')."""
    from metaeval.kinds.explanations.data.recorded import import_scores

    made = import_scores(folder, files, **options)
    for line in made.lines():
        tell(line)
    tell_json(made.to_dict())


@data.command("read-replies")
@click.argument("file", type=PATH)
@option("--column", "Column with the replies.", required=True)
@option("--aspect", "Aspect that all replies rate.")
@option("--aspect-column", "Column with the aspect of each reply.", metavar="COLUMN")
@scale_option("The lowest and the highest score, such as 1:5.", required=True)
@flag("--integer", "Only whole numbers were asked for.")
@option("--pattern", "Pattern by which to read them: a name of `metaeval replies patterns`, or RE2.")
@option("--out", "The file to write: .csv, .parquet or .jsonl.", PATH, required=True)
@talk
def read_replies(file: Path, *, aspect: str | None, aspect_column: str | None, out: Path, **how: Any) -> None:
    """Read scores from recorded replies of models, one per row of FILE (CSV, TSV, JSONL, Parquet)."""
    if (aspect is None) == (aspect_column is None):
        raise click.UsageError("give either --aspect or --aspect-column")
    begin()
    from metaeval.data.replies import read_replies as run
    from metaeval.data.replies import read_reply_table
    from metaeval.study.steps import check_writable, write_frame
    from metaeval.study.unread import unread_scores

    check_writable(out)
    scores = run(read_reply_table(file), aspect=aspect, aspect_column=aspect_column, **how)
    write_frame(scores, out)
    statuses = {str(status): int(n) for status, n in scores["status"].value_counts().items()}
    counts = [counted(len(scores), "reply"), *(f"{n:,} {status}" for status, n in statuses.items())]
    tell(f"{out}: {', '.join(counts)}")
    unread = unread_scores(file.name, scores, how["column"], how["scale"])
    if unread:
        warn(unread)
    tell_json({"file": str(out), "replies": len(scores), "statuses": statuses})


@data.command()
@click.argument("folder", type=PATH)
@talk
def check(folder: Path) -> None:
    """Check the data set FOLDER, row by row; exit with 1 if anything is wrong."""
    from metaeval.kinds.reading import inspect

    inspection = inspect(folder)
    for line in inspection.lines():
        tell(line)
    tell_json(inspection.to_dict())
    raise click.exceptions.Exit(1 if inspection.problems else 0)


@data.command()
@click.argument("place", metavar="DIR", type=PLACE)
@prints_sheets("study.overview:data_sheets")
def show() -> None:
    """Show what the data set DIR holds: counts, aspects, raters, texts, recorded scores, its first unit."""


@data.command()
@click.argument("folder", metavar="DIR", type=PATH)
@propensity_source
@refits
@resampled(2_000)
@prints_sheets()
def overlap(folder: Path, *, source: str | None, refits: int, resamples: int, seed: int) -> Sheets:
    """Report how far the log DIR covers all items: propensities, weights and balance, by bin."""
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.exposure.commands import overlap_report
    from metaeval.kinds.exposure.study import PropensityOptions

    options = PropensityOptions.model_validate({"source": source, "refits": refits, "seed": seed})
    return overlap_report(folder, options, Bootstrap(resamples=resamples, seed=seed))


def _names(given: str) -> list[str]:
    """Return names given with commas between them; each is one of ``_BINS``, and none comes twice."""
    names = [name.strip() for name in given.split(",")]
    if not {*names} <= {*_BINS} or len({*names}) < len(names):
        raise ValueError(f"{given!r} is not a list of some of {', '.join(_BINS)}, with commas")
    return names


@data.command()
@click.argument("folder", metavar="DIR", type=PATH)
@option("--match", _MATCH, metavar="BIN,BIN", read=_names)
@option("--per-user", "Most pairs per user.", click.IntRange(1), default=10)
@propensity_source
@option(
    "--floor",
    "Smallest propensity in weights of pairs.",
    click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
)
@seed
@force
@talk
def pairs(folder: Path, *, source: str | None, floor: float, seed: int, **how: Any) -> None:
    """Pair items of each user in the log DIR that share bins and differ in their outcomes."""
    begin()
    from metaeval.kinds.exposure.commands import make_pairs
    from metaeval.kinds.exposure.study import PropensityOptions

    options = PropensityOptions.model_validate({"source": source, "floor": floor, "seed": seed})
    made = make_pairs(folder, seed=seed, propensity=options, **how)
    for line in made.lines():
        tell(line)
    tell_json({"pairs": len(made.frame), "items": made.items, "unmatched": made.unmatched._asdict()})


@click.command("off-policy")
@click.argument("data", type=PLACE)
@several(
    "--policy policies",
    "Policy to evaluate: every item alike, a policy of DATA, or a table of probabilities by item and by "
    "whatever else they depend on; may be given again.",
    required=True,
    metavar="uniform|NAME|FILE",
)
@option(
    "--estimators",
    "Some of naive, direct, ips, snips, dr, sndr, switch-dr and dros, with commas.",
    default="naive,ips,snips,dr",
    read=words,
)
@option("--clip", "Also with weights of at most W.", default="", read=_weights, metavar="W,...")
@option("--trim", "Also without weights above W.", default="", read=_weights, metavar="W,...")
@option("--predictions", "Table of outcomes predicted by your own model.", PATH)
@option(
    "--on-policy", "Value that the policy had, or the data set of a log that it made.", metavar="VALUE|DATA"
)
@option(
    "--subsamples", "Bootstrap samples for errors against --on-policy.", click.IntRange(0, 10_000), default=0
)
@propensity_source
@refits
@flag("--force", "Also show refused values.")
@resampled()
@prints_sheets()
def off_policy(
    data: str,
    *,
    policies: tuple[str, ...],
    source: str | None,
    refits: int,
    resamples: int,
    seed: int,
    force: bool,
    predictions: Path | None,
    on_policy: str | None,
    **wanted: Any,
) -> Printed:
    """Estimate the mean outcome of a policy from the log in DATA and its propensities.

    If the log does not support a value, it is refused, with the reason.
    """
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.exposure.commands import off_policy_of
    from metaeval.kinds.exposure.off_policy.tables import values_lines
    from metaeval.kinds.exposure.study import OffPolicy, PropensityOptions
    from metaeval.runs.command import Printed

    options = PropensityOptions.model_validate({"source": source, "refits": refits, "seed": seed})
    how = Bootstrap(resamples=resamples, seed=seed)
    own = None if predictions is None else str(predictions)
    more = OffPolicy(**wanted), options, how
    sheets = off_policy_of(data, policies, *more, force=force, predictions=own, on_policy=on_policy)
    return Printed(sheets, first=[*values_lines(sheets[0].frame)])


@click.command()
@click.argument("data", type=PATH)
@click.argument("model", metavar="MODEL")
@option("--users", "Users to ask about.", click.IntRange(6), default=50)
@option("--shown shown_items", "Items of a user that are shown.", click.IntRange(1), default=5)
@option("--asked", "Items of a user that are asked for.", click.IntRange(1), default=10)
@option("--base-url base_url", "Address of a compatible server.", metavar="URL")
@seed
@sheet_options
@talk
def memory(data: Path, model: str, *, suffix: str, out: Path | None, **options: Any) -> None:
    """Say whether MODEL knows the collection DATA by heart: ask it for items of users that it is not shown.

    Each user costs two calls: one with the name of the data set and the user's number, one without.
    """
    begin()
    from metaeval.base.progress import progress
    from metaeval.base.simulation import Simulation
    from metaeval.judging.settings import judging
    from metaeval.kinds.relevance.data.loading import load
    from metaeval.kinds.relevance.memory import Recall

    collection, probe = load(data), Recall(model, **given_of(options))
    with progress("metaeval memory"), judging():
        found = probe.recalled(collection)
    simulated = Simulation.of(collection.simulated, {model: probe.signature(collection)})
    tell_simulated(simulated)
    sentence = found.sentence(model, collection.name)
    tell(sentence)
    names = ("named", "unnamed", "popular", "difference")
    shares = dict(zip(names, map(float, found.shares.value), strict=True))
    record = {"answer": sentence, "users": found.n_users, "unread": found.n_unread, **shares}
    record |= {"low": float(found.shares.low[3]), "high": float(found.shares.high[3])}
    tell_sheets([found.sheet(simulated)], suffix, out, record)
