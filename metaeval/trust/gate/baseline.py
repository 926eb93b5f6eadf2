"""The scores that a gate compares, now and at the baseline; and a baseline on disk.

That is a small JSON file, and the scores of the units in a CSV file beside it: ``main.json`` holds the
thresholds, the judge, the data's fingerprint, the mean of every aspect and category, and the SHA-256 of
``main.units.csv``, which has one row per unit and aspect. Rows and keys are sorted, so that a review shows
what changed.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.files import write_text
from metaeval.base.formulas import read_csv, to_csv
from metaeval.base.keys import author_key, key_columns, nouns_of
from metaeval.base.simulation import REAL, Simulation
from metaeval.trust.gate.rules import Rules

FORMAT = "metaeval gate baseline 1"
CALL_DIGITS = 16
"""Digits kept of the key of a question: enough to recognise it."""


@dataclass(frozen=True, slots=True, eq=False)
class GateScores:
    """One judge's scores of one system's texts."""

    frame: pd.DataFrame
    """Key columns, ``category`` (empty without one), ``aspect``, ``score`` (NaN if missing) and ``call``
    (the first digits of the question's key; empty if unknown)."""
    evaluator: str
    identity: Mapping[str, object]
    """Of the judge: `metaeval.trust.calibration.record.identity`."""
    scale: tuple[float, float]
    data: str
    fingerprint: str
    simulated: Simulation = REAL
    called: Mapping[str, str] = field(default_factory=dict)
    """Key column → noun; default: from its name."""
    cluster: str = ""
    """The key column that units are clustered by; default: the first."""

    @property
    def nouns(self) -> dict[str, str]:
        """Each key column, in order → noun."""
        plain = nouns_of(k for k in key_columns(self.frame) if k != "category")
        return {key: self.called.get(key, noun) for key, noun in plain.items()}

    @property
    def keys(self) -> list[str]:
        """The key columns."""
        return list(self.nouns)

    @property
    def usual_cluster(self) -> str:
        """The noun for the default cluster."""
        return self.nouns[self.cluster or self.keys[0]]

    @property
    def generators(self) -> list[str]:
        """The generators whose texts were scored; empty if no key names them."""
        author = author_key(self.nouns)
        return sorted(map(str, self.frame[author].unique())) if author else []


def cell(frame: pd.DataFrame, aspect: str, category: str) -> pd.DataFrame:
    """Return the rows of an aspect, or of a category within it."""
    there = frame["aspect"] == aspect
    return frame[there & (frame["category"] == category)] if category else frame[there]


def cells_of(current: GateScores, baseline: GateScores | None, by: str) -> list[tuple[str, str]]:
    """Return every aspect, alone ("") and with each category, of the run or of the baseline."""
    frames = [current.frame, *([baseline.frame] if baseline else [])]
    aspects = list(dict.fromkeys(str(aspect) for f in frames for aspect in f["aspect"].unique()))
    categories = sorted({str(c) for f in frames for c in f["category"].unique()} - {""}) if by else []
    return [(aspect, category) for aspect in aspects for category in ("", *categories)]


def paired(current: GateScores, baseline: GateScores) -> tuple[pd.DataFrame, list[str]]:
    """Match the units of a run with those of a baseline.

    Returns
    -------
    DataFrame
        One row per unit of the baseline and aspect: key columns, ``category``, ``aspect``, ``score``,
        ``before``, and ``same``: the same question got the same score.
    list of str
        Sentences on units that were not matched.

    Raises
    ------
    MetaevalError
        If their scales or key columns differ, or no unit is in both.
    """
    if current.scale != baseline.scale:
        (a, b), (c, d) = baseline.scale, current.scale
        raise MetaevalError(
            f"the baseline's scale is {a:g} to {b:g} and the run's is {c:g} to {d:g}: scores on different "
            "scales cannot be compared; write a new baseline"
        )
    if current.keys != baseline.keys:
        raise MetaevalError(
            f"the baseline's units are named by {', '.join(baseline.keys)} and the run's by "
            f"{', '.join(current.keys)}; write a new baseline"
        )
    keys, notes, author = current.keys, [], author_key(current.nouns)
    ours, theirs = current.generators, baseline.generators
    if author and not set(ours) & set(theirs):
        if len(ours) != 1 or len(theirs) != 1:
            raise MetaevalError(
                f"the run has the generators {', '.join(ours)} and the baseline has {', '.join(theirs)}: "
                "give the one to compare with --generator"
            )
        keys.remove(author)
        notes.append(f"The texts of {ours[0]} are compared with those of {theirs[0]} in the baseline.")
    by = [*keys, "aspect"]
    before = baseline.frame[[*by, "category", "score", "call"]]
    before = before.rename(columns={"score": "before", "call": "asked", "category": "old_category"})
    both = current.frame.merge(before, on=by, how="outer", indicator=True)
    if not (both["_merge"] == "both").any():
        raise MetaevalError(
            f"no unit of the run is in the baseline: they are matched by {', '.join(keys)}; "
            f"compare runs on the same {' and '.join(f'{current.nouns[k]}s' for k in keys if k != author)}"
        )
    added = both["_merge"] == "left_only"
    if added.any():
        units = both.loc[added, keys].drop_duplicates()
        notes.append(f"{counted(len(units), 'unit')} of the run not in the baseline, and not compared.")
    both = both[~added].reset_index(drop=True)
    both["category"] = both["category"].fillna(both["old_category"]).fillna("")
    whole = current.fingerprint == baseline.fingerprint and current.identity == baseline.identity
    asked = whole | ((both["call"] == both["asked"]) & (both["call"].fillna("") != ""))
    both["same"] = asked & (both["score"] == both["before"])
    return both.drop(columns=["_merge", "old_category", "asked", "call"]), notes


def ends(current: GateScores, baseline: GateScores | None) -> tuple[float, float]:
    """Return the lowest and highest score possible: the scale's ends, or scores beyond them."""
    scores = [s.frame["score"].to_numpy(float) for s in (current, *([baseline] if baseline else []))]
    whole = np.concatenate([*scores, np.asarray(current.scale, dtype=float)])
    return float(np.nanmin(whole)), float(np.nanmax(whole))


# On disk


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
    by = [*scored.keys, "category", "aspect"]
    texts = scored.frame[[*by, "score", "call"]].astype(dict.fromkeys([*by, "call"], str))
    units = to_csv(texts.sort_values(by))
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


def read_baseline(path: Path) -> Baseline:
    """Read a baseline that `write_baseline` wrote.

    Raises
    ------
    MetaevalError
        If it is none, or its units are not those that it was written with.
    """
    write_it = f"metaeval gate RUN --write-baseline {path}"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MetaevalError(f"there is no baseline {path}; write one with: {write_it}") from None
    except (ValueError, RecursionError) as error:
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
        data, evaluator, limits = record["data"], record["judge"]["evaluator"], record["thresholds"]
        low, high = map(float, data["scale"])
        simulated = Simulation("data" in data["simulated"], (evaluator,) * ("judges" in data["simulated"]))
        scored = GateScores(
            read_csv(io.StringIO(text), ["score"]),
            evaluator,
            record["judge"]["identity"],
            (low, high),
            data["name"],
            data["fingerprint"],
            simulated,
            record.get("nouns", {}),
        )
        least, drop = ({k: float(v) for k, v in limits[name].items()} for name in ("min", "max_drop"))
        rules = Rules(least, drop, float(limits["alpha"]), float(limits["max_missing"]))
        return Baseline(scored, rules, record["by"], record["cluster"])
    except FileNotFoundError as error:
        raise MetaevalError(f"{error.filename} is not there, a file that belongs to {path.name}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MetaevalError(
            f"{path} is incomplete or damaged ({type(error).__name__}: {error}); write it again with "
            f"{write_it}"
        ) from error


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _means(scored: GateScores, by: str) -> dict[str, dict[str, Any]]:
    """Return mean, units and units without a score, by aspect and, within it, by category."""
    means: dict[str, dict[str, Any]] = {}
    for aspect, category in cells_of(scored, None, by):
        score = cell(scored.frame, aspect, category)["score"]
        n = int(score.count())
        numbers = {
            "mean": round(float(score.mean()), 6) if n else None,
            "units": n,
            "missing": len(score) - n,
        }
        if category:
            means[aspect].setdefault("by", {})[category] = numbers
        else:
            means[aspect] = numbers
    return means
