"""May judges be used for something? One page: verdicts, what they rest on, and what was not checked."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import author_key, noun
from metaeval.base.records import FIRST, SECOND, Kind
from metaeval.base.simulation import REAL, Simulation
from metaeval.data.verdicts.verdict_table import read_verdicts
from metaeval.engine.sheet import Column, Sheet, table, value_text
from metaeval.evaluators.verdicts import pair_keys
from metaeval.judging.cost import calls_of, costs_of
from metaeval.kinds.details import made_of
from metaeval.kinds.index import kind_named
from metaeval.runs.command import (
    Aspects,
    Judges,
    Places,
    Printed,
    Resamples,
    Seed,
    Typed,
    aspects_in,
    command,
)
from metaeval.runs.finished import OpenRun, is_rated, open_run
from metaeval.runs.judge_trust import USES, Finding, JudgeTrust, Usable, Use
from metaeval.stats.agreement.alternative import LEAST_UNITS
from metaeval.trust.auditing import findings
from metaeval.trust.auditing.findings import ONE_RATER, Found, Looking, Unchecked
from metaeval.trust.auditing.order import order, worth
from metaeval.trust.auditing.pairs import of_pairs, verdicts_of_run
from metaeval.trust.bias.between import PROMPT, REPLICATE, differing_in
from metaeval.trust.correction_samples import Correcting, samples, samples_by_cluster

if TYPE_CHECKING:
    import pandas as pd

_MOST = 12
"""Evaluators that are audited without being named, where a run has no judge."""
_EXIT: Mapping[Usable, int] = {"yes": 0, "no": 1, "unknown": 4}


class Auditing(Typed):
    """Whose judges are audited, and for what."""

    judges: Judges = ()
    """Evaluator to audit; may be given again.  [default: the run's judges]"""
    use: Use | None = None
    """What they are to be used for: stop changes, order systems, replace a person, save labels.  [default:
    any]"""
    aspects: Aspects = ()
    resamples: Resamples = 10_000
    seed: Seed = 0


@dataclass(frozen=True, slots=True, eq=False)
class JudgeAudit:
    """What was found of judges."""

    judges: Mapping[str, JudgeTrust]
    rests: str
    """On what, in a sentence."""
    unchecked: Sequence[Unchecked]
    configuration: Sequence[Mapping[str, Any]]
    simulated: Simulation

    def usable(self, use: Use | None) -> Usable:
        """Say whether all judges may be used for something; without a use, whether each may for any."""
        said = [_any(trust) if use is None else trust.usable(use) for trust in self.judges.values()]
        return "no" if "no" in said else "unknown" if "unknown" in said else "yes"

    def sentences(self, use: Use | None) -> list[str]:
        """Return a sentence on each judge."""
        return [
            f"{trust.label}: {trust.verdict(use) if use else trust.verdicts}."
            for trust in self.judges.values()
        ]


def _any(trust: JudgeTrust) -> Usable:
    said = {trust.usable(use) for use in USES}
    return "yes" if "yes" in said else "unknown" if "unknown" in said else "no"


def audit_of_run(run: OpenRun, how: Auditing, old: OpenRun | None = None) -> JudgeAudit:
    """Return what is found of judges of a run, and whether they drifted since an ``old`` one."""
    names = _judges(run, how.judges)
    found: list[tuple[str, Finding]] = []
    lacking: list[Unchecked] = []
    if is_rated(run.record.study.kind):
        at = Looking(run, names, aspects_in(run.truth, how.aspects), how.resamples, how.seed, lacking)
        found += _of_ratings(at, old)
        enough = functools.partial(at.more, "plan")
    else:
        lacking.append(ONE_RATER)
        more = f"metaeval details {run.folder}"
        found += of_pairs(verdicts_of_run(run), names, more, how.resamples, how.seed)
        found += _by_kind(run, names, more)
        enough = functools.partial(_same, more)
    data, record = run.record.data, run.record
    known = run.truth[run.truth["rating"].notna()]
    truth = {*map(str, made_of(record.truth.spec).annotators)}
    people = 0 if run.raters is None else len({*run.raters["rater"].astype(str)} - truth)
    beside = f", and on {counted(people, 'other person', 'other people')}" if people else ""
    rests = (
        f"Rests on {_counted(known, data.cluster, data.nouns[data.cluster])} and "
        f"{counted(len(known[data.keys].drop_duplicates()), 'unit')} rated by {record.truth.short}{beside}; "
        f"the run was made on {record.finished[:10]}."
    )
    costs, board = costs_of(run.scores).set_index("evaluator"), record.named(run.board)
    return JudgeAudit(
        _trust([*found, *_open(found, names, enough)], {name: board.label(name) for name in names}),
        rests,
        [*_unchecked(run, names, costs, old), *lacking],
        [_configuration(run, name, costs) for name in names],
        run.scores.simulation.among(names),
    )


def _of_ratings(at: Looking, old: OpenRun | None) -> Found:
    """Yield what the analyses find; what one cannot tell is not checked."""
    analyses: dict[str, Callable[[Looking], Found]] = {
        "agreement with people": findings.agreement,
        "whether it is as good as a person": findings.like_people,
        "biases": findings.biases,
        "which units it may decide alone": findings.alone,
        "unread replies": findings.unread,
        "order, and worth in labels": _by_labels,
    }
    if old is not None:
        analyses["drift since the older run"] = functools.partial(findings.drifted, old=old)
    for what, analysis in analyses.items():
        try:
            yield from analysis(at)
        except MetaevalError as error:
            at.lacking.append(Unchecked(what, str(error)))


def _by_labels(at: Looking) -> Found:
    """Say what scores are worth in labels, and whether they order systems, or generators, as people do."""
    run = at.run
    values = kind_named(run.record.study.kind).values_by_cluster(run.scored)
    for name in at.judges:
        units = list(samples(run.scored, [name], at.aspects, run.truth))
        labels = list(worth(units, more := at.more("correct", name), at.seed))
        systems: list[Correcting] = units if author_key(run.nouns) else []
        if values is not None:
            there = name in set(values["evaluator"])
            systems = list(samples_by_cluster(values, run.record.truth.spec, [name])) if there else []
        yield from ((name, one) for one in (*labels, *order(systems, labels[-1].uses["labels"], more)))


def _open(
    found: Sequence[tuple[str, Finding]], names: Sequence[str], more: Callable[[str], str]
) -> list[tuple[str, Finding]]:
    """Say of each judge how many more labels would settle what is open."""
    sides = {name: [f for n, f in found if n == name] for name in names}
    made = {name: findings.sufficiency(own, more(name)) for name, own in sides.items()}
    return [(name, one) for name, one in made.items() if one]


def _same(more: str, _judge: str) -> str:
    return more


def _by_kind(run: OpenRun, names: Sequence[str], more: str) -> Found:
    """Say whether judges of a kind without ratings order what they compare, as the kind's tables say."""
    for name, one in kind_named(run.record.study.kind).ordering(run.scored, names):
        said = one.question, one.answer, one.effect, more
        yield name, findings.finding(*said, reason=one.answer, leaderboard=one.usable)


def audit_of_file(path: Path, how: Auditing) -> JudgeAudit:
    """Return what is found of the verdicts in a file, which holds gold preferences."""
    verdicts = read_verdicts(path)
    known = [str(name) for name in verdicts["evaluator"].unique()]
    names = [one_of(name, known, "there are no verdicts of an evaluator", "there are") for name in how.judges]
    names = names or known
    if len(names) > _MOST:
        raise MetaevalError(
            f"there are verdicts of {len(names):,} evaluators; name those that are audited with --judge "
            f"({', '.join(known)})"
        )
    more = f"metaeval verdicts accuracy {path}"
    found = list(of_pairs(verdicts, names, more, how.resamples, how.seed, systems=True))
    key = pair_keys(verdicts)[0]
    pairs = len(verdicts[[*pair_keys(verdicts), FIRST, SECOND]].drop_duplicates())
    rests = f"Rests on {_counted(verdicts, key, noun(key))} and {counted(pairs, 'pair')}, from {path.name}."
    found += _open(found, names, functools.partial(_same, more))
    return JudgeAudit(_trust(found, dict(zip(names, names, strict=True))), rests, _OF_FILE, [], REAL)


_OF_FILE = (
    Unchecked(
        "people's own agreement: one gold preference each",
        "metaeval verdicts accuracy FILE --gold PEOPLE",
        f"{LEAST_UNITS} pairs, or more, that two people compare",
    ),
    Unchecked(
        "repeatability: no repeated calls", "metaeval verdicts coherence FILE", "as many calls as it made"
    ),
    Unchecked("model, prompt, temperature and dates: the file names none", "a run of a study keeps them"),
)


def _counted(frame: pd.DataFrame, key: str, one: str) -> str:
    return counted(frame[key].nunique(), one)


def _judges(run: OpenRun, wanted: Sequence[str]) -> list[str]:
    known = list(run.scores.evaluators)
    if wanted:
        return list(dict.fromkeys(one_of(name, known, "the run has no evaluator") for name in wanted))
    kinds = (Kind.BASELINE, Kind.ANNOTATOR, Kind.ENSEMBLE)
    names = run.judges or [name for name in known if run.scores.kinds.get(name) not in kinds]
    if not names or len(names) > _MOST:
        have = f"the run has no judge, and {len(names):,} other tools" if names else "the run has no judge"
        shown = [*known[:_MOST], *(["…"] if len(known) > _MOST else [])]
        raise MetaevalError(f"{have}; name those that are audited with --judge ({', '.join(shown)})")
    return names


def _trust(found: Sequence[tuple[str, Finding]], labels: Mapping[str, str]) -> dict[str, JudgeTrust]:
    """Put findings together by judge: first those that say no, then those that leave a use open."""

    def place(finding: Finding) -> tuple[int, int]:
        said = list(finding.uses.values())
        return min((("no", "unknown", "yes").index(usable) for usable in said), default=3), -len(said)

    of = {name: sorted((f for n, f in found if n == name), key=place) for name in labels}
    return {name: JudgeTrust(label=label, found={}, findings=of[name]) for name, label in labels.items()}


def _unchecked(
    run: OpenRun, names: Sequence[str], costs: pd.DataFrame, old: OpenRun | None
) -> Iterator[Unchecked]:
    """Name what nothing in the run tells, with the line that would check it and its cost."""
    signatures = run.scores.signatures
    for part, what, argument in (
        (REPLICATE, "repeatability: no repeated calls", "replicate=1"),
        (PROMPT, "wording: no variant of the prompt (see `metaeval choose`)", "prompt=FILE"),
    ):
        groups = differing_in(part, signatures, list(signatures))
        if lacking := [name for name in names if not any(name in group for group in groups)]:
            spec = run.record.specs[lacking[0]]
            asked = "model" in signatures[lacking[0]]
            line = (
                f'"{spec[:-1]}, {argument})" as an evaluator' if asked else "recorded again, as an evaluator"
            )
            others = (
                f" of {', '.join(run.record.names[name] for name in lacking)}" if lacking != [*names] else ""
            )
            yield Unchecked(f"{what}{others}", line, _cost(run, lacking, costs))
    if old is None:
        how = "judge some of these texts anew, as anchors, with another store; metaeval audit OLD NEW"
        yield Unchecked("drift: no older run", how, _cost(run, names, costs))


def _cost(run: OpenRun, names: Sequence[str], costs: pd.DataFrame) -> str:
    """Say what it costs to ask judges again."""
    calls, verdicts = 0, run.verdicts
    for name in names:
        frame = run.scores.frame[run.scores.frame["evaluator"] == name]
        own = None if verdicts is None else verdicts[verdicts["evaluator"] == name]
        calls += len(calls_of(frame, own)[0]) if "call" in frame else 0
    usd = float(costs["usd"].reindex(list(names)).sum())
    paid = f", {value_text(usd, 'usd')}" if usd > 0 else ""
    return f"{counted(calls, 'call')}{paid}" if calls else "as many calls as it made"


def _configuration(run: OpenRun, name: str, costs: pd.DataFrame) -> dict[str, Any]:
    of = run.scores.signatures[name]
    prompt = of.get("prompt", {})
    cost: Mapping[Any, Any] = costs.loc[name].to_dict() if name in costs.index else {}
    return {
        "run": str(run.folder),
        "judge": name,
        "model": ", ".join(of.get("models") or [str(of.get("model", ""))]),
        "prompt": " ".join(str(prompt[key])[:12] for key in ("name", "version", "sha256") if key in prompt),
        "temperature": of.get("temperature"),
        "started": run.record.started[:10],
        "finished": run.record.finished[:10],
        "unread": cost.get("unread"),
        "usd": cost.get("usd_per_text"),
        "tokens": cost.get("tokens_per_text"),
    }


_RULE = (
    "A use takes all aspects (--aspect names some). No: one finding speaks against it. Cannot be told: one "
    "leaves it open, or nothing speaks for it."
)
_ANSWERS = {"yes": "yes", "no": "no", "unknown": "cannot be told"}
_VERDICTS = (
    Column("judge", "Judge"),
    Column("use", "Use"),
    Column("usable", "May it?", keep=True),
    Column("verdict", "Why", keep=True),
    Column("then", "Then", optional=True),
)
_FINDINGS = (
    Column("judge", "Judge"),
    Column("question", "Question"),
    Column("answer", "Answer", keep=True),
    Column("effect", "What it changes", keep=True),
    Column("more", "More"),
    Column("then", "Then", optional=True),
)
_UNCHECKED = (
    Column("what", "Not checked", keep=True),
    Column("how", "By what, or why", keep=True),
    Column("cost", "Cost", optional=True),
)
_CONFIGURATION = (
    Column("judge", "Judge"),
    Column("model", "Model, as the provider names it", optional=True),
    Column("prompt", "Prompt", optional=True),
    Column("temperature", "Temperature", "number", optional=True),
    Column("started", "From"),
    Column("finished", "To"),
    Column("unread", "Unread", "share", optional=True),
    Column("usd", "Cost per unit", "usd", optional=True),
    Column("tokens", "Tokens per unit", "count", optional=True),
    Column("run", "Run"),
)


def audit_sheets(audit: JudgeAudit, use: Use | None, then: JudgeAudit | None = None) -> list[Sheet | None]:
    """Return the page, in an order that is always the same; with what an older audit said beside it."""
    uses = [use] if use else list(USES)
    old = {} if then is None else then.judges

    def before(name: str, question: str) -> str:
        known = old[name].findings if name in old else []
        return next((f.answer for f in known if f.question == question), "")

    verdicts = [
        {
            "judge": name,
            "use": one,
            "usable": _ANSWERS[trust.usable(one)],
            "verdict": trust.reasons(one),
            "then": _ANSWERS[old[name].usable(one)] if name in old else None,
        }
        for name, trust in audit.judges.items()
        for one in uses
    ]
    findings: dict[tuple[str, str, str], dict[str, Any]] = {}
    for name, trust in audit.judges.items():
        for f in sorted(trust.findings, key=lambda f: bool(use) and use not in f.uses):
            row = findings.setdefault(
                (f.question, f.answer, f.effect),
                {"judge": "", **f.model_dump(include={"question", "answer", "effect", "more"})}
                | {"uses": ", ".join(f"{u}: {a}" for u, a in f.uses.items())}
                | {"then": before(name, f.question) or None},
            )
            row["judge"] = f"{row['judge']} / {name}" if row["judge"] else name
    configuration = [*(then.configuration if then else ()), *audit.configuration]
    what = "; ".join(f"{one}: {does}" for one, does in USES.items())
    return [
        table(
            "audit", "May it be used?", verdicts, _VERDICTS, audit.rests, f"Uses: {what}.", about=("judge",)
        ),
        table(
            "audit-findings",
            "What was found, by what it changes",
            [*findings.values()],
            _FINDINGS,
            about=("judge",),
        ),
        table(
            "audit-unchecked",
            "What was not checked",
            [u._asdict() for u in audit.unchecked],
            _UNCHECKED,
            about=(),
        ),
        table("audit-configuration", "What was audited", configuration, _CONFIGURATION, about=("judge",)),
    ]


@command("audit", view="trust")
def audit(runs: Annotated[Places, "[OLD] RUN|FILE"], how: Auditing) -> Printed:
    """Say in one page whether the judges of the finished run RUN may be used, and what that rests on.

    It runs what is needed of calibrate, replace, biases, correct, escalate and drift, without a call of a
    model. The page has a verdict on each use, findings by what they change, what was not checked and by which
    line it would be, and the configuration. With an older run before it, both are compared. A FILE of
    verdicts on pairs, made by `metaeval verdicts import`, is audited, too. Exit code 0 if all judges may be
    used (for any use, if none is named), 1 if one may not, 4 if that cannot be told. The run's report.html
    shows the page as Trust.
    """
    if len(runs) > 2:
        raise MetaevalError(f"an audit is of one run, or of an older and a newer one; {len(runs)} are given")
    *older, place = runs
    if place.is_file():
        if older:
            raise MetaevalError("verdicts in a file have no older run; give the FILE alone")
        made, then = audit_of_file(place, how), None
    else:
        old = open_run(older[0]) if older else None
        made, then = audit_of_run(open_run(place), how, old), audit_of_run(old, how) if old else None
    return Printed(
        audit_sheets(made, how.use, then),
        made.simulated,
        found={name: trust.verdicts for name, trust in made.judges.items()},
        findings={name: trust.findings for name, trust in made.judges.items()},
        first=made.sentences(how.use),
        code=_EXIT[made.usable(how.use)],
    )
