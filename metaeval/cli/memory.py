"""``metaeval memory``: whether a model knows a public data set by heart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.cli.messages import begin, talk, tell, tell_simulated
from metaeval.cli.options import PATH, given_of, option, seed
from metaeval.cli.sheets import sheet_options, tell_sheets


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
