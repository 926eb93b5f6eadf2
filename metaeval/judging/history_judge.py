"""Judges that are told a user's history."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from metaeval.base.errors import SpecError
from metaeval.evaluators.arguments import check_integer
from metaeval.judging.unit_judge import UnitJudge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.base.records import DataOfKind


@dataclass(frozen=True, repr=False)
class HistoryJudge(UnitJudge):
    """A judge that is told a user's history, in first messages that many calls share.

    Parameters
    ----------
    fields
        What is told of items, those of the history too; all that the data set has, if empty.
    history
        How many items of the user's history are shown at most, the last ones by their time.
    """

    shares: ClassVar[bool] = True

    _: KW_ONLY
    fields: Sequence[str] = ()  # type: ignore[assignment]  # the argument; what a reply gives: `reply_fields`
    history: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if isinstance(self.fields, list):
            object.__setattr__(self, "fields", tuple(self.fields))  # as a spec has it
        if not (isinstance(self.fields, tuple) and all(isinstance(field, str) for field in self.fields)):
            raise SpecError(f"{name}: fields is a list such as ['title', 'genres'], not {self.fields!r}")
        check_integer(name, "history", self.history, 0)

    def signature(self, data: DataOfKind) -> Mapping[str, Any]:
        """Return the judge's settings, and what it is told."""
        return {**super().signature(data), "fields": list(self.fields), "history": self.history}
