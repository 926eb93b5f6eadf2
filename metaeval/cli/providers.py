"""``metaeval providers``: who answers judges, and which keys are set."""

from __future__ import annotations

import os

import click

from metaeval.cli.group import is_on, talk, tell_json


@click.command()
@talk
def providers() -> None:
    """List the providers of models: name, address, the variable of the key, and whether it is set."""
    from metaeval.base.errors import MetaevalError
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
    tell_json(found)
    if is_on("json"):
        return
    for one in found:
        state = "set" if one["key_is_set"] else "not set" if one["needs_key"] else "not set, not needed"
        key = f"{one['key_variable']} ({state})" if one["key_variable"] else "no key"
        problem = f"; {one['problem']}" if one["problem"] else ""
        click.echo(f"{one['name']:<22}{one['address'] or '(no address)':<58}{key}{problem}")
