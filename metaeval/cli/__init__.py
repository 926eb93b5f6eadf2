"""The command line: parse, call one function, print."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from metaeval import __version__
from metaeval.base.errors import MetaevalError
from metaeval.cli.group import Group

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE, WRONG_INPUT, STOPPED = 0, 2, 3
COMPLETE = "_METAEVAL_COMPLETE"
"""The variable by which a shell asks for completions; see `click.shell_completion`."""

_MODULES = {
    "demo": "run",
    "init": "init",
    "run": "run",
    "score": "steps",
    "correlate": "steps",
    "leaderboard": "leaderboard",
    "details": "details",
    "ensembles": "ensembles",
    "generators": "generators",
    "power": "power",
    "compare": "compare",
    "figures": "figures",
    "view": "view",
    "site": "site",
    "golden": "golden",
    "calibrate": "calibrate",
    "biases": "biases",
    "pairwise": "pairwise",
    "verdicts": "verdicts",
    "disagreements": "disagreements",
    "off-policy": "off_policy",
    "loop": "loop",
    "gate": "gate",
    "reparse": "run",
    "runs": "overview",
    "evaluators": "overview",
    "data": "data",
    "prompts": "prompts",
    "store": "store",
    "providers": "providers",
}
"""Command → the module of this package that has it, in the order of the help."""
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(Group):
    """The commands, each of which is loaded when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all commands, in the order of the help."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command; None if there is no such command."""
        if cmd_name not in _MODULES:
            return None
        command: click.Command = getattr(
            import_module(f"metaeval.cli.{_MODULES[cmd_name]}"), cmd_name.replace("-", "_")
        )
        return command


@click.group(cls=Commands, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="metaeval")
@click.option("--quiet", "-q", is_flag=True, help="No progress bars and no messages.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_context
def cli(context: click.Context, quiet: bool, as_json: bool) -> None:
    """Find out which evaluators of explanations agree with the users' ratings."""
    context.obj = {"quiet": quiet, "json": as_json}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 done, 1 a check failed, 2 wrong input, 3 stopped early, 4 the gate is inconclusive.
    """
    # Many small products and short-lived records: idle BLAS threads and early collections cost time alone.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(100_000)
    if asked := os.environ.get(COMPLETE):
        # A shell asks for completions; click's own main, which this one replaces, would answer.
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, "metaeval", COMPLETE, asked)
    try:
        with cli.make_context("metaeval", list(sys.argv[1:] if arguments is None else arguments)) as context:
            cli.invoke(context)
        sys.stdout.flush()
        code = DONE
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else DONE
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        code = WRONG_INPUT
    except click.ClickException as error:
        code = _say(error.format_message(), WRONG_INPUT)
    except MetaevalError as error:
        listed = error.problems if len(error.problems) > 1 and not error.listed_by else [error]
        for problem in listed:
            code = _say(str(problem), error.exit_code)
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
    return code


def _say(message: str, code: int) -> int:
    print(f"metaeval: {' '.join(message.split())}", file=sys.stderr)
    return code
