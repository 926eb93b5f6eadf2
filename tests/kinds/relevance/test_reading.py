"""What a reader sees of a unit: the item with its fields, and what is known of the user, shortened."""

from __future__ import annotations

from dataclasses import replace

from metaeval.kinds.relevance.data.simulated import simulate
from metaeval.kinds.relevance.reading import unit_view


def test_item_profile_and_history_are_shown() -> None:
    data = simulate(users=2, items=90, history=40, pool=2, length=2)
    view = unit_view(data, ["relevance"])
    assert view.heading == "title"
    assert [(c.name, c.key) for c in view.columns] == [("title", False), ("user_id", True), ("item_id", True)]
    assert view.rated[0].statement == "How interested is the user in the item?"
    item, profile, history = (text.texts for text in view.texts)
    first = data.items.set_index("item_id").loc[data.units["item_id"].iloc[0]]
    assert item[0] == "\n".join(f"{name}: {first[name]}" for name in ("title", "genres", "keywords", "year"))
    assert set(profile) == {None}
    lines = history[0].split("\n")
    assert (len(lines), lines[-1]) == (31, "… and 10 more")
    own = data.histories[data.histories["user_id"] == data.units["user_id"].iloc[0]]
    newest = own.sort_values("timestamp").iloc[-1]
    title = data.items.set_index("item_id")["title"][newest["item_id"]]
    assert lines[0] == f"{title} ({newest['rating']:g})"


def test_a_history_of_items_without_titles_shows_their_fields() -> None:
    data = simulate(users=2, items=30, history=5)
    view = unit_view(replace(data, items=data.items.drop(columns=["title", "keywords"])), ["relevance"])
    lines = view.texts[2].texts[0].split("\n")
    own = data.histories[data.histories["user_id"] == data.units["user_id"].iloc[0]]
    newest = own.sort_values("timestamp").iloc[-1]
    item = data.items.set_index("item_id").loc[newest["item_id"]]
    assert lines[0] == f"genres: {item['genres']}; year: {item['year']} ({newest['rating']:g})"


def test_a_collection_of_which_nothing_else_is_known_is_shown_by_its_keys() -> None:
    data = replace(simulate(users=2, items=30, history=5), items=None, histories=None)
    view = unit_view(data, ["relevance"])
    assert view.heading == ""
    assert [c.name for c in view.columns] == ["user_id", "item_id"]
    assert {t for text in view.texts for t in text.texts} == {None}


def test_items_without_a_title_are_called_by_their_fields() -> None:
    data = simulate(users=2, items=30, history=5)
    view = unit_view(replace(data, items=data.items[["item_id", "genres", "year"]]), ["relevance"])
    assert view.heading == ""
    newest = view.texts[2].texts[0].split("\n")[0]
    assert newest.startswith("genres: ")
    assert "; year: " in newest
