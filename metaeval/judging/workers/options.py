"""How many workers ask for a run, and where they run."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from metaeval.base.engines import ENGINES, RAY
from metaeval.base.errors import MetaevalError, MissingExtraError, one_of
from metaeval.base.validation import Line, Options
from metaeval.llm.store.address import is_address

if TYPE_CHECKING:
    from metaeval.judging.settings import JudgingOptions


class Workers(Options):
    """The workers of a run.

    Parameters
    ----------
    workers
        How many; as many as the cluster has CPUs, or GPUs if they run the models, if left out.
    address
        Of a Ray cluster; one on this machine is started for the run, if left out.
    """

    workers: Annotated[int | None, Field(ge=1, le=10_000, description="a whole number from 1 to 10,000")] = (
        None
    )
    address: Annotated[Line | None, Field(description="that of a Ray cluster, such as 10.0.0.1:6379")] = None

    @property
    def flags(self) -> list[str]:
        """The options of the command line that say so."""
        number = [] if self.workers is None else ["--workers", str(self.workers)]
        return ["--engine", RAY, *number, *(["--address", self.address] if self.address else [])]


def workers_of(
    judging: JudgingOptions, engine: str | None, workers: int | None = None, address: str | None = None
) -> Workers | None:
    """Return the workers that are asked for; None if this process asks.

    Raises
    ------
    MetaevalError
        If they cannot ask for a study with these options of ``judging``.
    """
    given = Workers(workers=workers, address=address)
    if engine is not None:
        one_of(engine, ENGINES, "there is no engine", "engines")
    if engine != RAY:
        if workers is not None or address is not None:
            raise MetaevalError(f"workers and address are for engine {RAY!r}; name it too, or leave them out")
        return None
    if judging.batch:
        raise MetaevalError(f"judges are asked by batches or by engine {RAY!r}, not by both; leave one out")
    if address is not None:
        check_shared(judging, f"the Ray cluster at {address}")
    if find_spec("ray") is None:
        raise MissingExtraError(f"engine {RAY!r}", "ray")
    return given


def check_shared(judging: JudgingOptions, where: str) -> None:
    """Raise `MetaevalError` unless workers on several machines can use the store."""
    place = judging.place.name
    if not is_address(place):
        raise MetaevalError(
            f"the workers of {where} cannot share the file {place}; name a database as the store, in "
            f"judging: {{store: postgresql://…}} or in METAEVAL_STORE"
        )
