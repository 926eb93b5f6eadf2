"""MCP: commands as tools, run folders as resources, within one folder and one budget.

A call runs the command in a process of its own, so that nothing that it prints is taken for the protocol.
"""

from __future__ import annotations

import ast
import json
import os
import secrets
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

import click

from metaeval.base import __version__
from metaeval.base.errors import MetaevalError, RunFolderError, needed, one_of
from metaeval.base.files import bundled
from metaeval.base.yaml_lines import YamlError, read_yaml
from metaeval.runs.folder import RECORD, read_output, read_record

if TYPE_CHECKING:
    from mcp.server import Server

TOOLS = ("init", "run", "runs", "leaderboard", "compare", "audit", "choose", "details", "unit")
"""The commands that are tools."""
_SCHEME = "metaeval:///"
_TABLES = {"out", "format"}
_OF_SERVER = {
    "init": {"yes"},
    "run": {"batch", "wait", "engine", "workers", "address", "max-usd", "study-id"},
    "choose": {*_TABLES, "open"},
}
"""Command → options that are the server's, or a person's; of another, those that write over files."""
_EVERYWHERE = {"help", "quiet", "wide"}
_NO_LIMIT = ("batch", "prices", "store")
"""Keys of a study's `judging` with which the server's budget would not hold."""
_RUNS_CODE = ("python", "HF")
"""Evaluators whose code is in a file or on the hub."""
_TEXTS = {".csv": "text/csv", ".html": "text/html", ".json": "application/json", ".md": "text/markdown"}
_MEANING = {0: "", 1: "Exit code 1: a check did not hold.", 4: "Exit code 4: too few units to tell."}
"""Exit codes of results; the others are of errors."""


def options_of(command: click.Command, name: str) -> dict[str, click.Parameter]:
    """Return the arguments and options that a tool has, by the names that a caller gives them."""
    called = {
        p.name if isinstance(p, click.Argument) else max(p.opts, key=len).removeprefix("--"): p
        for p in command.params
    }
    left_out = _EVERYWHERE | _OF_SERVER.get(name, _TABLES)
    return {str(own).replace("-", "_"): p for own, p in called.items() if own not in left_out}


def schema_of(options: Mapping[str, click.Parameter]) -> dict[str, Any]:
    """Return the JSON Schema of what a tool takes."""
    return {
        "type": "object",
        "properties": {name: _property(option) for name, option in options.items()},
        "required": [name for name, option in options.items() if option.required],
        "additionalProperties": False,
    }


def _property(option: click.Parameter) -> dict[str, Any]:
    kind, about = option.type, getattr(option, "help", None) or str(option.metavar or "")
    found: dict[str, Any] = {"type": "string"}
    if isinstance(kind, click.Choice):
        found |= {"enum": [*kind.choices]}
    elif getattr(option, "is_flag", False):
        found = {"type": "boolean"}
    elif kind.name.startswith(("integer", "float")):
        found = {"type": "integer" if kind.name.startswith("integer") else "number"}
        ends = {"minimum": getattr(kind, "min", None), "maximum": getattr(kind, "max", None)}
        found |= {end: value for end, value in ends.items() if value is not None}
    if option.nargs != 1 or getattr(option, "multiple", False):
        found = {"type": "array", "items": found}
    return found | ({"description": about} if about else {})


def words_of(options: Mapping[str, click.Parameter], given: Mapping[str, Any]) -> list[str]:
    """Return the words by which options are typed; `MetaevalError` if there is no such option."""
    typed, places = [], []
    for name, value in given.items():
        option, values = (
            options[one_of(name, options, "unknown option", "options")],
            value if isinstance(value, list) else [value],
        )
        if isinstance(option, click.Argument):
            places += values
        elif getattr(option, "is_flag", False):
            typed += [max(option.opts, key=len)] * bool(value)
        elif option.nargs != 1:
            typed += [max(option.opts, key=len), *values]
        else:
            typed += [f"{max(option.opts, key=len)}={one}" for one in values]
    return [*map(str, typed), "--", *map(str, places)]


