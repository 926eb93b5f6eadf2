"""``metaeval providers``: providers of models, and which keys are set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from metaeval.cli.group import talk
from metaeval.cli.sheets import sheet_options, tell_sheets

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@click.command()
@sheet_options
@talk
def providers(suffix: str, out: Path | None) -> None:
    """List the providers of models: name, address, the key's variable, and whether it is set."""
    import pandas as pd

    from metaeval.base.errors import MetaevalError
    from metaeval.engine.sheet import Column, Sheet
    from metaeval.llm.providers import Provider, address_of, provider_named, provider_names

    found = []
    for name in provider_names():
        provider, address, problem = Provider("", ""), "", ""
        try:
            provider = provider_named(name)
            address = address_of(name)
        except MetaevalError as error:
            problem = str(error)
        found.append(
            {
                "name": name,
                "address": address,
                "address_variable": provider.address_variable,
                "key_variable": provider.key_variable,
                "needs_key": provider.needs_key,
                "key_is_set": bool(os.environ.get(provider.key_variable, "").strip()),
                "problem": problem,
            }
        )
    frame = pd.DataFrame(
        [(one["name"], one["address"] or "(no address)", _key(one), one["problem"]) for one in found],
        columns=["name", "address", "key", "problem"],
    )
    columns = tuple(Column(name, name) for name in ("name", "address", "key"))
    notes = tuple(f"{one['problem']}." for one in found if one["problem"])
    sheet = Sheet("providers", "Providers", frame, columns, notes)
    tell_sheets([sheet], suffix, out, found)


def _key(one: Mapping[str, Any]) -> str:
    if not one["key_variable"]:
        return "no key"
    state = "set" if one["key_is_set"] else "not set" if one["needs_key"] else "not set, not needed"
    return f"{one['key_variable']} ({state})"
