"""What is known of a judge: what commands on the run found of it, and what it may be used for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from pydantic import Field

from metaeval.base.counts import listed
from metaeval.runs.record import Facts

Use: TypeAlias = Literal["gate", "leaderboard", "replace", "labels"]
Usable: TypeAlias = Literal["yes", "no", "unknown"]
USES: Mapping[Use, str] = {
    "gate": "serve as a gate",
    "leaderboard": "rank what it scores",
    "replace": "replace a person",
    "labels": "spare people labels",
}
"""What a judge may be used for → how a sentence says it."""
_MAY: Mapping[Usable, str] = {
    "yes": "may {}",
    "no": "must not {}",
    "unknown": "whether it may {} cannot be told",
}

_NAMED = 4
"""Evaluators that a sentence names at most."""


class Finding(Facts):
    """A question about a judge, its answer, and what that changes."""

    question: str
    answer: str
    """With its interval."""
    effect: str
    """What it does to a conclusion."""
    more: str
    """The command that shows more."""
    reason: str = ""
    """The answer as a clause: why a judge may be used or not."""
    uses: dict[Use, Usable] = Field(default_factory=dict)
    """What it says of each use that depends on it."""
    labels: int | None = None
    """About how many more labels would settle what it leaves open, if its estimate stays as it is; None if
    labels do not."""


class JudgeTrust(Facts):
    """What commands on the run found of a judge."""

    label: str
    found: dict[str, str]
    """Command → what it found, as a clause; empty for one that is still to be run."""
    findings: list[Finding] = Field(default_factory=list)
    """What an audit found."""

    def usable(self, use: Use) -> Usable:
        """Say whether the judge may be used: not if one finding speaks against it, unknown if one is."""
        said = {finding.uses[use] for finding in self.findings if use in finding.uses}
        return "no" if "no" in said else "yes" if said == {"yes"} else "unknown"

    def reasons(self, use: Use) -> str:
        """Return why the judge may be used or not, or why that cannot be told."""
        usable = self.usable(use)
        found = [f.reason for f in self.findings if f.reason and f.uses.get(use) == usable]
        return "; ".join(dict.fromkeys(found)) or "nothing here tells: see what was not checked"

    def verdict(self, use: Use) -> str:
        """Say in a clause whether the judge may be used, and why."""
        return f"{_MAY[self.usable(use)].format(USES[use])}: {self.reasons(use)}"

    @property
    def verdicts(self) -> str:
        """The verdicts on all uses, without why."""
        by: dict[Usable, list[str]] = {"yes": [], "no": [], "unknown": []}
        for use, does in USES.items():
            by[self.usable(use)].append(does)
        word = {"yes": "and"}
        return "; ".join(
            _MAY[usable].format(listed(does, word.get(usable, "or"))) for usable, does in by.items() if does
        )

    @property
    def words(self) -> str:
        """What was found, and what to run."""
        if self.findings:
            return self.verdicts
        # Whether it may replace people is what is asked first.
        first = sorted(self.found, key=lambda command: command != "replace")
        known = "; ".join(filter(None, map(self.found.__getitem__, first)))
        todo = [f"`{command}`" for command, clause in self.found.items() if not clause]
        run = listed(todo).replace("`", "`metaeval ", 1) if todo else ""
        if not known:
            return f"run {run} before trusting it"
        return f"{known}{f'; still to be run: {run}' if run else ''}"


def few_of(names: Sequence[str]) -> str:
    """Name several, and count those beyond a few."""
    if len(names) <= _NAMED + 1:
        return listed(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} others"
