"""A baseline on disk: a small JSON file, and the scores of the units in a CSV file beside it.

``main.json`` holds the thresholds, the judge, the data's fingerprint, the mean of every aspect and category,
and the SHA-256 of ``main.units.csv``, which has one row per unit and one column per aspect. Rows and keys are
sorted, so that a review shows what changed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import MetaevalError
from metaeval.base.files import write_text
from metaeval.base.formulas import safe, unprotected
from metaeval.base.keys import nouns_of
from metaeval.base.simulation import Simulation
from metaeval.trust.gate.pairs import GateScores, cell, cells_of
from metaeval.trust.gate.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

FORMAT = "metaeval gate baseline 1"
_ASPECT, _CALL = "score ", "call "  # before the name of an aspect, in the header of the units
_ONE_CALL = "call"  # where one question asked for all aspects


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """The content of a baseline file."""

    scored: GateScores
    rules: Rules
    by: str
    """The column of the categories; empty if there are none."""
    cluster: str


def write_baseline(path: Path, baseline: Baseline) -> list[Path]:
    """Write a baseline; return its two files.

    Raises
    ------
    MetaevalError
        If the name of the file does not end in ``.json``, or nothing was scored.
    """
    if path.suffix != ".json":
        raise MetaevalError(f"{path} cannot be a baseline: its name must end in .json")
    scored, rules, beside = baseline.scored, baseline.rules, path.with_name(f"{path.stem}.units.csv")
    if not scored.frame["score"].notna().any():
        raise MetaevalError(f"{scored.evaluator} scored nothing in this run: there is no baseline to write")
    units = _units_text(scored)
    record = {
        "format": FORMAT,
        "judge": {"evaluator": scored.evaluator, "identity": scored.identity},
        "data": {
            "name": scored.data,
            "fingerprint": scored.fingerprint,
            "scale": list(scored.scale),
            "simulated": scored.simulated.what,
        },
        "by": baseline.by,
        "cluster": baseline.cluster,
        **({"nouns": scored.nouns} if scored.nouns != nouns_of(scored.keys) else {}),
        "thresholds": {
            "min": dict(rules.least),
            "max_drop": dict(rules.max_drop),
            "alpha": rules.alpha,
            "max_missing": rules.max_missing,
        },
        "means": _means(scored, baseline.by),
        "units": {"file": beside.name, "sha256": _digest(units)},
    }
    text = json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    # The file that names the other one comes last.
    write_text(beside, units)
    write_text(path, text + "\n")
    return [path, beside]


def _simulation(what: str | bool, evaluator: str) -> Simulation:
    """Return what is simulated, from the words of `Simulation.what`; true does not say what."""
    if isinstance(what, bool):
        return Simulation(what, (evaluator,) if what else ())
    return Simulation("data" in what, (evaluator,) if "judges" in what else ())


def read_baseline(path: Path) -> Baseline:
    """Read a baseline that `write_baseline` wrote.

    Raises
    ------
    MetaevalError
        If it is none, or its units are not those that it was written with.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MetaevalError(
            f"there is no baseline {path}; write one with: metaeval gate RUN --write-baseline {path}"
        ) from None
    except ValueError as error:
        raise MetaevalError(f"{path} is not JSON, so not a baseline: {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise MetaevalError(f"{path} is not a baseline of this version ({FORMAT}); write it again")
    try:
        beside = path.with_name(record["units"]["file"])
        text = beside.read_bytes().decode("utf-8").replace("\r\n", "\n")
        if _digest(text) != record["units"]["sha256"]:
            raise MetaevalError(
                f"{beside} is not the file that {path.name} was written with: take both from the same run, "
                "or write the baseline again"
            )
        data, judge, thresholds = record["data"], record["judge"], record["thresholds"]
        low, high = map(float, data["scale"])
        scored = GateScores(
            _units_frame(text),
            str(judge["evaluator"]),
            judge["identity"],
            (low, high),
            str(data["name"]),
            str(data["fingerprint"]),
            _simulation(data["simulated"], str(judge["evaluator"])),
            record.get("nouns", {}),
        )
        rules = Rules(
            _numbers(thresholds["min"]),
            _numbers(thresholds["max_drop"]),
            float(thresholds["alpha"]),
            float(thresholds["max_missing"]),
        )
        by, cluster = str(record["by"]), str(record["cluster"])
    except FileNotFoundError as error:
        raise MetaevalError(f"{error.filename} is not there, a file that belongs to {path.name}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MetaevalError(
            f"{path} is incomplete or damaged ({type(error).__name__}: {error}); write it again with "
            f"metaeval gate RUN --write-baseline {path}"
        ) from error
    known = scored.nouns.values()
    if cluster not in (*known, "unit"):
        raise MetaevalError(f"{path}: cluster is {cluster!r}; give {', '.join(known)} or unit")
    return Baseline(scored, rules, by, cluster)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _numbers(given: Mapping[str, Any]) -> dict[str, float]:
    found = {str(k): float(v) for k, v in given.items()}
    for key, value in found.items():
        if not math.isfinite(value):
            raise ValueError(f"the threshold of {key} is {value}")
    return found


def _means(scored: GateScores, by: str) -> dict[str, dict[str, Any]]:
    """Return mean, units and units without a score, by aspect and, within it, by category."""
    found: dict[str, dict[str, Any]] = {}
    for aspect, category in cells_of(scored, None, by):
        score = cell(scored.frame, aspect, category)["score"]
        there = score.dropna()
        of_cell = {
            "mean": round(math.fsum(there) / len(there), 6) if len(there) else None,
            "units": len(there),
            "missing": len(score) - len(there),
        }
        if category:
            found[aspect].setdefault("by", {})[category] = of_cell
        else:
            found[aspect] = of_cell
    return found


def _units_text(scored: GateScores) -> str:
    """Return a CSV table: key columns, category, each aspect's score, then the questions' keys."""
    keys = scored.keys
    aspects = sorted({str(a) for a in scored.frame["aspect"]})
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    columns = [*keys, "category", "aspect", "score", "call"]
    for *unit, aspect, score, call in scored.frame[columns].itertuples(index=False):
        row = cells.setdefault(tuple(map(str, unit)), {})
        row[_ASPECT + aspect] = "" if math.isnan(score) else repr(float(score))
        row[_CALL + aspect] = str(call)
    calls = [{row.get(_CALL + a, "") for a in aspects} for row in cells.values()]
    header = [_ASPECT + a for a in aspects]
    if all(len(of_unit) == 1 for of_unit in calls):
        header += [_ONE_CALL] if any("" not in of_unit for of_unit in calls) else []
        for row, of_unit in zip(cells.values(), calls, strict=True):
            row[_ONE_CALL] = of_unit.pop()
    else:
        header += [_CALL + a for a in aspects]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(safe, [*keys, "category", *header]))
    for unit_of_row, row in sorted(cells.items()):
        writer.writerow(map(safe, [*unit_of_row, *(row.get(name, "") for name in header)]))
    return out.getvalue()


def _units_frame(text: str) -> pd.DataFrame:
    """Return the table of `_units_text`, long."""
    import pandas as pd

    header, *cells = [[*map(unprotected, row)] for row in csv.reader(io.StringIO(text))] or [[]]
    rows = [dict(zip(header, row, strict=True)) for row in cells]
    aspects = [name.removeprefix(_ASPECT) for name in header if name.startswith(_ASPECT)]
    keys = [name for name in header if name != _ONE_CALL and not name.startswith((_ASPECT, _CALL))]
    long = [
        {
            **{k: row[k] for k in keys},
            "aspect": aspect,
            "score": float(row[_ASPECT + aspect] or "nan"),
            "call": row.get(_CALL + aspect, row.get(_ONE_CALL, "")),
        }
        for aspect in aspects
        for row in rows
    ]
    if not long:
        raise ValueError("it has no unit")
    return pd.DataFrame(long)
