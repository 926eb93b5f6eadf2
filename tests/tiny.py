"""A data set small enough to be read at a glance, made by hand, and study files on it."""

from __future__ import annotations

import json
from pathlib import Path

MANIFEST = """\
name: tiny
licence: CC0
source: made by hand
language: en
simulated: true
aspects:
  clear: I understand why this was recommended
  fitting: The explanation fits my taste
scale: {min: 1, max: 5, integer: true}
"""
USERS, ITEMS, GENERATORS = ("u1", "u2", "u3"), ("i1", "i2"), ("short", "long", "none|such")
TEXTS = {
    "short": "It is funny.",
    "long": "You liked films by this director, and it is funny.",
    "none|such": "Why not?",
}
REFERENCE = "You liked other films by this director."
FEW = {
    "levels": "[dataset]",
    "coefficients": "[pearson]",
    "bootstrap": "{resamples: 20}",
    "tests": "{permutations: 200}",
    "details": "false",
}
"""Keys of a study of few cells: most of what a small run takes are the tables and figures of every cell."""


def write_tiny(folder: Path) -> Path:
    """Write the data set; 18 units, 2 aspects, raters user, 1 and 2, two recorded evaluators."""
    folder.mkdir(parents=True)
    explanations = ["user_id,item_id,generator,explanation,reference"]
    ratings = ["user_id,item_id,generator,rater,aspect,rating"]
    scores = ["user_id,item_id,generator,evaluator,aspect,score"]
    for u, user in enumerate(USERS):
        for i, item in enumerate(ITEMS):
            for g, generator in enumerate(GENERATORS):
                unit = f"{user},{item},{generator}"
                explanations.append(f'{unit},"{TEXTS[generator]}",{REFERENCE}')
                for a, aspect in enumerate(("clear", "fitting")):
                    unanswered = (u, i, g, a) == (1, 0, 2, 1)
                    user_rating = "" if unanswered else 1 + (3 * u + 2 * i + (g + a) ** 2) % 5
                    ratings.append(f"{unit},user,{aspect},{user_rating}")
                    ratings.append(f"{unit},1,{aspect},{1 + (2 * u + i + g * g + a) % 5}")
                    ratings.append(f"{unit},2,{aspect},{1 + (u + 2 * i + 2 * g + a) % 5}")
                    scores.append(f"{unit},Judge & Co_1,{aspect},{(u + 5 * i + 3 * g + a) % 7}")
                scores.append(f"{unit},S* star,,{(2 * u + i + g) % 4}")
    (folder / "dataset.yaml").write_text(MANIFEST, encoding="utf-8")
    for name, lines in (("explanations", explanations), ("ratings", ratings), ("scores", scores)):
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def say_how_to_label(folder: Path, **keys: object) -> Path:
    """Write how people label a data set into its description."""
    with (folder / "dataset.yaml").open("a", encoding="utf-8") as file:
        file.write(f"extra: {json.dumps({'labelling': keys})}\n")
    return folder


def write_study(path: Path, text: str = "", **keys: str) -> Path:
    """Write a study file on the data set ``tiny`` beside it: the keys given, then ``text``."""
    given = {"dataset": "tiny", "evaluators": '["Length()", "Annotator(\'1\')"]', **keys}
    lines = [f"{key}: {value}" for key, value in given.items() if value]
    path.write_text("\n".join([*lines, text]) + "\n", encoding="utf-8")
    return path
