"""From names to things: evaluators of specs, what programs register, and the check of a judge's prompt."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from metaeval.base.errors import MetaevalError, Problem, SpecError, nearest, shown, unknown
from metaeval.base.plugins import Registry, warn_of_clash
from metaeval.base.records import DataSet, Evaluator
from metaeval.base.spec import EvaluatorSpec, parts_of
from metaeval.evaluators.annotator import Annotator, User
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.chance import Random
from metaeval.evaluators.ensemble import Majority, Mean, Median
from metaeval.evaluators.recorded import Recorded
from metaeval.kinds.functions import Function, OfFrame, function_named, is_function
from metaeval.kinds.index import KINDS, every_kind, kind_named
from metaeval.kinds.kind import Factory
from metaeval.kinds.study import Ablation, Study
from metaeval.llm.prompts.file import read_prompt_file
from metaeval.llm.providers import PROVIDERS
from metaeval.llm.replies.patterns import PATTERNS

if TYPE_CHECKING:
    import os

    from metaeval.judging.models import NamedModel
    from metaeval.judging.prompts import Asks


Given: TypeAlias = str | EvaluatorSpec | Evaluator | OfFrame | Callable[[Any], Any]
"""How an evaluator may be given: as text, as a spec, ready-made or as a function."""

COMMON: Registry[Callable[..., Evaluator]] = Registry(
    "metaeval.evaluators",
    Callable,  # type: ignore[arg-type]
    "a class or a function",
    "evaluator",
    {
        "Annotator": Annotator,
        "DawidSkene": "metaeval.evaluators.annotator:DawidSkene",
        "GLAD": "metaeval.evaluators.annotator:GLAD",
        "MACE": "metaeval.evaluators.annotator:MACE",
        "Majority": Majority,
        "Mean": Mean,
        "Median": Median,
        "Random": Random,
        "Recorded": Recorded,
        "User": User,
    },
)
"""The evaluators that every kind of study has, unless it has one of its own by that name."""


def known_evaluators(kind: str | None = None) -> dict[str, Factory]:
    """Return the evaluators of a kind of study by name; the first kind is that of whoever says none."""
    return {**COMMON, **kind_named(kind).evaluators}


def register(name: str, thing: Any) -> None:  # noqa: ANN401 - anything that can be registered
    """Make an evaluator, a provider, a kind of study or a pattern of replies known by a name.

    An installed package does the same by entry points: ``metaeval.evaluators``, ``metaeval.providers``,
    ``metaeval.kinds``, ``metaeval.patterns``.

    Parameters
    ----------
    name
        As it stands in specs and files.
    thing
        A `StudyKind`, a ``Provider`` or a ``ReplyPattern``; else what makes an evaluator: a class (or
        function) that takes the spec's arguments and gives an `Evaluator`; parts that are evaluators come
        ready-made. It raises `SpecError` for a wrong value, and its evaluators raise `DataError` on data that
        lack what they need. A kind that has an evaluator of its own by that name keeps its own.

    Raises
    ------
    MetaevalError
        If the name is taken or cannot stand in a spec.
    """
    registries: tuple[Registry[Any], ...] = (KINDS, PROVIDERS, PATTERNS)
    for registry in registries:
        if isinstance(thing, registry.sort):
            registry.register(name, thing)
            return
    EvaluatorSpec(name)  # refuses what is no name
    if known_evaluators().get(name, thing) is not thing:
        raise SpecError(f"{name!r} is registered already; choose another name for the evaluator")
    COMMON[name] = thing


def build(
    spec_or_text: Given,
    names: Mapping[str, Given] | None = None,
    known: Mapping[str, Factory] | None = None,
    models: Mapping[str, NamedModel] | None = None,
) -> Evaluator:
    """Return the evaluator that a spec describes.

    Parameters
    ----------
    spec_or_text
        Such as ``"BLEU(n=4)"``, an `EvaluatorSpec`, or an evaluator, which is returned as it is.
    names
        Short names that the spec may use; their specs may use each other, in any order.
    known
        The evaluators of the kind of study: name → class; all that are known, if left out.
    models
        Short names that judges may give for their models.

    Raises
    ------
    SpecError
        If the spec cannot be read, or its name, an argument or a short name is wrong.
    """
    return Builder(names or {}, known, models).build(spec_or_text)


def factory_named(
    spec: EvaluatorSpec, known: Mapping[str, Factory] | None = None
) -> Callable[..., Evaluator]:
    """Return what makes the evaluators of a name: of a kind of study, or of an installed package.

    `SpecError` is raised if there is none, or the package cannot be used.
    """
    known = known_evaluators() if known is None else known
    if spec.name in known:
        factory = known[spec.name]
        if isinstance(factory, str) or factory.__module__.startswith("metaeval."):
            warn_of_clash(COMMON.group, spec.name)
        return resolve_name(factory) if isinstance(factory, str) else factory
    if spec.name == Function.__name__:
        raise SpecError(
            f"{spec}: this evaluator is a Python function, which no spec describes; give it to metaeval.run "
            f"or metaeval.score in Python: {{{spec.args[0] if spec.args else 'name'!r}: function}}"
        )
    names = sorted({*known, *COMMON.names})
    if spec.name not in names:
        raise SpecError(
            f"{spec}: there is no evaluator {spec.name!r}; "
            f"known are {', '.join(names)}{nearest(spec.name, names)}"
        )
    try:
        return COMMON.named(spec.name)
    except MetaevalError as error:
        raise SpecError(f"{spec}: {error}") from error


class Builder:
    """Builds evaluators that may refer to each other by short names; equal specs give one evaluator."""

    def __init__(
        self,
        names: Mapping[str, Given],
        known: Mapping[str, Factory] | None = None,
        models: Mapping[str, NamedModel] | None = None,
    ) -> None:
        self.names = ShortNames(names)
        self._known, self._models = known, models
        self._built: dict[str, Evaluator] = {}

    def build(self, given: Given) -> Evaluator:
        """Return the evaluator for a text, a spec or a function; an evaluator is returned as it is."""
        if isinstance(given, str):
            given = EvaluatorSpec.parse(given, self.names)
        if isinstance(given, EvaluatorSpec):
            return self._from_spec(given)
        if is_function(given):
            return function_named(None, given)
        if not _is_evaluator(given):
            raise SpecError(f"an evaluator is given as text, such as 'BLEU(n=4)', not as {shown(given)}")
        return given

    def named(self, name: str) -> Evaluator:
        """Return the evaluator that a short name stands for."""
        return self.build(self.names[name])

    def _from_spec(self, spec: EvaluatorSpec) -> Evaluator:
        text = str(spec)
        if text not in self._built:
            self._built[text] = self.names.ready_made.get(text) or self._constructed(spec)
        return self._built[text]

    def _constructed(self, spec: EvaluatorSpec) -> Evaluator:
        factory = factory_named(spec, self._known)
        signature = inspect.signature(factory)
        _check_arguments(spec, signature)
        args = [self._argument(a) for a in spec.args]
        kwargs = {k: self._argument(v) for k, v in spec.kwargs.items()}
        if self._models and hasattr(factory, "built_with"):
            evaluator: Evaluator = factory.built_with(
                self._models, **signature.bind(*args, **kwargs).arguments
            )
        else:
            evaluator = factory(*args, **kwargs)
        if isinstance(evaluator, BaseEvaluator):
            evaluator.written_as(spec)
        return evaluator

    def _argument(self, value: object) -> object:
        if isinstance(value, EvaluatorSpec):
            return self._from_spec(value)
        return tuple(map(self._argument, value)) if isinstance(value, tuple) else value


class ShortNames(Mapping[str, EvaluatorSpec]):
    """Short names and the specs they stand for, each read when it is first used."""

    def __init__(self, given: Mapping[str, Given]) -> None:
        self._given = {n: function_named(n, g) if is_function(g) else g for n, g in given.items()}
        self.ready_made = _ready_made(self._given)
        self._specs: dict[str, EvaluatorSpec] = {}
        self._open: list[str] = []

    def __getitem__(self, name: str) -> EvaluatorSpec:
        if name not in self._specs:
            value = self._given[name]
            if name in self._open:
                raise SpecError(f"{name!r} is defined by itself: {' → '.join([*self._open, name])}")
            self._open.append(name)
            try:
                self._specs[name] = self._read(name, value)
            finally:
                self._open.pop()
        return self._specs[name]

    def __contains__(self, name: object) -> bool:
        return name in self._given

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def _read(self, name: str, value: Given) -> EvaluatorSpec:
        if isinstance(value, str):
            return EvaluatorSpec.parse(value, self)
        spec = value if isinstance(value, EvaluatorSpec) else getattr(value, "spec", None)
        if not isinstance(spec, EvaluatorSpec):
            raise SpecError(
                f"{name!r}: an evaluator is given as text, such as 'BLEU(n=4)', not as {shown(value)}"
            )
        return spec


def variants_of(study: Study, ablations: Sequence[Ablation]) -> Iterator[tuple[str, str]]:
    """Yield name and spec of every variant that the ablations add."""
    names = ShortNames(study.specs)
    for at, ablation in enumerate(ablations):
        if ablation.base not in study.specs:
            sentence = unknown("there is no evaluator", ablation.base, study.specs, "there are")
            raise study.error(sentence, "ablations", at, "base")
        with study.errors_at("ablations", at):
            for variant in ablation.variants(names[ablation.base]):
                yield from variant.specs.items()


def fitting(pattern: str, names: Collection[str]) -> list[str]:
    """Return the names that a pattern with stars stands for; itself, if it is one of them."""
    if pattern in names:
        return [pattern]
    of = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
    return [name for name in names if of.fullmatch(name)]


def truth_of(study: Study) -> Evaluator:
    """Return the truth of a study; `StudyError` is raised if it cannot be built."""
    return _built(study, _builder_of(study), study.truth, "truth")


def evaluators_of(study: Study, data: DataSet, truth: EvaluatorSpec) -> dict[str, Evaluator]:
    """Return every evaluator of a study by its name, in its order; `StudyError` is raised for a wrong one.

    ``Recorded('*')`` stands for every recorded evaluator of the data whose name fits and that the study does
    not name elsewhere, as evaluator or truth; each keeps its recorded name.
    """
    listed, builder, names = study.evaluators, _builder_of(study), Recorded.found_in(data)
    items: list[tuple[str | int, str]] = (
        [*listed.items()] if isinstance(listed, dict) else [*enumerate(listed)]
    )
    found: dict[str, Evaluator] = {}
    patterns: dict[str, list[str]] = {}
    for at, text in items:
        evaluator = _built(study, builder, text, "evaluators", at)
        spec = evaluator.spec
        if why := holds_truth(spec, truth):
            raise study.error(why, "evaluators", at)
        name = at if isinstance(at, str) else str(spec)
        if (matching := _matching(spec, names)) is not None:
            patterns[name] = matching
            if not matching:
                hint = nearest(str(spec.args[0]), names)
                have = (
                    f" (recorded: {', '.join(names)})" if names else "; the data set has no recorded scores"
                )
                raise study.error(f"no recorded evaluator fits {spec}{hint}{have}", "evaluators", at)
        elif name in found:
            message = f"{text!r} and an evaluator before it are both {name}; name it once"
            raise study.error(message, "evaluators", at)
        found[name] = evaluator
    taken = {str(evaluator.spec) for evaluator in found.values()} | parts_of(truth)
    resolved: dict[str, Evaluator] = {}
    for name, evaluator in found.items():
        if name not in patterns:
            resolved[name] = evaluator
        for recorded in patterns.get(name, ()):
            each = EvaluatorSpec(Recorded.__name__, (recorded,))
            if str(each) not in taken:
                taken.add(str(each))
                own = str(each) if recorded in found or recorded in resolved else recorded
                resolved[own] = builder.build(each)
    return resolved


def holds_truth(spec: EvaluatorSpec, truth: EvaluatorSpec) -> str:
    """Return a sentence if an evaluator is the truth, or made of it and others; else an empty text."""
    whole = parts_of(truth)
    if not whole <= parts_of(spec):
        return ""
    what = f"{spec} is" if parts_of(spec) == whole else f"{spec} holds"
    return (
        f"{what} the truth {truth}, and would agree with itself; leave it out of the evaluators, or choose "
        "another truth"
    )


def _builder_of(study: Study) -> Builder:
    short = study.evaluators if isinstance(study.evaluators, dict) else {}
    return Builder({**short, **study.from_memory.evaluators}, known_evaluators(study.kind), study.models)


def _built(study: Study, builder: Builder, text: str, *where: str | int) -> Evaluator:
    try:
        return builder.build(text)
    except SpecError as error:
        cut = text.count("(") != text.count(")") or text.count("'") % 2
        hint = "; put a spec that has a comma in quotes" if cut else ""
        raise study.error(f"{error}{hint}", *where) from error


def _matching(spec: EvaluatorSpec, names: list[str]) -> list[str] | None:
    """Return the recorded evaluators that a ``Recorded`` with a star stands for; None if it is no pattern."""
    match spec:
        case EvaluatorSpec(name="Recorded", args=(str() as text,)) if "*" in text and text not in names:
            return fitting(text, names)
        case _:
            return None


def _is_evaluator(given: object) -> TypeGuard[Evaluator]:
    return hasattr(given, "score") and isinstance(getattr(given, "spec", None), EvaluatorSpec)


def _ready_made(given: Mapping[str, Given]) -> dict[str, Evaluator]:
    """Return the evaluators that were given as such, by their specs."""
    found: dict[str, Evaluator] = {}
    for name, value in given.items():
        if not _is_evaluator(value):
            continue
        if found.setdefault(str(value.spec), value) is not value:
            raise SpecError(
                f"{name!r}: another evaluator with the spec {value.spec} is given; specs must differ"
            )
    return found


def _check_arguments(spec: EvaluatorSpec, signature: inspect.Signature) -> None:
    parameters = signature.parameters.values()
    named = [p.name for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
    usage = f"{spec.name}({', '.join(map(_parameter_text, parameters))})"
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        for name in spec.kwargs:
            if name not in named:
                raise SpecError(
                    f"{spec}: {spec.name} has no argument {name!r}; write {usage}{nearest(name, named)}"
                )
    try:
        signature.bind(*spec.args, **spec.kwargs)
    except TypeError as error:
        raise SpecError(f"{spec}: {error}; write {usage}") from error


def _parameter_text(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.default is parameter.empty:
        return parameter.name
    return f"{parameter.name}={parameter.default!r}"


def check_judge_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a judge's prompt; an empty list if it can be used.

    It is checked as a prompt of the judge that fills the most of its placeholders.
    """
    placeholders = read_prompt_file(Path(path)).header.placeholders
    names = {*placeholders.required, *placeholders.optional}
    return max(_prompts_of_judges(), key=lambda asks: len(names.intersection(asks.known))).problems(path)


def _prompts_of_judges() -> Iterator[Asks]:
    """Yield what the prompts of the judges of all kinds may show."""
    for kind in every_kind():
        for factory in kind.evaluators.values():
            if asks := getattr(COMMON.loaded(factory), "asks", None):
                yield asks
