"""A value that many prompts show."""

from __future__ import annotations

import pickle


class Same:
    """A value that many prompts show, looked at once; they show it as it was then."""

    __slots__ = ("known", "value")

    def __init__(self, value: object) -> None:
        self.known = pickle.dumps(value)
        self.value = pickle.loads(self.known)  # noqa: S301 - pickled in the line above
