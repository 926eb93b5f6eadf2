"""A better prompt for a judge: rounds of proposals, and what the one that is chosen is worth.

In each round a proposer writes prompts from the best one so far and from the units on which it differs most
from people. They are scored, and the best is chosen as `metaeval choose` does: its value on fresh clusters
counts the search.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from metaeval.base.counts import counted
from metaeval.base.errors import FOREIGN, KEPT, MetaevalError, StoppedError, UnreadableError, one_of
from metaeval.base.files import write_text
from metaeval.base.progress import progress
from metaeval.base.records import AVERAGE, ScoreTable, Status
from metaeval.base.spec import EvaluatorSpec, short_names
from metaeval.engine.sheet import Sheet
from metaeval.judging.cost import UNREAD
from metaeval.judging.estimate import CallEstimate, estimates
from metaeval.judging.models import limits_at
from metaeval.judging.settings import judging_of
from metaeval.kinds.functions import file_function
from metaeval.kinds.reading import read_study
from metaeval.kinds.registry import build, known_evaluators
from metaeval.kinds.scoring import Scoring, is_judge, joined
from metaeval.llm.calls.request import Message, Request
from metaeval.llm.calls.runner import RequestRun
from metaeval.runs.command import Printed, Seed, Typed, show_in_report
from metaeval.runs.finished import open_run
from metaeval.runs.folder import PROMPTS, RECORD, read_record
from metaeval.runs.record import MUCH
from metaeval.stats.resampling.choice import BestChoice, best_of
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, few_note
from metaeval.study.pipeline import asking_of, run_unless_finished, truth_ratings
from metaeval.study.plan import Plan, plan
from metaeval.trust.choice import Contest, choose, costs_among, sealed_sentence
from metaeval.trust.prompt_proposals import (
    DisputedUnit,
    PromptTask,
    UnfitPromptError,
    as_prompt,
    check_candidate,
    disputed_units,
    prompt_text,
    propose,
)

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.engine.board import Cell
    from metaeval.judging.model_evaluator import ModelEvaluator

_log = logging.getLogger("metaeval")
_SHOWN = 8  # units, to a proposer
_LONGEST = 4_096  # tokens of a proposal


class ImproveOptions(Typed):
    """How a better prompt is looked for."""

    judge: Annotated[str | None, "NAME"] = None
    """Judge to improve.  [default: the only one]"""
    rounds: Annotated[int, Field(ge=1, le=100)] = 3
    """Number of rounds at most."""
    candidates: Annotated[int, Field(ge=1, le=100)] = 2
    """Prompts that are written in each round."""
    max_usd: Annotated[float | None, Field(ge=0)] = None
    """Budget of the whole search, whenever it was spent.  [default: the study's]"""
    proposer: Annotated[str | None, "MODEL"] = None
    """Model that writes prompts, or python('FILE:FUNCTION').  [default: the judge's]"""
    seed: Seed = 0
    wait: bool = False
    """Wait for batches; do not exit with 3."""


def improve(
    study: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    **options: Any,  # noqa: ANN401 - as the model says
) -> list[Sheet]:
    """Look for a better prompt of a judge of the study in the file STUDY, and say what it is worth.

    In each round a model writes prompts, from the best one so far and from the units on which it differs most
    from people. They are scored on the same units, and the best is chosen as `metaeval choose` does. The run
    folder has all candidates and their prompts. An interrupted search continues when it is run again.
    """
    return PromptSearch(study, out, ImproveOptions(**options)).found()


class _SpentError(StoppedError):
    """The budget of the search is used up."""


class PromptSearch:
    """A search for a better prompt; it writes and sends nothing until it is `found`."""

    _cell: Cell
    """Candidates are chosen by it: that of the leaderboard."""
    _truth: pd.DataFrame

    def __init__(
        self, study: str | os.PathLike[str], out: str | os.PathLike[str] | None, how: ImproveOptions
    ) -> None:
        read, self.how = read_study(study), how
        self.whole = whole = plan(read, out or Path("results") / f"{read.name}-improve")
        self.base = base = self._judge()
        self.called = short_names(whole.study.specs)[base]
        options = whole.study.judging
        if how.max_usd is not None:
            options = options.model_copy(update={"max_usd": how.max_usd})
        if not options.study_id and (options.max_usd, options.max_calls) != (None, None):
            # Every candidate, and a search that was interrupted, goes on with what is left.
            digest = hashlib.sha256(f"{whole.out.resolve()} {base}".encode()).hexdigest()
            options = options.model_copy(update={"study_id": f"improve-{digest[:12]}"})
        alone: dict[str, Any] = {"evaluators": {base: whole.study.specs[base]}}
        alone |= {"family": {}, "interval": "clusters"}
        alone |= {"ablations": []} if hasattr(whole.study, "ablations") else {}
        self.study = whole.study.model_copy(update={**alone, "judging": options})
        self.judge = self._built(whole.study.specs[base])
        own = file_function(how.proposer, Path(study).parent)
        self.propose: Any = own.function if own else propose
        self.asker = self._asker()
        self.specs: dict[str, str] = {}
        self.tables: dict[str, ScoreTable] = {}
        self.notes: list[str] = []
        self.ended = ""

    def _judge(self) -> str:
        """Return the name of the judge; `MetaevalError` if there is nothing to improve, or to choose by."""
        judges = {name: e for name, e in self.whole.scoring.named.items() if is_judge(e)}
        if not judges or (self.how.judge is None and len(judges) > 1):
            why = (
                f"the judges are {', '.join(judges)}; name one with --judge" if judges else "it has no judge"
            )
            raise self.whole.study.error(f"nobody says what is to be improved: {why}", "evaluators")
        name = one_of(self.how.judge or next(iter(judges)), [*judges], "the study has no judge", "judges")
        if not judges[name].prompt:
            raise MetaevalError(f"{name} has its words in its code, so there is no prompt to improve")
        data = self.whole.data
        if (n := data.units[data.cluster].nunique()) < FEWEST_CLUSTERS:
            raise MetaevalError(f"nothing can be chosen: {few_note(n, data.cluster.removesuffix('_id'))}")
        return name

    def _built(self, spec: str) -> ModelEvaluator:
        study = self.whole.study
        judge: Any = build(spec, known=known_evaluators(study.kind), models=study.models)
        return judge  # type: ignore[no-any-return]

    def _asker(self) -> ModelEvaluator:
        """Return what asks the proposer's model."""
        spec, models = self.judge.spec, self.study.models
        given: dict[str, Any] = {"model": spec.args[0] if spec.args else spec.kwargs["model"]}
        given |= {name: spec.kwargs[name] for name in ("base_url",) if name in spec.kwargs}
        if self.how.proposer and self.propose is propose:
            given = {"model": self.how.proposer}
        named = models.get(given["model"])
        if named is None or "max_tokens" not in named.arguments:
            given["max_tokens"] = _LONGEST
        return type(self.judge).built_with(models, **given)

    @property
    def writer(self) -> str:
        """Who writes prompts, in words."""
        return self.asker.model if self.propose is propose else str(self.how.proposer)

    @property
    def todo(self) -> Plan:
        """The plan of the judge as it is."""
        return self._planned(self.judge, self.base)

    def _planned(self, judge: ModelEvaluator, name: str) -> Plan:
        whole, models = self.whole, self.study.models
        of_parts = [Scoring(part, {name: judge}, whole.scoring.aspects, models) for part in whole.parts]
        sealed = whole.sealed and replace(whole.sealed, scoring=of_parts[-1])
        return replace(whole, study=self.study, scoring=of_parts[0], sealed=sealed)

    def of_candidate(self) -> CallEstimate:
        """Return what asking with another prompt takes: about what the judge's own takes."""
        spec = self.judge.spec
        new = EvaluatorSpec(spec.name, spec.args, {**spec.kwargs, "replicate": 10**9})
        whole, other = self.whole, self._built(str(new))
        (found,) = estimates([other], whole.parts, whole.scoring.aspects, self.study.judging)
        return found

    def found(self) -> list[Sheet]:
        """Search, run the study with all candidates from the store, and say what the best is worth."""
        out, best = self.whole.out, self.base
        if (out / RECORD).is_file() and (opened := read_record(out).opened):
            self._resume(opened.date)
            return self._told()
        self._score(best, self.study.specs[best])
        self._contest([best, best])  # what cannot be chosen by is said before a proposal is paid
        for number in range(1, self.how.rounds + 1):
            with progress(f"round {number} of {self.how.rounds}"):
                new, why = list(self._round(number, best)), ""
            if new:
                contest, before = self._contest([best, *new]), best
                gain = self._gain(contest, best)
                best, noise = contest.names[gain.chosen], (gain.high - gain.low) / 2 / _quantile(contest.n)
                if best == before:
                    why = f"no prompt of round {number} comes before that it was made from"
                elif gain.fresh <= noise:
                    expected = f"{contest.said(gain.fresh)}, standard error {contest.said(noise)}"
                    why = f"the expected gain of round {number} is not above its noise ({expected})"
            self.ended = self.ended or why or ("" if new else f"no prompt of round {number} can be used")
            if self.ended:
                break
        return self._told()

    def _resume(self, date: str) -> None:
        """Take up the candidates of a search whose sealed clusters were opened: it is over."""
        run = open_run(self.whole.out)
        if self.base not in run.record.evaluators:
            raise MetaevalError(f"{run.folder} holds a search without {self.base}; give another --out")
        self._truth, self.specs, of = run.truth, run.record.specs, run.scores
        for name in self.specs:
            frame = of.frame[of.frame["evaluator"] == name]
            verdicts = None if of.verdicts is None else of.verdicts[of.verdicts["evaluator"] == name]
            signature, kind = {name: of.signatures[name]}, {name: of.kinds[name]}
            self.tables[name] = ScoreTable(frame, signature, kind, of.simulated, verdicts)
        self.ended = f"what it had sealed was opened {date}"

    def _round(self, number: int, best: str) -> Iterator[str]:
        """Yield each new candidate when it is scored; stop if the budget is used up."""
        data, known = self.whole.data, self.whole.scoring.aspects
        aspect = self._cell.get("aspect", AVERAGE)
        view, aspects = self.whole.kind.unit_view(data, known), known if aspect == AVERAGE else [aspect]
        most = _SHOWN * self.how.candidates
        units = disputed_units(self.tables[best], self._truth, data, view, aspects=aspects, most=most)
        for at in range(self.how.candidates):
            n = (number - 1) * self.how.candidates + at + 1
            name, shown = f"{self.called}, candidate {n}", units[at :: self.how.candidates]
            text = prompt_text(self._built(self.specs[best]).prompt)
            try:
                written = self._written(PromptTask(text, shown, n, partial(self._ask, n)))
                self._score(name, self._spec(n, written, best, shown))
            except _SpentError as error:
                self.ended = str(error)
                return
            except (UnfitPromptError, UnreadableError) as error:
                self.notes.append(f"Candidate {n} was left out: {str(error).removesuffix(KEPT)}.")
            else:
                yield name

    def _written(self, task: PromptTask) -> Any:  # noqa: ANN401 - by code of the user, maybe
        """Return what the proposer writes."""
        try:
            return self.propose(task)
        except MetaevalError:
            raise
        except FOREIGN as error:
            raise MetaevalError(f"{self.how.proposer} failed: {type(error).__name__}: {error}") from error

    def _ask(self, number: int, message: str) -> str:
        """Return the reply of the proposer's model to a message about a candidate."""
        asker, messages = self.asker, (Message("user", message),)
        model, parameters = asker.model.partition("/")[2], asker.parameters
        request = Request(
            *(asker.provider, model, messages, parameters, asker.base_url),
            replicate=number,
            stated=asker.stated,
        )
        with judging_of(self.study.judging) as settings:
            settings.at.update(limits_at(self.study.models.values(), settings.limits))
            (answer,) = RequestRun([request], settings.store, settings.loop, description="proposing")
        if (error := answer.reply.error) is None:
            return answer.reply.text
        if error.kind == "budget":
            raise _SpentError(error.message)
        raise StoppedError(f"{asker.model} proposes nothing ({error.code}): {error.message}{KEPT}")

    def _spec(self, number: int, written: object, best: str, shown: Sequence[DisputedUnit]) -> str:
        """Keep a prompt in the run folder, and return the spec of the judge that has it."""
        path, spec = self.whole.out / PROMPTS / f"candidate-{number}.md", self.judge.spec
        before = [self._built(self.specs[name]).prompt for name in [*self.specs, best]]
        new = EvaluatorSpec(spec.name, spec.args[:1], {**spec.kwargs, "prompt": str(path)})
        try:
            text = as_prompt(written, path.stem)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
            check_candidate(path, self.judge.asks, before, shown)
            next(self._built(str(new)).questions(self.whole.data, self.whole.scoring.aspects), None)
        except MetaevalError as error:
            raise UnfitPromptError(str(error)) from error
        return str(new)

    def _score(self, name: str, spec: str) -> None:
        """Have a candidate score; `UnfitPromptError` is raised if too many of its replies cannot be read."""
        todo = self._planned(self._built(spec), name)
        with asking_of(todo, {}, offline=False, wait=self.how.wait):
            made, self._truth = todo.scoring.whole(), truth_ratings(todo.truth.whole())
            apart = [todo.sealed.scoring.whole()] if todo.sealed else []
        frames = (of.frame if of.verdicts is None else of.verdicts for of in (made, *apart))
        counts = Counter(str(status) for frame in frames for status in frame["status"])
        if counts[Status.BUDGET.value]:
            raise _SpentError("the budget is used up")
        if lost := counts[Status.TRANSPORT.value]:
            raise StoppedError(f"{counted(lost, 'score')} of {name} are missing, since calls were lost{KEPT}")
        unread = sum(counts[status] for status in UNREAD) / counts.total()
        if name != self.base and unread >= MUCH:
            raise UnfitPromptError(f"{100 * unread:.0f} % of the replies to it could not be read")
        self.specs[name], self.tables[name] = spec, made

    def _contest(self, names: Sequence[str]) -> Contest:
        """Return candidates by the cell of the leaderboard."""
        kind, data = self.whole.kind, self.whole.data
        study = self.study.model_copy(update={"bootstrap": None})
        scores = joined([self.tables[name] for name in dict.fromkeys(names)], data)
        cells = kind.scored(kind, study, data.scale, data.cluster, scores, self._truth, data=data).cells
        self._cell = study.ordered_by or cells.board().cell()
        board = cells.board(self._cell, intervals=False)
        words = board.words(self._cell).removesuffix(f", {board.unit}")
        return Contest(names, cells.estimated(self._cell), words, {self.base: self.called})

    def _gain(self, of: Contest, over: str) -> BestChoice:
        """Choose one, and say what it has more than another."""
        at = of.names.index(over)
        scores = joined([self.tables[name] for name in dict.fromkeys(of.names)], self.whole.data)
        costs, _ = costs_among(scores, of.names)
        more = of.estimates - of.estimates[at]
        return best_of(more, of.psi - of.psi[at], costs, seed=self.how.seed)

    def _told(self) -> list[Sheet]:
        """Run the study with all candidates, and return its choice without the values that the search saw."""
        if len(self.tables) == 1:
            why = " ".join([f"The search ended: {self.ended}.", *self.notes])
            raise (StoppedError if not self.notes else MetaevalError)(f"no other prompt was scored. {why}")
        # All that was asked is in the store: nothing is sent, and nothing paid.
        study = {"evaluators": self.specs, "judging": self.whole.study.judging}
        run = plan(self.study.model_copy(update=study), self.whole.out)
        run_unless_finished(run, offline=True, wait=False, tell=_log.warning)
        contest, k = self._contest([*self.tables]), len(self.tables) - 1
        gain, said = self._gain(contest, self.base), contest.said
        helped = contest.names[gain.chosen] != self.base and gain.low > 0
        tried, worth = choose(run.out, seed=self.how.seed, open=helped and run.sealed is not None)
        fresh, name, others = worth.frame.iloc[0], contest.label(gain.chosen), counted(k, "other prompt")
        more = f"{said(gain.fresh)} [{said(gain.low)}, {said(gain.high)}]"
        if helped:
            told = (
                f"Use {name}: on fresh {contest.clusters} expect {said(fresh['fresh'])} "
                f"[{said(fresh['low'])}, {said(fresh['high'])}] ({contest.words}), counting the search among "
                f"{k + 1}; that is {more} more than {self.called} as it is."
            )
        elif contest.names[gain.chosen] == self.base:
            told = f"Keep {name} as it is: none of {others} comes before it."
        else:
            told = (
                f"Keep {self.called} as it is: no better prompt is shown. Of {others} {name} comes first; on "
                f"fresh {contest.clusters} expect {more} more of it."
            )
        if helped:
            none = f" No {contest.clusters} are sealed, so that no other test confirms it."
            told += sealed_sentence(contest, read_record(run.out).opened) or none
        told += f" The search ended: {self.ended or 'all rounds are over'}."
        note = (
            "Fresh values count that the best was chosen, not that prompts were written from units of the "
            f"same {contest.clusters}. Prompts: {run.out / PROMPTS}."
        )
        sheets = [
            replace(
                tried.without("shown").without("chosen"),
                name="improve",
                title=told,
                notes=(*self.notes, note, *(n for n in tried.notes if not n.startswith("Shown:"))),
            ),
            replace(worth.without("shown"), title="What the first is worth"),
        ]
        show_in_report(run.out, "choose", Printed(sheets))
        return sheets


def _quantile(n: int) -> float:
    """Return how many standard errors the ends of an interval of so many clusters are away."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.975))
