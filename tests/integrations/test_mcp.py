"""The MCP server, by the client of the SDK over stdio: from a table to one unit, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.cli import cli
from metaeval.integrations.mcp_server import TOOLS, Root, options_of, schema_of, words_of
from tests.conftest import ROOT

pytest.importorskip("mcp")

COLUMNS = ["gpt score=tool:gpt", "helpful by anna=rating", "clear by anna=rating"]
PAID = "dataset: ratings/data\nevaluators: [\"Judge('openai/gpt-5-mini')\"]\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (here := tmp_path / "here").mkdir()
    shutil.copy(ROOT / "docs" / "examples" / "ratings.csv", here)
    shutil.copy(ROOT / "docs" / "examples" / "ratings.csv", tmp_path / "outside.csv")
    (here / "link.csv").symlink_to(tmp_path / "outside.csv")
    (here / "linked").symlink_to(tmp_path)
    return here


@asynccontextmanager
async def connected(place: Path, *words: str) -> AsyncIterator[Any]:
    from mcp import StdioServerParameters
    from mcp.client.client import Client
    from mcp.client.stdio import stdio_client

    env = {**os.environ, "PYTHONPATH": str(ROOT), "METAEVAL_STORE": str(place / "replies.sqlite")}
    env["OPENAI_API_KEY"], env["HTTPS_PROXY"] = "sk-of-a-test", "http://127.0.0.1:9"  # nobody is there
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "metaeval", "mcp", *words], cwd=place, env=env
    )
    async with Client(stdio_client(server)) as client:
        yield client


def session(place: Path, talk: Callable[[Any], Awaitable[None]], *words: str) -> None:
    async def whole() -> None:
        async with connected(place, *words) as client:
            await talk(client)

    asyncio.run(whole())


async def said(client: Any, tool: str, *, error: bool = False, **arguments: Any) -> str:
    done = await client.call_tool(tool, arguments)
    text = "\n\n".join(one.text for one in done.content)
    assert done.is_error == error, text
    return text


def test_a_session_goes_from_a_table_to_one_unit(place: Path) -> None:
    async def talk(client: Any) -> None:
        assert "Ask a person first" in client.instructions
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tuple(tools) == TOOLS
        assert "add --column" in await said(client, "init", error=True, tables=["ratings.csv"])
        assert "Wrote ratings" in await said(client, "init", tables=["ratings.csv"], column=COLUMNS)
        planned = await said(client, "run", study="ratings/study.yaml", dry_run=True)
        assert "96 units" in planned
        assert not (place / "results").exists()
        assert "BLEU-4 agrees best" in await said(client, "run", study="ratings/study.yaml")
        assert "Finished already" in await said(client, "run", study="ratings/study.yaml")
        assert "BLEU-4" in await said(client, "leaderboard", folders=["results/ratings"])
        audit = await said(client, "audit", runs=["results/ratings"], judge=["Recorded('gpt')"], use="gate")
        assert audit.startswith("gpt: must not serve as a gate")
        assert "Exit code 1: a check did not hold." in audit
        unit = {"run": "results/ratings", "key": ["user_id=u01", "item_id=Salt"]}
        assert "popular" in await said(client, "unit", **unit, evaluator="gpt")
        unit["key"] = [*unit["key"], "generator=aspects"]
        assert "Chosen for the quiet camera" in await said(client, "unit", **unit)
        uris = [str(one.uri) for one in (await client.list_resources()).resources]
        assert "metaeval:///results/ratings/answer.json" in uris
        answer = await client.read_resource("metaeval:///results/ratings/answer.json")
        assert "BLEU-4 agrees best" in answer.contents[0].text

    session(place, talk)


def test_it_stays_in_its_folder(place: Path) -> None:
    from mcp import MCPError

    (place / "outside.yaml").write_text("dataset: ../here/../data\nevaluators: ['Length()']\n")
    (place.parent / "data").mkdir()
    (place / "prompt.yaml").write_text(PAID.replace("mini'", f"mini', prompt='{place.parent}/outside.csv'"))
    (place / "code.yaml").write_text("dataset: nowhere\nevaluators: {x: \"python('own.py:f')\"}\n")
    (place / "store.yaml").write_text(f"{PAID}judging: {{store: replies.sqlite}}\n")

    async def talk(client: Any) -> None:
        for table in ("../outside.csv", str(place.parent / "outside.csv"), "link.csv", "linked/outside.csv"):
            assert "leads out of" in await said(client, "init", error=True, tables=[table])
        assert "leads out of" in await said(client, "init", error=True, tables=["ratings.csv"], out="../x")
        for study in ("outside.yaml", "prompt.yaml"):
            assert "leads out of" in await said(client, "run", error=True, study=study)
        assert "runs the code of python(" in await said(client, "run", error=True, study="code.yaml")
        assert "sets judging.store" in await said(client, "run", error=True, study="store.yaml")
        assert "unknown option 'max_usd'" in await said(client, "run", error=True, study="a", max_usd=5)
        for uri in ("metaeval:///../outside.csv", "metaeval:///ratings.csv", "file:///etc/passwd"):
            with pytest.raises(MCPError, match=r"leads out of|is no file of a run"):
                await client.read_resource(uri)

    session(place, talk)


def test_it_spends_what_it_may(place: Path) -> None:
    (place / "paid.yaml").write_text(PAID)
    (place / "unknown.yaml").write_text(PAID.replace("gpt-5-mini", "no-such-model"))
    (place / "simulated.yaml").write_text(PAID.replace("openai/gpt-5-mini", "simulated/a"))

    async def free(client: Any) -> None:
        await said(client, "init", tables=["ratings.csv"], column=COLUMNS)
        assert "likely" in await said(client, "run", study="paid.yaml", dry_run=True)
        refused = await said(client, "run", error=True, study="paid.yaml")
        assert "this server may spend 0 USD in all" in refused
        assert "is not known" in await said(client, "run", error=True, study="unknown.yaml")
        assert not (place / "results").exists()
        assert "Report: results/simulated/report.html" in await said(client, "run", study="simulated.yaml")
        asked = {"run": "results/simulated", "key": ["user_id=u01", "item_id=Salt", "generator=aspects"]}
        unit = json.loads((await client.call_tool("unit", {**asked, "json": True})).content[0].text)
        assert "user: " in unit["calls"][0]["prompt"]
        assert unit["calls"][0]["reply"]

    async def paying(client: Any) -> None:
        # It is let through, and asks: nobody answers at the address.
        assert "answers no call" in await said(client, "run", error=True, study="paid.yaml")

    session(place, free)
    session(place, paying, "--max-usd", "3")


def commands() -> dict[str, click.Command]:
    context = click.Context(cli)
    return {name: command for name in TOOLS if (command := cli.get_command(context, name))}


def test_a_tool_takes_what_its_command_takes() -> None:
    schemas = {name: schema_of(options_of(command, name)) for name, command in commands().items()}
    audit = schemas["audit"]["properties"]
    assert audit["use"]["enum"] == ["gate", "leaderboard", "replace", "labels"]
    assert (audit["resamples"]["minimum"], audit["resamples"]["maximum"]) == (1, 10_000_000)
    assert audit["judge"] | {"description": ""} == {
        "type": "array",
        "items": {"type": "string"},
        "description": "",
    }
    assert schemas["run"]["required"] == ["study"]
    assert not {"max_usd", "engine", "address"} & {*schemas["run"]["properties"]}
    assert "open" not in schemas["choose"]["properties"]


@given(st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_no_value_is_taken_for_an_option(text: str) -> None:
    command = commands()["unit"]
    words = words_of(options_of(command, "unit"), {"run": text, "key": [text], "n": 3, "json": True})
    context = command.make_context("unit", words, resilient_parsing=False)
    assert (context.params["run"], context.params["keys"], context.params["n"]) == (Path(text), (text,), 3)


@pytest.mark.parametrize("text", ["a\0b", "/" * 5_000, "~root/x", "x" * 5_000, "a/../../b", "out.xlsx#1"])
def test_any_text_is_inside_or_refused(tmp_path: Path, text: str) -> None:
    (tmp_path.resolve() / "in").mkdir()
    (tmp_path / "in" / "out.xlsx").symlink_to(tmp_path / "elsewhere")
    within = Root((tmp_path / "in").resolve())
    if text.startswith("xxx"):
        within.check(text)
    else:
        with pytest.raises(MetaevalError, match="leads out of"):
            within.check(text)
