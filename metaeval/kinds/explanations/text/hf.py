"""Any module of the `evaluate` library as an evaluator."""

from __future__ import annotations

import functools
import logging
import math
import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from metaeval.base.errors import SpecError, nearest, shown
from metaeval.base.progress import progress
from metaeval.base.records import Kind
from metaeval.evaluators.arguments import check_text
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.grid import Grid
from metaeval.kinds.explanations.text.texts import explanations_of, reference_columns, references_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


class _Module(Protocol):
    """What is used of a module, since the library publishes no types."""

    features: Mapping[str, Any] | list[Mapping[str, Any]]
    name: str
    _hash: str

    def compute(self, *, predictions: list[str], references: list[Any] | None = None) -> object: ...


_log = logging.getLogger("metaeval")
_SEED = 0  # of modules that draw random numbers
_JOINED_IMPORTS = re.compile(r"'(\w+)[,;]'")  # in the list of what `evaluate` finds missing


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

    path: str
    key: str | None = None
    config: str | None = None

    def __post_init__(self) -> None:
        check_text("HF", "path", self.path)
        if self.key is not None:
            check_text("HF", "key", self.key)
        if self.config is not None:
            check_text("HF", "config", self.config)

    def grid(self, data: ExplanationSet, aspects: Sequence[str]) -> Grid:
        """Return one score per unit, the same for every aspect."""
        explanations = explanations_of(data, self)
        module = self._load()
        if "references" in _inputs(module):
            references: list[tuple[str, ...]] = references_of(data, self)
        else:
            references = [("",)] * len(explanations)
        units = [
            i for i, (e, r) in enumerate(zip(explanations, references, strict=True)) if e is not None and r
        ]
        scores = np.full(len(data), np.nan)
        if units:
            texts = [explanations[i] or "" for i in units]
            scores[units] = self._compute_all(module, texts, [references[i] for i in units])
        return Grid.repeated(scores, len(aspects))

    def signature(self, data: ExplanationSet) -> Mapping[str, Any]:
        """Return the module, its hash and how references are given to it."""
        module = self._load()
        takes = "none"
        if "references" in _inputs(module):
            takes = "all" if _takes_lists(module) else "first"
        return {
            "library": f"evaluate {version('evaluate')}",
            "module": str(module.name),
            "module_hash": module._hash,
            "config": self.config,
            "key": self.key,
            "seed": _SEED,
            "references": reference_columns(data),
            "references_used": takes,
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
        except (ImportError, ValueError, KeyError, TypeError) as error:
            raise SpecError(f"{self}: the module cannot be loaded: {_not_loaded(error)}") from error
        unknown = set(_inputs(module)) - {"predictions", "references"}
        if unknown or "predictions" not in _inputs(module):
            raise SpecError(
                f"{self}: the module asks for {', '.join(_inputs(module))}; "
                "only modules of predictions, with or without references, can score explanations"
            )
        return module

    def _compute_all(
        self, module: _Module, texts: Sequence[str], references: Sequence[tuple[str, ...]]
    ) -> list[float]:
        first = self._compute(module, texts[:1], references[:1])
        if isinstance(first, float):
            results = [first]
            with progress(str(self), len(texts)) as advance:
                advance(1)
                for start in range(1, len(texts)):
                    batch = slice(start, start + 1)
                    result = self._compute(module, texts[batch], references[batch])
                    if not isinstance(result, float):
                        raise SpecError(
                            f"{self}: the module gave a number for one unit and a list for another"
                        )
                    results.append(result)
                    advance(1)
            return results
        result = self._compute(module, texts, references)
        if isinstance(result, float) or len(result) != len(texts):
            raise SpecError(
                f"{self}: the module gave a number for one unit, but not one each for {len(texts)}"
            )
        return result

    def _compute(
        self, module: _Module, texts: Sequence[str], references: Sequence[tuple[str, ...]]
    ) -> float | list[float]:
        given: list[Any] | None = None
        if "references" in _inputs(module):
            given = [list(r) for r in references] if _takes_lists(module) else [r[0] for r in references]
        try:
            result = module.compute(predictions=list(texts), references=given)
        except (ValueError, TypeError, ArithmeticError, LookupError) as error:
            raise SpecError(f"{self}: the module fails on these texts: {_first_line(error)}") from error
        return self._number(result, len(texts))

    def _number(self, result: object, units: int) -> float | list[float]:
        entries = result if isinstance(result, dict) else {}
        keys = list(map(str, entries))
        if self.key is None and len(entries) != 1:
            raise SpecError(f"{self}: the module gives {_listed(keys)}; choose one of them with key=")
        key = keys[0] if self.key is None else self.key
        if key not in entries:
            raise SpecError(f"{self}: the module gives {_listed(keys)}, not {key!r}{nearest(key, keys)}")
        value = entries[key]
        if isinstance(value, list | tuple | np.ndarray):
            if len(value) == units:
                return [self._float(v, key) for v in value]
            raise SpecError(
                f"{self}: {key!r} is a list of {len(value)} values for {units} units; choose another key"
            )
        return self._float(value, key)

    def _float(self, value: object, key: str) -> float:
        if value is None:
            return math.nan
        if isinstance(value, int | float | np.number | np.bool_):
            return float(value)
        raise SpecError(f"{self}: {key!r} is {shown(value)}, which is not a number; choose another key")


@functools.cache
def _announce(spec: str, path: str) -> None:
    """Say which program is about to run, once."""
    given = Path(path)
    script = given if given.suffix == ".py" else given / f"{given.name}.py"
    if script.is_file():
        _log.warning("metaeval: %s runs the program %s", spec, script.resolve())
    else:
        _log.warning("metaeval: %s runs the program %r of the Hugging Face hub", spec, path)


def _features(module: _Module) -> Mapping[str, Any]:
    """Return the inputs of the module; of several formats the one that takes most references."""
    given = module.features
    formats: list[Mapping[str, Any]] = list(given) if isinstance(given, list) else [given]
    return next((f for f in formats if _is_list(f.get("references"))), formats[0])


def _inputs(module: _Module) -> list[str]:
    return list(_features(module))


def _takes_lists(module: _Module) -> bool:
    return _is_list(_features(module).get("references"))


def _is_list(feature: object) -> bool:
    from datasets import Value

    return feature is not None and not isinstance(feature, Value)


def _not_loaded(error: Exception) -> str:
    # `evaluate` takes the first word after `import` for a library, with the comma behind it, and asks for it
    # to be installed.
    joined = isinstance(error, ImportError) and _JOINED_IMPORTS.search(str(error))
    if joined:
        return (
            f"its script imports {joined[1]!r} and more on one line, which the `evaluate` library cannot "
            "read; give each import of the script a line of its own"
        )
    return _first_line(error)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(map(repr, keys)) if keys else "no result by name"
