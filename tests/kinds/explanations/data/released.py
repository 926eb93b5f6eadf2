"""A made-up release in the layout of the RecSys 2024 explanation study."""

from __future__ import annotations

import csv
import hashlib
import math
from pathlib import Path
from typing import Any

import pandas as pd

from metaeval.kinds.explanations.data.imports.recexp import PICKLE

RAW_IDS = ["13800000001", "13800000001", "13800000002"]
ITEMS, TYPES = [527, 527, 8], ["peer", "pop", "peer"]
TEXTS = ['导演是<span title="x">某人 </span>', "有5&lt;6人看过", "好看"]


def columns() -> dict[str, list[Any]]:
    return {
        "user_id": list(RAW_IDS),
        "movie_id": list(ITEMS),
        "explanation_type": list(TYPES),
        "explanation": list(TEXTS),
        "persuasiveness": [4.0, math.nan, 2.0],
        "transparency": [3.0, 5.0, 1.0],
        "interest_accuracy": [1, 2, 3],
        "satisfaction": [3, 4, 5],
        "self_explanation": ["我喜欢", "我喜欢", " 一般 "],
        "movie_title": ["甲 A", "甲 A", "乙 B"],
    }


def write(folder: Path) -> Path:
    folder.mkdir()
    pd.DataFrame(columns()).to_pickle(folder / PICKLE)
    public = ["-11", "-11", "22"]
    head = ["user_id", "movie_id", "movie_title", "explanation_type", "explanation"]
    _table(folder / "df_explanation_selected.csv", head, zip(public, ITEMS, "ABC", TYPES, TEXTS, strict=True))
    aspects = ["persuasiveness", "transparency", "accuracy", "satisfactory"]
    head = ["", "movie_id", "explanation_type", *(f"{a}_{i}" for i in (1, 2) for a in aspects)]
    rows = [[n, i, t, *range(1, 5), *range(2, 6)] for n, (i, t) in enumerate(zip(ITEMS, TYPES, strict=True))]
    _table(folder / "third_party.csv", head, rows)
    head = ["gender", "user_movie_interest", "peryear", "total", "user_id"]
    _table(folder / "user_demo.csv", head, [["女", "a", "b", "&lt;100", u] for u in ("-11", "22", "33")])
    return folder


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def _table(path: Path, head: list[str], rows: Any) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
