"""What a site shows of people: user ids, which pseudonyms can replace, and e-mail addresses."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from metaeval.base.formulas import read_csv, to_csv
from metaeval.base.keys import USER, noun

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# The last label of a domain has letters alone, or is "xn--" and their code; `sacrebleu@2.4.0` is no address.
# No match begins within a word, which keeps the search linear.
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.(?:xn--[\w-]+|[^\W\d_]{2,})")
_TEXTS = (".html", ".csv", ".md", ".tex", ".json", ".yaml", ".bib")


def addresses_in(texts: Iterable[str]) -> list[str]:
    """Return the e-mail addresses in texts, each once."""
    return list(dict.fromkeys(address for text in texts for address in _ADDRESS.findall(text)))


class Pseudonyms:
    """User ids → u1, u2, …; a user has the same one in all runs of a site."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def of(self, user: str) -> str:
        """Return the pseudonym of a user; an empty id has none."""
        return self._names.setdefault(user, f"u{len(self._names) + 1}") if user else user

    def study(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return a study with pseudonyms for the users that it leaves out."""
        out = given.get("exclude", {})
        return {**given, "exclude": {k: [*map(self.of, v)] if _of_users(k) else v for k, v in out.items()}}

    def payload(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the payload of a report with pseudonyms for the ids of its users."""
        for column in given["units"]["columns"]:
            if _of_users(column["name"]):
                column["values"] = [*map(self.of, column["values"])]
        for groups in given["groups"]:
            at = [*map(_of_users, groups["keys"])]
            groups["ids"] = [
                [self.of(i) if own else i for i, own in zip(ids, at, strict=True)] for ids in groups["ids"]
            ]
        for figure in given["figures"]:
            for column in figure["columns"]:
                if _of_users(column["title"]):
                    figure["rows"][column["name"]] = [*map(self.of, figure["rows"][column["name"]])]
        for sheet in given["sheets"]:
            at = [_of_users(column["title"]) for column in sheet["columns"]]
            sheet["rows"] = [
                [self.of(c) if own else c for c, own in zip(row, at, strict=True)] for row in sheet["rows"]
            ]
        return dict(json.loads(self.text(_json(given))))

    def text(self, text: str) -> str:
        """Return a text with pseudonyms for the e-mail addresses that are ids of users."""
        return _ADDRESS.sub(lambda found: self._names.get(found[0], found[0]), text)

    def files(self, folder: Path) -> None:
        """Replace ids of users in all text files of a folder."""
        for file in sorted(folder.iterdir()):
            if file.suffix == ".csv":
                frame = read_csv(file)
                if own := [*filter(_of_users, frame.columns)]:
                    to_csv(frame.assign(**{key: frame[key].map(self.of) for key in own}), file)
            if file.suffix in _TEXTS:
                file.write_bytes(self.text(file.read_bytes().decode()).encode())


def _of_users(title: str) -> bool:
    """Say whether a key column, or the title of a column, is that of users."""
    return noun(title.lower()) == USER


def _json(payload: dict[str, Any]) -> str:
    return json.dumps(payload, ensure_ascii=False)
