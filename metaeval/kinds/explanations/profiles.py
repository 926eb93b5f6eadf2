"""Whether a judge is told the profile of the user whose place it takes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from metaeval.evaluators.arguments import check_flag
from metaeval.kinds.explanations.judge.prompt import profile_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


@dataclass(frozen=True, repr=False)
class ShowsProfile:
    """An argument of judges of explanations.

    Parameters
    ----------
    profile
        Whether the judge is told the user's profile.
    """

    _: KW_ONLY
    profile: bool = False

    def check_profile(self) -> None:
        """Raise `SpecError` unless it is True or False."""
        check_flag(type(self).__name__, "profile", self.profile)

    def profiles(self, data: ExplanationSet) -> Callable[[int], Mapping[str, str] | None]:
        """Return what gives the profile that is shown for a unit, None where none is."""
        if not self.profile:
            return lambda _: None
        users = data.explanations["user_id"].tolist() if "user_id" in data.keys else [""] * len(data)
        found: dict[str, Mapping[str, str]] = {}

        def of_unit(unit: int) -> Mapping[str, str]:
            user = str(users[unit])
            if user not in found:
                found[user] = profile_of(data, user)
            return found[user]

        return of_unit
