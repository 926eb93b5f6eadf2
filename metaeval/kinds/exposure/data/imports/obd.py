"""The Open Bandit Dataset (Saito et al. 2021) → a log, and the platform's other policy, twice.

The released rounds have no users: a row is one of the three positions of a recommendation, with four hashed
features of whoever saw it. The random policy shows every item alike. The policy ``bts`` is Thompson sampling:
for each visit it draws a rate of clicks of each item from a Beta distribution, and shows the three items with
the highest ones. Its probabilities are made in two ways:

- ``bts``: from the Beta priors, by as many draws as the platform's own library makes, with its seed. The
  priors lie in the code of the release, the library `zr-obp`, and not in its data.
- ``bts-estimated``: how often the log of ``bts`` shows each item at each position, with one showing added to
  each position that all items share.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, sound
from metaeval.base.yaml_lines import read_yaml
from metaeval.data.imports import Imported
from metaeval.data.tables.table import Table, read_table
from metaeval.kinds.exposure.data.loading import POLICIES, log_of, refuse_if_in_the_way, save
from metaeval.kinds.exposure.data.log_set import ITEM, OUTCOME, POSITION, PROPENSITY, TIME, LogSet
from metaeval.stats.coefficients.tables import Floats

Campaign: TypeAlias = Literal["men", "women", "all"]
Logged: TypeAlias = Literal["random", "bts"]
DRAWS, SEED = 100_000, 12_345
"""Of the platform's library, Open Bandit Pipeline."""
_POSITIONS = 3
_PRIORS = "prior_bts.yaml"
_CODE = f"obp/policy/conf/{_PRIORS}"
_DATA = (".", "obd", "open_bandit_dataset", "dataset/obd", "obp/dataset/obd")
"""Where a release, a check-out of its code, or the installed library have the data."""
_NAMES = {TIME: TIME, ITEM: ITEM, POSITION: POSITION, "click": OUTCOME, "propensity_score": PROPENSITY}
_CONTEXT = "user_feature_"


def import_obd(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    campaign: Campaign = "men",
    policy: Logged = "random",
    priors: str = "",
    name: str = "",
    force: bool = False,
) -> Imported[LogSet]:
    """Make a log of one campaign and one logging policy of the released files, and policies to evaluate.

    ``priors`` is the file of the priors of ``bts``, if it lies neither in the folder nor in the code around
    it; ``none`` does without the policy. Raises `DataError` if a file is missing, or is not as released.
    """
    refuse_if_in_the_way(Path(out), force=force)
    places = (Path(folder) / place for place in _DATA)
    source = next((place for place in places if (place / policy / campaign).is_dir()), Path(folder))
    prior_file = None if priors == "none" else _prior_file(Path(priors) if priors else None, source)
    log = _rounds(source, policy, campaign)
    items = _table(source / policy / campaign / "item_context.csv", (ITEM,))
    released = f"campaign {campaign}, logged by the policy {policy}"
    about = {
        "name": name or f"obd-{campaign}-{policy}",
        "licence": "Apache-2.0",
        "source": f"Open Bandit Dataset (Saito et al. 2021): {released}",
        "statement": "Does the user click on the item?",
        "outcome": {"min": 0, "max": 1},
    }
    features = items.frame[[c for c in items.frame if c == ITEM or str(c).startswith("item_feature_")]]
    ids = sorted(int(i) for i in features[ITEM])
    if ids != list(range(len(ids))):
        raise DataError(f"{items.name}: items are numbered from 0 on, without gaps; these are {ids[:3]} …")
    data = log_of(about, {"log": log, "items": Table(items.name, features, items.rows)})
    made = dict(_policies(source, prior_file, campaign, len(ids)))
    save(data, out, force=force)
    for called, (table, _) in made.items():
        place = Path(out) / POLICIES / f"{called}.csv"
        place.parent.mkdir(exist_ok=True)
        table.to_csv(place, index=False, lineterminator="\n")
    return Imported(data, tuple(f"policy {called}: {how}" for called, (_, how) in made.items()))


