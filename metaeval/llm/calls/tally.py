"""What a run has done so far: requests sent, found and lost, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaeval.llm.calls.caller import ModelAt
    from metaeval.llm.calls.request import FailureKind


@dataclass(slots=True)
class Lost:
    """Requests to a model that brought no reply, all for the same reason."""

    message: str
    """The error message of the first of them."""
    count: int = 0


@dataclass(slots=True)
class Tally:
    """Counts of a run so far."""

    done: int = 0
    failed: int = 0
    """Requests without a usable reply, those that the budget did not allow included."""
    from_store: int = 0
    """Requests whose replies were in the store before; repetitions of a request of this run do not count."""
    calls: int = 0
    """Requests sent, repeated ones included."""
    models: set[ModelAt] = field(default_factory=set)
    """Who was asked."""
    usd: float = 0.0
    """Cost of the replies of this run, as far as it is known."""
    lost: dict[tuple[str, FailureKind, str], Lost] = field(default_factory=dict)
    """Model, kind of failure and code → requests that ended without a reply, except for lack of budget."""
    unpriced: int = 0
    """Replies whose cost is not known."""

    def note(self, seconds: float, waiting: str = "") -> str:
        """Return the counts after some seconds in a few words, and what the requests wait for."""
        spent = f"{self.usd:.2f} USD" if not self.unpriced else "price unknown"
        # What is waited for comes first: a narrow terminal cuts the end.
        return (
            f"{waiting and f'{waiting}; '}{self.failed:,} failed, {self.from_store:,} from store, "
            f"{self.calls / max(seconds, 1e-3):,.1f} calls/s, {spent}"
        )


def summed(tallies: Iterable[Tally]) -> Tally:
    """Return the counts of several runs; not who was asked, and what was lost."""
    every = tuple(tallies)
    names = ("done", "failed", "from_store", "calls", "usd", "unpriced")
    return Tally(**{name: sum(getattr(tally, name) for tally in every) for name in names})
