"""The argument ``profile`` of judges: whether they are told the user's profile."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from metaeval.evaluators.arguments import check_flag
from metaeval.kinds.explanations.judge.prompt import profiles_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


@dataclass(frozen=True, repr=False)
class ShowsProfile:
    """The argument that judges of explanations share.

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
        of_user = profiles_of(data)
        return lambda unit: of_user.get(str(users[unit]), {})
