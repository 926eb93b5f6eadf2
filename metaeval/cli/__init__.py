"""The command line: parse, call one function, print."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

import click

from metaeval.base import __version__
from metaeval.base.errors import MetaevalError, by_cause
from metaeval.cli.group import Group
from metaeval.cli.index import COMMANDS, GROUPS, SENTENCES
from metaeval.cli.messages import STOPPED, show
from metaeval.cli.options import flag

DONE, WRONG_INPUT, UNEXPECTED = 0, 2, 70
COMPLETE = "_METAEVAL_COMPLETE"
"""The variable by which a shell asks for completions; see `click.shell_completion`."""

_NO_DOCSTRINGS = (
    "Python runs without docstrings, of which the help and the figures are made; set PYTHONOPTIMIZE to 1 or "
    "not at all, and leave -OO out"
)
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(Group):
    """The commands, each of which is loaded when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all commands, in the order of the help."""
        return [words for words in COMMANDS if " " not in words]

    def headings(self, names: Iterable[str]) -> Mapping[str, Iterable[str]]:
        """Return the groups of the index."""
        return GROUPS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command; None if there is no such command."""
        if sys.flags.optimize > 1:
            raise MetaevalError(_NO_DOCSTRINGS)
        module = COMMANDS.get(cmd_name, ":")
        if ":" in module:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(import_module(f"metaeval.cli.{module}"), cmd_name.replace("-", "_"))
        return command


@click.group(cls=Commands, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="metaeval")
@flag("--quiet -q", "No progress bars and no messages.")
@flag("--json as_json", "Print the result as one JSON object.")
@click.pass_context
def cli(context: click.Context, quiet: bool, as_json: bool) -> None:
    """Find out which evaluators of explanations agree with the users' ratings."""
    context.obj = {"quiet": quiet, "json": as_json}


cli.declare(*(words for words in SENTENCES if " " not in words))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 done, 1 a check failed, 2 wrong input, 3 stopped early, 4 the gate is inconclusive, 70 an error of this
    program, whose traceback is in the file that the message names.
    """
    _prepare_streams()
    # Many small products and short-lived records: idle BLAS threads and early collections cost time alone.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(100_000)
    if instruction := os.environ.get(COMPLETE):
        # A shell asks for completions; click's own main, which this one replaces, would answer.
        from click.shell_completion import shell_complete

        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a traceback would lie over the line that is typed
        return shell_complete(cli, {}, "metaeval", COMPLETE, instruction)
    try:
        with cli.make_context("metaeval", list(sys.argv[1:] if arguments is None else arguments)) as context:
            cli.invoke(context)
        sys.stdout.flush()
        code = DONE
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except SystemExit:
        code = _say("code of someone else called sys.exit, which ends no command; leave it out", WRONG_INPUT)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        code = WRONG_INPUT
    except click.ClickException as error:
        code = _say(error.format_message(), WRONG_INPUT)
    except MetaevalError as error:
        several = len(error.problems) > 1 and not error.listed_by
        for line in by_cause(error.problems) if several else [str(error)]:
            code = _say(line, error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        code = _say("interrupted; nothing half-written is left", STOPPED)
    except BrokenPipeError:
        # The reader closed the pipe; Python must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
    except MemoryError:
        code = _say("not enough memory; give fewer units or evaluators at a time", WRONG_INPUT)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        code = _say(f"{where}{error.strerror or error}", WRONG_INPUT)
    except BaseException as error:  # noqa: BLE001 - the one place for what nobody foresaw
        with tempfile.NamedTemporaryFile(
            "w", prefix="metaeval-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            traceback.print_exception(error, file=file)
        message = f"unexpected {type(error).__name__}: {error}; what was finished is kept, and the traceback"
        code = _say(f"{message} is in {file.name}", UNEXPECTED)
    return code


def _prepare_streams() -> None:
    """Let printing not fail where a terminal lacks a letter, or where a stream is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _say(message: str, code: int) -> int:
    show(f"metaeval: {' '.join(message.split())}", err=True)
    return code
