"""Which commands there are: enough to list them, and to load one. A test compares what declarations say."""

from __future__ import annotations

from collections.abc import Mapping

DECLARED: Mapping[str, tuple[str, str]] = {
    "details": (
        "trust.analyses:details_of",
        "Print more of the run in RUN: measures, agreement of people, reliability, variance components.",
    ),
    "ensembles": (
        "trust.analyses:ensembles_of",
        "Compare the means of all subsets of the judges of the finished run in the folder RUN.",
    ),
    "generators": (
        "trust.analyses:generators_of",
        "Rank the generators of the finished run in the folder RUN by ratings and by evaluators.",
    ),
    "power": (
        "trust.analyses:power_of",
        "Estimate how many users are needed to tell two evaluators of the run in RUN apart.",
    ),
    "replace": (
        "trust.replacement_tables:replacing_of",
        "Say whether a judge of a finished run, or of the recorded scores of a data set, may "
        "replace a person.",
    ),
    "correct": (
        "trust.correction:correction_of",
        "Say what people would have said of all units of the finished run in the folder RUN.",
    ),
    "escalate": (
        "trust.escalation:escalation_of",
        "Say which units of the finished run in the folder RUN each judge decides, and which a person.",
    ),
    "plan": (
        "trust.label_plan:plan_of",
        "Say which units of the finished run in the folder RUN people should label next, and when to stop.",
    ),
    "pairwise": (
        "trust.verdicts.commands:pairwise_of",
        "Summarise the pairs of the finished run in the folder RUN, and rank its generators.",
    ),
    "verdicts coherence": (
        "trust.verdicts.commands:coherence_of",
        "Report whether verdicts agree in both orders and when repeated, and have no cycles.",
    ),
    "verdicts accuracy": (
        "trust.verdicts.commands:accuracy_of",
        "Hold verdicts against gold preferences, or against the verdicts of people.",
    ),
}
"""Words of a command that is declared beside what it computes → its place, and its first sentence."""

COMMANDS: Mapping[str, str] = {
    "demo": "run",
    "init": "steps",
    "run": "run",
    "score": "steps",
    "correlate": "steps",
    "leaderboard": "runs",
    "details": "",
    "ensembles": "",
    "generators": "",
    "power": "",
    "compare": "runs",
    "figures": "runs",
    "view": "runs",
    "site": "runs",
    "golden": "golden",
    "calibrate": "analyses",
    "replace": "",
    "correct": "",
    "escalate": "",
    "plan": "",
    "biases": "analyses",
    "pairwise": "",
    "verdicts": "verdicts",
    "disagreements": "analyses",
    "off-policy": "data",
    "loop": "run",
    "drift": "gate",
    "gate": "gate",
    "reproduce": "published",
    "reparse": "run",
    "runs": "runs",
    "evaluators": "catalogue",
    "data": "data",
    "replies": "catalogue",
    "prompts": "catalogue",
    "schema": "catalogue",
    "store": "catalogue",
    "providers": "catalogue",
}
"""Command → the module of this package that has it, in the order of the help; none, if it is declared."""
