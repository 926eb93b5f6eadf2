"""Million Playlist slices → duels: the last tracks of a playlist, in their order, are the candidates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem
from metaeval.kinds.slates.data.imports.collecting import Candidates, collected, newest, refuse_lines
from metaeval.kinds.slates.data.loading import refuse_if_in_the_way
from metaeval.kinds.slates.data.sampling import FOREIGN, GAIN, Sampling
from metaeval.kinds.slates.data.slate_set import ITEM, USER, Domain
from metaeval.kinds.slates.data.utilities import by_position
from metaeval.stats.resampling.draws import drawn, generator

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from metaeval.kinds.files.loading import Imported
    from metaeval.kinds.slates.data.slate_set import SlateSet

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
_NEEDED = (_PLACE, "track_uri", *_FIELDS)


def import_playlists(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    how: Sampling | None = None,
    *,
    name: str | None = None,
    force: bool = False,
) -> Imported[SlateSet]:
    """Make duels of slices of the Million Playlist Dataset; a user is a playlist.

    The gain of a track falls with its place among the candidates. In T1 and T3 as many tracks of the other
    playlists that are drawn are mixed in, with gain 0.

    Parameters
    ----------
    folder
        With files ``mpd.slice.*.json``; or one such file.
    out
        The folder to write.
    how
        How to draw.
    name
        Of the data set; the name of the folder, if None.

    Raises
    ------
    DataError
        With the first wrong playlist, and how many there are; or if no duel can be made.
    """
    refuse_if_in_the_way(Path(out), force=force)
    how = how or Sampling()
    place = Path(folder)
    slices = [place] if place.is_file() else sorted(place.glob("mpd.slice.*.json"))
    if not slices:
        raise DataError(f"there is no file mpd.slice.*.json in {str(place)!r}; give the folder of slices")
    playlists, read = _playlists_of(slices, how)
    rows = [{USER: pid, **{k: t[k] for k in _NEEDED}} for pid, of in playlists.items() for t in of["tracks"]]
    tracks = pd.DataFrame(rows, columns=[USER, *_NEEDED]).rename(columns={"track_uri": ITEM, **_FIELDS})
    tracks = tracks.astype(dict.fromkeys((USER, ITEM, *_FIELDS.values()), "str"))
    names = [(pid, str(of.get("name", ""))) for pid, of in playlists.items()]
    own, histories = newest(tracks, _PLACE, how)
    own = own.assign(gain=by_position(own[USER], own[_PLACE]), foreign=False)
    mixed = pd.concat([own, _foreign(tracks, own[USER].value_counts(), how)], ignore_index=True)
    items = tracks.drop_duplicates(ITEM)[[ITEM, *_FIELDS.values()]]
    about = {
        "name": name,
        "licence": "research, no commercial use; see the terms of the dataset",
        "source": f"Million Playlist Dataset (Chen et al. 2018), {counted(len(slices), 'slice')}",
        "domain": MUSIC._asdict(),
    }
    profiles = pd.DataFrame(names, columns=[USER, "playlist"], dtype="str")
    found = Candidates(mixed, histories[[USER, ITEM]], items, profiles)
    notes = [f"{counted(read, 'playlist')} read"]
    return collected(about, found, out, how, notes=notes, force=force)


def _playlists_of(slices: Iterable[Path], how: Sampling) -> tuple[dict[str, dict[str, Any]], int]:
    """Return the playlists that are drawn, slice by slice, and how many there are."""
    problems: list[Problem] = []
    kept: dict[str, dict[str, Any]] = {}
    read = 0
    for path in slices:
        for number, playlist in enumerate(_playlists(path), start=1):
            read += 1
            message = _wrong(playlist)
            if message:
                problems.append(Problem(path.name, None, None, f"playlist {number} {message}"))
            elif len({t["track_uri"] for t in playlist["tracks"]}) >= how.size * (2 if how.history else 1):
                kept[str(playlist["pid"])] = playlist
        kept = {pid: kept[pid] for pid in drawn(kept, how.users, how.seed)}
    refuse_lines(problems)
    return kept, read


def _playlists(path: Path) -> list[Any]:
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        row = getattr(error, "lineno", None)
        raise DataError([Problem(path.name, row, None, f"is not JSON: {error}")]) from error
    except OSError as error:
        raise DataError([Problem(path.name, None, None, f"cannot be read: {error.strerror}")]) from error
    playlists = found.get("playlists") if isinstance(found, dict) else None
    if not isinstance(playlists, list):
        raise DataError([Problem(path.name, None, None, "has no list `playlists`, as a slice has")])
    return playlists


def _wrong(playlist: Any) -> str:  # noqa: ANN401 - any value of JSON
    """Return what is wrong with a playlist; empty if nothing is."""
    if not isinstance(playlist, dict) or not isinstance(playlist.get("pid"), int):
        return "has no `pid`, which is a whole number"
    tracks = playlist.get("tracks")
    if not isinstance(tracks, list):
        return f"(pid {playlist['pid']}) has no list `tracks`"
    for at, track in enumerate(tracks, start=1):
        for key in _NEEDED:
            kind = int if key == _PLACE else str
            if not isinstance(track, dict) or not isinstance(track.get(key), kind):
                what = "a whole number" if kind is int else "a text"
                return f"(pid {playlist['pid']}): track {at} has no {key!r}, which is {what}"
    texts = [str(playlist.get("name", "")), *(track[key] for track in tracks for key in _NEEDED[1:])]
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return f"(pid {playlist['pid']}) holds half of a surrogate pair, which is not Unicode text"
    return ""


def _foreign(tracks: pd.DataFrame, counts: pd.Series[int], how: Sampling) -> pd.DataFrame:
    """Return for each playlist as many tracks of others as it has candidates, or as there are."""
    pool = np.sort(tracks[ITEM].unique())
    rows = []
    for user, own in tracks.groupby(USER)[ITEM]:
        mixed = generator(how.seed, str(user), FOREIGN).permutation(pool)
        others = mixed[~np.isin(mixed, own.unique())][: counts.get(str(user), 0)]
        rows += [(user, item, 0.0, True) for item in others]
    return pd.DataFrame(rows, columns=[USER, ITEM, GAIN, FOREIGN])
