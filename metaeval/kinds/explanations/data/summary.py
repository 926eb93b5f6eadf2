"""What a data set holds, or what is wrong with it, for people and for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.base.counts import counted, plural_of
from metaeval.base.keys import noun
from metaeval.kinds.explanations.data.explanation_set import KEYS

if TYPE_CHECKING:
    from metaeval.base.errors import Problem
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


class Inspection(NamedTuple):
    """The outcome of a check: a data set, or every problem found."""

    data: ExplanationSet | None
    problems: tuple[Problem, ...]

    def lines(self) -> list[str]:
        """Return a line a problem, or the summary if there is none."""
        if self.data is None:
            return [str(p) for p in self.problems]
        return [summary(self.data)]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain JSON values."""
        found: dict[str, Any] = {
            "ok": self.data is not None,
            "problems": [p._asdict() for p in self.problems],
        }
        if self.data is not None:
            found |= {
                "name": self.data.name,
                "simulated": self.data.simulated,
                "counts": {k.replace(" ", "_"): v for k, v in counts(self.data).items()},
                "fingerprint": self.data.fingerprint,
            }
        return found


def counts(data: ExplanationSet) -> dict[str, int]:
    """Return how many units, values of each key, aspects, raters, evaluators and gaps there are."""
    scores, units = data.scores, data.units
    return {
        "units": len(data),
        **({} if data.named_by else {plural_of(noun(k)): 0 for k in KEYS}),
        **{plural_of(noun(k)): units[k].nunique() for k in data.keys},
        "aspects": len(data.aspects),
        "raters": len(data.raters),
        "recorded evaluators": 0 if scores is None else scores["evaluator"].nunique(),
        "ratings": int(data.ratings["rating"].notna().sum()),
        "missing ratings": int(data.ratings["rating"].isna().sum()),
    }


def summary(data: ExplanationSet) -> str:
    """Return the counts as one line; it says so if the study is simulated."""
    one = {plural_of(noun(k)): noun(k) for k in (*KEYS, *data.keys)}
    told = (counted(n, one.get(what, what.removesuffix("s"))) for what, n in counts(data).items())
    numbers = ", ".join(told)
    return f"{data.name}{' (simulated)' if data.simulated else ''}: {numbers}"
