"""The kind of study whose units are matched pairs of items that a log shows to a user."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError, SpecError
from metaeval.base.spec import EvaluatorSpec
from metaeval.kinds.ablations import variants_of
from metaeval.kinds.exposure import reading
from metaeval.kinds.exposure.calibration.groups import check
from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.files import FILES, TEXTS
from metaeval.kinds.exposure.judge.judge import DISCARD
from metaeval.kinds.exposure.matching import pairs_of_study
from metaeval.kinds.exposure.off_policy.policies import policy_file
from metaeval.kinds.exposure.pair_auc import ALL, BIN, IPS, NONE, PairCells
from metaeval.kinds.exposure.study import ExposureStudy
from metaeval.kinds.files.folder import folder_of
from metaeval.kinds.files.labels import VERDICTS
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.registry import ShortNames
from metaeval.kinds.study import unknown_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from metaeval.base.spec import Argument
    from metaeval.engine.board import Board
    from metaeval.engine.drilldown import UnitView
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.results import Results
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.scored import Scored

_JUDGE = "MatchedPairs"


class ExposureKind(StudyKind):
    """Matched pairs of a user's items: which of the two had the better outcome."""

    name = "exposure"
    study = ExposureStudy
    evaluators = {  # noqa: RUF012 - as a reader would write it
        "FirstPosition": "metaeval.evaluators.showings:FirstPosition",
        "MatchedPairs": "metaeval.kinds.exposure.judge.judge:MatchedPairs",
        "Popularity": "metaeval.kinds.exposure.baselines:PopularItem",
        "Random": "metaeval.evaluators.showings:Coin",
        "System": "metaeval.kinds.exposure.baselines:System",
    }
    files = FILES
    texts = TEXTS
    labels = VERDICTS

    def load(self, place: str | Path) -> LogSet:
        """Load the folder of a log."""
        return load(place)

    def chosen(self, study: ExposureStudy, data: LogSet) -> LogSet:
        """Check that there are pairs to judge, weight them, and add those of ablations."""
        if not len(data):
            command = f"metaeval data pairs {shlex.quote(study.dataset)}"
            raise study.error(f"{study.dataset} has no pairs to judge; make them with: {command}", "dataset")
        try:
            return pairs_of_study(study, data)
        except MetaevalError as error:
            where = "propensity" if study.propensity.own else "ablations"
            raise study.error(str(error), where) from error

    def resolve(self, study: ExposureStudy, data: LogSet) -> ExposureStudy:
        """Fill in variants of ablations, the rule on evidence, and the cell that orders the leaderboard."""
        _check(study, data)
        order, weighted = study.order_by, data.table["weight"].notna().all()
        if order.weighting == IPS and not weighted:
            message = "not every pair has a weight; make pairs with propensities, or set weighting: none"
            raise study.error(message, "order_by", "weighting")
        bins = [ALL, *sorted(data.table[BIN].dropna().astype(str).unique())] if BIN in data.table else [ALL]
        if order.bin not in bins:
            raise study.error(unknown_word("bin of popularity", order.bin, bins), "order_by", "bin")
        for at, ablation in enumerate(study.ablations):
            for name in ablation.against:
                if name not in study.specs:
                    raise study.error(unknown_word("evaluator", name, list(study.specs)), "ablations", at)
        named = {**study.specs, **dict(variants_of(study, study.ablations))}
        specs = named if study.evidence == DISCARD else dict(_ruled(study, named))
        order = order.model_copy(update={"weighting": order.weighting or (IPS if weighted else NONE)})
        return study.model_copy(update={"evaluators": specs, "order_by": order})

    def cells(self, scored: Scored[ExposureStudy]) -> PairCells:
        """Measure PairAUC and RJS."""
        return PairCells(scored)

    def results(self, scored: Scored[ExposureStudy]) -> Results:
        """Measure PairAUC and RJS, and audit evidence."""
        from metaeval.kinds.exposure.results import results

        return results(scored)

    def details(self, scored: Scored[ExposureStudy]) -> Sequence[Sheet]:
        """Return agreement, ablations and the audit; those of ratings on a scale say nothing of verdicts."""
        from metaeval.kinds.exposure.results import sheets

        return list(sheets(scored))

    def figures(
        self,
        scored: Scored[ExposureStudy],
        board: Board,
        names: Sequence[str] = (),
        first: Mapping[str, str] | None = None,
    ) -> Sequence[Figure]:
        """Draw agreement weighted and unweighted, and by bin."""
        from metaeval.kinds.exposure.results import figures

        return figures(scored, board, names, first)

    def unit_view(self, data: LogSet, aspects: Sequence[str]) -> UnitView:
        """Show both items side by side, and what is known of the user."""
        return reading.unit_view(data, aspects)


EXPOSURE = ExposureKind()


def _ruled(study: ExposureStudy, named: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield name and spec of all evaluators; judges treat invented evidence as the study says, or they do."""

    def ruled(spec: EvaluatorSpec) -> EvaluatorSpec:
        own: dict[str, Argument] = {"evidence": study.evidence} if spec.name == _JUDGE else {}
        args = tuple(ruled(arg) if isinstance(arg, EvaluatorSpec) else arg for arg in spec.args)
        return EvaluatorSpec(spec.name, args, {**own, **spec.kwargs})

    names = ShortNames(named)
    for name in named:
        try:
            yield name, str(ruled(names[name]))
        except SpecError as error:
            raise study.error(str(error), "evaluators", name) from error


def _check(study: ExposureStudy, data: LogSet) -> None:
    """See that policies and groups are there, and that no truth is made of synthetic rows."""
    for at, policy in enumerate(study.policies or ()):
        try:
            policy_file(policy, folder_of(study.dataset))
        except MetaevalError as error:
            raise study.error(str(error), "policies", at) from error
    if data.synthetic is not None and study.truth.partition("(")[0].strip() != "User":
        raise study.error(
            f"{study.dataset} has synthetic rows, and {study.truth} may be made of them; "
            f"the truth is User(), the user's own log",
            "truth",
        )
    if study.margin is None:
        return
    if data.runs is None:
        raise study.error(f"{study.dataset} has no table `runs`, which an audit of maps needs", "margin")
    for by in study.transport:
        try:
            check(data, by)
        except MetaevalError as error:
            raise study.error(f"transport: {error}", "transport") from None
