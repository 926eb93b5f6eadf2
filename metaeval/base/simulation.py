"""Which data or judges of a result are simulated, and the words that say so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MARK = " (simulated)"
"""What the printed name of a simulated evaluator ends with."""
_MODEL = re.compile("""[(](model=)?['"]simulated/""")  # in the text of a spec
_NAMED = 3  # simulated evaluators in a sentence; of more, it says how many


@dataclass(frozen=True, slots=True)
class Simulation:
    """What is simulated; false if nothing is."""

    data: bool = False
    """Whether the texts and ratings are made up: no number says anything about people."""
    evaluators: tuple[str, ...] = ()
    """Evaluators that ask a simulated model, or have a part that does."""
    told: bool = False
    """Whether it was said before what is simulated, so that the loud words are enough."""

    @classmethod
    def of(cls, data: bool, evaluators: Mapping[str, Mapping[str, Any] | str]) -> Simulation:
        """Return what is simulated of data and evaluators: name → signature, or else the text of its spec."""
        return cls(data, tuple(name for name, known in evaluators.items() if _simulated(known)))

    def __bool__(self) -> bool:
        """Say whether anything is simulated."""
        return self.data or bool(self.evaluators)

    def __or__(self, other: Simulation) -> Simulation:
        """Return what is simulated of two results that are shown together."""
        both = dict.fromkeys((*self.evaluators, *other.evaluators))
        return Simulation(self.data or other.data, tuple(both))

    def among(self, names: Iterable[object]) -> Simulation:
        """Return what is simulated where only these evaluators are shown, by their names or labels."""
        names = {*names}
        return Simulation(self.data, tuple(e for e in self.evaluators if {e, self.label(e)} & names))

    def named(self, names: Mapping[str, str]) -> Simulation:
        """Return the same with the names that are printed, for sentences."""
        return Simulation(self.data, tuple(names.get(e, e) for e in self.evaluators), self.told)

    def label(self, evaluator: str) -> str:
        """Return the name of an evaluator as it is printed."""
        return f"{evaluator}{MARK}" if evaluator in self.evaluators else evaluator

    def record(self) -> dict[str, Any]:
        """Return what is simulated as plain JSON values."""
        return {"simulated": self.data, "simulated_evaluators": list(self.evaluators)}

    @property
    def what(self) -> str:
        """``data``, ``judges``, ``data and judges``, or empty."""
        return " and ".join(["data"] * self.data + ["judges"] * bool(self.evaluators))

    @property
    def loud(self) -> str:
        """``SIMULATED DATA.`` and the like; empty if nothing is simulated."""
        return f"SIMULATED {self.what.upper()}." if self else ""

    @property
    def sentence(self) -> str:
        """What is simulated, and what numbers therefore do not say; empty if nothing is, or it was told."""
        if self.told:
            return ""
        sentences = ["The data are simulated: these numbers say nothing about people."] * self.data
        match self.evaluators:
            case ():
                pass
            case (one,):
                sentences.append(f"{one} is simulated: its numbers say nothing about a language model.")
            case (*several, last):
                names = (
                    f"{', '.join(several)} and {last}"
                    if len(several) < _NAMED
                    else f"{len(self.evaluators):,} evaluators, marked as such,"
                )
                sentences.append(f"{names} are simulated: their numbers say nothing about language models.")
        return " ".join(sentences)

    @property
    def warning(self) -> str:
        """The loud words and the sentence; empty if nothing is simulated."""
        return f"{self.loud} {self.sentence}".strip()


def _simulated(evaluator: Mapping[str, Any] | str) -> bool:
    if isinstance(evaluator, str):
        return _MODEL.search(evaluator) is not None
    parts = evaluator.get("parts", {})
    return bool(evaluator.get("simulated")) or any(_simulated(part) for part in parts.values())


REAL = Simulation()
"""Neither data nor judges are simulated."""
