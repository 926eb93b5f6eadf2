"""Which commands there are: enough to list them, and to load one. A test compares what declarations say."""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, str] = {
    "demo": "run",
    "init": "steps",
    "run": "run",
    "score": "steps",
    "correlate": "steps",
    "leaderboard": "runs",
    "details": "trust.analyses:details_of",
    "ensembles": "trust.analyses:ensembles_of",
    "generators": "trust.analyses:generators_of",
    "power": "trust.analyses:power_of",
    "compare": "runs",
    "figures": "runs",
    "view": "runs",
    "site": "runs",
    "golden": "golden",
    "calibrate": "trust.calibration.calibrating:calibration_of",
    "replace": "trust.replacement_tables:replacing_of",
    "correct": "trust.correction:correction_of",
    "escalate": "trust.escalation:escalation_of",
    "choose": "trust.choice:choose",
    "plan": "trust.label_plan:plan_of",
    "biases": "trust.bias.biases:biases_of",
    "pairwise": "trust.verdicts.commands:pairwise_of",
    "verdicts": "verdicts",
    "verdicts coherence": "trust.verdicts.commands:coherence_of",
    "verdicts accuracy": "trust.verdicts.commands:accuracy_of",
    "disagreements": "trust",
    "off-policy": "data",
    "loop": "run",
    "drift": "trust.gate.drift:drift_of",
    "gate": "trust",
    "reproduce": "runs",
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
"""Words of a command → the module of this package that has it, or where it is declared, in the order
of the help."""
SENTENCES: Mapping[str, str] = {
    "details": (
        "Print more of the run in RUN: measures, agreement of people, reliability, variance components."
    ),
    "ensembles": "Compare the means of all subsets of the judges of the finished run in the folder RUN.",
    "generators": "Rank the generators of the finished run in the folder RUN by ratings and by evaluators.",
    "power": "Estimate how many users are needed to tell two evaluators of the run in RUN apart.",
    "calibrate": (
        "Measure how far the evaluators of a run, a data set or an export of another tool agree with people."
    ),
    "replace": (
        "Say whether a judge of a finished run, or of the recorded scores of a data set, may replace a "
        "person."
    ),
    "correct": "Say what people would have said of all units of the finished run in the folder RUN.",
    "escalate": (
        "Say which units of the finished run in the folder RUN each judge decides, and which a person."
    ),
    "choose": (
        "Choose the best of the candidates of the finished runs RUN, and say what the choice is worth."
    ),
    "plan": (
        "Say which units of the finished run in the folder RUN people should label next, and when to stop."
    ),
    "biases": "Measure and test the biases of the judges of the finished run in the folder RUN.",
    "pairwise": "Summarise the pairs of the finished run in the folder RUN, and rank its generators.",
    "verdicts coherence": (
        "Report whether verdicts agree in both orders and when repeated, and have no cycles."
    ),
    "verdicts accuracy": "Hold verdicts against gold preferences, or against the verdicts of people.",
    "disagreements": (
        "List the units of the finished run in the folder RUN on which a panel of judges splits most."
    ),
    "drift": "Say whether scores changed between two finished runs by the judge or by the system.",
    "gate": "Check the scores of the finished run in the folder RUN: pass, fail or inconclusive.",
}
"""Words of a command that is declared, or takes long to load → its first sentence."""