@dataclass(frozen=True)
class Root:
    """A folder, outside of which nothing is read or written."""

    root: Path
    """With symbolic links resolved."""

    def check(self, text: str) -> None:
        """Raise `MetaevalError` if a text is a path that leads out of the folder, links resolved."""
        for part in _paths_in(text):
            self._check(self.root / part, text)

    def check_study(self, file: str) -> None:
        """Raise `MetaevalError` if a study names a place outside, runs code, or escapes the budget."""
        path = self.root / file
        try:
            study, _ = read_yaml(path)
        except YamlError as error:
            raise MetaevalError(str(error)) from error
        for text in _strings(study):
            if any(f"{name}(" == text for name in _RUNS_CODE):
                raise MetaevalError(
                    f"{file} runs the code of {text}…), which this server does not; run it yourself"
                )
            for part in _paths_in(text):
                # Where a study looks for what it names: the first place counts, and each that is above.
                places = (path.parent / part, self.root / part, path.parent.parent / part)
                there = [place for place in places if os.path.exists(place)]  # noqa: PTH110 - any text
                for place in there if ".." in Path(part).parts else there[:1]:
                    self._check(place, text)
        judging = study.get("judging") if isinstance(study, dict) else None
        if named := [key for key in _NO_LIMIT if isinstance(judging, dict) and key in judging]:
            raise MetaevalError(
                f"{file} sets judging.{named[0]}, with which this server could not keep its limit; leave it "
                "out, or run it yourself"
            )

    def runs(self) -> Iterator[Path]:
        """Yield the run folders, down to three levels."""
        for deep in ("*", "*/*", "*/*/*"):
            for record in sorted(self.root.glob(f"{deep}/{RECORD}")):
                if self._has(record):
                    yield record.parent

    def file(self, uri: str) -> tuple[Path, str]:
        """Return the run folder and the file in it that a resource is; `MetaevalError` if it is none."""
        name = unquote(uri.removeprefix(_SCHEME))
        self.check(name)
        for run in self.runs():
            if uri.startswith(_SCHEME) and (self.root / name).parent == run:
                return run, Path(name).name
        raise MetaevalError(f"{uri} is no file of a run below {self.root}")

    def _check(self, path: Path, text: str) -> None:
        linked = path.rglob("*") if self._has(path) and os.path.isdir(path) else ()  # noqa: PTH112 - any text
        if not all(map(self._has, [path, *(one for one in linked if one.is_symlink())])):
            raise MetaevalError(f"{text} leads out of {self.root}, the folder of this server")

    def _has(self, path: Path) -> bool:
        try:
            return Path(os.path.realpath(path)).is_relative_to(self.root)
        except ValueError:  # a zero byte
            return False


def _paths_in(text: str) -> set[str]:
    """Return a text, and what may be a path in it: before a workbook's sheet, or the name of a function."""
    parts = {text, text.partition("#")[0], text.rpartition(":")[0]} - {""}
    return {os.path.expanduser(part) for part in parts}  # noqa: PTH111 - of users that there are


