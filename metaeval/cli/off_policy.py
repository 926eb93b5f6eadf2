"""``metaeval off-policy``: the mean outcome of a policy, from a log."""

from __future__ import annotations

from typing import Any

import click

from metaeval.cli.options import PLACE, propensity_source, refits, resampled, several
from metaeval.cli.sheets import Sheets, prints_sheets


def _words(context: click.Context, parameter: click.Parameter, text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(context: click.Context, parameter: click.Parameter, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",") if word.strip()]
    except ValueError:
        message = f"{text!r} is not a list of numbers, such as 10,100"
        raise click.BadParameter(message, context, parameter) from None


@click.command("off-policy")
@click.argument("data", type=PLACE)
@several(
    "--policy",
    "policies",
    required=True,
    metavar="uniform|NAME|FILE",
    help="Policy to evaluate: every item alike, a policy of DATA, or a table of item_id, probability and, "
    "optionally, position and user_id; may be given again.",
)
@click.option(
    "--estimators",
    callback=_words,
    default="naive,ips,snips,dr",
    show_default=True,
    help="Some of naive, direct, ips, snips, dr, switch-dr and dros, with commas.",
)
@click.option(
    "--clip", callback=_numbers, default="", metavar="W,...", help="Also with weights of at most W."
)
@click.option("--trim", callback=_numbers, default="", metavar="W,...", help="Also without weights above W.")
@propensity_source
@refits
@click.option("--force", is_flag=True, help="Also show refused values.")
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
    **wanted: Any,
) -> Sheets:
    """Estimate the mean outcome of a policy from the log in DATA and its propensities.

    If the log does not support a value, it is refused, with the reason.
    """
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.exposure.off_policy.evaluation import OffPolicy
    from metaeval.kinds.exposure.off_policy.report import off_policy_of
    from metaeval.kinds.exposure.propensity.options import PropensityOptions

    options = PropensityOptions.model_validate({"source": source, "refits": refits, "seed": seed})
    how = Bootstrap(resamples=resamples, seed=seed)
    return off_policy_of(data, policies, OffPolicy(**wanted), options, how, force=force)
