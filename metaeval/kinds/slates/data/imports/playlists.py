"""Million Playlist slices → duels: the last tracks of a playlist, in their order, are the candidates."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem
from metaeval.kinds.slates.data.imports.collecting import Candidates, importer_of_duels, newest, refuse_lines
from metaeval.kinds.slates.data.sampling import FOREIGN, GAIN, Sampling, by_position
from metaeval.kinds.slates.data.slate_set import ITEM, USER, Domain
from metaeval.stats.resampling.weights import drawn, generator

MUSIC = Domain(
    platform="a large music catalogue",
    noun="track",
    plural="tracks",
    liked="place in the playlist",
    popularity="well-known, well-liked tracks",
    diversity="different artists, albums and moods",
)
_PLACE = "pos"
_FIELDS = {"track_name": "title", "artist_name": "artist", "album_name": "album"}


class _Track(BaseModel, strict=True):
    pos: int
    track_uri: str
    track_name: str
    artist_name: str
    album_name: str


class _Playlist(BaseModel, strict=True):
    pid: int
    name: str = ""
    tracks: list[_Track]


@importer_of_duels
def import_playlists(folder: Path, how: Sampling) -> Candidates:
    """Read slices of the Million Playlist Dataset, or one file of them; a user is a playlist.

    The gain of a track falls with its place among the candidates. In T1 and T3 as many tracks of the other
    playlists that are drawn are mixed in, with gain 0.

    `DataError` is raised with the first wrong playlist, and how many there are; or if no duel can be made.
    """
    slices = [folder] if folder.is_file() else sorted(folder.glob("mpd.slice.*.json"))
    if not slices:
        raise DataError(f"there is no file mpd.slice.*.json in {str(folder)!r}; give the folder of slices")
    playlists, read = _playlists_of(slices, how)
    rows = [{USER: pid, **t.model_dump()} for pid, of in playlists.items() for t in of.tracks]
    tracks = pd.DataFrame(rows, columns=[USER, *_Track.model_fields]).rename(
        columns={"track_uri": ITEM, **_FIELDS}
    )
    tracks = tracks.astype(dict.fromkeys((USER, ITEM, *_FIELDS.values()), "str"))
    names = [(pid, of.name) for pid, of in playlists.items()]
    own, histories = newest(tracks, _PLACE, how)
    own = own.assign(gain=by_position(own[USER], own[_PLACE]), foreign=False)
    mixed = pd.concat([own, _foreign(tracks, own[USER].value_counts(), how)], ignore_index=True)
    items = tracks.drop_duplicates(ITEM)[[ITEM, *_FIELDS.values()]]
    about = {
        "licence": "research, no commercial use; see the terms of the dataset",
        "source": f"Million Playlist Dataset (Chen et al. 2018), {counted(len(slices), 'slice')}",
        "domain": MUSIC._asdict(),
    }
    profiles = pd.DataFrame(names, columns=[USER, "playlist"], dtype="str")
    notes = [f"{counted(read, 'playlist')} read"]
    return Candidates(about, mixed, histories[[USER, ITEM]], items, profiles, notes)


def _playlists_of(slices: Iterable[Path], how: Sampling) -> tuple[dict[str, _Playlist], int]:
    """Return the playlists that are drawn, slice by slice, and how many there are."""
    problems: list[Problem] = []
    kept: dict[str, _Playlist] = {}
    read = 0
    for path in slices:
        try:
            given = from_json(path.read_bytes())["playlists"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            message = f"is no slice, a JSON object with a list `playlists`: {error}"
            raise DataError([Problem(path.name, None, None, message)]) from error
        for number, one in enumerate(given, start=1):
            read += 1
            try:
                playlist = _Playlist.model_validate(one)
            except ValidationError as error:
                first = error.errors()[0]
                what = ".".join(["", *map(str, first["loc"])])
                problems.append(Problem(path.name, None, None, f"playlist {number}{what}: {first['msg']}"))
                continue
            if len({t.track_uri for t in playlist.tracks}) >= how.size * (2 if how.history else 1):
                kept[str(playlist.pid)] = playlist
        kept = {pid: kept[pid] for pid in drawn(kept, how.users, how.seed)}
    refuse_lines(problems)
    return kept, read


def _foreign(tracks: pd.DataFrame, counts: pd.Series[int], how: Sampling) -> pd.DataFrame:
    """Return for each playlist as many tracks of others as it has candidates, or as there are."""
    pool = np.sort(tracks[ITEM].unique())
    rows = []
    for user, own in tracks.groupby(USER)[ITEM]:
        mixed = generator(how.seed, str(user), FOREIGN).permutation(pool)
        others = mixed[~np.isin(mixed, own.unique())][: counts.get(str(user), 0)]
        rows += [(user, item, 0.0, True) for item in others]
    return pd.DataFrame(rows, columns=[USER, ITEM, GAIN, FOREIGN])
