"""Duels of Amazon Reviews 2023, on files of exactly that form."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.slates.data.imports.amazon import import_amazon
from metaeval.kinds.slates.data.sampling import Sampling


def review(user: str, n: int, **changed: object) -> dict[str, object]:
    return {
        "rating": float(n % 5 + 1),
        "title": "Such a lovely scent",
        "text": "It works.\nReally.",
        "images": [],
        "asin": f"C{n}",
        "parent_asin": f"B{n}",
        "user_id": user,
        "timestamp": 1588687728923 + n,
        "helpful_vote": 0,
        "verified_purchase": True,
        **changed,
    }


def product(n: int) -> dict[str, object]:
    return {
        "main_category": "All Beauty",
        "title": f"Brush {n}",
        "average_rating": 4.8,
        "rating_number": 10,
        "features": [],
        "description": ["Soft"],
        "price": [None, 14.99, "from 8.99"][n % 3],
        "images": [{"thumb": "x", "variant": "MAIN"}],
        "videos": [],
        "store": "Howard" if n else None,
        "categories": ["Beauty", "Brushes"],
        "details": {"Package Dimensions": "7 x 5"},
        "parent_asin": f"B{n}",
        "bought_together": None,
    }


def write(path: Path, lines: list[dict[str, object]]) -> Path:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


REVIEWS = [review(user, n) for user in ("A1", "A2") for n in range(10)] + [review("A3", 1)]
HOW = Sampling(size=3, slates=3)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_reviews_and_products(tmp_path: Path, suffix: str) -> None:
    meta = write(tmp_path / f"meta.{suffix}", [product(n) for n in range(9)] + [product(77)])
    found = import_amazon(write(tmp_path / f"All_Beauty.{suffix}", REVIEWS), tmp_path / "out", HOW, meta=meta)
    data = found.data
    assert sorted(data.slates["item_id"].unique()) == ["B5", "B6", "B7", "B8", "B9"]
    assert sorted(data.histories["item_id"].unique()) == ["B0", "B1", "B2", "B3", "B4"]
    assert data.histories["rating"].between(1, 5).all()
    assert data.histories["timestamp"].between(1588687728, 1588687730).all()  # the release has milliseconds
    told = data.items.set_index("item_id").loc["B0"].to_dict()
    assert told == {
        "title": "Brush 0",
        "main_category": "All Beauty",
        "categories": "Beauty, Brushes",
        "store": "",
        "price": "",
    }
    assert "B77" not in data.items["item_id"].tolist()
    assert found.lines()[1:] == [
        "21 reviews read",
        "1 product of 10 without a line in the file of products",
        "2 users drawn of 2 with 3 candidates or more",
    ]


def test_wrong_lines_are_counted_and_the_first_is_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", [*REVIEWS, review("A4", 1, rating=9)])
    with pytest.raises(DataError, match=r"^r\.jsonl, row 22, column 'rating': is not from 1 to 5$"):
        import_amazon(path, tmp_path / "out", HOW)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], lines[3][:40], *lines[4:21], '{"rating": "five"}']))
    with pytest.raises(DataError, match=r"^r\.jsonl, row 4: is not a JSON object: .*\(the first of 2 that"):
        import_amazon(path, tmp_path / "out", HOW)
    assert not (tmp_path / "out").exists()
    packed = tmp_path / "r.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes())[:-20])
    with pytest.raises(DataError, match=r"r\.jsonl\.gz' cannot be read: "):
        import_amazon(packed, tmp_path / "out", HOW)
    with pytest.raises(DataError, match=r"none\.jsonl' cannot be read: No such file"):
        import_amazon(tmp_path / "none.jsonl", tmp_path / "out", HOW)
    path.write_text("\n")
    with pytest.raises(DataError, match="holds no reviews"):
        import_amazon(path, tmp_path / "out", HOW)
