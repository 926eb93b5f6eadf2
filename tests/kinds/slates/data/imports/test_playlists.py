"""Duels of slices of the Million Playlist Dataset, on files of exactly that form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.slates.data.imports.playlists import import_playlists
from metaeval.kinds.slates.data.sampling import Sampling

HOW = Sampling(size=3, slates=3)


def track(pos: int, name: str) -> dict[str, Any]:
    return {
        "pos": pos,
        "artist_name": f"Artist {name}",
        "track_uri": f"spotify:track:{name}",
        "artist_uri": f"spotify:artist:{name}",
        "track_name": f"Song {name}",
        "album_uri": f"spotify:album:{name}",
        "duration_ms": 228373,
        "album_name": f"Album {name}",
    }


def playlist(pid: int, tracks: int = 10) -> dict[str, Any]:
    return {
        "name": f"list {pid}",
        "collaborative": "false",
        "pid": pid,
        "modified_at": 1493424000,
        "num_albums": tracks,
        "num_tracks": tracks,
        "num_followers": 1,
        "tracks": [track(n, f"{pid}.{n}") for n in range(tracks)],
        "num_edits": 6,
        "duration_ms": 11532414,
        "num_artists": tracks,
    }


def write(folder: Path, first: int, playlists: list[Any]) -> Path:
    path = folder / f"mpd.slice.{first}-{first + 999}.json"
    info = {"generated_on": "2017-12-03 08:41:42.057563", "slice": f"{first}-{first + 999}", "version": "v1"}
    path.write_text(json.dumps({"info": info, "playlists": playlists}, indent=4))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, 0, [playlist(0), playlist(1), playlist(2, tracks=5)])
    write(tmp_path, 1000, [playlist(1000)])
    return tmp_path


def uris(pid: int, places: range) -> set[str]:
    return {f"spotify:track:{pid}.{n}" for n in places}


def test_the_last_tracks_are_candidates_and_those_of_others_are_mixed_in(folder: Path) -> None:
    found = import_playlists(folder, folder / "out", Sampling(size=3, slates=20))
    data = found.data
    own = data.slates[data.slates["user_id"] == "1000"]
    ordering = own["slate"].str.startswith("T2")
    assert set(own[ordering]["item_id"]) <= uris(1000, range(5, 10))
    mixed = set(own[~ordering]["item_id"])
    assert mixed & uris(1000, range(5, 10))
    assert mixed & (uris(0, range(10)) | uris(1, range(10)))
    assert not mixed & uris(1000, range(5))
    histories = data.histories.groupby("user_id")["item_id"].agg(list)
    assert histories["1000"] == [f"spotify:track:1000.{n}" for n in range(5)]
    assert data.items.set_index("item_id").loc["spotify:track:0.7"].tolist() == [
        "Song 0.7",
        "Artist 0.7",
        "Album 0.7",
    ]
    assert sorted(data.profiles["playlist"]) == ["list 0", "list 1", "list 1000"]
    assert found.notes[:2] == ("4 playlists read", "3 users drawn of 3 with 3 candidates or more")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"name": "x"}, "playlist 2.pid: Field required"),
        (playlist(7) | {"tracks": None}, "playlist 2.tracks: Input should be a valid list"),
        (
            playlist(7) | {"tracks": [track(0, "a"), {"pos": 1}]},
            "playlist 2.tracks.1.track_uri: Field required",
        ),
    ],
)
def test_a_wrong_playlist_is_named(folder: Path, broken: Any, said: str) -> None:
    path = write(folder, 0, [playlist(0), broken])
    with pytest.raises(DataError, match=rf"^{path.name}: {said}"):
        import_playlists(folder, folder / "out", HOW)
    write(folder, 1000, [broken])
    with pytest.raises(DataError, match="the first of 2 that are wrong"):
        import_playlists(folder, folder / "out", HOW)
