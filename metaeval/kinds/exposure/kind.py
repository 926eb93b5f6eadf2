"""The kind of study whose units are matched pairs of items that a log shows to a user."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.records import FIRST, SECOND
from metaeval.base.spec import Argument, EvaluatorSpec
from metaeval.data.folder import folder_of
from metaeval.data.labels import VERDICTS
from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.data.log_set import KEYS, MATCHING, USER, WEIGHT, LogSet
from metaeval.kinds.exposure.judge import DISCARD
from metaeval.kinds.exposure.measures import ALL, BIN, BY_FIELD, IPS, NONE, PAIR_AUC, UNITS, PairCells
from metaeval.kinds.exposure.off_policy.policies import policy_place
from metaeval.kinds.exposure.pairs import pairs_of_study
from metaeval.kinds.exposure.recommenders.transport import check
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.exposure.study import ExposureStudy
from metaeval.kinds.kind import Ordering, StudyKind
from metaeval.kinds.known_items import called, fields_text, histories_text
from metaeval.kinds.registry import ShortNames, variants_of
from metaeval.kinds.study import unknown_word
from metaeval.kinds.table import KindTable

_JUDGE = "MatchedPairs"


class ExposureKind(StudyKind):
    """Matched pairs of a user's items: which of the two had the better outcome."""

    name = "exposure"
    study = ExposureStudy
    evaluators = {  # noqa: RUF012 - as a reader would write it
        "FirstPosition": "metaeval.evaluators.chance:FirstPosition",
        "MatchedPairs": "metaeval.kinds.exposure.judge:MatchedPairs",
        "Popularity": "metaeval.kinds.exposure.measures:PopularItem",
        "Random": "metaeval.evaluators.chance:Coin",
        "System": "metaeval.kinds.exposure.measures:System",
    }
    scored: ClassVar[type[ExposureScored]] = ExposureScored
    rated = False
    labels = VERDICTS

    def load(self, place: str | Path) -> LogSet:
        """Load the folder of a log."""
        return load(place)

    def chosen(self, study: ExposureStudy, data: LogSet) -> LogSet:
        """Check that there are pairs to judge, weight them, and add those of ablations."""
        if not len(data):
            command = f"metaeval data pairs {shlex.quote(study.place)}"
            raise study.error(f"{study.dataset} has no pairs to judge; make them with: {command}", "dataset")
        with study.errors_at("propensity" if study.propensity.own else "ablations"):
            return pairs_of_study(study, data)

    def resolve(self, study: ExposureStudy, data: LogSet) -> ExposureStudy:
        """Fill in variants of ablations, the rule on evidence, and the cell that orders the leaderboard."""
        _check(study, data)
        if study.by is not None:
            with study.errors_at("by"):
                self.column(data, study.by)
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

    def cells(self, scored: ExposureScored) -> PairCells:
        """Measure PairAUC and RJS."""
        return PairCells(scored)

    def ordering(self, scored: ExposureScored, names: Sequence[str]) -> Iterator[tuple[str, Ordering]]:
        """Say whether judges order recommenders as their Recall does, where the log has lists of any."""
        from metaeval.kinds.exposure.recommenders.link import ordering

        return ordering(scored, names)

    def words(self, scored: ExposureScored) -> dict[str, str]:
        """Explain pairs, their weights and their measures."""
        del scored
        return {
            "pair": "two items that a user was shown, alike in popularity; each is shown first once",
            "PairAUC": "the share of verdicts for the item with the better outcome; 0.5 by chance",
            "RJS": "2 PairAUC − 1: 0 by chance, 1 for all right; users alike: its mean over users",
            "bin": "a part of the pairs by the popularity of their items; bin 0 has the most popular",
            "propensities": "the probabilities with which the log shows users items",
            "IPS": "inverse propensity scoring: what is seldom shown counts more, by 1 / propensity",
            "SNIPS": "self-normalized IPS: divided by the sum of the weights",
            "coin": "an evaluator that prefers either side at random",
        }

    @property
    def tables(self) -> Sequence[KindTable]:
        """Agreement, ablations, the audit of evidence, the log, policies, recommenders and figures."""
        from metaeval.kinds.exposure import charts
        from metaeval.kinds.exposure.judges import ABLATIONS, EVIDENCE_TABLE, INVENTED_TABLE
        from metaeval.kinds.exposure.off_policy.tables import OFF_POLICY, POLICY_OVERLAP
        from metaeval.kinds.exposure.propensity.tables import LOG_TABLES
        from metaeval.kinds.exposure.recommenders.link import CALIBRATION, POINTS
        from metaeval.kinds.exposure.recommenders.transport import TRANSPORT
        from metaeval.kinds.exposure.recommenders.values import RECOMMENDERS

        return (
            *(UNITS, PAIR_AUC, BY_FIELD, ABLATIONS, EVIDENCE_TABLE, INVENTED_TABLE),
            *(*LOG_TABLES, OFF_POLICY, POLICY_OVERLAP),
            *(RECOMMENDERS, CALIBRATION, POINTS, TRANSPORT),
            *(charts.BIAS, charts.BY_BIN, charts.CURVE),
        )

    def unit_view(self, data: LogSet, aspects: Sequence[str]) -> UnitView:
        """Show both items side by side, and what is known of the user."""
        table, names = data.table, called(data)
        users = table[USER].astype(str).tolist()
        own = table[table[MATCHING] == ""] if MATCHING in table else table
        histories = histories_text(data, replace(data, table=own).judged)
        profiles = fields_text(data.profiles, USER)
        bins = [str(c) for c in ("popularity", "age", "category") if c in table]
        sides = {
            side: [names.get(item) or item for item in table[side].astype(str)] for side in (FIRST, SECOND)
        }
        return UnitView(
            (
                *(UnitColumn(key, data.nouns[key], table[key].astype(str).tolist()) for key in KEYS),
                *(
                    UnitColumn(name, f"bin of {name}", table[name].astype(str).tolist(), key=False)
                    for name in bins
                ),
            ),
            (
                UnitText("shown first", sides[FIRST]),
                UnitText("shown second", sides[SECOND], beside=True),
                UnitText(
                    "weight of the pair",
                    [None if w != w else f"{w:.4g}" for w in table[WEIGHT]],  # noqa: PLR0124 NaN
                    blind=False,
                ),
                UnitText("profile of the user", [profiles.get(user) for user in users]),
                UnitText("what the user did before", [histories.get(user) for user in users]),
            ),
            tuple(Rated(aspect, data.aspects.get(aspect, "")) for aspect in aspects),
        )


