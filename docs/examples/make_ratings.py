"""Make ``ratings.csv``, the table of the tutorial: a simulated study, in which no person rated anything.

Run ``python docs/examples/make_ratings.py``; the bytes are the same each time. The model: each film has four
features. A user cares about two of them, and names them in the review. The system ``aspects`` names two
features of the film, ``popular`` none. A text is more helpful to a user if it names features that the user
cares about, and clearer if it is short. Anna does not know the user, and only sees how many features are
named. The score ``gpt`` depends on both.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

FILE = Path(__file__).with_name("ratings.csv")
USERS = 12
FILMS = {
    "Salt": ["the quiet camera", "the two sisters", "the long winter", "the songs by the sea"],
    "Night Mail": ["the slow chase", "the dry jokes", "the old trains", "the clever ending"],
    "Low Tide": ["the open shore", "the lost letters", "the first love", "the sad music"],
    "The Map": ["the desert light", "the bad maps", "the two friends", "the true story"],
}


def rating(value: float) -> int:
    """Return the step of the five-point scale that is nearest."""
    return max(1, min(5, round(value)))


def rows() -> list[dict[str, object]]:
    """Return the table, one row per explanation."""
    draw = random.Random(7)  # noqa: S311 - a simulation, no secret
    found: list[dict[str, object]] = []
    for user in range(1, USERS + 1):
        temper = draw.gauss(0, 0.5)
        for film, things in FILMS.items():
            liked = draw.sample(things, 2)
            review = f"What stays with me is {liked[0]}, and {liked[1]} most of all."
            for system in ("aspects", "popular"):
                named = draw.sample(things, 2) if system == "aspects" else []
                text = (
                    f"Chosen for {named[0]} and {named[1]}, which you praised in other films."
                    if named
                    else f"Seen by {draw.randint(2, 90)} thousand people in your town this month."
                )
                hits = sum(thing in liked for thing in named)
                told = 0.4 * len(named)
                ratings = {
                    "helpful by user": 2.2 + temper + 1.1 * hits + draw.gauss(0, 0.7),
                    "clear by user": 3.8 + temper - 0.5 * told + 0.4 * hits + draw.gauss(0, 0.8),
                    "helpful by anna": 2.5 + told + 0.5 * hits + draw.gauss(0, 0.8),
                    "clear by anna": 3.7 - 0.4 * told + draw.gauss(0, 0.8),
                }
                row: dict[str, object] = {
                    "user": f"u{user:02}",
                    "item": film,
                    "system": system,
                    "text": text,
                    "review": review,
                    **{name: rating(value) for name, value in ratings.items()},
                    "gpt score": round(0.3 + 0.1 * hits + 0.1 * told + draw.gauss(0, 0.15), 2),
                }
                found.append(row)
    # What real studies have, too: a user who gives every text the same, questions left open, a lost score.
    for row in found:
        if row["user"] == "u05":
            row["clear by user"] = 4
    for at, column in ((9, "helpful by user"), (30, "clear by user"), (31, "clear by user")):
        found[at][column] = ""
    for at in (12, 57):
        found[at]["gpt score"] = ""
    return found


def main() -> None:
    """Write the file."""
    table = rows()
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    main()