def _strings(value: object) -> Iterator[str]:
    """Yield the texts in what a study says, those in specs of evaluators too, and ``NAME(`` of these."""
    if isinstance(value, Mapping):
        yield from _strings([*value.keys(), *value.values()])
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
    elif isinstance(value, str):
        yield value
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(value.strip(), mode="eval")
        except (SyntaxError, ValueError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield f"{node.func.id}("


class Done(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> list[str]:
        """What it printed, its messages, and what its exit code means."""
        parts = (self.out, self.err, _MEANING.get(self.code, f"Exit code {self.code}."))
        return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True)
class Tools:
    """The commands, within a folder and a budget."""

    commands: Mapping[str, click.Command]
    within: Root
    max_usd: float
    session: str
    """The name under which all runs share the budget."""

    @classmethod
    def here(cls, commands: Mapping[str, click.Command], max_usd: float) -> Tools:
        """Return the tools of a new session in this folder."""
        return cls(commands, Root(Path.cwd().resolve()), max_usd, f"mcp-{secrets.token_hex(6)}")

    async def call(self, name: str, given: Mapping[str, Any]) -> Done:
        """Run a command, unless it would leave the folder or the budget; `MetaevalError` says so."""
        one_of(name, self.commands, "there is no tool", "there are")
        words = words_of(options_of(self.commands[name], name), given)
        for value in given.values():
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and not text.startswith("hf://"):
                    self.within.check(text)
        if name == "init":
            return await self._typed("init", "--yes", *words)
        if name != "run" or "study" not in given:
            return await self._typed(name, *words)
        self.within.check_study(str(given["study"]))
        self.within.check(str(given.get("out") or "results"))
        if not given.get("dry_run") and not given.get("offline"):
            planned = await self._typed("run", "--dry-run", "--json", *words)
            self._check_cost(json.loads(planned.out or "{}").get("judges", ()))
            if planned.code:
                return planned
        budget = [f"--max-usd={self.max_usd}", f"--study-id={self.session}"] * (not given.get("dry_run"))
        return await self._typed("run", *budget, *words)

    def _check_cost(self, judges: Sequence[Mapping[str, Any]]) -> None:
        """Raise `MetaevalError` if what judges are likely to cost is too much, or is not known."""
        asked = [one for one in judges if one["requests"] > one["shared"] + one["in_store"]]
        if unknown := [one["model"] or one["judge"] for one in asked if one["usd"] is None]:
            raise MetaevalError(
                f"what {unknown[0]} costs at most is not known (price, or `max_tokens`), so that this server "
                "could not keep its limit; run it yourself"
            )
        if (likely := sum(one["usd_likely"] for one in asked)) > self.max_usd:
            raise MetaevalError(
                f"models would be paid about {likely:.2g} USD for this run, and this server may spend "
                f"{self.max_usd:g} USD in all; who started it can allow more: `metaeval mcp --max-usd`"
            )

    async def _typed(self, *words: str) -> Done:
        from anyio import run_process

        command = [sys.executable, "-m", "metaeval", *words]
        done = await run_process(
            command,
            cwd=self.within.root,
            stdin=subprocess.DEVNULL,
            check=False,
            env=os.environ | {"COLUMNS": "120"},
        )
        return Done(done.returncode, *(text.decode(errors="replace") for text in (done.stdout, done.stderr)))


def server_of(tools: Tools) -> Server[Any]:
    """Return the server, whatever it is connected to; `MissingExtraError` without the library mcp."""
    server = needed("mcp.server", "`metaeval mcp`", "mcp").Server
    types = needed("mcp_types", "`metaeval mcp`", "mcp")

    async def list_tools(*_: object) -> Any:  # noqa: ANN401 - types of an optional library, as below
        made = []
        for name, command in tools.commands.items():
            schema = schema_of(options_of(command, name))
            about = " ".join((command.help or "").split())
            made.append(types.Tool(name=name, description=about, input_schema=schema))
        return types.ListToolsResult(tools=made)

    async def call_tool(_: object, asked: Any) -> Any:  # noqa: ANN401
        try:
            done = await tools.call(asked.name, asked.arguments or {})
        except MetaevalError as error:
            done = Done(error.exit_code, "", f"metaeval: {error}")
        said = [types.TextContent(text=text) for text in done.said]
        return types.CallToolResult(content=said, is_error=done.code not in _MEANING)

    async def list_resources(*_: object) -> Any:  # noqa: ANN401
        made = []
        for run in tools.within.runs():
            try:
                outputs = read_record(run).outputs
            except RunFolderError:  # `metaeval runs` says why
                continue
            for name in (RECORD, *outputs):
                if kind := _TEXTS.get(Path(name).suffix):
                    place = (run / name).relative_to(tools.within.root).as_posix()
                    made.append(types.Resource(name=place, uri=f"{_SCHEME}{quote(place)}", mime_type=kind))
        return types.ListResourcesResult(resources=made)

    async def read_resource(_: object, asked: Any) -> Any:  # noqa: ANN401
        try:
            run, name = tools.within.file(asked.uri)
            file = run / name if name == RECORD else read_output(run, name)
            text = file.read_text(encoding="utf-8")
        except (MetaevalError, UnicodeDecodeError) as error:
            raise needed("mcp", "", "mcp").MCPError(types.INVALID_PARAMS, str(error)) from error
        content = types.TextResourceContents(uri=asked.uri, text=text, mime_type=_TEXTS.get(file.suffix))
        return types.ReadResourceResult(contents=[content])

    made: Server[Any] = server(
        "metaeval",
        version=__version__,
        instructions=bundled("skills/metaeval/SKILL.md").read_text(encoding="utf-8").split("---\n", 2)[-1],
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
    return made


def serve(server: Server[Any]) -> None:
    """Serve over stdin and stdout, until stdin is closed."""
    stdio = needed("mcp.server.stdio", "`metaeval mcp`", "mcp")

    async def serving() -> None:
        async with stdio.stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    needed("anyio", "`metaeval mcp`", "mcp").run(serving)