EXPOSURE = ExposureKind()


def _ruled(study: ExposureStudy, named: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield name and spec of all evaluators; judges treat invented evidence as the study says, or they do."""

    def ruled(spec: EvaluatorSpec) -> EvaluatorSpec:
        own: dict[str, Argument] = {"evidence": study.evidence} if spec.name == _JUDGE else {}
        args = tuple(ruled(arg) if isinstance(arg, EvaluatorSpec) else arg for arg in spec.args)
        return EvaluatorSpec(spec.name, args, {**own, **spec.kwargs})

    names = ShortNames(named)
    for name in named:
        with study.errors_at("evaluators", name):
            yield name, str(ruled(names[name]))


def _check(study: ExposureStudy, data: LogSet) -> None:
    """See that policies and groups are there, and that no truth is made of synthetic rows."""
    for at, policy in enumerate(study.policies or ()):
        with study.errors_at("policies", at):
            policy_place(policy, folder_of(study.place), data.log)
    if study.predictions is not None and not Path(study.predictions).is_file():
        raise study.error(f"there is no file of predictions {study.predictions!r}", "predictions")
    for name, known in study.on_policy.items():
        if study.policies is not None and name not in study.policies:
            message = f"the policy {name!r} is not evaluated{nearest(name, study.policies)}"
            raise study.error(message, "on_policy", name)
        if isinstance(known, str) and not Path(known).is_dir():
            raise study.error(f"{known!r} is neither a number nor the folder of a log", "on_policy", name)
    if data.synthetic is not None and study.truth.partition("(")[0].strip() != "User":
        raise study.error(
            f"{study.dataset} has synthetic rows, and {study.truth} may be made of them; "
            f"the truth is User(), the user's own log",
            "truth",
        )
    online = study.recommenders.online
    if online is not None and not Path(online).is_file():
        raise study.error(f"there is no table of online values {online!r}", "recommenders", "online")
    if study.margin is None:
        return
    if data.runs is None:
        raise study.error(f"{study.dataset} has no table `runs`, which an audit of maps needs", "margin")
    for by in study.transport:
        try:
            check(data, by)
        except MetaevalError as error:
            raise study.error(f"transport: {error}", "transport") from None
