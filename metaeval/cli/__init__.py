"""The command line: parse, call one function, print."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

import click

from metaeval import __version__
from metaeval.base.errors import MetaevalError
from metaeval.cli.biases import biases
from metaeval.cli.calibrate import calibrate
from metaeval.cli.compare import compare
from metaeval.cli.data import data
from metaeval.cli.details import details
from metaeval.cli.disagreements import disagreements
from metaeval.cli.ensembles import ensembles
from metaeval.cli.figures import figures
from metaeval.cli.gate import gate
from metaeval.cli.generators import generators
from metaeval.cli.golden import golden
from metaeval.cli.group import Group
from metaeval.cli.leaderboard import leaderboard
from metaeval.cli.pairwise import pairwise
from metaeval.cli.power import power
from metaeval.cli.prompts import prompts
from metaeval.cli.run import demo, reparse, run
from metaeval.cli.steps import correlate, score
from metaeval.cli.store import store
from metaeval.cli.verdicts import verdicts
from metaeval.cli.view import view

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE, WRONG_INPUT, STOPPED = 0, 2, 3
COMPLETE = "_METAEVAL_COMPLETE"
"""The variable in which a shell says what it wants to know; see `click.shell_completion`."""

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Group, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="metaeval")
@click.option("--quiet", "-q", is_flag=True, help="No progress bars and no messages.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_context
def cli(context: click.Context, quiet: bool, as_json: bool) -> None:
    """Find out which scores of explanations agree with the people they were written for."""
    context.obj = {"quiet": quiet, "json": as_json}


for command in (
    demo,
    run,
    score,
    correlate,
    leaderboard,
    details,
    ensembles,
    generators,
    power,
    compare,
    figures,
    view,
    golden,
    calibrate,
    biases,
    pairwise,
    verdicts,
    disagreements,
    gate,
    reparse,
    data,
    prompts,
    store,
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 done, 1 a check failed, 2 wrong input, 3 stopped early, 4 the gate is inconclusive.
    """
    # Many small products and short-lived records: idle BLAS threads and early collections cost time alone.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(100_000)
    if asked := os.environ.get(COMPLETE):
        # A shell asks what may come next; click would answer in a main of its own, which this one replaces.
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
        # Whoever read the output has enough of it; Python must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
    except MemoryError:
        code = _say("this takes more memory than there is; give less at a time", WRONG_INPUT)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        code = _say(f"{where}{error.strerror or error}", WRONG_INPUT)
    return code


def _say(message: str, code: int) -> int:
    print(f"metaeval: {' '.join(message.split())}", file=sys.stderr)
    return code
