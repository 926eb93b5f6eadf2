"""Which commands there are: enough to list them, and to load one. A test compares what declarations say."""

from __future__ import annotations

from collections.abc import Mapping

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Make a study": {
        "demo": "run",
        "init": "steps",
        "run": "run",
        "reparse": "run",
        "loop": "run",
        "memory": "data",
        "score": "steps",
        "correlate": "steps",
        "off-policy": "data",
    },
    "Read a run": {
        "runs": "runs",
        "leaderboard": "runs",
        "compare": "runs",
        "generators": "trust.analyses:generators_of",
        "details": "trust.analyses:details_of",
        "unit": "trust.unit:unit_of",
        "ensembles": "trust.analyses:ensembles_of",
        "power": "trust.analyses:power_of",
        "figures": "runs",
        "view": "runs",
        "site": "runs",
        "cite": "catalogue",
    },
    "Trust in judges": {
        "audit": "trust.auditing.page:audit",
        "calibrate": "trust.calibration.calibrating:calibration_of",
        "replace": "trust.replacement_tables:replacing_of",
        "biases": "trust.bias.biases:biases_of",
        "choose": "trust.choice:choose",
        "criteria": "trust.criteria_weights:criteria_of_run",
        "improve": "trust",
        "drift": "trust.gate.drift:drift_of",
        "gate": "trust",
        "pairwise": "trust.verdicts.commands:pairwise_of",
        "verdicts": "verdicts",
        "verdicts coherence": "trust.verdicts.commands:coherence_of",
        "verdicts accuracy": "trust.verdicts.commands:accuracy_of",
    },
    "People and their labels": {
        "golden": "golden",
        "plan": "trust.label_plan:plan_of",
        "escalate": "trust.escalation:escalation_of",
        "correct": "trust.correction:correction_of",
        "disagreements": "trust",
    },
    "Published results": {"reproduce": "runs"},
    "Tools": {
        "data": "data",
        "evaluators": "catalogue",
        "prompts": "catalogue",
        "replies": "catalogue",
        "schema": "catalogue",
        "store": "catalogue",
        "providers": "catalogue",
        "skill": "catalogue",
        "mcp": "catalogue",
    },
}
"""Heading → words of its commands → the module of this package that has each, or where it is declared; in the
order of the help."""
COMMANDS: Mapping[str, str] = {words: place for group in GROUPS.values() for words, place in group.items()}
"""The same, of all headings."""
SENTENCES: Mapping[str, str] = {
    "details": (
        "Print more of the run in RUN: measures, agreement of people, reliability, variance components."
    ),
    "unit": "Show one unit of the finished run in the folder RUN: its texts, scores, prompts and replies.",
    "ensembles": "Compare the means of all subsets of the judges of the finished run in the folder RUN.",
    "generators": "Rank the generators of the finished run in the folder RUN by ratings and by evaluators.",
    "power": "Estimate how many users are needed to tell two evaluators of the run in RUN apart.",
    "audit": (
        "Say in one page whether the judges of the finished run RUN may be used, and what that rests on."
    ),
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
    "criteria": (
        "Fit weights of a judge's criteria to people's labels in the finished run in the folder RUN."
    ),
    "improve": (
        "Look for a better prompt of a judge of the study in the file STUDY, and say what it is worth."
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
