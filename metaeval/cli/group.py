"""Groups of commands, which load a command when it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import click
from click.shell_completion import CompletionItem

from metaeval.base.errors import unknown
from metaeval.cli.index import SENTENCES

_SENTENCE = 1000  # characters: no summary is cut


class Declared(click.Command):
    """Stands for a command of `SENTENCES` that is not loaded yet."""

    def __init__(self, words: str) -> None:
        super().__init__(words.rsplit(maxsplit=1)[-1], short_help=SENTENCES[words])
        self.words = words


class Group(click.Group):
    """A group that suggests the nearest command for an unknown one, and keeps their order."""

    def declare(self, *commands: str) -> None:
        """Add commands of `SENTENCES`, which are loaded when they are needed."""
        for words in commands:
            self.add_command(Declared(words))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is no such command."""
        found = super().get_command(ctx, cmd_name)
        if isinstance(found, Declared):
            from metaeval.cli.frame import command_of

            return command_of(found.words)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with."""
        name = str(args[0]) if args else ""
        asked = name and not name.startswith("-") and not ctx.resilient_parsing  # a shell only completes
        if asked and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            ctx.fail(unknown("unknown command", name, known, "commands"))
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they were added."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its whole first sentence, which click would cut at the end of the line."""
        said = self._sentences(ctx)
        for heading, names in self.headings(said).items():
            with formatter.section(heading):
                formatter.write_dl([(name, said[name]) for name in names if name in said])

    def headings(self, names: Iterable[str]) -> Mapping[str, Iterable[str]]:
        """Return what stands above which commands in the help."""
        return {"Commands": names}

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands, without loading those that are declared."""
        told = self._sentences(ctx).items()
        commands = [CompletionItem(name, help=said) for name, said in told if name.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def _sentences(self, ctx: click.Context) -> dict[str, str]:
        """Return the first sentence of each command."""
        listed = (
            (name, self.commands.get(name) or self.get_command(ctx, name)) for name in self.list_commands(ctx)
        )
        return {name: command.get_short_help_str(limit=_SENTENCE) for name, command in listed if command}