def _rounds(source: Path, policy: str, campaign: str) -> Table:
    table = _table(source / policy / campaign / f"{campaign}.csv", tuple(_NAMES))
    kept = [c for c in table.frame if c in _NAMES or str(c).startswith(_CONTEXT)]
    labels = {name: released for released, name in _NAMES.items()}
    return Table(table.name, table.frame[kept].rename(columns=_NAMES), table.rows, labels)


def _table(path: Path, needed: tuple[str, ...]) -> Table:
    if not path.is_file():
        raise DataError(
            f"there is no file {str(path)!r}; give the folder of the release, which has one per policy and "
            "in it one per campaign"
        )
    table = sound(read_table(path))
    if lacking := [c for c in needed if c not in table.frame]:
        raise DataError(f"{path.name} has no column {lacking[0]!r}; it is not as released")
    return table


def _prior_file(named: Path | None, source: Path) -> Path:
    """Return the file of the priors: the named one, or the one beside the data or in the code around it."""
    around = (source.resolve(), *source.resolve().parents[:3])
    files = [named] if named else [place / file for place in around for file in (_PRIORS, _CODE, _CODE[4:])]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise DataError(
            f"there is no file {str(named or source / _PRIORS)!r}; the priors of bts lie in the code "
            f"of the release (github.com/st-tech/zr-obp, {_CODE}), not in its data: name them with --priors "
            "FILE, or do without the policy with --priors none"
        )
    return found


def _policies(
    source: Path, prior_file: Path | None, campaign: str, n_items: int
) -> Iterator[tuple[str, tuple[pd.DataFrame, str]]]:
    """Yield the name of each policy that can be made, its table, and how it was made."""
    if prior_file is not None:
        priors = _priors(prior_file, campaign, n_items)
        how = f"{DRAWS:,} draws of all items' rates from {_PRIORS}, seed {SEED}"
        yield "bts", (_long(thompson(*priors)), how)
    if (source / "bts" / campaign / f"{campaign}.csv").is_file():
        frame = _rounds(source, "bts", campaign).frame
        shown = np.full((_POSITIONS, n_items), 1 / n_items)
        np.add.at(shown, (frame[POSITION].astype(int) - 1, frame[ITEM].astype(int)), 1)
        how = f"frequencies by position in the {len(frame):,} rounds of bts, one showing shared by all items"
        yield "bts-estimated", (_long(shown / shown.sum(axis=1, keepdims=True)), how)


def thompson(alpha: Floats, beta: Floats, *, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Return how often Thompson sampling shows each item at each position, shape (positions, items)."""
    # The stream of the platform's library, so that probabilities equal those that it gives.
    rng = np.random.RandomState(seed)
    shown = np.zeros((_POSITIONS, len(alpha)))
    for first in range(0, draws, 10_000):
        rate = rng.beta(alpha, beta, (min(10_000, draws - first), len(alpha)))
        best = rate.argsort(axis=1)[:, : -_POSITIONS - 1 : -1]
        for position in range(_POSITIONS):
            shown[position] += np.bincount(best[:, position], minlength=len(alpha))
    return shown / draws


def _priors(path: Path, campaign: str, n_items: int) -> tuple[Floats, Floats]:
    priors, _ = read_yaml(path)
    try:
        alpha, beta = (np.array(priors[campaign][name], dtype=np.float64) for name in ("alpha", "beta"))  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path.name} has no alpha and beta of the campaign {campaign!r}") from None
    if not (alpha.shape == beta.shape == (n_items,) and (alpha > 0).all() and (beta > 0).all()):
        raise DataError(f"{path.name}: alpha and beta of {campaign!r} must be {n_items} numbers above 0 each")
    return alpha, beta


def _long(table: Floats) -> pd.DataFrame:
    positions, items = table.shape
    keys = {
        ITEM: np.tile(np.arange(items), positions),
        POSITION: np.repeat(np.arange(1, positions + 1), items),
    }
    return pd.DataFrame({**keys, "probability": table.ravel()})
