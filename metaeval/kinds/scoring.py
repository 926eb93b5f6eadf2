"""Scoring a data set with several evaluators."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pandas as pd

from metaeval.base.errors import KEPT, DataError, SpecError, StoppedError, UnreadableError, nearest, shown
from metaeval.base.frames import row_text
from metaeval.base.progress import progress
from metaeval.base.records import PRICE, DataSet, Evaluator, Kind, ScoreTable, Status
from metaeval.evaluators.ensemble import Ensemble
from metaeval.evaluators.grid import STATUSES
from metaeval.kinds.index import kind_named
from metaeval.kinds.kind import Factory
from metaeval.kinds.registry import Builder, Given, known_evaluators

if TYPE_CHECKING:
    from metaeval.judging.asking import Ended
    from metaeval.judging.model_evaluator import ModelEvaluator
    from metaeval.judging.models import NamedModel

_log = logging.getLogger("metaeval")


def score(
    data: DataSet | pd.DataFrame,
    evaluators: Sequence[Given] | Mapping[str, Given],
    *,
    aspects: Sequence[str] | None = None,
    models: Mapping[str, NamedModel | Mapping[str, Any]] | None = None,
) -> ScoreTable:
    """Score every explanation with every evaluator.

    Parameters
    ----------
    data
        The explanations, with what is known of them. A DataFrame of explanations, with the columns of the
        file of that name, does for evaluators that need no ratings and no scale; without ``aspects`` each
        score then holds for all of them, and has an empty aspect.
    evaluators
        Specs (as text or `EvaluatorSpec`) or evaluators; or a mapping from short names to them. The short
        name is then what the column ``evaluator`` holds, and other specs of the mapping may use it.
    aspects
        The aspects to score; all of the data set if None.
    models
        Short name → what ``models`` of a study file may say of a model; judges may give it as theirs.

    Returns
    -------
    ScoreTable
        Long: key columns, ``evaluator``, ``aspect``, ``score``, ``status``, evaluator by evaluator in the
        order given.

    Raises
    ------
    SpecError
        If an evaluator cannot be built, or is given twice, or a model cannot be used.
    DataError
        If an aspect is unknown, or the data has not what an evaluator needs.
    """
    named, given = _named(models), data
    if isinstance(data, pd.DataFrame) or not hasattr(data, "units"):
        data = _unrated(data, aspects)
    scoring = Scoring(data, resolve(evaluators, known_for(data), named), aspects, named)
    if scoring.judges and data is not given:
        raise DataError(
            "a judge needs the statements and the scale that people had; give score a data set, made "
            "with metaeval.from_frames(explanations, ratings, aspects=…, scale=…)"
        )
    return scoring.whole()


class Scoring:
    """The evaluators of one data set; what several of them share is scored once.

    Parameters and errors are those of `score`, but that evaluators are built, and models validated; and the
    ``prices`` of some evaluators, in USD per unit.
    """

    def __init__(
        self,
        data: DataSet,
        evaluators: dict[str, Evaluator],
        aspects: Sequence[str] | None = None,
        models: Mapping[str, NamedModel] | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> None:
        self.data, self.named = data, evaluators
        self._prices = prices or {}
        self.aspects = _chosen_aspects(data, aspects)
        self._models = models or {}
        self._memo: dict[int, ScoreTable] = {}

    def signature(self, name: str) -> dict[str, Any]:
        """Return what the scores of an evaluator depend on, as far as it is known before scoring."""
        evaluator = self.named[name]
        price = {PRICE: self._prices[name]} if name in self._prices else {}
        return {"spec": str(evaluator.spec), **evaluator.signature(self.data), **price}

    @property
    def judges(self) -> list[ModelEvaluator]:
        """All that ask a model, also those in ensembles."""
        return judges_of(self.named.values())

    def among(self, aspects: Sequence[str]) -> Scoring:
        """Return the scoring of some of the aspects, with what of them is scored already."""
        fewer = Scoring(self.data, self.named, aspects, self._models, self._prices)
        for key, table in self._memo.items():
            frame = table.frame[table.frame["aspect"].isin(aspects)]
            fewer._memo[key] = replace(table, frame=frame.reset_index(drop=True))
        return fewer

    def whole(self) -> ScoreTable:
        """Return the scores of all evaluators, in their order; errors are those of `tables`."""
        tables = dict(self.tables())
        return joined([tables[name] for name in self.named], self.data)

    def tables(self) -> Generator[tuple[str, ScoreTable]]:
        """Yield the short name and the scores of each evaluator, as they come.

        Judges ask side by side, and the others score meanwhile.

        `StoppedError` is raised if judges stopped: with what each says, after all that does not need them.
        """
        judges = [j for j in self.judges if id(j) not in self._memo]
        waiting = list(self.named)
        stopped: dict[str, type[StoppedError]] = {}
        with progress("scoring", len(waiting)) as advance, self._asking(judges) as ended:

            def ready() -> Iterator[tuple[str, ScoreTable]]:
                for name in list(waiting):
                    if all(id(j) in self._memo for j in judges_of([self.named[name]])):
                        waiting.remove(name)
                        yield name, self.table(name)
                        advance()

            yield from ready()
            for number, (judge, scores) in enumerate(ended, start=1):
                try:
                    self._keep(judge, scores.result())
                except StoppedError as error:
                    why = str(error).removesuffix(KEPT)
                    if why not in stopped and number < len(judges):
                        _log.warning("metaeval: %s; the other judges go on", why)
                    stopped[why] = type(error)
                    continue
                yield from ready()
        if stopped:
            unread = all(issubclass(error, UnreadableError) for error in stopped.values())
            raise (UnreadableError if unread else StoppedError)("; ".join(stopped) + KEPT)

    def _asking(self, judges: Sequence[ModelEvaluator]) -> AbstractContextManager[Ended]:
        if not judges:
            return nullcontext(iter(()))
        from metaeval.judging.asking import asking  # most runs have no judge

        names = {str(evaluator.spec): name for name, evaluator in self.named.items()}
        return asking(judges, self.data, self.aspects, self._models, names)

    def table(self, name: str) -> ScoreTable:
        """Return the scores of an evaluator under its short name."""
        evaluator = self.named[name]
        table = self._scored(evaluator)
        # Scoring can add to the signature, such as the model that a provider resolved.
        signature = {**self.signature(name), **table.signatures.get(str(evaluator.spec), {})}
        frame = table.frame.assign(evaluator=name)
        verdicts = None if table.verdicts is None else table.verdicts.assign(evaluator=name)
        return ScoreTable(frame, {name: signature}, {name: evaluator.kind}, self.data.simulated, verdicts)

    def remember(self, name: str, table: ScoreTable) -> None:
        """Take scores that were made earlier, under this short name, instead of making them again."""
        evaluator = self.named[name]
        signatures = {str(evaluator.spec): table.signatures[name]}
        self._memo[id(evaluator)] = replace(table, signatures=signatures)

    def asked(self) -> dict[str, ScoreTable]:
        """Return the scores of all that asked a model, by short name; parts of ensembles by their spec."""
        names = {id(evaluator): name for name, evaluator in reversed(self.named.items())}
        judges = [j for j in self.judges if id(j) in self._memo]
        return {names.get(id(j), str(j.spec)): self._memo[id(j)] for j in judges}

    def _scored(self, evaluator: Evaluator) -> ScoreTable:
        # By identity: equal specs were built once, and two evaluators of someone else may print alike.
        key = id(evaluator)
        if key not in self._memo:
            if isinstance(evaluator, Ensemble):
                tables = [self._scored(part) for part in evaluator.parts]
                table = evaluator.combine(tables, self.data, self.aspects)
            else:
                table = evaluator.score(self.data, self.aspects)
            self._keep(evaluator, table)
        return self._memo[key]

    def _keep(self, evaluator: Evaluator, table: ScoreTable) -> None:
        _check(table.frame, evaluator, self.data)
        self._memo[id(evaluator)] = table


def known_for(data: object) -> Mapping[str, Factory]:
    """Return the evaluators of the kind of a data set, or of the usual kind, if it does not say which."""
    return known_evaluators(getattr(data, "kind", None))


def joined(tables: Sequence[ScoreTable], data: DataSet) -> ScoreTable:
    """Put the tables of several evaluators into one."""
    verdicts = [t.verdicts for t in tables if t.verdicts is not None]
    return ScoreTable(
        pd.concat([t.frame for t in tables], ignore_index=True),
        {name: s for t in tables for name, s in t.signatures.items()},
        {name: k for t in tables for name, k in t.kinds.items()},
        data.simulated,
        pd.concat(verdicts, ignore_index=True) if verdicts else None,
    )


def is_judge(evaluator: Evaluator) -> TypeGuard[ModelEvaluator]:
    """Say whether an evaluator asks a model."""
    if evaluator.kind != Kind.JUDGE:
        return False  # most runs have no judge, and need not load what judges are made of
    from metaeval.judging.model_evaluator import ModelEvaluator

    return isinstance(evaluator, ModelEvaluator)


def judges_of(evaluators: Iterable[Evaluator]) -> list[ModelEvaluator]:
    """Return all that ask a model among evaluators and their parts, each once."""
    found: list[ModelEvaluator] = []
    for evaluator in evaluators:
        if isinstance(evaluator, Ensemble):
            found += [j for j in judges_of(evaluator.parts) if not any(j is k for k in found)]
        elif is_judge(evaluator) and not any(evaluator is k for k in found):
            found.append(evaluator)
    return found


def resolve(
    evaluators: Sequence[Given] | Mapping[str, Given],
    known: Mapping[str, Factory] | None = None,
    models: Mapping[str, NamedModel] | None = None,
) -> dict[str, Evaluator]:
    """Return the evaluators by the names that tables print.

    `SpecError` is raised if one cannot be built, or is given twice.
    """
    if isinstance(evaluators, str) or not hasattr(evaluators, "__iter__"):
        raise SpecError(f"evaluators are given as a list, such as ['BLEU(n=1)'], not as {shown(evaluators)}")
    if isinstance(evaluators, Mapping):
        builder = Builder(evaluators, known, models)
        for name in evaluators:
            if not isinstance(name, str) or not name.strip():
                raise SpecError(f"an evaluator's short name must be a text, not {shown(name)}")
        named = {name: builder.named(name) for name in evaluators}
    else:
        builder = Builder({}, known, models)
        named = {}
        for given in evaluators:
            evaluator = builder.build(given)
            name = str(evaluator.spec)
            if name in named:
                raise SpecError(f"{name} is given twice; give each evaluator once")
            named[name] = evaluator
    if not named:
        raise SpecError("no evaluators are given; give at least one, such as 'BLEU(n=1)'")
    return named


def _named(
    models: Mapping[str, NamedModel | Mapping[str, Any]] | None,
) -> Mapping[str, NamedModel] | None:
    if models is None:
        return None
    from metaeval.judging.models import models_of  # most calls have no judge

    return models_of(models)


def _unrated(data: object, aspects: Sequence[str] | None) -> DataSet:
    if not isinstance(data, pd.DataFrame):
        raise DataError(
            f"score takes a data set or a DataFrame of explanations, not a {type(data).__name__}; "
            "load a data set with metaeval.load"
        )
    units: DataSet = kind_named().of_units(data, aspects)
    return units


def _chosen_aspects(data: DataSet, aspects: Sequence[str] | None) -> tuple[str, ...]:
    if aspects is None:
        return tuple(data.aspects)
    if isinstance(aspects, str) or not aspects:
        raise DataError(
            f"aspects are given as a list of one or more of {', '.join(data.aspects)}, "
            f"not as {shown(aspects)}"
        )
    for number, aspect in enumerate(aspects):
        if aspect not in data.aspects:
            raise DataError(
                f"data set {data.name!r} has no aspect {shown(aspect)}; "
                f"it has {', '.join(data.aspects)}{nearest(str(aspect), data.aspects)}"
            )
        if aspect in aspects[:number]:
            raise DataError(f"aspect {aspect!r} is given twice; give each aspect once")
    return tuple(aspects)


def _check(frame: pd.DataFrame, evaluator: Evaluator, data: DataSet) -> None:
    """Hold every evaluator, those of others too, to what a `ScoreTable` promises."""
    lacking = [c for c in (*data.keys, "evaluator", "aspect", "score", "status") if c not in frame]
    if lacking:
        raise DataError(f"the scores of {evaluator.spec} lack the column {lacking[0]!r}")
    values: np.ndarray[Any, np.dtype[np.float64]] = frame["score"].to_numpy(dtype=np.float64, na_value=np.nan)
    infinite = np.isinf(values)
    if infinite.any():
        where = row_text(frame, int(np.flatnonzero(infinite)[0]), data.keys)
        raise DataError(
            f"{evaluator.spec} gives an infinite score to the unit with {where}; scores must be finite"
        )
    unknown = set(frame["status"].unique()) - set(STATUSES)
    if unknown:
        raise DataError(
            f"{evaluator.spec} gives the status {min(map(str, unknown))!r}; allowed are {', '.join(STATUSES)}"
        )
    if ((frame["status"] == Status.OK.value).to_numpy() == np.isnan(values)).any():
        raise DataError(
            f"{evaluator.spec} must give a score where the status is 'ok', and NaN everywhere else"
        )
