"""Any module of the `evaluate` library as an evaluator."""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from metaeval.base.errors import FOREIGN, SpecError, nearest, shown
from metaeval.base.progress import progress
from metaeval.base.records import Kind
from metaeval.evaluators.base import BaseEvaluator, text
from metaeval.evaluators.grid import Grid
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.text.texts import explanations_of, reference_columns, references_of


class _Module(Protocol):
    """What is used of a module, since the library publishes no types."""

    features: Mapping[str, Any] | list[Mapping[str, Any]]
    name: str
    _hash: str

    def compute(self, *, predictions: list[str], references: list[Any] | None = None) -> object: ...


_log = logging.getLogger("metaeval")
_SEED = 0  # of modules that draw random numbers


@dataclass(frozen=True, repr=False)
class HF(BaseEvaluator):
    """A module of the `evaluate` library: a name on the Hugging Face hub, or a local path (works offline).

    A module is a program: loading one runs its code, as you. Which one is said before, once, on stderr (by
    the logger ``metaeval``). The module is asked about one unit first. If it answers
    with one number, it is an aggregate, and is asked unit by unit; if it answers with a list of one number,
    it is asked once about all units. A module that takes several references per unit gets all of them, any
    other the first. A result of NaN, and a unit without explanation or reference, is ``missing``.

    Parameters
    ----------
    path
        Such as ``'exact_match'`` or ``'metrics/mine.py'``.
    key
        The entry of the module's result to use, if there are several.
    config
        The module's configuration, if it has several.
    """

    kind: ClassVar[Kind] = Kind.REFERENCE
    needs: ClassVar[str] = "texts, and mostly references"

    path: str = text()
    key: str | None = text(None)
    config: str | None = text(None)

    def grid(self, data: ExplanationSet, aspects: Sequence[str]) -> Grid:
        """Return one score per unit, the same for every aspect."""
        explanations = explanations_of(data, self)
        module = self._load()
        takes = _references_taken(module)
        references = [("",)] * len(data) if takes == "none" else references_of(data, self)
        pairs = list(zip(explanations, references, strict=True))
        units = [i for i, (text, of_text) in enumerate(pairs) if text is not None and of_text]
        scores = np.full(len(data), np.nan)
        if units:
            scores[units] = self._scores(module, takes, [pairs[i] for i in units])
        return Grid.repeated(scores, len(aspects))

    def signature(self, data: ExplanationSet) -> Mapping[str, Any]:
        """Return the module, its hash and how references are given to it."""
        module = self._load()
        return {
            "library": f"evaluate {version('evaluate')}",
            "module": str(module.name),
            "module_hash": module._hash,
            "config": self.config,
            "key": self.key,
            "seed": _SEED,
            "references": reference_columns(data),
            "references_used": _references_taken(module),
        }

    def _load(self) -> _Module:
        import evaluate

        _announce(str(self), self.path)
        try:
            module: _Module = evaluate.load(
                self.path, config_name=self.config, keep_in_memory=True, seed=_SEED
            )
        except (FileNotFoundError, ConnectionError) as error:
            raise SpecError(
                f"{self}: there is no module {self.path!r}, neither here nor (if it could be reached) on the "
                "Hugging Face hub; give a local path or a name such as 'exact_match'"
            ) from error
        except FOREIGN as error:
            raise SpecError(f"{self}: the module cannot be loaded: {_first_line(error)}") from error
        inputs = list(_features(module))
        if set(inputs) - {"references"} != {"predictions"}:
            raise SpecError(
                f"{self}: the module asks for {', '.join(inputs)}; "
                "only modules of predictions, with or without references, can score explanations"
            )
        return module

    def _scores(
        self, module: _Module, takes: str, pairs: Sequence[tuple[Any, tuple[str, ...]]]
    ) -> list[float]:
        """Ask about the first unit, and by the form of the answer about the others one by one or at once."""
        first = self._compute(module, takes, pairs[:1])
        if isinstance(first, float):
            results = [first]
            with progress(str(self), len(pairs)) as advance:
                advance(1)
                for pair in pairs[1:]:
                    result = self._compute(module, takes, [pair])
                    if not isinstance(result, float):
                        raise SpecError(
                            f"{self}: the module gave a number for one unit and a list for another"
                        )
                    results.append(result)
                    advance(1)
            return results
        every = self._compute(module, takes, pairs)
        if isinstance(every, float):
            raise SpecError(
                f"{self}: the module gave a number for one unit, but not one each for {len(pairs)}"
            )
        return every

    def _compute(
        self, module: _Module, takes: str, pairs: Sequence[tuple[Any, tuple[str, ...]]]
    ) -> float | list[float]:
        of_form = {"none": None, "all": [list(r) for _, r in pairs], "first": [r[0] for _, r in pairs]}
        try:
            result = module.compute(predictions=[text for text, _ in pairs], references=of_form[takes])
        except FOREIGN as error:
            raise SpecError(f"{self}: the module fails on these texts: {_first_line(error)}") from error
        entries = result if isinstance(result, dict) else {}
        keys = list(map(str, entries))
        listed = ", ".join(map(repr, keys)) or "no result by name"
        if self.key is None and len(entries) != 1:
            raise SpecError(f"{self}: the module gives {listed}; choose one of them with key=")
        key = keys[0] if self.key is None else self.key
        if key not in entries:
            raise SpecError(f"{self}: the module gives {listed}, not {key!r}{nearest(key, keys)}")
        value = entries[key]
        if not isinstance(value, list | tuple | np.ndarray):
            return self._float(value, key)
        if len(value) != len(pairs):
            raise SpecError(
                f"{self}: {key!r} is a list of {len(value)} values for {len(pairs)} units; choose another key"
            )
        return [self._float(v, key) for v in value]

    def _float(self, value: object, key: str) -> float:
        if value is None:
            return math.nan
        if isinstance(value, int | float | np.number | np.bool_):
            return float(value)
        raise SpecError(f"{self}: {key!r} is {shown(value)}, which is not a number; choose another key")


@functools.cache
def _announce(spec: str, path: str) -> None:
    """Say which program is about to run, once."""
    script = Path(path) if path.endswith(".py") else Path(path, f"{Path(path).name}.py")
    if script.is_file():
        _log.warning("metaeval: %s runs the program %s", spec, script.resolve())
    else:
        _log.warning("metaeval: %s runs the program %r of the Hugging Face hub", spec, path)


def _features(module: _Module) -> Mapping[str, Any]:
    """Return the inputs of the module; of several formats the one that takes most references."""
    formats = module.features if isinstance(module.features, list) else [module.features]
    return next((f for f in formats if _is_list(f.get("references"))), formats[0])


def _references_taken(module: _Module) -> str:
    """Return which references of a unit the module takes: ``none``, the ``first`` or ``all``."""
    feature = _features(module).get("references")
    return "all" if _is_list(feature) else "none" if feature is None else "first"


def _is_list(feature: object) -> bool:
    from datasets import Value

    return feature is not None and not isinstance(feature, Value)


def _first_line(error: BaseException) -> str:
    return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
